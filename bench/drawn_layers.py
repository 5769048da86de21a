#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Layers and small networks of drawn shapes beside their peers: one thread, in turn on the same machine.

usage: drawn_layers.py [--seed S] [--count N] [--class NAME]... [--int8] [--seconds S] [--rounds N] [--keep FOLDER]

N shapes a class, each encoded by pith and in every peer that is installed (bench/peers.py). Of a shape the median over
the rounds of peer time / pith time counts, for the fastest peer: above 1 pith is faster. Outputs are compared with
those of onnxruntime. Prints the geometric mean by class, the number of shapes below 0.8 and the ten worst.
--int8: the file that onnxruntime quantizes (QDQ), in all of them. A change is measured with a new seed."""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper

import drawn_networks
import peers


class Draw(drawn_networks.Writer):
    """A network of which every number is drawn."""

    def __init__(self, seed):
        super().__init__(1, seed=seed)

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def about(self, low, high):
        """A size, evenly by its logarithm."""
        return int(round(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def start(self, *dims):
        self.dims = dims
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *dims])
        return "x"

    def activation(self):
        return self.pick(None, "Relu", "Clip", "Swish", "Sigmoid", "LeakyRelu", "HardSwish", "Tanh")

    def window(self, x, c_in, c_out, kernel, stride, dilation, groups, act="", kind="Conv"):
        shape = (c_in, c_out // groups) if kind == "ConvTranspose" else (c_out, c_in // groups)
        fan = c_in // groups * int(np.prod(kernel))
        pads = [(k - 1) * d // 2 for k, d in zip(kernel, dilation)] * 2
        y = self.op(kind, x, self.normal(*shape, *kernel, fan=fan), self.constant(self.rng.standard_normal(c_out)),
                    kernel_shape=list(kernel), strides=list(stride), pads=pads, dilations=list(dilation), group=groups)
        return self.act(y, self.activation() if act == "" else act)


def drawn_window(axes, depthwise=False, most=9, widths=(3, 128), channels=(1, 512), dilations=(1, 1, 1, 2, 3),
                 work=(2e6, 2e8), kind="Conv"):
    def make(w):
        while True:
            c, o = w.about(*channels), w.about(*channels)
            kernel = [w.about(1, most) for _ in range(axes)]
            stride = [w.pick(1, 1, 1, 2, 2, 3)] * axes if most < 32 else [w.about(1, most // 2)]
            dilation = [w.pick(*dilations)] * axes
            size = [w.about(*widths) for _ in range(axes)]
            if axes == 2 and w.pick(0, 0, 0, 1): # a row or column of pixels
                thin = w.pick(0, 1)
                size[thin], kernel[thin], size[1 - thin] = 1, 1, min(size[1 - thin] * 8, 2048)
            groups = c if depthwise else w.pick(1, 1, 1, w.pick(2, 4, 8))
            c, o = (c, c * w.pick(1, 1, 1, 2)) if depthwise else (c // groups * groups, o // groups * groups)
            reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
            out = np.prod(size) / np.prod(stride) if kind == "Conv" else np.prod(size)
            if c and o and all(r <= s for r, s in zip(reach, size)) and \
                    work[0] < out * o * c // groups * np.prod(kernel) < work[1]:
                break
        return w.window(w.start(c, *size), c, o, kernel, stride, dilation, groups, kind=kind)
    return make


def drawn_pointwise(w):
    """Planes of any side, and of 2^n, whose rows of channels lie in the same sets of a cache."""
    while True:
        c, o, side = w.about(16, 1280), w.about(16, 1280), w.pick(w.about(4, 80), w.pick(8, 16, 32, 64))
        if 2e6 < c * o * side * side < 4e8:
            return w.window(w.start(c, side, side), c, o, (1, 1), (1, 1), (1, 1), 1)


def drawn_unrolled(w):
    """A dilated 3x3 as some exporters write it: the zeros between its taps stand in the file."""
    c, size, d = w.about(32, 512), w.about(14, 64), w.pick(2, 3, 4)
    full = np.zeros((c, 1, 2 * d + 1, 2 * d + 1), np.float32)
    full[:, :, ::d, ::d] = w.rng.standard_normal((c, 1, 3, 3))
    return w.op("Conv", w.start(c, size, size), w.constant(full), kernel_shape=[2 * d + 1] * 2, pads=[d] * 4, group=c)


def drawn_pool(w):
    axes = w.pick(1, 2)
    c, size = w.about(4, 256), [w.about(200, 3000)] if axes == 1 else [w.about(14, 112), w.about(14, 112)]
    kernel = [w.about(2, 5) if w.pick(0, 1, 1) else 1 for _ in size]
    stride = [w.pick(1, 2, k) for k in kernel]
    return w.op(w.pick("MaxPool", "AveragePool"), w.start(c, *size), kernel_shape=kernel, strides=stride)


def drawn_resize(w):
    axes = w.pick(1, 2, 2)
    x = w.start(w.about(3, 256), *(w.about(7, 64) for _ in range(axes)))
    scales = [w.pick(.5, 1.5, 2, 2, 4, 8) for _ in range(axes)]
    return w.op("Resize", x, "", w.constant([1, 1, *(scales if w.pick(0, 1) else scales[:1] * axes)], np.float32),
                mode=w.pick("nearest", "linear"), nearest_mode="floor",
                coordinate_transformation_mode=w.pick("asymmetric", "half_pixel", "align_corners"))


def drawn_values(w):
    """[.., channels, pixels] of 30,000 to a million values, the last axis of any width."""
    last = w.about(2, 2000)
    middle = min(w.about(4, 512), 500000 // last) or 1
    return w.start(max(1, w.about(30000, 1000000) // (last * middle)), middle, last)


def drawn_binary(w):
    x = drawn_values(w)
    shape = w.pick(w.dims, w.dims[-1:], w.dims[1:], (w.dims[0], 1, 1), (w.dims[1], 1), (1,))
    y = w.constant(w.rng.uniform(.5, 1.5, shape))
    return w.op(w.pick("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"), x, y)


def drawn_unary(w):
    kind = w.pick("Abs", "Neg", "Exp", "Erf", "Sqrt", "LeakyRelu", "HardSwish", "Elu", "Softplus", "Tanh", "Sigmoid",
                  "Floor", "Round", "Reciprocal", "Sign", "Clip", "Sin")
    return w.act(drawn_values(w), kind)


def drawn_choice(w):
    """Comparisons, Where and casts as masks of attention and of losses use them."""
    x = drawn_values(w)
    limit = w.constant(w.rng.uniform(0, 1, w.pick((1,), w.dims[-1:])))
    mask = w.op(w.pick("Greater", "Less", "GreaterOrEqual"), x, limit)
    if w.pick(0, 1):
        return w.op("Mul", x, w.op("Cast", mask, to=TensorProto.FLOAT))
    return w.op("Where", mask, x, w.constant(-10000))


def drawn_softmax(w):
    n = w.pick(w.about(2, 16), w.about(2, 1000))
    return w.op("Softmax", w.start(w.about(30000, 300000) // n, n), axis=-1)


def drawn_norm(w):
    n = w.about(8, 1024)
    x = w.start(w.about(30000, 500000) // n, n)
    if w.pick(0, 1):
        return drawn_networks.layer_norm(w, x, n)
    return w.op("LayerNormalization", x, w.constant(np.ones(n)), w.constant(np.zeros(n)), axis=-1)


def drawn_move(w):
    x = drawn_values(w)
    kind, axis = w.pick("Gather", "Transpose", "Concat", "Slice", "Pad", "Reduce"), int(w.rng.integers(1, 4))
    size = w.dims[axis - 1]
    if kind == "Gather":
        return w.op(kind, x, w.constant(w.rng.integers(0, size, max(1, size * 3 // 4)), np.int64), axis=axis)
    if kind == "Transpose":
        return w.op(kind, x, perm=[0, *(1 + w.rng.permutation(3))])
    if kind == "Concat":
        return w.op(kind, x, w.op("Relu", x), axis=axis)
    if kind == "Slice":
        return w.op(kind, x, *(w.constant([v], np.int64) for v in (0, max(1, size * 2 // 3), axis, w.pick(1, 2))))
    if kind == "Pad":
        return w.op(kind, x, w.constant([0, 0, 1, 1, 0, 0, 2, 1], np.int64), mode=w.pick("constant", "edge"))
    return w.op(w.pick("ReduceMean", "ReduceMax"), x, axes=[axis], keepdims=1)


def drawn_dense(w):
    k, n, rows = w.about(16, 2048), w.about(16, 2048), w.pick(1, w.about(1, 16), w.about(16, 256))
    return w.act(w.linear(w.start(rows, k), k, n), w.activation())


def drawn_attention(w):
    heads, width, tokens = w.about(1, 12), 8 * w.about(2, 12), w.about(10, 200)
    return drawn_networks.attention(w, w.start(tokens, heads * width), heads * width, heads, tokens)


def drawn_dynamic(w):
    """What onnxruntime's quantize_dynamic writes: the grid of activations is found at each run."""
    product = w.pick(0, 1)
    k, n = w.about(16, 1024), w.about(16, 1024)
    if product:
        x, shape = w.start(w.pick(1, w.about(2, 200)), k), (k, n)
    else:
        k, n, size, tap = w.about(3, 128), w.about(8, 128), w.about(7, 56), w.pick(1, 3)
        x, shape = w.start(k, size, size), (n, k, tap, tap)
    w.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], ["q", "qs", "qz"]))
    weights = w.constant(w.rng.integers(-127, 128, shape), np.int8)
    pads = {} if product else {"pads": [tap // 2] * 4}
    y = w.op("MatMulInteger" if product else "ConvInteger", "q", weights, "qz", w.constant(0, np.int8), **pads)
    return w.op("Mul", w.op("Cast", y, to=TensorProto.FLOAT), w.op("Mul", "qs", w.constant(.01)))


def drawn_network(w):
    """Separable blocks with drawn windows, activations and residuals, over one or two axes."""
    axes, c = w.pick(1, 2), 8 * w.about(2, 8)
    size = [w.about(400, 4000)] if axes == 1 else [w.about(32, 112), w.about(32, 112)]
    act, one = w.activation(), [1] * axes
    x = w.window(w.start(3, *size), 3, c, [w.pick(3, 5, 7)] * axes, [2] * axes, one, 1, act)
    for _ in range(w.about(3, 8)):
        wide, k, d = c * w.pick(1, 2, 4), w.about(2, 5) * 2 - 1, w.pick(1, 1, 2)
        y = w.window(x, c, wide, one, one, one, 1, act)
        y = w.window(y, wide, wide, [k] * axes, one, [d] * axes, wide, act)
        y = w.window(y, wide, c, one, one, one, 1, None)
        x = w.op("Add", x, y)
    return x


CLASSES = {"conv 1-D": drawn_window(1, most=32, widths=(50, 8000)), "conv 2-D": drawn_window(2),
           "conv 1x1": drawn_pointwise,
           "conv 1-D long": drawn_window(1, most=512, widths=(2000, 32000), channels=(1, 64)),
           "depthwise 1-D": drawn_window(1, True, 31, (20, 2000), (16, 1024), work=(5e5, 5e7)),
           "depthwise 2-D": drawn_window(2, True, 9, (5, 64), (16, 512), work=(5e5, 5e7)),
           "depthwise unrolled": drawn_unrolled, "transposed": drawn_window(2, most=5, kind="ConvTranspose"),
           "pool": drawn_pool, "binary": drawn_binary, "unary": drawn_unary, "choice": drawn_choice,
           "softmax": drawn_softmax, "normalization": drawn_norm, "move": drawn_move, "dense": drawn_dense,
           "attention": drawn_attention, "dynamic": drawn_dynamic, "network": drawn_network,
           "resize": drawn_resize}


def disagreement(path, ours, folder, reference):
    """Largest difference of an output, as a share of the largest value."""
    for name, x in reference.feed.items():
        np.save(f"{folder}/in.npy", x)
    subprocess.run([peers.PITH, "run", ours, f"{folder}/in.npy", "-q", "-f", "-o", f"{folder}/out.npy"], check=True)
    y = np.nan_to_num(reference.run().astype(np.float64), posinf=0, neginf=0)
    x = np.nan_to_num(np.load(f"{folder}/out.npy").reshape(y.shape).astype(np.float64), posinf=0, neginf=0)
    return float(np.abs(x - y).max() / (np.abs(y).max() + 1e-9))


def timed(args, kind, number):
    """The row of one drawn shape: ratio, description."""
    path = os.path.join(args.keep, f"{kind.replace(' ', '-')}-{args.seed}-{number}.onnx")
    w = Draw([args.seed, list(CLASSES).index(kind), number])
    w.save(CLASSES[kind](w), path, opset=17)
    if args.int8:
        path = peers.qdq_file(args, path)
    ours = path if args.int8 else peers.made(args, path, ".pith", ("encode",))
    others = peers.working(path, 1, [peers.OnnxRuntime, peers.OpenVino, peers.Mnn][:2 if args.int8 else 3])
    pith, seconds = peers.Pith(args, ours), args.seconds / args.rounds
    rounds = [[r.ms(seconds) for r in (pith, *others)] for _ in range(args.rounds)]
    times = [statistics.median(t) for t in zip(*rounds)]
    best = min(range(1, len(times)), key=times.__getitem__)
    ratio = statistics.median(r[best] / r[0] for r in rounds)
    wrong = disagreement(path, ours, args.keep, others[0]) if others[0].name.startswith("onnxruntime") else 0
    shown = ("strides", "dilations", "axis", "perm")
    shapes = [f"{n.op_type}{[list(i.dims) for i in w.weights if i.name in n.input] or ''}" +
              "".join(f" {a.name[0]}{list(a.ints) or a.i}" for a in n.attribute if a.name in shown)
              for n in w.nodes[:4]]
    return ratio, times[0], others[best - 1].name, wrong, f"{list(w.dims)} " + " ".join(shapes)[:200]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("seed", 1), ("count", 3), ("seconds", .6), ("rounds", 3)):
        p.add_argument(f"--{name}", type=type(value), default=value)
    p.add_argument("--class", dest="classes", action="append", choices=CLASSES)
    p.add_argument("--int8", action="store_true")
    for name in ("cpu", "keep"):
        p.add_argument(f"--{name}", default="")
    args, rows = p.parse_args(), []
    args.batch = 1
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1) # peers print to stdout, which is for rows
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    with tempfile.TemporaryDirectory() as work:
        args.keep = args.keep or work
        for kind in args.classes or CLASSES:
            for number in range(args.count):
                try:
                    rows.append((*timed(args, kind, number), kind))
                except (subprocess.CalledProcessError, IndexError, ValueError) as e:
                    print(f"{kind} {number}: {e}", file=report, flush=True)
            ratios = [r[0] for r in rows if r[-1] == kind]
            if ratios:
                wrong = max(r[3] for r in rows if r[-1] == kind)
                print(f"{kind:20} {len(ratios):3}  mean {statistics.geometric_mean(ratios):5.2f}  least "
                      f"{min(ratios):5.2f}  largest difference {wrong:.1e}", file=report, flush=True)
    below = sum(r[0] < .8 for r in rows)
    print(f"seed {args.seed}: {len(rows)} shapes, {below} below 0.8; the worst:", file=report)
    for ratio, ms, peer, _, shape, kind in sorted(rows)[:10]:
        print(f"{ratio:5.2f} {ms:8.3f} ms  {peer}  {kind}: {shape}", file=report)


if __name__ == "__main__":
    sys.exit(main())
