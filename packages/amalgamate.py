#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runtime as one C file and its header.

    amalgamate.py FOLDER    writes pith_runtime.c and pith_runtime.h there; run in the root of a tree

Each source follows with its includes expanded in place. Headers with include guards appear once; templates appear at
each use. A name at file scope that an earlier source defined gets the name of its file as a suffix; macros of a
source end with it. Kernels are the scalar reference: host/, kernels/x86 and kernels/arm are left out.
"""
import glob
import os
import re
import sys

HEAD = """/* SPDX-License-Identifier: MIT */
/* %s - made by "make amalgamation" of pith; see docs/embedded.md. */
"""
# Sums fused with products would have other bits than the library's; loops taken for strlen would call it.
FLAGS = """#ifdef __FAST_MATH__
#error "-ffast-math changes results"
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-tree-loop-distribute-patterns")
#endif
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "pith_runtime.h"
"""


def segments(path, included):
    """(appears once, text) of the parts of a file, includes expanded."""
    text = open(os.path.join('runtime', path), encoding='utf-8').read()
    once = re.match(r'(?:/\*.*?\*/\s*)*#ifndef (\w+_H)\n#define \1\n', text, re.S) is not None
    if once and path in included:
        return
    included.add(path)
    begin = 0
    for m in re.finditer(r'^#include "(.*)".*\n', text, re.M):
        yield once, text[begin:m.start()]
        yield from segments(m[1], included)
        begin = m.end()
    yield once, text[begin:]


def defined_names(text):
    """Names at file scope that only this file may use."""
    text = re.sub(r'/\*.*?\*/|__attribute__\(\(.*?\)\)(?!\))', '', text, flags=re.S)
    names = set(re.findall(r'^(?:static|[A-Z_]+) [^;={(]*?\b(\w+)\s*(?:\(|\[|=|;)', text, re.M))
    names.update(re.findall(r'^((?:struct|union|enum) \w+)\s*{', text, re.M))
    names.update(re.findall(r'^typedef [^;(]*?\b(\w+)\s*(?:;|\()', text, re.M))
    names.update(re.findall(r'^#\s*define (\w+)', text, re.M))
    for body in re.findall(r'^enum(?: \w+)? {(.*?)}', text, re.M | re.S):
        names.update(re.findall(r'(?:^|,)\s*(\w+)', body))
    return names


def renamed(text, name, suffix):
    # members of structs keep their names
    pieces = re.split(r'(^(?:static )?(?:const )?(?:struct|union) \w+ {\n.*?^})', text, flags=re.M | re.S)
    for i, piece in enumerate(pieces):
        if i % 2 == 0 or ' ' in name or name.isupper():
            pieces[i] = re.sub(r'(?<![.\w])(?<!->)%s\b' % name, name + suffix, piece)
    return ''.join(pieces)


def source(path, included, taken):
    parts = list(segments(path, included))
    own = defined_names('\n'.join(text for once, text in parts if not once))
    suffix = '_' + os.path.basename(path)[:-2]
    for name in sorted(own & taken):
        parts = [(once, text if once else renamed(text, name, suffix)) for once, text in parts]
    macros = {m for once, text in parts if not once for m in re.findall(r'^#\s*define (\w+)', text, re.M)}
    taken |= own - macros
    for once, text in parts:
        if once:
            taken |= defined_names(text)
    return ''.join(text for _, text in parts) + ''.join('#undef %s\n' % m for m in sorted(macros))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    files = sorted(glob.glob('**/*.c', root_dir='runtime', recursive=True))
    files = [f for f in files if not re.search(r'^host/|/x86/|/arm/', f)]
    included, taken = set(), set()
    with open(os.path.join(folder, 'pith_runtime.h'), 'w', encoding='utf-8') as out:
        out.write(HEAD % 'pith_runtime.h' + source('pith_runtime.h', included, taken))
    with open(os.path.join(folder, 'pith_runtime.c'), 'w', encoding='utf-8') as out:
        out.write(HEAD % 'pith_runtime.c' + FLAGS)
        out.writelines(source(f, included, taken) for f in files)


main()
