#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the files that docs/commands.md's commands for your own network name: photos.onnx, which classifies
pictures of 3x224x224 by their main colour, val.tar and labels.csv with 40 such pictures of many sizes,
picture.png, a green one; bert.onnx with ids and mask, vad.onnx with a state, speech.wav."""
import io
import struct
import tarfile
import zlib

from make_inputs import attr_int, field, model, node, npy, tensor, value, wav, write

COLOURS = [(220, 60, 40), (50, 210, 70), (40, 80, 230), (235, 235, 235)]


def attr_ints(name, values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7))


def png(width, height, colour, seed):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def pixel(y, x):
        return bytes(max(0, min(255, c + (x * 7 + y * 13 + seed * 5) % 21 - 10)) for c in colour)
    rows = b"".join(b"\0" + b"".join(pixel(y, x) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def net():
    """Means of the colours on patches, a depthwise filter, means over the picture, and what each
    class has of them. After --preprocess imagenet black is -2 and white 2.4."""
    patches = [0.0] * (8 * 3 * 16 * 16)
    for o in range(8):
        for c in range(3):
            for k in range(256):
                share = 1.0 if c == o % 4 else 0.34 if o % 4 == 3 else 0.02
                patches[(o * 3 + c) * 256 + k] = share * (1 + (k % 5) / 10) / 256
    small = [(1.0 if k == 4 else 0.03 + 0.01 * (o % 3)) for o in range(8) for k in range(9)]
    of_class = [[2, -1, -1, 0], [-1, 2, -1, 0], [-1, -1, 2, 0], [1.3, 1.3, 1.3, 0.2]]
    rows = [of_class[row][col % 4] / 2 + 0.01 * col for row in range(4) for col in range(8)]
    graph = (node("Conv", ["x", "w1"], ["a"], "patches", attr_ints("strides", [16, 16]) +
                  attr_ints("kernel_shape", [16, 16])) +
             node("Conv", ["a", "w2"], ["b"], "small", attr_int("group", 8) + attr_ints("pads", [1, 1, 1, 1]) +
                  attr_ints("kernel_shape", [3, 3])) +
             node("Relu", ["b"], ["r"], "relu") +
             node("GlobalAveragePool", ["r"], ["p"], "mean") + node("Flatten", ["p"], ["f"], "flat") +
             node("Gemm", ["f", "w3", "b3"], ["y"], "classes", attr_int("transB", 1)) + field(2, "colours") +
             tensor("w1", [8, 3, 16, 16], patches) + tensor("w2", [8, 1, 3, 3], small) +
             tensor("w3", [4, 8], rows) + tensor("b3", [4], [0, 0, 0, -7.5]) +
             value(11, "x", ["n", 3, 224, 224]) + value(12, "y", ["n", 4]))
    write("photos.onnx", model(graph))


def pictures():
    lines = ["file,class"]
    with tarfile.open("val.tar", "w") as tar:
        for i in range(40):
            data = png(230 + 9 * (i % 5), 320 - 11 * (i % 4), COLOURS[i % 4], i)
            entry = tarfile.TarInfo(f"{i:02}.png")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
            lines.append(f"{i:02}.png,{i % 4}")
    write("labels.csv", ("\n".join(lines) + "\n").encode())
    write("picture.png", png(400, 300, COLOURS[1], 7))


def others():
    write("bert.onnx", model(
        node("Gather", ["table", "ids"], ["words"], "embed") +
        node("Mul", ["words", "mask"], ["hidden"], "mask") +
        node("ReduceMean", ["hidden"], ["pooled"], "pool", attr_ints("axes", [0])) + field(2, "bert") +
        tensor("table", [5, 2], [0.1 * i for i in range(10)]) +
        value(11, "ids", [3], 7) + value(11, "mask", [3, 1]) +
        value(12, "hidden", [3, 2]) + value(12, "pooled", [1, 2])))
    write("ids.npy", npy("<i8", (3,), struct.pack("<3q", 4, 0, 2)))
    write("mask.npy", npy("<f4", (3, 1), struct.pack("<3f", 1, 1, 0)))
    write("vad.onnx", model(
        node("MatMul", ["input", "w"], ["now"], "listen") + node("Add", ["now", "state"], ["stateN"], "keep") +
        node("Sigmoid", ["stateN"], ["p"], "speech") + field(2, "vad") +
        tensor("w", [576, 1], [0.01 * (i % 7 - 3) for i in range(576)]) +
        value(11, "input", [1, 576]) + value(11, "state", [1, 1]) +
        value(12, "p", [1, 1]) + value(12, "stateN", [1, 1])))
    write("speech.wav", wav([(i * i) % 20011 - 10000 for i in range(5120)]))


net()
pictures()
others()
