#!/bin/sh
# SPDX-License-Identifier: MIT
# The time of quantize grows with the number of layers, not with its square: of chains of 500 and of
# 2,000 layers of one weight each, the longer one takes 4 times the processor time, and less than 8. And
# with the number of a layer's weights, where it has few samples: 2048 x 2048 takes some 4 times as long as
# 1024 x 1024, and less than 6 (8 where rows were rounded by a factor of all columns).
. "$(dirname "$0")/sandbox.inc"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here python3 - <<'EOF' || status=1
import array, os, random, struct, subprocess, sys
from make_inputs import field, model, node, tensor, value, write

def chain(n):
    graph = field(2, "g") + value(11, "x0", [1, 1]) + value(12, f"x{n}", [1, 1])
    for i in range(n):
        graph += node("Gemm", [f"x{i}", f"w{i}"], [f"x{i + 1}"], f"layer{i}")
        graph += tensor(f"w{i}", [1, 1], [1 + i % 7 / 50])
    write(f"chain{n}.onnx", model(graph))

def layer(n):
    numbers = random.Random(n)
    w = [numbers.random() - 0.5 for _ in range(1 << 16)] * (n * n >> 16)
    graph = field(2, "g") + value(11, "x", [1, n]) + value(12, "y", [1, n]) + node("MatMul", ["x", "w"], ["y"], "fc")
    write(f"wide{n}.onnx", model(graph + tensor("w", [n, n], w)))
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (32, {n}), }}".encode()
    head += b" " * ((-len(head) - 11) % 64) + b"\n"
    x = array.array("f", [numbers.gauss(0, 1) for _ in range(32 * n)]).tobytes()
    write(f"wide{n}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + x)

def seconds(name, data):
    before = os.times().children_user
    subprocess.run(["pith", "quantize", name + ".onnx", "-d", data, "-q", "-f", "-o", "out.pith"], check=True)
    return os.times().children_user - before

for n in 500, 2000:
    chain(n)
ratio = min(seconds("chain2000", "none") for _ in range(2)) / min(seconds("chain500", "none") for _ in range(2))
if ratio > 8:
    sys.exit(f"2,000 layers take {ratio:.1f} times as long as 500")

times = []
for n in 1024, 2048:
    layer(n)
    times.append(min(seconds(f"wide{n}", f"wide{n}.npy") for _ in range(2)))
print(f"1024 x 1024: {times[0]:.2f} s, 2048 x 2048: {times[1]:.2f}", file=sys.stderr)
if times[1] > 6 * times[0]:
    sys.exit(f"four times the weights take {times[1] / times[0]:.1f} times as long")
EOF
finish
