#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes of whole files beside NNCodec's at equal mean KL on pictures that neither has seen.

usage: vs_nncodec.py resnet20|squeezenet|mobilenet|squeezenet-dc [--lambda L,L..] [--qp Q,Q..] [--points FILE]

NNCodec codes the network's weights (batch normalization as one scale and one shift a channel, its
"bnf") with dependent quantization and its parameter search, with and without opt_qp; afterwards each
layer's means (behind a batch normalization also its variances) are set to what they were on
calibration pictures, layer after layer, as pith does; NNCodec's bytes are counted without that. Its
points are joined by straight lines in ln(KL), ln(bytes); of the two modes the smaller file counts.
--points: NNCodec's, as printed before, are not measured again.
Prints a JSON line for each of pith's points, and for each of NNCodec's, with "point": "nncodec"."""
import argparse, json, math, os, subprocess, sys, tempfile, time
import numpy as np
import onnx
from onnx import numpy_helper

PITH = os.environ.get("PITH", "build/release/pith")
SWEEP = os.environ.get("BENCH", "build/release/bench/bench_sweep")
DATA = os.environ.get("PITH_DATA", "../shared/data")
RGB = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
BGR = "order=bgr,mean=104:117:123"
IMAGENET = "imagenet/imagenet_a500.tar"
# data and range of calibration, of the bias correction of NNCodec (a part of it), of the test
NETS = {
    "resnet20": dict(file="cifar10_resnet20", spec=RGB, calib=("cifar10/train_jpeg.tar.gz", "0:50000:20"),
                     fix="0:50000:200", test=("cifar10/test_jpeg.tar.gz", "0:10000:1"),
                     lambdas="2.5e-7,5e-7,8e-7,1.1e-6", qp="-24,-22,-20", opt="-30,-27,-24", sweep="--states 16 --mirror --steps tensor"),
    "squeezenet": dict(file="imagenet_squeezenet_v1_1", spec=BGR + ",crop=224", calib=(IMAGENET, "0:500:2"),
                       fix="0:500:16", test=(IMAGENET, "3:500:4"), lambdas="2.5e-8,5e-8,1e-7,1.6e-7",
                       qp="-34,-32,-30,-28", opt="-46,-44", sweep="--states 16 --mirror"),
    "mobilenet": dict(file="imagenet_mobilenet_v2", spec=RGB + ",crop=224", calib=(IMAGENET, "0:500:2"),
                      fix="0:500:16", test=(IMAGENET, "3:500:4"), lambdas="3e-9,6e-9,1.2e-8,2e-8",
                      qp="-38,-36,-34", opt="-44,-41,-38", sweep="--states 16 --mirror"),
    "squeezenet-dc": dict(file="imagenet_squeezenet_v1_dc", spec=BGR + ",crop=227", calib=(IMAGENET, "0:500:2"),
                          fix="0:500:16", test=(IMAGENET, "3:500:4"), lambdas="8e-8,1.6e-7,3e-7,4e-7",
                          qp="-38,-36,-34,-32", opt="-46,-44", sweep="--states 16 --mirror"),
}


def say(**line):
    print(json.dumps(line), flush=True)


# ---- the network as arrays ------------------------------------------------------------------------

class Network:
    """An ONNX file whose batch normalizations are one scale and one shift a channel."""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.init = {i.name: numpy_helper.to_array(i).copy() for i in self.model.graph.initializer}
        self.layers, self.arrays = [], {}
        by_input = {}
        for n in self.model.graph.node:
            for x in n.input:
                by_input.setdefault(x, []).append(n)
        for n in self.model.graph.node:
            if n.op_type not in ("Conv", "Gemm"):
                continue
            after = by_input.get(n.output[0], [])
            norm = after[0] if len(after) == 1 and after[0].op_type == "BatchNormalization" else None
            self.arrays[n.input[1]] = self.init[n.input[1]]
            if norm:
                self.plain_norm(norm)
                self.layers.append((norm.output[0], norm.input[1], norm.input[2]))
            elif len(n.input) > 2:
                self.arrays[n.input[2]] = self.init[n.input[2]]
                self.layers.append((n.output[0], None, n.input[2]))

    def plain_norm(self, norm):
        eps = [a for a in norm.attribute if a.name == "epsilon"]
        value = eps[0].f if eps else 1e-5
        gamma, beta, mean, var = (self.init[x].astype(np.float64) for x in norm.input[1:5])
        scale = gamma / np.sqrt(var + value)
        self.init[norm.input[1]] = self.arrays[norm.input[1]] = scale.astype(np.float32)
        self.init[norm.input[2]] = self.arrays[norm.input[2]] = (beta - mean * scale).astype(np.float32)
        self.init[norm.input[3]] = np.zeros_like(mean, dtype=np.float32)
        self.init[norm.input[4]] = np.full_like(mean, 1 - value, dtype=np.float32)

    def write(self, path, arrays):
        m = onnx.ModelProto()
        m.CopyFrom(self.model)
        for i in m.graph.initializer:
            value = arrays.get(i.name, self.init[i.name])
            i.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value.reshape(self.init[i.name].shape)), i.name))
        onnx.save(m, path)


# ---- pith ------------------------------------------------------------------------------------------

def pith(*args):
    return subprocess.run([PITH, *args], check=True, stdout=subprocess.PIPE).stdout


def judge(net, a, b):
    data, samples = net["test"]
    out = json.loads(pith("compare", a, b, "-d", f"{DATA}/{data}", "--range", samples, "--preprocess", net["spec"],
                          "-T", "2", "--json"))
    return out["kl"], out["agreement"]


def sweep_points(net, original, options):
    data, samples = net["calib"]
    test, test_range = net["test"]
    with tempfile.TemporaryDirectory() as work:
        pith("import", original, "--preprocess", net["spec"], "-q", "-o", f"{work}/net.pith")
        out = subprocess.run([SWEEP, f"{work}/net.pith", "--data", f"{DATA}/{data}", samples, "--test", f"{DATA}/{test}",
                              test_range, "--lambda", options.lambdas or net["lambdas"], "--places", ".3", "--rate", ".5",
                              *net["sweep"].split()], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = out.stderr.decode().split("sensitivity:")[-1].split()[0]
    lines = [json.loads(line) for line in out.stdout.decode().splitlines()]
    return [(p["kl"], p["bytes"], p["cpu_seconds"] + float(first)) for p in lines]


# ---- NNCodec ---------------------------------------------------------------------------------------

def dumped(net, a, b, name, work):
    """Means and deviations by channel of value `name` in a and b, over the correction's pictures."""
    data = net["calib"][0]
    pith("compare", a, b, "-d", f"{DATA}/{data}", "--range", net["fix"], "--preprocess", net["spec"], "-T", "2", "-f",
         "--dump", f"{name}={work}/dump.npy")
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
        if scale:
            factor = std / np.maximum(std_now, 1e-6 * std.max())
            factor = np.where(np.isfinite(factor) & (factor < 2) & (factor > 0.5), factor, 1)
            arrays[shift] = ((arrays[shift] - mean_now) * factor + mean).astype(np.float32)
            arrays[scale] = (arrays[scale] * factor).astype(np.float32)
        else:
            arrays[shift] = (arrays[shift] + mean - mean_now).astype(np.float32)
    network.write(path, arrays)
    return path


def nncodec_point(net, network, original, qp, opt_qp, work):
    from nncodec import nn
    args = {"qp": qp, "opt_qp": opt_qp, "use_dq": True, "param_opt": True, "verbose": False, "results": work}
    began = time.process_time()
    stream = nn.encode({k: v.copy() for k, v in network.arrays.items()}, args)
    seconds = time.process_time() - began
    data = stream["bitstream"] if isinstance(stream, dict) else stream
    decoded = nn.decode(data, args)
    arrays = {k: np.asarray(v, dtype=np.float32).reshape(network.arrays[k].shape) for k, v in decoded.items()}
    network.write(f"{work}/raw.onnx", arrays)
    raw, _ = judge(net, original, f"{work}/raw.onnx")
    kl, agreement = judge(net, original, correct(net, network, original, arrays, work))
    return dict(kl=kl, kl_uncorrected=raw, bytes=len(data), agreement=agreement, seconds=round(seconds, 2))


def bytes_at(points, kl):
    """By a straight line in logarithms; None: outside the points."""
    points = sorted((p["kl"], p["bytes"]) for p in points)
    for (k0, b0), (k1, b1) in zip(points, points[1:]):
        if k0 <= kl <= k1:
            t = math.log(kl / k0) / math.log(k1 / k0) if k1 > k0 else 0
            return b0 * (b1 / b0) ** t
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("network", choices=NETS)
    parser.add_argument("--lambda", dest="lambdas")
    parser.add_argument("--qp")
    parser.add_argument("--points")
    o = parser.parse_args()
    net = NETS[o.network]
    original = f"{DATA}/models/{net['file']}.onnx"
    network = Network(original)
    modes = {False: [], True: []}
    known = [json.loads(line) for line in open(o.points)] if o.points else []
    for p in known:
        if p.get("point") == "nncodec" and p["network"] == o.network:
            modes[p["opt_qp"]].append(p)
    with tempfile.TemporaryDirectory() as work:
        for opt_qp in () if known else modes:
            for qp in (o.qp or net["opt" if opt_qp else "qp"]).split(","):
                p = nncodec_point(net, network, original, int(qp), opt_qp, work)
                modes[opt_qp].append(p)
                say(point="nncodec", network=o.network, qp=int(qp), opt_qp=opt_qp, **p)
    for kl, size, seconds in sweep_points(net, original, o):
        theirs = {m: bytes_at(p, kl) for m, p in modes.items()}
        best = min((m for m in modes if theirs[m]), key=lambda m: theirs[m], default=None)
        peer = theirs[best] if best is not None else None
        say(network=o.network, kl=kl, bytes=size, nncodec_bytes=peer and round(peer), opt_qp=best,
            fewer=peer and round(1 - size / peer, 4), seconds=seconds,
            nncodec_seconds=best is not None and max(p["seconds"] for p in modes[best]))


if __name__ == "__main__":
    sys.exit(main())
