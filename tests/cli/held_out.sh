#!/bin/sh
# SPDX-License-Identifier: MIT
# quantize reports what its integers lose on samples that it held out: within 1.5 dB of the loss on samples
# that it never had, or with a warning. With fewer than 12 samples none is held out, and it says so.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || status=1
import json
import random
import struct
import subprocess
from make_inputs import field, model, node, npy, tensor, value, write

r = random.Random(3)
WIDE, HIDDEN, CLASSES, HIDDEN_CAUSES = 48, 128, 10, 12

def gauss(n, sigma):
    return [r.gauss(0, sigma) for _ in range(n)]

# inputs of rank 12 and some noise: error feedback overfits few samples
mix = [gauss(WIDE, 1) for _ in range(HIDDEN_CAUSES)]
def sample():
    z = gauss(HIDDEN_CAUSES, 1)
    return [sum(c * m[k] for c, m in zip(z, mix)) / 3 + r.gauss(0, 0.3) for k in range(WIDE)]

def samples(name, n):
    rows = [v for _ in range(n) for v in sample()]
    open(name, "wb").write(npy("<f4", (n, WIDE), struct.pack(f"<{len(rows)}f", *rows)))

write("mlp.onnx", model(
    field(2, "g") + value(11, "x", ["n", WIDE]) + value(12, "y", ["n", CLASSES]) +
    tensor("w1", [WIDE, HIDDEN], gauss(WIDE * HIDDEN, WIDE**-0.5)) +
    tensor("w2", [HIDDEN, CLASSES], gauss(HIDDEN * CLASSES, HIDDEN**-0.5)) +
    node("MatMul", ["x", "w1"], ["a"], "fc1") + node("Relu", ["a"], ["b"], "relu") +
    node("MatMul", ["b", "w2"], ["y"], "fc2")))
samples("unseen.npy", 200)

def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True)

def quantize(n, bits, *options):
    out = run("pith", "quantize", "mlp.onnx", "-d", f"{n}.npy", "--weights", str(bits), *options, "--json", "-f", "-o", "o.pith")
    return json.loads(out.stdout), out.stderr

def loss(data):
    return json.loads(run("pith", "compare", "mlp.onnx", "o.pith", "-d", data, "--json").stdout)["logit_snr_db"]

for n in (16, 64, 256):
    samples(f"{n}.npy", n)
    for bits in (3, 4, 8):
        reported, said = quantize(n, bits, "--all-integers")
        if reported["held_out"] != {16: 8, 64: 12, 256: 192}[n]:
            raise SystemExit(f"{n} samples: {reported['held_out']} held out")
        off = reported["snr_db"] - loss("unseen.npy")
        if abs(off) > 1.5 and "warning" not in said:
            raise SystemExit(f"{n} samples, {bits} bits: {reported['snr_db']:.1f} dB reported, {off:+.1f} dB off, no warning")
        if n == 64 and bits == 3 and reported["snr_db"] > loss("64.npy") - 1:
            raise SystemExit(f"{reported['snr_db']:.1f} dB reported, {loss('64.npy'):.1f} on samples fitted to")
samples("11.npy", 11)
reported, said = quantize(11, 8)
if reported["held_out"] != 0 or "none is held out" not in said:
    raise SystemExit(f"11 samples: {reported}, {said}")

# a recipe's stage reports what the command does
open("r.json", "w").write('{"pith": 1, "stages": [{"do": "quantize", "weights": 3}]}')
for n in (11, 64):
    said = run("pith", "quantize", "mlp.onnx", "-d", f"{n}.npy", "--weights", "3", "-f", "-o", "o.pith").stderr
    report = [line for line in said.splitlines() if not line.startswith("o.pith")]
    open("labels.txt", "w").write("1\n" * n)
    said = run("pith", "compress", "mlp.onnx", "-d", f"{n}.npy", "--labels", "labels.txt", "-r", "r.json", "-f", "-o", "r.pith").stderr
    missing = [line for line in report if line.replace("pith quantize", "pith compress") not in said]
    if not any(line.startswith("outputs") for line in report) or missing:
        raise SystemExit(f"{n} samples: the recipe does not print {missing}: {said}")
PY
finish
