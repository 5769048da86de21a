#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SqueezeNet 1.1 and MobileNet-v2 in torch, f16, channels last, replayed as a CUDA graph, as they are and
compiled (max-autotune): the peer of bench_gpu at batch 1, 8 and 64; and a matrix of 16384 x 16384, 2:4 sparse
by cuSPARSELt, in FP8, with weights of 4 or 8 bits by packages that are there (torchao, gemlite, humming), and decoded
by nvCOMP's ANS from codes of 4 bits. A line of JSON each on standard output.

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


def joined(join, *parts):
    """Modules of one input, whose outputs `join` makes one."""

    class Joined(nn.ModuleList):
        def forward(self, x):
            return join([part(x) for part in self])

    return Joined(parts)


def squeezenet():
    """Iandola et al., 2016, version 1.1."""

    def conv(c_in, c_out, size):
        return nn.Sequential(nn.Conv2d(c_in, c_out, size, padding=size // 2), nn.ReLU(True))

    def fire(c, squeeze, expand):
        both = joined(lambda y: torch.cat(y, 1), conv(squeeze, expand, 1), conv(squeeze, expand, 3))
        return nn.Sequential(conv(c, squeeze, 1), both)

    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(True), pool, fire(64, 16, 64), fire(128, 16, 64), pool,
        fire(128, 32, 128), fire(256, 32, 128), pool, fire(256, 48, 192), fire(384, 48, 192),
        fire(384, 64, 256), fire(512, 64, 256), conv(512, 1000, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def mobilenet():
    """Sandler et al., 2018, width 1."""

    def conv(c_in, c_out, size, stride=1, groups=1):
        return nn.Sequential(nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups), nn.ReLU6(True))

    def block(c_in, c_out, stride, wide):
        first = [conv(c_in, wide, 1)] if wide > c_in else []
        body = nn.Sequential(*first, conv(wide, wide, 3, stride, wide), nn.Conv2d(wide, c_out, 1))
        return joined(lambda y: y[0] + y[1], nn.Identity(), body) if stride == 1 and c_in == c_out else body

    layers, c = [conv(3, 32, 3, 2)], 32
    for factor, width, n, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                     (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(n):
            layers.append(block(c, width, stride if i == 0 else 1, c * factor))
            c = width
    return nn.Sequential(*layers, conv(320, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


def say(**fields):
    print(json.dumps({"part": "torch", **fields}, separators=(",", ":")), flush=True)


def times_of(call, seconds, captured):
    """Microseconds of each call, or replay of it as a graph, by events on the device, from input to output there."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):  # cuDNN tries its algorithms
            call()
    torch.cuda.synchronize()
    if captured:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        call = graph.replay
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times, start = [], time.monotonic()
    while len(times) < 5 or (time.monotonic() - start < seconds and len(times) < 1000):
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return times[2:]


def networks(compiled):
    """(fields, what makes it ready) of each network and batch."""
    for name, make in {"imagenet_squeezenet_v1_1": squeezenet, "imagenet_mobilenet_v2": mobilenet}.items():
        for batch in (1, 8, 64):
            def ready(make=make, batch=batch):
                net = make().eval().cuda().half().to(memory_format=torch.channels_last)
                if compiled:
                    net = torch.compile(net, mode="max-autotune-no-cudagraphs")
                x = torch.rand(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
                return lambda: net(x)
            yield {"name": name, "type": "f16 compiled" if compiled else "f16", "batch": batch}, ready


SIDE = 16384


def sparse(x):
    w = torch.rand(SIDE, SIDE, device="cuda").half()
    w[:, 1::2] = 0  # two of four
    w = torch.sparse.SparseSemiStructuredTensorCUSPARSELT.from_dense(w)
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


def humming(x):
    layer = importlib.import_module("humming.layer").HummingLayer
    config = {"dtype": "int4", "group_size": 128}
    net = layer(shape_n=SIDE, shape_k=SIDE, weight_config=config, torch_dtype=torch.float16).cuda()
    net.load_from_unquantized(torch.rand(SIDE, SIDE, device="cuda").half())
    net.transform()
    return lambda: net(x)


def nvcomp():
    """Codes of 4 bits, decoded. What it allocates cannot be captured."""
    library = importlib.import_module("nvidia.nvcomp")
    codec = library.Codec(algorithm="ANS", cuda_stream=torch.cuda.current_stream().cuda_stream)
    codes = (2 * torch.randn(2, SIDE * SIDE // 2, device="cuda") + 8).clamp(0, 15).to(torch.uint8)
    coded = codec.encode(library.as_array(codes[0] | codes[1] << 4))
    return lambda: codec.decode(coded)


def matrices():
    yield {"name": f"{SIDE}x{SIDE}", "type": "nvCOMP ANS", "batch": 1}, nvcomp
    for form, make in (("cuSPARSELt 2:4", sparse), ("FP8", fp8), ("torchao int4", torchao), ("gemlite int8", gemlite),
                       ("humming int4", humming)):
        for batch in (16, 64):
            yield ({"name": f"{SIDE}x{SIDE}", "type": form, "batch": batch},
                   lambda make=make, batch=batch: make(torch.rand(batch, SIDE, device="cuda").half()))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    if torch is None or not torch.cuda.is_available():
        return say(name="none", missing="torch" if torch is None else "a GPU for torch")
    torch.backends.cudnn.benchmark = True
    end = time.monotonic() + float(os.environ.get("SECONDS_PEERS", "60"))
    for peers, most in (networks(False), 10), (matrices(), 10), (networks(True), 180):  # seconds that one may take
        for fields, ready in peers:
            try:
                if time.monotonic() + most > end:
                    raise TimeoutError("no time left (SECONDS_PEERS)")
                with torch.no_grad():
                    times = times_of(ready(), seconds, "nvCOMP" not in fields["type"])
                say(**fields, us=round(statistics.median(times), 2), replays=len(times), torch=torch.__version__)
            except Exception as e:  # a peer that cannot be had is left out
                say(**fields, missing=f"{type(e).__name__}: {e}"[:120])


main()
