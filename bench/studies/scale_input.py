# SPDX-License-Identifier: MIT
"""Divides a keyword network's inputs by powers of two and multiplies the weights that read them.

    python bench/studies/scale_input.py IN.onnx OUT.onnx EXPONENT...

One exponent a coefficient of a frame; the last stands for the rest. The answers are the same to the
bit, for powers of two round nothing. But where one input is a hundred times as large as the others
(the first MFCC), its weights are no longer too small for the grid that they share with theirs.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

COEFFICIENTS = 10
STATE = 400  # kws_GRU_L: its products read the frame and the state, joined


def main():
    source, to, *text = sys.argv[1:]
    exponents = [int(t) for t in text]
    exponents += [exponents[-1]] * (COEFFICIENTS - len(exponents))
    scale = np.exp2(-np.array(exponents, np.float32))
    model = onnx.load(source)
    graph = model.graph
    reader = next(n for n in graph.node if graph.input[0].name in n.input)
    if reader.op_type == "Reshape":  # [frames, 1, coefficients]
        name, behind = reader.output[0], list(graph.node).index(reader) + 1
    else:
        name, behind = graph.input[0].name, 0
        scale = np.tile(scale, graph.input[0].type.tensor_type.shape.dim[1].dim_value // len(scale))
    for node in graph.node:
        for i, was in enumerate(node.input):
            if was == name:
                node.input[i] = name + "_scaled"
    graph.initializer.append(numpy_helper.from_array(scale, "input_scale"))
    graph.node.insert(behind, helper.make_node("Mul", [name, "input_scale"], [name + "_scaled"]))
    for t in graph.initializer:  # rows of products that begin with the frame
        w = numpy_helper.to_array(t)
        if w.ndim == 2 and w.dtype == np.float32 and w.shape[0] in (len(scale), len(scale) + STATE):
            w = w.copy()
            w[: len(scale)] /= scale[:, None]
            t.CopyFrom(numpy_helper.from_array(w, t.name))
    onnx.save(model, to)


if __name__ == "__main__":
    main()
