#!/bin/sh
# SPDX-License-Identifier: MIT
# The time of quantize grows with the number of layers, not with its square: of chains of 500 and of
# 2,000 layers of one weight each, the longer one takes 4 times the processor time, and less than 8.
. "$(dirname "$0")/sandbox.inc"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here python3 - <<'EOF' || status=1
import os, subprocess, sys
from make_inputs import field, model, node, tensor, value, write

def chain(n):
    graph = field(2, "g") + value(11, "x0", [1, 1]) + value(12, f"x{n}", [1, 1])
    for i in range(n):
        graph += node("Gemm", [f"x{i}", f"w{i}"], [f"x{i + 1}"], f"layer{i}")
        graph += tensor(f"w{i}", [1, 1], [1 + i % 7 / 50])
    write(f"chain{n}.onnx", model(graph))

def seconds(n):
    before = os.times().children_user
    subprocess.run(["pith", "quantize", f"chain{n}.onnx", "-d", "none", "-q", "-f", "-o", "out.pith"], check=True)
    return os.times().children_user - before

for n in 500, 2000:
    chain(n)
ratio = min(seconds(2000) for _ in range(2)) / min(seconds(500) for _ in range(2))
if ratio > 8:
    sys.exit(f"2,000 layers take {ratio:.1f} times as long as 500")
EOF
finish
