# SPDX-License-Identifier: MIT
"""Networks of operators that pick, put and repeat elements, and chains of shape arithmetic as
exporters write them. add_cases(c, opset) adds to operator_cases.Cases."""
import numpy as np
from onnx import TensorProto, helper

node = helper.make_node


def ints(*values):
    return np.array(values, np.int64)


def picking(c, v):
    x = {"x": ["N", 6, 4]}
    for axis, index in ((1, ints(5, 0, -1 if v >= 11 else 2)), (2, np.array(1)), (0, ints(0))):
        c.add(f"Gather axis {axis}", v, [node("Gather", ["x", "i"], ["y"], axis=axis)], x,
              constants={"i": index})
    c.add("Gather of a table", v,
          [node("Abs", ["x"], ["a"]), node("Cast", ["a"], ["i"], to=TensorProto.INT64),
           node("Gather", ["w", "i"], ["y"])], {"x": [3, 4]}, constants={"w": c.f(9, 5)})
    if v < 11:
        return
    cast = node("Cast", ["z"], ["i"], to=TensorProto.INT64)
    for axis in (0, 1):
        c.add(f"GatherElements {axis}", v,
              [cast, node("GatherElements", ["x", "i"], ["y"], axis=axis)],
              {"x": [7, 8], "z": [5, 6]})
    c.add("GatherND", v, [cast, node("GatherND", ["x", "i"], ["y"])],
          {"x": [7, 8, 3], "z": [4, 5, 2]})
    c.add("ScatterElements", v, [node("ScatterElements", ["x", "i", "u"], ["y"], axis=1)],
          {"x": [2, 6], "u": [2, 3]}, constants={"i": np.array([[0, 5, 2], [-1, 1, 0]])})
    c.add("ScatterND", v, [node("ScatterND", ["x", "i", "u"], ["y"])],
          {"x": [5, 3], "u": [2, 3]}, constants={"i": np.array([[4], [1]])})
    for rows, columns in ((slice(None), slice(0, None, 2)), (slice(None), slice(1, 3)),
                          (slice(5, 25), slice(None)), (slice(None), slice(None)),
                          (slice(None, None, 10), slice(None)), (slice(3, 33), slice(1, 4)),
                          (slice(None, None, -1), slice(0, 3))):
        x = np.arange(40 * 4).reshape(1, 40, 4)
        at = np.stack(np.unravel_index(x[:, rows, columns], x.shape), -1)
        c.add(f"ScatterND of a slice {rows} {columns}", v,
              [node("ScatterND", ["x", "i", "u"], ["z"]), node("Relu", ["z"], ["y"])],
              {"x": list(x.shape), "u": list(at.shape[:-1])}, constants={"i": at})
    if v >= 18:
        for reduction in ("add", "mul", "min", "max"):
            c.add(f"ScatterElements reduction {reduction}", v,
                  [cast, node("ScatterElements", ["x", "i", "u"], ["y"], axis=1,
                               reduction=reduction)],
                  {"x": [3, 6], "u": [3, 6], "z": [3, 6]})


def repeating(c, v):
    c.add("Tile", v, [node("Tile", ["x", "r"], ["y"])], {"x": ["N", 3, 4]},
          constants={"r": ints(1, 2, 3)})
    if v >= 8:
        for to in (ints(1, 5, 4), ints(2, 3, 1, 1), ints(4)):
            c.add(f"Expand {list(to)}", v, [node("Expand", ["x", "s"], ["y"])], {"x": [3, 1, 4]},
                  constants={"s": to})


def selecting(c, v):
    c.add("DepthToSpace", v, [node("DepthToSpace", ["x"], ["y"], blocksize=2)],
          {"x": ["N", 8, 3, 2]})
    if v >= 11:
        c.add("DepthToSpace CRD", v, [node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD")],
              {"x": ["N", 8, 3, 2]})
    c.add("SpaceToDepth", v, [node("SpaceToDepth", ["x"], ["y"], blocksize=3)],
          {"x": ["N", 2, 6, 9]})
    back = node("Cast", ["i"], ["z"], to=TensorProto.FLOAT)
    if v < 10:
        c.add("TopK", v, [node("TopK", ["x"], ["y", "i"], axis=1, k=3), back], {"x": ["N", 7]},
              ("y", "z"))
    else:
        c.add("TopK", v, [node("TopK", ["x", "k"], ["y", "i"]), back], {"x": ["N", 3, 7]},
              ("y", "z"), {"k": ints(4)})
        c.add("TopK values", v, [node("TopK", ["x", "k"], ["y", "i"], axis=1)], {"x": ["N", 3, 7]},
              constants={"k": ints(2)})
    if v >= 11:
        c.add("TopK smallest", v, [node("TopK", ["x", "k"], ["y", "i"], largest=0, axis=-2), back],
              {"x": ["N", 3, 7]}, ("y", "z"), {"k": ints(2)})
    if v >= 9:
        c.add("OneHot", v, [node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                            node("OneHot", ["i", "d", "v"], ["y"], axis=1)], {"x": ["N", 5]},
              constants={"d": ints(4), "v": np.array([0.5, 2], np.float32)})
    if v >= 16:
        for padding in ("zeros", "border", "reflection"):
            mode = "linear" if v >= 20 else "bilinear"
            c.add(f"GridSample {padding}", v,
                  [node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding)],
                  {"x": ["N", 3, 5, 4], "g": ["N", 2, 6, 2]})
    if v >= 14:
        c.add("Trilu", v, [node("Trilu", ["x"], ["y"], upper=0)], {"x": ["N", 4, 5]})
        c.add("Trilu k", v, [node("Trilu", ["x", "k"], ["y"])], {"x": ["N", 4, 5]},
              constants={"k": np.array(-1)})


def upsampling(c, v):
    def conv(name, x, w, constants=None, **attrs):
        c.add(f"ConvTranspose {name}", v,
              [node("ConvTranspose", ["x", "w"] + list(constants or ()), ["y"], **attrs)],
              {"x": ["N"] + x}, constants=dict(constants or {}, w=c.f(*w)))
    conv("2x2 stride 2", [24, 9, 7], [24, 20, 2, 2], {"b": c.f(20)}, strides=[2, 2])
    conv("4x4 stride 2", [8, 9, 11], [8, 40, 4, 4], strides=[2, 2], pads=[1, 1, 1, 1])
    conv("groups", [6, 5, 4], [6, 3, 3, 3], {"b": c.f(6)}, group=2, strides=[2, 3],
         pads=[1, 0, 0, 2], output_padding=[1, 0])
    conv("dilation", [3, 5, 4], [3, 2, 3, 2], dilations=[2, 3])
    conv("1-D", [16, 40], [16, 8, 8], {"b": c.f(8)}, strides=[4], pads=[2, 2])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        conv(pad, [3, 5, 4], [3, 2, 3, 4], auto_pad=pad, strides=[2, 3], kernel_shape=[3, 4])
    for shape in ([10, 8], [11, 9], [12, 7]):
        conv(f"output_shape {shape}", [3, 5, 4], [3, 2, 4, 3], strides=[2, 2], output_shape=shape)


def cubic(c, v):
    if v < 11:
        return
    empty = np.zeros(0, np.float32)
    for rule in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for scale in ([1, 1, 2, 3], [1, 1, 0.6, 1.7]):
            for outside in (0, 1):
                c.add(f"Resize cubic {rule} {scale} {outside}", v,
                      [node("Resize", ["x", "roi", "s"], ["y"], mode="cubic", cubic_coeff_a=-0.5,
                            coordinate_transformation_mode=rule, exclude_outside=outside)],
                      {"x": ["N", 2, 5, 6]},
                      constants={"s": np.array(scale, np.float32), "roi": empty})
    c.add("Resize to sizes of a chain", v,
          [node("Shape", ["x"], ["s"]), node("Slice", ["s", "a", "b"], ["n"]),
           node("Concat", ["n", "hw"], ["t"], axis=0),
           node("Resize", ["x", "roi", "roi", "t"], ["y"], mode="linear")], {"x": ["N", 2, 5, 6]},
          constants={"a": ints(0), "b": ints(2), "hw": ints(9, 8), "roi": empty})


def einsum(c, v):
    if v < 12:
        return
    for equation, x, w in (
            ("bhid,bhjd->bhij", ["N", 2, 5, 4], [1, 2, 3, 4]), ("nij,jk->nik", ["N", 5, 4], [4, 3]),
            ("nij,jhd->nhid", ["N", 5, 4], [4, 2, 3]), ("nhid,hdo->nio", ["N", 2, 5, 3], [2, 3, 4]),
            ("ij,kj", [5, 4], [3, 4]), ("i,j->ji", [5], [4]), ("i,i->", [5], [5]),
            ("b i, b i -> b", [2, 5], [2, 5]), ("nchw,cr->nrhw", ["N", 3, 4, 5], [3, 2])):
        c.add(f"Einsum {equation}", v, [node("Einsum", ["x", "w"], ["y"], equation=equation)],
              {"x": x}, constants={"w": c.f(*w)})
    c.add("Einsum constant first", v, [node("Einsum", ["w", "x"], ["y"], equation="mk,bkn->bmn")],
          {"x": ["N", 5, 6]}, constants={"w": c.f(4, 5)})
    c.add("Einsum of two inputs", v, [node("Einsum", ["x", "z"], ["y"], equation="bij,bjk->kbi")],
          {"x": [2, 3, 4], "z": [2, 4, 5]})
    c.add("Einsum of one", v, [node("Einsum", ["x"], ["y"], equation="nij->nji")],
          {"x": ["N", 3, 4]})


def shape_chains(c, v):
    """Shape - Gather - Unsqueeze - Concat - Reshape, and its relatives."""
    unsqueeze = (lambda i, o: node("Unsqueeze", [i], [o], axes=[0])) if v < 13 else \
        (lambda i, o: node("Unsqueeze", [i, "zero1"], [o]))
    k = {"zero": np.array(0), "one": np.array(1), "zero1": ints(0), "left": ints(-1),
         "heads": ints(4), "three": np.array(3, np.int64), "w": c.f(12, 12)}
    flatten = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
               unsqueeze("n", "n1"), node("Concat", ["n1", "left"], ["t"], axis=0),
               node("Reshape", ["x", "t"], ["y"])]
    c.add("view(x.size(0), -1)", v, flatten, {"x": ["N", 3, 8]}, constants=k)
    heads = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
             node("Gather", ["s", "one"], ["l"]), unsqueeze("n", "n1"), unsqueeze("l", "l1"),
             node("Concat", ["n1", "l1", "heads", "left"], ["t"], axis=0),
             node("Reshape", ["x", "t"], ["r"]), node("Transpose", ["r"], ["p"], perm=[0, 2, 1, 3]),
             node("Transpose", ["r"], ["q"], perm=[0, 2, 3, 1]), node("MatMul", ["p", "q"], ["m"]),
             node("Softmax", ["m"], ["a"], axis=3), node("MatMul", ["a", "p"], ["b"]),
             node("Transpose", ["b"], ["d"], perm=[0, 2, 1, 3]),
             node("Mul", ["heads", "three"], ["h1"]),
             node("Concat", ["n1", "l1", "h1"], ["t2"], axis=0),
             node("Reshape", ["d", "t2"], ["y"])]
    c.add("attention heads", v, heads, {"x": ["N", 5, 12]}, constants=k)
    merged = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
              node("Mul", ["n", "three"], ["n3"]), unsqueeze("n3", "n1"),
              node("Concat", ["n1", "left"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    c.add("view(3 * x.size(0), -1)", v, merged, {"x": ["N", 3, 8]}, constants=k)
    c.add("division by the size", v,
          [node("Size", ["x"], ["s"]), node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
           node("Div", ["x", "f"], ["y"])], {"x": ["N", 3]})
    if v >= 9:
        fill = helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5])
        c.add("ConstantOfShape", v,
              [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["k"], value=fill),
               node("Add", ["x", "k"], ["y"])], {"x": ["N", 3]})
        c.add("EyeLike", v, [node("EyeLike", ["x"], ["e"], k=-1), node("Add", ["x", "e"], ["y"])],
              {"x": [5, 3]})
    if v >= 11:
        c.add("Range", v,
              [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["l"]),
               node("Range", ["zero", "l", "one"], ["r"]), node("Gather", ["w", "r"], ["p"]),
               node("Add", ["x", "p"], ["y"])], {"x": ["N", 5, 12]}, constants=k)
        c.add("Range of floats", v,
              [node("Range", ["a", "b", "d"], ["r"]), node("Add", ["x", "r"], ["y"])],
              {"x": ["N", 7]}, constants={"a": np.float32(1), "b": np.float32(-1),
                                          "d": np.float32(-0.3)})
    if v >= 15:
        c.add("Shape start end", v,
              [node("Shape", ["x"], ["s"], start=-2, end=-1),
                node("Concat", ["zero1", "s", "left"], ["t"], axis=0),
               node("Reshape", ["x", "t"], ["y"])], {"x": ["N", 3, 8, 2]}, constants=k)


def add_cases(c, v):
    for family in (picking, repeating, selecting, upsampling, cubic, einsum, shape_chains):
        family(c, v)
