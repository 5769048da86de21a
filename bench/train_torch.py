#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One step of training in PyTorch (forward, loss, backward) on LeNet-5 and ResNet-20, batch 128, in
both memory layouts; the peer of bench_train.

    python bench/train_torch.py [THREADS]

needs torch in an environment of its own."""
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


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    for name, net, shape in (("LeNet-5", lenet5(), (128, 1, 28, 28)),
                             ("ResNet-20", ResNet20(), (128, 3, 32, 32))):
        for layout in (torch.contiguous_format, torch.channels_last):
            net = net.to(memory_format=layout)
            x, label = torch.rand(shape).to(memory_format=layout), torch.randint(0, 10, (128,))
            seconds = []
            for _ in range(22):
                start = time.perf_counter()
                net.zero_grad()
                F.cross_entropy(net(x), label).backward()
                seconds.append(time.perf_counter() - start)
            median = statistics.median(seconds[1:])
            print(f"{name} {layout}: {median * 1e3:.2f} ms (shortest {min(seconds[1:]) * 1e3:.2f}), "
                  f"{128 / median:.0f} samples/s")


main()
