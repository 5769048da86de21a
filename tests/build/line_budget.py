#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of code a folder may have.

    line_budget.py [--update]    run in the root of a tree

Counted are the lines of C, CUDA, Python and shell that are neither blank nor comment alone. A folder without a line
in line_budget.txt belongs to the folder above it. With --update the file gets today's numbers: that lowers a budget
after code has gone; to raise one is for the commit to explain.
"""
import os
import sys

FILE = 'tests/build/line_budget.txt'
HEAD = '''# Lines of code that are neither blank nor comment, by folder, folders below it included that have no line of their own.
# tests/build/line_budget.py checks them. Raise one only with the reason in the commit.
'''


def code_lines(path):
    hashes = path.endswith(('.py', '.sh', '.inc'))
    line_mark, begin, end = ('#', '"""', '"""') if hashes else ('//', '/*', '*/')
    n, inside = 0, False
    with open(path, encoding='utf-8') as f:
        for line in f:
            text = line.strip()
            if inside:
                inside = end not in text
            elif text.startswith(begin):
                inside = end not in text[len(begin):]
            elif text and not text.startswith(line_mark):
                n += 1
    return n


def counted():
    found = {}
    for folder, folders, names in os.walk('.'):
        folders[:] = [f for f in folders if not f.startswith('.') and (folder, f) != ('.', 'build')]
        for name in names:
            if name.endswith(('.c', '.h', '.cu', '.cuh', '.py', '.sh', '.inc', '.in')):
                path = os.path.normpath(os.path.join(folder, name))
                found[path] = code_lines(path)
    return found


def main():
    budgets = {}
    with open(FILE, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                folder, number = line.split()
                budgets[folder] = int(number)
    sums = dict.fromkeys(budgets, 0)
    lost = set()
    for name, n in counted().items():
        folder = os.path.dirname(name)
        while folder and folder not in sums:
            folder = os.path.dirname(folder)
        if folder:
            sums[folder] += n
        else:
            lost.add(name)
    if '--update' in sys.argv[1:]:
        with open(FILE, 'w', encoding='utf-8') as f:
            f.write(HEAD)
            for folder in sorted(sums):
                if sums[folder]:
                    f.write(f'{folder:28} {sums[folder]:6}\n')
        return 0
    for folder in sorted(sums):
        if sums[folder] > budgets[folder]:
            print(f'{folder}: {sums[folder]} lines of code, {FILE} has {budgets[folder]}')
    for name in sorted(lost):
        print(f'{name}: no folder of {FILE} holds it')
    return bool(lost) or any(sums[f] > budgets[f] for f in sums)


sys.exit(main())
