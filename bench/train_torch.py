#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch as the peer of `pith train`, in an environment of its own:

    python bench/train_torch.py [THREADS [NAME...]]         one step (forward, loss, backward) of LeNet-5 and ResNet-20,
                                                            batch 128, or of NAMEs of torchvision, batch 8, in both
                                                            memory layouts: the peer of bench_train
    python bench/train_torch.py decoder NET.onnx NAMES TEXT LENGTH EPOCHS [BATCH [RATE]]

The second trains what samples/make_decoder.py made from the same weights, on the same windows, with the same number of
steps, optimizer and schedule as samples/generate.sh does, and prints the loss on every tenth window, which is held out;
the windows have another order. Needs the package onnx, too."""
import math
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """Shortcut of kind A: every second pixel, channels padded with zeros."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(c_out)
        self.pad = c_out // 4 if stride != 1 else 0

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.pad:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(x + y)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, c = [], 16
        for width, stride in ((16, 1), (32, 2), (64, 2)):
            for k in range(3):
                blocks.append(Block(c, width, stride if k == 0 else 1))
                c = width
        self.conv = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(self.blocks(F.relu(self.norm(self.conv(x)))).mean((2, 3)))


def lenet5():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


class Graph(nn.Module):
    """The nodes of an ONNX file of one input, one after the other; float constants of more than one number learn."""

    def __init__(self, path):
        import onnx
        super().__init__()
        graph = onnx.load(path).graph
        self.nodes, self.input, self.output = graph.node, graph.input[0].name, graph.output[0].name
        self.helper, self.fixed, self.weights = onnx.helper, {}, nn.ParameterDict()
        for t in graph.initializer:
            value = torch.tensor(onnx.numpy_helper.to_array(t))
            if value.is_floating_point() and value.numel() > 1:
                self.weights[t.name] = nn.Parameter(value)
            else:
                self.fixed[t.name] = value

    OPERATORS = {
        "Add": lambda a, b: a + b, "Mul": lambda a, b: a * b, "MatMul": lambda a, b: a @ b,
        "Relu": lambda x: x.relu(), "LessOrEqual": lambda a, b: a <= b, "Where": torch.where,
        "Gather": lambda x, i: x[i], "Shape": lambda x: torch.tensor(x.shape),
        "Range": lambda a, b, step: torch.arange(a, b, step), "Unsqueeze": lambda x, at: x.unsqueeze(int(at)),
        "Reshape": lambda x, to: x.reshape([x.shape[k] if d == 0 else d for k, d in enumerate(to.tolist())]),
        "Transpose": lambda x, perm: x.permute(perm), "Softmax": lambda x, axis: x.softmax(axis),
        "LayerNormalization": lambda x, w, b, axis: F.layer_norm(x, x.shape[axis:], w, b)}

    def forward(self, x):
        values = {**self.fixed, **self.weights, self.input: x}
        for n in self.nodes:
            attributes = {a.name: self.helper.get_attribute_value(a) for a in n.attribute}
            values[n.output[0]] = self.OPERATORS[n.op_type](*(values[i] for i in n.input), **attributes)
        return values[self.output]


def decoder(path, names, text, length, epochs, batch=16, rate=2e-3):
    net, length, epochs, batch, rate = Graph(path), int(length), int(epochs), int(batch), float(rate)
    characters = [c.rstrip("\n") for c in open(names, encoding="utf-8")]
    number = {{"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\"}.get(c, c): i for i, c in enumerate(characters)}
    ids = torch.tensor([number[c] for c in open(text, encoding="utf-8", newline="").read()])
    starts = torch.arange(0, len(ids) - length, length)
    held, rest = starts[::10], starts[torch.arange(len(starts)) % 10 != 0]
    at = torch.arange(length)

    def loss(windows):
        return F.cross_entropy(net(ids[windows[:, None] + at]).flatten(0, 1), ids[windows[:, None] + at + 1].flatten())

    optimizer = torch.optim.Adam(net.parameters(), rate)
    step, steps = 0, len(rest) // batch * epochs
    generator = torch.Generator().manual_seed(1)
    for epoch in range(epochs):
        total, shuffled = 0, rest[torch.randperm(len(rest), generator=generator)]
        for k in range(len(rest) // batch):
            optimizer.param_groups[0]["lr"] = rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            optimizer.zero_grad()
            value = loss(shuffled[k * batch:(k + 1) * batch])
            value.backward()
            optimizer.step()
            total, step = total + value.item(), step + 1
        with torch.no_grad():
            of = [(loss(w).item(), len(w)) for w in held.split(64)]
        print(f"epoch {epoch + 1}/{epochs}  loss {total / (len(rest) // batch):.4f}  held out: loss "
              f"{sum(v * n for v, n in of) / len(held):.4f}  {step} steps", flush=True)


def main():
    if sys.argv[1:2] == ["decoder"]:
        return decoder(*sys.argv[2:])
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    cases = [("LeNet-5", lenet5(), (128, 1, 28, 28)), ("ResNet-20", ResNet20(), (128, 3, 32, 32))]
    if len(sys.argv) > 2:
        import torchvision
        cases = [(name, torchvision.models.get_model(name), (8, 3, 224, 224)) for name in sys.argv[2:]]
    for name, net, shape in cases:
        for layout in (torch.contiguous_format, torch.channels_last):
            net = net.to(memory_format=layout)
            x, label = torch.rand(shape).to(memory_format=layout), torch.randint(0, 10, shape[:1])
            seconds = []
            for _ in range(22 if shape[0] > 8 else 5):
                start = time.perf_counter()
                net.zero_grad()
                F.cross_entropy(net(x), label).backward()
                seconds.append(time.perf_counter() - start)
            median = statistics.median(seconds[1:])
            print(f"{name} {layout}: {median * 1e3:.2f} ms (shortest {min(seconds[1:]) * 1e3:.2f}), "
                  f"{shape[0] / median:.0f} samples/s")


main()
