#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `make coverage` prints: lines and branches of the gate and of the decoders that tests run.

    coverage.py OBJECTS      the folder of objects, with the counts that gcc --coverage left there

Branches are gcc's without optimization: each part of a condition has two. A header's are summed over
the files that include it. Fails where less than LEAST of a room's branches were taken; what was not stands
in OBJECTS/missing.txt, a line for each place.
"""
import collections
import json
import os
import subprocess
import sys

ROOMS = ("runtime/validate/", "runtime/decode/")
LEAST = 0.95


def read_counts(objects):
    """{file: {line: [times run, {branch: times taken}]}}"""
    files = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, collections.Counter()]))
    for room in ROOMS:
        folder = os.path.join(objects, room)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".gcno"):
                continue
            printed = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                                   os.path.join(folder, name)], check=True, capture_output=True)
            for f in json.loads(printed.stdout)["files"]:
                if not f["file"].startswith(ROOMS):
                    continue
                for line in f["lines"]:
                    counted = files[f["file"]][line["line_number"]]
                    counted[0] += line["count"]
                    for i, b in enumerate(line["branches"]):
                        counted[1][i] += b["count"]
    return files


def share(part, whole):
    return "%5d of %5d %6.1f %%" % (part, whole, 100 * part / whole if whole else 100)


def counts_of(lines):
    taken = [n > 0 for run, branches in lines.values() for n in branches.values()]
    return [sum(run > 0 for run, _ in lines.values()), len(lines), sum(taken), len(taken)]


def write_missing(files, out):
    for path in sorted(files):
        for line in sorted(files[path]):
            run, branches = files[path][line]
            never = sum(n == 0 for n in branches.values())
            if not run:
                out.write("%s:%d: not run\n" % (path, line))
            elif never:
                out.write("%s:%d: %d of %d branches\n" % (path, line, never, len(branches)))


def main():
    objects = sys.argv[1]
    files = read_counts(objects)
    few = []
    print("%-38s %-23s %s" % ("", "lines", "branches"))
    for room in ROOMS:
        total = [0, 0, 0, 0]
        for path in sorted(f for f in files if f.startswith(room)):
            counts = counts_of(files[path])
            total = [a + b for a, b in zip(total, counts)]
            print("%-38s %s  %s" % (path, share(*counts[:2]), share(*counts[2:])))
        print("%-38s %s  %s" % ("all of " + room, share(*total[:2]), share(*total[2:])))
        if total[3] == 0 or total[2] < LEAST * total[3]:
            few.append(room)
    with open(os.path.join(objects, "missing.txt"), "w", encoding="utf-8") as out:
        write_missing(files, out)
    if few:
        sys.exit("fewer than %.0f %% of the branches: %s" % (100 * LEAST, ", ".join(few)))


main()
