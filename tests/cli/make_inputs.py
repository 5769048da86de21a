#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the inputs of the command transcripts into the current folder: small ONNX files, good and
bad, encoded by hand (no packages needed), and data sets that do not fit."""
import os
import struct
import zlib


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, outputs, name, attributes=b""):
    return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) +
                 field(3, name) + field(4, op) + attributes)


def attr_int(name, v):
    return field(5, field(1, name) + field(3, v) + field(20, 2))


def attr_graph(name, graph):
    return field(5, field(1, name) + field(6, graph) + field(20, 5))


def attr_text(name, v):
    return field(5, field(1, name) + field(4, v) + field(20, 3))


def tensor(name, dims, values):
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) +
                 field(9, struct.pack(f"<{len(values)}f", *values)))


def value(number, name, dims, kind=1):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, shape))))


def npy(descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + data


def wav(samples, channels=1, kind=1, bits=16):
    form = struct.pack("<HHIIHH", kind, channels, 16000, 32000 * channels, 2 * channels, bits)
    data = struct.pack(f"<{len(samples)}h", *samples)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def model(graph, opset=13):
    return field(1, 7) + field(7, graph) + field(8, field(2, opset))


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def png(width, height, grey):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(grey(y, x) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def iterated(body):
    """A Loop's body around the nodes `body`, which make y of x; m iterations are outside."""
    return (node("Identity", ["more"], ["again"], "") + body + field(2, "body") + value(11, "i", [], 7) +
            value(11, "more", [], 9) + value(11, "x", [2]) + value(12, "again", [], 9) + value(12, "y", [2]))


def gemm(weights, rows=4, cols=6, name="fc"):
    return (node("Gemm", ["x", "w"], ["y"], name, attr_int("transB", 1)) + field(2, "g") +
            tensor("w", [rows, cols], weights))


def main():
    good = [0.01 * ((7 * i) % 23 - 11) for i in range(24)]
    ends = value(11, "x", [1, 6]) + value(12, "y", [1, 4])
    write("good.onnx", model(gemm(good) + ends))
    bad = good[:]
    bad[5] = float("nan")
    write("nan.onnx", model(gemm(bad) + ends))
    write("shape.onnx", model(gemm(good) + value(11, "x", [1, 7]) + value(12, "y", [1, 4])))
    # 6 elements for one sum and 5 for the other, or one that is repeated
    write("open.onnx", model(
        node("Add", ["x", "k"], ["a"], "add") + node("Gemm", ["a", "w"], ["y"], "fc", attr_int("transB", 1)) +
        node("Add", ["x", "j"], ["z"], "more") +
        field(2, "g") + tensor("k", [1, 6], good[:6]) + tensor("j", [1, 5], good[:5]) + tensor("w", [4, 6], good) +
        value(11, "x", [1, "width"]) + value(12, "y", [1, 4]) + value(12, "z", [1, 5])))
    write("opset.onnx", model(gemm(good) + ends, opset=99))
    write("unsupported.onnx", model(
        node("Unique", ["x"], ["a"], "/head/unique_0") +
        node("Unique", ["a"], ["b"], "/head/unique_1") +
        node("NonZero", ["b"], ["y"], "/post/keep") + field(2, "g") +
        value(11, "x", [1, 6]) + value(12, "y", [2, 6])))
    write("cycle.onnx", model(node("Add", ["x", "b"], ["a"], "first") + node("Relu", ["a"], ["b"], "second") +
                              field(2, "g") + value(11, "x", [1, 6]) + value(12, "b", [1, 6])))
    # GraphProto.node(1) > NodeProto.attribute(5) > AttributeProto.g(6) > GraphProto.node(1) > ...
    parts, size = [], 0
    for level in range(100002):  # from the inside; a node is outermost
        number = (6, 5, 1)[level % 3]
        parts.append(varint(number << 3 | 2) + varint(size))
        size += len(parts[-1])
    write("nested.onnx", model(b"".join(reversed(parts))))
    write("not.onnx", b"this is no network\n")
    write("empty.onnx", b"")
    # other formats, by their first bytes
    def archive(*entries):
        return b"".join(b"PK\3\4" + bytes(22) + struct.pack("<HH", len(e), 0) + e.encode() for e in entries)
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    write("net.pt", archive("net/data.pkl", "net/data/0"))
    write("old.pt", bytes([0x80, 2, 0x8a, 10]) + b"l\xfc\x9cF\xf9 j\xa8P\x19.")
    write("net.keras", archive("metadata.json", "config.json", "model.weights.h5"))
    write("net.zip", archive("readme.txt"))
    write("net.tflite", struct.pack("<I", 28) + b"TFL3" + bytes(60))
    write("net.h5", b"\x89HDF\r\n\x1a\n" + bytes(88))
    write("net.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
    write("net.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    write("net.pb", field(1, field(1, "x") + field(2, "Placeholder")))
    os.mkdir("saved")
    write("saved/saved_model.pb", field(1, 1) + field(2, field(1, field(1, "serve"))))
    write("images-idx3-ubyte", struct.pack(">IIII", 0x803, 3, 2, 3) + bytes(range(18)))
    write("labels-idx1-ubyte", struct.pack(">II", 0x801, 3) + bytes([0, 1, 2]))
    write("alone-images-idx3-ubyte", struct.pack(">IIII", 0x803, 3, 2, 3) + bytes(range(18)))
    write("large-images-idx3-ubyte", struct.pack(">IIII", 0x803, 2, 4, 4) + bytes(range(32)))
    write("escape.onnx", model(gemm(good, name='\x1b]0;x\x07"quoted\\') + ends))
    cut = "\nBROKEN\x1b"
    for name, width in (("line_ends.onnx", 6), ("line_ends_open.onnx", "width" + cut)):
        write(name, model(node("Add", ["x" + cut, "k" + cut], ["a" + cut], "add" + cut) +
                          node("Gemm", ["a" + cut, "w" + cut], ["y" + cut], "fc" + cut, attr_int("transB", 1)) +
                          (b"" if width == 6 else
                           node("Add", ["x" + cut, "j"], ["z"], "more") + tensor("j", [1, 5], good[:5])) +
                          field(2, "g") + tensor("k" + cut, [1, 6], good[:6]) +
                          tensor("w" + cut, [4, 6], bad if width == 6 else good) +
                          value(11, "x" + cut, [1, width]) + value(12, "y" + cut, [1, 4]) +
                          (b"" if width == 6 else value(12, "z", [1, 5]))))
    per_channel = [1.0, 0.5, 2.0, 1.5]
    write("norm.onnx", model(
        node("Conv", ["x", "w"], ["c"], "conv") +
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm") +
        node("Relu", ["n"], ["y"], "relu") + field(2, "g") + tensor("w", [4, 3, 1, 1], good[:12]) +
        b"".join(tensor(name, [4], per_channel) for name in "sbmv") +
        value(11, "x", [1, 3, 2, 2]) + value(12, "y", [1, 4, 2, 2])))
    ones = lambda n: [1.0] * n
    write("normed.onnx", model(
        node("Flatten", ["x"], ["f"], "flat") +
        node("Gemm", ["f", "w1", "b1"], ["h"], "fc1", attr_int("transB", 1)) +
        node("BatchNormalization", ["h", "s", "b", "m", "v"], ["n"], "norm") + node("Relu", ["n"], ["r"], "relu") +
        node("Gemm", ["r", "w2", "b2"], ["y"], "fc2", attr_int("transB", 1)) + field(2, "g") +
        tensor("w1", [32, 784], ones(25088)) + tensor("w2", [10, 32], ones(320)) + tensor("b2", [10], ones(10)) +
        b"".join(tensor(name, [32], ones(32)) for name in ("b1", "s", "b", "m", "v")) +
        value(11, "x", ["n", 1, 28, 28]) + value(12, "y", ["n", 10])))
    # y = x + s, to be called step by step; a layer with each suspicion; two inputs of two types
    write("sum.onnx", model(
        node("Add", ["x", "s"], ["sum"], "add") + node("Relu", ["sum"], ["y"], "relu") + field(2, "g") +
        value(11, "x", [1, 2]) + value(11, "s", [1, 2]) + value(12, "y", [1, 2]) +
        value(12, "sum", [1, 2])))
    # y = tanh(x W + s U): two layers, an input each
    write("pair.onnx", model(
        node("MatMul", ["x", "w"], ["a"], "of_x") + node("MatMul", ["s", "u"], ["b"], "of_s") +
        node("Add", ["a", "b"], ["c"], "add") + node("Tanh", ["c"], ["y"], "tanh") + field(2, "g") +
        tensor("w", [2, 2], [0.1, -0.03, 0.07, 0.02]) + tensor("u", [2, 2], [0.5, -0.2, 0.3, 0.1]) +
        value(11, "x", [1, 2]) + value(11, "s", [1, 2]) + value(12, "y", [1, 2])))
    # a loop in a loop, 2^20 iterations each
    inner = node("Loop", ["m", "", "x"], ["y"], "inner",
                 attr_graph("body", iterated(node("Sign", ["x"], ["y"], "turn"))))
    write("long.onnx", model(
        node("Loop", ["m", "", "x"], ["y"], "outer", attr_graph("body", iterated(inner))) + field(2, "g") +
        field(5, field(2, 7) + field(8, "m") + field(9, struct.pack("<q", 1 << 20))) +
        value(11, "x", [2]) + value(12, "y", [2])))
    odd = [0.01 * (1 + i % 10) for i in range(2400)]
    odd[0:300] = [0.0] * 300
    odd[700] = 1e-40
    odd[900] = 25.0
    write("odd.onnx", model(node("Gemm", ["x", "w"], ["y"], "fc", attr_int("transB", 1)) + field(2, "g") +
                            tensor("w", [16, 150], odd) + value(11, "x", [1, 150]) +
                            value(12, "y", [1, 16])))
    write("open2.onnx", model(
        node("Add", ["a", "b"], ["c"], "add") + field(2, "g") + value(11, "a", [1, "width"]) +
        value(11, "b", [1, "height", "width"]) + value(12, "c", [1, 1, 1])))
    write("ids.onnx", model(
        node("Gather", ["table", "ids"], ["y"], "look") + field(2, "g") + value(11, "table", [3, 2]) +
        value(11, "ids", [2], 7) + value(12, "y", [2, 2])))
    # a language model: behind token i comes 3 i + 1, modulo 8
    write("next.onnx", model(
        node("Gather", ["table", "ids"], ["logits"], "look") + field(2, "g") +
        tensor("table", [8, 8], [float(k == (3 * i + 1) % 8) for i in range(8) for k in range(8)]) +
        value(11, "ids", [1, "length"], 7) + value(12, "logits", [1, "length", 8])))
    write("letters.txt", b"a\nb\n\\n\nd\n\\\\\nf\ng\nh\n")
    write("prompt.npy", npy("<i8", (2,), struct.pack("<2q", 5, 1)))
    write("strange.npy", npy("<i8", (1,), struct.pack("<q", 8)))
    # how many boxes are kept is known when the scores are: 2 and 1
    write("boxes.onnx", model(
        node("NonMaxSuppression", ["b", "s", "top", "iou", "least"], ["y"], "") + field(2, "g") +
        field(5, field(1, 1) + field(2, 7) + field(8, "top") + field(9, struct.pack("<q", 2))) +
        tensor("iou", [1], [0.5]) + tensor("least", [1], [0.25]) +
        tensor("b", [1, 2, 4], [0, 0, 1, 1, 2, 2, 3, 3]) +
        value(11, "s", [1, 1, 2]) + value(12, "y", ["n", 3], 7)))
    write("scores.npy", npy("<f4", (2, 1, 1, 2), struct.pack("<4f", 0.5, 1, 0, 1)))
    write("x.npy", npy("<f4", (3, 2), struct.pack("<6f", 1, -10, 2, -20, 3, 300)))
    write("pairs.npy", npy("<f8", (2, 4), struct.pack("<8d", 1, 2, 3, 4, 5, 6, 7, 8)))
    write("three.npy", npy("<f4", (3, 1, 28, 28), struct.pack("<2352f", *[(i * i // 784) % 5 for i in range(2352)])))
    write("first.npy", npy("<f2", (1, 2), struct.pack("<2e", 100, 0.5)))
    rows = [((7 * i) % 17 - 8) / 8 for i in range(24)]  # for good.onnx, four that are fine, then what is odd
    odd_rows = {"rows": rows, "rows_nan": rows[:15] + [float("nan")] + rows[16:],
                "rows_infinite": rows[:15] + [float("inf")] + rows[16:], "rows_zero": [0] * 24,
                "rows_same": [0.5] * 24, "rows_tiny": [x * 1e-42 for x in rows], "rows_none": []}
    for name, numbers in odd_rows.items():
        write(name + ".npy", npy("<f4", (len(numbers) // 6, 6), struct.pack(f"<{len(numbers)}f", *numbers)))
    write("table.npy", npy("<f4", (3, 2), struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
    write("ids.npy", npy("|u1", (2,), bytes([2, 0])))
    write("half.npy", npy("<f4", (2,), struct.pack("<2f", 1, 0.5)))
    write("five.wav", wav([8192, 16384, -8192, -16384, 4096]))
    write("stereo.wav", wav([1, 2], channels=2))
    write("float.wav", wav([1, 2], kind=3, bits=32))
    write("grey.png", png(40, 60, lambda y, x: 255 if 15 < x < 25 and 10 < y < 50 else 0))
    write("six.f32", struct.pack("<6f", 1, 0, -1, 2, 0.5, 0))
    write("four.f32", struct.pack("<4f", 1, 0, -1, 2))
    write("broken.json", b'{ "pith": 1,\n  "stages": [ { "do": "prune" "sparsity": 0.5 } ] }\n')
    write("unknown.json", b'{ "pith": 1, "stages": [ { "do": "prune", "sparsty": 0.5 } ] }\n')
    write("train.json", b'{ "pith": 1, "stages": [ { "do": "train", "epochs": 3 } ] }\n')
    write("future.json", b'{ "pith": 1, "stages": [ { "do": "distribute", "to": "all" } ] }\n')
    write("grid.json", b'{ "pith": 1, "sweep": { "stages.0.sparsity": [0.5, 0.9], "stages.1.bits": [2, 3] },\n'
          b'  "stages": [{ "do": "prune" }, { "do": "cluster" }, { "do": "encode" }] }\n')
    write("good.json", b'{ "pith": 1, "stages": [ { "do": "prune", "sparsity": 0.5 }, '
                       b'{ "do": "cluster", "bits": 2 }, { "do": "encode" } ] }\n')


if __name__ == "__main__":
    main()
