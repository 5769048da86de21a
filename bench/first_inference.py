#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a file to the first outputs of an INT8 network: pith's forms beside onnxruntime's QDQ file.

usage: first_inference.py NET.onnx SAMPLES [--preprocess NAME] [--threads N] [--rounds N]

`pith quantize` makes the network, `encode` its forms (plain, Huffman, rANS, contexts, mixed), `decode` the
QDQ file that onnxruntime reads. bench_first and onnxruntime take turns, five times; the best medians
count. A JSON line a form: name, ms (open + first run), open_ms, kib (memory of the process beyond
what it had), peer, peer_ms, ratio (ms / peer_ms: below 1, pith is faster). Needs onnxruntime."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("BIN", "build/release/bench")
PITH = os.environ.get("PITH", "build/release/pith")


def peer_once(path, threads):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.float32) for i in session.get_inputs()}
    session.run(None, feed)
    return 1e3 * (time.perf_counter() - begin)


def pith(*arguments):
    subprocess.run([PITH, *arguments], check=True)


def ours(args, path, rounds):
    out = subprocess.run([f"{BIN}/bench_first", str(rounds), str(args.threads), path], check=True, capture_output=True, text=True)
    opened, run, kib = out.stdout.split()[:3]
    return float(opened), float(run), int(kib)


def make_forms(args, work):
    pith("quantize", args.network, "-d", args.samples, "--range", "0:32", "-q", "-o", f"{work}/int8.pith",
         *(["--preprocess", args.preprocess] if args.preprocess else []))
    pith("decode", f"{work}/int8.pith", "-q", "-o", f"{work}/int8.onnx")
    forms = {"plain": "none", "huffman": "huffman", "rans": "rans", "context": "context", "adaptive": "adaptive"}
    for name, coder in forms.items():
        pith("encode", f"{work}/int8.pith", "--coder", coder, "-q", "-o", f"{work}/{name}.pith")
    return {name: f"{work}/{name}.pith" for name in forms}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("network")
    p.add_argument("samples")
    p.add_argument("--preprocess", default="")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=101)
    args = p.parse_args()
    best, peer = {}, float("inf")
    with tempfile.TemporaryDirectory() as work:
        forms = make_forms(args, work)
        for _ in range(5):
            peer = min(peer, statistics.median(peer_once(f"{work}/int8.onnx", args.threads) for _ in range(args.rounds)))
            for name, path in forms.items():
                opened, run, _ = ours(args, path, 3 if name == "adaptive" else args.rounds)
                kib = ours(args, path, 1)[2]  # a process that opens it once
                if name not in best or opened + run < best[name][0]:
                    best[name] = (opened + run, opened, kib)
    for name, (ms, opened, kib) in best.items():
        print(json.dumps({"name": f"{os.path.basename(args.network)} {name}", "ms": round(ms, 2), "open_ms": round(opened, 2),
                          "kib": kib, "peer": "onnxruntime", "peer_ms": round(peer, 2), "ratio": round(ms / peer, 3)}))


if __name__ == "__main__":
    sys.exit(main())
