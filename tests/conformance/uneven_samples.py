# SPDX-License-Identifier: MIT
"""Samples of different lengths as `-d`: outputs of `run` are onnxruntime's for each sample alone, filled up with zeros;
calibrate, quantize, compress and compare take what numpy would fill up, with a mask."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T

from open_sizes import PITH, Graph, bias, encoder

rng = np.random.default_rng(int(os.environ.get("SEED", "1")))
failed = False


def check(holds, what):
    global failed
    if not holds:
        print(what)
        failed = True


def pith(*words, exit=0):
    r = subprocess.run([PITH, *words], capture_output=True, text=True)
    check(r.returncode == exit, f"{' '.join(words)}: exit {r.returncode}: {r.stderr.strip()}")
    return r.stdout + r.stderr


def padded(rows, fill=0):
    whole = np.full((len(rows), max(map(len, rows))) + rows[0].shape[1:], fill, rows[0].dtype)
    for to, row in zip(whole, rows):
        to[:len(row)] = row
    return whole


def ids():
    onnx.save(encoder(1)[0], "net.onnx")
    rows = [rng.integers(0, 50, n) for n in [5, 17, 1, 33, 9, 64, 20] + rng.integers(2, 40, 20).tolist()]
    with open("ids.txt", "w") as f:
        f.write("".join(" ".join(map(str, r)) + "\n" for r in rows))
    os.mkdir("ids")
    for i, r in enumerate(rows):
        np.save(f"ids/{i:02}.npy", r[None] if i % 2 else r)
    np.savez("padded.npz", ids=padded(rows), mask=padded([np.ones_like(r) for r in rows]))
    session = ort.InferenceSession("net.onnx")
    wanted = [session.run(None, {"ids": r[None], "mask": np.ones((1, len(r)), np.int64)})[0][0] for r in rows]
    for data in ("ids=ids.txt", "ids=ids"):
        pith("run", "net.onnx", "-d", data, "-q", "-f", "-o", "y.npy")
        check(np.abs(np.load("y.npy")[:, 0] - padded(wanted)).max() < 1e-5, f"{data}: other outputs")
    pith("run", "net.onnx", "-d", "ids=ids.txt", "--range", "2:5", "-q", "-f", "-o", "y.npy")
    check(np.abs(np.load("y.npy")[:, 0, :33] - padded(wanted[2:5])).max() < 1e-5, "--range: other outputs")
    for command in (["calibrate"], ["quantize"], ["compress", "--min-snr", "20"]):
        for data, out in (("ids=ids.txt", "a.pith"), ("padded.npz", "b.pith")):
            printed = pith(command[0], "net.onnx", "-d", data, *command[1:], "-f", "-o", out)
        check(open("a.pith", "rb").read() == open("b.pith", "rb").read(), f"{command[0]}: not as filled up by numpy")
        check(command[0] != "calibrate" or f"{len(rows)} samples" in printed, printed)
    pith("compare", "net.onnx", "a.pith", "-d", "ids=ids.txt")
    pith("check", "net.onnx", "-d", "ids=ids.txt")


def floats():
    """Rows of floats: lines of text, and arrays of [length, 16]."""
    g = Graph(1)
    g.node("Mul", "x", g.const(np.float32(2)), out="y")
    onnx.save(g.model([("x", T.FLOAT, ["n", "length"])], [("y", T.FLOAT, ["n", "length"])]), "twice.onnx")
    rows = [rng.normal(size=int(n)).astype(np.float32) for n in rng.integers(1, 90, 6)]
    with open("x.txt", "w") as f:
        f.write("\n".join(", ".join(map(repr, map(float, r))) for r in rows))
    pith("run", "twice.onnx", "-d", "x.txt", "-q", "-f", "-o", "y.npy")
    check(np.array_equal(np.load("y.npy")[:, 0], padded(rows) * 2), "x.txt: other numbers")
    onnx.save(bias(1)[0], "bias.onnx")
    session = ort.InferenceSession("bias.onnx")
    rows = [rng.normal(size=(int(n), 16)).astype(np.float32) for n in rng.integers(1, 50, 6)]
    os.mkdir("rows")
    for i, r in enumerate(rows):
        np.save(f"rows/{i}.npy", r)
    pith("run", "bias.onnx", "-d", "rows", "-q", "-f", "-o", "y.npy")
    wanted = padded([session.run(None, {"x": r[None]})[0][0] for r in rows])
    check(np.abs(np.load("y.npy")[:, 0] - wanted).max() < 1e-4, "rows: other outputs")


def broken():
    def refused(text, words):
        with open("bad.txt", "w") as f:
            f.write(text)
        printed = pith("run", "net.onnx", "-d", "ids=bad.txt", "-q", exit=4)
        check(words in printed, f"{text!r}: {printed.strip()} does not say '{words}'")
    refused("1 2 3\n4 - 6\n", "line 2 has no number at '- 6")
    refused("1 2\n3 4.5e\n", "line 2")
    np.save("ids/30.npy", np.zeros((2, 3), np.int64))
    check("one shape but for the first axis" in pith("run", "net.onnx", "-d", "ids=ids", "-q", exit=2), "30.npy")


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        ids()
        floats()
        broken()
    sys.exit(failed)


main()
