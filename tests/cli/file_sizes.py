# SPDX-License-Identifier: MIT
"""Networks as ONNX files: tiny ones drawn by a seed, and one of each kind of constant integers.

    file_sizes.py tiny FROM TO      d<seed>.onnx: one to five nodes, long names, loops, branches
    file_sizes.py integers          <kind>_<type>.onnx
    file_sizes.py input A.onnx     x.npy: a random input of it
    file_sizes.py same A.onnx B.onnx OUTPUT.npy    exit 1: onnxruntime's outputs differ, or OUTPUT from A's
"""
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper


def save(name, nodes, weights, ins, outs, kind=T.FLOAT):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, kind, s) for n, s in ins],
                         [h.make_tensor_value_info(n, kind, s) for n, s in outs],
                         [numpy_helper.from_array(a, n) for n, a in weights])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")


class Tiny:
    def __init__(self, seed):
        self.r, self.rng, self.names = random.Random(seed), np.random.default_rng(seed), 0
        long = self.r.random() < 0.3
        self.stem = "".join(self.r.choice("abcdefgh/_.") for _ in range(self.r.randint(60, 150))) if long else ""
        self.kind, self.type = self.r.choice([(T.FLOAT, np.float32)] * 4 + [(T.FLOAT16, np.float16)])
        self.d, self.named = self.r.choice([2, 3, 4, 8]), self.r.random() < 0.5
        self.nodes, self.weights = [], []
        self.inputs = [self.name("x") for _ in range(self.r.choice([1, 1, 1, 2, 3]))]
        self.values = list(self.inputs)

    def name(self, p):
        self.names += 1
        return f"{self.stem}{p}{self.names}"

    def constant(self, a):
        n = self.name("w")
        self.weights.append((n, a))
        return n

    def floats(self, *shape):
        return self.constant(self.rng.normal(size=shape).astype(self.type))

    def number(self, x):
        return self.constant(np.array(x, self.type))

    def add(self, op, ins, n=1, **attributes):
        outs = [self.name("v") for _ in range(n)]
        self.nodes.append(h.make_node(op, ins, outs, name=self.name(op) if self.named else "", **attributes))
        return outs

    def body(self, nodes, ins, outs):
        infos = [[h.make_tensor_value_info(n, t, s) for n, t, s in ends] for ends in (ins, outs)]
        return h.make_graph(nodes, self.name("g"), *infos)

    def branch(self, x):
        is_positive = self.add("Greater", [self.add("ReduceSum", [x], keepdims=0)[0], self.number(0)])
        sides = []
        for op in "Relu", "Neg":
            y = self.name("b")
            sides.append(self.body([h.make_node(op, [x], [y])], [], [(y, self.kind, [2, self.d])]))
        return self.add("If", is_positive, then_branch=sides[0], else_branch=sides[1])

    def loop(self, x):
        i, c, s, to_c, to_s = (self.name(p) for p in "icsct")
        state = (self.kind, [2, self.d])
        body = self.body([h.make_node("Identity", [c], [to_c]), h.make_node("Tanh", [s], [to_s])],
                         [(i, T.INT64, []), (c, T.BOOL, []), (s, *state)], [(to_c, T.BOOL, []), (to_s, *state)])
        return self.add("Loop", [self.constant(np.array(3, np.int64)), "", x], body=body)

    def integers(self, x):
        kind = self.r.choice([np.int8, np.uint8, np.int16, np.uint16])
        q = self.rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, (self.d, self.d)).astype(kind)
        scale = np.array(0.01, np.float32)
        w = self.add("DequantizeLinear", [self.constant(q), self.constant(scale)])
        return self.add("MatMul", [x] + w) if self.kind == T.FLOAT else self.add("Relu", [x])

    def step(self):
        d, x, other = self.d, self.r.choice(self.values), self.r.choice(self.values)
        kinds = [
            lambda: self.add("Relu", [x]),
            lambda: self.add("Add", [x, other]),
            lambda: self.add("Mul", [x, self.floats(d)]),
            lambda: self.add("MatMul", [x, self.floats(d, d)]),
            lambda: self.add("Gemm", [x, self.floats(d, d), self.floats(d)], transB=self.r.randint(0, 1)),
            lambda: self.add("Split", self.add("Concat", [x, other], axis=1), 2, axis=1, num_outputs=2),
            lambda: self.add("Clip", [x, self.number(-1), self.number(1)]),
            lambda: self.add("Sum", [x, other, self.r.choice(self.values)]),
            lambda: self.branch(x),
            lambda: self.loop(x),
            lambda: self.integers(x),
        ]
        self.values += self.r.choice(kinds)()

    def save(self, path):
        for _ in range(self.r.randint(1, 5)):
            self.step()
        read = {i for n in self.nodes for i in n.input}
        outs = [v for v in self.values if v not in read and v not in self.inputs][:4]
        shape = [2, self.d]
        save(path, self.nodes, self.weights, [(i, shape) for i in self.inputs],
             [(o, shape) for o in outs], self.kind)


def integers():
    rng = np.random.default_rng(5)

    def dequantize(axis=0, block=0, q="q", scale="s", zero="z", to="w"):
        attributes = {"axis": axis, **({"block_size": block} if block else {})}
        return h.make_node("DequantizeLinear", [q, scale] + [zero] * bool(zero), [to], **attributes)

    for name, kind in (("i16", np.int16), ("u16", np.uint16), ("i8", np.int8)):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max

        def weights(shape, scales, zero=True):
            every = [("q", rng.integers(low, high + 1, shape).astype(kind)),
                     ("s", np.asarray(rng.uniform(1e-5, 1e-4, scales), np.float32))]
            return every + [("z", np.asarray(rng.integers(low // 2, high // 2, scales), kind))] * zero

        def one(label, layer, ins, outs, *args, **place):
            save(f"{label}_{name}", [dequantize(**place), layer], weights(*args), [("x", ins)], [("y", outs)])

        matmul = h.make_node("MatMul", ["x", "w"], ["y"])
        one("tensor", matmul, [3, 64], [3, 64], (64, 64), ())
        one("columns", matmul, [3, 64], [3, 32], (64, 32), 32, axis=1)
        one("square", matmul, [3, 40], [3, 40], (40, 40), 40, axis=1)
        one("blocks", matmul, [3, 50], [3, 40], (50, 40), (4, 40), axis=0, block=16)
        one("wide_blocks", matmul, [3, 40], [3, 50], (40, 50), (40, 4), axis=1, block=16)
        one("rows", h.make_node("Gemm", ["x", "w"], ["y"], transB=1), [3, 24], [3, 48], (48, 24), 48)
        one("conv1d", h.make_node("Conv", ["x", "w"], ["y"], dilations=[2]), [1, 8, 15], [1, 12, 11], (12, 8, 3), 12)
        one("upward", h.make_node("ConvTranspose", ["x", "w"], ["y"]), [1, 8, 5, 5], [1, 12, 7, 7], (8, 12, 3, 3), 12,
            axis=1)
        one("added", h.make_node("Add", ["x", "w"], ["y"]), [9, 100], [9, 100], (9, 100), 100, axis=1)
        save("bias_" + name, [dequantize(zero=""), dequantize(q="p", scale="t", zero="", to="b"),
                              h.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
                              h.make_node("ReduceMax", ["c", "axes"], ["y"], keepdims=0)],
             weights((16, 8, 3, 3), (), False) + [("p", rng.integers(0, 100, 16).astype(kind)),
                                                  ("t", np.array(0.01, np.float32)), ("axes", np.array([2, 3]))],
             [("x", [1, 8, 9, 9])], [("y", [1, 16])])
        save("turned_" + name, [dequantize(to="u"), h.make_node("Transpose", ["u"], ["w"]), matmul],
             weights((48, 64), 48), [("x", [3, 64])], [("y", [3, 48])])
        save("shaped_" + name, [dequantize(to="u"), h.make_node("Reshape", ["u", "shape"], ["w"]),
                                h.make_node("Conv", ["x", "w"], ["y"])],
             weights((12, 24), 12) + [("shape", np.array([12, 6, 2, 2]))], [("x", [1, 6, 7, 7])], [("y", [1, 12, 6, 6])])
        scales = [("sx", np.array(0.05 if name == "i8" else 1e-3, np.float32)), ("zx", np.array(0, kind))]
        save("values_" + name, [h.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
                                dequantize(q="xq", scale="sx", zero="zx", to="xd"), dequantize(zero=""),
                                h.make_node("MatMul", ["xd", "w"], ["y"])],
             weights((64, 48), (), False) + scales, [("x", [3, 64])], [("y", [3, 48])])


def same(a, b, output):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = {"x": np.load("x.npy")}
    expected, back = (ort.InferenceSession(p, options).run(None, x)[0] for p in (a, b))
    stored = [{i.data_type for i in onnx.load(p).graph.initializer} for p in (a, b)]
    narrow = {T.INT8, T.INT16, T.UINT16}
    if stored[0] & narrow - {T.INT8} != stored[1] & narrow - {T.INT8}:
        sys.exit(f"{b}: types {stored[1]}, in {a} {stored[0]}")
    if not np.array_equal(expected, back):
        sys.exit(f"{b}: other outputs than {a}")
    error = np.abs(np.load(output) - expected).max() / np.abs(expected).max()
    if error > 4e-5:  # a step of 16-bit activations
        sys.exit(f"{a}: outputs differ by {error:.2g}")


if sys.argv[1] == "tiny":
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        Tiny(seed).save(f"d{seed}")
elif sys.argv[1] == "integers":
    integers()
elif sys.argv[1] == "input":
    shape = [d.dim_value for d in onnx.load(sys.argv[2]).graph.input[0].type.tensor_type.shape.dim]
    np.save("x.npy", np.random.default_rng(3).normal(size=shape).astype(np.float32))
else:
    same(*sys.argv[2:])
