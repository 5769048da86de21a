# SPDX-License-Identifier: MIT
"""make_decoder.py TEXT OUT.onnx NAMES.txt [LAYERS WIDTH HEADS MOST]: a decoder for the characters of a text, not yet
trained, and their names, as `pith import --class-names` takes them.

A transformer as GPT-2 is one: tables of characters and positions, layers that normalize first, attention to what came
before, and the table of characters again as the last product. Input ids [N, S], output [N, S, characters]: scores of
the character behind each. S is open, at most MOST."""
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


class Graph:
    def __init__(self):
        self.random, self.nodes, self.constants = np.random.default_rng(1), [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape, scale=0.02):
        return self.constant((scale * self.random.standard_normal(shape)).astype(np.float32))

    def full(self, width, value):
        return self.constant(np.full(width, value, np.float32))

    def node(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name


def decoder(characters, layers, width, heads, most):
    g = Graph()
    each, inner = width // heads, 0.02 / np.sqrt(2 * layers)
    table = g.weight(characters, width)
    norm = lambda x: g.node("LayerNormalization", x, g.full(width, 1), g.full(width, 0), axis=-1)
    dense = lambda x, a, b, s: g.node("Add", g.node("MatMul", x, g.weight(a, b, scale=s)), g.full(b, 0))
    integers = lambda *v: g.constant(np.array(v, np.int64))
    length = g.node("Gather", g.node("Shape", "ids"), g.constant(np.int64(1)))
    place = g.node("Range", g.constant(np.int64(0)), length, g.constant(np.int64(1)))
    past = g.node("LessOrEqual", place, g.node("Unsqueeze", place, integers(1)))
    x = g.node("Add", g.node("Gather", table, "ids"), g.node("Gather", g.weight(most, width), place))
    for _ in range(layers):
        h = norm(x)
        apart = lambda v: g.node("Transpose", g.node("Reshape", v, integers(0, 0, heads, each)), perm=[0, 2, 1, 3])
        q, k, v = (apart(dense(h, width, width, 0.02)) for _ in range(3))
        scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = g.node("Mul", scores, g.constant(np.float32(each ** -0.5)))
        scores = g.node("Where", past, scores, g.constant(np.float32(-1e9)))
        mixed = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = g.node("Add", x, dense(g.node("Reshape", mixed, integers(0, 0, width)), width, width, inner))
        h = g.node("Relu", dense(norm(x), width, 4 * width, 0.02))
        x = g.node("Add", x, dense(h, 4 * width, width, inner))
    g.nodes.append(helper.make_node("MatMul", [norm(x), g.node("Transpose", table, perm=[1, 0])], ["scores"], "scores"))
    ends = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["N", "S"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", "S", characters])]
    graph = helper.make_graph(g.nodes, "decoder", ends[:1], ends[1:], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


text, out, names = sys.argv[1:4]
characters = sorted(set(open(text, encoding="utf-8", newline="").read()))
escapes = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
with open(names, "w", encoding="utf-8") as f:
    f.writelines(escapes.get(c, c) + "\n" for c in characters)
model = decoder(len(characters), *map(int, sys.argv[4:] or (4, 128, 4, 128)))
checker.check_model(model)
save(model, out)
