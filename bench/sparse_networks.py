#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pruned networks against DeepSparse, f32, one thread, batch 1, in turn: the smallest weights of each tensor of
a model become 0, and both run the same ONNX file (pith as `prune --zeros` stores it). With --int8 pith
quantizes that file (seeded noise to calibrate on: speed alone is looked at) and the peers are onnxruntime and
OpenVINO with the dense network in INT8 (bench/int8_networks.py makes it).

usage: sparse_networks.py PITH (MODEL.onnx | NAME)... [--density 0.15] [--deepsparse PYTHON] [--int8] [--seconds 3]
                          [--rounds 5] [--cpu avx2]

NAME: a network with drawn weights (bench/drawn_networks.py).
--deepsparse: a Python that has it (pip install deepsparse==1.8.0 "numpy<2" "setuptools<70", Python 3.11 at most).
A JSON line a model: name, ms and peers' ms (the best round's median each), ratio of the fastest peer. Needs numpy
and onnx; --int8 onnxruntime, and openvino where it is there."""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from peer_times import OnnxRuntime, OpenVino, inputs_of, median_ms


def serve_deepsparse(path):
    """In the Python that has it: for each line of seconds a line of milliseconds."""
    import deepsparse
    engine = deepsparse.compile_model(path, batch_size=1, num_cores=1)
    x = [np.random.default_rng(1).standard_normal(s).astype(np.float32) for s in engine.input_shapes]
    print(deepsparse.__version__, flush=True)
    for line in sys.stdin:
        print(median_ms(lambda: engine.run(x), float(line)), flush=True)


class DeepSparse:
    def __init__(self, python, path):
        self.server = subprocess.Popen([python, os.path.abspath(__file__), "--serve", path], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.name = "deepsparse " + self.line()

    def line(self):
        """Its engine writes a banner of its own."""
        while True:
            line = self.server.stdout.readline()
            if not line:
                raise SystemExit("deepsparse does not run")
            if line[0].isdigit():
                return line.strip()

    def ms(self, seconds):
        print(seconds, file=self.server.stdin, flush=True)
        return float(self.line())


def pruned(path, density, folder):
    import onnx
    from onnx import numpy_helper
    model = onnx.load(path)
    for w in model.graph.initializer:
        if len(w.dims) < 2 or w.data_type != onnx.TensorProto.FLOAT:
            continue
        v = numpy_helper.to_array(w).copy()
        kept = max(1, int(v.size * density))
        v[np.abs(v) < np.partition(np.abs(v).ravel(), v.size - kept)[v.size - kept]] = 0
        w.CopyFrom(numpy_helper.from_array(v, w.name))
    out = os.path.join(folder, os.path.basename(path))
    onnx.save(model, out)
    return out


class Pith:
    def __init__(self, args, path, folder):
        self.args, self.folder = args, folder
        self.env = dict(os.environ, **({"PITH_CPU": args.cpu} if args.cpu else {}))
        self.file = os.path.join(folder, "pruned.pith")
        self.call("prune", path, "--zeros", "-o", self.file)
        if args.int8:
            self.quantize(path)

    def call(self, command, *rest):
        subprocess.run([self.args.pith, command, *rest, "-q", "-f"], check=True)

    def quantize(self, path):
        x = os.path.join(self.folder, "x.npy")
        dims = next(iter(inputs_of(path).values())).shape
        np.save(x, np.random.default_rng(0).standard_normal([4, *dims[1:]]).astype(np.float32))
        floats, self.file = self.file, os.path.join(self.folder, "int8.pith")
        self.call("quantize", floats, "-d", x, "--all-integers", "-o", self.file)

    def ms(self, seconds):
        out = subprocess.run([self.args.pith, "bench", self.file, "--json", "-T", "1", "--time", str(seconds)],
                             capture_output=True, text=True, check=True, env=self.env)
        return json.loads(out.stdout)["ms_median"]


def peers_of(args, dense, sparse, folder):
    if args.int8:
        import int8_networks
        quantized = int8_networks.quantize(dense, folder)
        return [OnnxRuntime(quantized)] + ([OpenVino(quantized)] if importlib.util.find_spec("openvino") else [])
    return [DeepSparse(args.deepsparse, sparse)] if args.deepsparse else []


def compare(args, path):
    import drawn_networks # needs onnx, which a DeepSparse server does without
    with tempfile.TemporaryDirectory() as folder:
        if path in drawn_networks.NAMES:
            os.mkdir(os.path.join(folder, "dense"))
            path = drawn_networks.write(path, os.path.join(folder, "dense"))
        sparse = pruned(path, args.density, folder)
        runners = [Pith(args, sparse, folder), *peers_of(args, path, sparse, folder)]
        best = [min(t) for t in zip(*([r.ms(args.seconds / args.rounds) for r in runners] for _ in range(args.rounds)))]
        row = {"name": os.path.basename(path), "density": args.density, "int8": args.int8, "ms": round(best[0], 3),
               "peers": {r.name: round(ms, 3) for r, ms in zip(runners[1:], best[1:])}}
        if len(best) > 1:
            row["ratio"] = round(min(best[1:]) / best[0], 2)
        print(json.dumps(row), flush=True)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve_deepsparse(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("pith")
    p.add_argument("models", nargs="+")
    p.add_argument("--density", type=float, default=0.15)
    p.add_argument("--deepsparse", default="")
    p.add_argument("--int8", action="store_true")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cpu", default="")
    args = p.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    for path in args.models:
        compare(args, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
