# SPDX-License-Identifier: MIT
"""Networks of the usual shapes with seeded weights, for timing alone: write(NAME, FOLDER) gives the path of
an ONNX file (opset 13, open batch). NAMES lists them. Transformers are written in pieces (LayerNorm, GELU,
attention), as exporters of that opset do. Recurrent layers are those of tests/conformance/recurrent_cases.py."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Writer:
    def __init__(self, *dims, seed=7):
        self.rng, self.nodes, self.weights = np.random.default_rng(seed), [], []
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *dims])

    def constant(self, value, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def normal(self, *shape, fan):
        return self.constant(self.rng.standard_normal(shape) * np.sqrt(2 / fan))

    def op(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def conv(self, x, c_in, c_out, k, stride=1, groups=1, act="Relu", bias=True):
        fan = c_in // groups * k * k
        inputs = [x, self.normal(c_out, c_in // groups, k, k, fan=fan)] + [self.constant(np.zeros(c_out))] * bias
        y = self.op("Conv", *inputs, kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4, group=groups)
        return self.act(y, act)

    def act(self, y, act):
        if act == "Clip":
            return self.op("Clip", y, self.constant(0), self.constant(6))
        if act == "Swish":
            return self.op("Mul", y, self.op("Sigmoid", y))
        return self.op(act, y) if act else y

    def dense(self, x, c_in, c_out, act=None):
        return self.act(self.op("Gemm", x, self.normal(c_out, c_in, fan=c_in), self.constant(np.zeros(c_out)),
                                transB=1), act)

    def linear(self, x, c_in, c_out):
        return self.op("Add", self.op("MatMul", x, self.normal(c_in, c_out, fan=c_in)), self.constant(np.zeros(c_out)))

    def pooled(self, x):
        return self.op("Flatten", self.op("GlobalAveragePool", x))

    def save(self, y, path, opset=13):
        out = helper.make_empty_tensor_value_info(y)
        model = helper.make_model(helper.make_graph(self.nodes, "net", [self.input], [out], self.weights),
                                  opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        for value in model.graph.value_info:
            if value.name == y:
                model.graph.output[0].CopyFrom(value)
        onnx.save(model, path)


def lenet300():
    w = Writer(784)
    return w, w.dense(w.dense(w.dense("x", 784, 300, "Relu"), 300, 100, "Relu"), 100, 10)


def residual_block(w, x, c_in, width, c_out, stride):
    if width == c_out: # two 3x3
        y = w.conv(w.conv(x, c_in, width, 3, stride), width, c_out, 3, act=None)
    else:
        y = w.conv(w.conv(w.conv(x, c_in, width, 1), width, width, 3, stride), width, c_out, 1, act=None)
    if stride != 1 or c_in != c_out:
        x = w.conv(x, c_in, c_out, 1, stride, act=None)
    return w.op("Relu", w.op("Add", x, y))


def resnet(blocks, factor):
    def make():
        w = Writer(3, 224, 224)
        x, c = w.conv("x", 3, 64, 7, 2), 64
        x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage, count in enumerate(blocks):
            width = 64 << stage
            for i in range(count):
                x = residual_block(w, x, c, width, width * factor, 2 if stage and not i else 1)
                c = width * factor
        return w, w.dense(w.pooled(x), c, 1000)
    return make


def squeezenet_1_0():
    w = Writer(3, 224, 224)
    x, c = w.conv("x", 3, 96, 7, 2), 96
    for fire, squeezed in enumerate([16, 16, 32, 32, 48, 48, 64, 64]):
        if fire in (0, 3, 7):
            x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
        x = w.conv(x, c, squeezed, 1)
        c = 8 * squeezed
        x = w.op("Concat", w.conv(x, squeezed, c // 2, 1), w.conv(x, squeezed, c // 2, 3), axis=1)
    return w, w.pooled(w.conv(x, c, 1000, 1))


def squeeze_excite(w, x, c, squeezed):
    y = w.op("GlobalAveragePool", x)
    y = w.conv(w.conv(y, c, squeezed, 1, act="Swish"), squeezed, c, 1, act="Sigmoid")
    return w.op("Mul", x, y)


def efficientnet_b0():
    w = Writer(3, 224, 224)
    x, c = w.conv("x", 3, 32, 3, 2, act="Swish"), 32
    for grow, k, stride, c_out, count in [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                                          (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]:
        for i in range(count):
            wide = c * grow
            y = w.conv(x, c, wide, 1, act="Swish") if grow > 1 else x
            y = w.conv(y, wide, wide, k, 1 if i else stride, wide, act="Swish")
            y = w.conv(squeeze_excite(w, y, wide, c // 4), wide, c_out, 1, act=None)
            x, c = (w.op("Add", x, y) if i else y), c_out
    x = w.conv(x, c, 1280, 1, act="Swish")
    return w, w.dense(w.pooled(x), 1280, 1000)


def layer_norm(w, x, width):
    centred = w.op("Sub", x, w.op("ReduceMean", x, axes=[-1]))
    variance = w.op("ReduceMean", w.op("Pow", centred, w.constant(2)), axes=[-1])
    y = w.op("Div", centred, w.op("Sqrt", w.op("Add", variance, w.constant(1e-6))))
    return w.op("Add", w.op("Mul", y, w.constant(np.ones(width))), w.constant(np.zeros(width)))


def gelu(w, x):
    e = w.op("Erf", w.op("Div", x, w.constant(2 ** .5)))
    return w.op("Mul", w.op("Mul", x, w.op("Add", e, w.constant(1))), w.constant(.5))


def attention(w, x, width, heads, tokens):
    split = w.constant([0, tokens, heads, width // heads], np.int64)
    q, k, v = (w.op("Reshape", w.linear(x, width, width), split) for _ in range(3))
    score = w.op("MatMul", w.op("Transpose", q, perm=[0, 2, 1, 3]), w.op("Transpose", k, perm=[0, 2, 3, 1]))
    p = w.op("Softmax", w.op("Mul", score, w.constant((width / heads) ** -.5)), axis=-1)
    y = w.op("MatMul", p, w.op("Transpose", v, perm=[0, 2, 1, 3]))
    y = w.op("Reshape", w.op("Transpose", y, perm=[0, 2, 1, 3]), w.constant([0, tokens, width], np.int64))
    return w.linear(y, width, width)


def minilm():
    """The body of MiniLM-L6 on 128 tokens, their embeddings looked up already."""
    w, x, width = Writer(128, 384), "x", 384
    for _ in range(6):
        x = layer_norm(w, w.op("Add", x, attention(w, x, width, 12, 128)), width)
        y = w.linear(gelu(w, w.linear(x, width, 4 * width)), 4 * width, width)
        x = layer_norm(w, w.op("Add", x, y), width)
    return w, x


def vit_tiny():
    w, width, tokens = Writer(3, 224, 224), 192, 196
    x = w.op("Conv", "x", w.normal(width, 3, 16, 16, fan=768), w.constant(np.zeros(width)), kernel_shape=[16, 16],
             strides=[16, 16])
    x = w.op("Transpose", w.op("Reshape", x, w.constant([0, width, tokens], np.int64)), perm=[0, 2, 1])
    x = w.op("Add", x, w.constant(w.rng.standard_normal((1, tokens, width)) * .02))
    for _ in range(12):
        x = w.op("Add", x, attention(w, layer_norm(w, x, width), width, 3, tokens))
        y = w.linear(gelu(w, w.linear(layer_norm(w, x, width), width, 4 * width)), 4 * width, width)
        x = w.op("Add", x, y)
    x = w.op("ReduceMean", layer_norm(w, x, width), axes=[1], keepdims=0)
    return w, w.dense(x, width, 1000)


NAMES = {"lenet300": lenet300, "squeezenet_1_0": squeezenet_1_0, "resnet18": resnet([2, 2, 2, 2], 1),
         "resnet50": resnet([3, 4, 6, 3], 4), "vit_tiny": vit_tiny, "minilm": minilm, "efficientnet_b0": efficientnet_b0}


def recurrent(kind, sizes, **attributes):
    """sizes: steps, batch, inputs, state"""
    def make():
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/conformance"))
        import recurrent_cases
        return recurrent_cases.Layer(np.random.default_rng(1), kind, ("B",), sizes=sizes, **attributes).model()
    return make


LAYERS = {"lstm_step": recurrent("LSTM", (1, 1, 128, 128)), "lstm": recurrent("LSTM", (100, 1, 256, 512)),
          "lstm_batch": recurrent("LSTM", (50, 16, 256, 512)),
          "gru": recurrent("GRU", (100, 1, 256, 512), linear_before_reset=1)}


def write(name, folder):
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        if name in LAYERS:
            onnx.save(LAYERS[name](), path)
        else:
            w, y = NAMES[name]()
            w.save(y, path)
    return path
