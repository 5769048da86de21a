#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions that inner loops of compressed products take an entry, counted in the machine code.

    sass.py NVDISASM LIST CUBIN...    against LIST; names what grew by more than 5 %, or is over its limit (MOST)
    sass.py NVDISASM - CUBIN...       writes the list

A loop is what a branch backwards goes around. Each entry is one FFMA and reads two numbers, one of the codebook and one of x, so a
loop with as many reads that has no other loop inside is one over entries; the compiler makes several of a source's one (unrolled,
and for what is left), and the dearest counts. Of codes, an entry is an element, and a loop has as many lookups of a width as a step
of a group has bytes.
"""
import os
import re
import subprocess
import sys

MOST = {'spmv_relative.4': 7.5, 'spmv_relative.8': 8.5, 'gemv_codes.4': 3, 'gemv_codes_i8.4': 3, 'gemv_scaled': 5}
LOOKUPS = {2: r'LDS\.128', 4: r'LDS\.64', 8: 'LDS(?!\.)'}  # of a byte's values, by the bits of a code
STEP_BYTES = 32
MMA_ELEMENTS = 64  # of a lane, that codes_mma decodes a turn


def functions(text):
    """{kernel: [label or instruction, ...]}; labels end with a colon."""
    found, lines = {}, None
    for line in text.splitlines():
        if re.match(r'//-----|\t\.section', line):
            lines = None
        head = re.match(r'\.text\.(\w+):', line)
        if head:
            lines = found[head[1]] = []
        elif lines is not None:
            instruction = re.match(r'(\.L_\w+:)|\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;', line)
            if instruction:
                lines.append(instruction[1] or instruction[2])
    return found


def innermost_loops(lines):
    instructions, at, spans = [], {}, []
    for text in lines:
        if text.endswith(':'):
            at[text[:-1]] = len(instructions)
            continue
        instructions.append(text)
        to = re.search(r'\bBRA\b.*`\((\.L_\w+)\)', text)
        if to and to[1] in at:
            spans.append((at[to[1]], len(instructions)))
    for begin, end in spans:
        if not any((b, e) != (begin, end) and b >= begin and e <= end for b, e in spans):
            yield instructions[begin:end]


def count(loop, name):
    return sum(bool(re.match(r'(@\S+ )?%s\b' % name, i)) for i in loop)


def entry_loops(lines):
    """(instructions, entries, loads from memory) of each loop over entries."""
    for loop in innermost_loops(lines):
        entries = count(loop, 'FFMA') + 2 * count(loop, 'FFMA2')
        if entries and count(loop, 'LDS') + count(loop, 'LDG') >= 2 * entries:
            yield len(loop), entries, count(loop, r'LDG\S*')


def an_entry(lines, bits):
    """Of the dearest loop over entries with indices of so many bits; None: there is none."""
    return max((n / entries for n, entries, loads in entry_loops(lines) if (loads > 0.45 * entries) == (bits == 8)), default=None)


def an_element(lines, bits):
    """Of the dearest loop over whole steps, whose loads all have 16 bytes."""
    worst = None
    for loop in innermost_loops(lines):
        loads = count(loop, 'LDG')
        if count(loop, LOOKUPS[bits]) == STEP_BYTES and loads == count(loop, r'LDG\S*\.128'):
            worst = max(worst or 0, len(loop) / (count(loop, 'FFMA') + 2 * count(loop, 'FFMA2')))
    return worst


def an_integer(lines):
    """The same of integers, each of which becomes a float by one addition."""
    worst = None
    for loop in innermost_loops(lines):
        integers = count(loop, 'FADD') + 2 * count(loop, 'FADD2')
        if integers >= STEP_BYTES and count(loop, 'LDG') == count(loop, r'LDG\S*\.128'):
            worst = max(worst or 0, len(loop) / integers)
    return worst


def a_decoded(lines):
    """{bits: of the dearest loop of codes_mma}; with 8 bits there is no loop."""
    found = {}
    for loop in innermost_loops(lines):
        if count(loop, 'HMMA'):
            bits = 2 if count(loop, r'LDS\.64') else 4
            found[bits] = max(found.get(bits, 0), len(loop) / MMA_ELEMENTS)
    return found


def a_byte(lines, bits):
    """Of the loop over whole steps of gemv_codes_i8, whose codes have so many bits: a product of four for each four elements of a
    row, and one with ones; the loop for what is left has loops inside."""
    elements, worst = STEP_BYTES * 8 // bits, None
    for loop in innermost_loops(lines):
        products = count(loop, r'IDP\S*')
        if count(loop, r'LDG\S*\.128') == 2 and elements // 2 <= products < elements:
            worst = max(worst or 0, len(loop) / elements)
    return worst


def measured(disassembler, cubin):
    """{(target, kernel): instructions an entry}"""
    target = os.path.basename(cubin).split('.')[0]
    text = subprocess.run([disassembler, '-c', '-ndf', cubin], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    counts = {}
    for kernel, lines in functions(text).items():
        if kernel == 'spmv_relative':
            counts.update({(target, f'{kernel}.{bits}'): an_entry(lines, bits) for bits in (4, 8)})
        if kernel in ('gemv_codes', 'gemv_codes_many'):
            counts.update({(target, f'{kernel}.{bits}'): an_element(lines, bits) for bits in LOOKUPS})
        if kernel == 'gemv_codes_i8':
            counts.update({(target, f'{kernel}.{bits}'): a_byte(lines, bits) for bits in LOOKUPS})
        if kernel == 'gemv_scaled':
            counts[target, kernel] = an_integer(lines)
        if kernel.startswith('codes_mma'):
            counts.update({(target, f'{kernel}.{bits}'): n for bits, n in a_decoded(lines).items()})
    if not counts or None in counts.values():
        sys.exit(f'{cubin}: no loop over entries in some of {sorted(counts)}')
    return counts


def read(path):
    with open(path, encoding='utf-8') as f:
        rows = [line.split() for line in f if not line.startswith('#')]
    return {(target, kernel): float(n) for target, kernel, n in rows}


def main():
    disassembler, path, cubins = sys.argv[1], sys.argv[2], sys.argv[3:]
    counts = {}
    for cubin in cubins:
        counts.update(measured(disassembler, cubin))
    if path == '-':
        print('# target kernel instructions-an-entry of its inner loop (tests/cuda/sass.sh)')
        for (target, kernel), n in sorted(counts.items()):
            print(target, kernel, f'{n:.2f}')
        return 0
    listed, bad = read(path), False
    for (target, kernel), n in sorted(counts.items()):
        limit = listed.get((target, kernel))
        if limit is None or n > limit * 1.05:
            print(f'{target} {kernel}: {n:.2f} instructions an entry, {limit} were listed')
            bad = True
        if n > MOST.get(kernel, n):
            print(f'{target} {kernel}: {n:.2f} instructions an entry, more than {MOST[kernel]:g}')
            bad = True
    return 1 if bad else 0


sys.exit(main())
