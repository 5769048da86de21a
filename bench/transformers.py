#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two layers of well-known transformers, as PyTorch's exporters write them (tests/conformance/attention.py), beside
onnxruntime (docs/results/float-speed.md).

usage: transformers.py [--rounds 3]

Tokens are 384 wide with 12 heads; one thread, batch 1, lengths 64 and 256; the decoder with a cache: one token behind 64.
Each round times both in turn; the table has the best round's medians in ms."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["WIDTHS"] = "384,12,32"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conformance"))
os.environ.setdefault("PITH", "build/release/pith")
import attention  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402


def pith_ms(file, sizes):
    size = ",".join(f"{k}={v}" for k, v in sizes.items() if k != "batch")
    r = subprocess.run([attention.PITH, "bench", file, "--size", size, "-T", "1", "--time", "500ms"],
                       capture_output=True, text=True, check=True)
    value, unit = re.search(r"median ([0-9.]+) (ms|us)", r.stdout).groups()
    return float(value) * (1 if unit == "ms" else 1e-3)


def peer_ms(session, feed):
    times, end = [], time.perf_counter() + 0.5
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=3)
    rounds = p.parse_args().rounds
    one = ort.SessionOptions()
    one.intra_op_num_threads = one.inter_op_num_threads = 1
    one.log_severity_level = 3
    print("| network | exporter | length | pith ms | onnxruntime | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for make in (attention.bert, attention.vit, attention.gpt2, attention.llama, attention.cached):
        for script in (True, False):
            model, _, _ = make(attention.Net(1, script))
            with tempfile.TemporaryDirectory() as work:
                onnx.save(model, f"{work}/net.onnx")
                subprocess.run([attention.PITH, "import", f"{work}/net.onnx", "-q", "-o", f"{work}/net.pith"], check=True)
                session = ort.InferenceSession(f"{work}/net.onnx", one, providers=["CPUExecutionProvider"])
                for n in (1,) if make is attention.cached else (64, 256):
                    sizes = {"batch": 1, "seq": n, "past": 64}
                    if make is not attention.cached:
                        del sizes["past"]
                    feed = attention.feed_of(model, sizes, {}, np.random.default_rng(0))
                    best = [min(t) for t in zip(*((pith_ms(f"{work}/net.pith", sizes), peer_ms(session, feed))
                                                  for _ in range(rounds)))]
                    print(f"| {make.__name__} | {'TorchScript' if script else 'torch.export'} | {n} | {best[0]:.3g} "
                          f"| {best[1]:.3g} | {best[1] / best[0]:.2f} |", flush=True)


main()
