#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantizes networks, writes them as ONNX, and runs both on samples that quantizing did not see.

    quantized_networks.py PITH DATA

Rounding may differ by one step where a product lies between two, so outputs need not be equal: at least
255 of 256 answers are, and the difference is small beside the outputs. The file is in the QDQ format, and
imported again gives the same bits. Networks of fixed point, and a
loop with float gates, give the same bits with every set of instructions. Exit 0: agree; 1: not."""
import gzip
import os
import sys
import tempfile

import numpy as np
import onnx
from compare_ort import call, session

FITTED, TESTED = 32, 256


def first_bytes(path, skip, count, kind):
    with gzip.open(path) as f:
        f.seek(skip)
        return np.frombuffer(f.read(count), kind).astype(np.float32)


def digits(data, n):
    path = os.path.join(data, "mnist/t10k-images-idx3-ubyte.gz")
    return first_bytes(path, 16, n * 784, np.uint8).reshape(n, 1, 28, 28) / np.float32(256)


def words(data, n):
    x = first_bytes(os.path.join(data, "kws/kws01_mfcc_int8.bin.gz"), 0, n * 490, np.int8)
    return ((x - 83) * np.float32(0.5847029)).reshape(n, 1, 49, 10)


def spectra(data, n):
    return np.load(os.path.join(data, "kws/kws_mfcc250_f32.npy"))[:n].astype(np.float32)


def series(data, n):
    return np.load(os.path.join(data, "kws/kws_mfcc490_f32.npy"))[:n].astype(np.float32)


NETWORKS = {"mnist_lenet5_caffe": digits, "tiny_kws_dscnn": words, "kws_DNN_L": spectra}
LOOPS = {"kws_GRU_L": series}


def run_onnx(path, x):
    s = session(path)
    i = s.get_inputs()[0]
    one = [d if isinstance(d, int) else 1 for d in i.shape]
    return np.array([s.run(None, {i.name: v.reshape(one)})[0].reshape(-1) for v in x])


def run_pith(pith, work, net, data):
    out = os.path.join(work, "y.npy")
    call(pith, "run", net, "-d", data, "--range", f"{FITTED}:{FITTED + TESTED}", "-q", "-f", "-o", out)
    y = np.load(out)
    return y.reshape(y.shape[0], -1)


def is_qdq(path):
    ops = {n.op_type for n in onnx.load(path).graph.node}
    return not any("QLinear" in op or "Integer" in op for op in ops) and "DequantizeLinear" in ops


def agrees(pith, data, work, name, options):
    net, small, file, again = (os.path.join(work, n)
                               for n in ("net.pith", "small.pith", "small.onnx", "again.pith"))
    x, npy = NETWORKS[name](data, FITTED + TESTED), os.path.join(work, "x.npy")
    np.save(npy, x)
    call(pith, "import", os.path.join(data, "models", name + ".onnx"), "-q", "-f", "-o", net)
    call(pith, "quantize", net, "-d", npy, "--samples", str(FITTED), *options, "-q", "-f", "-o", small)
    call(pith, "decode", small, "--to", "onnx", "-q", "-f", "-o", file)
    call(pith, "import", file, "-q", "-f", "-o", again)
    a, b = run_pith(pith, work, small, npy), run_onnx(file, x[FITTED:])
    back = np.array_equal(a, run_pith(pith, work, again, npy))
    same = int((a.argmax(1) == b.argmax(1)).sum())
    error = float(np.abs(a - b).max() / (a.max() - a.min()))
    print(f"{name} {' '.join(options)}: {same} of {len(a)} answers equal, outputs off by {error:.2g}"
          f"{'' if back else ', and other bits when imported again'}")
    return same >= len(a) - 1 and error < 0.02 and back and is_qdq(file)


def same_bits(pith, data, work, name, options):
    """With every set of instructions that this CPU has; and answers that are those of the float network."""
    net, small, npy = (os.path.join(work, n) for n in ("net.pith", "small.pith", "x.npy"))
    x = {**NETWORKS, **LOOPS}[name](data, FITTED + TESTED)
    np.save(npy, x)
    call(pith, "import", os.path.join(data, "models", name + ".onnx"), "-q", "-f", "-o", net)
    call(pith, "quantize", net, "-d", npy, "--samples", str(FITTED), *options, "-q", "-f", "-o", small)
    outputs = []
    for level in ("ref", "avx2", "avxvnni", "avx512", "vnni"):
        os.environ["PITH_CPU"] = level
        outputs.append(run_pith(pith, work, small, npy))
    del os.environ["PITH_CPU"]
    same = int((outputs[0].argmax(1) == run_pith(pith, work, net, npy).argmax(1)).sum())
    print(f"{name} {' '.join(options)}: {same} of {TESTED} answers are those of the float network")
    # Of few samples, calibrated on fewer: a bound on what is broken. docs/quantize.md has the figures.
    return same >= 0.95 * TESTED and all(np.array_equal(outputs[0], y) for y in outputs)


def main():
    pith, data = sys.argv[1:]
    good = True
    with tempfile.TemporaryDirectory() as work:
        for name in NETWORKS:
            for options in ([], ["--rounding", "nearest", "--set", "bias_correct=false", "--weights", "5",
                                 "--floats", "f32"]):
                good &= agrees(pith, data, work, name, options)
        good &= agrees(pith, data, work, "tiny_kws_dscnn", ["--to", "fixed:8"])
        for options in (["--to", "fixed:8"], ["--to", "fixed:16"], ["--activations", "16"]):
            good &= same_bits(pith, data, work, "tiny_kws_dscnn", options)
        good &= same_bits(pith, data, work, "kws_GRU_L", [])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
