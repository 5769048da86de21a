#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recurrent layers beside onnxruntime, one thread each, in turn: medians and their ratio.

    recurrent_compare.py --pith build/release/pith [--data ../shared/data] [--rounds 5]

Needs the environment that `make deps-test` makes (build/venv/bin/python)."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "conformance"))
import recurrent_cases  # noqa: E402

LAYERS = {
    "LSTM, one step of I=128 H=128": ("LSTM", (1, 1, 128, 128), {}),
    "LSTM T=100 I=256 H=512": ("LSTM", (100, 1, 256, 512), {}),
    "LSTM T=50 N=16 I=256 H=512": ("LSTM", (50, 16, 256, 512), {}),
    "GRU T=100 I=256 H=512": ("GRU", (100, 1, 256, 512), {"linear_before_reset": 1}),
}


def networks(data, folder):
    random = np.random.default_rng(1)
    for name, (kind, sizes, attributes) in LAYERS.items():
        path = os.path.join(folder, f"{len(os.listdir(folder))}.onnx")
        layer = recurrent_cases.Layer(random, kind, ("B",), sizes=sizes, **attributes)
        onnx.save(layer.model(), path)
        yield name, path
    silero = os.path.join(data, "models", "silero_vad_16k.onnx")
    if os.path.exists(silero):
        yield "silero_vad_16k, one frame", silero


def time_onnxruntime(session, feeds, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def time_pith(pith, net, seconds):
    out = subprocess.run([pith, "bench", net, "-T", "1", "--time", str(seconds), "--json"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["ms_median"] / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pith", required=True)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        for name, path in networks(args.data, folder):
            net = os.path.join(folder, "net.pith")
            subprocess.run([args.pith, "import", path, "-q", "-f", "-o", net], check=True)
            session = onnxruntime.InferenceSession(path, options,
                                                   providers=["CPUExecutionProvider"])
            feeds = {i.name: np.random.default_rng(2).standard_normal(i.shape).astype(np.float32)
                     for i in session.get_inputs()}
            ours, theirs = [], []
            for _ in range(args.rounds):
                theirs.append(time_onnxruntime(session, feeds, args.seconds))
                ours.append(time_pith(args.pith, net, args.seconds))
            a, b = statistics.median(ours), statistics.median(theirs)
            print(f"{name}: pith {a * 1e6:.1f} us, onnxruntime {b * 1e6:.1f} us, "
                  f"ratio {a / b:.2f}")


if __name__ == "__main__":
    main()
