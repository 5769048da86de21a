# SPDX-License-Identifier: MIT
"""Small networks with seeded weights of Student's t, and samples for `pith compress` under a goal:
write(NAME, FOLDER) gives the arguments. NETWORKS lists them. time_left.py times them."""
import os

import numpy as np
from onnx import helper

from drawn_networks import Writer


class HeavyTailed(Writer):
    def __init__(self, seed, *dims):
        super().__init__(*dims)
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape, fan):
        return self.constant(self.rng.standard_t(4, shape) / np.sqrt(2) * np.sqrt(2 / fan))


def numbers(*dims, n=240):
    return np.random.default_rng(11).standard_normal((n, *dims)).astype(np.float32)


def fields(c, side, n=240):
    """Numbers that are like their neighbours, as pictures' are."""
    x = numbers(c, side, side, n=n)
    for _ in range(2):
        x = x + np.roll(x, 1, 2) + np.roll(x, 1, 3) + np.roll(x, -1, 2) + np.roll(x, -1, 3)
    return x / x.std()


def dense(seed, d, hidden, last):
    w, x, c = HeavyTailed(seed, d), "x", d
    for h in hidden:
        x, c = w.dense(x, c, h, "Relu"), h
    return w, w.dense(x, c, last), numbers(d)


def convolutions(seed, side, c, layers, classes, hidden=0):
    w, x, size, c_in = HeavyTailed(seed, c, side, side), "x", side, c
    for width, stride in layers:
        x, c_in, size = w.conv(x, c_in, width, 3, stride), width, -(-size // stride)
    if hidden:
        x, c_in = w.dense(w.op("Flatten", x), c_in * size * size, hidden, "Relu"), hidden
    else:
        x = w.pooled(x)
    return w, w.dense(x, c_in, classes), fields(c, side)


def residual(seed, side, widths, blocks):
    w = HeavyTailed(seed, 3, side, side)
    x, c = w.conv("x", 3, widths[0], 3), widths[0]
    for stage, width in enumerate(widths):
        for i in range(blocks):
            stride = 2 if stage and not i else 1
            y = w.conv(w.conv(x, c, width, 3, stride), width, width, 3, act=None)
            if stride != 1 or c != width:
                x = w.conv(x, c, width, 1, stride, act=None)
            x, c = w.op("Relu", w.op("Add", y, x)), width
    return w, w.dense(w.pooled(x), c, 10), fields(3, side)


def separable(seed, side, first, layers, classes):
    w = HeavyTailed(seed, 3, side, side)
    x, c = w.conv("x", 3, first, 3, 2), first
    for width, stride in layers:
        x = w.conv(w.conv(x, c, c, 3, stride, c), c, width, 1)
        c = width
    return w, w.dense(w.pooled(x), c, classes), fields(3, side)


def pictures(seed, side):
    w = HeavyTailed(seed, 1, side, side)
    x = w.conv(w.conv("x", 1, 24, 5), 24, 16, 3)
    return w, w.conv(x, 16, 4, 3, act=None), fields(1, side, n=64)


def recurrent(seed, kind, steps, d, state, classes):
    w, gates = HeavyTailed(seed, steps, d), 3 if kind == "GRU" else 4
    x = w.op("Transpose", "x", perm=[1, 0, 2])
    weights = [w.normal(1, gates * state, d, fan=2 * d), w.normal(1, gates * state, state, fan=2 * state),
               w.constant(np.zeros((1, 2 * gates * state)))]
    w.nodes.append(helper.make_node(kind, [x, *weights], ["", "last"], hidden_size=state))
    return w, w.dense(w.op("Squeeze", "last", w.constant([0], np.int64)), state, classes), numbers(steps, d, n=160)


NETWORKS = {
    "dense_200": lambda: dense(0, 200, (120, 60), 8),
    "dense_784": lambda: dense(1, 784, (300, 100), 10),
    "dense_400": lambda: dense(2, 400, (512, 256, 256), 40),
    "dense_96": lambda: dense(3, 96, (1024,), 20),
    "auto_256": lambda: dense(10, 256, (64, 16, 64), 256),
    "auto_500": lambda: dense(11, 500, (128, 128, 12, 128, 128), 500),
    "conv_28": lambda: convolutions(20, 28, 1, ((16, 2), (32, 2)), 10, 128),
    "conv_32": lambda: convolutions(21, 32, 3, ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)), 10),
    "conv_24": lambda: convolutions(22, 24, 3, ((32, 2), (64, 2), (128, 2)), 20),
    "conv_48": lambda: convolutions(23, 48, 3, ((8, 2), (16, 1), (16, 2), (32, 1), (32, 2), (48, 1)), 6),
    "conv_wide": lambda: convolutions(24, 16, 3, ((64, 1), (128, 2), (192, 2)), 20),
    "residual_24": lambda: residual(30, 24, (12, 24, 48), 1),
    "residual_32": lambda: residual(31, 32, (16, 32), 2),
    "separable_64": lambda: separable(40, 64, 8, ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)), 4),
    "separable_48": lambda: separable(41, 48, 16, ((32, 1), (64, 2), (128, 2), (128, 1)), 40),
    "pictures_40": lambda: pictures(50, 40),
    "gru": lambda: recurrent(60, "GRU", 20, 24, 96, 10),
    "lstm": lambda: recurrent(61, "LSTM", 16, 40, 128, 12),
    "gru_long": lambda: recurrent(62, "GRU", 30, 10, 200, 12),
}


def write(name, folder):
    w, y, samples = NETWORKS[name]()
    model, data = (os.path.join(folder, name + end) for end in (".onnx", ".npy"))
    w.save(y, model)
    np.save(data, samples.astype(np.float32))
    return [model, "-d", data]
