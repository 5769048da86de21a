#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the time left that `pith compress NET -d DATA --max-drop 0.5%` tells is true: a line of JSON for
each network, and a table of them.

    bench/time_left.py PITH DATA_FOLDER [-o told.jsonl] [-T N] [NETWORK...]
    bench/time_left.py PITH --drawn [-o told.jsonl] [-T N] [NETWORK...]
    bench/time_left.py --table told.jsonl

Networks, data and options are those of compress_goal.py; --drawn takes networks with seeded weights
instead, like those by which the constants of compress/goal/sweep_cost.c were chosen. Events of --json=lines tell the
share that is over; all times are processor time of the process (with -T 1, the default, what a machine
that does nothing else would show), so that what else runs changes little. "told" is the whole time as told
after 10, 25 and 50 % of it, over what it was."""
import json
import os
import subprocess
import sys
import tempfile

import compress_goal
import drawn_goals

AFTER = (0.1, 0.25, 0.5)
TRUE = 0.3  # within


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watched(command):
    """[processor time, share] at each event that has a new share, and the last line's object."""
    seen, start, last, result = [], 0.0, -1.0, {}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        said = json.loads(line)
        if said.get("event") == "start":
            start = cpu_seconds(child.pid)
        elif said.get("event") == "progress" and said["done"] != last:
            last = said["done"]
            seen.append((cpu_seconds(child.pid) - start, last / said["total"]))
        elif said.get("event") == "end":
            seen.append((cpu_seconds(child.pid) - start, 1.0))
        elif "event" not in said:
            result = said
    child.wait()
    return seen, result


def told_after(seen, part):
    """The whole time told when that part of it was over, as a share of the true one."""
    whole = seen[-1][0]
    before = [(t, share) for t, share in seen if t <= part * whole and share > 0]
    return round(before[-1][0] / before[-1][1] / whole, 3) if before else None


def measure(pith, command, name, threads):
    with tempfile.TemporaryDirectory() as work:
        seen, result = watched([pith, "compress", *command(work), "--max-drop", "0.5%", "-q", "--json=lines", "-T",
                                threads, "-f", "-o", os.path.join(work, "small.pith")])
    return {"network": name, "seconds": round(seen[-1][0], 2), "calls": result.get("calls"),
            "bytes": result.get("bytes"), "told": {f"{100 * p:.0f}%": told_after(seen, p) for p in AFTER}}


def command_of(pith, folder, name):
    if folder is None:
        return lambda work: drawn_goals.write(name, work)

    def of_data(work):
        _, preprocess, seen, _ = compress_goal.NETWORKS[name]
        original = os.path.join(work, "original.pith")
        subprocess.run([pith, "import", os.path.join(folder, "models", name + ".onnx"), "-q", "-o", original] +
                       (["--preprocess", preprocess] if preprocess else []), check=True)
        return [original, "-d", compress_goal.data_of(name, folder, work), "--range", seen] + \
            compress_goal.STATES.get(name, [])
    return of_data


def is_true(told):
    return told is not None and abs(told - 1) <= TRUE


def table(path):
    rows = {r["network"]: r for r in map(json.loads, open(path))}
    print("| network | seconds | files | told / true after 10 % | 25 % | 50 % |")
    print("|---|---|---|---|---|---|")
    for r in rows.values():
        told = " | ".join("-" if x is None else f"{x:.2f}" for x in r["told"].values())
        print(f"| {r['network']} | {r['seconds']:.1f} | {r['calls']} | {told} |")
    for part in next(iter(rows.values()))["told"]:
        print(f"{sum(is_true(r['told'][part]) for r in rows.values())} of {len(rows)} within 30 % after {part}")


def option(args, name, default):
    if name not in args:
        return default
    at = args.index(name)
    value = args[at + 1]
    del args[at:at + 2]
    return value


def main(args):
    if args[0] == "--table":
        return table(args[1])
    out, threads = option(args, "-o", None), option(args, "-T", "1")
    pith, folder = args[0], None if args[1] == "--drawn" else args[1]
    for name in args[2:] or list(compress_goal.NETWORKS if folder else drawn_goals.NETWORKS):
        compress_goal.tell(measure(pith, command_of(pith, folder, name), name, threads), out)


if __name__ == "__main__":
    main(sys.argv[1:])
