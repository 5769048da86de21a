# SPDX-License-Identifier: MIT
"""Samples of several sizes as `-d`: outputs of `run` are onnxruntime's for each sample alone, filled up with zeros; so
are the metrics of `eval`. calibrate, quantize, compress and compare take sequences as numpy would fill them up, with a
mask. Of pictures, calibrate sees all pixels, training and rounding the middle that all have."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import wave
import zlib

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
        check(np.abs(np.load("y.npy") - padded(wanted)).max() < 1e-5, f"{data}: other outputs")
    pith("run", "net.onnx", "-d", "ids=ids.txt", "--range", "2:5", "-q", "-f", "-o", "y.npy")
    check(np.abs(np.load("y.npy")[:, :33] - padded(wanted[2:5])).max() < 1e-5, "--range: other outputs")
    for command in (["calibrate"], ["quantize"], ["compress", "--min-snr", "20"]):
        for data, out in (("ids=ids.txt", "a.pith"), ("padded.npz", "b.pith")):
            printed = pith(command[0], "net.onnx", "-d", data, *command[1:], "-f", "-o", out)
        check(open("a.pith", "rb").read() == open("b.pith", "rb").read(), f"{command[0]}: not as filled up by numpy")
        check(command[0] != "calibrate" or f"{len(rows)} samples" in printed, printed)
    pith("compare", "net.onnx", "a.pith", "-d", "ids=ids.txt")
    pith("import", "net.onnx", "-o", "net.pith")
    pith("plan", "net.pith", "--size", "seq=64", "-o", "net.plan")
    printed = pith("run", "net.pith", "-d", "ids=ids.txt", "--plan", "net.plan", exit=2)
    check("the plan file is for other sizes" in printed, printed)
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
    check(np.array_equal(np.load("y.npy"), padded(rows) * 2), "x.txt: other numbers")
    onnx.save(bias(1)[0], "bias.onnx")
    session = ort.InferenceSession("bias.onnx")
    rows = [rng.normal(size=(int(n), 16)).astype(np.float32) for n in rng.integers(1, 50, 6)]
    os.mkdir("rows")
    for i, r in enumerate(rows):
        np.save(f"rows/{i}.npy", r)
    pith("run", "bias.onnx", "-d", "rows", "-q", "-f", "-o", "y.npy")
    wanted = padded([session.run(None, {"x": r[None]})[0][0] for r in rows])
    check(np.abs(np.load("y.npy") - wanted).max() < 1e-4, "rows: other outputs")


def metrics():
    """Targets and labels of positions count where the sample has values; each element, or position, counts the same."""
    rows = [rng.integers(0, 50, n) for n in (5, 17, 64, 3)]
    with open("few.txt", "w") as f:
        f.write("".join(" ".join(map(str, r)) + "\n" for r in rows))
    session = ort.InferenceSession("net.onnx")
    out = [session.run(None, {"ids": r[None], "mask": np.ones((1, len(r)), np.int64)})[0][0] for r in rows]
    targets = [y + rng.normal(size=y.shape).astype(np.float32) for y in out]
    np.save("targets.npy", padded(targets, 9))
    got = json.loads(pith("eval", "net.onnx", "-d", "ids=few.txt", "--labels", "targets.npy", "--json"))
    mse = np.mean(np.concatenate([(a - b).ravel() for a, b in zip(out, targets)]) ** 2)
    check(abs(got["mse"] / mse - 1) < 1e-4, f"mse {got['mse']}, not {mse}")
    labels = [rng.integers(0, out[0].shape[1], len(r)) for r in rows]
    np.save("labels.npy", padded(labels))
    got = json.loads(pith("eval", "net.onnx", "-d", "ids=few.txt", "--labels", "labels.npy", "--json"))
    y, k = np.concatenate(out).astype(np.float64), np.concatenate(labels)
    loss = np.mean(np.log(np.exp(y).sum(1)) - y[np.arange(len(k)), k])
    check(got["positions"] == len(k) and abs(got["loss"] - loss) < 1e-4, f"{got}: not {len(k)} positions, loss {loss}")


def png(pixels):
    """[height, width] or [height, width, 3] bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    h, w = pixels.shape[:2]
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))) + chunk(b"IEND", b""))


def convolutions():
    """A classifier, and a network with an output for each pixel; both take any height and width."""
    for name, pooled in (("classes", True), ("pixels", False)):
        g = Graph(3)
        x = g.node("Conv", "x", g.const(g.rng.normal(size=(6, 3, 3, 3)) / 5), kernel_shape=[3, 3], pads=[1] * 4)
        x = g.node("Conv", g.node("Relu", x), g.const(g.rng.normal(size=(4, 6, 3, 1)) / 4), kernel_shape=[3, 1],
                   pads=[1, 0, 1, 0], strides=[1, 1])
        if pooled:
            g.node("Flatten", g.node("GlobalAveragePool", x), out="y")
        else:
            g.node("Sigmoid", x, out="y")
        onnx.save(g.model([("x", T.FLOAT, ["N", 3, "H", "W"])],
                          [("y", T.FLOAT, ["N", 4] if pooled else ["N", 4, "H", "W"])]), name + ".onnx")
        pith("import", name + ".onnx", "--preprocess", "unit", "-o", name + ".pith")


def pictures():
    convolutions()
    sizes = [(21, 34), (40, 17), (21, 34), (1, 9), (33, 33)]
    pixels = [rng.integers(0, 256, s + (3,) if i != 1 else s, dtype=np.uint8) for i, s in enumerate(sizes)]
    os.mkdir("pictures")
    for i, p in enumerate(pixels):
        with open(f"pictures/{i}.png", "wb") as f:
            f.write(png(p))
    with open("pictures/labels.csv", "w") as f:
        f.write("file,class\n" + "".join(f"{i}.png,{i % 4}\n" for i in range(len(sizes))))
    fed = [np.broadcast_to(p[..., None] if p.ndim == 2 else p, p.shape[:2] + (3,)).transpose(2, 0, 1)[None]
           .astype(np.float32) / 255 for p in pixels]
    wanted = [ort.InferenceSession("pixels.onnx").run(None, {"x": x})[0][0] for x in fed]
    pith("run", "pixels.pith", "-d", "pictures", "-q", "-f", "-o", "y.npy")
    y = np.load("y.npy")
    check(y.shape == (len(sizes), 4, 40, 34), f"pictures: outputs of {y.shape}")
    for i, w in enumerate(wanted):
        own = y[i, :, :w.shape[1], :w.shape[2]]
        check(np.abs(own - w).max() < 1e-5 and np.count_nonzero(y[i]) == own.size, f"{i}.png: other outputs")
        h, width = sizes[i]
        pith("import", "pixels.onnx", "--preprocess", "unit", "--input-shape", f"x:1x3x{h}x{width}", "-f", "-o", "at.pith")
        for net in ("pixels.pith", "at.pith"):
            pith("run", net, f"pictures/{i}.png", "-q", "-f", "-o", net + ".npy")
        fixed = np.load("at.pith.npy")
        check(fixed.tobytes() == np.load("pixels.pith.npy").tobytes() == own[None].tobytes(),
              f"{i}.png: other bits than a file of that size")
    last = rng.standard_normal((3, 20, 36, 3)).astype(np.float32)
    np.save("last.npy", last)
    np.save("first.npy", np.ascontiguousarray(last.transpose(0, 3, 1, 2)))
    printed = pith("run", "pixels.pith", "-d", "last.npy", "-f", "-o", "last_y.npy")
    check("transposed from 20x36x3" in printed, printed)
    pith("run", "pixels.pith", "-d", "first.npy", "-f", "-o", "first_y.npy")
    check(np.array_equal(np.load("last_y.npy"), np.load("first_y.npy")), "channels last: other outputs")
    whole = np.full(y.shape, 7, np.float32)
    for to, w in zip(whole, wanted):
        to[:, :w.shape[1], :w.shape[2]] = w + rng.normal()
    np.save("targets.npy", whole)
    got = json.loads(pith("eval", "pixels.pith", "-d", "pictures", "--labels", "targets.npy", "--json"))
    mse = np.mean(np.concatenate([(t[:, :w.shape[1], :w.shape[2]] - w).ravel() for t, w in zip(whole, wanted)]) ** 2)
    check(abs(got["mse"] / mse - 1) < 1e-4, f"mse {got['mse']}, not {mse}")
    scores = np.concatenate([ort.InferenceSession("classes.onnx").run(None, {"x": x})[0] for x in fed]).astype(np.float64)
    loss = np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(len(sizes)), np.arange(len(sizes)) % 4])
    got = json.loads(pith("eval", "classes.pith", "-d", "pictures", "--json"))
    check(abs(got["loss"] - loss) < 1e-5, f"loss {got['loss']}, not {loss}")
    printed = pith("run", "classes.pith", *(f"pictures/{i}.png" for i in range(3)))
    check(printed.count("\n") == 3, printed)


def sound():
    """The length of wav:LENGTH:HOP:FILE is that of an input whose length is open."""
    g = Graph(7)
    x = g.node("Conv", "x", g.const(g.rng.normal(size=(8, 1, 9)) / 3), pads=[4, 4], strides=[2])
    g.node("GlobalAveragePool", g.node("Relu", x), out="y")
    onnx.save(g.model([("x", T.FLOAT, ["N", 1, "t"])], [("y", T.FLOAT, ["N", 8, 1])]), "sound.onnx")
    samples = rng.integers(-9000, 9000, 4000).astype("<i2")
    with wave.open("sound.wav", "wb") as f:
        f.setparams((1, 2, 8000, 0, "NONE", None))
        f.writeframes(samples.tobytes())
    session = ort.InferenceSession("sound.onnx")
    for length in (400, 77):
        pith("run", "sound.onnx", "-d", f"wav:{length}:{length}:sound.wav", "-q", "-f", "-o", "y.npy")
        first = (samples[:length] / 32768).astype(np.float32)[None, None]
        check(np.abs(session.run(None, {"x": first})[0] - np.load("y.npy")[0]).max() < 1e-5, f"sound: frames of {length}")


def stages():
    """Networks that pool all of a picture, or halve it twice: ranges are those of whole pictures, what trains sees the
    same as with pictures cut before, and a file that a stage made runs at every size."""
    for name in ("halves", "halves_pooled"):
        g = Graph(5)
        conv = lambda x, a, b: g.node("Conv", x, g.const(g.rng.normal(size=(b, a, 3, 3)) / 5), kernel_shape=[3, 3],
                                      pads=[1] * 4)
        down = lambda x: g.node("MaxPool", g.node("Relu", conv(x, 8, 8)), kernel_shape=[2, 2], strides=[2, 2])
        first = g.node("Relu", conv("x", 3, 8))
        x = down(down(first))
        for _ in range(2):
            x = g.node("ConvTranspose", x, g.const(g.rng.normal(size=(8, 8, 2, 2)) / 6), strides=[2, 2])
        x = conv(g.node("Add", x, first), 8, 4)
        g.node(*(("Flatten", g.node("GlobalAveragePool", x)) if "pooled" in name else ("Sigmoid", x)), out="y")
        onnx.save(g.model([("x", T.FLOAT, ["N", 3, "H", "W"])],
                          [("y", T.FLOAT, ["N", 4] if "pooled" in name else ["N", 4, "H", "W"])]), name + ".onnx")
        pith("import", name + ".onnx", "--preprocess", "unit", "-o", name + ".pith")
    sizes = {"halves": [(24, 40), (40, 32), (48, 24), (32, 32)] * 5,
             "classes": [(21, 34), (40, 27), (50, 23), (33, 33)] * 5}
    for net, of in sizes.items():
        pixels = [rng.integers(0, 256, s + (3,), dtype=np.uint8) for s in of]
        pixels[1][0, 0] = pixels[1][1, 1] = 255
        low, wide = np.min(of, axis=0)
        for folder in (net, net + "_cut"):
            os.mkdir(folder)
            for i, p in enumerate(pixels):
                top, left = (p.shape[0] - low) // 2, (p.shape[1] - wide) // 2
                with open(f"{folder}/{i:02}.png", "wb") as f:
                    f.write(png(p if folder == net else p[top:top + low, left:left + wide]))
            with open(f"{folder}/labels.csv", "w") as f:
                f.write("file,class\n" + "".join(f"{i:02}.png,{i % 4}\n" for i in range(len(of))))
        session = ort.InferenceSession(net + ".onnx")
        whole = [session.run(None, {"x": p.transpose(2, 0, 1)[None].astype(np.float32) / 255})[0] for p in pixels]
        got = json.loads(pith("calibrate", net + ".pith", "-d", net, "--json", "-q", "-f", "-o", "c.pith").split("\n")[0])
        y = next(r for r in got["ranges"] if r["name"] == "y")
        check(abs(y["min"] - min(map(np.min, whole))) < 1e-5 and abs(y["max"] - max(map(np.max, whole))) < 1e-5,
              f"{net}: y is in {y}, not in {min(map(np.min, whole))} to {max(map(np.max, whole))}")
        for command in (["quantize"], ["compress", "--min-snr", "15"]):
            printed = pith(*command, net + ".pith", "-d", net, "-f", "-o", "c.pith")
            check(f"the middle {low}x{wide}" in printed, printed)
            pith("run", "c.pith", "-d", net, "-q", "-f", "-o", "y.npy")
            rows = np.load("y.npy")
            error = np.concatenate([(r[tuple(map(slice, w.shape[1:]))] - w[0]).ravel() for r, w in zip(rows, whole)])
            signal = np.concatenate([w.ravel() for w in whole])
            snr = 10 * np.log10(np.square(signal).sum() / np.square(error).sum())
            check(snr > 12, f"{net} {command}: outputs differ much")
            got = json.loads(pith("compare", net + ".pith", "c.pith", "-d", net, "--json").split("\n")[0])
            check(abs(got["snr_db"] - snr) < 0.01, f"{net} {command}: compare finds {got['snr_db']} dB, not {snr}")
        check("dB" in pith("sense", net + ".pith", "-d", net), f"{net}: sense")
        printed = pith("bench", net + ".pith", "--vs", "c.pith", "--time", "0.01")
        check(f"that of c.pith 1x3x{low}x{wide}, so their times do not compare" in printed, printed)
        printed = pith("bench", net + ".pith", "--vs", "c.pith", "--time", "0.01", "--size", "H=32", "--size", "W=48")
        check("do not compare" not in printed, printed)
    g = Graph(5)
    x = g.node("Conv", "x", g.const(g.rng.normal(size=(4, 3, 1, 1))))
    g.node("Transpose", g.node("Reshape", x, g.ints(0, 4, -1)), out="y", perm=[0, 2, 1])
    onnx.save(g.model([("x", T.FLOAT, ["N", 3, "H", "W"])], [("y", T.FLOAT, ["N", "S", 4])]), "positions.onnx")
    pith("import", "positions.onnx", "--preprocess", "unit", "-o", "positions.pith")
    np.save("positions.npy", np.zeros((20, 24 * 24), np.int64))
    printed = pith("compress", "positions.pith", "-d", "halves", "--labels", "positions.npy", "-f", "-o", "c.pith", exit=2)
    check("labels or a target do not fit output 0" in printed, printed)
    common = ("--hold", "0::5", "--batch", "8", "--epochs", "2", "-f", "-o")
    printed = pith("train", "halves_pooled.pith", "-d", "classes", *common, "c.pith")
    check("the middle 20x20" in printed, printed)
    for folder in ("classes", "classes_cut"):
        pith("train", "classes.pith", "-d", folder, *common, f"from_{folder}.pith")
    check(pith("eval", "from_classes.pith", "-d", "classes") == pith("eval", "from_classes_cut.pith", "-d", "classes"),
          "train: pictures that were cut before train another network")


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
        metrics()
        pictures()
        sound()
        stages()
        broken()
    sys.exit(failed)


main()
