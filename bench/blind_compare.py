#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bench/blind_networks.py wrote: `pith import` and `pith run` against onnxruntime and PyTorch.

usage: blind_compare.py PITH DIR [--only SUBSTRING] [--tolerance 1e-4] [--time] [--export] [--failing]

A line a file: verdict, batch (open, or the size it was exported with), largest error against
onnxruntime and against PyTorch, each of its output's range; with --time the ratio of times (above
1: pith is slower); with --export the largest error of the ONNX file that `decode` writes.
Exit 0: all agree. Needs onnxruntime."""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime


class Refused(Exception):
    pass


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [l for l in done.stderr.strip().splitlines() if not l.startswith("import ")] or ["?"]
        raise Refused(f"{command[1]}: exit {done.returncode}: " + " | ".join(l.strip() for l in lines)[:300])
    return done.stdout


def session(path, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def worst(expected, got):
    error = 0.0
    for e, g in zip(expected, got):
        if e.shape != g.shape:
            raise Refused(f"shape {g.shape}, expected {e.shape}")
        e, g = e.astype(np.float64), g.astype(np.float64)
        span = float(e.max() - e.min()) or float(np.abs(e).max()) or 1.0
        error = max(error, float(np.abs(g - e).max()) / span)
    return error


def run_pith(pith, work, net, feeds, names):
    operands, results = [], []
    for name, value in feeds.items():
        path = os.path.join(work, name + ".npy")
        np.save(path, value)
        operands.append(f"{name}={path}" if len(feeds) > 1 else path)
    for name in names:
        out = os.path.join(work, "out.npy")
        call(pith, "run", net, *operands, "--output-name", name, "-f", "-q", "-o", out)
        results.append(np.load(out))
    return results


def one_by_one(pith, work, net, feeds, expected, names):
    """A batch through a model for one sample; the outputs are joined where `expected` is longer."""
    n = len(next(iter(feeds.values())))
    each = [run_pith(pith, work, net, {k: v[i:i + 1] for k, v in feeds.items()}, names) for i in range(n)]
    results = []
    for parts, e in zip(zip(*each), expected):
        axis = next((i for i, d in enumerate(parts[0].shape) if d != e.shape[i]), 0)
        results.append(np.concatenate(parts, axis))
    return results


def milliseconds(s, feeds):
    for _ in range(3):
        s.run(None, feeds)
    times = []
    for _ in range(30):
        start = time.perf_counter()
        s.run(None, feeds)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3


def compare(a, work, path):
    kept = np.load(os.path.join(a.dir, os.path.basename(path).split(".")[0] + ".npz"))
    s = session(path)
    wanted, names = [i.name for i in s.get_inputs()], [o.name for o in s.get_outputs()]
    net = os.path.join(work, "net.pith")
    call(a.pith, "import", path, "-q", "-f", "-o", net)
    heads = [l for l in call(a.pith, "info", net).splitlines() if l.startswith("input ")]
    opened = bool(heads) and all(l.split()[-1].startswith("N") for l in heads)
    result = {"batch": "open" if opened else "1", "error": 0.0, "torch": 0.0}
    for x, y in (("x", "y"), ("b", "c")):
        if x == "b" and "_batch" not in path:
            continue
        feeds = {n: kept[x + n[1:]] for n in wanted}
        truth = [kept[f"{y}{i}"] for i in range(len(names))]
        expected = s.run(None, feeds)
        if worst(truth, expected) > a.tolerance:  # an optimisation of onnxruntime changes the result
            s = session(path, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
            expected, result["plain"] = s.run(None, feeds), True
        if x == "b" and not opened:
            got = one_by_one(a.pith, work, net, feeds, expected, names)
        else:
            got = run_pith(a.pith, work, net, feeds, names)
        result["error"] = max(result["error"], worst(expected, got))
        result["torch"] = max(result["torch"], worst(truth, got))
    feeds = {n: kept["x" + n[1:]] for n in wanted}
    if a.export:
        back = os.path.join(work, "back.onnx")
        call(a.pith, "decode", net, "--to", "onnx", "-q", "-f", "-o", back)
        result["back"] = worst(s.run(None, feeds), session(back).run(None, feeds))
    if a.time:
        ours = json.loads(call(a.pith, "bench", net, "--json", "-T", "1", "--time", "0.3"))["ms_median"]
        result["ratio"] = ours / milliseconds(s, feeds)
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("pith")
    p.add_argument("dir")
    p.add_argument("--only", default="")
    p.add_argument("--tolerance", type=float, default=1e-4)
    p.add_argument("--time", action="store_true")
    p.add_argument("--export", action="store_true")
    p.add_argument("--failing", action="store_true", help="print only those that do not agree")
    a = p.parse_args()
    total, good = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(a.dir, "*.onnx"))):
            name = os.path.basename(path)[:-len(".onnx")]
            if a.only not in name:
                continue
            form = name.split(".")[1]
            total[form] += 1
            try:
                r = compare(a, work, path)
            except Exception as why:
                print(f"{name:36s} FAIL {type(why).__name__ + ': ' if not isinstance(why, Refused) else ''}"
                      f"{str(why).splitlines()[0][:320]}", flush=True)
                continue
            agrees = max(r["error"], r.get("back", 0.0)) <= a.tolerance
            closed = "_batch" in form and r["batch"] != "open"
            good[form] += agrees
            if a.failing and agrees and not closed:
                continue
            print(f"{name:36s} {'ok  ' if agrees else 'FAIL'} batch {r['batch']:4s} onnxruntime {r['error']:.1e} "
                  f"torch {r['torch']:.1e}" + (f" back {r['back']:.1e}" if "back" in r else "")
                  + (" (without its optimisations)" if r.get("plain") else "")
                  + (f" time x{r['ratio']:.2f}" if "ratio" in r else ""), flush=True)
    print(f"onnxruntime {onnxruntime.__version__}: " + ", ".join(f"{f} {good[f]} of {total[f]}" for f in total))
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
