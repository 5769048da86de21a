#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the toolchain takes beside others that do the same: INT8 from 64 samples, and compression of a
large network without data. The multilayer perceptrons are made here; each command runs in turn with its
peers, medians of --rounds. A JSON line a row: name, seconds, and peers with their seconds.

    bench/toolchain_time.py build/release/pith ../shared/data [--rounds 3] [--large]

--large adds 302 million weights (1.2 GB of ONNX). Needs numpy, onnx; onnxruntime and nncf where they are there.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper

from int8_accuracy import prepared

MODERATE = (1024, 2048, 2048, 1536, 10)       # 9.5 M weights
LARGE = (8192, 8192, 8192, 8192, 8192, 4096, 10)  # 302 M
SAMPLES = 64


def perceptron(path, widths):
    rng = np.random.default_rng(1)
    nodes, constants, x = [], [], "x"
    for i, (n_in, n_out) in enumerate(zip(widths, widths[1:])):
        w = (rng.standard_normal((n_out, n_in)) * np.sqrt(2 / n_in)).astype(np.float32)
        b = (rng.standard_normal(n_out) * 0.01).astype(np.float32)
        constants += [numpy_helper.from_array(w, f"w{i}"), numpy_helper.from_array(b, f"b{i}")]
        nodes.append(helper.make_node("Gemm", [x, f"w{i}", f"b{i}"], [f"y{i}"], transB=1, name=f"fc{i}"))
        x = f"y{i}"
        if i < len(widths) - 2:
            nodes.append(helper.make_node("Relu", [x], [f"r{i}"]))
            x = f"r{i}"
    graph = helper.make_graph(nodes, "perceptron",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, widths[0]])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, widths[-1]])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def seconds_of(what):
    start = time.time()
    what()
    return time.time() - start


def onnxruntime_static(model, samples, work):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    name = onnx.load(model, load_external_data=False).graph.input[0].name

    class Reader(CalibrationDataReader):
        items = iter(samples)

        def get_next(self):
            x = next(self.items, None)
            return None if x is None else {name: x[None]}

    quantize_static(model, os.path.join(work, "static.onnx"), Reader(), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def onnxruntime_dynamic(model, work):
    from onnxruntime.quantization import quantize_dynamic
    quantize_dynamic(model, os.path.join(work, "dynamic.onnx"))


def nncf_static(model, samples, work):
    import nncf
    network = onnx.load(model)
    if network.opset_import[0].version < 13:
        network = onnx.version_converter.convert_version(network, 13)
    name = network.graph.input[0].name
    done = nncf.quantize(network, nncf.Dataset(samples, lambda x: {name: x[None]}), subset_size=len(samples))
    onnx.save(done, os.path.join(work, "nncf.onnx"))


def measure(name, rounds, runs):
    """runs: who: call; the first is pith."""
    times = {who: [] for who in runs}
    for _ in range(rounds):
        for who, call in runs.items():
            times[who].append(seconds_of(call))
    medians = {who: round(statistics.median(t), 2) for who, t in times.items()}
    print(json.dumps({"name": name, "seconds": medians.pop("pith"), "peers": medians}), flush=True)


def static_runs(pith, model, data, samples, work):
    runs = {"pith": lambda: pith("quantize", model, *data, "--samples", str(SAMPLES))}
    if importlib.util.find_spec("onnxruntime"):
        runs["onnxruntime"] = lambda: onnxruntime_static(model, samples, work)
    if importlib.util.find_spec("nncf"):
        runs["nncf"] = lambda: nncf_static(model, samples, work)
    return runs


def pictures(args, work):
    """Of ImageNet, and the options that give them to pith."""
    data = ["-d", os.path.join(args.data, "imagenet/imagenet_a500.tar"), "--range", "0:500:7"]
    preprocess = "order=bgr,mean=104:117:123,crop=224"

    def pith(*options):
        subprocess.run([args.pith, *options], check=True)

    samples = prepared(pith, work, [1, 3, 224, 224], preprocess, *data)
    return samples[:SAMPLES, 0], data + ["--preprocess", preprocess]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pith")
    parser.add_argument("data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        def pith(command, *rest):
            subprocess.run([args.pith, command, *rest, "-q", "-f", "-o", os.path.join(work, "made.pith")], check=True)

        model, x = os.path.join(work, "mlp.onnx"), os.path.join(work, "x.npy")
        perceptron(model, MODERATE)
        samples = np.random.default_rng(2).standard_normal((SAMPLES, MODERATE[0])).astype(np.float32)
        np.save(x, samples)
        measure("quantize, perceptron of 9.5 M", args.rounds, static_runs(pith, model, ["-d", x], samples, work))
        squeezenet = os.path.join(args.data, "models/imagenet_squeezenet_v1_1.onnx")
        if os.path.exists(squeezenet):
            samples, data = pictures(args, work)
            measure("quantize, SqueezeNet v1.1", args.rounds, static_runs(pith, squeezenet, data, samples, work))
        if args.large:
            perceptron(model, LARGE)
            runs = {"pith": lambda: pith("compress", model)}
            if importlib.util.find_spec("onnxruntime"):
                runs["onnxruntime, weights of 8 bits"] = lambda: onnxruntime_dynamic(model, work)
            measure("compress without data, perceptron of 302 M", args.rounds, runs)


if __name__ == "__main__":
    main()
