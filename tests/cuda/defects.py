#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants defects into the device's code, one at a time, in a copy; each has to be noticed.

    defects.py LIST BUILD TEST_LDFLAGS...    in the root of the tree; CC and PITH_DATA in the environment

Plants an eighth of each file's, one at least, or with ALL_DEFECTS in the environment all. That the place of each is there is
checked either way. Which ones are planted depends on the text of the file and of the test: a change has others planted.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib

EMU_INCLUDES = ['-Itests/cuda', '-Iruntime']


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def changes(path):
    """(file, program, from, to) of the list; to None: `from` is a flag for the compiler."""
    where = None
    for line in read(path).splitlines():
        if line.startswith('['):
            file, program = re.match(r'\[(.*)\] (.+)', line).groups()
            where = file, program
        elif line and not line.startswith('#'):
            old, arrow, new = line.partition('=>')
            yield (*where, old.strip(), new.strip() if arrow else None)


def plant(text, old, new):
    """text with the one place of `old` changed, whatever white space is between its words."""
    pattern = r'\s*'.join(re.escape(w) for w in old.split())
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    at = found[0]
    return text[:at.start()] + new + text[at.end():]


def both(folder):
    """Flags that find the headers of a copy of cuda and of its kernels."""
    return ['-iquote', os.path.dirname(folder), '-I' + folder, '-I' + os.path.join(folder, 'kernels')]


def concerned(folder, file):
    """Which files of kernels hold or use what is in `file`: those that include it or call one of its functions, and so on.
    Kernels that are left out by mistake can only make a defect go unnoticed; so is the program of all, which takes most of the
    time to compile and does in one launch what others do in several."""
    texts = {name: read(os.path.join(folder, 'kernels', name)) for name in os.listdir(os.path.join(folder, 'kernels'))}
    del texts['kernels.cu']
    used = {name: {word for pair in re.findall(r'(\w+)\(|"(.*?)"', text) for word in pair} for name, text in texts.items()}
    found, todo = set(), [file]
    while todo:
        name = todo.pop()
        found.add(name)
        offers = {name, *re.findall(r'^DEVICE [^(\n]*?(\w+)\(', texts[name], re.M)}
        todo += [other for other in texts if other not in found and used[other] & offers]
    return found if file == 'program.cu' else found - {'program.cu'}


def kernels_of(folder, files):
    """Names of the kernels in the files, for ONLY_KERNELS; None: all."""
    if 'program.cu' in files:
        return None
    return ' '.join(name for f in sorted(files) for name in re.findall(r'^KERNEL\w*\((\w+)', read(os.path.join(folder, 'kernels', f)), re.M))


NOT_WANTED = '#pragma push_macro("EMU_ENTRY")\n#undef EMU_ENTRY\n#define EMU_ENTRY(name, type)\n{}#pragma pop_macro("EMU_ENTRY")\n'


def compile_kernels(cc, folder, wanted, out, flags):
    """Those of the files `wanted`. What nothing calls costs next to no time."""
    unit = os.path.join(folder, 'changed.c')
    with open(unit, 'w', encoding='utf-8') as f:
        f.write('#include "emu.h"\n')
        for name in re.findall(r'"(.*)"', read(os.path.join(folder, 'kernels/kernels.cu'))):
            include = f'#include "{name}"\n'
            f.write(include if name in wanted else NOT_WANTED.format(include))
    subprocess.run([*cc, '-std=c11', '-O1', '-mfma', '-ffp-contract=off', *flags, '-w', '-D_GNU_SOURCE', *both(folder), *EMU_INCLUDES,
                    '-Itests', '-c', unit, '-o', out], check=True)


def compile_host(cc, folder, file, out):
    subprocess.run([*cc, '-std=c11', '-O1', '-w', '-D_GNU_SOURCE', *both(folder), '-Iruntime', '-c', os.path.join(folder, file),
                    '-o', out], check=True)


def fails(command, added):
    """Whether it ends with an error, or takes longer than two minutes, with `added` to the environment. The first that is reported
    ends it: the rest takes time."""
    with subprocess.Popen(command, env={**os.environ, **added}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as program:
        late = threading.Timer(120, program.kill)
        late.start()
        for line in program.stderr:
            if b'[  ERROR   ]' in line:
                program.kill()
        late.cancel()
        return program.wait() != 0


def notices(cc, build, command, obj, rest, work, added):
    """Whether the program, linked with the changed object, fails. Of what is there twice, the changed comes first and is taken."""
    program, *arguments = command.split()
    parts = ['-Wl,--allow-multiple-definition', os.path.join(build, 'tests/cuda', program + '.o'), obj]
    if program in ('test_device_ops', 'test_device_weights', 'test_device_half', 'test_device_attention', 'test_device_huffman', 'test_device_integers', 'test_device_rows'):
        parts += [os.path.join(build, 'tests/cuda', o + '.o') for o in ('emu', 'emu_kernels', 'ptx_launch', 'ptx_read', 'ptx_run')]
    else:
        parts += ['-Wl,-rpath,' + os.path.abspath(os.path.join(build, 'tests/cuda', f)) for f in ('fake', 'fake_blas')]
    exe = os.path.join(work, 'changed')
    subprocess.run([*cc, *parts, *rest, '-o', exe], check=True)
    return fails([exe, *arguments], added)


def planted_now(listed):
    """Those of the changes that this run plants."""
    if 'ALL_DEFECTS' in os.environ:
        return listed
    now = []
    for file in {c[0] for c in listed}:
        own = [c for c in listed if c[0] == file]
        texts = read(os.path.join('cuda', file)) + ''.join(read(f'tests/cuda/{c[1].split()[0]}.c') for c in own)
        step = min(8, len(own))
        now += own[zlib.crc32(texts.encode()) % step::step]
    return now


def main():
    list_path, build, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    cc = os.environ.get('CC', 'cc').split()
    planted = missed = 0
    listed = list(changes(list_path))
    now = planted_now(listed)
    with tempfile.TemporaryDirectory() as work:
        for change in listed:
            file, program, old, new = change
            folder, obj = os.path.join(work, 'cuda'), os.path.join(work, 'changed.o')
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree('cuda', folder)
            path = os.path.join(folder, file)
            text = read(path) if new is None else plant(read(path), old, new)
            if text is None:
                print(f'NOT APPLICABLE: {file}: {old}')
                missed += 1
                continue
            if change not in now:
                continue
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
            if file.startswith('kernels/'):
                wanted = concerned(folder, os.path.basename(file))
                kernels = kernels_of(folder, wanted)
                compile_kernels(cc, folder, wanted, obj, [] if new is not None else ['-O3', old])
                # Cases that launch other kernels alone cannot fail: they are left out.
                added = {} if kernels is None else {'ONLY_KERNELS': f' {kernels} '}
            else:
                # What the host does wrong does not depend on the order of lanes and blocks: a case runs in one of them.
                added = {'ORDERS_IN_TURN': '1'}
                compile_host(cc, folder, file, obj)
            planted += 1
            if not notices(cc, build, program, obj, rest, work, added):
                print(f'NOT NOTICED: {file}: {old} => {new}')
                missed += 1
    print(f'{planted} defects planted, {missed} not noticed')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
