#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of many families, from their papers, small and with seeded weights, exported by PyTorch.

usage: blind_networks.py OUT_DIR [--only NAME,...] [--forms dynamo,dynamo_batch,...] [--list]

Writes OUT_DIR/<network>.<form>.onnx and OUT_DIR/<network>.npz (inputs x0.. and PyTorch's outputs
y0.., for batch 1 and, as b0.. and c0.., for a batch of 3 where the network has one).
Forms: ts11 ts13 ts17 (TorchScript-based exporter at that opset), ts17_batch (batch dimension left
open), dynamo, dynamo_batch (torch.export-based, its default opset), dynamo23, dynamo23_batch (opset 23).
Needs torch, onnx and onnxscript. bench/blind_compare.py runs what this writes."""
import argparse
import contextlib
import io
import math
import os
import sys
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FORMS = ("ts11", "ts13", "ts17", "ts17_batch", "dynamo", "dynamo_batch", "dynamo23", "dynamo23_batch")
NETWORKS = {}


def network(*shapes, batch=True, ints=None):
    """Registers a module class: shapes of its inputs at batch 1. ints: bound of an integer input,
    by its position. batch: the first dimension of every input is the batch."""
    def register(cls):
        name = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")
        NETWORKS[name] = (cls, shapes, batch, ints or {})
        return cls
    return register


# ---- convolutional ------------------------------------------------------------------------------

def conv_bn(c, o, k=3, s=1, g=1, act=nn.ReLU, d=1):
    layers = [nn.Conv2d(c, o, k, s, d * (k // 2), d, g, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Twice(nn.Sequential):
    def __init__(self, c, o):
        super().__init__(conv_bn(c, o), conv_bn(o, o))


@network((1, 3, 48, 64))
class UnetTranspose(nn.Module):
    """Ronneberger et al. 2015, ConvTranspose upsampling."""
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.d3, self.mid = Twice(3, 8), Twice(8, 16), Twice(16, 32), Twice(32, 64)
        self.t3, self.t2, self.t1 = (nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (32, 16, 8))
        self.u3, self.u2, self.u1 = Twice(64, 32), Twice(32, 16), Twice(16, 8)
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        x = self.mid(F.max_pool2d(c, 2))
        x = self.u3(torch.cat([c, self.t3(x)], 1))
        x = self.u2(torch.cat([b, self.t2(x)], 1))
        return self.out(self.u1(torch.cat([a, self.t1(x)], 1)))


@network((1, 3, 45, 61))
class UnetResize(nn.Module):
    """U-Net as often rewritten: bilinear upsampling with aligned corners, padded to the skip's size."""
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = Twice(3, 8), Twice(8, 16), Twice(16, 16)
        self.u2, self.u1, self.out = Twice(32, 8), Twice(16, 8), nn.Conv2d(8, 2, 1)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)

    def join(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        return torch.cat([skip, F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])], 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        x = self.u2(self.join(self.mid(F.max_pool2d(b, 2)), b))
        return self.out(self.u1(self.join(x, a)))


class Squeeze(nn.Module):
    def __init__(self, c, r, act, gate):
        super().__init__()
        self.a, self.b, self.act, self.gate = nn.Conv2d(c, r, 1), nn.Conv2d(r, c, 1), act(), gate()

    def forward(self, x):
        return x * self.gate(self.b(self.act(self.a(F.adaptive_avg_pool2d(x, 1)))))


class MBConv(nn.Module):
    def __init__(self, c, o, k, s, expand, act=nn.SiLU, gate=nn.Sigmoid, se=True):
        super().__init__()
        m = c * expand
        self.skip = c == o and s == 1
        self.body = nn.Sequential(
            *([conv_bn(c, m, 1, act=act)] if expand > 1 else []), conv_bn(m, m, k, s, m, act),
            *([Squeeze(m, max(4, c // 4), act if act is nn.SiLU else nn.ReLU, gate)] if se else []),
            conv_bn(m, o, 1, act=None))

    def forward(self, x):
        return x + self.body(x) if self.skip else self.body(x)


@network((1, 3, 64, 64))
class EfficientNet(nn.Module):
    """Tan and Le 2019."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.SiLU), MBConv(16, 8, 3, 1, 1),
                                  MBConv(8, 12, 3, 2, 6), MBConv(12, 12, 3, 1, 6),
                                  MBConv(12, 20, 5, 2, 6), MBConv(20, 20, 5, 1, 6),
                                  conv_bn(20, 80, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(80, 10))

    def forward(self, x):
        return self.fc(torch.flatten(self.body(x), 1))


@network((1, 3, 64, 64))
class MobileNetV3(nn.Module):
    """Howard et al. 2019: hard swish, hard sigmoid gates."""
    def __init__(self):
        super().__init__()
        hs, gate = nn.Hardswish, nn.Hardsigmoid
        self.body = nn.Sequential(conv_bn(3, 16, 3, 2, act=hs), MBConv(16, 16, 3, 2, 1, nn.ReLU, gate),
                                  MBConv(16, 24, 3, 2, 4, nn.ReLU, se=False),
                                  MBConv(24, 24, 5, 1, 3, hs, gate), conv_bn(24, 96, 1, act=hs))
        self.head = nn.Sequential(nn.Linear(96, 64), nn.Hardswish(), nn.Dropout(), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.body(x).mean([2, 3]))


@network((1, 3, 64, 64))
class ShuffleNetV2(nn.Module):
    """Ma et al. 2018: channel split and shuffle."""
    class Block(nn.Module):
        def __init__(self, c, o, s):
            super().__init__()
            h, self.s = o // 2, s
            i = c if s > 1 else h
            self.left = nn.Sequential(conv_bn(c, c, 3, s, c, None), conv_bn(c, h, 1)) if s > 1 else None
            self.right = nn.Sequential(conv_bn(i, h, 1), conv_bn(h, h, 3, s, h, None), conv_bn(h, h, 1))

        def forward(self, x):
            a, b = (self.left(x), x) if self.s > 1 else x.chunk(2, dim=1)
            x = torch.cat([a, self.right(b)], 1)
            n, c, h, w = x.shape
            return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 12, 3, 2), nn.MaxPool2d(3, 2, 1))
        self.body = nn.Sequential(self.Block(12, 24, 2), self.Block(24, 24, 1), self.Block(24, 48, 2))
        self.fc = nn.Linear(48, 10)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean([2, 3]))


@network((1, 3, 32, 32))
class ResNext(nn.Module):
    """Xie et al. 2017, with a non-local style global context and ceil-mode pooling."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 32, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True))
        self.a = nn.Sequential(conv_bn(32, 32, 1), conv_bn(32, 32, 3, 1, 8), conv_bn(32, 64, 1, act=None))
        self.proj, self.fc = conv_bn(32, 64, 1, act=None), nn.Linear(64, 10)

    def forward(self, x):
        x = self.stem(x)
        x = F.relu(self.a(x) + self.proj(x), inplace=True)
        return F.log_softmax(self.fc(F.adaptive_avg_pool2d(x, (1, 1)).squeeze(-1).squeeze(-1)), -1)


@network((1, 3, 40, 40))
class DenseInception(nn.Module):
    """Dense blocks (Huang 2017) and inception branches with average pools, uneven adaptive pooling."""
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8)
        self.dense = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(8 + 4 * i), nn.ReLU(),
                                                 nn.Conv2d(8 + 4 * i, 4, 3, padding=1)) for i in range(3))
        self.b1, self.b7 = conv_bn(20, 8, 1), nn.Sequential(nn.Conv2d(20, 8, (1, 7), padding=(0, 3)),
                                                             nn.Conv2d(8, 8, (7, 1), padding=(3, 0)))
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.bp, self.fc = conv_bn(20, 8, 1), nn.Linear(24 * 25, 10)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.dense:
            x = torch.cat([x, layer(x)], 1)
        x = torch.cat([self.b1(x), self.b7(x), self.bp(self.pool(x))], 1)
        return self.fc(F.adaptive_avg_pool2d(x, 5).flatten(1))


@network((1, 3, 65, 65))
class DeepLab(nn.Module):
    """Chen et al. 2018: dilated pyramid, image pooling resized to x.shape."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 16, 3, 2), conv_bn(16, 16, 3, 2))
        self.branches = nn.ModuleList([conv_bn(16, 8, 1), conv_bn(16, 8, 3, d=2), conv_bn(16, 8, 3, d=4)])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv_bn(16, 8, 1))
        self.out = nn.Sequential(conv_bn(32, 16, 1), nn.Conv2d(16, 5, 1))

    def forward(self, x):
        y = self.stem(x)
        size = y.shape[-2:]
        parts = [b(y) for b in self.branches]
        parts.append(F.interpolate(self.pool(y), size=size, mode="bilinear", align_corners=False))
        y = self.out(torch.cat(parts, 1))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


@network((1, 3, 32, 32))
class HighResolution(nn.Module):
    """HRNet-like (Wang 2019) fusion with a hourglass branch, bicubic output, CBAM attention."""
    def __init__(self):
        super().__init__()
        self.hi, self.lo = conv_bn(3, 8), conv_bn(3, 16, 3, 2)
        self.up, self.down = conv_bn(16, 8, 1, act=None), conv_bn(8, 16, 3, 2, act=None)
        self.mlp = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16))
        self.spatial, self.out = nn.Conv2d(2, 1, 7, padding=3), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        a, b = self.hi(x), self.lo(x)
        a, b = F.relu(a + F.interpolate(self.up(b), scale_factor=2, mode="nearest")), F.relu(b + self.down(a))
        gate = self.mlp(b.mean((2, 3))) + self.mlp(b.amax((2, 3)))
        b = b * torch.sigmoid(gate).view(gate.size(0), -1, 1, 1)
        m = torch.cat([b.mean(1, keepdim=True), b.max(1, keepdim=True)[0]], 1)
        b = b * torch.sigmoid(self.spatial(m))
        a = a + F.interpolate(self.up(b), size=(32, 32), mode="nearest")
        return F.interpolate(self.out(a), scale_factor=1.5, mode="bicubic", align_corners=False)


@network((1, 3, 24, 24))
class SuperResolution(nn.Module):
    """EDSR / ESPCN: residual scaling, pixel shuffle and unshuffle, reflection padding."""
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(12, 16, 3, padding=1, padding_mode="reflect")
        self.body = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.PReLU(16), nn.Conv2d(16, 16, 3, padding=1))
        self.tail = nn.Conv2d(16, 48, 3, padding=1, padding_mode="replicate")
        self.register_buffer("mean", torch.tensor([0.44, 0.43, 0.40]).view(1, 3, 1, 1))

    def forward(self, x):
        x = self.head(F.pixel_unshuffle(x - self.mean, 2))
        x = x + self.body(x) * 0.1
        return (F.pixel_shuffle(self.tail(x), 4) + self.mean).clamp(0, 1)


@network((1, 3, 32, 32), (1, 16))
class StyleTransfer(nn.Module):
    """AdaIN (Huang 2017) and instance norm (Johnson 2016): reflection pads, upsample, affine styles."""
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(3, 8, 9), nn.InstanceNorm2d(8, affine=True),
                                  nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16))
        self.style, self.out = nn.Linear(16, 32), nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x, style):
        y = self.down(x)
        mean, std = y.mean((2, 3), keepdim=True), (y.var((2, 3), keepdim=True) + 1e-5).sqrt()
        scale, shift = self.style(style).unsqueeze(-1).unsqueeze(-1).chunk(2, 1)
        y = F.leaky_relu((y - mean) / std * (1 + scale) + shift, 0.2)
        return torch.tanh(self.out(F.interpolate(y, scale_factor=2)))


@network((1, 16))
class StyleGenerator(nn.Module):
    """StyleGAN2 (Karras 2020): pixel norm, mapping, weights modulated per sample by scaling x."""
    def __init__(self):
        super().__init__()
        self.map = nn.Sequential(nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16))
        self.const = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.w, self.affine = nn.Parameter(torch.randn(8, 8, 3, 3) * 0.1), nn.Linear(16, 8)
        self.noise, self.rgb = nn.Parameter(torch.randn(1, 1, 8, 8)), nn.Conv2d(8, 3, 1)

    def forward(self, z):
        z = z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8)
        s = self.affine(self.map(z)) + 1
        x = self.const.repeat(z.shape[0], 1, 1, 1)
        x = F.interpolate(x * s[:, :, None, None], scale_factor=2, mode="bilinear")
        demod = torch.rsqrt((self.w[None] * s[:, None, :, None, None]).square().sum([2, 3, 4]) + 1e-8)
        x = F.conv2d(x, self.w, padding=1) * demod[:, :, None, None] + self.noise * 0.1
        return self.rgb(F.leaky_relu(x, 0.2) * math.sqrt(2))


@network((1, 4, 8, 8))
class VaeDecoder(nn.Module):
    """Latent diffusion's decoder (Rombach 2022): GroupNorm, SiLU, self-attention, nearest upsampling."""
    class Res(nn.Module):
        def __init__(self, c, o):
            super().__init__()
            self.n1, self.n2 = nn.GroupNorm(4, c, 1e-6), nn.GroupNorm(4, o, 1e-6)
            self.c1, self.c2 = nn.Conv2d(c, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
            self.skip = nn.Conv2d(c, o, 1) if c != o else nn.Identity()

        def forward(self, x):
            h = self.c2(F.silu(self.n2(self.c1(F.silu(self.n1(x))))))
            return self.skip(x) + h

    def __init__(self):
        super().__init__()
        self.inp, self.r1, self.r2 = nn.Conv2d(4, 16, 3, padding=1), self.Res(16, 16), self.Res(16, 8)
        self.norm = nn.GroupNorm(4, 16)
        self.q, self.k, self.v, self.o = (nn.Conv2d(16, 16, 1) for _ in range(4))
        self.out = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, z):
        x = self.r1(self.inp(z / 0.18215))
        n, c, h, w = x.shape
        y = self.norm(x)
        q, k, v = (f(y).reshape(n, c, h * w) for f in (self.q, self.k, self.v))
        a = torch.softmax(torch.bmm(q.permute(0, 2, 1), k) * c ** -0.5, dim=2)
        x = x + self.o(torch.bmm(v, a.permute(0, 2, 1)).reshape(n, c, h, w))
        x = self.r2(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return (self.out(F.silu(x)) / 2 + 0.5).clamp(0, 1)


@network((1, 4, 16, 16), (1,), (1, 6, 24), ints={1: 1000})
class DiffusionUnet(nn.Module):
    """Stable-diffusion-like: sinusoid of an integer time step, cross attention, GEGLU."""
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.inp, self.emb = nn.Conv2d(4, 32, 3, padding=1), nn.Linear(64, 32)
        self.n1, self.c1 = nn.GroupNorm(8, 32), nn.Conv2d(32, 32, 3, padding=1)
        self.ln, self.q, self.kv = nn.LayerNorm(32), nn.Linear(32, 32, bias=False), nn.Linear(24, 64, bias=False)
        self.o, self.ff1, self.ff2 = nn.Linear(32, 32), nn.Linear(32, 256), nn.Linear(128, 32)
        self.down, self.out = nn.Conv2d(32, 32, 3, 2, 1), nn.Conv2d(64, 4, 3, padding=1)

    def forward(self, x, step, text):
        half = 16
        freq = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
        arg = step[:, None].float() * freq[None]
        t = self.t(torch.cat([arg.cos(), arg.sin()], -1))
        x = self.inp(x)
        x = x + self.c1(F.silu(self.n1(x) + self.emb(F.silu(t))[:, :, None, None]))
        skip, x = x, self.down(x)
        b, c, h, w = x.shape
        y = x.permute(0, 2, 3, 1).reshape(b, h * w, c)
        q = self.q(self.ln(y)).view(b, -1, 4, 8).transpose(1, 2)
        k, v = self.kv(text).view(b, -1, 2, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = y + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, -1, c))
        a, g = self.ff1(self.ln(y)).chunk(2, -1)
        y = y + self.ff2(a * F.gelu(g))
        x = y.reshape(b, h, w, c).permute(0, 3, 1, 2)
        return self.out(torch.cat([F.interpolate(x, size=skip.shape[2:]), skip], 1))


@network((1, 3, 8, 32, 32))
class Video3d(nn.Module):
    """R(2+1)D / C3D: 3-D convolutions and pools."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(3, 8, (1, 3, 3), padding=(0, 1, 1)), nn.BatchNorm3d(8), nn.ReLU(),
                                  nn.Conv3d(8, 8, (3, 1, 1), padding=(1, 0, 0)), nn.ReLU(),
                                  nn.MaxPool3d((1, 2, 2)), nn.Conv3d(8, 16, 3, 2, 1), nn.ReLU(), nn.AvgPool3d(2))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool3d(self.stem(x), 1).flatten(1))


# ---- detectors ----------------------------------------------------------------------------------

@network((1, 3, 64, 96))
class Yolo(nn.Module):
    """YOLOv5 (Ultralytics): C3, SPPF, nearest upsampling, decoded head with grid and anchor constants."""
    class C3(nn.Module):
        def __init__(self, c, o):
            super().__init__()
            h = o // 2
            self.a, self.b, self.c = (conv_bn(i, j, 1, act=nn.SiLU) for i, j in ((c, h), (c, h), (o, o)))
            self.m = nn.Sequential(conv_bn(h, h, 1, act=nn.SiLU), conv_bn(h, h, 3, act=nn.SiLU))

        def forward(self, x):
            a = self.a(x)
            return self.c(torch.cat((a + self.m(a), self.b(x)), 1))

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(12, 16, 3, act=nn.SiLU), conv_bn(16, 16, 3, 2, act=nn.SiLU))
        self.p3 = nn.Sequential(self.C3(16, 16), conv_bn(16, 32, 3, 2, act=nn.SiLU))
        self.p4 = nn.Sequential(self.C3(32, 32), conv_bn(32, 32, 3, 2, act=nn.SiLU))
        self.pool, self.sppf = nn.MaxPool2d(5, 1, 2), conv_bn(128, 32, 1, act=nn.SiLU)
        self.top, self.up = self.C3(64, 32), nn.Upsample(None, 2, "nearest")
        self.heads = nn.ModuleList(nn.Conv2d(32, 3 * 9, 1) for _ in range(2))
        self.register_buffer("anchors", torch.tensor([[[10., 13], [16, 30], [33, 23]],
                                                      [[30., 61], [62, 45], [59, 119]]]))

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        a = self.p3(self.stem(x))
        y = self.p4(a)
        y1 = self.pool(y)
        y2 = self.pool(y1)
        y = self.sppf(torch.cat([y, y1, y2, self.pool(y2)], 1))
        levels, found = [self.top(torch.cat([self.up(y), a], 1)), y], []
        for i, f in enumerate(levels):
            stride = 8 * 2 ** i
            f = self.heads[i](f)
            n, _, h, w = f.shape
            f = f.view(n, 3, 9, h, w).permute(0, 1, 3, 4, 2).contiguous()
            gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack((gx, gy), 2).expand(1, 3, h, w, 2).float() - 0.5
            xy, wh, conf = f.sigmoid().split((2, 2, 5), 4)
            xy = (xy * 2 + grid) * stride
            wh = (wh * 2) ** 2 * self.anchors[i].view(1, 3, 1, 1, 2)
            found.append(torch.cat((xy, wh, conf), 4).view(n, 3 * h * w, 9))
        return torch.cat(found, 1)


@network((1, 3, 64, 64))
class YoloV8Head(nn.Module):
    """Anchor-free head with distribution focal loss: softmax over bins, split, dist2bbox."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 16, 3, 4, act=nn.SiLU), conv_bn(16, 32, 3, 2, act=nn.SiLU))
        self.next = conv_bn(32, 32, 3, 2, act=nn.SiLU)
        self.box, self.cls = nn.Conv2d(32, 64, 1), nn.Conv2d(32, 6, 1)
        self.dfl = nn.Conv2d(16, 1, 1, bias=False)
        self.dfl.weight.data = torch.arange(16.).view(1, 16, 1, 1)

    def forward(self, x):
        a = self.stem(x)
        levels, points, strides = [a, self.next(a)], [], []
        n = x.shape[0]
        y = torch.cat([torch.cat((self.box(f), self.cls(f)), 1).view(n, 70, -1) for f in levels], 2)
        for f, s in zip(levels, (8, 16)):
            h, w = f.shape[2:]
            sy, sx = torch.meshgrid(torch.arange(h, dtype=torch.float32) + 0.5, torch.arange(w, dtype=torch.float32) + 0.5,
                                    indexing="ij")
            points.append(torch.stack((sx, sy), -1).view(-1, 2))
            strides.append(torch.full((h * w, 1), s, dtype=torch.float32))
        points, strides = torch.cat(points).t(), torch.cat(strides).t()
        box, cls = y.split((64, 6), 1)
        d = self.dfl(box.view(n, 4, 16, -1).transpose(2, 1).softmax(1)).view(n, 4, -1)
        lt, rb = d.chunk(2, 1)
        p1, p2 = points.unsqueeze(0) - lt, points.unsqueeze(0) + rb
        box = torch.cat(((p1 + p2) / 2, p2 - p1), 1) * strides
        return torch.cat((box, cls.sigmoid()), 1)


@network((1, 3, 64, 80))
class RetinaNet(nn.Module):
    """Lin et al. 2017: feature pyramid by interpolate(size), shared heads, boxes decoded and clipped."""
    def __init__(self):
        super().__init__()
        self.c3 = nn.Sequential(conv_bn(3, 16, 7, 4), conv_bn(16, 16, 3, 2))
        self.c4, self.c5 = conv_bn(16, 24, 3, 2), conv_bn(24, 32, 3, 2)
        self.l3, self.l4, self.l5 = nn.Conv2d(16, 16, 1), nn.Conv2d(24, 16, 1), nn.Conv2d(32, 16, 1)
        self.cls = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
                                 nn.Conv2d(16, 9 * 4, 3, padding=1))
        self.box = nn.Conv2d(16, 9 * 4, 3, padding=1)
        sizes = [(8, 10), (4, 5), (2, 3)]
        n = sum(h * w for h, w in sizes) * 9
        self.register_buffer("anchors", torch.rand(n, 4) * 40 + torch.tensor([0., 0, 20, 20]))

    def forward(self, x):
        c3 = self.c3(x)
        c4 = self.c4(c3)
        c5 = self.l5(self.c5(c4))
        p4 = self.l4(c4) + F.interpolate(c5, size=c4.shape[-2:], mode="nearest")
        p3 = self.l3(c3) + F.interpolate(p4, size=c3.shape[-2:], mode="nearest")
        cls, box = [], []
        for f in (p3, p4, c5):
            n, _, h, w = f.shape
            c = self.cls(f).view(n, -1, 4, h, w).permute(0, 3, 4, 1, 2)
            cls.append(c.reshape(n, -1, 4))
            box.append(self.box(f).permute(0, 2, 3, 1).reshape(n, -1, 4))
        cls, d = torch.cat(cls, 1).sigmoid(), torch.cat(box, 1)
        w, h = self.anchors[:, 2] - self.anchors[:, 0], self.anchors[:, 3] - self.anchors[:, 1]
        cx, cy = self.anchors[:, 0] + 0.5 * w, self.anchors[:, 1] + 0.5 * h
        limit = math.log(1000 / 16)
        px, py = d[..., 0] * w + cx, d[..., 1] * h + cy
        pw, ph = d[..., 2].clamp(max=limit).exp() * w, d[..., 3].clamp(max=limit).exp() * h
        box = torch.stack((px - pw / 2, py - ph / 2, px + pw / 2, py + ph / 2), -1)
        box[..., 0::2] = box[..., 0::2].clamp(0, 80)
        box[..., 1::2] = box[..., 1::2].clamp(0, 64)
        return cls, box


@network((1, 3, 75, 75))
class Ssd(nn.Module):
    """Liu et al. 2016: L2 norm scaling, ceil-mode pools, dilated fc6, softmax, priors."""
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2, ceil_mode=True),
                               nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2, ceil_mode=True))
        self.scale = nn.Parameter(torch.full((16,), 20.))
        self.b = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(16, 24, 3, padding=6, dilation=6), nn.ReLU(),
                               nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.ReLU())
        self.loc = nn.ModuleList(nn.Conv2d(c, 4 * 4, 3, padding=1) for c in (16, 24))
        self.conf = nn.ModuleList(nn.Conv2d(c, 4 * 3, 3, padding=1) for c in (16, 24))
        self.register_buffer("priors", torch.rand((19 * 19 + 10 * 10) * 4, 4))

    def forward(self, x):
        a = self.a(x)
        norm = a.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-10
        levels = [self.scale.unsqueeze(0).unsqueeze(2).unsqueeze(3).expand_as(a) * torch.div(a, norm), self.b(a)]
        loc = torch.cat([f(v).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1)
                         for f, v in zip(self.loc, levels)], 1).view(x.size(0), -1, 4)
        conf = torch.cat([f(v).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1)
                          for f, v in zip(self.conf, levels)], 1).view(x.size(0), -1, 3)
        xy = self.priors[:, :2] + loc[:, :, :2] * 0.1 * self.priors[:, 2:]
        wh = self.priors[:, 2:] * torch.exp(loc[:, :, 2:] * 0.2)
        return torch.cat((xy - wh / 2, xy + wh / 2), 2), F.softmax(conf, dim=-1)


@network((1, 3, 64, 64))
class CenterNet(nn.Module):
    """Zhou et al. 2019: peaks by max pooling and equality, top k, gather."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 16, 3, 2), conv_bn(16, 16, 3, 2))
        self.up = nn.ConvTranspose2d(16, 16, 4, 2, 1, bias=False)
        self.heat, self.wh = nn.Conv2d(16, 3, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        y = F.relu(self.up(self.body(x)))
        heat = self.heat(y).sigmoid()
        heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
        n, c, h, w = heat.shape
        score, place = torch.topk(heat.view(n, -1), 8)
        cls, place = torch.div(place, h * w, rounding_mode="floor"), place % (h * w)
        ys, xs = torch.div(place, w, rounding_mode="floor").float(), (place % w).float()
        wh = self.wh(y).permute(0, 2, 3, 1).reshape(n, -1, 2)
        wh = wh.gather(1, place.unsqueeze(2).expand(n, 8, 2))
        box = torch.stack([xs - wh[..., 0] / 2, ys - wh[..., 1] / 2, xs + wh[..., 0] / 2, ys + wh[..., 1] / 2], 2)
        return box, score, cls


@network((1, 3, 64, 64))
class BiFpn(nn.Module):
    """EfficientDet (Tan 2020): weighted fusion with learned non-negative weights, depthwise heads."""
    def __init__(self):
        super().__init__()
        self.a, self.b = conv_bn(3, 16, 3, 4, act=nn.SiLU), conv_bn(16, 16, 3, 2, act=nn.SiLU)
        self.w1, self.w2 = nn.Parameter(torch.rand(2)), nn.Parameter(torch.rand(3))
        self.sep = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), nn.Conv2d(16, 16, 1),
                                 nn.BatchNorm2d(16, eps=1e-3))
        self.head = nn.Conv2d(16, 9 * 5, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        w = F.relu(self.w1)
        w = w / (torch.sum(w, dim=0) + 1e-4)
        up = self.sep(F.silu(w[0] * a + w[1] * F.interpolate(b, scale_factor=2)))
        v = F.relu(self.w2) / (torch.sum(F.relu(self.w2), dim=0) + 1e-4)
        low = self.sep(F.silu(v[0] * b + v[1] * b + v[2] * F.max_pool2d(F.pad(up, (0, 1, 0, 1)), 3, 2)))
        found = []
        for f in (up, low):
            y = self.head(f).permute(0, 2, 3, 1).contiguous()
            found.append(y.view(y.shape[0], y.shape[1], y.shape[2], 9, 5).view(y.shape[0], -1, 5))
        return torch.cat(found, dim=1).sigmoid()


# ---- vision transformers ------------------------------------------------------------------------

class Attention(nn.Module):
    def __init__(self, d, heads, fused=True):
        super().__init__()
        self.h, self.qkv, self.o, self.fused = heads, nn.Linear(d, 3 * d), nn.Linear(d, d), fused

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            a = (q * (d // self.h) ** -0.5) @ k.transpose(-2, -1)
            y = (a if mask is None else a + mask).softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, d, heads, fused=True, act=nn.GELU):
        super().__init__()
        self.n1, self.n2, self.att = nn.LayerNorm(d, 1e-6), nn.LayerNorm(d, 1e-6), Attention(d, heads, fused)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), act(), nn.Linear(2 * d, d))

    def forward(self, x, mask=None):
        x = x + self.att(self.n1(x), mask)
        return x + self.mlp(self.n2(x))


@network((1, 3, 32, 32))
class Vit(nn.Module):
    """Dosovitskiy et al. 2021: class token, fused attention."""
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 32, 8, 8), nn.Parameter(torch.randn(1, 1, 32))
        self.pos = nn.Parameter(torch.randn(1, 17, 32) * 0.02)
        self.blocks, self.norm, self.head = nn.ModuleList(Block(32, 4) for _ in range(2)), nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.pos
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x)[:, 0])


@network((1, 3, 40, 40))
class VitInterpolated(nn.Module):
    """DINO/DeiT (Touvron 2021): two tokens, position embedding resized bicubically, batch.size expand."""
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 24, 8, 8)
        self.cls, self.dist = nn.Parameter(torch.randn(1, 1, 24)), nn.Parameter(torch.randn(1, 1, 24))
        self.pos = nn.Parameter(torch.randn(1, 18, 24))
        self.block, self.h1, self.h2 = Block(24, 3, False), nn.Linear(24, 7), nn.Linear(24, 7)

    def forward(self, x):
        n = x.size(0)
        f = self.patch(x)
        grid = self.pos[:, 2:].reshape(1, 4, 4, 24).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(f.shape[2], f.shape[3]), mode="bicubic", align_corners=False)
        pos = torch.cat((self.pos[:, :2], grid.permute(0, 2, 3, 1).view(1, -1, 24)), 1)
        x = torch.cat((self.cls.expand(n, -1, -1), self.dist.expand(n, -1, -1), f.flatten(2).transpose(1, 2)), 1)
        x = self.block(x + pos)
        return (self.h1(x[:, 0]) + self.h2(x[:, 1])) / 2


@network((1, 3, 32, 32))
class ConvNext(nn.Module):
    """Liu et al. 2022: depthwise 7x7, channels-last LayerNorm, GELU, layer scale, channels-first norm."""
    def __init__(self):
        super().__init__()
        self.stem, self.dw = nn.Conv2d(3, 16, 4, 4), nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.n, self.a, self.b = nn.LayerNorm(16, 1e-6), nn.Linear(16, 64), nn.Linear(64, 16)
        self.gamma, self.w, self.c = (nn.Parameter(torch.rand(16)) for _ in range(3))
        self.down, self.fc = nn.Conv2d(16, 24, 2, 2), nn.Linear(24, 10)
        self.grn = nn.Parameter(torch.rand(1, 1, 1, 64))

    def first(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        return self.w[:, None, None] * ((x - u) / torch.sqrt(s + 1e-6)) + self.c[:, None, None]

    def forward(self, x):
        x = self.first(self.stem(x))
        y = F.gelu(self.a(self.n(self.dw(x).permute(0, 2, 3, 1))))
        g = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
        y = self.grn * (y * (g / (g.mean(dim=-1, keepdim=True) + 1e-6))) + y
        x = x + (self.gamma * self.b(y)).permute(0, 3, 1, 2)
        return self.fc(self.down(self.first(x)).mean([-2, -1]))


@network((1, 3, 32, 32))
class Swin(nn.Module):
    """Liu et al. 2021: shifted windows by roll, relative position bias, attention mask, patch merging."""
    def __init__(self):
        super().__init__()
        self.patch, self.ws, self.d = nn.Conv2d(3, 24, 4, 4), 4, 24
        self.n1, self.n2 = nn.LayerNorm(24), nn.LayerNorm(24)
        self.att, self.att2 = Attention(24, 3, False), Attention(24, 3, False)
        self.table = nn.Parameter(torch.randn(49, 3) * 0.1)
        c = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        r = (c[:, :, None] - c[:, None, :]).permute(1, 2, 0) + 3
        self.register_buffer("index", r[..., 0] * 7 + r[..., 1])
        img = torch.zeros(1, 8, 8, 1)
        for i, h in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
            for j, w in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
                img[:, h, w, :] = i * 3 + j
        m = self.windows(img).squeeze(-1)
        m = m[:, None, :] - m[:, :, None]
        self.register_buffer("mask", m.masked_fill(m != 0, -100.).masked_fill(m == 0, 0.))
        self.merge_n, self.merge, self.head = nn.LayerNorm(96), nn.Linear(96, 48, bias=False), nn.Linear(48, 10)

    def windows(self, x):
        b, h, w, c = x.shape
        x = x.view(b, h // 4, 4, w // 4, 4, c)
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 16, c)

    def unwindows(self, x, h, w):
        x = x.view(-1, h // 4, w // 4, 4, 4, x.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, h, w, x.shape[-1])

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        bias = self.table[self.index.view(-1)].view(16, 16, 3).permute(2, 0, 1).contiguous().unsqueeze(0)
        x = x + self.unwindows(self.att(self.windows(self.n1(x)), bias), 8, 8)
        y = torch.roll(self.n2(x), shifts=(-2, -2), dims=(1, 2))
        w = self.windows(y)
        b = y.shape[0]
        mask = (bias.unsqueeze(1) + self.mask[None, :, None]).expand(b, 4, 3, 16, 16).reshape(-1, 3, 16, 16)
        y = torch.roll(self.unwindows(self.att2(w, mask), 8, 8), shifts=(2, 2), dims=(1, 2))
        x = x + y
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.merge(self.merge_n(x.view(b, -1, 96)))
        return self.head(F.adaptive_avg_pool1d(x.transpose(1, 2), 1).flatten(1))


@network((1, 3, 32, 32))
class MobileVit(nn.Module):
    """Mehta and Rastegari 2022: patches unfolded by reshapes, transformer, folded back."""
    def __init__(self):
        super().__init__()
        self.stem, self.local = conv_bn(3, 16, 3, 2, act=nn.SiLU), conv_bn(16, 24, 1, act=nn.SiLU)
        self.block, self.back = Block(24, 4, act=nn.SiLU), conv_bn(24, 16, 1, act=nn.SiLU)
        self.fuse, self.fc = conv_bn(32, 16, 3, act=nn.SiLU), nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        y = self.local(x)
        b, c, h, w = y.shape
        nh, nw = math.ceil(h / 2), math.ceil(w / 2)
        y = y.reshape(b * c * nh, 2, nw, 2).transpose(1, 2).reshape(b, c, nh * nw, 4)
        y = self.block(y.transpose(1, 3).reshape(b * 4, nh * nw, c))
        y = y.contiguous().view(b, 4, nh * nw, c).transpose(1, 3).reshape(b * c * nh, nw, 2, 2)
        y = self.back(y.transpose(1, 2).reshape(b, c, h, w))
        return self.fc(self.fuse(torch.cat((x, y), 1)).mean((2, 3)))


@network((1, 3, 32, 32))
class MlpMixer(nn.Module):
    """Tolstikhin et al. 2021, with einsum patch embedding and a gMLP gate."""
    def __init__(self):
        super().__init__()
        self.w, self.n1, self.n2 = nn.Parameter(torch.randn(3, 8, 8, 32) * 0.1), nn.LayerNorm(32), nn.LayerNorm(32)
        self.t1, self.t2, self.c1, self.c2 = nn.Linear(16, 24), nn.Linear(24, 16), nn.Linear(32, 64), nn.Linear(32, 32)
        self.spatial, self.fc = nn.Conv1d(16, 16, 1), nn.Linear(32, 10)

    def forward(self, x):
        b = x.shape[0]
        x = x.reshape(b, 3, 4, 8, 4, 8)
        x = torch.einsum("bchpwq,cpqd->bhwd", x, self.w).reshape(b, 16, 32)
        x = x + self.t2(F.gelu(self.t1(self.n1(x).transpose(1, 2)), approximate="tanh")).transpose(1, 2)
        u, v = self.c1(self.n2(x)).chunk(2, -1)
        return self.fc((x + self.c2(u * self.spatial(v))).mean(1))


@network((1, 3, 64, 64))
class Detr(nn.Module):
    """Carion et al. 2020: sine positions, nn.Transformer encoder and decoder, object queries."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, 16, 7, 4), conv_bn(16, 24, 3, 4))
        self.t = nn.Transformer(24, 4, 1, 1, 48, batch_first=True)
        self.q, self.cls, self.box = nn.Parameter(torch.randn(6, 24)), nn.Linear(24, 5), nn.Linear(24, 4)

    def forward(self, x):
        f = self.body(x)
        n, c, h, w = f.shape
        ones = torch.ones(n, h, w, device=x.device)
        ys, xs = ones.cumsum(1), ones.cumsum(2)
        ys, xs = ys / (ys[:, -1:, :] + 1e-6) * 2 * math.pi, xs / (xs[:, :, -1:] + 1e-6) * 2 * math.pi
        t = torch.arange(12, dtype=torch.float32)
        t = 10000 ** (2 * torch.div(t, 2, rounding_mode="floor") / 12)
        px, py = xs[:, :, :, None] / t, ys[:, :, :, None] / t
        px = torch.stack((px[..., 0::2].sin(), px[..., 1::2].cos()), dim=4).flatten(3)
        py = torch.stack((py[..., 0::2].sin(), py[..., 1::2].cos()), dim=4).flatten(3)
        pos = torch.cat((py, px), dim=3).flatten(1, 2)
        y = self.t(f.flatten(2).permute(0, 2, 1) + pos, self.q.unsqueeze(0).repeat(n, 1, 1))
        return self.cls(y), self.box(y).sigmoid()


# ---- sound --------------------------------------------------------------------------------------

@network((1, 1, 800))
class ConvTasnet(nn.Module):
    """Luo and Mesgarani 2019: learned filterbank, global layer norm, dilated depthwise blocks, masks."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.g, self.b = nn.Parameter(torch.ones(1, c, 1)), nn.Parameter(torch.zeros(1, c, 1))

        def forward(self, y):
            mean = y.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
            var = ((y - mean) ** 2).mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
            return self.g * (y - mean) / torch.pow(var + 1e-8, 0.5) + self.b

    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Conv1d(1, 32, 16, 8, bias=False), nn.ConvTranspose1d(32, 1, 16, 8, bias=False)
        self.norm, self.bott = self.Norm(32), nn.Conv1d(32, 16, 1)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv1d(16, 24, 1), nn.PReLU(), self.Norm(24),
            nn.Conv1d(24, 24, 3, padding=2 ** i, dilation=2 ** i, groups=24), nn.PReLU(), self.Norm(24),
            nn.Conv1d(24, 16, 1)) for i in range(4))
        self.mask = nn.Conv1d(16, 64, 1)

    def forward(self, x):
        w = F.relu(self.enc(x))
        y = self.bott(self.norm(w))
        for b in self.blocks:
            y = y + b(y)
        m = torch.sigmoid(self.mask(y)).view(x.shape[0], 2, 32, -1)
        s = (w.unsqueeze(1) * m).view(x.shape[0] * 2, 32, -1)
        return self.dec(s).view(x.shape[0], 2, -1)


@network((1, 8, 60))
class Tcn(nn.Module):
    """Bai et al. 2018: causal dilated convolutions with weight norm, chomped at the end."""
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.utils.parametrizations.weight_norm(
            nn.Conv1d(8 if i == 0 else 16, 16, 3, padding=2 * 2 ** i, dilation=2 ** i)) for i in range(4))
        self.down, self.fc = nn.Conv1d(8, 16, 1), nn.Linear(16, 4)

    def forward(self, x):
        res = self.down(x)
        for i, c in enumerate(self.convs):
            y = F.relu(c(x)[:, :, :-2 * 2 ** i].contiguous())
            x = F.relu(y + (res if i == 0 else x))
        return F.log_softmax(self.fc(x[:, :, -1]), dim=1)


@network((1, 1, 200), (1, 10, 200))
class Wavenet(nn.Module):
    """van den Oord et al. 2016: gated dilated causal convolutions, local conditioning, skips, one-hot."""
    def __init__(self):
        super().__init__()
        self.inp = nn.Conv1d(1, 16, 1)
        self.dil = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2 ** i) for i in range(4))
        self.cond = nn.ModuleList(nn.Conv1d(10, 32, 1) for _ in range(4))
        self.res = nn.ModuleList(nn.Conv1d(16, 16 + 24, 1) for _ in range(4))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(24, 24, 1), nn.ReLU(), nn.Conv1d(24, 64, 1))

    def forward(self, x, cond):
        x, skips = self.inp(x), 0
        for i in range(4):
            y = self.dil[i](F.pad(x, (2 ** i, 0))) + self.cond[i](cond)
            a, b = torch.split(y, 16, dim=1)
            y = self.res[i](torch.tanh(a) * torch.sigmoid(b))
            x, skips = (x + y[:, :16]) * math.sqrt(0.5), skips + y[:, 16:]
        return torch.softmax(self.out(skips), 1), self.out(skips).argmax(1)


@network((1, 20, 24))
class HifiGan(nn.Module):
    """Kong et al. 2020: 1-D transposed convolutions, multi-receptive-field fusion."""
    def __init__(self):
        super().__init__()
        wn = nn.utils.parametrizations.weight_norm
        self.pre, self.post = wn(nn.Conv1d(20, 32, 7, padding=3)), wn(nn.Conv1d(8, 1, 7, padding=3))
        self.ups = nn.ModuleList([wn(nn.ConvTranspose1d(32, 16, 8, 4, 2)), wn(nn.ConvTranspose1d(16, 8, 4, 2, 1))])
        self.res = nn.ModuleList(nn.ModuleList(wn(nn.Conv1d(c, c, k, dilation=3, padding=3 * (k - 1) // 2))
                                               for k in (3, 7)) for c in (16, 8))

    def forward(self, x):
        x = self.pre(x)
        for up, res in zip(self.ups, self.res):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(x + r(F.leaky_relu(x, 0.1)) for r in res) / len(res)
        return torch.tanh(self.post(F.leaky_relu(x)))


@network((1, 12), ints={0: 40})
class TacotronEncoder(nn.Module):
    """Tacotron 2 (Shen 2018): embedding, convolutions, bidirectional LSTM."""
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 24)
        self.convs = nn.ModuleList(nn.Sequential(nn.Conv1d(24, 24, 5, padding=2), nn.BatchNorm1d(24)) for _ in range(3))
        self.lstm = nn.LSTM(24, 12, 1, batch_first=True, bidirectional=True)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        for c in self.convs:
            x = F.dropout(F.relu(c(x)), 0.5, self.training)
        return self.lstm(x.transpose(1, 2))[0]


@network((1, 10), (1, 16), (1, 16), (1, 9, 12), (1, 1, 9), (1, 12))
class TacotronDecoder(nn.Module):
    """One step of Tacotron 2's decoder: prenet, LSTM cells, location-sensitive attention."""
    def __init__(self):
        super().__init__()
        self.pre, self.cell = nn.Linear(10, 8), nn.LSTMCell(20, 16)
        self.q, self.k = nn.Linear(16, 8, bias=False), nn.Linear(12, 8, bias=False)
        self.loc, self.lw, self.v = nn.Conv1d(1, 4, 5, padding=2), nn.Linear(4, 8, bias=False), nn.Linear(8, 1)
        self.out, self.stop = nn.Linear(28, 10), nn.Linear(28, 1)

    def forward(self, frame, h, c, memory, weights, context):
        x = F.relu(self.pre(frame))
        h, c = self.cell(torch.cat((x, context), -1), (h, c))
        e = self.v(torch.tanh(self.q(h.unsqueeze(1)) + self.k(memory) + self.lw(self.loc(weights).transpose(1, 2))))
        a = F.softmax(e.squeeze(-1), dim=1)
        context = torch.bmm(a.unsqueeze(1), memory).squeeze(1)
        y = torch.cat((h, context), 1)
        return self.out(y), self.stop(y), h, c, weights + a.unsqueeze(1), context


@network((1, 1, 32, 100))
class Crnn(nn.Module):
    """Shi et al. 2017: convolutions, two bidirectional LSTMs over the width, log-probabilities."""
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(conv_bn(1, 16), nn.MaxPool2d(2, 2), conv_bn(16, 24), nn.MaxPool2d(2, 2),
                                 conv_bn(24, 32), nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(32, 32, (4, 2)))
        self.r1, self.r2 = nn.LSTM(32, 16, bidirectional=True), nn.LSTM(16, 16, bidirectional=True)
        self.mid, self.fc = nn.Linear(32, 16), nn.Linear(32, 11)

    def forward(self, x):
        x = self.cnn(x).squeeze(2).permute(2, 0, 1)
        x, _ = self.r1(x)
        t, b, h = x.size()
        x, _ = self.r2(self.mid(x.view(t * b, h)).view(t, b, -1))
        return F.log_softmax(self.fc(x), dim=2)


@network((1, 1, 40, 64))
class DeepSpeech2(nn.Module):
    """Amodei et al. 2016: 2-D convolutions with hardtanh, bidirectional GRUs summed, lookahead conv."""
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20),
                                  nn.Conv2d(8, 8, (7, 5), (2, 1), (3, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20))
        self.gru, self.bn = nn.GRU(80, 16, bidirectional=True, batch_first=True), nn.BatchNorm1d(16)
        self.look, self.fc = nn.Conv1d(16, 16, 5, groups=16, bias=False), nn.Linear(16, 9)

    def forward(self, x):
        x = self.conv(x)
        b, c, f, t = x.size()
        x, _ = self.gru(x.view(b, c * f, t).transpose(1, 2))
        x = x.view(b, t, 2, -1).sum(2)
        x = self.bn(x.reshape(b * t, -1)).reshape(b, t, -1).transpose(1, 2)
        x = self.look(F.pad(x, (0, 4))).transpose(1, 2)
        return F.softmax(self.fc(x), -1)


@network((1, 30, 16))
class Conformer(nn.Module):
    """Gulati et al. 2020: half-step feed-forward, relative-shift attention, GLU convolution."""
    def __init__(self):
        super().__init__()
        d = 16
        self.f1, self.f2 = (nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 32), nn.SiLU(), nn.Linear(32, d)) for _ in range(2))
        self.q, self.k, self.v, self.p, self.o = (nn.Linear(d, d) for _ in range(5))
        self.bu, self.bv, self.n = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4, 4)), nn.LayerNorm(d)
        self.pos = nn.Parameter(torch.randn(59, d))
        self.c1, self.c2 = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 1)
        self.dw, self.bn, self.end = nn.Conv1d(d, d, 15, padding=7, groups=d), nn.BatchNorm1d(d), nn.LayerNorm(d)

    def shift(self, x):
        b, h, t, n = x.size()
        x = torch.cat([torch.zeros((b, h, t, 1)), x], dim=-1).view(b, h, n + 1, t)
        return x[:, :, 1:].view(b, h, t, n)[:, :, :, : n // 2 + 1]

    def forward(self, x):
        x = x + 0.5 * self.f1(x)
        b, t, d = x.shape
        y = self.n(x)
        q, k, v = self.q(y).view(b, t, 4, 4), self.k(y).view(b, t, 4, 4).transpose(1, 2), self.v(y).view(b, t, 4, 4).transpose(1, 2)
        p = self.p(self.pos).view(1, -1, 4, 4).transpose(1, 2)
        ac = torch.matmul((q + self.bu).transpose(1, 2), k.transpose(-2, -1))
        bd = self.shift(torch.matmul((q + self.bv).transpose(1, 2), p.transpose(-2, -1)))
        a = torch.softmax((ac + bd) / 2, -1)
        x = x + self.o(torch.matmul(a, v).transpose(1, 2).contiguous().view(b, t, d))
        y = F.glu(self.c1(self.n(x).transpose(1, 2)), dim=1)
        x = x + self.c2(F.silu(self.bn(self.dw(y)))).transpose(1, 2)
        return self.end(x + 0.5 * self.f2(x))


@network((1, 400))
class Wav2vec(nn.Module):
    """Baevski et al. 2020: normalised waveform, strided convolutions, grouped positional convolution."""
    def __init__(self):
        super().__init__()
        self.c1, self.gn = nn.Conv1d(1, 16, 10, 5, bias=False), nn.GroupNorm(16, 16)
        self.c2, self.c3 = nn.Conv1d(16, 16, 3, 2, bias=False), nn.Conv1d(16, 16, 2, 2, bias=False)
        self.n, self.proj = nn.LayerNorm(16), nn.Linear(16, 24)
        self.pos = nn.utils.parametrizations.weight_norm(nn.Conv1d(24, 24, 8, padding=4, groups=4), dim=2)
        self.layer = nn.TransformerEncoderLayer(24, 4, 48, batch_first=True, activation="gelu")

    def forward(self, x):
        x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-7)
        x = F.gelu(self.c3(F.gelu(self.c2(F.gelu(self.gn(self.c1(x.unsqueeze(1))))))))
        x = self.proj(self.n(x.transpose(1, 2)))
        x = x + F.gelu(self.pos(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        return self.layer(x)


@network((1, 2, 16), (2, 1, 12), (2, 1, 12), batch=False)
class LstmState(nn.Module):
    """A stream: two-layer LSTM with its state passed in and out, projection."""
    def __init__(self):
        super().__init__()
        self.r, self.fc = nn.LSTM(16, 12, 2, batch_first=True), nn.Linear(12, 3)

    def forward(self, x, h, c):
        y, (h, c) = self.r(x, (h, c))
        return torch.sigmoid(self.fc(y)), h, c


@network((1, 14, 8), batch=True)
class GruAttention(nn.Module):
    """Elman RNN and GRU layers with additive attention pooling."""
    def __init__(self):
        super().__init__()
        self.rnn, self.gru = nn.RNN(8, 12, nonlinearity="relu", batch_first=True), nn.GRU(12, 12, 2, batch_first=True)
        self.a, self.v, self.fc = nn.Linear(12, 8), nn.Linear(8, 1, bias=False), nn.Linear(24, 4)

    def forward(self, x):
        y, h = self.gru(self.rnn(x)[0])
        a = torch.softmax(self.v(torch.tanh(self.a(y))), dim=1)
        return self.fc(torch.cat([(a * y).sum(1), h[-1]], 1))


# ---- language -----------------------------------------------------------------------------------

@network((1, 16), (1, 16), ints={0: 60, 1: 2})
class Bert(nn.Module):
    """Devlin et al. 2019: ids and mask as integers, additive mask, pooler."""
    def __init__(self):
        super().__init__()
        self.w, self.p, self.t = nn.Embedding(60, 32), nn.Embedding(32, 32), nn.Embedding(2, 32)
        self.register_buffer("ids", torch.arange(32).expand((1, -1)))
        self.n, self.n2, self.n3 = nn.LayerNorm(32, 1e-12), nn.LayerNorm(32, 1e-12), nn.LayerNorm(32, 1e-12)
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))
        self.f1, self.f2, self.pool = nn.Linear(32, 64), nn.Linear(64, 32), nn.Linear(32, 32)

    def heads(self, x):
        return x.view(x.size()[:-1] + (4, 8)).permute(0, 2, 1, 3)

    def forward(self, ids, mask):
        n, t = ids.size()
        types = torch.zeros((n, t), dtype=torch.long)
        x = self.n(self.w(ids) + self.p(self.ids[:, :t]) + self.t(types))
        m = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(torch.float32).min
        a = torch.matmul(self.heads(self.q(x)), self.heads(self.k(x)).transpose(-1, -2)) / math.sqrt(8) + m
        y = torch.matmul(F.softmax(a, -1), self.heads(self.v(x))).permute(0, 2, 1, 3).contiguous()
        x = self.n2(self.o(y.view(y.size()[:-2] + (32,))) + x)
        x = self.n3(self.f2(F.gelu(self.f1(x))) + x)
        return x, torch.tanh(self.pool(x[:, 0]))


@network((1, 12), ints={0: 50})
class Gpt(nn.Module):
    """GPT-2 (Radford 2019): causal mask from a buffer, Conv1D weights, tanh GELU, tied head."""
    def __init__(self):
        super().__init__()
        self.w, self.p = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.n1, self.n2, self.n3 = nn.LayerNorm(32), nn.LayerNorm(32), nn.LayerNorm(32)
        self.att, self.att_b = nn.Parameter(torch.randn(32, 96) * 0.1), nn.Parameter(torch.zeros(96))
        self.o, self.f1, self.f2 = nn.Linear(32, 32), nn.Linear(32, 128), nn.Linear(128, 32)
        self.register_buffer("bias", torch.tril(torch.ones(64, 64, dtype=torch.bool)).view(1, 1, 64, 64))

    def forward(self, ids):
        t = ids.size(-1)
        pos = torch.arange(0, t, dtype=torch.long, device=ids.device).unsqueeze(0).view(-1, t)
        x = self.w(ids) + self.p(pos)
        y = torch.addmm(self.att_b, self.n1(x).view(-1, 32), self.att).view(x.size()[:-1] + (96,))
        q, k, v = (z.view(z.size()[:-1] + (4, 8)).permute(0, 2, 1, 3) for z in y.split(32, dim=2))
        a = torch.matmul(q, k.transpose(-1, -2)) / torch.full([], 8 ** 0.5)
        least = torch.full([], torch.finfo(a.dtype).min)
        a = F.softmax(torch.where(self.bias[:, :, :t, :t], a, least), dim=-1)
        y = torch.matmul(a, v).permute(0, 2, 1, 3).contiguous().view(x.size())
        x = x + self.o(y)
        f = self.f1(self.n2(x))
        f = 0.5 * f * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (f + 0.044715 * torch.pow(f, 3.0))))
        return F.linear(self.n3(x + self.f2(f)), self.w.weight)


@network((1, 12), ints={0: 50})
class Llama(nn.Module):
    """Touvron 2023: RMSNorm, rotary positions, grouped-query attention, SwiGLU, fused causal attention."""
    def __init__(self):
        super().__init__()
        self.w, self.n1, self.n2 = nn.Embedding(50, 32), nn.Parameter(torch.rand(32)), nn.RMSNorm(32, 1e-6)
        self.q, self.k, self.v, self.o = (nn.Linear(32, n, bias=False) for n in (32, 16, 16, 32))
        self.gate, self.up, self.down = nn.Linear(32, 64, False), nn.Linear(32, 64, False), nn.Linear(64, 32, False)
        self.register_buffer("inv", 1.0 / 10000 ** (torch.arange(0, 8, 2).float() / 8))

    def rms(self, x):
        v = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.n1 * (x * torch.rsqrt(v + 1e-6))

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, ids):
        b, t = ids.shape
        x = self.w(ids)
        pos = torch.arange(t)[None, :]
        f = (self.inv[None, :, None].float().expand(pos.shape[0], -1, 1) @ pos[:, None, :].float()).transpose(1, 2)
        f = torch.cat((f, f), -1)
        cos, sin = f.cos().unsqueeze(1), f.sin().unsqueeze(1)
        y = self.rms(x)
        q, k, v = (l(y).view(b, t, -1, 8).transpose(1, 2) for l in (self.q, self.k, self.v))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        k, v = (z[:, :, None].expand(b, 2, 2, t, 8).reshape(b, 4, t, 8) for z in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).contiguous().view(b, t, -1))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@network((1, 10), (1, 7), ints={0: 30, 1: 30})
class Seq2seq(nn.Module):
    """Vaswani et al. 2017: encoder and decoder layers, padding mask from the ids, generated causal mask."""
    def __init__(self):
        super().__init__()
        self.s, self.t = nn.Embedding(30, 16), nn.Embedding(30, 16)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2, enable_nested_tensor=False)
        self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 1)
        self.fc = nn.Linear(16, 30)

    def forward(self, src, tgt):
        pad = src == 1
        memory = self.enc(self.s(src) * math.sqrt(16), src_key_padding_mask=pad)
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        return self.fc(self.dec(self.t(tgt) * 4.0, memory, tgt_mask=mask, memory_key_padding_mask=pad))


@network((9, 1, 16), batch=False)
class MultiheadFirst(nn.Module):
    """nn.MultiheadAttention, time first, weights returned, key and value of other widths."""
    def __init__(self):
        super().__init__()
        self.a, self.n = nn.MultiheadAttention(16, 2), nn.LayerNorm(16)
        self.b, self.k = nn.MultiheadAttention(16, 4, kdim=8, vdim=8), nn.Linear(16, 8)

    def forward(self, x):
        y, w = self.a(x, x, x)
        x = self.n(x + y)
        k = self.k(x)
        return self.b(x, k, k)[0], w


@network((1, 12), ints={0: 40})
class T5(nn.Module):
    """Raffel et al. 2020: relative position buckets from log and where, RMSNorm, gated GELU."""
    def __init__(self):
        super().__init__()
        self.w, self.rel, self.n = nn.Embedding(40, 16), nn.Embedding(8, 4), nn.Parameter(torch.rand(16))
        self.qkv, self.o = nn.Linear(16, 48, bias=False), nn.Linear(16, 16, bias=False)

    def bias(self, t):
        r = torch.arange(t)[None, :] - torch.arange(t)[:, None]
        bucket = (r > 0).to(torch.long) * 4
        r = torch.abs(r)
        large = 2 + (torch.log(r.float() / 2) / math.log(16 / 2) * 2).to(torch.long)
        large = torch.min(large, torch.full_like(large, 3))
        bucket = bucket + torch.where(r < 2, r, large)
        return self.rel(bucket).permute([2, 0, 1]).unsqueeze(0)

    def forward(self, ids):
        b, t = ids.shape
        x = self.w(ids)
        y = self.n * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        q, k, v = (z.view(b, -1, 4, 4).transpose(1, 2) for z in self.qkv(y).chunk(3, -1))
        a = torch.matmul(q, k.transpose(3, 2))
        a = F.softmax((a + self.bias(t)).float(), dim=-1).type_as(a)
        y = torch.matmul(a, v).transpose(1, 2).contiguous().view(b, -1, 16)
        return F.normalize(x + self.o(y), dim=-1)


@network((1, 9), ints={0: 40})
class TextCnn(nn.Module):
    """Kim 2014, and a length from the ids: widths, max over time, mean of what is not padding."""
    def __init__(self):
        super().__init__()
        self.w = nn.Embedding(40, 12, padding_idx=0)
        self.convs, self.fc = nn.ModuleList(nn.Conv2d(1, 6, (k, 12)) for k in (2, 3, 4)), nn.Linear(30, 3)

    def forward(self, ids):
        e = self.w(ids)
        x = e.unsqueeze(1)
        parts = [F.max_pool1d(F.relu(c(x)).squeeze(3), 9 - k + 1).squeeze(2) for c, k in zip(self.convs, (2, 3, 4))]
        real = (ids != 0).unsqueeze(-1).float()
        mean = (e * real).sum(1) / real.sum(1).clamp(min=1e-9)
        return self.fc(torch.cat(parts + [mean], 1))


@network((1, 5), (1, 4, 7, 8), (1, 4, 7, 8), (1, 9, 32), ints={0: 40})
class WhisperDecoder(nn.Module):
    """Radford et al. 2022: a decoder step with keys and values kept, cross attention, tied output."""
    def __init__(self):
        super().__init__()
        self.w, self.p = nn.Embedding(40, 32), nn.Parameter(torch.randn(20, 32))
        self.q, self.k, self.v, self.o = nn.Linear(32, 32), nn.Linear(32, 32, bias=False), nn.Linear(32, 32), nn.Linear(32, 32)
        self.cross, self.n1, self.n2 = nn.MultiheadAttention(32, 4, batch_first=True), nn.LayerNorm(32), nn.LayerNorm(32)
        self.f1, self.f2 = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, ids, past_k, past_v, memory):
        b, t = ids.shape
        past = past_k.shape[2]
        x = self.w(ids) + self.p[past:past + t]
        y = self.n1(x)
        q, k, v = (f(y).view(b, t, 4, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        mask = torch.full((t, past + t), float("-inf")).triu(past + 1)
        y = F.softmax(q @ k.transpose(-1, -2) * 8 ** -0.5 + mask, -1) @ v
        x = x + self.o(y.transpose(1, 2).flatten(2))
        x = x + self.cross(self.n2(x), memory, memory, need_weights=False)[0]
        x = x + self.f2(F.gelu(self.f1(x)))
        return x @ self.w.weight.t(), k, v


@network((1, 8, 12))
class Mamba(nn.Module):
    """Gu and Dao 2023: selective state space, its scan written as a loop over the steps."""
    def __init__(self):
        super().__init__()
        self.inp, self.conv, self.out = nn.Linear(12, 32), nn.Conv1d(16, 16, 4, groups=16, padding=3), nn.Linear(16, 12)
        self.proj, self.dt = nn.Linear(16, 2 + 8), nn.Linear(2, 16)
        self.a, self.d = nn.Parameter(torch.rand(16, 4)), nn.Parameter(torch.ones(16))

    def forward(self, x):
        b, t, _ = x.shape
        u, z = self.inp(x).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :t].transpose(1, 2))
        dt, bb, cc = self.proj(u).split([2, 4, 4], -1)
        dt = F.softplus(self.dt(dt))
        decay = torch.exp(torch.einsum("bld,dn->bldn", dt, -torch.exp(self.a)))
        drive = torch.einsum("bld,bln,bld->bldn", dt, bb, u)
        state, ys = torch.zeros(b, 16, 4), []
        for i in range(t):
            state = decay[:, i] * state + drive[:, i]
            ys.append(torch.einsum("bdn,bn->bd", state, cc[:, i]))
        return self.out((torch.stack(ys, 1) + u * self.d) * F.silu(z))


@network((1, 6, 16))
class MixtureOfExperts(nn.Module):
    """Shazeer et al. 2017: router, top two experts by scatter, einsum over experts, cosine gate."""
    def __init__(self):
        super().__init__()
        self.gate, self.w1, self.w2 = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 24) * 0.2), nn.Parameter(torch.randn(4, 24, 16) * 0.2)

    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        top, index = torch.topk(p, 2, dim=-1)
        top = top / top.sum(-1, keepdim=True)
        weight = torch.zeros_like(p).scatter(-1, index, top)
        h = F.gelu(torch.einsum("btd,edf->btef", x, self.w1))
        y = torch.einsum("btef,efd->bted", h, self.w2)
        used = F.one_hot(index, 4).sum(-2).float().mean(1)
        return torch.einsum("bte,bted->btd", weight, y), used, F.cosine_similarity(x, y.mean(2), dim=-1)


@network((1, 3, 20, 24))
class VisionOdds(nn.Module):
    """What segmentation and restoration code is full of: flips, rolls, masks, statistics, odd pads."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=(1, 2), dilation=(1, 2), groups=1), nn.Conv2d(8, 8, (1, 5), padding="same")
        self.t = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.lrn, self.alpha = nn.LocalResponseNorm(3), nn.RReLU()
        self.register_buffer("blur", torch.tensor([1., 3, 3, 1]).outer(torch.tensor([1., 3, 3, 1])).div(64).expand(8, 1, 4, 4))

    def forward(self, x):
        x = torch.cat([x, x.flip(-1)], 0)[: x.shape[0]] + torch.flip(x, [2, 3]).roll(1, -1)
        y = self.lrn(F.elu(self.b(F.hardswish(self.a(x)))))
        y = F.conv2d(F.pad(y, (1, 2, 1, 2), mode="reflect"), self.blur, stride=2, groups=8)
        y = F.relu6(y) + F.logsigmoid(y) - F.softsign(y) + self.alpha(y) + F.tanhshrink(y)
        y = torch.where(y > y.mean((2, 3), keepdim=True), y, y.amin((2, 3), keepdim=True)).clamp_min(-2)
        std = y.std((2, 3), keepdim=True)
        y = F.avg_pool2d(F.pad(self.t(y / (std + 1)), (-1, 0, 0, -1)), 2, ceil_mode=True)
        energy = torch.logsumexp(y, 1, keepdim=True)
        soft = (F.softmax(energy.flatten(2), -1) * torch.arange(energy.numel() // energy.shape[0]).float()).sum(-1)
        return F.normalize(y, dim=1) * torch.sign(energy), soft, y.argmin(1), torch.round(y * 4).abs().sum((1, 2, 3))


@network((1, 11, 6), (1, 11), ints={1: 2})
class SequenceOdds(nn.Module):
    """Masked pooling, attention with masked_fill, differences, gathers by length, tril, cumulative ops."""
    def __init__(self):
        super().__init__()
        self.a, self.ln, self.glu = nn.Linear(6, 12), nn.LayerNorm([11, 6]), nn.GLU()
        self.bi = nn.Bilinear(6, 6, 3)

    def forward(self, x, keep):
        mask = keep.bool()
        y = self.glu(self.a(self.ln(x)))
        score = torch.matmul(y, y.transpose(-1, -2)) / 6 ** 0.5
        score = score.masked_fill(~mask[:, None, :], -1e9) + torch.triu(torch.full((11, 11), -1e4), 1)
        y = torch.softmax(score, -1).bmm(y)
        length = keep.sum(1).clamp(min=1)
        mean = (y * mask.unsqueeze(-1)).sum(1) / length.unsqueeze(1)
        last = y.gather(1, (length - 1)[:, None, None].expand(-1, 1, 6)).squeeze(1)
        top = y.masked_fill(~mask.unsqueeze(-1), float("-inf")).max(1).values.clamp(min=-9)
        diff = (y[:, 1:] - y[:, :-1]).pow(2).mean(1).sqrt()
        weight = torch.tril(torch.ones(11, 11)).cumsum(0) / 11
        return self.bi(mean, last), top + diff, torch.einsum("ts,...sd->...td", weight, y), y.index_select(1, torch.tensor([0, 5, 10]))


# ---- others -------------------------------------------------------------------------------------

@network((1, 3, 64))
class PointNet(nn.Module):
    """Qi et al. 2017: input transform with identity added, batched products, max over points."""
    def __init__(self):
        super().__init__()
        self.t1, self.t2, self.t3 = nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.Linear(16, 9)
        self.c1, self.c2, self.fc = nn.Conv1d(3, 16, 1), nn.Conv1d(16, 32, 1), nn.Linear(32, 5)

    def forward(self, x):
        n = x.size(0)
        t = torch.max(F.relu(self.t2(self.t1(x))), 2, keepdim=True)[0].view(-1, 16)
        eye = torch.eye(3).flatten().view(1, 9).repeat(n, 1)
        t = (self.t3(t) + eye).view(-1, 3, 3)
        x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        return F.log_softmax(self.fc(torch.max(self.c2(F.relu(self.c1(x))), 2)[0]), dim=1)


@network((1, 12, 12), (1, 12, 6))
class GraphAttention(nn.Module):
    """GCN and GAT (Kipf 2017, Velickovic 2018): normalised adjacency, masked softmax."""
    def __init__(self):
        super().__init__()
        self.w, self.a, self.b, self.o = nn.Linear(6, 8, bias=False), nn.Linear(8, 1), nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, adj, x):
        link = (adj > 0) | torch.eye(12, dtype=torch.bool)
        h = self.w(x)
        e = F.leaky_relu(self.a(h) + self.b(h).transpose(1, 2), 0.2)
        e = e.masked_fill(~link, -9e15).softmax(-1)
        h = F.elu(torch.einsum("bij,bjf->bif", e, h))
        degree = link.float().sum(-1)
        norm = degree.pow(-0.5)
        return self.o(norm.unsqueeze(-1) * (link.float() @ (norm.unsqueeze(-1) * h)))


@network((1, 4), (1, 3), ints={1: 20})
class Recommender(nn.Module):
    """DLRM (Naumov 2019): embeddings, pairwise dot products, lower triangle taken by index; DeepFM terms."""
    def __init__(self):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(20, 8) for _ in range(3))
        self.bot, self.top = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8 + 6, 1)
        i, j = torch.tril_indices(4, 4, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, dense, sparse):
        x = self.bot(dense)
        t = torch.stack([x] + [e(sparse[:, k]) for k, e in enumerate(self.emb)], 1)
        z = torch.bmm(t, t.transpose(1, 2))[:, self.i, self.j]
        fm = (t.sum(1) ** 2 - (t ** 2).sum(1)).sum(1, keepdim=True) * 0.5
        return torch.sigmoid(self.top(torch.cat([x, z], 1)) + fm)


@network((1, 32, 3))
class Nerf(nn.Module):
    """Mildenhall 2020: frequencies, skip, alpha compositing by cumulative product in logs."""
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(27, 32), nn.Linear(59, 32), nn.Linear(32, 4)
        self.register_buffer("freq", 2.0 ** torch.linspace(0., 3., 4))

    def forward(self, p):
        x = p[..., None, :] * self.freq[:, None]
        x = torch.cat([p, torch.sin(x).flatten(-2), torch.cos(x).flatten(-2)], -1)
        y = self.c(F.relu(self.b(torch.cat([x, F.relu(self.a(x))], -1))))
        rgb, sigma = torch.sigmoid(y[..., :3]), F.softplus(y[..., 3])
        light = torch.exp(-torch.cumsum(F.pad(sigma, (1, 0))[..., :-1] * 0.1, -1))
        weight = light * (1 - torch.exp(-sigma * 0.1))
        return (weight[..., None] * rgb).sum(-2), weight.sum(-1, keepdim=True)


@network((1, 1, 28, 28))
class SpatialTransformer(nn.Module):
    """Jaderberg et al. 2015: affine grid and grid sampling."""
    def __init__(self):
        super().__init__()
        self.loc, self.fc = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(True)), nn.Linear(8 * 121, 6)
        self.c, self.out = nn.Conv2d(1, 8, 5), nn.Linear(8 * 144, 10)

    def forward(self, x):
        theta = self.fc(self.loc(x).view(-1, 8 * 121)).view(-1, 2, 3) * 0.1 + torch.tensor([[1., 0, 0], [0, 1, 0]])
        x = F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False)
        return self.out(F.max_pool2d(F.relu(self.c(x)), 2).view(-1, 8 * 144))


@network((1, 8, 24))
class TimesBlocks(nn.Module):
    """N-BEATS / Informer-like forecasting: RevIN, moving average, patches, cumulative sums, clips."""
    def __init__(self):
        super().__init__()
        self.avg, self.a, self.b = nn.AvgPool1d(5, 1), nn.Linear(24, 12), nn.Linear(24, 12)
        self.c, self.p = nn.Conv1d(8, 8, 3, padding=1, padding_mode="circular"), nn.Linear(8, 4)

    def forward(self, x):
        mean, std = x.mean(-1, keepdim=True).detach(), torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)
        x = (x - mean) / std
        trend = self.avg(torch.cat([x[:, :, :1].repeat(1, 1, 2), x, x[:, :, -1:].repeat(1, 1, 2)], -1))
        y = self.a(F.celu(self.c(x - trend))) + self.b(trend)
        patches = self.p(x.reshape(x.shape[0], 8, 3, 8)).flatten(2)
        return y * std + mean, torch.cumsum(patches, -1).clamp(-3, 3), F.mish(patches) + F.hardtanh(patches)


# ---- export -------------------------------------------------------------------------------------

def sample(shapes, ints, n, seed):
    gen = torch.Generator().manual_seed(seed)
    values = []
    for i, shape in enumerate(shapes):
        shape = (n, *shape[1:]) if n else shape
        values.append(torch.randint(0, ints[i], shape, generator=gen) if i in ints
                      else torch.randn(shape, generator=gen))
    return tuple(values)


def settle(module, seed):
    """Seeded weights; normalisations get statistics as after training."""
    gen = torch.Generator().manual_seed(seed)
    for m in module.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.running_mean.copy_(torch.randn(m.running_mean.shape, generator=gen) * 0.2)
            m.running_var.copy_(torch.rand(m.running_var.shape, generator=gen) + 0.5)
    return module.eval()


def outputs(module, inputs):
    with torch.no_grad():
        y = module(*inputs)
    return y if isinstance(y, tuple) else (y,)


def export(module, shapes, ints, form, path):
    open_batch = form.endswith("_batch")
    args = sample(shapes, ints, 2 if open_batch else 0, 1)
    names = [f"x{i}" for i in range(len(shapes))]
    if form.startswith("ts"):
        n = len(outputs(module, args))
        axes = {k: {0: "N"} for k in names + [f"y{i}" for i in range(n)]} if open_batch else None
        torch.onnx.export(module, args, path, dynamo=False, opset_version=int(form[2:4]), dynamic_axes=axes,
                          input_names=names, output_names=[f"y{i}" for i in range(n)])
        return
    dims = tuple({0: torch.export.Dim("N")} for _ in shapes) if open_batch else None
    opset = int(form[6:8]) if form[6:8].isdigit() else None
    torch.onnx.export(module, args, path, dynamo=True, dynamic_shapes=dims, input_names=names,
                      opset_version=opset, verbose=False)


def write(name, out, forms):
    cls, shapes, batch, ints = NETWORKS[name]
    torch.manual_seed(sum(map(ord, name)))
    module = settle(cls(), 5)
    x = sample(shapes, ints, 0, 2)
    kept = {**{f"x{i}": v for i, v in enumerate(x)}, **{f"y{i}": v for i, v in enumerate(outputs(module, x))}}
    if batch:
        b = sample(shapes, ints, 3, 3)
        kept.update({f"b{i}": v for i, v in enumerate(b)})
        kept.update({f"c{i}": v for i, v in enumerate(outputs(module, b))})
    np.savez(os.path.join(out, name + ".npz"), **{k: v.numpy() for k, v in kept.items()})
    for form in forms:
        path = os.path.join(out, f"{name}.{form}.onnx")
        if os.path.exists(path) or (form.endswith("_batch") and not batch):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                export(module, shapes, ints, form, path)
        except Exception as why:
            print(f"{name}.{form}: not exported: {type(why).__name__}: {str(why).strip().splitlines()[0][:160]}", flush=True)
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("out", nargs="?")
    p.add_argument("--only", default="")
    p.add_argument("--forms", default=",".join(FORMS))
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    if a.list or not a.out:
        print("\n".join(f"{k:20s} {v[0].__doc__.splitlines()[0]}" for k, v in NETWORKS.items()))
        return 0
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    os.makedirs(a.out, exist_ok=True)
    for name in a.only.split(",") if a.only else NETWORKS:
        write(name, a.out, a.forms.split(","))
    return 0


if __name__ == "__main__":
    sys.exit(main())
