# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM: kinds, directions, activations and every option, constant and computed
operands. cases() yields (name, model, twin): the twin, for onnxruntime, says with Transpose what
onnxruntime does not take (layout 1), or is None."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
T, N, I, H = 7, 3, 5, 6
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
               "HardSigmoid", "Elu", "Softsign", "Softplus")
DIRECTIONS = ("forward", "reverse", "bidirectional")


class Layer:
    """One node and its operands: `given` names the optional ones, `runtime` those that are not
    constant but computed from an input by an Identity-like product with 1."""

    def __init__(self, random, kind, given=(), runtime=(), sizes=(T, N, I, H), **attributes):
        self.random, self.kind, self.runtime = random, kind, runtime
        self.attributes = attributes
        self.sizes = sizes
        t, n, i, h = sizes
        d = 2 if attributes.get("direction") == "bidirectional" else 1
        g = GATES[kind]
        layout = attributes.get("layout", 0)
        state = (n, d, h) if layout else (d, n, h)
        shapes = {"W": (d, g * h, i), "R": (d, g * h, h), "B": (d, 2 * g * h),
                  "initial_h": state, "initial_c": state, "P": (d, 3 * h)}
        order = ["W", "R", "B", "lengths", "initial_h"]
        order += ["initial_c", "P"] if kind == "LSTM" else []
        self.names, self.values = ["X"], {}
        for name in order:
            if name not in ("W", "R") and name not in given:
                self.names.append("")
                continue
            self.names.append(name)
            self.values[name] = self.lengths(t, n) if name == "lengths" else self.f(*shapes[name])
        while not self.names[-1]:
            self.names.pop()
        self.layout = layout
        self.outputs = ["Y", "Y_h", "Y_c"][:3 if kind == "LSTM" else 2]

    def f(self, *shape):
        return (self.random.standard_normal(shape) * 0.7).astype(np.float32)

    def lengths(self, t, n):
        some = self.random.integers(1, t + 1, n).astype(np.int32)
        some[0] = t
        return some

    def model(self, outputs=None, opset=14, twin=False):
        t, n, i, _ = self.sizes
        x_shape = [n, t, i] if self.layout else [t, n, i]
        infos = [helper.make_tensor_value_info("X", TensorProto.FLOAT, x_shape)]
        nodes, constants, names = [], [], list(self.names)
        for name, value in self.values.items():
            if name in self.runtime:
                infos.append(helper.make_tensor_value_info(f"{name}_in", TensorProto.FLOAT,
                                                           list(value.shape)))
                nodes.append(node("Sin", [f"{name}_in"], [name]))
            else:
                constants.append(numpy_helper.from_array(value, name))
        made = [o if outputs is None or o in outputs else "" for o in self.outputs]
        while not made[-1]:
            made.pop()
        attributes = dict(self.attributes)
        after, outs = [], list(made)
        if twin:
            attributes.pop("layout")
            for k, name in enumerate(names):
                if name in ("X", "initial_h", "initial_c"):
                    nodes.append(node("Transpose", [name], [f"{name}_0"], perm=[1, 0, 2]))
                    names[k] = f"{name}_0"
            perms = {"Y": [2, 0, 1, 3], "Y_h": [1, 0, 2], "Y_c": [1, 0, 2]}
            outs = [f"{o}_0" if o else "" for o in made]
            after = [node("Transpose", [f"{o}_0"], [o], perm=perms[o]) for o in made if o]
        nodes.append(node(self.kind, names, outs, name="layer", hidden_size=self.sizes[3], **attributes))
        graph = helper.make_graph(
            nodes + after, "case", infos,
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in made if o],
            constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                 ir_version=8)


def options(kind):
    """Attributes and given operands of each kind, beyond directions and activations."""
    lstm = kind == "LSTM"
    states = ("initial_h", "initial_c") if lstm else ("initial_h",)
    yield "plain", {}, ()
    yield "bias", {}, ("B",)
    yield "clip", {"clip": 0.6}, ("B",)
    yield "lengths", {}, ("B", "lengths")
    yield "states", {}, ("B",) + states
    yield "states and lengths", {}, ("lengths",) + states
    if kind == "GRU":
        yield "linear before reset", {"linear_before_reset": 1}, ("B", "initial_h")
        yield "linear before reset, no bias", {"linear_before_reset": 1}, ()
        yield "linear before reset, clip", {"linear_before_reset": 1, "clip": 0.5}, ("B", "lengths")
    if lstm:
        yield "peepholes", {}, ("B", "P") + states
        yield "peepholes, clip", {"clip": 0.5}, ("P",)
        yield "input forget", {"input_forget": 1}, ("B", "P", "lengths")


def activations(random, kind):
    n = {"RNN": 1, "GRU": 2, "LSTM": 3}[kind]
    for first in ACTIVATIONS:
        names = [first] + [str(random.choice(ACTIVATIONS)) for _ in range(n - 1)]
        takes_alpha = sum(a in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                                "HardSigmoid", "Elu") for a in names)
        takes_beta = sum(a in ("Affine", "ScaledTanh", "HardSigmoid") for a in names)
        attributes = {"activations": names, "clip": 2.0}
        if takes_alpha:
            attributes["activation_alpha"] = [round(0.2 + 0.1 * k, 1) for k in range(takes_alpha)]
        if takes_beta:
            attributes["activation_beta"] = [round(0.4 + 0.1 * k, 1) for k in range(takes_beta)]
        yield " ".join(names), attributes
    yield "HardSigmoid by default", {"activations": (["HardSigmoid"] + ["tanh"] * n)[:n]}


def computed(random):
    """Operands that are not constant."""
    for kind in GATES:
        for direction in DIRECTIONS:
            layer = Layer(random, kind, ("B", "initial_h"), ("W", "R", "B", "initial_h"),
                          direction=direction)
            yield f"{kind} computed operands, {direction}", layer.model(), None
    layer = Layer(random, "LSTM", ("B", "P", "initial_h", "initial_c"), ("R", "P", "initial_c"))
    yield "LSTM some computed operands", layer.model(), None
    layer = Layer(random, "GRU", ("B",), ("R", "B"), linear_before_reset=1)
    yield "GRU computed R and B, linear before reset", layer.model(), None


def cases():
    random = np.random.default_rng(29)
    for kind in GATES:
        for direction in DIRECTIONS:
            for name, attributes, given in options(kind):
                layer = Layer(random, kind, given, direction=direction, **attributes)
                yield f"{kind} {name}, {direction}", layer.model(), None
        for name, attributes in activations(random, kind):
            layer = Layer(random, kind, ("B",), **attributes)
            yield f"{kind} {name}", layer.model(), None
        both = Layer(random, kind, ("B",), direction="bidirectional", clip=2.0,
                     activations=["Tanh", "Sigmoid", "HardSigmoid", "Elu", "Softsign", "LeakyRelu"]
                     [:2 * {"RNN": 1, "GRU": 2, "LSTM": 3}[kind]],
                     activation_alpha=[0.3, 0.2][:2])
        yield f"{kind} activations of both directions", both.model(), None
        for outputs in (["Y"], ["Y_h"], ["Y", "Y_h"], ["Y_c"] if kind == "LSTM" else ["Y_h"]):
            layer = Layer(random, kind, ("B",), direction="bidirectional")
            yield f"{kind} outputs {outputs}", layer.model(outputs), None
        for direction in DIRECTIONS:
            layer = Layer(random, kind, ("B", "initial_h", "initial_c"), direction=direction,
                          layout=1)
            yield f"{kind} layout 1, {direction}", layer.model(), layer.model(twin=True)
        for sizes in ((1, 1, 4, 128), (5, 1, 33, 37), (3, 9, 16, 40), (2, 2, 1, 1)):
            layer = Layer(random, kind, ("B", "initial_h"), sizes=sizes)
            yield f"{kind} sizes {sizes}", layer.model(opset=7), None
    yield from computed(random)
