#!/bin/sh
# SPDX-License-Identifier: MIT
# Outputs that are NaN or infinite in one of two models: no tolerance of compare is met, no goal of compress,
# and eval counts them as wrong. Where both models give the same, they are equal.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || exit 1
import random
import struct
from make_inputs import field, model, node, npy, tensor, value, write

r = random.Random(1)
WIDE, CLASSES, SAMPLES = 32, 8, 96

def floats(rows, cols, numbers):
    return npy("<f4", (rows, cols), struct.pack(f"<{rows * cols}f", *numbers))

# exp(100 x) overflows for x > 0.89; the same softmax with 80 x does not
def softmax_of(scale):
    return model(field(2, "g") + value(11, "x", [1, 4]) + value(12, "y", [1, 4]) + tensor("s", [1], [scale]) +
                 node("Mul", ["x", "s"], ["z"], "scores") + node("Exp", ["z"], ["e"], "exp") +
                 node("MatMul", ["e", "ones"], ["sum"], "sum") + node("Div", ["e", "sum"], ["y"], "div") +
                 tensor("ones", [4, 4], [1] * 16))

write("overflows.onnx", softmax_of(100))
write("finite.onnx", softmax_of(80))
x = [[0.9 if s < 5 and i == s % 4 else i / 8 for i in range(4)] for s in range(16)]
open("x.npy", "wb").write(floats(16, 4, [v for row in x for v in row]))
open("labels.txt", "w").write("".join(f"{row.index(max(row))}\n" for row in x))

# Two small weights of a product whose logarithm is taken: 0 by coarse weights gives -infinity, and NaN behind
# the next product. Class 0 wins on every sample, and is the class that a row of NaN was taken for.
small = (2, 5)
w = [(1e-5 if i % CLASSES in small else 1) * (r.random() + 0.5) for i in range(WIDE * CLASSES)]
v = [9.0 if i % CLASSES == 0 and i // CLASSES not in small else r.gauss(0, 1) for i in range(CLASSES * CLASSES)]
write("log.onnx", model(field(2, "g") + value(11, "x", ["n", WIDE]) + value(12, "y", ["n", CLASSES]) +
                        tensor("w", [WIDE, CLASSES], w) + tensor("v", [CLASSES, CLASSES], v) +
                        node("MatMul", ["x", "w"], ["p"], "fc") + node("Log", ["p"], ["l"], "log") +
                        node("MatMul", ["l", "v"], ["y"], "fc2")))
open("wide.npy", "wb").write(floats(SAMPLES, WIDE, [r.random() for _ in range(SAMPLES * WIDE)]))
PY
for tol in 'snr>-1000dB' abs:1e30 rel:1e30 bits; do
    expect 1 pith compare finite.onnx overflows.onnx -d x.npy --tol "$tol" --json
    grep -q '"ok":false' .out || complain "--tol $tol: not \"ok\":false"
    grep -q '"nonfinite_a":0,"nonfinite_b":5,"nonfinite_both":0' .out || complain "--tol $tol: $(cat .out)"
    expect 1 pith compare overflows.onnx finite.onnx -d x.npy --tol "$tol"
    grep -q '5 of 64 numbers are NaN or infinite in one model only (5 in A, 0 in B)' .out || complain "$(cat .out)"
    expect 0 pith compare overflows.onnx overflows.onnx -d x.npy --tol "$tol"
    grep -q '5 of 64 numbers are NaN or infinite in both' .out || complain "$(cat .out)"
    expect 1 pith compare finite.onnx overflows.onnx -d x.npy --tol "$tol" --layers --first
done
expect 1 pith compare finite.onnx overflows.onnx -d x.npy --tol 'snr>-1000dB' --first
grep -q "first over tolerance: 'exp' 5 of 64 numbers are NaN or infinite in one model only" .out || complain "$(cat .out)"

expect 0 pith eval finite.onnx -d x.npy --labels labels.txt
expect 0 pith eval overflows.onnx -d x.npy --labels labels.txt --json
grep -q '"correct1":11,.*"nan":5' .out || complain "eval: $(cat .out)"
grep -q '5 of 16 samples give NaN in output 0' .err || complain "eval: $(cat .err)"

for limit in '--min-agreement 0.9' '--max-drop 5%' '--min-snr 3'; do
    # shellcheck disable=SC2086 # an option and its value
    expect 0 pith compress log.onnx -d wide.npy $limit -f -o log.pith
    expect 0 pith compare log.onnx log.pith -d wide.npy --tol abs:1e30
done
finish
