#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A transformer encoder with seeded weights, written the way PyTorch's tracing exporter writes one:
token ids i64 into an embedding Gather, positions cut from a table by the length of the input,
LayerNorm and GELU in pieces, heads split and merged by Shape-Gather-Concat-Reshape chains, the
attention mask through Equal, Reshape, Expand and Where, linear layers as MatMul and Add.

usage: encoder_model.py OUT.onnx [--layers 6] [--width 384] [--heads 12] [--tokens 128] ..."""
import argparse
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


class Writer:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.scope = [], [], ""

    def node(self, op, *inputs, **attributes):
        name = f"{self.scope}/{op}_{len(self.nodes)}"
        out = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=name, **attributes))
        return out

    def weight(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def normal(self, name, spread, *shape):
        return self.weight(name, self.random.standard_normal(shape) * spread)

    def constant(self, value, dtype=np.int64):
        tensor = numpy_helper.from_array(np.array(value, dtype))
        return self.node("Constant", value=tensor)

    def dim(self, value, axis):
        return self.node("Gather", self.node("Shape", value), self.constant(axis), axis=0)

    def vector(self, scalar):
        return self.node("Unsqueeze", scalar, self.constant([0]))

    def reshape(self, value, *dims):
        """Dims are numbers, or names of scalars computed in the graph."""
        parts = [self.vector(d) if isinstance(d, str) else self.constant([d]) for d in dims]
        return self.node("Reshape", value, self.node("Concat", *parts, axis=0))

    def linear(self, name, x, n_in, n_out):
        w = self.normal(f"{name}.weight", 1 / math.sqrt(n_in), n_in, n_out)
        y = self.node("MatMul", x, w)
        return self.node("Add", self.normal(f"{name}.bias", 0.1, n_out), y)

    def layer_norm(self, name, x, width):
        mean = self.node("ReduceMean", x, axes=[-1])
        centred = self.node("Sub", x, mean)
        square = self.node("Pow", centred, self.constant(2, np.float32))
        variance = self.node("ReduceMean", square, axes=[-1])
        padded = self.node("Add", variance, self.constant(1e-12, np.float32))
        y = self.node("Div", centred, self.node("Sqrt", padded))
        scale = self.weight(f"{name}.weight", 1 + 0.1 * self.random.standard_normal(width))
        y = self.node("Mul", y, scale)
        return self.node("Add", y, self.normal(f"{name}.bias", 0.1, width))

    def gelu(self, x):
        scaled = self.node("Div", x, self.constant(math.sqrt(2), np.float32))
        erf = self.node("Add", self.node("Erf", scaled), self.constant(1, np.float32))
        return self.node("Mul", self.node("Mul", x, erf), self.constant(0.5, np.float32))

    def embeddings(self, shape, vocabulary):
        tokens, width = shape
        self.scope = "/embeddings"
        words = self.normal("word_embeddings.weight", 1.0, vocabulary, width)
        places = self.normal("position_embeddings.weight", 0.3, 2 * tokens, width)
        self.weights.append(numpy_helper.from_array(np.arange(2 * tokens).reshape(1, -1),
                                                    "position_ids"))
        length = self.vector(self.dim("input_ids", 1))
        positions = self.node("Slice", "position_ids", self.constant([0]), length,
                              self.constant([1]), self.constant([1]))
        x = self.node("Add", self.node("Gather", words, "input_ids"),
                      self.node("Gather", places, positions))
        return self.layer_norm("embeddings.LayerNorm", x, width)

    def split_heads(self, x, batch, heads, head_width, perm):
        x = self.reshape(x, batch, -1, heads, head_width)
        return self.node("Transpose", x, perm=perm)

    def mask_out(self, scores, batch, mask):
        masked = self.node("Equal", mask, self.constant(0))
        masked = self.reshape(masked, batch, 1, 1, self.dim(scores, 3))
        masked = self.node("Expand", masked, self.node("Shape", scores))
        masked = self.node("Cast", masked, to=TensorProto.BOOL)
        lowest = self.constant(np.finfo(np.float32).min, np.float32)
        return self.node("Where", masked, lowest, scores)

    def attention(self, name, x, mask, shape, heads):
        width = shape[1]
        head_width = width // heads
        batch = self.dim(x, 0)
        q, k, v = (self.linear(f"{name}.{part}_lin", x, width, width) for part in "qkv")
        q = self.split_heads(q, batch, heads, head_width, [0, 2, 1, 3])
        k = self.split_heads(k, batch, heads, head_width, [0, 2, 3, 1])
        v = self.split_heads(v, batch, heads, head_width, [0, 2, 1, 3])
        q = self.node("Div", q, self.constant(math.sqrt(head_width), np.float32))
        scores = self.mask_out(self.node("MatMul", q, k), batch, mask)
        share = self.node("Softmax", scores, axis=-1)
        context = self.node("Transpose", self.node("MatMul", share, v), perm=[0, 2, 1, 3])
        context = self.reshape(context, batch, -1, width)
        return self.linear(f"{name}.out_lin", context, width, width)

    def layer(self, i, x, mask, shape, heads, inner):
        self.scope = f"/layer.{i}"
        width = shape[1]
        y = self.attention(f"layer.{i}.attention", x, mask, shape, heads)
        x = self.layer_norm(f"layer.{i}.sa_layer_norm", self.node("Add", y, x), width)
        y = self.gelu(self.linear(f"layer.{i}.ffn.lin1", x, width, inner))
        y = self.linear(f"layer.{i}.ffn.lin2", y, inner, width)
        return self.layer_norm(f"layer.{i}.output_layer_norm", self.node("Add", y, x), width)


def encoder(layers=6, width=384, heads=12, tokens=128, inner=None, vocabulary=1000, seed=11):
    """Inputs input_ids and attention_mask, i64 [1, tokens]; output f32 [1, tokens, width]."""
    w = Writer(seed)
    x = w.embeddings((tokens, width), vocabulary)
    for i in range(layers):
        x = w.layer(i, x, "attention_mask", (tokens, width), heads, inner or 4 * width)
    w.scope = ""
    w.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"], name="last"))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, tokens])
              for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT,
                                           [1, tokens, width])
    graph = helper.make_graph(w.nodes, "encoder", inputs, [output], w.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def cases():
    """A small one for the agreement test."""
    return [("encoder of 2 layers", encoder(layers=2, width=64, heads=4, tokens=52,
                                            vocabulary=50))]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("out")
    for name, value in (("layers", 6), ("width", 384), ("heads", 12), ("tokens", 128),
                        ("vocabulary", 1000), ("seed", 11)):
        p.add_argument(f"--{name}", type=int, default=value)
    a = p.parse_args()
    save(encoder(a.layers, a.width, a.heads, a.tokens, None, a.vocabulary, a.seed), a.out)


if __name__ == "__main__":
    main()
