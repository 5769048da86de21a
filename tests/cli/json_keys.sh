#!/bin/sh
# SPDX-License-Identifier: MIT
# Every --json is one valid object with the schema number first and the keys that scripts rely on;
# --json=lines is one object a line, the result last.
. "$(dirname "$0")/sandbox.inc"
python3 - <<'EOF' || status=1
import json, subprocess, sys

failed = False
def run(command, code):
    p = subprocess.run(command, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode != code:
        print(command, "exit", p.returncode, p.stderr)
        global failed
        failed = True
    return p.stdout

def check(command, keys, code=0, lists={}):
    global failed
    out = run(command, code)
    try:
        got = json.loads(out)
    except ValueError as e:
        print(command, e, out[:300])
        failed = True
        return {}
    problems = [k for k in keys if k not in got]
    for name, members in lists.items():
        problems += [f"{name}[].{k}" for k in members if not got.get(name) or k not in got[name][0]]
    if problems or next(iter(got)) != "pith" or got["pith"] != 1:
        print(command, "lacks", problems, out[:300])
        failed = True
    return got

run("pith compress digits.onnx --sparsity .5 --bits 4 -q -o small.pith", 0)
data = "-d images-idx3-ubyte"
check("pith version --json", ["version", "format", "cpu"])
check("pith ops --json", ["ops"])
layers = ["name", "op", "shape", "density", "bits", "grid", "code", "bytes"]
info = check("pith info small.pith --json",
             ["bytes", "weights", "nonzeros", "macs", "ratio", "bits_per_weight", "sections"],
             lists={"layers": layers})
if sum(info["sections"].values()) != info["bytes"]:
    print("sections do not sum to bytes", info)
    failed = True
check("pith info escape.onnx --json", [], lists={"layers": layers})
check("pith check small.pith --json", ["ok", "unsupported"])
check(f"pith check good.onnx {data} --json", ["ok", "unsupported", "samples", "labelled"])
check("pith check nan.onnx --json", ["ok", "nonfinite"], code=1)
check("pith check odd.onnx --json", ["ok"], lists={"suspicious": ["kind", "layer", "tensor", "count", "of", "first"]})
check("pith check open.onnx --json", ["ok"], code=5, lists={"open": ["input", "dim", "symbol", "example"]})
check("pith check digits.onnx -d grey.png --json", ["ok", "misfit"], code=1)
check("pith check unsupported.onnx --json", ["ok"], code=5, lists={"unsupported": ["op", "count"]})
check(f"pith eval good.onnx {data} --json", ["samples", "top1", "top5", "correct1", "correct5", "nan", "loss"])
check(f"pith eval good.onnx {data} --confusion --json", ["confusion"])
check("pith compare digits.onnx small.pith --layers --json",
      ["samples", "agreement", "kl", "kl_standard_error", "snr_db", "max_abs", "nonfinite_a", "nonfinite_b", "nonfinite_both"],
      lists={"layers": ["name", "snr_db", "max_abs", "nonfinite_a", "nonfinite_b", "nonfinite_both"]})
first = check("pith compare digits.onnx small.pith --first --tol 'snr>90dB' --json", ["first"], code=1)["first"]
if list(first) != ["name", "reason"]:
    print("first has", list(first))
    failed = True
check("pith info small.pith --plan --json", ["steps"],
      lists={"steps": ["layer", "op", "kernel", "activation", "macs", "weight_bytes", "segment", "samples", "lanes", "operands"]})
bench = ["ms_median", "ms_min", "ms_p90", "threads", "batch", "arena_bytes"]
check("pith bench small.pith --time 0.05 --json", bench, lists={"layers": ["name", "op", "kernel"]})
check("pith bench small.pith --vs digits.onnx --time 0.05 --json", bench + ["vs", "ratio"])
check("pith bench escape.onnx --time 0.05 --per-layer --json", bench, lists={"layers": ["ns"]})
check("pith import digits.onnx -o i.pith --json", ["bytes", "nodes", "weights"])
check("pith init digits -o n.pith --json", ["bytes", "nodes", "weights"])
run("$PITH_O/samples/make_digits d 64 8", 0)
check("pith train n.pith -d d/train-images-idx3-ubyte --batch 32 --epochs 1 -q -o t.pith --json",
      ["bytes", "parameters", "trained", "kept", "epochs", "best_epoch", "loss"])
check("pith sweep grid.json digits.onnx --append r.jsonl -q --json", ["results"],
      lists={"pareto_front": ["model", "combination", "bytes", "top1", "params"]})
check("pith sweep --pareto r.jsonl --json", ["results"], lists={"pareto_front": ["combination", "bytes", "params"]})
check("pith prune i.pith --sparsity .5 -o p.pith --json", ["bytes", "weights", "kept"],
      lists={"layers": ["name", "weights", "kept"]})
check("pith cluster p.pith --bits 3 -o c.pith --json", ["bytes"],
      lists={"layers": ["name", "centroids", "snr_db"]})
check(f"pith calibrate good.onnx {data} -q -o k.pith --json", ["bytes", "samples", "grids", "methods"],
      lists={"ranges": ["name", "min", "max", "observed", "grid"]})
check(f"pith sense good.onnx {data} --bits 4 --json", ["what", "samples", "predictions", "worst"],
      lists={"layers": ["name", "tensor", "weights", "cost"]})
check("pith quantize k.pith -q -o q.pith --json", ["bytes", "weights", "kept"],
      lists={"layers": ["name", "weights", "integer"]})
check("pith encode c.pith -o e.pith --json", ["bytes"])
check("pith decode e.pith -o d.pith --json", ["bytes"])
compress = ["bytes", "ratio", "before", "after", "drop", "seconds", "met"]
check("pith compress digits.onnx --bits 4 -q -f -o z.pith --json", compress)
check(f"pith compress good.onnx {data} --bits 1 -q -f -o z.pith --json", compress)
check("pith run good.onnx six.f32 --json", ["output"], lists={"top": ["class", "value"]})
check("pith run sum.onnx -d x.npy --state sum=s --json", ["output"], lists={"samples": ["sample", "top"]})
run("pith import digits.onnx --json", 2)   # both want stdout

# An error is an object, too, of every command and of what cannot be parsed.
for command, code, status, text in [
        ("pith info nope.pith --json", 3, "io", "cannot open 'nope.pith': No such file or directory"),
        ("pith eval good.onnx --json", 2, "usage", "no data: give -d DATA"),
        ("pith prune good.onnx --sparsty 3 --json", 2, "usage", "unknown option '--sparsty' (see pith prune -h)"),
        ("pith comprss good.onnx --json", 2, "usage", "'comprss' is not a pith command; see pith help"),
        ("pith recipe nonsense --json=lines", 2, "usage", "give show MODEL, lint FILE or write"),
        ("pith check not.onnx --json", 4, "broken", None),
        ("pith import digits.onnx --json", 2, "usage", None)]:
    error = check(command, ["error"], code=code)
    want = {"exit": code, "status": status, "text": text or error.get("error", {}).get("text")}
    got = dict(error.get("error", {}))
    got.pop("file", None)
    if {**error, "error": got} != {"pith": 1, "error": want} or not want["text"]:
        print(command, "error is", error)
        failed = True
# It names the file and the layer where its text does.
for command, code, file, layer in [
        ("pith info nope.pith --json", 3, "nope.pith", None),
        ("pith check not.onnx --json", 4, "not.onnx", None),
        ("pith import cycle.onnx -o x.pith --json", 4, "cycle.onnx", "first"),
        ("pith eval -d images-idx3-ubyte --labels=nope.txt good.onnx --json", 3, "nope.txt", None),
        ("pith run sum.onnx --json -d x=wav:3:2:five.wav --state sum=s", 2, "five.wav", None),
        ("pith encode good.onnx --json -o x.npy", 2, "x.npy", None),
        ("pith eval good.onnx --json", 2, None, None),
        ("pith prune good.onnx --sparsity 3 --json -o x.pith", 2, None, None)]:
    error = check(command, ["error"], code=code).get("error", {})
    if (error.get("file"), error.get("layer")) != (file, layer):
        print(command, "error is", error)
        failed = True
# One that comes in the middle closes what is open.
run("printf '\\1\\2\\3' >short.f32", 0)
check("pith run good.onnx short.f32 --json", ["error"], code=4)

lines = run(f"pith eval good.onnx {data} --json=lines", 0).splitlines()
events = [json.loads(l) for l in lines]
# (What takes a second, as on a busy machine, says in between how far it is.)
if [e["event"] for e in events[:-1] if e["event"] != "progress"] != ["start", "end"] or "top1" not in events[-1]:
    print("--json=lines:", lines)
    failed = True
# Long work says how far it is: parts of known length, done to the end.
for command, parts in [("pith quantize good.onnx -d rows.npy -q -f -o q.pith", {"calibrate", "quantize"}),
                       (f"pith sense good.onnx {data} --bits 4", {"sense"}), (f"pith eval good.onnx {data}", {"eval"})]:
    events = [json.loads(l) for l in run(command + " --json=lines", 0).splitlines()]
    ends = {e["step"]: e for e in events[:-1] if e["event"] == "end"}
    if "event" in events[-1] or not all(p in ends and ends[p]["done"] == ends[p]["total"] > 0 for p in parts):
        print(command, "reports no progress:", events)
        failed = True
sys.exit(failed)
EOF
finish
