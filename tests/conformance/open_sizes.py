# SPDX-License-Identifier: MIT
"""One file with open sizes gives what onnxruntime gives, at every size, and the bits of a file fixed to it; decoded
to ONNX, onnxruntime runs it at every size.

The networks are made here, in the ways exporters write shape arithmetic."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

PITH = os.environ["PITH"]


class Graph:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inits, self.made = [], [], 0

    def const(self, a):
        a = np.asarray(a)
        self.made += 1
        self.inits.append(nh.from_array(a.astype(np.float32) if a.dtype == np.float64 else a, f"c{self.made}"))
        return f"c{self.made}"

    def weight(self, *shape):
        return self.const(self.rng.normal(size=shape).astype(np.float32) / np.sqrt(shape[0]))

    def ints(self, *v):
        return self.const(np.array(v, dtype=np.int64))

    def node(self, op, *inputs, out=None, n_out=1, **attr):
        self.made += 1
        outs = [out or f"v{self.made}"] if n_out == 1 else [f"v{self.made}_{i}" for i in range(n_out)]
        self.nodes.append(h.make_node(op, list(inputs), outs, name=f"n{self.made}", **attr))
        return outs[0] if n_out == 1 else outs

    def dim(self, x, i):
        return self.node("Gather", self.node("Shape", x), self.const(np.int64(i)), axis=0)

    def list_of(self, *dims):
        zero = self.ints(0)
        return self.node("Concat", *[self.node("Unsqueeze", d, zero) if isinstance(d, str) else self.ints(d)
                                     for d in dims], axis=0)

    def model(self, inputs, outputs):
        def end(e):
            return h.make_tensor_value_info(*e)
        g = h.make_graph(self.nodes, "g", [end(e) for e in inputs], [end(e) for e in outputs], self.inits)
        m = h.make_model(g, opset_imports=[h.make_opsetid("", 17)])
        m.ir_version = 8
        onnx.checker.check_model(m)
        return m


def heads(g, x, n, width, order=(0, 2, 1, 3)):
    y = g.node("Reshape", x, g.list_of(g.dim(x, 0), g.dim(x, 1), n, width // n))
    return g.node("Transpose", y, perm=list(order))


def joined(g, x, like, width):
    y = g.node("Transpose", x, perm=[0, 2, 1, 3])
    return g.node("Reshape", y, g.list_of(g.dim(like, 0), g.dim(like, 1), width))


def encoder(seed):
    """BERT's way: positions sliced from a table, a mask of the input, causal from Range."""
    g, D, V, most = Graph(seed), 32, 50, 64
    length = g.dim("ids", 1)
    positions = g.node("Slice", g.const(np.arange(most, dtype=np.int64)[None]), g.ints(0),
                       g.node("Unsqueeze", length, g.ints(0)), g.ints(1))
    x = g.node("Add", g.node("Gather", g.weight(V, D), "ids"), g.node("Gather", g.weight(most, D), positions))
    q, k, v = (g.node("MatMul", x, g.weight(D, D)) for _ in range(3))
    s = g.node("MatMul", heads(g, q, 4, D), heads(g, k, 4, D, (0, 2, 3, 1)))
    s = g.node("Mul", s, g.const(np.float32(8 ** -0.5)))
    hidden = g.node("Mul", g.node("Sub", g.const(np.float32(1)), g.node("Cast", "mask", to=T.FLOAT)),
                    g.const(np.float32(-1e4)))
    s = g.node("Add", s, g.node("Unsqueeze", hidden, g.ints(1, 2)))
    steps = g.node("Range", g.const(np.int64(0)), length, g.const(np.int64(1)))
    past = g.node("LessOrEqual", steps, g.node("Unsqueeze", steps, g.ints(1)))
    s = g.node("Where", past, s, g.const(np.float32(-1e9)))
    y = g.node("MatMul", g.node("Softmax", s, axis=-1), heads(g, v, 4, D))
    joined(g, y, x, D)
    g.nodes[-1].output[0] = "y"
    return g.model([("ids", T.INT64, ["batch", "seq"]), ("mask", T.INT64, ["batch", "seq"])],
                   [("y", T.FLOAT, ["batch", "seq", D])]), {"batch": [1, 2, 3], "seq": [1, 5, 17, 64]}, {}


def decoder(seed):
    """A cache that grows: present = Concat(past, new), positions from the length of the past."""
    g, D, V, H = Graph(seed), 32, 50, 4
    past, length = g.dim("past_k", 2), g.dim("ids", 1)
    total = g.node("Add", past, length)
    at = g.node("Range", past, total, g.const(np.int64(1)))
    x = g.node("Add", g.node("Gather", g.weight(V, D), "ids"), g.node("Gather", g.weight(96, D), at))
    q, k, v = (heads(g, g.node("MatMul", x, g.weight(D, D)), H, D) for _ in range(3))
    k = g.node("Concat", "past_k", k, axis=2, out="present_k")
    v = g.node("Concat", "past_v", v, axis=2, out="present_v")
    s = g.node("Div", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2])), g.const(np.float32(8 ** .5)))
    keys = g.node("Range", g.const(np.int64(0)), total, g.const(np.int64(1)))
    seen = g.node("LessOrEqual", keys, g.node("Unsqueeze", at, g.ints(1)))
    s = g.node("Where", seen, s, g.const(np.float32(-1e9)))
    hidden = g.node("Equal", "mask", g.const(np.int64(0)))
    s = g.node("Where", g.node("Unsqueeze", hidden, g.ints(1, 2)), g.const(np.float32(-1e9)), s)
    y = joined(g, g.node("MatMul", g.node("Softmax", s, axis=-1), v), x, D)
    g.node("MatMul", y, g.weight(D, V), out="logits")
    cache = ["batch", H, "past", D // H]
    return g.model([("ids", T.INT64, ["batch", "seq"]), ("mask", T.INT64, ["batch", "past + seq"]),
                    ("past_k", T.FLOAT, cache), ("past_v", T.FLOAT, cache)],
                   [("logits", T.FLOAT, ["batch", "seq", V]), ("present_k", T.FLOAT, ["a", H, "t", D // H]),
                    ("present_v", T.FLOAT, ["a", H, "t", D // H])]), {"batch": [1, 2], "seq": [1, 4], "past": [0, 1, 9, 40]}, {}


def bias(seed):
    """T5's way: a bias for each distance, in logarithmic buckets, looked up in a table."""
    g, D = Graph(seed), 16
    n = g.dim("x", 1)
    at = g.node("Range", g.const(np.int64(0)), n, g.const(np.int64(1)))
    far = g.node("Abs", g.node("Sub", g.node("Unsqueeze", at, g.ints(0)), g.node("Unsqueeze", at, g.ints(1))))
    real = g.node("Cast", far, to=T.FLOAT)
    slow = g.node("Cast", g.node("Mul", g.node("Log", g.node("Max", real, g.const(np.float32(1)))),
                                 g.const(np.float32(2))), to=T.INT64)
    bucket = g.node("Where", g.node("Less", far, g.const(np.int64(4))), far, g.node("Add", slow, g.const(np.int64(4))))
    bucket = g.node("Min", bucket, g.const(np.int64(15)))
    b = g.node("Transpose", g.node("Gather", g.weight(16, 2), bucket), perm=[2, 0, 1])
    s = g.node("Add", g.node("MatMul", "x", g.node("Transpose", "x", perm=[0, 2, 1])),
               g.node("ReduceSum", b, g.ints(0), keepdims=1))
    g.node("MatMul", g.node("Softmax", s, axis=-1), "x", out="y")
    return g.model([("x", T.FLOAT, ["n", "length", D])], [("y", T.FLOAT, ["n", "length", D])]), \
        {"n": [1, 3], "length": [1, 2, 33, 200]}, {}


def unet(seed):
    """Halves a picture twice, and Resizes to the sizes of what it joins."""
    g = Graph(seed)
    conv = lambda x, a, b, stride: g.node("Relu", g.node("Conv", x, g.weight(b, a, 3, 3), pads=[1] * 4,
                                                         strides=[stride] * 2))
    one = conv("x", 3, 8, 1)
    two = conv(one, 8, 12, 2)
    three = conv(two, 12, 16, 2)

    def up(x, to):
        sizes = g.node("Concat", g.node("Slice", g.node("Shape", x), g.ints(0), g.ints(2)),
                       g.node("Slice", g.node("Shape", to), g.ints(2), g.ints(4)), axis=0)
        return g.node("Concat", g.node("Resize", x, "", "", sizes, mode="nearest"), to, axis=1)
    y = conv(up(conv(up(three, two), 28, 8, 1), one), 16, 4, 1)
    total = g.node("Mul", g.dim(y, 2), g.dim(y, 3))
    flat = g.node("Reshape", y, g.list_of(g.dim(y, 0), 4, total))
    g.node("Div", g.node("ReduceSum", flat, g.ints(2), keepdims=0), g.node("Cast", total, to=T.FLOAT), out="y")
    return g.model([("x", T.FLOAT, ["N", 3, "height", "width"])], [("y", T.FLOAT, ["N", 4])]), \
        {"N": [1, 2], "height": [8, 31, 96], "width": [17, 40]}, {}


def sound(seed):
    """Frames of a waveform by a strided convolution; lengths in samples mask the frames."""
    g = Graph(seed)
    wide = g.node("Unsqueeze", g.node("Pad", "wave", g.ints(0, 8, 0, 8)), g.ints(1))
    frames = g.node("Conv", wide, g.weight(6, 1, 16), strides=[8])
    at = g.node("Range", g.const(np.int64(0)), g.dim(frames, 2), g.const(np.int64(1)))
    last = g.node("Div", "lengths", g.const(np.int64(8)))
    inside = g.node("Less", at, g.node("Unsqueeze", last, g.ints(1, 2)))
    g.node("ReduceMean", g.node("Where", inside, frames, g.const(np.float32(0))), axes=[2], keepdims=0, out="y")
    return g.model([("wave", T.FLOAT, ["batch", "samples"]), ("lengths", T.INT64, ["batch"])],
                   [("y", T.FLOAT, ["batch", 6])]), {"batch": [1, 2], "samples": [40, 999, 4000]}, {"lengths": 37}


def steps(seed):
    """A first dimension that is a length in time, and a state of zeros for each sequence."""
    g, H, C = Graph(seed), 8, 5
    zeros = g.node("ConstantOfShape", g.list_of(1, g.dim("x", 1), H), value=nh.from_array(np.zeros(1, np.float32)))
    w, r, b = g.weight(1, 4 * H, C), g.weight(1, 4 * H, H), g.weight(1, 8 * H)
    y = g.node("LSTM", "x", w, r, b, "", zeros, zeros, n_out=3, hidden_size=H)
    g.node("Squeeze", y[0], g.ints(1), out="y")
    return g.model([("x", T.FLOAT, ["time", "sequences", C])], [("y", T.FLOAT, ["time", "sequences", H])]), \
        {"time": [1, 3, 50], "sequences": [1, 2, 7]}, {}


def windows(seed):
    """A class token for each sample, and attention within windows of 4 x 4."""
    g, D = Graph(seed), 8
    p = g.node("Conv", "x", g.weight(D, 3, 2, 2), strides=[2, 2])
    n, hh, ww = g.dim(p, 0), g.dim(p, 2), g.dim(p, 3)
    four = g.const(np.int64(4))
    y = g.node("Reshape", p, g.list_of(n, D, g.node("Div", hh, four), 4, g.node("Div", ww, four), 4))
    y = g.node("Transpose", y, perm=[0, 2, 4, 3, 5, 1])
    y = g.node("Reshape", y, g.ints(-1, 16, D))
    y = g.node("MatMul", g.node("Softmax", g.node("MatMul", y, g.node("Transpose", y, perm=[0, 2, 1])), axis=-1), y)
    y = g.node("Reshape", y, g.list_of(n, -1, D))
    token = g.node("Expand", g.weight(1, 1, D), g.list_of(n, 1, D))
    g.node("Concat", token, y, axis=1, out="y")
    return g.model([("x", T.FLOAT, ["batch", 3, "height", "width"])], [("y", T.FLOAT, ["batch", "tokens", D])]), \
        {"batch": [1, 2], "height": [8, 24], "width": [16, 64]}, {}


def resampled(seed):
    """From 44.1 to 64 kHz: a number of samples that only a divisor of 441 gives."""
    g = Graph(seed)
    y = g.node("Conv", g.node("Unsqueeze", "wave", g.ints(1, 2)), g.weight(640, 1, 1, 455), strides=[1, 441],
               pads=[0, 7, 0, 448])
    y = g.node("Reshape", g.node("Transpose", y, perm=[0, 3, 2, 1]), g.ints(0, -1))
    more = g.node("Add", g.node("Mul", g.dim("wave", 1), g.const(np.int64(640))), g.const(np.int64(440)))
    end = g.node("Unsqueeze", g.node("Div", more, g.const(np.int64(441))), g.ints(0))
    g.node("Slice", y, g.ints(0), end, g.ints(1), out="y")
    return g.model([("wave", T.FLOAT, ["batch", "samples"])], [("y", T.FLOAT, ["batch", "new"])]), \
        {"batch": [1, 2], "samples": [64, 1000, 5000]}, {}


def features(seed):
    """Features are open in the file, but weights take 12 of them alone; the state has a fixed first dimension."""
    g, H = Graph(seed), 6
    x = g.node("Unsqueeze", g.node("Slice", "x", g.ints(2), g.ints(14), g.ints(1)), g.ints(1))
    y = g.node("RNN", x, g.weight(1, H, 12), g.weight(1, H, H), "", "", "h", n_out=2, hidden_size=H)
    g.node("Squeeze", y[0], g.ints(1, 2), out="y")
    g.node("MatMul", "x", g.weight(16, 3), out="z")
    return g.model([("x", T.FLOAT, ["time", "features"]), ("h", T.FLOAT, [1, 1, H])],
                   [("y", T.FLOAT, ["time", H]), ("z", T.FLOAT, ["time", 3])]), {"time": [1, 3, 50], "features": [16]}, {}


def bands(seed):
    """Two open dimensions of which a table takes one number each."""
    g = Graph(seed)
    g.node("MatMul", g.node("Mul", g.node("Tanh", "x"), g.weight(20, 3)), g.weight(3, 5), out="y")
    return g.model([("x", T.FLOAT, ["time", "bands", "rows"])], [("y", T.FLOAT, ["time", "bands", 5])]), \
        {"time": [1, 3, 50], "bands": [20], "rows": [3]}, {}


def patches(seed):
    """A table has positions for 9 patches, and one for what stands before them."""
    g = Graph(seed)
    p = g.node("Conv", "x", g.weight(6, 3, 8, 8), kernel_shape=[8, 8], strides=[8, 8])
    n = g.node("Concat", g.node("Unsqueeze", g.dim("x", 0), g.ints(0)), g.ints(1, 6), axis=0)
    x = g.node("Transpose", g.node("Reshape", p, g.ints(0, 6, -1)), perm=[0, 2, 1])
    x = g.node("Concat", g.node("Expand", g.weight(1, 1, 6), n), x, axis=1)
    g.node("Softmax", g.node("Add", x, g.weight(1, 10, 6)), axis=-1, out="y")
    return g.model([("x", T.FLOAT, ["N", 3, "height", "width"])], [("y", T.FLOAT, ["N", 10, 6])]), \
        {"N": [1, 3], "height": [24], "width": [24]}, {}


def positions(seed):
    """A table of 3 x 3 positions is resized to the patches, and stays as it is along 3 of them."""
    g = Graph(seed)
    p = g.node("Conv", "x", g.weight(6, 3, 8, 8), kernel_shape=[8, 8], strides=[8, 8])
    size = g.node("Concat", g.ints(1, 6), g.node("Slice", g.node("Shape", p), g.ints(2), g.ints(4)), axis=0)
    table = g.node("Resize", g.weight(1, 6, 3, 3), "", "", size, mode="cubic", cubic_coeff_a=-0.75)
    g.node("Tanh", g.node("Add", p, table), out="y")
    return g.model([("x", T.FLOAT, ["N", 3, "height", "width"])], [("y", T.FLOAT, ["N", 6, "rows", "columns"])]), \
        {"N": [1, 3], "height": [8, 24, 90], "width": [16, 24, 31, 64]}, {}


def text_line(seed):
    """A line of text: one row of features is left of heights 24 to 47."""
    g = Graph(seed)
    p = g.node("AveragePool", g.node("Conv", "x", g.weight(5, 3, 3, 3), pads=[1] * 4, strides=[2, 2]),
               kernel_shape=[12, 2], strides=[12, 2])
    y = g.node("Transpose", g.node("Squeeze", p, g.ints(2)), perm=[0, 2, 1])
    g.node("Softmax", g.node("MatMul", y, g.weight(5, 7)), axis=-1, out="y")
    return g.model([("x", T.FLOAT, ["N", 3, "height", "width"])], [("y", T.FLOAT, ["N", "steps", 7])]), \
        {"N": [1, 3], "height": [23, 32, 46], "width": [4, 50, 301]}, {}


def frames(seed):
    """Flattened frames of 35 numbers, of features that are a multiple of 35."""
    g = Graph(seed)
    g.node("MatMul", g.node("Reshape", "x", g.ints(-1, 35)), g.weight(35, 2), out="y")
    return g.model([("x", T.FLOAT, ["time", "features"])], [("y", T.FLOAT, ["rows", 2])]), \
        {"time": [1, 2, 9], "features": [35, 70, 350]}, {}


def streams(seed):
    """One sequence alone, since the state is of one; two names of its length."""
    g, H = Graph(seed), 6
    y = g.node("GRU", "x", g.weight(1, 3 * H, 4), g.weight(1, 3 * H, H), "", "", "h", n_out=2, hidden_size=H)
    g.node("Add", g.node("Squeeze", y[0], g.ints(1, 2)), g.node("Slice", "z", g.ints(0), g.ints(H), g.ints(1)), out="y")
    return g.model([("x", T.FLOAT, ["time", "n", 4]), ("h", T.FLOAT, [1, 1, H]), ("z", T.FLOAT, ["steps", 8])],
                   [("y", T.FLOAT, ["time", H])]), {"time": [1, 3, 50], "n": [1]}, {}


def halved(seed):
    """Three names of one length, which only halves of it show, and a mask as long as it and the past; the past of
    another file is a number."""
    g = Graph(seed)
    half = lambda x: g.node("MaxPool", x, kernel_shape=[2], strides=[2])
    g.node("Mul", g.node("Concat", "past", "new", axis=2), "weights", out="y")
    x = half("x")
    g.node("Add", half("new"), x, out="sum")
    g.node("Add", half("like"), x, out="other")
    outputs = [("y", T.FLOAT, [1, 4, "all"]), ("sum", T.FLOAT, [1, 4, "half"]), ("other", T.FLOAT, [1, 4, "half"])]
    if seed % 2:
        g.node("MatMul", "past", g.weight(12, 3), out="fixed")
        outputs.append(("fixed", T.FLOAT, [1, 4, 3]))
    return g.model([("like", T.FLOAT, [1, 4, "again"]), ("x", T.FLOAT, [1, 4, "length"]),
                    ("past", T.FLOAT, [1, 4, "past"]), ("new", T.FLOAT, [1, 4, "short"]),
                    ("weights", T.FLOAT, [1, 1, "total"])], outputs), \
        {"length": [2, 17, 50], "past": [12] if seed % 2 else [1, 12, 40]}, {}


def switched(seed):
    """Other values below a length of 300, another axis below 20."""
    g = Graph(seed)
    n = g.dim("x", 1)
    f = g.node("Where", g.node("Less", n, g.const(np.int64(300))), g.const(np.float32(2)), g.const(np.float32(-3)))
    axis = g.node("Where", g.node("Less", n, g.const(np.int64(20))), g.const(np.int64(1)), g.const(np.int64(2)))
    g.node("CumSum", g.node("MatMul", g.node("Mul", "x", f), g.weight(4, 99)), axis, out="y")
    return g.model([("x", T.FLOAT, ["N", "seq", 4])], [("y", T.FLOAT, ["N", "seq", 99])]), \
        {"N": [1, 2], "seq": [20, 299, 300, 1000]}, {}


def padded(seed):
    """Windows of 4x4 patches of 4x4 pixels; a picture of any size is padded at its end, and cut again."""
    g, C = Graph(seed), 6
    x = g.node("Conv", "x", g.weight(C, 3, 4, 4), strides=[4, 4])
    sizes = [g.dim(x, 2), g.dim(x, 3)]
    four, minus = g.const(np.int64(4)), g.const(np.int64(-1))
    more = [g.node("Mod", g.node("Mul", n, minus), four) for n in sizes]
    whole = [g.node("Add", n, k) for n, k in zip(sizes, more)]
    x = g.node("Pad", x, g.list_of(0, 0, 0, 0, 0, 0, *more))
    n = g.dim(x, 0)
    down, right = (g.node("Div", w, four) for w in whole)
    w = g.node("Reshape", x, g.list_of(n, C, down, 4, right, 4))
    w = g.node("Reshape", g.node("Transpose", w, perm=[0, 2, 4, 3, 5, 1]), g.ints(-1, 16, C))
    s = g.node("Softmax", g.node("MatMul", w, g.node("Transpose", w, perm=[0, 2, 1])), axis=-1)
    y = g.node("Reshape", g.node("MatMul", s, w), g.list_of(n, down, right, 4, 4, C))
    y = g.node("Reshape", g.node("Transpose", y, perm=[0, 5, 1, 3, 2, 4]), g.list_of(n, C, *whole))
    g.node("Slice", y, g.ints(0, 0), g.list_of(*sizes), g.ints(2, 3), out="y")
    return g.model([("x", T.FLOAT, ["N", 3, "H", "W"])], [("y", T.FLOAT, ["N", C, "h", "w"])]), \
        {"N": [1, 3], "H": [4, 33, 64, 71], "W": [5, 61, 97, 128]}, {}


def counted_loop(seed):
    """A recurrent layer as Keras exports it, then one backwards: while i < n. The weights are states of the loop."""
    g, H = Graph(seed), 5

    def layer(x):
        n = g.dim(x, 0)
        body = Graph(seed)
        body.made = 1000 * (g.made + 1)  # names are its own
        step = body.node("Gather", "rows", "i", axis=0)
        h_next = body.node("Tanh", body.node("Add", body.node("MatMul", step, "w"), body.node("MatMul", "h", "u")))
        i_next = body.node("Add", "i", body.const(np.int64(1)))
        more = body.node("Less", body.node("Cast", i_next, to=T.FLOAT), body.node("Cast", "end", to=T.FLOAT))
        same, again = body.node("Identity", "u"), body.node("Identity", h_next)
        info = h.make_tensor_value_info
        states = [("i", T.INT64, []), ("h", T.FLOAT, None), ("w", T.FLOAT, None), ("u", T.FLOAT, None),
                  ("end", T.INT64, []), ("rows", T.FLOAT, None)]
        inner = h.make_graph(body.nodes, "body",
                             [info("count", T.INT64, []), info("go", T.BOOL, [])] + [info(*s) for s in states],
                             [info(more, T.BOOL, [])] + [info(o, t, s) for o, (_, t, s) in
                                                         zip((i_next, h_next, "w", same, "end", "rows"), states)]
                             + [info(again, T.FLOAT, None)], body.inits)
        go = g.node("Less", g.const(np.int64(0)), n)
        zero = g.node("Expand", g.const(np.float32(0)), g.list_of(g.dim(x, 1), H))
        return g.node("Loop", "", go, g.const(np.int64(0)), zero, g.weight(H, H), g.weight(H, H), n, x, n_out=7,
                      body=inner)[6]

    def backwards(x):
        lengths = g.node("Expand", g.dim(x, 0), g.list_of(g.dim(x, 1)))
        return g.node("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)

    x = g.node("Transpose", "x", perm=[1, 0, 2])
    y = backwards(layer(backwards(layer(x))))
    g.node("Transpose", y, perm=[1, 0, 2], out="y")
    return g.model([("x", T.FLOAT, ["N", "time", H])], [("y", T.FLOAT, ["N", "time", H])]), \
        {"N": [1, 3], "time": [1, 2, 7, 40]}, {}


def run(*words):
    return subprocess.run([PITH, *words], capture_output=True, text=True)


def outputs_of(file, feed, work, names):
    words, out = [], os.path.join(work, "out")
    subprocess.run(["rm", "-rf", out], check=True)
    os.mkdir(out)
    for i, (name, a) in enumerate(feed.items()):
        np.save(f"{work}/{i}.npy", a)
        words.append(f"{name}={work}/{i}.npy")
    r = run("run", file, *words, "-q", "-o", out)
    if r.returncode:
        return r.stderr.strip()
    return [np.load(f"{out}/{n}.npy") for n in names]


def feed_of(model, sizes, fixed, rng):
    feed = {}
    for i in model.graph.input:
        length = sizes.get("length", 0)
        same = {"steps": sizes.get("time"), "again": length, "short": length, "total": length + sizes.get("past", 0)}
        shape = [d.dim_value or eval(d.dim_param, {}, same | sizes)
                 for d in i.type.tensor_type.shape.dim]
        if i.name in fixed:
            feed[i.name] = np.full(shape, fixed[i.name], np.int64)
        elif i.type.tensor_type.elem_type == T.FLOAT:
            feed[i.name] = rng.normal(size=shape).astype(np.float32)
        elif i.name == "mask":
            feed[i.name] = (np.arange(shape[1]) >= shape[1] // 3)[None].repeat(shape[0], 0).astype(np.int64)
        else:
            feed[i.name] = rng.integers(0, 50, shape)
    return feed


def combinations(sizes, rng):
    """Each value at least once, in different company."""
    return [{k: int(v[i] if i < len(v) else rng.choice(v)) for k, v in ((k, rng.permutation(v)) for k, v in sizes.items())}
            for i in range(max(map(len, sizes.values())) + 1)]


def check(make, seed, work):
    model, sizes, fixed = make(seed)
    rng = np.random.default_rng(seed + 1)
    onnx.save(model, f"{work}/net.onnx")
    r = run("import", f"{work}/net.onnx", "-q", "-f", "-o", f"{work}/net.pith")
    if r.returncode:
        return [f"import: {r.stderr.strip()}"]
    bad, session = [], ort.InferenceSession(f"{work}/net.onnx", providers=["CPUExecutionProvider"])
    grown = os.path.getsize(f"{work}/net.pith") / os.path.getsize(f"{work}/net.onnx")
    if grown > 1.01:
        bad.append(f"the file is {grown:.2f} times as large")
    names = [o.name for o in session.get_outputs()]
    r = run("decode", f"{work}/net.pith", "-q", "-f", "-o", f"{work}/back.onnx")
    back = None
    if r.returncode:
        bad.append(f"decode: {r.stderr.strip()}")
    else:
        back = ort.InferenceSession(f"{work}/back.onnx", providers=["CPUExecutionProvider"])
    for at in combinations(sizes, rng):
        feed = feed_of(model, at, fixed, rng)
        wanted = session.run(None, feed)
        for a, b in zip(wanted, back.run(None, {i.name: feed[i.name] for i in back.get_inputs()}) if back else ()):
            if a.shape != b.shape or not np.abs(a - b).max() <= 1e-4 * max(1, np.abs(a).max()):
                bad.append(f"{at}: decoded to ONNX it gives other outputs")
        got = outputs_of(f"{work}/net.pith", feed, work, names)
        if isinstance(got, str):
            bad.append(f"{at}: {got}")
            continue
        for a, b in zip(wanted, got):
            off = np.abs(a - b.reshape(a.shape)).max() if a.size == b.size else np.inf
            if not off <= 1e-4 * max(1, np.abs(a).max()):
                bad.append(f"{at}: off by {off}")
        if 0 in at.values():
            continue
        shapes = [w for n, a in feed.items() for w in ("--input-shape", n + ":" + "x".join(map(str, a.shape)))]
        r = run("import", f"{work}/net.onnx", *shapes, "-q", "-f", "-o", f"{work}/fixed.pith")
        same = outputs_of(f"{work}/fixed.pith", feed, work, names) if r.returncode == 0 else r.stderr
        # A bias or table that is a constant in the fixed file is added in the product, where the sum has other roundings.
        off = {bias: 1e-6, positions: 4e-6}.get(make, 0)
        if isinstance(same, str) or any(np.abs(a - b).max() > off for a, b in zip(same, got)):
            bad.append(f"{at}: not the bits of a file with these sizes {same if isinstance(same, str) else ''}")
    return bad


def stages(seed, work):
    """What stages make of data of one length runs at another."""
    model, _, _ = encoder(seed)
    rng = np.random.default_rng(seed + 2)
    onnx.save(model, f"{work}/net.onnx")
    np.savez(f"{work}/data.npz", ids=rng.integers(0, 50, (64, 20)), mask=np.ones((64, 20), np.int64))
    feed = {"ids": rng.integers(0, 50, (2, 33)), "mask": np.ones((2, 33), np.int64)}
    wanted, bad = ort.InferenceSession(f"{work}/net.onnx").run(None, feed)[0], []
    data = ("-d", f"{work}/data.npz")
    for words in (("quantize", *data), ("compress", *data, "--max-drop", "1%"), ("prune", "--sparsity", "10%"),
                  ("calibrate", *data), ("encode",), ("cluster", "--bits", "8")):
        r = run(words[0], f"{work}/net.onnx", *words[1:], "-q", "-f", "-o", f"{work}/made.pith")
        got = outputs_of(f"{work}/made.pith", feed, work, ["y"]) if r.returncode == 0 else r.stderr
        if isinstance(got, str):
            bad.append(f"{words[0]}: {got}")
        elif not np.square(got[0] - wanted).mean() < 0.02 * np.square(wanted).mean():
            bad.append(f"{words[0]}: other outputs at another length")
        r = run("decode", f"{work}/made.pith", "-q", "-f", "-o", f"{work}/back.onnx")
        if r.returncode or isinstance(got, str):
            bad.append(f"{words[0]}, decode: {r.stderr}")
            continue
        back = ort.InferenceSession(f"{work}/back.onnx")
        y = back.run(None, {i.name: feed[n] for i, n in zip(back.get_inputs(), feed)})[0]
        if not np.square(got[0] - y).mean() < 1e-4 * np.square(y).mean():
            bad.append(f"{words[0]}: decoded to ONNX it gives other outputs at another length")
    return bad


def refused(work):
    """Two lengths are too few to find formulas; --size fixes the ONNX file."""
    onnx.save(encoder(1)[0], f"{work}/net.onnx")
    bad = []
    run("import", f"{work}/net.onnx", "--size", "seq=2:2", "-q", "-f", "-o", f"{work}/two.pith")
    r = run("decode", f"{work}/two.pith", "-f", "-o", f"{work}/back.onnx")
    if r.returncode != 5 or "too few other sizes" not in r.stderr or "--size seq=2" not in r.stderr:
        bad.append(f"exit {r.returncode}: {r.stderr}")
    r = run("decode", f"{work}/two.pith", "-f", "--size", "seq=2", "-o", f"{work}/back.onnx")
    dims = onnx.load(f"{work}/back.onnx").graph.input[0].type.tensor_type.shape.dim if not r.returncode else []
    if [d.dim_param or d.dim_value for d in dims] != ["N", 2]:
        bad.append(f"--size seq=2: {r.stderr} {dims}")
    return bad


def main():
    failed = False
    seed = int(os.environ.get("SEED", "1"))
    with tempfile.TemporaryDirectory() as work:
        for make, by in [(make, 0) for make in (encoder, decoder, bias, unet, sound, steps, windows, resampled, features,
                                                bands, patches, positions, text_line, frames, streams, halved, switched,
                                                padded, counted_loop)] + [
                (halved, 1)]:
            for line in check(make, seed + by, work):
                print(f"{make.__name__}: {line}")
                failed = True
        for line in stages(seed, work):
            print(f"stages: {line}")
            failed = True
        for line in refused(work):
            print(f"refused: {line}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
