#!/bin/sh
# SPDX-License-Identifier: MIT
# pith run of many pictures and folders: a line each with the file's name, in the order given, and the
# probability of the class, whatever the network ends in; errors name the file.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOF' || status=1
import json, math, os, subprocess, sys
from make_inputs import attr_int, field, model, node, png, tensor, value, write

W = [[0.01, 0, 0, 0], [0, 0.02, 0, 0], [0, 0, -0.01, 0.01]]
B = [0.5, 0, -0.25]
failed = False

def complain(*what):
    global failed
    failed = True
    print(*what)

def net(name, tail, last, dims=("n", 3), extra=b""):
    write(name, model(node("Flatten", ["x"], ["f"], "flat") +
                      node("Gemm", ["f", "w", "b"], ["g"], "fc", attr_int("transB", 1)) + tail + field(2, "net") +
                      tensor("w", [3, 4], sum(W, [])) + tensor("b", [3], B) + extra +
                      value(11, "x", ["n", 1, 2, 2]) + value(12, last, list(dims))))

net("logits.onnx", b"", "g")
net("softmax.onnx", node("Softmax", ["g"], ["p"], "soft", attr_int("axis", 1)), "p")
net("log.onnx", node("LogSoftmax", ["g"], ["p"], "soft", attr_int("axis", 1)), "p")
two = field(5, field(1, 1) + field(2, 7) + field(8, "two") + field(7, b"\x02"))
net("sigmoid.onnx", node("Sigmoid", ["g"], ["p"], "each") + node("Unsqueeze", ["p", "two"], ["u"], "longer"), "u",
    ("n", 3, 1), two)
shades = {"a.png": 30, "b.png": 90, "pics/c.png": 200, "pics/deep/d.png": 10}
os.makedirs("pics/deep")
for name, shade in shades.items():
    write(name, png(2, 2, lambda y, x: shade + 5 * x + y))
write("pics/notes.txt", b"none")

def logits(name):
    x = [shades[name] + 5 * (k % 2) + k // 2 for k in range(4)]
    return [sum(w * v for w, v in zip(row, x)) + b for row, b in zip(W, B)]

def softmax(v):
    e = [math.exp(a - max(v)) for a in v]
    return [a / sum(e) for a in e]

def run(args, code=0):
    p = subprocess.run(["pith", "run", *args.split(), "--preprocess", "raw"], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL)
    if p.returncode != code:
        complain(args, "exit", p.returncode, p.stderr)
    return p

def near(a, b):
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7)

order = ["b.png", "pics/c.png", "pics/deep/d.png", "a.png"]
for kind in ["logits", "softmax", "log"]:
    lines = [l.split("\t") for l in run(f"{kind}.onnx b.png pics a.png").stdout.splitlines()]
    if [l[0] for l in lines] != order:
        complain(kind, lines)
    for name, cls, p in lines:
        want = softmax(logits(name))
        if int(cls) != want.index(max(want)) or not near(float(p), max(want)):
            complain(kind, name, cls, p, want)
for name, cls, p in [l.split("\t") for l in run("sigmoid.onnx pics/ --top 3").stdout.splitlines()]:
    if not near(float(p), 1 / (1 + math.exp(-logits(name)[int(cls)]))):
        complain("sigmoid", name, cls, p)

# -d names them below the folder; values as they are, softmax where requested; one picture has no name
lines = [l.split("\t")[0] for l in run("logits.onnx -d pics").stdout.splitlines()]
if lines != ["c.png", "deep/d.png"]:
    complain("-d", lines)
raw = run("logits.onnx a.png --softmax never --top 1").stdout.split("\t")
if not near(float(raw[1]), max(logits("a.png"))):
    complain("never", raw)
rows = run("log.onnx a.png --softmax always --top 3").stdout.splitlines()
if not near(sum(float(l.split("\t")[1]) for l in rows), 1):
    complain("always", rows)

got = json.loads(run("logits.onnx a.png b.png --json --top 3").stdout)
for sample, name in zip(got["samples"], ["a.png", "b.png"]):
    want, values = softmax(logits(name)), logits(name)
    if sample["file"] != name or len(sample["top"]) != 3 or any(
            not near(t["probability"], want[t["class"]]) or not near(t["value"], values[t["class"]])
            for t in sample["top"]):
        complain("json", sample, want)
one = json.loads(run("logits.onnx a.png --json").stdout)
if one["file"] != "a.png" or not near(sum(t["probability"] for t in one["top"]), 1):
    complain("json of one", one)
run("logits.onnx a.png pics -o all.npy")
if b"(3, 3)" not in open("all.npy", "rb").read(128):
    complain("all.npy", open("all.npy", "rb").read(128))

# more of them than an option may be given, and names that would break a line
many = " ".join(["a.png"] * 300)
if len(run(f"logits.onnx {many}").stdout.splitlines()) != 300:
    complain("300 pictures")
os.makedirs("odd")
write("odd/b\n\x1b[2J.png", open("b.png", "rb").read())
if not run("logits.onnx odd").stdout.startswith("odd/b??[2J.png\t"):
    complain("odd name", repr(run("logits.onnx odd").stdout))

write("broken.png", open("a.png", "rb").read()[:40])
write("text.png", b"no picture at all")
for args, code, text in [("logits.onnx a.png missing.png", 3, "missing.png: No such file or directory"),
                         ("logits.onnx missing.png a.png", 3, "missing.png: No such file or directory"),
                         ("logits.onnx a.png text.png", 4, "text.png: neither PNG nor JPEG"),
                         ("logits.onnx a.png broken.png", 4, "broken.png: "),
                         ("logits.onnx six.f32 a.png", 2, "a.png: the model has only 1 input"),
                         ("logits.onnx saved", 4, "saved: no .png or .jpg in it"),
                         ("logits.onnx x=a.png b.png", 2, "b.png: the model has only 1 input"),
                         ("logits.onnx a.png --softmax maybe", 2, "--softmax 'maybe': give auto, always or never")]:
    if text not in run(args, code).stderr:
        complain(args, run(args, code).stderr)
sys.exit(failed)
EOF
finish
