#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fully connected layers of AlexNet, VGG-16 and NeuralTalk at the densities of Deep Compression, with 16
values a weight, beside MKL (sparse and dense f32), oneDNN, and onnxruntime (the matrix as INT8 with activations
quantized on the fly, and in 4-bit blocks of 32). Matrices are drawn: only speed is looked at. Contenders take turns, the
shortest run a turn; medians count.

usage: eie_layers.py [--threads N] [--batch B] [--int8] [--balanced] [--turns 7] [--cold] [--only NAME]...

--int8: pith's layer has INT8 activations and weights of 4 bits (pith quantize); its layer of f32 activations is among the
others. --balanced: the same, as many weights in each 128 of a row. --cold: before each run 128 MiB are written, so that no
weight is in a cache. MKL: from the environment's lib (pip install mkl), or MKL=FOLDER; oneDNN: from LD_LIBRARY_PATH. PITH:
as in bench/run.sh. A line of JSON a row: the fastest peer, and all of them."""
import argparse
import ctypes
import glob
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
MKL = os.environ.get("MKL", os.path.join(sys.prefix, "lib"))
RUNS = 3


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


# ---- who runs: functions of no argument that give y -------------------------------------------------------------

def onnxruntime(layer, x, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(layer.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def library(*patterns):
    for path in (p for pattern in patterns for p in sorted(glob.glob(f"{MKL}/{pattern}")) or [pattern]):
        try:
            return ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    return None


def at(array, skip=0):
    return ctypes.c_void_p(array.ctypes.data + skip)


class Description(ctypes.Structure): # matrix_descr of mkl_spblas.h
    _fields_ = [(name, ctypes.c_int) for name in ("type", "mode", "diag")]


def dense_f32(mkl, w, x):
    rows, cols, batch, y = *w.shape, len(x), np.empty((len(x), len(w)), np.float32)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def run():
        mkl.cblas_sgemm(101, 111, 112, batch, rows, cols, one, at(x), cols, at(w), cols, zero, at(y), rows)
        return y
    return run


def sparse_f32(mkl, w, x):
    """The same nonzeros in CSR, with the number of columns as a hint."""
    start = np.concatenate(([0], (w != 0).sum(1).cumsum())).astype(np.int32)
    column, value = np.nonzero(w)[1].astype(np.int32), w[w != 0]
    rows, cols, batch, general, matrix = *w.shape, len(x), Description(20), ctypes.c_void_p()
    turned, y = np.ascontiguousarray(x.T), np.empty((rows, batch), np.float32)
    mkl.mkl_sparse_s_create_csr(ctypes.byref(matrix), 0, rows, cols, at(start), at(start, 4), at(column), at(value))
    if batch > 1:
        mkl.mkl_sparse_set_mm_hint(matrix, 10, general, 101, batch, 10000)
    else:
        mkl.mkl_sparse_set_mv_hint(matrix, 10, general, 10000)
    mkl.mkl_sparse_optimize(matrix)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def run(kept=(start, column, value)): # which MKL reads
        if batch > 1:
            mkl.mkl_sparse_s_mm(10, one, matrix, general, 101, at(turned), batch, batch, zero, at(y), batch)
        else:
            mkl.mkl_sparse_s_mv(10, one, matrix, general, at(turned), zero, at(y))
        return y.T
    return run


def onednn_f32(dnnl, w, x):
    rows, cols, batch, y = *map(ctypes.c_int64, w.shape), ctypes.c_int64(len(x)), np.empty((len(x), len(w)), np.float32)
    no, yes, one, zero = ctypes.c_char(b"N"), ctypes.c_char(b"T"), ctypes.c_float(1), ctypes.c_float(0)

    def run():
        dnnl.dnnl_sgemm(no, yes, batch, rows, cols, one, at(x), cols, at(w), cols, zero, at(y), rows)
        return y
    return run


def peers_of(w, x, threads):
    (rows, cols), mkl, dnnl = w.shape, library("libmkl_rt.so*"), library("libdnnl.so*", "libdnnl.so.3")
    if mkl:
        yield "mkl csr", sparse_f32(mkl, w, x)
        yield "mkl f32", dense_f32(mkl, w, x)
    if dnnl:
        yield "onednn f32", onednn_f32(dnnl, w, x)
    for name, make in ("onnxruntime int8", integer_model), ("onnxruntime 4 bits", four_bit_model):
        yield name, onnxruntime(make(rows, cols, len(x)), x, threads)


def turn(run, clock, sweep):
    best = 1e30
    for i in range(RUNS + 1):
        if sweep is not None:
            sweep += 1
        start = clock()
        run()
        took = clock() - start
        best = min(best, took) if i else best
    return best * 1e3


# ---- what pith runs ---------------------------------------------------------------------------------------------

def drawn(rows, cols, percent, balanced):
    """Weights of 16 values; balanced: as many in each 128 of a row."""
    rng = np.random.default_rng(2)
    if balanced:
        order = rng.random((rows, -(-cols // 128), 128), np.float32).argsort(-1)
        kept = (order < round(percent * 1.28)).reshape(rows, -1)[:, :cols]
    else:
        kept = rng.random((rows, cols), np.float32) < percent / 100
    return np.where(kept, (rng.integers(0, 16, (rows, cols), np.int8) + np.float32(.5)) / 16 - np.float32(.5), 0).astype(np.float32)


def pith_files(w, folder):
    """The layer with f32 activations and with INT8, quantized with four samples."""
    path, rng = lambda name: os.path.join(folder, name), np.random.default_rng(2)
    layer = model([h.make_node("MatMul", ["x", "w"], ["y"])], [n.from_array(np.ascontiguousarray(w.T), "w")], *w.shape, "N")
    onnx.save(layer, path("net.onnx"))
    np.save(path("x.npy"), rng.random((4, w.shape[1]), np.float32))
    subprocess.run([PITH, "prune", "--zeros", path("net.onnx"), "-q", "-o", path("f32.pith")], check=True)
    subprocess.run([PITH, "quantize", path("f32.pith"), "-d", path("x.npy"), "--rounding", "nearest",
                    "--weights", "4", "--all-integers", "-q", "-o", path("int8.pith")], check=True)
    os.remove(path("net.onnx"))
    return path("f32.pith"), path("int8.pith")


def bench(a, file):
    """Milliseconds of the shortest run, and the kernel of the step that takes most of the weights."""
    out = subprocess.run([PITH, "bench", file, "--json", "-T", str(a.threads), "--batch", str(a.batch), "--time", "0.1"] +
                         ["--cold"] * a.cold, check=True, capture_output=True, text=True)
    got = json.loads(out.stdout)
    largest = max(got["layers"], key=lambda layer: layer["weight_bytes"])
    return got["ms_cold" if a.cold else "ms_min"], largest["kernel"]


def row(layer, a):
    name, rows, cols, percent = layer
    w = drawn(rows, cols, percent, a.balanced)
    x = np.random.default_rng(1).random((a.batch, cols), np.float32)
    clock, sweep = time.perf_counter if a.threads > 1 else time.thread_time, np.zeros(1 << 27, np.uint8) if a.cold else None
    runs, times = dict(peers_of(w, x, a.threads)), {}
    with tempfile.TemporaryDirectory() as folder:
        f32, int8 = pith_files(w, folder)
        files = {"pith f32": f32, "pith": int8} if a.int8 or a.balanced else {"pith": f32}
        for _ in range(a.turns):
            for who, file in files.items():
                ms, kernel = bench(a, file)
                times.setdefault(who, []).append(ms)
            for who, run in runs.items():
                times.setdefault(who, []).append(turn(run, clock, sweep))
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
    os.environ.update(MKL_THREADING_LAYER="GNU" if a.threads > 1 else "SEQUENTIAL", OMP_NUM_THREADS=str(a.threads))
    for layer in LAYERS:
        if not a.only or layer[0] in a.only:
            row(layer, a)


main()
