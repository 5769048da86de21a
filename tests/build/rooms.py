#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms: folders of sources, and which file needs which.

    rooms.py OBJECTS    run in the root of a tree; rooms are those of each module.mk

A file is stem.c and stem.h. It needs another file where its object leaves a symbol undefined that the other's object
defines. Faults, with status 1:

- a header that is included by another name than this: installed ones (pith_*.h) by their name, those of runtime/ by
  their path from there, others by their path from the top or, in the same folder, by their name
- an installed header that includes one that is not installed
- a file that includes a header of a room that USES_ of its room in module.mk does not allow: rooms named there and
  rooms of modules named there
- a circle of rooms, by symbols
"""
import glob
import os
import re
import subprocess
import sys


def sources(rooms):
    return sorted(os.path.join(r, f) for r in rooms for f in os.listdir(r) if f.endswith(('.c', '.h', '.cu', '.cuh')))


def is_installed(path):
    name = os.path.basename(path)
    return name.startswith('pith_') and name.endswith('.h')


def file_of(path):
    return os.path.splitext(path)[0]


def names_of(path, folder):
    """What a file in folder may call the header at path."""
    if is_installed(path):
        return {os.path.basename(path)}
    if path.startswith('runtime/'):
        return {path[len('runtime/'):]}
    return {path, os.path.basename(path)} if os.path.dirname(path) == folder else {path}


def rooms_and_uses():
    """{room: its module}, {room: what it may include}"""
    module_of, uses = {}, {}
    for f in glob.glob('*/module.mk'):
        with open(f, encoding='utf-8') as text:
            for kind, name, words in re.findall(r'^(ROOMS|USES)_(\S+) :=(.*)$', text.read(), re.M):
                if kind == 'ROOMS':
                    module_of.update((room, name) for room in words.split())
                else:
                    uses[name] = words.split()
    return module_of, uses


def includes(paths, headers):
    """[path, header, name] for each include in paths of one of the headers."""
    by_name = {}
    for h in headers:
        by_name.setdefault(os.path.basename(h), []).append(h)
    for p in paths:
        folder = os.path.dirname(p)
        with open(p, encoding='utf-8') as f:
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', f.read(), re.M):
                beside = os.path.normpath(os.path.join(folder, name))
                same = by_name.get(os.path.basename(name), [])
                for h in [beside] if beside in same else [h for h in same if h.endswith(name)] or same[:1]:
                    yield p, h, name


def symbols(objects, paths):
    """[file, file that defines what it leaves undefined, symbol]; what is not compiled is left out."""
    defined, wanted = {}, {}
    for p in paths:
        obj = os.path.join(objects, p[:-2] + '.o')
        if not p.endswith('.c') or not os.path.exists(obj):
            continue
        for line in subprocess.run(['nm', obj], text=True, capture_output=True, check=True).stdout.splitlines():
            words = line.split()
            if len(words) == 2 and words[0] == 'U':
                wanted.setdefault(p, []).append(words[1])
            elif len(words) == 3 and words[1] in 'TDBRVWC':
                defined[words[2]] = p
    for p, names in wanted.items():
        for name in names:
            if name in defined and defined[name] != p:
                yield file_of(p), file_of(defined[name]), name


def circles(needs):
    """Sets of more than one that all need one another (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in needs.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            part, stack[at:] = stack[at:], []
            if len(part) > 1:
                found.append(sorted(part))

    sys.setrecursionlimit(10000)
    for v in list(needs):
        if v not in index:
            visit(v)
    return found


def why_of(edges, circle):
    """One reason for each step inside a circle."""
    reason = {}
    for a, b, what in edges:
        if a in circle and b in circle and a != b:
            reason.setdefault((a, b), what)
    return ''.join(f'\n    {a} -> {b}: {what}' for (a, b), what in sorted(reason.items()))


def rooms_needed(edges):
    needs = {}
    for a, b, _ in edges:
        if os.path.dirname(a) != os.path.dirname(b):
            needs.setdefault(os.path.dirname(a), set()).add(os.path.dirname(b))
    return needs


def tests():
    return sorted(os.path.join(d, f) for d, _, names in os.walk('tests') for f in names if f.endswith(('.c', '.h')))


def faults(objects):
    module_of, uses = rooms_and_uses()
    paths = sources(module_of)
    for p, h, name in includes(paths + tests(), paths):
        if not h.endswith('.c') and name not in names_of(h, os.path.dirname(p)):
            yield f'{p} includes {h} by the name {name}'
    for p, h, _ in includes(paths, paths):
        room, of = os.path.dirname(p), os.path.dirname(h)
        if is_installed(p) and not is_installed(h):
            yield f'installed header {p} includes {h}, which is not installed'
        if room != of and of not in uses[room] and module_of[of] not in uses[room]:
            yield f'{p} includes {h}, which USES_{room} does not allow'
    edges = list(symbols(objects, paths))
    for c in circles(rooms_needed(edges)):
        by_room = [(os.path.dirname(a), os.path.dirname(b), f'{a} needs {b} ({what})') for a, b, what in edges]
        yield 'circle of rooms: ' + ', '.join(c) + why_of(by_room, c)


def main():
    found = list(faults(sys.argv[1]))
    print('\n'.join(found) if found else 'rooms are in order')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
