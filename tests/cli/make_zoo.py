"""One small network of each kind that a command may be given, as <kind>.onnx here, and samples for
it: <kind>.npy, or one array for each input, and labels.csv. Usage: make_zoo.py"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, IN, HIDDEN, CLASSES = 24, 12, 16, 5
rng = np.random.default_rng(1)


def floats(*shape):
    return rng.normal(0, 0.4, shape).astype(np.float32)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name or outputs.split()[0], **attributes)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]


def save(kind, nodes, inputs, outputs, weights, opset=13):
    graph = helper.make_graph(nodes, kind, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, kind + ".onnx")


def samples(kind, *shape):
    np.save(kind + ".npy", floats(SAMPLES, *shape))


X = [value("x", ["N", IN])]
Y = [value("y", ["N", CLASSES])]
TWO_LAYERS = [node("Gemm", "x w1 b1", "h", "fc1"), node("Relu", "h", "r"), node("Gemm", "r w2 b2", "y", "fc2")]


def two_layers():
    return constants(w1=floats(IN, HIDDEN), b1=floats(HIDDEN), w2=floats(HIDDEN, CLASSES), b2=floats(CLASSES))


def convolutions():
    """A picture network with batch normalization and a depthwise convolution."""
    nodes = [node("Conv", "x w1", "c1", pads=[1] * 4), node("BatchNormalization", "c1 g b m v", "n"),
             node("Relu", "n", "r"), node("Conv", "r w2", "c2", pads=[1] * 4, group=8), node("Relu", "c2", "r2"),
             node("GlobalAveragePool", "r2", "p"), node("Flatten", "p", "f"), node("Gemm", "f w3 b3", "y", "fc")]
    weights = constants(w1=floats(8, 2, 3, 3), g=np.abs(floats(8)) + 0.5, b=floats(8), m=floats(8),
                        v=np.abs(floats(8)) + 0.5, w2=floats(8, 1, 3, 3), w3=floats(8, CLASSES), b3=floats(CLASSES))
    save("float", nodes, [value("x", ["N", 2, 6, 6])], Y, weights)
    samples("float", 2, 6, 6)


def parallel_convolutions():
    """Branches whose sum is one convolution, as in RepVGG."""
    nodes = [node("Conv", "x w1", "a", pads=[1] * 4), node("Conv", "x w2", "b"), node("Add", "a b", "sum"),
             node("Relu", "sum", "r"), node("Conv", "r w3", "c", pads=[1] * 4), node("BatchNormalization", "r g h m v", "d"),
             node("Add", "c d", "sum2"), node("Relu", "sum2", "r2"), node("GlobalAveragePool", "r2", "p"),
             node("Flatten", "p", "f"), node("Gemm", "f w4 b4", "y", "fc")]
    weights = constants(w1=floats(8, 2, 3, 3), w2=floats(8, 2, 1, 1), w3=floats(8, 8, 3, 3), g=floats(8), h=floats(8),
                        m=floats(8), v=np.abs(floats(8)) + 0.5, w4=floats(8, CLASSES), b4=floats(CLASSES))
    save("parallel", nodes, [value("x", ["N", 2, 6, 6])], Y, weights)
    samples("parallel", 2, 6, 6)


def same_output_as_floats_and_bytes():
    """The same product twice; of the second the output is u8, with its scale beside it."""
    weights = constants(w=floats(IN, CLASSES), s=np.float32(0.05), z=np.uint8(120))
    save("floats_out", [node("MatMul", "x w", "y")], X, Y, weights[:1])
    save("bytes_out", [node("MatMul", "x w", "h"), node("QuantizeLinear", "h s z", "y")], X,
         [value("y", ["N", CLASSES], TensorProto.UINT8)], weights)


def integers():
    """onnxruntime's two forms of integers."""
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.rows = iter(np.load("float.npy"))

        def get_next(self):
            row = next(self.rows, None)
            return None if row is None else {"x": row[None]}

    for kind, form in ("qdq", q.QuantFormat.QDQ), ("qoperator", q.QuantFormat.QOperator):
        q.quantize_static("float.onnx", kind + ".onnx", Reader(), quant_format=form, per_channel=kind == "qdq")
        os.link("float.npy", kind + ".npy")


def without_weights():
    save("no_weights", [node("Relu", "x", "r"), node("Softmax", "r", "y", axis=1)], X, [value("y", ["N", IN])], [])
    samples("no_weights", IN)


def unusual_outputs():
    layers = TWO_LAYERS[:2] + [node("Identity", "x", "same"), node("Gemm", "r w2 b2", "y", "fc2")]
    save("passed_through", layers, X, [value("same", ["N", IN])] + Y, two_layers())
    save("integer_output", TWO_LAYERS + [node("ArgMax", "y", "best", axis=1, keepdims=0)], X,
         [value("best", ["N"], TensorProto.INT64)], two_layers())
    for kind in "passed_through", "integer_output":
        samples(kind, IN)


def bodies():
    """The output is made by an If, a Loop, a Scan, with layers in the body."""
    branch = [helper.make_graph([node("Gemm", f"r {w} b3", "s", "first_" + w), node("Relu", "s", "t"),
                                 node("Gemm", "t w2 b2", "o", "second_" + w)], w, [], [value("o", [1, CLASSES])])
              for w in ("w3", "w4")]
    nodes = TWO_LAYERS[:2] + [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "cond"),
                              node("If", "cond", "y", then_branch=branch[0], else_branch=branch[1])]
    save("if_output", nodes, [value("x", [1, IN])], [value("y", [1, CLASSES])],
         two_layers() + constants(w3=floats(HIDDEN, HIDDEN), w4=floats(HIDDEN, HIDDEN), b3=floats(HIDDEN),
                                  zero=np.float32(0)))
    body = helper.make_graph(
        [node("Gemm", "s w3 b3", "t", "step"), node("Tanh", "t", "u"), node("Identity", "go", "again")], "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", [1, HIDDEN])],
        [value("again", [], TensorProto.BOOL), value("u", [1, HIDDEN])])
    save("loop_output", TWO_LAYERS[:2] + [node("Loop", "three yes r", "y", body=body)], [value("x", [1, IN])],
         [value("y", [1, HIDDEN])],
         two_layers()[:2] + constants(w3=floats(HIDDEN, HIDDEN), b3=floats(HIDDEN), three=np.int64(3),
                                      yes=np.bool_(True)))
    body = helper.make_graph(
        [node("Gemm", "e w4", "a", "of_input"), node("Gemm", "s w3 b3", "t", "of_state"), node("Add", "a t", "v"),
         node("Tanh", "v", "u"), node("Identity", "u", "z")], "body",
        [value("s", [1, HIDDEN]), value("e", [1, IN])], [value("u", [1, HIDDEN]), value("z", [1, HIDDEN])])
    save("scan_output", [node("Scan", "s0 x", "last y", body=body, num_scan_inputs=1)],
         [value("x", [4, 1, IN])], [value("y", [4, 1, HIDDEN])],
         constants(s0=np.zeros((1, HIDDEN), np.float32), w3=floats(HIDDEN, HIDDEN), b3=floats(HIDDEN),
                   w4=floats(IN, HIDDEN)))
    for kind, shape in ("if_output", (IN,)), ("loop_output", (IN,)), ("scan_output", (4, 1, IN)):
        samples(kind, *shape)


def constant_left():
    nodes = [node("MatMul", "w1 x", "a", "mix"), node("Relu", "a", "r"), node("MatMul", "w2 r", "s", "heads"),
             node("Flatten", "s", "y")]
    save("constant_left", nodes, [value("x", ["N", IN, CLASSES])], Y,
         constants(w1=floats(HIDDEN, IN), w2=floats(1, HIDDEN)))
    samples("constant_left", IN, CLASSES)


def several_inputs():
    nodes = [node("Gather", "table token", "e"), node("Concat", "e x state", "all", axis=1),
             node("Gemm", "all w1 b1", "h", "cell"), node("Tanh", "h", "next"), node("Gemm", "next w2 b2", "y", "fc")]
    save("states", nodes,
         [value("x", ["N", IN]), value("token", ["N"], TensorProto.INT64), value("state", ["N", HIDDEN])],
         Y + [value("next", ["N", HIDDEN])],
         constants(table=floats(7, 4), w1=floats(4 + IN + HIDDEN, HIDDEN), b1=floats(HIDDEN),
                   w2=floats(HIDDEN, CLASSES), b2=floats(CLASSES)))
    samples("states", IN)
    np.save("token.npy", rng.integers(0, 7, (SAMPLES,)).astype(np.int64))


def unusual_weights():
    """Half floats, and channels that training with weight decay has left dead: all that is of them underflows."""
    halves = [numpy_helper.from_array(numpy_helper.to_array(w).astype(np.float16), w.name) for w in two_layers()]
    inner = [node("Cast", "x", "x16", to=TensorProto.FLOAT16), node("Gemm", "x16 w1 b1", "h", "fc1"),
             node("Relu", "h", "r"), node("Gemm", "r w2 b2", "y16", "fc2"), node("Cast", "y16", "y", to=TensorProto.FLOAT)]
    save("halves", inner, X, Y, halves)
    samples("halves", IN)
    weights = dict(w1=floats(6, 4, 3, 3), g=np.abs(floats(6)) + 0.5, b=floats(6), m=floats(6), v=np.abs(floats(6)) + 0.5,
                   w2=floats(6, 1, 3, 3))
    for array in weights.values():
        array[:2] *= np.float32(1e-41)
    nodes = [node("Conv", "x w1", "c1", pads=[1] * 4), node("BatchNormalization", "c1 g b m v", "n"), node("Relu", "n", "r"),
             node("Conv", "r w2", "y", pads=[1] * 4, group=6)]
    save("dead_channels", nodes, [value("x", ["N", 4, 8, 8])], [value("y", ["N", 6, 8, 8])], constants(**weights))
    samples("dead_channels", 4, 8, 8)
    save("depthwise", [node("Conv", "x w", "y", "dw", group=4)], [value("x", ["N", 4, 6, 6])],
         [value("y", ["N", 4, 4, 4])], constants(w=floats(4, 1, 3, 3)))


for make in (convolutions, integers, without_weights, unusual_outputs, bodies, constant_left, several_inputs,
             unusual_weights, same_output_as_floats_and_bytes, parallel_convolutions):
    make()
with open("labels.csv", "w", encoding="ascii") as file:
    file.writelines(f"{i % CLASSES}\n" for i in range(SAMPLES))
