# SPDX-License-Identifier: MIT
"""Several networks for the same inputs as one: its scores are the mean of theirs.

    python bench/studies/committee.py OUT.onnx MEMBER.onnx MEMBER.onnx...

A teacher of `pith train --teacher`: networks that were trained from different seeds or pictures err at
different samples, and their mean errs less than each (Hinton et al., 2015, section 3).
"""

import sys

import onnx
from onnx import TensorProto, compose, helper, numpy_helper
import numpy as np


def main():
    to, *paths = sys.argv[1:]
    if len(paths) < 2:
        sys.exit(__doc__.strip())
    merged, scores = None, []
    for i, path in enumerate(paths):
        model = onnx.load(path)
        took, gave = model.graph.input[0].name, logits(model.graph)
        model = compose.add_prefix(model, f"m{i}_")
        rename_input(model.graph, f"m{i}_{took}", "input")
        scores.append(f"m{i}_{gave}")
        merged = model if merged is None else join(merged, model)
    graph = merged.graph
    graph.initializer.append(numpy_helper.from_array(np.float32(1 / len(paths)), "share"))
    graph.node.append(helper.make_node("Sum", scores, ["sum"]))
    graph.node.append(helper.make_node("Mul", ["sum", "share"], ["scores"]))
    shape = [d.dim_value or d.dim_param for d in graph.output[0].type.tensor_type.shape.dim]
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("scores", TensorProto.FLOAT, shape))
    onnx.checker.check_model(merged)
    onnx.save(merged, to)


def logits(graph):
    """The output, or what stands before its softmax: means of logits keep what a temperature brings out."""
    name = graph.output[0].name
    maker = next(n for n in graph.node if name in n.output)
    return maker.input[0] if maker.op_type == "Softmax" else name


def rename_input(graph, was, name):
    graph.input[0].name = name
    for node in graph.node:
        for i, value in enumerate(node.input):
            if value == was:
                node.input[i] = name


def join(merged, model):
    """Nodes and weights of model behind those of merged; both have the same opsets."""
    if [(o.domain, o.version) for o in merged.opset_import] != [
        (o.domain, o.version) for o in model.opset_import
    ]:
        sys.exit("committee: the members have different opsets")
    merged.graph.node.extend(model.graph.node)
    merged.graph.initializer.extend(model.graph.initializer)
    return merged


if __name__ == "__main__":
    main()
