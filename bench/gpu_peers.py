#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SqueezeNet 1.1 and MobileNet-v2 in torch, f16, channels last, replayed as a CUDA graph, as they are and
compiled (max-autotune): the peer of bench_gpu at batch 1, 8 and 64; and a matrix of 16384 x 16384, 2:4 sparse
(cuSPARSELt), in FP8, and with 4-bit weights by packages that are there. A line of JSON each on standard output.

    python3 gpu_peers.py [SECONDS]        of each time; a line for what cannot be had, and why

Batch normalizations are folded, as pith folds them. Weights are random: times do not depend on them.
Needs nothing but torch. SECONDS_PEERS (60): all may take; networks are compiled in 1,200 or more."""
import importlib
import json
import os
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


def replay_times(call, seconds):
    """Microseconds of each replay, by events on the device, from input to output there."""
    stream = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(stream):
            for _ in range(5):  # cuDNN tries its algorithms
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times, start = [], time.monotonic()
    while len(times) < 5 or (time.monotonic() - start < seconds and len(times) < 1000):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return times[2:]


def networks(compiled):
    """(fields, what makes it ready) of each network and batch."""
    for name, make in NETWORKS.items():
        for batch in (1, 8, 64):
            def ready(make=make, batch=batch):
                net = make().eval().cuda().half().to(memory_format=torch.channels_last)
                if compiled:
                    net = torch.compile(net, mode="max-autotune-no-cudagraphs")
                x = torch.rand(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
                return lambda: net(x)
            yield {"name": name, "type": "f16 compiled" if compiled else "f16", "batch": batch}, ready


SIDE = 16384
COMPILE_SECONDS = 180  # that it may take to compile a network


def sparse(x):
    w = torch.rand(SIDE, SIDE, device="cuda").half()
    w[:, 1::2] = 0  # two of four
    w = torch.sparse.to_sparse_semi_structured(w)
    return lambda: torch.nn.functional.linear(x, w)


def fp8(x):
    one = torch.ones((), device="cuda")
    w = torch.rand(SIDE, SIDE, device="cuda").to(torch.float8_e4m3fn)
    x = x.to(torch.float8_e4m3fn)
    return lambda: torch._scaled_mm(x, w.t(), one, one, out_dtype=torch.float16)


def torchao(x):
    quantization = importlib.import_module("torchao.quantization")
    net = nn.Linear(SIDE, SIDE, bias=False, device="cuda", dtype=torch.bfloat16)
    quantization.quantize_(net, quantization.Int4WeightOnlyConfig(group_size=128))
    x = x.to(torch.bfloat16)
    return lambda: net(x)


def gemlite(x):
    helper = importlib.import_module("gemlite.helper")
    net = nn.Linear(SIDE, SIDE, bias=False, device="cuda", dtype=torch.float16)
    net = helper.A16W8(device="cuda").from_linear(net)
    return lambda: net(x)


def matrices():
    for form, make in {"2:4": sparse, "FP8": fp8, "torchao int4": torchao, "gemlite int8": gemlite}.items():
        for batch in (16, 64):
            x = torch.rand(batch, SIDE, device="cuda").half()
            yield ({"name": f"{SIDE}x{SIDE}", "type": form, "batch": batch}, lambda make=make, x=x: make(x))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    if torch is None or not torch.cuda.is_available():
        return say(name="none", missing="torch" if torch is None else "a GPU for torch")
    torch.backends.cudnn.benchmark = True
    end = time.monotonic() + float(os.environ.get("SECONDS_PEERS", "60"))
    for peers, most in (networks(False), 10), (matrices(), 10), (networks(True), COMPILE_SECONDS):
        for fields, ready in peers:
            try:
                if time.monotonic() + most > end:
                    raise TimeoutError("no time left (SECONDS_PEERS)")
                with torch.no_grad():
                    times = replay_times(ready(), seconds)
                say(**fields, us=round(statistics.median(times), 2), replays=len(times), torch=torch.__version__)
            except Exception as e:  # a peer that cannot be had is left out
                say(**fields, missing=f"{type(e).__name__}: {e}"[:120])


main()
