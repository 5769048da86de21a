# SPDX-License-Identifier: MIT
"""Blocks of a transformer's kind whose normalizations have a few large channels, and inputs for them.

    python bench/studies/outlier_blocks.py FOLDER    # blocks.onnx and x.npy, seeded
    pith quantize FOLDER/blocks.onnx -d FOLDER/x.npy --all-integers [--set smooth=never] -o small.pith
    pith compare FOLDER/blocks.onnx small.pith -d FOLDER/x.npy --range 64:128

Four blocks x + W2 Relu(W1 LayerNormalization(x)); 3 of 64 channels are 40 times as large as the others,
and the weights that read them 20 times as small: what trained transformers look like (docs/quantize.md).
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS, WIDTH, LARGE, TOKENS, SAMPLES = 4, 64, 3, 16, 128


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(name, value):
        weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    x = "x"
    for b in range(BLOCKS):
        scale = rng.uniform(0.5, 1.5, WIDTH)
        large = rng.choice(WIDTH, LARGE, replace=False)
        scale[large] *= 40
        first = rng.normal(size=(WIDTH, 4 * WIDTH)) / np.sqrt(WIDTH)
        first[large] /= 20
        second = rng.normal(size=(4 * WIDTH, WIDTH)) / np.sqrt(4 * WIDTH)
        norm = [x, weight(f"scale{b}", scale), weight(f"bias{b}", 0.1 * rng.normal(size=WIDTH))]
        nodes.append(helper.make_node("LayerNormalization", norm, [f"norm{b}"], axis=-1))
        nodes.append(helper.make_node("MatMul", [f"norm{b}", weight(f"w{b}", first)], [f"h{b}"]))
        nodes.append(helper.make_node("Relu", [f"h{b}"], [f"a{b}"]))
        nodes.append(helper.make_node("MatMul", [f"a{b}", weight(f"v{b}", second)], [f"o{b}"]))
        nodes.append(helper.make_node("Add", [x, f"o{b}"], [f"x{b}"]))
        x = f"x{b}"
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, TOKENS, WIDTH]) for n in ("x", x)]
    graph = helper.make_graph(nodes, "blocks", value[:1], value[1:], weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), os.path.join(folder, "blocks.onnx"))
    np.save(os.path.join(folder, "x.npy"), rng.normal(size=(SAMPLES, TOKENS, WIDTH)).astype(np.float32))


if __name__ == "__main__":
    main()
