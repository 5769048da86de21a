# SPDX-License-Identifier: MIT
"""Cases of what PyTorch's exporters write and import once refused, closed to batches or computed
wrongly, found by exporting whole networks. cases() yields (name, model,
rows): a dim given as text is the batch, which is fed with that many rows."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROWS = 3
node = helper.make_node
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def ints(*values):
    return np.array(values, np.int64)


class Cases:
    def __init__(self):
        self.random = np.random.default_rng(11)
        self.made = []

    def f(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def add(self, name, opset, nodes, inputs, outputs=("y",), constants=None, types=None, out_type=FLOAT):
        types = types or {}
        graph = helper.make_graph(
            nodes, "case",
            [helper.make_tensor_value_info(k, types.get(k, FLOAT), s) for k, s in inputs.items()],
            [helper.make_tensor_value_info(o, out_type, None) for o in outputs],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        rows = ROWS if any(isinstance(d, str) for s in inputs.values() for d in s) else 1
        self.made.append((f"exported: {name}, opset {opset}", model, rows))


def samples_of_x(first="x"):
    """n: [1], the number of samples."""
    return [node("Shape", [first], ["shape"]), node("Gather", ["shape", "zero"], ["n"])]


def batches(c):
    zero = {"zero": ints(0)}
    c.add("class token in front of the patches", 13,
          samples_of_x() + [node("Concat", ["n", "dims"], ["to"], axis=0), node("Expand", ["token", "to"], ["t"]),
                            node("Concat", ["t", "x"], ["y"], axis=1)],
          {"x": ["N", 4, 6]}, constants={**zero, "dims": ints(1, 6), "token": c.f(1, 1, 6)})
    c.add("class token, Where on -1", 17,
          samples_of_x() + [node("Concat", ["n", "dims"], ["want"], axis=0),
                            node("ConstantOfShape", ["three"], ["ones"],
                                 value=numpy_helper.from_array(ints(1))),
                            node("Mul", ["ones", "minus"], ["low"]), node("Equal", ["want", "low"], ["is"]),
                            node("Where", ["is", "ones", "want"], ["to"]),
                            node("Expand", ["token", "to"], ["t"]), node("Concat", ["t", "x"], ["y"], axis=1)],
          {"x": ["N", 4, 6]},
          constants={**zero, "dims": ints(-1, -1), "three": ints(3), "minus": ints(-1), "token": c.f(1, 1, 6)})
    c.add("constant repeated by Tile", 13,
          samples_of_x() + [node("Concat", ["n", "ones"], ["to"], axis=0), node("Tile", ["k", "to"], ["t"]),
                            node("MatMul", ["x", "t"], ["y"])],
          {"x": ["N", 2, 3]}, constants={**zero, "ones": ints(1, 1), "k": c.f(1, 3, 5)})
    c.add("computed values expanded to the batch", 13,
          samples_of_x() + [node("ReduceMean", ["w"], ["m"], axes=[0], keepdims=1),
                            node("Concat", ["n", "one"], ["to"], axis=0), node("Expand", ["m", "to"], ["e"]),
                            node("Concat", ["x", "e"], ["y"], axis=1)],
          {"x": ["N", 4]}, constants={**zero, "one": ints(5), "w": c.f(3, 5)})
    c.add("zeros of the batch in front", 17,
          samples_of_x() + [node("Concat", ["n", "dims"], ["to"], axis=0),
                            node("ConstantOfShape", ["to"], ["z"]), node("Concat", ["z", "x"], ["y"], axis=2)],
          {"x": ["N", 4, 5]}, constants={**zero, "dims": ints(4, 1)})
    c.add("time first: [T*N, C] and back", 17,
          samples_of_x() + [node("Mul", ["n", "five"], ["rows"]), node("Concat", ["rows", "four"], ["flat"], axis=0),
                            node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("Reshape", ["t", "flat"], ["r"]),
                            node("Relu", ["r"], ["s"]), node("Concat", ["five", "n", "left"], ["back"], axis=0),
                            node("Reshape", ["s", "back"], ["u"]), node("Transpose", ["u"], ["y"], perm=[1, 0, 2])],
          {"x": ["N", 5, 4]}, constants={**zero, "five": ints(5), "four": ints(4), "left": ints(-1)})
    c.add("initial state of zeros", 17,
          samples_of_x() + [node("Concat", ["one", "n", "four"], ["to"], axis=0),
                            node("ConstantOfShape", ["to"], ["h"]),
                            node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                            node("GRU", ["t", "w", "r", "", "", "h"], ["g"], hidden_size=4),
                            node("Squeeze", ["g", "one"], ["s"]), node("Transpose", ["s"], ["y"], perm=[1, 0, 2])],
          {"x": ["N", 5, 3]},
          constants={**zero, "one": ints(1), "four": ints(4), "w": c.f(1, 12, 3), "r": c.f(1, 12, 4)})
    c.add("mask of windows, several a sample", 17,
          samples_of_x() + [node("Concat", ["n", "dims"], ["to"], axis=0), node("Expand", ["mask", "to"], ["e"]),
                            node("Reshape", ["e", "windows"], ["m"]), node("Reshape", ["x", "windows"], ["w"]),
                            node("Add", ["w", "m"], ["a"]), node("Reshape", ["a", "back"], ["y"])],
          {"x": ["N", 2, 3, 4]},
          constants={**zero, "dims": ints(2, 3, 4), "mask": c.f(1, 2, 3, 4), "windows": ints(-1, 3, 4),
                     "back": ints(-1, 2, 3, 4)})


def constants(c):
    c.add("product of constants only", 17,
          [node("MatMul", ["a", "b"], ["p"]), node("Add", ["p", "x"], ["y"])], {"x": [6, 2, 5]},
          constants={"a": c.f(6, 2, 7), "b": c.f(7, 5)})
    c.add("product of constants, one row a batch", 17,
          [node("MatMul", ["a", "b"], ["p"]), node("Add", ["p", "x"], ["y"])], {"x": [6, 1, 24]},
          constants={"a": c.f(6, 1, 24), "b": c.f(24, 24)})
    c.add("nothing of a shape before the first axis", 17,
          [node("Shape", ["x"], ["s"]), node("Slice", ["s", "zero", "zero"], ["none"]),
           node("Slice", ["s", "one", "end"], ["rest"]), node("Concat", ["none", "minus", "rest"], ["to"], axis=0),
           node("Reshape", ["x", "to"], ["y"])], {"x": [2, 3, 4]},
          constants={"zero": ints(0), "one": ints(1), "end": ints(2 ** 63 - 1), "minus": ints(-1)})


def sums(c):
    """Equations beyond one product of two operands."""
    x, y, z = {"x": ["N", 3, 4]}, c.f(4, 5), c.f(3, 5, 2)
    for equation in ("bij,jk,ikl->bl", "bij,jk,ikl->lkb", "bij,jk,ikl"):
        c.add(f"Einsum {equation}", 13, [node("Einsum", ["x", "a", "b"], ["y"], equation=equation)],
              {"x": [2, 3, 4]} if equation.endswith("lkb") else x, constants={"a": y, "b": z})
    for equation in ("...j,jk->...k", "b...j,jk->bk...", "...j,jk", "bij,jk->bk", "bij,jk->b", "bij,kl->bl"):
        c.add(f"Einsum {equation}", 13, [node("Einsum", ["x", "a"], ["y"], equation=equation)], x,
              constants={"a": y})
    c.add("Einsum ...ij,...jk->...ik", 13, [node("Einsum", ["x", "a"], ["y"], equation="...ij,...jk->...ik")],
          {"x": ["N", 6, 3, 4]}, constants={"a": c.f(1, 6, 4, 5)})
    for equation in ("bij->b", "bij->ji", "...j->...", "bij->"):
        c.add(f"Einsum {equation}", 13, [node("Einsum", ["x"], ["y"], equation=equation)], {"x": [2, 3, 4]})
    for equation in ("bii->bi", "...ii->...i", "bii->b", "bii,ij->bj"):
        inputs = ["x", "a"] if "," in equation else ["x"]
        c.add(f"Einsum {equation}", 13, [node("Einsum", inputs, ["y"], equation=equation)], {"x": ["N", 4, 4]},
              constants={"a": y})


def resize_back(c):
    c.add("nearest to a size of another ratio", 18,
          [node("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
                nearest_mode="floor")],
          {"x": ["N", 2, 2, 3]}, constants={"s": np.array([1, 1, 2, np.float32(5) / np.float32(3)], np.float32)})


def attention(c, v):
    four = {"q": ["N", 4, 5, 8], "k": ["N", 4, 6, 8], "v": ["N", 4, 6, 3]}
    shared = {"q": ["N", 4, 5, 8], "k": ["N", 2, 6, 8], "v": ["N", 2, 6, 8]}
    flat = {"q": ["N", 5, 32], "k": ["N", 6, 16], "v": ["N", 6, 16]}
    take = ["q", "k", "v"]
    visible = c.random.random((5, 6)) < 0.7
    visible[:, 0] = True
    c.add("Attention", v, [node("Attention", take, ["y"])], four)
    c.add("Attention scale", v, [node("Attention", take, ["y"], scale=0.2)], four)
    c.add("Attention causal", v, [node("Attention", take, ["y"], is_causal=1)],
          {"q": ["N", 4, 6, 8], "k": ["N", 4, 6, 8], "v": ["N", 4, 6, 8]})
    c.add("Attention shared heads", v, [node("Attention", take, ["y"])], shared)
    c.add("Attention 3-D", v,
          [node("Attention", take, ["y"], q_num_heads=4, kv_num_heads=2)], flat)
    c.add("Attention 3-D, mask", v,
          [node("Attention", take + ["m"], ["y"], q_num_heads=4, kv_num_heads=2)], flat,
          constants={"m": c.f(5, 6)})
    c.add("Attention, bool mask", v, [node("Attention", take + ["m"], ["y"])], four, constants={"m": visible})
    c.add("Attention, computed bool mask", v,
          [node("Greater", ["s", "zero"], ["m"]), node("Attention", take + ["m"], ["y"])],
          {**four, "s": ["N", 1, 5, 6]}, constants={"zero": np.array(-1, np.float32)})
    c.add("Attention, mask of a head", v, [node("Attention", take + ["m"], ["y"])], four,
          constants={"m": c.f(1, 4, 5, 6)})
    c.add("Attention with keys kept", v,
          [node("Attention", take + ["", "pk", "pv"], ["y", "nk", "nv"])],
          {**four, "pk": ["N", 4, 2, 8], "pv": ["N", 4, 2, 3]}, outputs=("y", "nk", "nv"))


def newer(c):
    attention(c, 23)
    for interleaved in (0, 1):
        c.add(f"RotaryEmbedding interleaved {interleaved}", 23,
              [node("RotaryEmbedding", ["x", "c", "s"], ["y"], interleaved=interleaved)],
              {"x": [2, 3, 5, 8]}, constants={"c": c.f(2, 5, 4), "s": c.f(2, 5, 4)})
        c.add(f"RotaryEmbedding 3-D, positions, interleaved {interleaved}", 23,
              [node("RotaryEmbedding", ["x", "c", "s", "p"], ["y"], interleaved=interleaved, num_heads=2)],
              {"x": [2, 3, 16]}, constants={"c": c.f(9, 4), "s": c.f(9, 4), "p": ints(1, 2, 3, 5, 6, 8).reshape(2, 3)})
    c.add("RotaryEmbedding of a part", 23,
          [node("RotaryEmbedding", ["x", "c", "s"], ["y"], rotary_embedding_dim=4)],
          {"x": [2, 3, 5, 8]}, constants={"c": c.f(2, 5, 2), "s": c.f(2, 5, 2)})
    c.add("RMSNormalization", 23, [node("RMSNormalization", ["x", "s"], ["y"], epsilon=1e-3)],
          {"x": ["N", 4, 8]}, constants={"s": c.f(8)})
    c.add("RMSNormalization of two axes", 23, [node("RMSNormalization", ["x", "s"], ["y"], axis=-2)],
          {"x": ["N", 4, 8]}, constants={"s": c.f(4, 8)})
    c.add("Swish", 24, [node("Swish", ["x"], ["y"])], {"x": ["N", 7]})
    c.add("Swish alpha", 24, [node("Swish", ["x"], ["y"], alpha=1.7)], {"x": ["N", 7]})


def cases():
    c = Cases()
    for family in (batches, constants, sums, resize_back, newer):
        family(c)
    return c.made
