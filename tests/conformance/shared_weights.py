"""Networks in which several layers read one weight: made, sized, and compared with onnxruntime.

make DIR: writes the networks. check DIR: DIR has NAME.onnx, NAME.pith (imported), NAME.c.pith
(compress --bits 8), NAME.p.pith (pruned, clustered, encoded), NAME.q.pith (quantized), NAME.h.pith and NAME.e.pith (that
encoded, by default and --for size), NAME.q.onnx (that decoded), NAME.b.pith (that imported) and NAME.d.onnx (decoded) of each,
and what pith run gave for NAME.x.npy as NAME.y.npy.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SINGLE = {  # the network in which the weight has one reader
    "matmul_8": "matmul_1", "gemm_both_8": "gemm_1", "function_6": "gemm_1", "body": "gemm_1",
    "three_both": "three_1", "tied": "table", "tied_names": "table", "norm_same": "norm_1",
}


def save(directory, name, nodes, x, y, constants, functions=()):
    def info(v):
        return helper.make_tensor_value_info(*v)
    graph = helper.make_graph(nodes, name, [info(x)], [info(y)],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    sets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("own", 1)] if functions else [])
    model = helper.make_model(graph, opset_imports=sets, functions=functions)
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(directory, name + ".onnx"))


def chain(n, layer):
    nodes = []
    for i in range(n):
        nodes += [layer(i, f"t{i}" if i else "x", f"m{i}"),
                  helper.make_node("Tanh", [f"m{i}"], [f"t{i + 1}" if i + 1 < n else "y"])]
    return nodes


def products(directory, rng):
    x, y = ("x", TensorProto.FLOAT, [4, 256]), ("y", TensorProto.FLOAT, [4, 256])
    w = (rng.standard_normal((256, 256)) / 16).astype("f4")
    b = (rng.standard_normal(256) / 16).astype("f4")

    def matmul(i, a, o):
        return helper.make_node("MatMul", [a, "w"], [o], name=f"fc{i}")

    def gemm(i, a, o):
        return helper.make_node("Gemm", [a, "w", "b"], [o], name=f"fc{i}", transB=i % 2)

    for n in (1, 8):
        save(directory, f"matmul_{n}", chain(n, matmul), x, y, {"w": w})
    save(directory, "gemm_1", chain(1, gemm), x, y, {"w": w, "b": b})
    save(directory, "gemm_both_8", chain(8, gemm), x, y, {"w": w, "b": b})
    rows = [(v, TensorProto.FLOAT, [1, 4, 256]) for v in "xy"]
    save(directory, "three_1", chain(1, matmul), *rows, {"w": w})
    save(directory, "three_both", [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="fc0"), helper.make_node("Tanh", ["m"], ["t"]),
        helper.make_node("Transpose", ["w"], ["v"], perm=[1, 0]),
        helper.make_node("MatMul", ["t", "v"], ["y"], name="fc1")], *rows, {"w": w})
    layer = helper.make_function("own", "layer", ["a"], ["o"], [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(w)),
        helper.make_node("Constant", [], ["b"], value=numpy_helper.from_array(b)),
        helper.make_node("Gemm", ["a", "w", "b"], ["g"]),
        helper.make_node("Tanh", ["g"], ["o"])], [helper.make_opsetid("", 17)])
    calls = [helper.make_node("layer", [f"c{i}" if i else "x"], [f"c{i + 1}"], name=f"call{i}",
                              domain="own") for i in range(6)]
    save(directory, "function_6", calls + [helper.make_node("Identity", ["c6"], ["y"])], x, y, {},
         [layer])

    def tensor(name, kind, dims):
        return helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("MatMul", ["s", "w"], ["p"]),
         helper.make_node("Tanh", ["p"], ["t"])], "body",
        [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, []),
         tensor("s", TensorProto.FLOAT, [4, 256])],
        [tensor("on", TensorProto.BOOL, []), tensor("t", TensorProto.FLOAT, [4, 256])])
    first = helper.make_graph([helper.make_node("MatMul", ["l", "w"], ["f"])], "first", [],
                              [tensor("f", TensorProto.FLOAT, [4, 256])])
    second = helper.make_graph([helper.make_node("Gemm", ["l", "w", "b"], ["e"])], "second", [],
                               [tensor("e", TensorProto.FLOAT, [4, 256])])
    save(directory, "body",
         [helper.make_node("MatMul", ["x", "w"], ["a"]),
          helper.make_node("Loop", ["n", "", "a"], ["l"], body=body),
          helper.make_node("ReduceSum", ["l"], ["sum"], keepdims=0),
          helper.make_node("Greater", ["sum", "zero"], ["cond"]),
          helper.make_node("If", ["cond"], ["y"], then_branch=first, else_branch=second)],
         x, y, {"w": w, "b": b, "n": np.array(3), "zero": np.array(0, "f4")})


def tables(directory, rng):
    ids = ("x", TensorProto.INT64, [1, 16])
    y = ("y", TensorProto.FLOAT, [1, 16, 1000])
    e = (rng.standard_normal((1000, 64)) / 8).astype("f4")
    h = (rng.standard_normal((64, 64)) / 8).astype("f4")
    nodes = [helper.make_node("Gather", ["e", "x"], ["rows"]),
             helper.make_node("MatMul", ["rows", "h"], ["p"]), helper.make_node("Tanh", ["p"], ["t"])]
    save(directory, "table", nodes + [helper.make_node("ReduceSum", ["t"], ["y"], keepdims=0)], ids,
         ("y", TensorProto.FLOAT, []), {"e": e, "h": h})
    for name, of in (("tied", "e"), ("tied_names", "f")):
        head = [helper.make_node("Transpose", [of], ["et"], perm=[1, 0]),
                helper.make_node("MatMul", ["t", "et"], ["y"], name="head")]
        save(directory, name, nodes + head, ids, y, {"e": e, "h": h} | ({"f": e} if of == "f" else {}))


def normalized(directory, rng):
    x, y = ("x", TensorProto.FLOAT, [1, 32, 12, 12]), ("y", TensorProto.FLOAT, [1, 32, 12, 12])
    w = (rng.standard_normal((32, 32, 3, 3)) / 17).astype("f4")
    norms = [{f"scale{k}": (rng.random(32) + 0.5).astype("f4"),
              f"shift{k}": rng.standard_normal(32).astype("f4"),
              f"mean{k}": (rng.standard_normal(32) / 4).astype("f4"),
              f"var{k}": (rng.random(32) + 0.5).astype("f4")} for k in range(2)]

    def block(i, a, o, k):
        return [helper.make_node("Conv", [a, "w"], [f"c{i}"], name=f"conv{i}", pads=[1, 1, 1, 1]),
                helper.make_node("BatchNormalization", [f"c{i}"] + list(norms[k]), [f"n{i}"]),
                helper.make_node("Relu", [f"n{i}"], [o])]

    save(directory, "norm_1", block(0, "x", "y", 0), x, y, {"w": w} | norms[0])
    save(directory, "norm_same", block(0, "x", "t", 0) + block(1, "t", "y", 0), x, y,
         {"w": w} | norms[0])
    save(directory, "norm_two", block(0, "x", "t", 0) + block(1, "t", "y", 1), x, y,
         {"w": w} | norms[0] | norms[1])


def make(directory):
    rng = np.random.default_rng(7)
    products(directory, rng)
    tables(directory, rng)
    normalized(directory, rng)
    for file in sorted(os.listdir(directory)):
        name = file.removesuffix(".onnx")
        value = onnx.load(os.path.join(directory, file)).graph.input[0].type.tensor_type
        dims = [d.dim_value for d in value.shape.dim]
        ints = value.elem_type == TensorProto.INT64
        samples = [8] + dims[dims[0] == 1:]
        for suffix, shape in ((".x.npy", dims), (".s.npy", samples)):
            np.save(os.path.join(directory, name + suffix), rng.integers(0, 1000, shape) if ints
                    else rng.standard_normal(shape).astype("f4"))
        print(name)


def check(directory):
    import onnxruntime as ort
    failed = 0

    def path(name, suffix):
        return os.path.join(directory, name + suffix)

    def size(name, suffix):
        return os.path.getsize(path(name, suffix))

    def expect(name, what, got, most):
        nonlocal failed
        failed += int(got > most)
        print(f"{'ok' if got <= most else 'FAILED'} {name}: {what} {got:.6g}, at most {most:.6g}")

    # On a CPU without VNNI, onnxruntime's products of u8 by i8 saturate at 16 bits: its nodes run apart, in floats.
    exact = ort.SessionOptions()
    exact.add_session_config_entry("session.disable_quant_qdq", "1")
    for name in sorted(f[:-7] for f in os.listdir(directory) if f.endswith(".d.onnx")):
        for suffix in (".pith", ".d.onnx"):
            expect(name, suffix, size(name, suffix), 1.01 * size(name, ".onnx"))
        expect(name, "integers imported again", size(name, ".b.pith"), 1.01 * size(name, ".q.onnx"))
        if name in SINGLE:
            for suffix in (".c.pith", ".p.pith", ".q.pith", ".h.pith", ".e.pith"):
                expect(name, suffix, size(name, suffix), 1.01 * size(SINGLE[name], suffix))
        x = np.load(path(name, ".x.npy"))
        want, back = (ort.InferenceSession(path(name, s)).run(None, {"x": x})[0]
                      for s in (".onnx", ".d.onnx"))
        whole = ort.InferenceSession(path(name, ".q.onnx"), exact).run(None, {"x": x})[0]
        db = 10 * np.log10((want ** 2).sum() / ((whole - want) ** 2).sum())
        expect(name, "dB of integers in onnxruntime, less", -db, -28)
        scale = np.abs(want).max()
        ours = np.load(path(name, ".y.npy")).reshape(want.shape)
        expect(name, "run's error", np.abs(ours - want).max() / scale, 1e-5)
        expect(name, "decoded's error", np.abs(back - want).max() / scale, 1e-5)
    return failed


if __name__ == "__main__":
    sys.exit(make(sys.argv[2]) if sys.argv[1] == "make" else int(check(sys.argv[2]) > 0))
