# SPDX-License-Identifier: MIT
"""Convolutions of which some channels have high biases, and inputs for them.

    python bench/studies/high_biases.py FOLDER [BIAS]   # biases.onnx and x.npy, seeded
    pith quantize FOLDER/biases.onnx -d FOLDER/x.npy --range 0:64 --all-integers [--set absorb=true] -o small.pith
    pith compare FOLDER/biases.onnx small.pith -d FOLDER/x.npy --range 64:128

Four convolutions without padding, a Relu behind each but the last. Their sums have a standard deviation of
1; the mean of a quarter of the channels between them is BIAS (8), that of all others 0 (docs/quantize.md).
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, WIDTH, HIGH, SIDE, SAMPLES = 4, 32, 8, 20, 128
RELU_MEAN, RELU_SQUARE = 0.399, 0.5  # of a standard normal number


def main():
    folder, bias = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    rng = np.random.default_rng(0)
    nodes, constants = [], []
    x, mean, variance = "x", np.zeros(WIDTH), np.ones(WIDTH)
    for i in range(LAYERS):
        w = rng.normal(size=(WIDTH, WIDTH, 3, 3)) / np.sqrt(9 * variance.sum())
        wanted = np.zeros(WIDTH)
        if i < LAYERS - 1:
            wanted[rng.choice(WIDTH, HIGH, replace=False)] = bias
        b = wanted - (w.sum(axis=(2, 3)) * mean).sum(axis=1)
        for name, value in ((f"w{i}", w), (f"b{i}", b)):
            constants.append(numpy_helper.from_array(value.astype(np.float32), name))
        nodes.append(helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [f"y{i}"], kernel_shape=[3, 3]))
        x = f"y{i}"
        if i < LAYERS - 1:
            nodes.append(helper.make_node("Relu", [x], [f"a{i}"]))
            x = f"a{i}"
        mean = np.where(wanted > 0, wanted, RELU_MEAN)
        variance = np.where(wanted > 0, 1, RELU_SQUARE - RELU_MEAN**2)
    side = SIDE - 2 * LAYERS
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH, SIDE, SIDE]),
        helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, WIDTH, side, side]),
    ]
    graph = helper.make_graph(nodes, "biases", values[:1], values[1:], constants)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), os.path.join(folder, "biases.onnx"))
    np.save(os.path.join(folder, "x.npy"), rng.normal(size=(SAMPLES, WIDTH, SIDE, SIDE)).astype(np.float32))


if __name__ == "__main__":
    main()
