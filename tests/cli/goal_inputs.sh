#!/bin/sh
# SPDX-License-Identifier: MIT
# Searches on what people give: labels that are no classes of the network, or others', inputs that
# are always the same (H is singular), layers of zeros, a picture alone, pictures of other sizes,
# values that are no numbers; limits of every kind together, those that cannot be kept, and all of it
# as a recipe. Nothing bad lies under the requested name.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import random
import struct
from make_inputs import attr_int, field, model, node, npy, tensor, value, write

random.seed(5)
WIDTH, HIDDEN, CLASSES, ROWS = 24, 40, 5, 96

def gauss(n, scale):
    return [random.gauss(0, scale) for _ in range(n)]

def network(w1, w2):
    return (node("Gemm", ["x", "w1", "b1"], ["h"], "hidden", attr_int("transB", 1)) + node("Relu", ["h"], ["r"], "relu") +
            node("Gemm", ["r", "w2", "b2"], ["y"], "classes", attr_int("transB", 1)) + field(2, "rows") +
            tensor("w1", [HIDDEN, WIDTH], w1) + tensor("w2", [CLASSES, HIDDEN], w2) +
            tensor("b1", [HIDDEN], gauss(HIDDEN, 0.1)) + tensor("b2", [CLASSES], gauss(CLASSES, 0.1)) +
            value(11, "x", ["n", WIDTH]) + value(12, "y", ["n", CLASSES]))

w1, w2 = gauss(HIDDEN * WIDTH, 0.3), gauss(CLASSES * HIDDEN, 0.4)
two = (node("Gemm", ["x", "w1"], ["h"], "hidden", attr_int("transB", 1)) + node("Relu", ["h"], ["r"], "relu") +
       node("Gemm", ["r", "w2"], ["boxes"], "head1", attr_int("transB", 1)) +
       node("Gemm", ["r", "w3"], ["scores"], "head2", attr_int("transB", 1)) + field(2, "two") +
       tensor("w1", [HIDDEN, WIDTH], w1) + tensor("w2", [CLASSES, HIDDEN], w2) +
       tensor("w3", [CLASSES, HIDDEN], gauss(CLASSES * HIDDEN, 0.01)) +
       value(11, "x", ["n", WIDTH]) + value(12, "boxes", ["n", CLASSES]) + value(12, "scores", ["n", CLASSES]))
write("two.onnx", model(two))
write("mlp.onnx", model(network(w1, w2)))
write("zero_hidden.onnx", model(network([0.0] * len(w1), w2)))
write("zero_all.onnx", model(network([0.0] * len(w1), [0.0] * len(w2))))
def rows(name, make):
    x = [v for i in range(ROWS) for v in make(i)]
    write(name, npy("<f4", (ROWS, WIDTH), struct.pack(f"<{len(x)}f", *x)))

rows("x.npy", lambda i: gauss(WIDTH, 1))
rows("same.npy", lambda i: [1.0] * WIDTH)          # H has rank 1
rows("zeros.npy", lambda i: [0.0] * WIDTH)         # H is 0
rows("twins.npy", lambda i: gauss(WIDTH // 2, 1) * 2) # half of the columns are the other half
rows("nan.npy", lambda i: [float("nan")] * WIDTH)
boxes = (node("Gemm", ["x", "w1"], ["h"], "hidden", attr_int("transB", 1)) +
         node("Unsqueeze", ["h"], ["u"], "", field(5, field(1, "axes") + field(8, 1) + field(20, 7))) +
         node("Mul", ["u", "m"], ["y"], "boxes") + field(2, "boxes") + tensor("w1", [HIDDEN, WIDTH], w1) +
         tensor("m", [CLASSES, 1], [1, -2, 0.5, 3, -1]) + value(11, "x", ["n", WIDTH]) + value(12, "y", ["n", CLASSES, HIDDEN]))
write("boxes.onnx", model(boxes, 11))
for name, label in (("high.csv", lambda i: CLASSES if i == 50 else 0), ("others.csv", lambda i: i % CLASSES)):
    write(name, "".join(f"{label(i)}\n" for i in range(ROWS)).encode())
END

search="pith compress mlp.onnx -d x.npy -T 1"
expect 0 pith run mlp.onnx -d x.npy -q -o answers.npy
python3 - <<'END' || exit 1
import struct
y = open("answers.npy", "rb").read()
y = struct.unpack(f"<{96 * 5}f", y[-96 * 5 * 4:])
with open("right.csv", "w") as f:
    for i in range(96):
        row = y[5 * i:5 * i + 5]
        print(row.index(max(row)), file=f)
END

# Labels.
expect 2 $search --labels high.csv -q -o high.pith
grep -q 'labels do not fit: sample 50 has class 5, output 0 has classes 0 to 4' .err || complain "high: $(cat .err)"
absent high.pith high.best.pith
expect 0 $search --labels others.csv --max-drop 2% -q -o others.pith --json
grep -q 'labels do not fit: the network is right on [0-9]* of 36, guessing' .err || complain "others: $(cat .err)"
grep -q '"metric": *null' .out || complain "labels of others were counted: $(cat .out)"
expect 0 $search --labels right.csv --max-drop 2% -q -o right.pith --json
[ ! -s .err ] || complain "labels that fit: $(cat .err)"
grep -q '"metric": *"top1"' .out || complain "labels were not counted: $(cat .out)"
expect 0 pith compress boxes.onnx -d x.npy -T 1 --labels right.csv -q -o boxes.pith --json
grep -q 'labels do not fit: samples have one, the output is 1x5x40' .err || complain "boxes: $(cat .err)"
grep -q '"metric": *null' .out || complain "labels of boxes were counted: $(cat .out)"
expect 2 pith eval boxes.pith -d x.npy --labels right.csv
grep -q "one label, the model's output is 1x5x40: no row" .err || complain "eval of boxes: $(cat .err)"

# Inputs and layers without statistics: a file within the goal, or a reported miss.
for data in same zeros twins; do
    expect 0 pith compress mlp.onnx -d $data.npy -T 1 -q -o $data.pith
    expect 0 pith compare mlp.onnx $data.pith -d $data.npy
done
for network in zero_hidden zero_all; do
    expect 0 pith compress $network.onnx -d x.npy -T 1 -q -o $network.pith
    expect 0 pith info $network.pith
done
expect 2 $search --range 0:1 -q -o one.pith
absent one.pith one.best.pith
expect 0 $search --range 0:2 --max-drop 5% -q -o two.pith
expect 0 pith info two.pith
pith compress mlp.onnx -d nan.npy -T 1 -q -o nan.pith >.out 2>.err
got=$?
[ $got -ne 0 ] || complain "answers that are no numbers passed for kept"
[ $got -lt 64 ] || complain "nan: exit $got"
absent nan.pith
# Samples of another size.
cp "$work/digits.onnx" . 2>/dev/null
expect 2 pith compress digits.onnx -d x.npy -q -o size.pith
absent size.pith size.best.pith

# Limits together.
# met RC OPTIONS...: and what --json says of the file holds for each limit
met() {
    wanted=$1
    shift
    rm -f all.pith all.best.pith
    expect "$wanted" $search -q -f -o all.pith --json "$@"
    cp .out all.json
    python3 - "$wanted" "$@" <<'END' || status=1
import json, os, sys
wanted, given = int(sys.argv[1]), sys.argv[2:]
got = json.load(open("all.json"))
limits = dict(zip(given[::2], given[1::2]))
name = "all.pith" if wanted == 0 else "all.best.pith"
wrong = []
if got["met"] != (wanted == 0) or got["written"] != name or os.path.getsize(name) != got["bytes"]:
    wrong.append("written")
if os.path.exists("all.pith") != (wanted == 0) or os.path.exists("all.best.pith") != (wanted == 1):
    wrong.append("files")
if wanted == 0:
    if "--max-size" in limits and got["bytes"] > float(limits["--max-size"]):
        wrong.append("size")
    snr = float("inf") if got["snr_db"] is None else got["snr_db"]
    if "--min-snr" in limits and snr < float(limits["--min-snr"]) - 1: # of other samples
        wrong.append("snr")
    if "--min-agreement" in limits and got["agreement"] < float(limits["--min-agreement"]) - 0.1:
        wrong.append("agreement")
if wrong:
    raise SystemExit(f"{given}: {wrong} {got}")
END
}
met 0 --max-drop 2% --min-snr 15
met 0 --min-snr 25
met 0 --min-agreement 0.9
met 0 --max-size 900
met 0 --max-ram 200K
met 0 --max-drop 5% --max-size 1500 --max-ram 256K --min-agreement 0.8 --min-snr 8 --time 60s
met 0 --max-drop 2% --run float
met 0 --max-drop 5% --run int8
met 1 --min-snr 60 --max-size 400
grep -q 'goal not met: the best is .* saved as all.best.pith' .err || complain "no line: $(cat .err)"
met 1 --max-drop 2% --max-ram 300
met 0 --max-drop 5% --max-ram 4K --target cortex-m4f # of exported code; the runtime needs more
met 1 --max-drop 5% --max-ram 4K
expect 2 $search --max-drop 5% --target cortex-m4f -f -o all.pith
# Where no limit is on sizes, there is always a file.
met 0 --min-snr 62 # what 8 bits do not keep, 16 do
grep -q '"encoder":"f16"' all.json || complain "no f16: $(cat all.json)"
met 0 --min-agreement 1 --min-snr 150 # nor 16
grep -q '"encoder":"exact"' all.json || complain "not exact: $(cat all.json)"
met 1 --min-agreement 1 --min-snr 150 --run int8
expect 1 $search --max-drop 0% --max-size 300 -f -o all.pith
grep -q 'most loss is in: \(hidden\|classes\) [0-9]*%' .err || complain "no layers: $(cat .err)"
grep -q -e '--max-size [0-9]* would give' .err || complain "no larger file: $(cat .err)"
expect 1 $search --max-drop 0.3% --max-size 300 -f -o all.pith
grep -q -e '--max-drop [0-9.]*% --max-size [0-9]* would give' .err || complain "no looser limit: $(cat .err)"
expect 1 $search --min-snr 40 --min-agreement 0.99 --max-size 300 -f -o all.pith
grep -q -e '--min-snr [0-9]* --max-size [0-9]* would give' .err || complain "no looser limits: $(cat .err)"

# Several outputs: the log names the one that limits. One that counts ten times as much has 10 dB more, one
# that counts nothing is not protected.
two="pith compress two.onnx -d x.npy -T 1 -f"
expect 0 $two -o plain.pith
grep -q '^encoder  *quality  *size  *ratio  loss on 18 validation samples' .err || complain "no header: $(cat .err)"
grep -q '^  SQNR [0-9.]* dB (limit 30.0) in \(boxes\|scores\)$' .err || complain "no output named: $(cat .err)"
expect 0 $two --weigh boxes=1,scores=10 -q -o tenfold.pith
expect 0 $two --weigh scores=0 -o none.pith
grep -q 'in boxes$' .err || complain "scores still limit: $(cat .err)"
for file in plain tenfold none; do
    pith run two.onnx -d x.npy -q -f -o two.out/ && pith run $file.pith -d x.npy -q -f -o $file.out/ || complain "run $file"
done
python3 - <<'END' || status=1
import math, struct
def floats(name):
    b = open(name + ".out/scores.npy", "rb").read()
    return struct.unpack(f"<{96 * 5}f", b[-96 * 5 * 4:])
was = floats("two")
db = {f: 10 * math.log10(sum(a * a for a in was) / sum((a - b) ** 2 for a, b in zip(was, floats(f))))
      for f in ("plain", "tenfold", "none")}
if not (db["plain"] >= 29.5 and db["tenfold"] >= 39 and db["none"] < db["plain"] - 1):
    raise SystemExit(f"scores: {db}")
END
for wrong in other=1 scores=-1 scores scores=1x boxes=0,scores=0; do
    expect 2 $two --weigh $wrong -q -o wrong.pith
    grep -q -e "--weigh" .err || complain "--weigh $wrong: $(cat .err)"
done
expect 2 $two --weigh scores=2 --bits 4 -q -o wrong.pith
absent wrong.pith
rm -rf none.pith

# The same as a recipe: one with a goal and no stages is a search.
echo '{ "pith": 1, "goal": { "max_drop": "2%", "min_snr": 15 } }' >goal.json
expect 0 $search --max-drop 2% --min-snr 15 -q -f -o requested.pith
expect 0 $search -r goal.json -q -f -o recipe.pith
same requested.pith recipe.pith
expect 1 $search -r goal.json --max-size 200 -q -f -o recipe2.pith # options are added
absent recipe2.pith
expect 2 pith compress mlp.onnx -r goal.json -q -o none.pith # without samples
grep -q 'needs a search: -d DATA' .err || complain "no data: $(cat .err)"
echo '{ "pith": 1, "goal": { "max_size": "2K" }, "stages": [ { "do": "cluster" } ] }' >both.json
expect 2 $search -r both.json -q -o both.pith
absent none.pith both.pith
expect 2 $search -r both.json -n -q
echo '{ "pith": 1 }' >nothing.json
expect 2 $search -r nothing.json -q -o nothing.pith

# The same bytes for every number of threads.
expect 0 $search --max-drop 2% -q -f -o one.pith
expect 0 pith compress mlp.onnx -d x.npy -T 3 --max-drop 2% -q -f -o three.pith
same one.pith three.pith
finish
