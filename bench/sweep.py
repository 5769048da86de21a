#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of the sweep (rd/weight_sweep.h): bytes and mean KL on pictures that chose nothing, and where the PyPI
package nncodec is installed, NNCodec's bytes at equal KL.

usage: sweep.py resnet20|squeezenet|mobilenet|squeezenet-dc [--lambda L,L..] [--qp Q,Q..]

NNCodec codes the network's weights (batch normalization as one scale and one shift a channel, its "bnf") with dependent
quantization and its parameter search, with and without opt_qp; afterwards each layer's means (behind a batch
normalization also its variances) are set to what they were on calibration pictures, layer after layer, as pith does;
NNCodec's bytes are counted without that. Its points are joined by straight lines in ln(KL), ln(bytes); of the two modes
the smaller file counts. PITH, BIN, DATA: as in bench/run.sh. A JSON line for each point."""
import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

PITH = os.environ.get("PITH", "build/release/pith")
SWEEP = os.environ.get("BIN", "build/release/bench") + "/bench_sweep"
DATA = os.environ.get("DATA", "../shared/data")
RGB = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
BGR = "order=bgr,mean=104:117:123"
IMAGENET = "imagenet/imagenet_a500.tar"
USUAL = "--places .3 --rate .5 --mirror 1 --states "
# network, preprocessing, calibration, pictures that correct NNCodec's biases, test, lambdas, NNCodec's qp without and with
# opt_qp, options of bench_sweep
NETS = {
    "resnet20": ("cifar10_resnet20", RGB, ("cifar10/train_jpeg.tar.gz", "0:50000:20"), "0:50000:200",
                 ("cifar10/test_jpeg.tar.gz", "0:10000:1"), "5e-7,6.5e-7,8e-7,1e-6,1.2e-6", ("-24,-22,-20", "-30,-27,-24"),
                 USUAL + "16 --steps tensor"),
    "squeezenet": ("imagenet_squeezenet_v1_1", BGR + ",crop=224", (IMAGENET, "0:500:2"), "0:500:16", (IMAGENET, "3:500:4"),
                   "3e-8,6e-8,1.5e-7", ("-34,-32,-30,-28", "-46,-44"), USUAL + "8"),
    "mobilenet": ("imagenet_mobilenet_v2", RGB + ",crop=224", (IMAGENET, "0:500:2"), "0:500:16", (IMAGENET, "3:500:4"),
                  "6e-9,1.2e-8", ("-38,-36,-34", "-44,-41,-38"), USUAL + "8"),
    "squeezenet-dc": ("imagenet_squeezenet_v1_dc", BGR + ",crop=227", (IMAGENET, "0:500:2"), "0:500:16",
                      (IMAGENET, "3:500:4"), "1e-7,3e-7", ("-38,-36,-34,-32", "-46,-44"), USUAL + "8"),
}


def pith(*args):
    return subprocess.run([PITH, *args], check=True, stdout=subprocess.PIPE).stdout


def losses(net, a, b):
    data, samples = net[4]
    out = json.loads(pith("compare", a, b, "-d", f"{DATA}/{data}", "--range", samples, "--preprocess", net[1], "-T", "2",
                          "--json"))
    return {"kl": out["kl"], "agreement": out["agreement"]}


def sweep_points(net, lambdas, options, work):
    """What pith makes of each lambda, with its losses."""
    model, (data, samples) = f"{work}/net.pith", net[2]
    pith("import", f"{DATA}/models/{net[0]}.onnx", "--preprocess", net[1], "-q", "-f", "-o", model)
    out = subprocess.run([SWEEP, model, f"{DATA}/{data}", samples, lambdas, f"{work}/swept", *options.split()], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for line in map(json.loads, out.splitlines()):
        file = line.pop("file")
        yield {**line, **losses(net, model, file)}


# ---- NNCodec ----------------------------------------------------------------------------------------------------

class Network:
    """The arrays of an ONNX file whose batch normalizations are one scale and one shift a channel."""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.init = {i.name: numpy_helper.to_array(i).copy() for i in self.model.graph.initializer}
        self.layers, self.arrays, readers = [], {}, {}
        for n in self.model.graph.node:
            for x in n.input:
                readers.setdefault(x, []).append(n)
        for n in (n for n in self.model.graph.node if n.op_type in ("Conv", "Gemm")):
            after = readers.get(n.output[0], [])
            norm = after[0] if len(after) == 1 and after[0].op_type == "BatchNormalization" else None
            self.arrays[n.input[1]] = self.init[n.input[1]]
            if norm:
                self.plain_norm(norm)
                self.layers.append((norm.output[0], norm.input[1], norm.input[2]))
            elif len(n.input) > 2:
                self.arrays[n.input[2]] = self.init[n.input[2]]
                self.layers.append((n.output[0], None, n.input[2]))

    def plain_norm(self, norm):
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        gamma, beta, mean, var = (self.init[x].astype(np.float64) for x in norm.input[1:5])
        scale = gamma / np.sqrt(var + epsilon)
        self.init[norm.input[1]] = self.arrays[norm.input[1]] = scale.astype(np.float32)
        self.init[norm.input[2]] = self.arrays[norm.input[2]] = (beta - mean * scale).astype(np.float32)
        self.init[norm.input[3]] = np.zeros_like(mean, dtype=np.float32)
        self.init[norm.input[4]] = np.full_like(mean, 1 - epsilon, dtype=np.float32)

    def write(self, path, arrays):
        m = onnx.ModelProto()
        m.CopyFrom(self.model)
        for i in m.graph.initializer:
            value = arrays.get(i.name, self.init[i.name])
            i.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value.reshape(self.init[i.name].shape)), i.name))
        onnx.save(m, path)


def dumped(net, a, b, name, work):
    """Means and deviations by channel of value `name` in a and b, over the correction's pictures."""
    pith("compare", a, b, "-d", f"{DATA}/{net[2][0]}", "--range", net[3], "--preprocess", net[1], "-T", "2", "-f", "--dump",
         f"{name}={work}/dump.npy")
    for side in "AB":
        x = np.load(f"{work}/dump-{side}.npy").astype(np.float64)
        x = x.reshape(-1, x.shape[-3], x.shape[-2] * x.shape[-1]) if x.ndim >= 5 else x.reshape(-1, x.shape[-1], 1)
        yield x.mean((0, 2)), x.std((0, 2))


def correct(net, network, original, arrays, work):
    """Layer after layer: means, and variances behind a normalization, as the original's."""
    path = f"{work}/now.onnx"
    for value, scale, shift in network.layers:
        network.write(path, arrays)
        (mean, std), (mean_now, std_now) = dumped(net, original, path, value, work)
        factor = np.ones_like(mean)
        if scale:
            factor = std / np.maximum(std_now, 1e-6 * std.max())
            factor = np.where(np.isfinite(factor) & (factor < 2) & (factor > 0.5), factor, 1)
            arrays[scale] = (arrays[scale] * factor).astype(np.float32)
        arrays[shift] = ((arrays[shift] - mean_now) * factor + mean).astype(np.float32)
    network.write(path, arrays)
    return path


def nncodec_point(net, qp, opt_qp, work):
    from nncodec import nn
    original = f"{DATA}/models/{net[0]}.onnx"
    network = Network(original)
    args = {"qp": qp, "opt_qp": opt_qp, "use_dq": True, "param_opt": True, "verbose": False, "results": work}
    stream = nn.encode({k: v.copy() for k, v in network.arrays.items()}, args)
    data = stream["bitstream"] if isinstance(stream, dict) else stream
    arrays = {k: np.asarray(v, dtype=np.float32).reshape(network.arrays[k].shape) for k, v in nn.decode(data, args).items()}
    return {"bytes": len(data), **losses(net, original, correct(net, network, original, arrays, work))}


def bytes_at(points, kl):
    """By a straight line in logarithms; None: outside the points."""
    points = sorted((p["kl"], p["bytes"]) for p in points)
    for (k0, b0), (k1, b1) in zip(points, points[1:]):
        if k0 <= kl <= k1:
            t = math.log(kl / k0) / math.log(k1 / k0) if k1 > k0 else 0
            return b0 * (b1 / b0) ** t
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETS)
    parser.add_argument("--lambda", dest="lambdas")
    parser.add_argument("--qp")
    o = parser.parse_args()
    net, modes = NETS[o.network], []
    with tempfile.TemporaryDirectory() as work:
        for opt_qp in (False, True) if importlib.util.find_spec("nncodec") else ():
            modes.append([])
            for qp in (o.qp or net[6][opt_qp]).split(","):
                modes[-1].append(nncodec_point(net, int(qp), opt_qp, work))
                print(json.dumps({"network": o.network, "nncodec": qp, "opt_qp": opt_qp, **modes[-1][-1]}), flush=True)
        for p in sweep_points(net, o.lambdas or net[5], net[7], work):
            theirs = [b for b in (bytes_at(points, p["kl"]) for points in modes) if b]
            more = {"nncodec_bytes": round(min(theirs)), "fewer": round(1 - p["bytes"] / min(theirs), 4)} if theirs else {}
            print(json.dumps({"network": o.network, **p, **more}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
