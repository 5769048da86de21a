# SPDX-License-Identifier: MIT
"""Small networks of one or two operators: every operator that import takes, the attribute and the
input form, opsets from 7 to 21. cases() yields (name, model)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import composed_cases
import movement_cases
import quantized_cases

OPSETS = (7, 9, 10, 11, 13, 18, 21)
node = helper.make_node


def ints(*values):
    return np.array(values, np.int64)


class Cases:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.made = []

    def f(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def add(self, name, opset, nodes, inputs, outputs=("y",), constants=None,
            out_type=TensorProto.FLOAT):
        """A dim given as text is open."""
        graph = helper.make_graph(
            nodes, "case",
            [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in inputs.items()],
            [helper.make_tensor_value_info(o, out_type, None) for o in outputs],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        self.made.append((f"{name}, opset {opset}", model))


def windows(c, v):
    x = {"x": [1, 4, 11, 9]}
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        for s in (1, 2):
            c.add(f"Conv {pad} stride {s}", v,
                  [node("Conv", ["x", "w", "b"], ["y"], auto_pad=pad, strides=[s, s],
                        kernel_shape=[3, 4])],
                  x, constants={"w": c.f(6, 4, 3, 4), "b": c.f(6)})
            c.add(f"MaxPool {pad} stride {s}", v,
                  [node("MaxPool", ["x"], ["y"], auto_pad=pad, strides=[s, s],
                        kernel_shape=[3, 2])], x)
    n = {"x": ["N", 4, 11, 9]}
    c.add("Conv groups, dilation", v,
          [node("Conv", ["x", "w"], ["y"], group=2, dilations=[2, 1], pads=[1, 2, 0, 1])],
          n, constants={"w": c.f(6, 2, 3, 4)})
    c.add("Conv depthwise", v, [node("Conv", ["x", "w"], ["y"], group=4, pads=[1, 1, 1, 1])],
          n, constants={"w": c.f(4, 1, 3, 3)})
    c.add("Conv 1-D", v, [node("Conv", ["x", "w", "b"], ["y"], strides=[2], pads=[2, 1])],
          {"x": ["N", 3, 17]}, constants={"w": c.f(5, 3, 4), "b": c.f(5)})
    c.add("MaxPool 1-D", v, [node("MaxPool", ["x"], ["y"], strides=[2], kernel_shape=[3])],
          {"x": ["N", 3, 17]})
    for include in (0, 1):
        c.add(f"AveragePool include {include}", v,
              [node("AveragePool", ["x"], ["y"], strides=[2, 2], kernel_shape=[3, 3],
                    pads=[1, 1, 1, 1], count_include_pad=include)], n)
    if v >= 10:
        c.add("MaxPool ceil", v,
              [node("MaxPool", ["x"], ["y"], strides=[2, 3], kernel_shape=[3, 3], ceil_mode=1,
                    pads=[1, 0, 0, 1])], {"x": ["N", 3, 16, 15]})
        c.add("MaxPool dilation", v,
              [node("MaxPool", ["x"], ["y"], strides=[2, 1], kernel_shape=[3, 3],
                    dilations=[2, 2])], {"x": ["N", 3, 16, 15]})
        c.add("AveragePool ceil", v,
              [node("AveragePool", ["x"], ["y"], strides=[2, 3], kernel_shape=[3, 3],
                    ceil_mode=1)], {"x": ["N", 3, 16, 15]})


def lp_pools(c, v):
    x, n = {"x": [1, 4, 11, 9]}, {"x": ["N", 4, 11, 9]}
    c.add("LpPool 1-D", v, [node("LpPool", ["x"], ["y"], kernel_shape=[3], p=1, pads=[1, 1])],
          {"x": ["N", 3, 17]})
    c.add("LpPool SAME", v, [node("LpPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2],
                                  auto_pad="SAME_UPPER")], x)
    c.add("LpPool 3-D", v, [node("LpPool", ["x"], ["y"], kernel_shape=[2, 3, 2], p=3)],
          {"x": ["N", 2, 5, 6, 4]})
    c.add("GlobalLpPool", v, [node("GlobalLpPool", ["x"], ["y"], p=5)], n)
    if v >= 18:
        c.add("LpPool newer", v,
              [node("LpPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 3], dilations=[2, 1],
                    ceil_mode=1)], n)


def products(c, v):
    for ta in (0, 1):
        for tb in (0, 1):
            c.add(f"Gemm {ta}{tb}", v,
                  [node("Gemm", ["x", "w", "c"], ["y"], transA=ta, transB=tb, alpha=0.5, beta=2.0)],
                  {"x": [7, 5] if ta else [5, 7]},
                  constants={"w": c.f(9, 7) if tb else c.f(7, 9), "c": c.f(9)})
    if v >= 11:
        c.add("Gemm without C", v, [node("Gemm", ["x", "w"], ["y"])], {"x": ["N", 7]},
              constants={"w": c.f(7, 9)})
    c.add("MatMul", v, [node("MatMul", ["x", "w"], ["y"])], {"x": ["N", 5, 7]},
          constants={"w": c.f(7, 9)})
    for w, x in (([4, 7], [7]), ([4, 7], [7, 9]), ([4, 7], ["N", 7, 9]), ([4, 7], ["N", 3, 7, 9]),
                 ([1, 4, 7], [7, 9]), ([1, 1, 4, 7], ["N", 7, 9]), ([3, 4, 7], ["N", 3, 7, 9]),
                 ([3, 4, 7], [3, 7, 1]), ([3, 4, 7], ["N", 1, 7, 9]), ([3, 4, 7], [7, 9]),
                 ([2, 3, 4, 7], ["N", 2, 3, 7, 9]), ([2, 3, 4, 7], [2, 1, 7, 9]), ([7], [7, 9]),
                 ([1, 4, 7], [7])):
        c.add(f"MatMul constant left {w} {x}", v, [node("MatMul", ["w", "x"], ["y"])], {"x": x},
              constants={"w": c.f(*w)})
    c.add("MatMul of a batch of one", v, [node("MatMul", ["x", "w"], ["y"])], {"x": ["N", 5, 7]},
          constants={"w": c.f(1, 7, 9)})
    for ta in (0, 1):
        for tb in (0, 1):
            for add in ((4, 1), (9,), (1, 1), ()):
                c.add(f"Gemm constant left {ta}{tb} {add}", v,
                      [node("Gemm", ["w", "x", "c"], ["y"], transA=ta, transB=tb, alpha=0.5,
                            beta=2.0)], {"x": [9, 7] if tb else [7, 9]},
                      constants={"w": c.f(7, 4) if ta else c.f(4, 7), "c": c.f(*add)})
    c.add("MatMul batched", v, [node("MatMul", ["x", "w"], ["y"])], {"x": [2, 5, 7]},
          constants={"w": c.f(2, 7, 9)})
    c.add("MatMul of two inputs", v, [node("MatMul", ["x", "z"], ["y"])],
          {"x": [2, 5, 7], "z": [2, 7, 3]})


def elementwise(c, v):
    x = {"x": ["N", 3, 4, 5]}
    for op in ("Add", "Sub", "Mul", "Div"):
        c.add(op, v, [node(op, ["x", "z"], ["y"])], {"x": [2, 3, 4, 5], "z": [3, 1, 5]})
        c.add(f"{op} constant", v, [node(op, ["c", "x"], ["y"])], x,
              constants={"c": c.f(3, 1, 1)})
    for op in ("Relu", "Sigmoid", "Tanh", "GlobalAveragePool", "GlobalMaxPool", "LeakyRelu",
               "HardSigmoid") + (("HardSwish",) if v >= 14 else ()):
        c.add(op, v, [node(op, ["x"], ["y"])], x)
    c.add("LeakyRelu alpha", v, [node("LeakyRelu", ["x"], ["y"], alpha=0.3)], x)
    c.add("HardSigmoid alpha beta", v,
          [node("HardSigmoid", ["x"], ["y"], alpha=0.3, beta=0.4)], x)
    c.add("PRelu", v, [node("PRelu", ["x", "s"], ["y"])], x, constants={"s": c.f(3, 1, 1)})
    if v < 11:
        c.add("Clip", v, [node("Clip", ["x"], ["y"], min=-0.5, max=0.5)], x)
        c.add("Clip max", v, [node("Clip", ["x"], ["y"], max=0.5)], x)
    else:
        bounds = {"a": np.float32(-0.5), "b": np.float32(0.5)}
        c.add("Clip", v, [node("Clip", ["x", "a", "b"], ["y"])], x, constants=bounds)
        c.add("Clip max", v, [node("Clip", ["x", "", "b"], ["y"])], x, constants=bounds)
    for op in ("Softmax", "LogSoftmax"):
        c.add(f"{op} default", v, [node(op, ["x"], ["y"])], {"x": [2, 3, 4]})
        for axis in (0, 1, 2) + ((-2,) if v >= 11 else ()):
            c.add(f"{op} axis {axis}", v, [node(op, ["x"], ["y"], axis=axis)], {"x": [2, 3, 4]})


def unary(c, v):
    x = {"x": ["N", 5, 7]}
    ops = "Exp Neg Abs Floor Ceil Elu Selu Softplus Softsign Sin Cos".split()
    ops += ["Sign", "Erf"] * (v >= 9) + ["ThresholdedRelu"] * (v >= 10) + ["Round"] * (v >= 11)
    ops += ["Celu"] * (v >= 12) + ["Mish"] * (v >= 18)
    for op in ops:
        c.add(op, v, [node(op, ["x"], ["y"])], x)
    for op in ("Sqrt", "Log", "Reciprocal"):
        c.add(op, v, [node("Exp", ["x"], ["t"]), node(op, ["t"], ["y"])], x)
    for op in ("Elu", "Selu", "ThresholdedRelu", "Celu"):
        if op in ops:
            c.add(f"{op} alpha", v, [node(op, ["x"], ["y"], alpha=0.4)], x)
    c.add("Selu gamma", v, [node("Selu", ["x"], ["y"], alpha=0.4, gamma=2.0)], x)
    if v >= 20:
        c.add("Gelu", v, [node("Gelu", ["x"], ["y"])], x)
        c.add("Gelu tanh", v, [node("Gelu", ["x"], ["y"], approximate="tanh")], x)
    if v >= 9:
        c.add("Not", v, [node("Cast", ["x"], ["b"], to=TensorProto.BOOL),
                         node("Not", ["b"], ["n"]),
                         node("Cast", ["n"], ["y"], to=TensorProto.FLOAT)], x)
    c.add("integers fold", v, [node("Neg", ["k"], ["m"]), node("Abs", ["m"], ["a"]),
                               node("Reshape", ["x", "a"], ["y"])], {"x": [6, 2]},
          constants={"k": ints(3, 4)})


def two_operands(c, v):
    x = {"x": [2, 3, 4], "z": [3, 1]}
    as_float = node("Cast", ["t"], ["y"], to=TensorProto.FLOAT)
    for e in (2.0, 3.0, 0.5, -1.5):
        c.add(f"Pow {e}", v, [node("Exp", ["x"], ["t"]), node("Pow", ["t", "e"], ["y"])],
              {"x": ["N", 5, 7]}, constants={"e": np.float32(e)})
    c.add("Pow of two inputs", v, [node("Exp", ["x"], ["t"]), node("Pow", ["t", "z"], ["y"])], x)
    if v >= 12:
        c.add("Pow whole", v, [node("Pow", ["x", "e"], ["y"])], {"x": ["N", 5]},
              constants={"e": ints(3)})
    if v >= 10:
        c.add("Mod", v, [node("Mod", ["x", "z"], ["y"], fmod=1)], x)
    for op in ["Less", "Greater"] * (v >= 9) + ["Equal"] * (v >= 11):
        c.add(op, v, [node(op, ["x", "z"], ["t"]), as_float], x)
    for op in ["LessOrEqual", "GreaterOrEqual"] * (v >= 12):
        c.add(op, v, [node(op, ["x", "z"], ["t"]), as_float], x)
    if v >= 9:
        for op in ("And", "Or", "Xor"):
            c.add(op, v, [node("Greater", ["x", "k"], ["a"]), node("Less", ["z", "k"], ["b"]),
                          node(op, ["a", "b"], ["t"]), as_float], x,
                  constants={"k": np.float32(0.3)})
        c.add("IsNaN", v, [node("Sqrt", ["x"], ["r"]), node("IsNaN", ["r"], ["t"]), as_float],
              {"x": [2, 3, 4]})
        c.add("Where", v, [node("Greater", ["x", "z"], ["t"]), node("Where", ["t", "x", "k"], ["y"])],
              x, constants={"k": c.f(2, 1, 1)})


def reductions(c, v):
    x, three = {"x": [2, 3, 4]}, {"x": [2, 3, 4], "z": [3, 1]}
    for op in ("Min", "Max", "Sum", "Mean"):
        if v >= 8:
            c.add(f"{op} of three", v, [node(op, ["x", "z", "k"], ["y"])], three,
                  constants={"k": c.f(4)})
        c.add(f"{op} of one", v, [node(op, ["x"], ["y"])], x)
        c.add(f"{op} of one value twice", v,
              [node("Abs", ["x"], ["a"]), node("Neg", ["x"], ["b"]), node(op, ["a", "b", "a"], ["y"])], x)
    for op in "Sum Max Min Prod L1 L2 LogSumExp SumSquare".split():
        at_input = v >= (13 if op == "Sum" else 18)
        for keep in (0, 1):
            inputs, options = (["x", "a"], {}) if at_input else (["x"], {"axes": [2, 0]})
            c.add(f"Reduce{op} keepdims {keep}", v,
                  [node(f"Reduce{op}", inputs, ["y"], keepdims=keep, **options)], x,
                  constants={"a": ints(-1, 0)} if at_input else {})
        c.add(f"Reduce{op} all", v, [node(f"Reduce{op}", ["x"], ["y"])], x)
        if at_input:
            c.add(f"Reduce{op} no axes", v,
                  [node(f"Reduce{op}", ["x", "a"], ["t"], noop_with_empty_axes=1),
                   node("Relu", ["t"], ["y"])], x, constants={"a": ints()})


def along_axes(c, v):
    x = {"x": [2, 3, 4]}
    as_float = node("Cast", ["t"], ["y"], to=TensorProto.FLOAT)
    for op in ("ArgMax", "ArgMin"):
        for axis, keep in ((0, 1), (1, 0), (2, 0)) + (((-2, 1),) if v >= 11 else ()):
            c.add(f"{op} axis {axis}", v, [node(op, ["x"], ["t"], axis=axis, keepdims=keep), as_float], x)
        if v >= 12:
            c.add(f"{op} last", v, [node("Sign", ["x"], ["s"]),
                                    node(op, ["s"], ["t"], axis=1, select_last_index=1),
                                    as_float], x)
    c.add("Hardmax", v, [node("Hardmax", ["x"], ["y"])], {"x": [5, 6]})
    if v >= 11:
        for axis in (0, -1):
            c.add(f"CumSum {axis}", v,
                  [node("CumSum", ["x", "a"], ["y"], exclusive=1, reverse=-axis)], x,
                  constants={"a": np.array(axis)})
    for p in (1, 2):
        c.add(f"LpNormalization {p}", v, [node("LpNormalization", ["x"], ["y"], axis=1, p=p)], x)


def own_statistics(c, v):
    x, affine = {"x": ["N", 4, 5, 6]}, {"s": c.f(4), "b": c.f(4)}
    c.add("InstanceNormalization", v,
          [node("InstanceNormalization", ["x", "s", "b"], ["y"], epsilon=1e-3)], x,
          constants=affine)
    if v >= 21:
        c.add("GroupNormalization", v,
              [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)], x,
              constants=affine)
    if v >= 17:
        for axis, size in ((-1, [6]), (1, [4, 5, 6])):
            c.add(f"LayerNormalization {axis}", v,
                  [node("LayerNormalization", ["x", "s", "b"], ["y"], axis=axis)], x,
                  constants={"s": c.f(*size), "b": c.f(*size)})
        c.add("LayerNormalization without bias", v,
              [node("LayerNormalization", ["x", "s"], ["y"])], x, constants={"s": c.f(6)})
    if v >= 9:
        c.add("MeanVarianceNormalization", v, [node("MeanVarianceNormalization", ["x"], ["y"])], x)
        c.add("MeanVarianceNormalization axes", v,
              [node("MeanVarianceNormalization", ["x"], ["y"], axes=[1, 3])], x)


def normalization(c, v):
    def stats(n):
        return {"s": c.f(n), "b": c.f(n), "m": c.f(n), "v": abs(c.f(n))}

    def norm(x):
        return node("BatchNormalization", [x, "s", "b", "m", "v"], ["y"], epsilon=1e-3)
    c.add("BatchNormalization", v, [norm("x")], {"x": ["N", 3, 4, 5]}, constants=stats(3))
    c.add("Conv BatchNormalization", v, [node("Conv", ["x", "w"], ["t"]), norm("t")],
          {"x": ["N", 3, 4, 5]}, constants={"w": c.f(4, 3, 2, 2), **stats(4)})
    c.add("Gemm BatchNormalization", v,
          [node("Gemm", ["x", "w", "c"], ["t"], beta=0.5, alpha=2.0), norm("t")],
          {"x": ["N", 3]}, constants={"w": c.f(3, 4), "c": c.f(1, 4), **stats(4)})
    c.add("LRN", v, [node("LRN", ["x"], ["y"], size=3, alpha=0.1, beta=0.6, bias=2.0)],
          {"x": ["N", 7, 4, 5]})


def cutting(c, v):
    c.add("Concat", v, [node("Concat", ["x", "z", "c"], ["y"], axis=1)],
          {"x": [2, 3, 4], "z": [2, 1, 4]}, constants={"c": c.f(2, 2, 4)})
    if v < 13:
        c.add("Split", v, [node("Split", ["x"], ["a", "b"], axis=1, split=[1, 3])],
              {"x": [2, 4, 3]}, ("a", "b"))
    else:
        c.add("Split", v, [node("Split", ["x", "s"], ["a", "b"], axis=-2)], {"x": [2, 4, 3]},
              ("a", "b"), {"s": ints(1, 3)})
    if v >= 18:
        c.add("Split uneven", v, [node("Split", ["x"], ["a", "b", "c"], axis=1, num_outputs=3)],
              {"x": [2, 8, 3]}, ("a", "b", "c"))
    else:
        c.add("Split even", v, [node("Split", ["x"], ["a", "b"], axis=1)], {"x": [2, 4, 3]},
              ("a", "b"))
    if v < 10:
        c.add("Slice", v, [node("Slice", ["x"], ["y"], axes=[1, 2], starts=[1, -3],
                                ends=[2 ** 62, -1])], {"x": [2, 4, 9]})
    else:
        c.add("Slice", v, [node("Slice", ["x", "s", "e", "a", "t"], ["y"])], {"x": [2, 4, 9]},
              constants={"s": ints(1, -3), "e": ints(2 ** 62, -2 ** 62), "a": ints(1, 2),
                         "t": ints(2, -2)})
    for mode in ("constant", "reflect", "edge"):
        if v < 11:
            c.add(f"Pad {mode}", v, [node("Pad", ["x"], ["y"], mode=mode,
                                          pads=[0, 0, 1, 2, 0, 0, 3, 1], value=0.7)],
                  {"x": [1, 2, 5, 6]})
        else:
            inputs = ["x", "p"] + (["v"] if mode == "constant" else [])
            c.add(f"Pad {mode}", v, [node("Pad", inputs, ["y"], mode=mode)], {"x": [1, 2, 5, 6]},
                  constants={"p": ints(0, 0, 1, 2, 0, 0, 3, 1), "v": np.float32(0.7)})
    if v >= 18:
        c.add("Pad axes", v, [node("Pad", ["x", "p", "", "a"], ["y"])], {"x": [1, 2, 5, 6]},
              constants={"p": ints(1, 2, -1, 1), "a": ints(2, -1)})
        c.add("ReduceMean", v, [node("ReduceMean", ["x", "a"], ["y"], keepdims=0)],
              {"x": [2, 3, 8]}, constants={"a": ints(-1, 1)})
    else:
        c.add("ReduceMean", v, [node("ReduceMean", ["x"], ["y"], axes=[2, 1], keepdims=0)],
              {"x": [2, 3, 8]})
    c.add("ReduceMean all", v, [node("ReduceMean", ["x"], ["y"])], {"x": [2, 3, 8]})


def views(c, v):
    if v < 13:
        c.add("Squeeze", v, [node("Squeeze", ["x"], ["y"], axes=[1, 3])], {"x": ["N", 1, 4, 1]})
        c.add("Unsqueeze", v, [node("Unsqueeze", ["x"], ["y"], axes=[3, 1])], {"x": ["N", 4]})
    else:
        c.add("Squeeze", v, [node("Squeeze", ["x", "a"], ["y"])], {"x": ["N", 1, 4, 1]},
              constants={"a": ints(1, -1)})
        c.add("Unsqueeze", v, [node("Unsqueeze", ["x", "a"], ["y"])], {"x": ["N", 4]},
              constants={"a": ints(-1, 1)})
    c.add("Squeeze all", v, [node("Squeeze", ["x"], ["y"])], {"x": [2, 1, 4, 1]})
    c.add("Reshape", v, [node("Reshape", ["x", "s"], ["y"])], {"x": ["N", 3, 8]},
          constants={"s": ints(0, -1, 4)})
    for axis in (0, 1, 2, 3):
        c.add(f"Flatten {axis}", v, [node("Flatten", ["x"], ["y"], axis=axis)], {"x": [2, 3, 8]})
    c.add("Transpose", v, [node("Transpose", ["x"], ["y"], perm=[2, 0, 1])], {"x": [2, 3, 8]})
    c.add("Transpose default", v, [node("Transpose", ["x"], ["y"])], {"x": [2, 3, 8]})
    c.add("Dropout", v, [node("Dropout", ["x"], ["y"])], {"x": [2, 3]})
    c.add("Identity of an output", v,
          [node("Relu", ["x"], ["t"]), node("Identity", ["t"], ["y"]),
           node("Identity", ["t"], ["z"])], {"x": [2, 3]}, ("y", "z", "t"))
    c.add("constants fold", v, [node("Relu", ["c"], ["t"]), node("Add", ["x", "t"], ["y"])],
          {"x": [2, 3]}, constants={"c": c.f(2, 3)})
    c.add("Cast", v, [node("Cast", ["x"], ["u"], to=TensorProto.INT32),
                      node("Cast", ["u"], ["y"], to=TensorProto.FLOAT)], {"x": [2, 3]})


def resizing(c):
    x = {"x": ["N", 2, 5, 6]}
    for mode in ("nearest", "linear"):
        c.add(f"Upsample {mode}", 7, [node("Upsample", ["x"], ["y"], mode=mode,
                                           scales=[1.0, 1.0, 2.0, 3.0])], x)
        c.add(f"Upsample {mode}", 9, [node("Upsample", ["x", "s"], ["y"], mode=mode)], x,
              constants={"s": np.array([1, 1, 2, 2.5], np.float32)})
        for scale in ([1, 1, 2, 3], [1, 1, 0.5, 0.6], [1, 1, 1.5, 1]):
            scales = np.array(scale, np.float32)
            c.add(f"Resize {mode} {scale}", 10, [node("Resize", ["x", "s"], ["y"], mode=mode)], x,
                  constants={"s": scales})
            for v in (11, 13, 19):
                resize_rules(c, v, mode, scales)


def resize_rules(c, v, mode, scales):
    rules = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if v >= 19:
        rules.append("half_pixel_symmetric")
    roundings = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
    empty = np.zeros(0, np.float32)
    for rule in rules:
        for rounding in roundings if mode == "nearest" else ["floor"]:
            options = dict(mode=mode, coordinate_transformation_mode=rule, nearest_mode=rounding)
            name = f"Resize {mode} {list(scales)} {rule} {rounding}"
            c.add(name, v, [node("Resize", ["x", "roi", "s"], ["y"], **options)],
                  {"x": ["N", 2, 5, 6]}, constants={"s": scales, "roi": empty})
            size = ints(1, 2, int(5 * scales[2]), int(6 * scales[3]))
            c.add(f"{name} sizes", v, [node("Resize", ["x", "roi", "none", "z"], ["y"], **options)],
                  {"x": [1, 2, 5, 6]}, constants={"z": size, "roi": empty, "none": empty})


def cases(seed=3):
    c = Cases(seed)
    for v in OPSETS:
        for family in (windows, lp_pools, products, elementwise, unary, two_operands, normalization,
                       reductions, along_axes, own_statistics, cutting, views):
            family(c, v)
        movement_cases.add_cases(c, v)
        composed_cases.add_cases(c, v)
        quantized_cases.add_cases(c, v)
    resizing(c)
    return c.made
