#!/bin/sh
# SPDX-License-Identifier: MIT
# What `train --set gptq_samples` takes beyond the same training without: memory of 3 times the float weights and 200 MB at
# most (measured: 50 MB), and time in proportion to the number of layers.
. "$(dirname "$0")/sandbox.inc"
nm -u "$PITH" | grep -qE '__(asan|tsan|msan)_init' && exit 77 # shadow memory, and time of its own
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOP' || status=1
import array, os, random, struct, subprocess, sys
from make_inputs import attr_int, field, value

def ints(name, values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, 7))

rng = random.Random(5)
def floats(n, spread):
    return array.array("f", [rng.gauss(0, spread) for _ in range(n)]).tobytes()

def tensor(name, dims, spread):
    n = 1
    for d in dims:
        n *= d
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(9, floats(n, spread)))

def node(op, ins, out, attributes=b""):
    return field(1, b"".join(field(1, i) for i in ins) + field(2, out) + field(3, out) + field(4, op) + attributes)

def chain(path, layers, channels, side):
    """Convolutions of 3 x 3 and Relus, then the mean of each channel and ten classes."""
    nodes = tensors = b""
    x = "x"
    for i in range(layers):
        of = channels if i else 3
        tensors += tensor(f"w{i}", [channels, of, 3, 3], (2 / (9 * of)) ** 0.5) + tensor(f"b{i}", [channels], 0.1)
        nodes += node("Conv", [x, f"w{i}", f"b{i}"], f"c{i}", ints("pads", [1, 1, 1, 1]) + ints("kernel_shape", [3, 3]))
        nodes += node("Relu", [f"c{i}"], f"r{i}")
        x = f"r{i}"
    nodes += node("GlobalAveragePool", [x], "mean") + node("Flatten", ["mean"], "flat")
    tensors += tensor("w", [10, channels], channels ** -0.5) + tensor("b", [10], 0.1)
    nodes += node("Gemm", ["flat", "w", "b"], "y", attr_int("transB", 1))
    graph = nodes + tensors + value(11, "x", ["N", 3, side, side]) + value(12, "y", ["N", 10])
    with open(path, "wb") as f:
        f.write(field(1, 8) + field(8, field(2, 13)) + field(7, graph))

def pictures(path, n, side):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 3, {side}, {side}), }}".encode()
    head += b" " * ((-len(head) - 11) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for _ in range(n):
            f.write(floats(3 * side * side, 1))

def cost(network, data, *more):
    """Bytes at the peak, seconds of processor time."""
    p = subprocess.Popen(["pith", "train", network, "-d", data, "--loss", "distill", "--teacher", network, "--levels", "15",
                          "--batch", "16", "--epochs", "1", "--lr", "1e-12", "-T", "1", "-q", "-f", "-o", "out.pith", *more],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"train {network} {more}: status {status}")
    return usage.ru_maxrss * 1024, usage.ru_utime

failed = False
chain("wide.onnx", 16, 16, 32)
pictures("wide.npy", 128, 32)
without, with_it = (cost("wide.onnx", "wide.npy", *more)[0] for more in ([], ["--set", "gptq_samples=128"]))
print(f"memory: {without / 1e6:.0f} MB without, {with_it / 1e6:.0f} with", file=sys.stderr)
if with_it - without > 3 * os.path.getsize("wide.onnx") + 200e6:
    print(f"feedback takes {(with_it - without) / 1e6:.0f} MB")
    failed = True

# the sums of a layer are small here beside the layers before it, had they to be computed again
pictures("thin.npy", 256, 16)
times = []
for layers in (24, 96):
    chain("thin.onnx", layers, 4, 16)
    times.append(min(cost("thin.onnx", "thin.npy", "--set", "gptq_samples=256")[1] for _ in range(2)))
print(f"24 layers: {times[0]:.2f} s, 96: {times[1]:.2f}", file=sys.stderr)
if times[1] > 7 * times[0]:
    print(f"four times the layers take {times[1] / times[0]:.1f} times as long")
    failed = True
sys.exit(failed)
EOP
finish
