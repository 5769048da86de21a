#!/bin/sh
# SPDX-License-Identifier: MIT
# An ONNX file of a MiB and more is mapped and its pages are given back as they are read - the file's,
# never those that hold a copy of a short tensor among other things: a file with many short tensors is
# the same network from a pipe, which is not mapped.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOF' || exit 1
import struct
from make_inputs import field, model, node, value, write

def raw(name, dims, numbers):
    return field(5, b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) +
                 field(9, struct.pack(f"<{len(numbers)}f", *numbers)))

# 15 numbers are 60 bytes: few enough to be copied, and at some of 600 places they cross a page.
N = 600
graph = node("MatMul", ["x", "w"], ["v0"], "large")
graph += raw("w", [512, 640], [(k * 37 % 1009) / 5e4 for k in range(512 * 640)])
for i in range(N):
    n = (1, 640)[i % 50 == 49]  # one number, or a row that is long
    graph += node("Add", [f"v{i}", f"c{i}"], [f"v{i + 1}"], f"add{i}")
    graph += raw(f"c{i}", [1] * (1 + i % 3) + [n], [i / 16 + k for k in range(n)])
for i in range(N):  # folded at import
    graph += raw(f"short{i}", [15], [i + k / 8 for k in range(15)])
    graph += node("ReduceSum", [f"short{i}"], [f"sum{i}"], f"reduce{i}")
    graph += node("Add", [f"v{N + i}", f"sum{i}"], [f"v{N + i + 1}"], f"more{i}")
write("many.onnx", model(graph + field(2, "net") + value(11, "x", [1, 512]) + value(12, f"v{2 * N}", [1, 640])))
EOF
[ "$(wc -c <many.onnx)" -gt 1048576 ] || complain "many.onnx is not mapped"
expect 0 pith import many.onnx -q -o mapped.pith
cat many.onnx | pith import - -q -o piped.pith || complain "not imported from a pipe"
same mapped.pith piped.pith
finish
