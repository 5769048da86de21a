#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fully connected layers of AlexNet, VGG-16 and NeuralTalk at the densities of Deep Compression, with 16
values a weight, beside MKL (sparse and dense f32), oneDNN, and onnxruntime (the matrix as INT8 with activations
quantized on the fly, and in 4-bit blocks of 32). Matrices are drawn: only speed is looked at. Contenders take turns
in two processes, the shortest of three runs a turn; medians count.

usage: eie_layers.py [--threads N] [--batch B] [--int8] [--balanced] [--turns 7] [--cold] [--only NAME]...

--int8: pith's layer has INT8 activations and weights of 4 bits (pith prune, pith quantize); its layer of f32 activations
is among the others. --balanced: the same, pruned by --pattern balanced. --cold: before each run 128 MiB are written, so
that no weight is in a cache. MKL: from the environment's lib (pip install mkl), or MKL=FOLDER. PITH, BIN: as in
bench/run.sh. A line of JSON a row: the fastest peer, and all of them."""
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
from onnx import TensorProto as t, helper as h, numpy_helper as n

LAYERS = [("Alex-6", 4096, 9216, 9), ("Alex-7", 4096, 4096, 9), ("Alex-8", 1000, 4096, 25),
          ("VGG-6", 4096, 25088, 4), ("VGG-7", 4096, 4096, 4), ("VGG-8", 1000, 4096, 23),
          ("NT-We", 600, 4096, 10), ("NT-Wd", 8791, 600, 11), ("NT-LSTM", 2400, 1201, 10)]
PITH = os.environ.get("PITH", "build/release/pith")
BENCH = os.environ.get("BIN", "build/release/bench") + "/bench_eie"
MKL = os.environ.get("MKL", os.path.join(sys.prefix, "lib"))


def model(nodes, weights, rows, cols, batch, more=()):
    graph = h.make_graph(nodes, "layer", [h.make_tensor_value_info("x", t.FLOAT, [batch, cols])],
                         [h.make_tensor_value_info("y", t.FLOAT, [batch, rows])], weights)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17), *more], ir_version=9)


def integer_model(rows, cols, batch):
    w = np.random.default_rng(0).integers(-127, 128, (cols, rows), np.int8)
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             h.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
             h.make_node("Cast", ["i"], ["f"], to=t.FLOAT), h.make_node("Mul", ["s", "ws"], ["m"]),
             h.make_node("Mul", ["f", "m"], ["y"])]
    return model(nodes, [n.from_array(w, "w"), n.from_array(np.float32(0.01), "ws")], rows, cols, batch)


def four_bit_model(rows, cols, batch):
    blocks, rng = (cols + 31) // 32, np.random.default_rng(0)
    weights = [n.from_array(rng.integers(0, 256, (rows, blocks, 16), np.uint8), "w"),
               n.from_array(np.full(rows * blocks, 0.01, np.float32), "s")]
    node = h.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=cols, N=rows, bits=4,
                       block_size=32, accuracy_level=4)
    return model([node], weights, rows, cols, batch, [h.make_opsetid("com.microsoft", 1)])


class OnnxRuntime:
    def __init__(self, layer, batch, cols, threads):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = ort.InferenceSession(layer.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.x = {"x": np.random.default_rng(1).random((batch, cols), np.float32)}
        self.clock = time.perf_counter if threads > 1 else time.thread_time
        self.sweep = np.zeros(1 << 27, np.uint8) if "COLD" in os.environ else None

    def turn(self):
        best = 1e30
        for i in range(4):
            if self.sweep is not None:
                self.sweep += 1
            start = self.clock()
            self.session.run(None, self.x)
            took = self.clock() - start
            best = min(best, took) if i else best
        return best * 1e3


def pith_file(rows, cols, percent, balanced, folder):
    """The layer as a user makes it: drawn, pruned, quantized with four samples."""
    rng, path = np.random.default_rng(2), lambda name: os.path.join(folder, name)
    w = rng.standard_normal((cols, rows), np.float32)
    onnx.save(model([h.make_node("MatMul", ["x", "w"], ["y"])], [n.from_array(w, "w")], rows, cols, "N"), path("net.onnx"))
    np.save(path("x.npy"), rng.random((4, cols), np.float32))
    sparsity = ["--sparsity", f"{100 - percent}%"]
    if balanced:
        kept = round(percent * 128 / 100)
        sparsity = ["--sparsity", f"{100 - kept / 1.28:.6f}%", "--pattern", f"balanced:{kept}/128"]
    subprocess.run([PITH, "prune", path("net.onnx"), *sparsity, "-q", "-o", path("pruned.pith")], check=True)
    subprocess.run([PITH, "quantize", path("pruned.pith"), "-d", path("x.npy"), "--rounding", "nearest",
                    "--weights", "4", "--all-integers", "-q", "-o", path("int8.pith")], check=True)
    os.remove(path("net.onnx"))
    return path("int8.pith")


class Bench:
    def __init__(self, *arguments):
        env = dict(os.environ, LD_LIBRARY_PATH=MKL + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        self.process = subprocess.Popen([BENCH, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=env)

    def turn(self):
        print(file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def row(layer, a):
    name, rows, cols, percent = layer
    own, file, times = Bench(rows, cols, percent, a.batch, a.threads), None, {}
    peers = {peer: OnnxRuntime(make(rows, cols, a.batch), a.batch, cols, a.threads)
             for peer, make in (("onnxruntime int8", integer_model), ("onnxruntime 4 bits", four_bit_model))}
    if a.int8 or a.balanced:
        with tempfile.TemporaryDirectory() as folder:
            file = Bench(pith_file(rows, cols, percent, a.balanced, folder), a.batch, a.threads)
            file.turn()
    for _ in range(a.turns):
        answer = own.turn()
        kernel = answer.pop("kernel")
        if file:
            answer["pith f32"] = answer.pop("pith")
            integers = file.turn()
            kernel, answer["pith"] = integers["kernel"], integers["pith int8"]
        answer.update((peer, p.turn()) for peer, p in peers.items())
        for who, ms in answer.items():
            times.setdefault(who, []).append(ms)
    for bench in filter(None, (own, file)):
        bench.close()
    medians = {who: round(statistics.median(all), 4) for who, all in times.items()}
    ms = medians.pop("pith")
    peer = min((who for who in medians if who != "pith f32"), key=medians.get)
    print(json.dumps({"name": name, "batch": a.batch, "threads": a.threads, "cold": a.cold, "kernel": kernel, "ms": ms,
                      "peer": peer, "peer_ms": medians[peer], "ratio": round(medians[peer] / ms, 2), "peers": medians}),
          flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("threads", 1), ("batch", 1), ("turns", 7)):
        p.add_argument(f"--{name}", type=int, default=value)
    for name in ("int8", "balanced", "cold"):
        p.add_argument(f"--{name}", action="store_true")
    p.add_argument("--only", action="append")
    a = p.parse_args()
    if a.cold:
        os.environ["COLD"] = "1"
    for layer in LAYERS:
        if not a.only or layer[0] in a.only:
            row(layer, a)


main()
