# SPDX-License-Identifier: MIT
"""Networks of quantized and of small integers, whose results are integers cast to floats: an element
off by one is far above the tolerance. And of convolutions and pools over three axes, infinities and
NonMaxSuppression. add_cases(c, opset) adds to operator_cases.Cases."""
import numpy as np
from onnx import TensorProto, helper

node = helper.make_node
TYPES = {"u8": (TensorProto.UINT8, np.uint8), "i8": (TensorProto.INT8, np.int8)}
TYPES_16 = {"u16": (TensorProto.UINT16, np.uint16), "i16": (TensorProto.INT16, np.int16)}


def f32(*values):
    return np.array(values, np.float32) if len(values) > 1 else np.float32(values[0])


def to_float(name):
    return node("Cast", [name], ["y"], to=TensorProto.FLOAT)


def quantizing(c, v):
    x = {"x": ["N", 5, 12]}
    for name, (_, t) in TYPES.items():
        zero = t(7)
        c.add(f"QuantizeLinear {name}", v,
              [node("QuantizeLinear", ["x", "s", "z"], ["q"]), to_float("q")], x,
              constants={"s": f32(0.0125), "z": zero})
        # multiples of half a step: every second one is a tie
        c.add(f"QuantizeLinear {name} ties", v,
              [node("Mul", ["x", "eight"], ["m"]), node("Floor", ["m"], ["h"]),
               node("QuantizeLinear", ["h", "two", "z"], ["q"]), to_float("q")], x,
              constants={"eight": f32(8), "two": f32(2), "z": zero})
        c.add(f"QuantizeLinear DequantizeLinear {name}", v,
              [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
               node("DequantizeLinear", ["q", "s", "z"], ["y"])], x,
              constants={"s": f32(0.0125), "z": zero})
        if v >= 13:
            s = np.abs(c.f(5)) / 50 + f32(0.001)
            c.add(f"QuantizeLinear DequantizeLinear {name} per axis", v,
                  [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=-2),
                   node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1),
                   node("Add", ["x", "d"], ["y"])], x,
                  constants={"s": s, "z": np.arange(5).astype(t)})
    c.add("QuantizeLinear no zero point", v,
          [node("QuantizeLinear", ["x", "s"], ["q"]), node("DequantizeLinear", ["q", "s"], ["y"])],
          x, constants={"s": f32(0.02)})
    if v < 21:
        return
    for name, (_, t) in {**TYPES, **TYPES_16}.items():
        c.add(f"QuantizeLinear newer {name} blocks", v,
              [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=2, block_size=4),
               node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=2, block_size=4)],
              {"x": [3, 5, 12]},
              constants={"s": np.abs(c.f(3, 5, 3)) / 50 + f32(0.001),
                         "z": np.arange(45).reshape(3, 5, 3).astype(t)})
        c.add(f"QuantizeLinear newer {name} blocks of rows", v,
              [node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1, block_size=3),
               node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1, block_size=3)],
              {"x": [3, 6, 4]},
              constants={"s": np.abs(c.f(3, 2, 4)) / 50 + f32(0.001),
                         "z": np.arange(24).reshape(3, 2, 4).astype(t)})
    c.add("QuantizeLinear newer output_dtype", v,
          [node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=TensorProto.INT16),
           node("DequantizeLinear", ["q", "s"], ["y"])], x, constants={"s": f32(0.0002)})


def bytes_of(c, t, *shape):
    info = np.iinfo(t)
    return c.random.integers(info.min, info.max + 1, shape).astype(t)


def qlinear(c, v):
    for xn, wn in (("u8", "u8"), ("u8", "i8"), ("i8", "i8")):
        tx, tw = TYPES[xn][1], TYPES[wn][1]
        quantize = node("QuantizeLinear", ["x", "xs", "xz"], ["q"])
        k = {"xs": f32(0.021), "xz": tx(3), "ys": f32(0.37), "yz": tx(9), "wz": tw(0),
             "b": c.random.integers(-5000, 5000, 6).astype(np.int32)}
        scales = {"one": f32(0.0173)}
        if wn == "i8":
            scales["channels"] = np.abs(c.f(6)) / 60 + f32(0.002)
        for name, scale in scales.items():
            k["ws"] = scale
            if name == "channels":
                k["wz"] = np.zeros(6, tw)
            elif wn == "u8":
                k["wz"] = tw(120)
            inputs = ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
            for what, attrs, shape, x in (
                    ("", {}, (6, 4, 3, 3), [1, 4, 9, 8]),
                    (" strides groups", {"strides": [2, 1], "pads": [1, 0, 2, 1], "group": 2},
                     (6, 2, 3, 2), ["N", 4, 9, 8]),
                    (" depthwise", {"pads": [1, 1, 1, 1], "group": 6, "dilations": [2, 1]},
                     (6, 1, 3, 3), ["N", 6, 7, 9]),
                    (" 1-D", {"auto_pad": "SAME_UPPER"}, (6, 3, 4), [2, 3, 17])):
                c.add(f"QLinearConv {xn} {wn} {name}{what}", v,
                      [quantize, node("QLinearConv", inputs + ["b"], ["r"], **attrs),
                       node("DequantizeLinear", ["r", "ys", "yz"], ["y"])], {"x": x},
                      constants=dict(k, w=bytes_of(c, tw, *shape)))
            c.add(f"QLinearConv {xn} {wn} {name} no bias", v,
                  [quantize, node("QLinearConv", inputs, ["r"]),
                   node("DequantizeLinear", ["r", "ys", "yz"], ["y"])], {"x": ["N", 4, 5, 5]},
                  constants={n: a for n, a in dict(k, w=bytes_of(c, tw, 6, 4, 1, 1)).items()
                             if n != "b"})
            for shape in ([5, 11], ["N", 4, 11]):
                c.add(f"QLinearMatMul {xn} {wn} {name} {len(shape)}", v,
                      [quantize, node("QLinearMatMul", inputs, ["r"]),
                       node("DequantizeLinear", ["r", "ys", "yz"], ["y"])], {"x": shape},
                      constants=dict(k, w=bytes_of(c, tw, 11, 6)))


def sums(c, v):
    for xn, wn in (("u8", "u8"), ("u8", "i8"), ("i8", "i8"), ("i8", "u8")):
        tx, tw = TYPES[xn][1], TYPES[wn][1]
        quantize = node("QuantizeLinear", ["x", "xs", "xz"], ["q"])
        k = {"xs": f32(0.021), "xz": tx(3), "wz": tw(11)}
        c.add(f"MatMulInteger {xn} {wn}", v,
              [quantize, node("MatMulInteger", ["q", "w", "xz", "wz"], ["r"]), to_float("r")],
              {"x": ["N", 3, 14]}, constants=dict(k, w=bytes_of(c, tw, 14, 7)))
        c.add(f"MatMulInteger {xn} {wn} columns", v,
              [quantize, node("MatMulInteger", ["q", "w", "", "wz"], ["r"]), to_float("r")],
              {"x": [6, 14]}, constants=dict(k, w=bytes_of(c, tw, 14, 7), wz=bytes_of(c, tw, 7)))
        if xn == "u8":
            c.add(f"ConvInteger {xn} {wn}", v,
                  [quantize, node("ConvInteger", ["q", "w", "xz", "wz"], ["r"], pads=[1, 1, 0, 2],
                                  strides=[1, 2]), to_float("r")],
                  {"x": ["N", 3, 8, 9]}, constants=dict(k, w=bytes_of(c, tw, 5, 3, 3, 3)))
    if v >= 11:
        c.add("DynamicQuantizeLinear", v,
              [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
               node("DequantizeLinear", ["q", "s", "z"], ["y"])], {"x": [4, 33]})
        c.add("DynamicQuantizeLinear MatMulInteger", v,
              [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
               node("MatMulInteger", ["q", "w", "z"], ["r"]), node("Cast", ["r"], ["f"], to=1),
               node("Mul", ["f", "s"], ["y"])], {"x": [4, 33]},
              constants={"w": bytes_of(c, np.int8, 33, 9)})
        c.add("DynamicQuantizeLinear positive", v,
              [node("Abs", ["x"], ["a"]), node("DynamicQuantizeLinear", ["a"], ["q", "s", "z"]),
               node("DequantizeLinear", ["q", "s", "z"], ["y"])], {"x": [40]})


def networks(c, v):
    """As quantizers write them: everything between QuantizeLinear and DequantizeLinear. Scales are
    powers of 2, so that no order of float sums makes another value of a tie."""
    if v < 13:
        return
    c.add("QDQ network", v,
          [node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
           node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
           node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
           node("Conv", ["d", "wd"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["r"]),
           node("QuantizeLinear", ["r", "ys", "xz"], ["p"]),
           node("DequantizeLinear", ["p", "ys", "xz"], ["y"])], {"x": ["N", 3, 8, 8]},
          constants={"xs": f32(1 / 64), "xz": np.uint8(128), "ys": f32(1 / 16),
                     "w": bytes_of(c, np.int8, 5, 3, 3, 3), "wz": np.zeros(5, np.int8),
                     "ws": f32(2.0 ** -8, 2.0 ** -9, 2.0 ** -7, 2.0 ** -8, 2.0 ** -10)})


def short_integers(c, v):
    """The operators that onnxruntime has for them."""
    x = {"x": ["N", 6, 7]}
    many = [node("Mul", ["x", "hundred"], ["h"])]
    for name, (onnx_type, t) in TYPES.items():
        cast = many + [node("Cast", ["h"], ["i"], to=TensorProto.INT32),
                       node("Cast", ["i"], ["q"], to=onnx_type)]
        k = {"hundred": f32(100)}
        c.add(f"Abs Sign {name}", v,
              cast + [node("Abs", ["q"], ["a"]), node("Sign", ["q"], ["s"]),
                      node("Cast", ["a"], ["fa"], to=1), node("Cast", ["s"], ["fs"], to=1),
                      node("Sub", ["fa", "fs"], ["y"])], x, constants=k)
        if name == "i8":
            c.add(f"Neg {name}", v, cast + [node("Neg", ["q"], ["r"]), to_float("r")], x,
                  constants=k)
        if v >= 12:
            for op in ("ReduceMax", "ReduceMin"):
                c.add(f"{op} {name}", v,
                      cast + [node(op, ["q", "axes"] if v >= 18 else ["q"], ["r"], keepdims=1,
                                   **({} if v >= 18 else {"axes": [2]})), to_float("r")], x,
                      constants=dict(k, axes=np.array([2])) if v >= 18 else k)
            c.add(f"Clip {name}", v,
                  cast + [node("Clip", ["q", "low", "high"], ["r"]), to_float("r")], x,
                  constants=dict(k, low=t(20), high=t(100)))
            c.add(f"MaxPool {name}", v,
                  cast + [node("MaxPool", ["q"], ["r"], kernel_shape=[3], strides=[2]),
                          to_float("r")], x, constants=k)
    if v >= 12:
        cast = many + [node("Cast", ["h"], ["q"], to=TensorProto.INT64)]
        for bounds in (["low"], ["", "high"], ["low", "high"]):
            c.add(f"Clip i64 {bounds}", v,
                  cast + [node("Clip", ["q"] + bounds, ["r"]), to_float("r")], x,
                  constants={"hundred": f32(100), "low": np.int64(-50), "high": np.int64(70)})
    if v >= 14:
        c.add("Relu newer i32", v,
              many + [node("Cast", ["h"], ["q"], to=TensorProto.INT32), node("Relu", ["q"], ["r"]),
                      to_float("r")], x, constants={"hundred": f32(100)})
    if v >= 11:
        c.add("Clip computed bound", v,
              [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Clip", ["x", "m"], ["y"])],
              {"x": [6, 7]})


def infinities(c, v):
    for up in (0, 1):
        for down in (0, 1):
            c.add(f"IsInf {up}{down}", v,
                  [node("Floor", ["x"], ["f"]), node("Div", ["x", "f"], ["d"]),
                   node("IsInf", ["d"], ["i"], detect_positive=up, detect_negative=down),
                   to_float("i")], {"x": ["N", 50]})


def selecting(c, v):
    if v < 11:
        return
    boxes = [node("Abs", ["x"], ["a"]), node("Mul", ["a", "c"], ["b"])]
    for center in (0, 1):
        for threshold in (None, 0.6, 9.0):
            k = {"c": f32(1, 1, 2, 2), "top": np.array([5]), "iou": f32(0.3)}
            inputs = ["b", "s", "top", "iou"]
            if threshold is not None:
                k["least"] = f32(threshold)
                inputs.append("least")
            c.add(f"NonMaxSuppression {center} {threshold}", v,
                  boxes + [node("NonMaxSuppression", inputs, ["y"], center_point_box=center)],
                  {"x": [2, 30, 4], "s": [2, 3, 30]}, constants=k, out_type=TensorProto.INT64)


def volumes(c, v):
    x, n = {"x": [2, 4, 6, 7, 8]}, {"x": ["N", 4, 6, 7, 8]}
    c.add("Conv 3-D", v,
          [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 0, 1, 1, 2, 0], strides=[1, 2, 1])], n,
          constants={"w": c.f(6, 4, 3, 3, 2), "b": c.f(6)})
    c.add("Conv 3-D groups Relu", v,
          [node("Conv", ["x", "w"], ["a"], group=2, dilations=[1, 2, 2], pads=[0, 2, 2, 1, 2, 2]),
           node("Relu", ["a"], ["y"])], n, constants={"w": c.f(6, 2, 2, 3, 3)})
    c.add("Conv 3-D pointwise", v, [node("Conv", ["x", "w"], ["y"])], n,
          constants={"w": c.f(9, 4, 1, 1, 1)})
    c.add("Conv 3-D depthwise", v, [node("Conv", ["x", "w"], ["y"], group=4, pads=[1] * 6)], n,
          constants={"w": c.f(4, 1, 3, 3, 3)})
    c.add("Conv 3-D whole", v, [node("Conv", ["x", "w"], ["y"])], n,
          constants={"w": c.f(5, 4, 6, 7, 8)})
    c.add("Conv 3-D computed weight", v, [node("Abs", ["w"], ["k"]), node("Conv", ["x", "k"], ["y"])],
          dict(x, w=[3, 4, 2, 2, 2]))
    c.add("Conv 3-D long", v, [node("Conv", ["x", "w"], ["y"], pads=[2] * 6)],
          {"x": [1, 40, 5, 6, 4]}, constants={"w": c.f(7, 40, 3, 3, 3)})
    c.add("MaxPool 3-D", v,
          [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3, 3], strides=[2, 1, 2],
                pads=[0, 1, 1, 1, 1, 0])], n)
    for include in (0, 1):
        c.add(f"AveragePool 3-D {include}", v,
              [node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2, 3], strides=[1, 2, 2],
                    pads=[1, 1, 0, 1, 0, 2], count_include_pad=include)], n)
    if v >= 10:
        c.add("MaxPool 3-D ceil dilations", v,
              [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2, 2], strides=[2, 2, 3],
                    dilations=[2, 1, 2], ceil_mode=1)], n)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        c.add(f"{op} 3-D", v, [node(op, ["x"], ["y"])], n)
    c.add("ConvTranspose 3-D", v,
          [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 1, 3], pads=[1, 0, 0, 0, 1, 2],
                output_padding=[1, 0, 0])], n, constants={"w": c.f(4, 5, 3, 2, 3), "b": c.f(5)})
    c.add("ConvTranspose 3-D groups", v,
          [node("ConvTranspose", ["x", "w"], ["y"], group=2, dilations=[1, 2, 1])], n,
          constants={"w": c.f(4, 3, 2, 2, 2)})
    c.add("ConvTranspose computed weight", v,
          [node("Abs", ["w"], ["k"]), node("ConvTranspose", ["x", "k"], ["y"])],
          {"x": [2, 4, 6, 7], "w": [4, 3, 3, 3]})


def add_cases(c, v):
    volumes(c, v)
    if v < 10:
        return
    for family in (quantizing, qlinear, sums, networks, short_integers, infinities, selecting):
        family(c, v)
