#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SqueezeNet 1.1 and MobileNet-v2 in torch, f16, channels last, replayed as a CUDA graph: the peer of
bench_gpu at batch 1, 8 and 64. A line of JSON each on standard output.

    python3 gpu_peers.py [SECONDS]        of each time; without torch or a GPU: one line that says so

Batch normalizations are folded, as pith folds them. Weights are random: times do not depend on them.
Needs nothing but torch."""
import json
import statistics
import sys
import time

try:
    import torch
    import torch.nn as nn
except ImportError:
    torch = None


def squeezenet():
    """Iandola et al., 2016, version 1.1."""

    class Fire(nn.Module):
        def __init__(self, c, squeeze, expand):
            super().__init__()
            self.squeeze = nn.Conv2d(c, squeeze, 1)
            self.one = nn.Conv2d(squeeze, expand, 1)
            self.three = nn.Conv2d(squeeze, expand, 3, padding=1)

        def forward(self, x):
            x = torch.relu(self.squeeze(x))
            return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)

    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(True), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(),
        Fire(128, 32, 128), Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192),
        Fire(384, 64, 256), Fire(512, 64, 256), nn.Conv2d(512, 1000, 1), nn.ReLU(True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten())


def mobilenet():
    """Sandler et al., 2018, width 1."""

    def conv(c_in, c_out, size, stride=1, groups=1):
        return nn.Sequential(nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups), nn.ReLU6(True))

    class Block(nn.Module):
        def __init__(self, c_in, c_out, stride, factor):
            super().__init__()
            wide = c_in * factor
            first = [conv(c_in, wide, 1)] if factor > 1 else []
            self.body = nn.Sequential(*first, conv(wide, wide, 3, stride, wide), nn.Conv2d(wide, c_out, 1))
            self.adds = stride == 1 and c_in == c_out

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    layers, c = [conv(3, 32, 3, 2)], 32
    for factor, width, n, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                     (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(n):
            layers.append(Block(c, width, stride if i == 0 else 1, factor))
            c = width
    return nn.Sequential(*layers, conv(320, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


NETWORKS = {"imagenet_squeezenet_v1_1": squeezenet, "imagenet_mobilenet_v2": mobilenet}


def say(**fields):
    print(json.dumps({"part": "torch", **fields}, separators=(",", ":")), flush=True)


def replay_times(net, batch, seconds):
    """Microseconds of each replay, by events on the device, from input to output there."""
    x = torch.rand(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
    stream = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(stream):
            for _ in range(5):  # cuDNN tries its algorithms
                net(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            net(x)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times, start = [], time.monotonic()
    while len(times) < 5 or (time.monotonic() - start < seconds and len(times) < 1000):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return times[2:]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    if torch is None or not torch.cuda.is_available():
        return say(name="none", missing="torch" if torch is None else "a GPU for torch")
    torch.backends.cudnn.benchmark = True
    for name, make in NETWORKS.items():
        net = make().eval().cuda().half().to(memory_format=torch.channels_last)
        for batch in (1, 8, 64):
            times = replay_times(net, batch, seconds)
            say(name=name, type="f16", batch=batch, us=round(statistics.median(times), 2), replays=len(times),
                torch=torch.__version__, device=torch.cuda.get_device_name(0))


main()
