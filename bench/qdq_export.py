#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks in integers in pith and, written as QDQ ONNX, in onnxruntime: how many answers are equal, how
far outputs differ, and how far each layer's output does, given what the layers before it give in pith.
Also whether the file, imported, is the same network. Prints Markdown.

    bench/qdq_export.py build/release/pith ../shared/data [NETWORK ...] [--limit N] [--layers N]
        [--options='--weights 4']

A step of an output in floats is 1/255 of the range of all outputs. --layers: on so many samples. Needs
numpy, onnx and onnxruntime.
"""
import argparse
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from int8_accuracy import NETWORKS, Network, data_path, samples_of

TYPES = {np.dtype(np.uint8): onnx.TensorProto.UINT8, np.dtype(np.int8): onnx.TensorProto.INT8,
         np.dtype(np.uint16): onnx.TensorProto.UINT16, np.dtype(np.int16): onnx.TensorProto.INT16,
         np.dtype(np.float32): onnx.TensorProto.FLOAT}


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def read_by(node):
    """What a node reads, the graphs inside it too."""
    names = list(node.input)
    for a in node.attribute:
        for inner in a.g.node:
            names += read_by(inner)
    return names


class Layers:
    """The pieces of the file between values that are integers."""

    def __init__(self, path):
        self.model = onnx.load(path)
        graph = self.model.graph
        self.maker = {o: n for n in graph.node for o in n.output}
        self.whole = [n.output[0] for n in graph.node if n.op_type == "QuantizeLinear"]
        self.given = set(self.whole) | {i.name for i in graph.input}

    def nodes_of(self, name):
        """What makes `name` of given values; and these."""
        needed, inputs, wanted = set(), set(), [name]
        while wanted:
            node = self.maker[wanted.pop()]
            needed.add(node.output[0])
            for i in read_by(node):
                if i in self.given:
                    inputs.add(i)
                elif i in self.maker and i not in needed:
                    wanted.append(i)
        return [n for n in self.model.graph.node if n.output[0] in needed], sorted(inputs)

    def piece(self, name, values):
        nodes, inputs = self.nodes_of(name)
        one = values[name]
        infos = [helper.make_tensor_value_info(i, TYPES[values[i].dtype], values[i].shape[1:])
                 for i in inputs]
        out = helper.make_tensor_value_info(name, TYPES[one.dtype], None)
        graph = helper.make_graph(nodes, "piece", infos, [out], self.model.graph.initializer)
        model = helper.make_model(graph, opset_imports=self.model.opset_import,
                                  ir_version=self.model.ir_version)
        return session(model.SerializeToString()), inputs

    def most_steps(self, values):
        """(the most steps a layer is off by, elements that are off, all)"""
        most = off = count = 0
        for name in self.whole:
            run, inputs = self.piece(name, values)
            for k in range(len(values[name])):
                y = run.run(None, {i: values[i][k] for i in inputs})[0]
                steps = np.abs(y.astype(np.int64) - values[name][k].reshape(y.shape))
                most = max(most, int(steps.max()))
                off += int((steps > 0).sum())
                count += steps.size
        return most, off, count


class Exported(Network):
    def prepare(self, options):
        self.small, self.file, self.again = (os.path.join(self.work, n)
                                             for n in ("small.pith", "small.onnx", "again.pith"))
        self.pith("quantize", self.model, "-d", data_path(self.args.data, self.seen), "--range",
                  self.seen_range, *options.split(), "-q", "-f", "-o", self.small)
        self.pith("decode", self.small, "--to", "onnx", "-q", "-f", "-o", self.file)
        self.import_again()

    def import_again(self):
        preprocess = NETWORKS[self.name][0]
        extra = ["--preprocess", preprocess] if preprocess else []
        self.pith("import", self.file, *extra, "-q", "-f", "-o", self.again)

    def first(self, samples):
        """The range of the first so many, not 0, which may be one of those that calibration saw."""
        begin = int(self.judge_range.lstrip("!").split(":")[0]) + 1
        return f"{begin}:{begin + samples}"

    def values(self, layers, samples):
        """What pith computes inside, by name; names of nodes, which --dump takes too, are left out."""
        names = layers.whole
        for node in layers.model.graph.node:
            node.name = ""
        onnx.save(layers.model, self.file)
        self.import_again()
        out = os.path.join(self.work, "y.npy")
        files = [os.path.join(self.work, f"v{i}.npy") for i in range(len(names))]
        dumps = [a for n, f in zip(names, files) for a in ("--dump", f"{n}={f}")]
        self.pith("run", self.again, "-d", data_path(self.args.data, self.judge), "--range",
                  self.first(samples), *dumps, "-q", "-f", "-o", out)
        return {n: np.load(f) for n, f in zip(names, files)}

    def row(self, options):
        self.prepare(options)
        a = self.outputs(self.small)
        same_again = np.array_equal(a, self.outputs(self.again))
        x = samples_of(self, self.judge, self.judge_range)
        run = session(self.file)
        name = run.get_inputs()[0].name
        b = np.array([run.run(None, {name: v})[0].reshape(-1) for v in x], np.float64)
        step = (a.max() - a.min()) / 255
        equal = a.argmax(1) == b.argmax(1)
        best = np.sort(a[~equal], 1)
        gap = (best[:, -1] - best[:, -2]).max() / step if len(best) else 0
        layers = Layers(self.file)
        values = self.values(layers, self.args.layers)
        inputs = layers.model.graph.input[0].name
        values[inputs] = samples_of(self, self.judge, self.first(self.args.layers)).astype(np.float32)
        most, off, count = layers.most_steps(values)
        print(f"| {self.name} | {int(equal.sum())} of {len(a)} ({100 * equal.mean():.2f} %) | {gap:.2f} | "
              f"{np.abs(a - b).max() / step:.2f} | {most} | {off} of {count} | "
              f"{'yes' if same_again else 'NO'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pith")
    parser.add_argument("data")
    parser.add_argument("networks", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=0, help="judge on about so many samples")
    parser.add_argument("--layers", type=int, default=4, help="compare layers on so many samples")
    parser.add_argument("--options", default="")
    args = parser.parse_args()
    print("| network | same prediction | best two of the others, steps apart | outputs off by, steps | "
          "layers off by, steps | elements off | same when imported |")
    print("|---|---|---|---|---|---|---|")
    for name in args.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as work:
            Exported(args, name, work).row(args.options)


if __name__ == "__main__":
    main()
