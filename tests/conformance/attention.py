# SPDX-License-Identifier: MIT
"""Attention and RMSNormalization are one operator each, however exporters write them.

Blocks of well-known transformers, small, in the pieces that PyTorch's two exporters write ("script": TorchScript,
"dynamo": torch.export), with open batches and lengths. Outputs are compared at several sizes with onnxruntime's."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, numpy_helper as nh

from open_sizes import PITH, Graph, combinations, feed_of, outputs_of, run

D, H, HD = (int(v) for v in os.environ.get("WIDTHS", "32,4,8").split(","))  # of a token, heads, of a head
LOW = np.float32(np.finfo(np.float32).min)


class Net(Graph):
    """`script`: which of the two exporters is followed."""

    def __init__(self, seed, script):
        super().__init__(seed)
        self.script = script

    def f(self, v):
        return self.const(np.float32(v))

    def i(self, v):
        return self.const(np.int64(v))

    def linear(self, x, i, o, bias=True):
        y = self.node("MatMul", x, self.weight(i, o))
        return self.node("Add", self.weight(o), y) if bias else y

    def shaped(self, x, like, *dims):
        """Reshape to [batch, length, ...] of `like`."""
        return self.node("Reshape", x, self.list_of(self.dim(like, 0), self.dim(like, 1), *dims))

    def split(self, x, n=H, width=HD):
        """[B,T,n * width] -> [B,n,T,width]"""
        return self.node("Transpose", self.shaped(x, x, n, width), perm=[0, 2, 1, 3])

    def merge(self, y, like, width=D):
        return self.shaped(self.node("Transpose", y, perm=[0, 2, 1, 3]), like, width)

    def mean_square(self, x):
        return self.node("ReduceMean", self.node("Pow", x, self.f(2)), axes=[-1], keepdims=1)

    def inverse(self, x):
        return self.node("Div", self.f(1), x) if self.script else self.node("Reciprocal", x)

    def rms_norm(self, x, width=D):
        root = self.node("Sqrt", self.node("Add", self.mean_square(x), self.f(1e-6)))
        return self.node("Mul", self.weight(width), self.node("Mul", x, self.inverse(root)))

    def layer_norm(self, x, width=D):
        if not self.script:
            return self.node("LayerNormalization", x, self.weight(width), self.weight(width), axis=-1)
        d = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1], keepdims=1))
        y = self.node("Div", d, self.node("Sqrt", self.node("Add", self.mean_square(d), self.f(1e-5))))
        return self.node("Add", self.node("Mul", y, self.weight(width)), self.weight(width))

    def mlp(self, x):
        return self.linear(self.node("Relu", self.linear(x, D, 2 * D)), 2 * D, D)

    def last_two(self, k):
        """Transposed; torch.export's library does not know the rank and makes it 3."""
        if self.script:
            return self.node("Transpose", k, perm=[0, 1, 3, 2])
        s = self.node("Shape", k)
        first = self.node("Slice", s, self.ints(0), self.ints(-2))
        t, d = (self.node("Slice", s, self.ints(i), self.ints(e)) for i, e in ((-2, -1), (-1, 2 ** 62)))
        flat = self.node("Reshape", k, self.node("Concat", self.ints(-1), t, d, axis=0))
        return self.node("Reshape", self.node("Transpose", flat, perm=[0, 2, 1]),
                         self.node("Concat", first, d, t, axis=0))

    def root_scale(self, q, factor=None):
        """The root of the scale, which both operands are multiplied with."""
        if factor is not None:
            return self.node("Sqrt", self.f(factor))
        width = self.node("Cast", self.node("Slice", self.node("Shape", q), self.ints(-1), self.ints(2 ** 62)),
                          to=T.FLOAT)
        return self.node("Sqrt", self.node("Div", self.const(np.float32([1])), self.node("Sqrt", width)))

    def sdpa(self, q, k, v, mask=None, kind=None, factor=None):
        """scaled_dot_product_attention. kind: of the mask: "bool", "float" or "causal" (no mask is given)."""
        if kind == "causal":
            mask = self.causal(q, k)
        qs = self.node("Mul", q, self.root_scale(q, factor))
        ks = self.node("Mul", self.last_two(k), self.root_scale(q, factor))
        s = self.node("MatMul", qs, ks)
        if kind == "bool":
            mask = self.node("Where", mask, self.const(np.float32([0])), self.const(np.float32([-np.inf])))
        if kind:
            s = self.node("Add", s, mask)
        w = self.node("Softmax", s, axis=-1)
        if kind == "bool":
            w = self.node("Where", self.node("IsNaN", w), self.const(np.float32([0])), w)
        return self.node("MatMul", w, v)

    def causal(self, q, k):
        """The mask of is_causal, made of ones below the diagonal."""
        l, s = (self.node("Slice", self.node("Shape", x), self.ints(-2), self.ints(-1)) for x in (q, k))
        ones = self.node("Expand", self.f(1), self.node("Concat", l, s, axis=0))
        low = self.node("Equal", self.node("Trilu", ones, upper=0), self.f(0))
        return self.node("Where", low, self.f(-np.inf), self.f(0))

    def eager(self, q, k, v, *masks, scale=HD ** -0.5):
        """Multiplied, scaled, masked by what is added."""
        s = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2]))
        s = self.node("Mul", s, self.f(scale)) if self.script else self.node("Div", s, self.f(1 / scale))
        for m in masks:
            s = self.node("Add", s, m)
        return self.node("MatMul", self.node("Softmax", s, axis=-1), v)

    def steps(self, n):
        return self.node("Range", self.i(0), n, self.i(1))

    def padding(self, mask):
        """[B,S] of 1 and 0 -> [B,1,1,S] of 0 and the lowest."""
        m = self.node("Cast", self.node("Unsqueeze", mask, self.ints(1, 2)), to=T.FLOAT)
        return self.node("Mul", self.node("Sub", self.f(1), m), self.f(LOW))

    def seen_before(self, x, mask=None, window=None):
        """The mask of decoders, bool [1 or B,1,T,T]: keys up to each query, not padded, no further than `window`."""
        at = self.steps(self.dim(x, 1))
        row = self.node("Unsqueeze", at, self.ints(1))
        seen = self.node("LessOrEqual", at, row)
        if window:
            far = self.node("Less", self.node("Sub", row, at), self.i(window))
            seen = self.node("And", seen, far)
        seen = self.node("Unsqueeze", seen, self.ints(0, 1))
        if mask:
            real = self.node("Cast", self.node("Unsqueeze", mask, self.ints(1, 2)), to=T.BOOL)
            seen = self.node("And", seen, real)
        return seen

    def repeat(self, x, groups, times):
        """repeat_kv: [B,G,T,d] -> [B,G * times,T,d]"""
        b, t = self.dim(x, 0), self.dim(x, 2)
        y = self.node("Unsqueeze", x, self.ints(2))
        to = self.list_of(b, groups, times, t, HD)
        if self.script:  # Expand's -1 for "as it is" is written out
            ones = self.node("ConstantOfShape", self.ints(5), value=nh.from_array(np.ones(1, np.int64)))
            minus = self.node("Equal", to, self.node("Mul", ones, self.i(-1)))
            to = self.node("Where", minus, ones, to)
        return self.node("Reshape", self.node("Expand", y, to), self.list_of(b, groups * times, t, HD))

    def rotate(self, x, cos, sin):
        a = self.node("Slice", x, self.ints(0), self.ints(HD // 2), self.ints(3))
        b = self.node("Slice", x, self.ints(HD // 2), self.ints(2 ** 62), self.ints(3))
        turned = self.node("Concat", self.node("Neg", b), a, axis=3)
        return self.node("Add", self.node("Mul", x, cos), self.node("Mul", turned, sin))

    def angles(self, x):
        """cos and sin of positions, [1,1,T,HD]"""
        at = self.node("Cast", self.steps(self.dim(x, 1)), to=T.FLOAT)
        f = self.const((10000.0 ** -(np.arange(HD // 2) / (HD // 2))).astype(np.float32)[None, :, None])
        a = self.node("Transpose", self.node("MatMul", f, self.node("Unsqueeze", at, self.ints(0, 1))), perm=[0, 2, 1])
        a = self.node("Unsqueeze", self.node("Concat", a, a, axis=-1), self.ints(1))
        return self.node("Cos", a), self.node("Sin", a)

    def done(self, y, inputs, sizes, attention, rms=0, layer=0, outputs=None):
        self.nodes[-1].output[0] = "y"
        assert self.nodes[-1].op_type == "Add" or y
        m = self.model(inputs, outputs or [("y", T.FLOAT, ["batch", "seq", D])])
        return m, sizes, {"Attention": attention, "LayerNormalization": rms + layer}


X = ("x", T.FLOAT, ["batch", "seq", D])
MASK = ("mask", T.INT64, ["batch", "seq"])
SIZES = {"batch": [1, 2, 3], "seq": [1, 5, 17, 40]}


def block(g, x, attend, norm=None):
    """Attention before a network of two layers, both with what they begin with added."""
    x = g.node("Add", x, attend((norm or g.layer_norm)(x)))
    return g.node("Add", x, g.mlp((norm or g.layer_norm)(x)))


def bert(g):
    hidden = g.padding("mask")
    y = "x"
    for _ in range(2):
        q, k, v = (g.split(g.linear(y, D, D)) for _ in range(3))
        a = g.eager(q, k, v, hidden) if g.script else g.sdpa(q, k, v, hidden, "float")
        y = g.layer_norm(g.node("Add", g.linear(g.merge(a, y), D, D), y))
        y = g.layer_norm(g.node("Add", g.mlp(y), y))
    return g.done(y, [X, MASK], SIZES, 2, layer=4)


def bert_sdpa(g):
    """The mask is expanded to all queries, and is a bool one."""
    b, n = g.dim("mask", 0), g.dim("mask", 1)
    seen = g.node("Cast", g.node("Expand", g.node("Unsqueeze", "mask", g.ints(1, 2)), g.list_of(b, 1, n, n)), to=T.BOOL)

    def attend(x):
        q, k, v = (g.split(g.linear(x, D, D)) for _ in range(3))
        return g.linear(g.merge(g.sdpa(q, k, v, seen, "bool"), x), D, D)
    return g.done(block(g, block(g, "x", attend), attend), [X, MASK], SIZES, 2, layer=4)


def vit(g):
    """Queries, keys and values from one product, [B,T,3,H,d] turned and taken apart."""
    def attend(x):
        y = g.node("Transpose", g.shaped(g.linear(x, D, 3 * D), x, 3, H, HD), perm=[2, 0, 3, 1, 4])
        if g.script:
            q, k, v = (g.node("Gather", y, g.i(i), axis=0) for i in range(3))
        else:
            q, k, v = (g.node("Squeeze", p, g.ints(0)) for p in g.node("Split", y, g.ints(1, 1, 1), axis=0, n_out=3))
        return g.linear(g.merge(g.sdpa(q, k, v), x), D, D)
    return g.done(block(g, block(g, "x", attend), attend), [X], SIZES, 2, layer=4)


def gpt2(g):
    """Conv1D layers on [B * T,D]; the table of what is before what is cut out of a buffer."""
    seen = g.const(np.tril(np.ones((256, 256), bool))[None, None])

    def attend(x):
        flat = g.node("Gemm", g.node("Reshape", x, g.ints(-1, D)), g.weight(D, 3 * D), g.weight(3 * D))
        q, k, v = g.node("Split", g.shaped(flat, x, 3 * D), g.ints(D, D, D), axis=2, n_out=3)
        q, k, v = (g.split(p) for p in (q, k, v))
        if not g.script:
            return g.linear(g.merge(g.sdpa(q, k, v, kind="causal"), x), D, D)
        n = g.node("Unsqueeze", g.dim(x, 1), g.ints(0))
        cut = g.node("Slice", g.node("Slice", seen, g.ints(0), n, g.ints(2)), g.ints(0), n, g.ints(3))
        s = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
        s = g.node("Where", cut, g.node("Div", s, g.f(HD ** 0.5)), g.f(LOW))
        s = g.node("Add", s, hidden)
        return g.linear(g.merge(g.node("MatMul", g.node("Softmax", s, axis=-1), v), x), D, D)
    hidden = g.padding("mask") if g.script else None
    return g.done(block(g, block(g, "x", attend), attend), [X, MASK] if g.script else [X], SIZES, 2, layer=4)


def llama(g, q_norm=False):
    cos, sin = g.angles("x")
    seen = g.seen_before("x", "mask")
    mask = seen if not g.script else g.node("Where", seen, g.f(0), g.f(LOW))

    def attend(x):
        q = g.linear(x, D, D, False)
        k, v = (g.linear(x, D, D // 2, False) for _ in range(2))
        if q_norm:
            q, k = (g.node("Transpose", g.rms_norm(g.shaped(p, x, n, HD), HD), perm=[0, 2, 1, 3])
                    for p, n in ((q, H), (k, H // 2)))
        else:
            q, k = g.split(q), g.split(k, H // 2)
        v = g.split(v, H // 2)
        q, k = g.rotate(q, cos, sin), g.rotate(k, cos, sin)
        k, v = g.repeat(k, H // 2, 2), g.repeat(v, H // 2, 2)
        a = g.eager(q, k, v, mask) if g.script else g.sdpa(q, k, v, mask, "bool")
        return g.linear(g.merge(a, x), D, D, False)
    y = block(g, block(g, "x", attend, g.rms_norm), attend, g.rms_norm)
    y = g.rms_norm(y)
    return g.done(y, [X, MASK], SIZES, 2, rms=9 if q_norm else 5)


def qwen3(g):
    return llama(g, q_norm=True)


def cached(g):
    """A decoder with a cache that grows, groups of queries, and a causal mask from where the past ends."""
    past, n = g.dim("past_k", 2), g.dim("x", 1)
    total = g.node("Add", past, n)
    at = g.node("Range", past, total, g.i(1))
    keys = g.node("Range", g.i(0), total, g.i(1))
    seen = g.node("LessOrEqual", keys, g.node("Unsqueeze", at, g.ints(1)))
    seen = g.node("Unsqueeze", seen, g.ints(0, 1))
    mask = seen if not g.script else g.node("Where", seen, g.f(0), g.f(LOW))
    x = g.rms_norm("x")
    q = g.split(g.linear(x, D, D, False))
    k, v = (g.split(g.linear(x, D, D // 2, False), H // 2) for _ in range(2))
    k = g.node("Concat", "past_k", k, axis=2, out="present_k")
    v = g.node("Concat", "past_v", v, axis=2, out="present_v")
    k, v = g.repeat(k, H // 2, 2), g.repeat(v, H // 2, 2)
    a = g.eager(q, k, v, mask) if g.script else g.sdpa(q, k, v, mask, "bool")
    y = g.linear(g.merge(a, x), D, D)
    cache = ["batch", H // 2, "past", HD]
    present = [(f"present_{i}", T.FLOAT, ["b", H // 2, "all", HD]) for i in "kv"]
    return g.done(y, [X] + [(f"past_{i}", T.FLOAT, cache) for i in "kv"],
                  {"batch": [1, 2], "seq": [1, 4], "past": [0, 1, 9, 40]}, 1, rms=1,
                  outputs=[("y", T.FLOAT, ["batch", "seq", D])] + present)


def whisper(g):
    """An encoder; a decoder that attends to itself and to what the encoder gives. q is scaled when it is projected, and
    older exports join batch and heads for the products."""
    def attend(x, to, kind=None):
        q = g.linear(x, D, D)
        k, v = g.linear(to, D, D, False), g.linear(to, D, D)
        if not g.script:
            a = g.sdpa(g.split(q), g.split(k), g.split(v), None, kind)
            return g.linear(g.merge(a, x), D, D)
        q = g.node("Mul", q, g.f(HD ** -0.5))
        q, k, v = (joined(g, p) for p in (q, k, v))
        s = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 2, 1]))
        if kind:
            four = g.node("Reshape", s, g.list_of(g.dim(x, 0), H, g.dim(x, 1), g.dim(to, 1)))
            s = g.node("Reshape", g.node("Add", four, hidden), g.list_of(-1, g.dim(x, 1), g.dim(to, 1)))
        y = g.node("MatMul", g.node("Softmax", s, axis=-1), v)
        y = g.node("Reshape", y, g.list_of(g.dim(x, 0), H, g.dim(x, 1), HD))
        return g.linear(g.merge(y, x), D, D)
    hidden = g.node("Where", g.seen_before("x"), g.f(0), g.f(LOW)) if g.script else None
    e = block(g, "sound", lambda x: attend(x, x))
    y = g.node("Add", "x", attend(g.layer_norm("x"), g.layer_norm("x"), "causal"))
    y = block(g, y, lambda x: attend(x, e))
    return g.done(y, [X, ("sound", T.FLOAT, ["batch", "frames", D])], dict(SIZES, frames=[3, 30]), 3, layer=6)


def joined(g, x):
    """[B,T,D] -> [B * H,T,d]"""
    return g.node("Reshape", g.split(x), g.list_of(-1, g.dim(x, 1), HD))


def swin(g):
    """Windows of 4 x 4, shifted ones with a mask that hides what came from the other side."""
    W, S, N = 2, 8, 16  # 2 x 2 windows of a picture of 8 x 8
    image = np.zeros((S, S))
    for a, (i, j) in enumerate((i, j) for i in (slice(0, 4), slice(4, 6), slice(6, 8))
                               for j in (slice(0, 4), slice(4, 6), slice(6, 8))):
        image[i, j] = a
    areas = image.reshape(W, 4, W, 4).transpose(0, 2, 1, 3).reshape(W * W, N)
    shifted = np.where(areas[:, None] != areas[:, :, None], -100.0, 0.0).astype(np.float32)

    def attend(x, mask):
        y = g.node("Reshape", x, g.ints(-1, W, 4, W, 4, D))
        y = g.node("Reshape", g.node("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), g.ints(-1, N, D))
        q, k, v = (g.split(g.linear(y, D, D)) for _ in range(3))
        s = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
        s = g.node("Add", g.node("Div", s, g.f(HD ** 0.5)), g.const(g.rng.normal(size=(1, H, N, N)).astype(np.float32)))
        if mask is not None and g.script:
            s = g.node("Reshape", s, g.ints(-1, W * W, H, N, N))
            s = g.node("Add", s, g.const(mask[None, :, None]))
            s = g.node("Reshape", s, g.ints(-1, H, N, N))
        elif mask is not None:
            s = g.node("Reshape", s, g.list_of(g.node("Div", g.dim(y, 0), g.i(W * W)), W * W, H, N, N))
            s = g.node("Add", s, g.node("Unsqueeze", g.node("Unsqueeze", g.const(mask), g.ints(1)), g.ints(0)))
            s = g.node("Reshape", s, g.ints(-1, H, N, N))
        a = g.merge(g.node("MatMul", g.node("Softmax", s, axis=-1), v), y)
        y = g.node("Reshape", g.linear(a, D, D), g.ints(-1, W, W, 4, 4, D))
        return g.node("Reshape", g.node("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), g.ints(-1, S * S, D))
    y = block(g, "x", lambda x: attend(x, None))
    y = block(g, y, lambda x: attend(x, shifted))
    return g.done(y, [("x", T.FLOAT, ["batch", S * S, D])], {"batch": [1, 2, 3]}, 2, layer=4,
                  outputs=[("y", T.FLOAT, ["batch", S * S, D])])


def clip(g):
    """Text: causal and padded, two masks that are added one after the other."""
    low = g.node("Where", g.seen_before("x"), g.f(0), g.f(LOW))
    hidden = g.padding("mask")

    def attend(x):
        q = g.node("Mul", g.linear(x, D, D), g.f(HD ** -0.5))
        k, v = (g.linear(x, D, D) for _ in range(2))
        if not g.script:
            q, k, v = (g.split(p) for p in (q, k, v))
            return g.linear(g.merge(g.eager(q, k, v, low, hidden, scale=1.0), x), D, D)
        n = g.dim(x, 1)
        s = g.node("MatMul", joined(g, q), g.node("Transpose", joined(g, k), perm=[0, 2, 1]))
        for m in (low, hidden):
            s = g.node("Add", g.node("Reshape", s, g.list_of(g.dim(x, 0), H, n, n)), m)
            s = g.node("Reshape", s, g.list_of(-1, n, n))
        y = g.node("MatMul", g.node("Softmax", s, axis=-1), joined(g, v))
        return g.linear(g.merge(g.node("Reshape", y, g.list_of(g.dim(x, 0), H, n, HD)), x), D, D)
    return g.done(block(g, block(g, "x", attend), attend), [X, MASK], SIZES, 2, layer=4)


def modernbert(g):
    """Every other layer sees the neighbours alone; queries, keys and values are rotated out of one product."""
    cos, sin = g.angles("x")
    at = g.steps(g.dim("x", 1))
    far = g.node("Abs", g.node("Sub", at, g.node("Unsqueeze", at, g.ints(1))))
    near = g.node("Unsqueeze", g.node("LessOrEqual", far, g.i(3)), g.ints(0, 1))
    b, n = g.dim("mask", 0), g.dim("mask", 1)
    wide = g.node("Expand", g.node("Unsqueeze", "mask", g.ints(1, 2)), g.list_of(b, 1, n, n))
    hidden = g.node("Sub", g.f(1), g.node("Cast", wide, to=T.FLOAT))
    hidden = g.node("Where", g.node("Cast", hidden, to=T.BOOL), g.f(LOW), hidden)
    local = g.node("Where", g.node("Not", near), g.f(LOW), hidden)

    def attend(x, mask):
        y = g.node("Transpose", g.shaped(g.linear(x, D, 3 * D, False), x, 3, H, HD), perm=[0, 3, 2, 1, 4])
        q, k, v = (g.node("Squeeze", p, g.ints(2)) for p in g.node("Split", y, g.ints(1, 1, 1), axis=2, n_out=3))
        q, k = g.rotate(q, cos, sin), g.rotate(k, cos, sin)
        a = g.eager(q, k, v, mask) if g.script else g.sdpa(q, k, v, mask, "float", factor=HD ** -0.5)
        return g.linear(g.merge(a, x), D, D, False)
    y = block(g, "x", lambda x: attend(x, hidden))
    return g.done(block(g, y, lambda x: attend(x, local)), [X, MASK], SIZES, 2, layer=4)


def t5(g):
    """No scale; a bias by distance and the mask are one, for all layers."""
    at = g.steps(g.dim("x", 1))
    far = g.node("Min", g.node("Abs", g.node("Sub", at, g.node("Unsqueeze", at, g.ints(1)))), g.i(15))
    bias = g.node("Transpose", g.node("Gather", g.weight(16, H), far), perm=[2, 0, 1])
    bias = g.node("Unsqueeze", bias, g.ints(0))
    bias = g.node("Add", bias, g.padding("mask"))

    def attend(x):
        def part(p):
            y = g.node("Reshape", p, g.list_of(g.dim(x, 0), -1, H, HD))
            return g.node("Transpose", y, perm=[0, 2, 1, 3])
        q, k, v = (part(g.linear(x, D, D, False)) for _ in range(3))
        s = g.node("Add", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2])), bias)
        y = g.node("Transpose", g.node("MatMul", g.node("Softmax", s, axis=-1), v), perm=[0, 2, 1, 3])
        return g.linear(g.node("Reshape", y, g.list_of(g.dim(x, 0), -1, D)), D, D, False)
    y = block(g, block(g, "x", attend, g.rms_norm), attend, g.rms_norm)
    return g.done(y, [X, MASK], SIZES, 2, rms=4)


NETWORKS = (bert, bert_sdpa, vit, gpt2, llama, qwen3, cached, whisper, swin, clip, modernbert, t5)


def operators(file):
    """How many steps each operator has."""
    r = run("info", file, "--plan", "--json", "-q")
    found = {}
    for s in json.loads(r.stdout)["steps"]:
        found[s["op"]] = found.get(s["op"], 0) + 1
    return found


def differences(session, file, feed, work):
    """What outputs of a .pith are other than onnxruntime's of the ONNX file."""
    names = [o.name for o in session.get_outputs()]
    got = outputs_of(file, feed, work, names)
    if isinstance(got, str):
        return [got]
    bad = []
    for a, b in zip(session.run(None, feed), got):
        off = np.abs(a - b.reshape(a.shape)).max() if a.size == b.size else np.inf
        if not off <= 1e-5 * max(1, np.abs(a).max()):
            bad.append(f"off by {off}")
    return bad


def check(make, seed, script, work):
    model, sizes, expected = make(Net(seed, script))
    file = f"{work}/net.onnx"
    onnx.save(model, file)
    r = run("import", file, "-q", "-f", "-o", f"{work}/net.pith")
    if r.returncode:
        return [f"import: {r.stderr.strip()}"]
    bad, rng = [], np.random.default_rng(seed + 1)
    found = operators(f"{work}/net.pith")
    for op, n in expected.items():
        if found.get(op, 0) != n:
            bad.append(f"{found.get(op, 0)} of {n} are {op}; {found}")
    for op in ("Softmax", "Sqrt"):
        if op in found:
            bad.append(f"{found[op]} {op} are left")
    quiet = ort.SessionOptions()
    quiet.log_severity_level = 3
    session = ort.InferenceSession(file, quiet, providers=["CPUExecutionProvider"])
    for at in combinations(sizes, rng):
        feed = feed_of(model, at, {}, rng)
        bad += [f"{at}: {d}" for d in differences(session, f"{work}/net.pith", feed, work)]
    at = {k: v[-1] for k, v in sizes.items()}
    feed = feed_of(model, at, {}, rng)
    sized = ",".join(f"{k}={v}" for k, v in at.items() if k != "batch")
    sized = ("--size", sized) if sized else ()
    for words in (("decode", f"{work}/net.pith", *sized, "-o", f"{work}/again.onnx"),
                  ("import", f"{work}/again.onnx", "-o", f"{work}/again.pith")):
        r = run(*words, "-q", "-f")
        if r.returncode:
            return bad + [f"{words[0]}: {r.stderr.strip()}"]
    again = operators(f"{work}/again.pith")
    if any(again.get(op, 0) != n for op, n in expected.items()):
        bad.append(f"written and read again: {again}")
    return bad + [f"written and read again: {d}" for d in differences(session, f"{work}/again.pith", feed, work)]


def main():
    failed = False
    seed = int(os.environ.get("SEED", "1"))
    with tempfile.TemporaryDirectory() as work:
        for make in NETWORKS:
            for script in (True, False):
                for line in check(make, seed, script, work):
                    print(f"{make.__name__} {'script' if script else 'dynamo'}: {line}")
                    failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
