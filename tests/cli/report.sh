#!/bin/sh
# SPDX-License-Identifier: MIT
# pith report and pith weights: pages of networks of several kinds hold together (report_page.py), the same inputs give the
# same bytes for any number of threads and from any folder, numbers agree with those of eval, info and compare, mistakes
# are named. In Chromium, where there is one, nothing overlaps, scrolls sideways, is requested or complained of.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" d 600 200 || exit 1
test=d/test-images-idx3-ubyte
pages() { python3 "$here/report_page.py" "$@" || status=1; }
number() { # FILE EXPRESSION of the page's object o
    python3 -c 'import json, re, sys
o = json.loads(re.search(r"id=\"pith\">(.*)</script>", open(sys.argv[1]).read()).group(1))
print(eval(sys.argv[2]))' "$1" "$2"
}
is() { # WHAT GOT WANTED
    [ "$2" = "$3" ] || complain "$1: '$2', not '$3'"
}

expect 0 pith train --init digits --preprocess scale=1/255 -d d/train-images-idx3-ubyte --epochs 3 --lr 0.003 -T 1 \
    --val $test --log train.jsonl -q -o net.pith
expect 0 pith prune net.pith --sparsity 60% -q -o pruned.pith
expect 0 pith cluster pruned.pith --bits 3 -q -o clustered.pith
expect 0 pith encode clustered.pith --for size -q -o small.pith
expect 0 pith quantize net.pith -d $test --range 0:64 -q -o int8.pith
cat >grid.json <<EOF
{ "pith": 1, "sweep": { "stages.0.bits": [1, 2, 4] }, "stages": [{ "do": "cluster" }, { "do": "encode", "for": "size" }] }
EOF
expect 0 pith sweep grid.json net.pith -d $test -T 1 -q --append sweep.jsonl

report() { expect 0 pith report "$@"; }
report net.pith -o plain.html
report digits.onnx -o onnx.html
report small.pith --vs net.pith -o vs.html
report small.pith --vs net.pith -d $test --log train.jsonl --sweep sweep.jsonl --svg figures -o small.html
report int8.pith --vs net.pith -d $test -o int8.html
report small.pith int8.pith -d $test -o two.html
pages plain.html onnx.html vs.html small.html int8.html two.html

# The same bytes again, with other threads and from another folder.
mkdir other
(cd other && expect 0 pith report ../small.pith --vs ../net.pith -d ../$test --log ../train.jsonl --sweep ../sweep.jsonl -T 2 -o ../again.html)
same small.html again.html

# Numbers are those of other commands.
is accuracy "$(number small.html 'o["after"]["correct"]')" "$(pith eval small.pith -d $test --json | sed 's/.*"correct1":\([0-9]*\).*/\1/')"
is original "$(number small.html 'o["before"]["correct"]')" "$(pith eval net.pith -d $test --json | sed 's/.*"correct1":\([0-9]*\).*/\1/')"
is bytes "$(number small.html 'o["after"]["bytes"]')" "$(wc -c <small.pith)"
is "bytes of layers" "$(number small.html '[l["bytes"] for l in o["layers"]]')" \
    "$(pith info small.pith --json | python3 -c 'import json, sys; print([l["bytes"] for l in json.load(sys.stdin)["layers"]])')"
is "nonzeros" "$(number small.html 'sum(l["nonzeros"] for l in o["layers"])')" \
    "$(pith info small.pith --json | sed 's/.*"nonzeros":\([0-9]*\).*/\1/')"
is "agreement" "$(number small.html 'round(o["agree"] / o["samples"], 6)')" \
    "$(pith compare net.pith small.pith -d $test --json | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["agreement"], 6))')"
is "sum of sections" "$(number small.html 'sum(o["sections"].values())')" "$(wc -c <small.pith)"
is "counts of histograms" "$(number small.html 'all(sum(l["histogram"][k]) == l["weights"] for l in o["layers"] for k in ("before", "after"))')" True
is "layers alone" "$(number small.html 'all(l["alone_snr_db"] > 0 for l in o["layers"])')" True
is "levels" "$(number small.html 'all(2 <= l["levels"] <= 9 for l in o["layers"])')" True
is "INT8 layers alone" "$(number int8.html 'all(l["alone_snr_db"] > 15 for l in o["layers"])')" True
is "epochs" "$(number small.html 'len(o["curve"]["loss"])')" 3
is "sweep" "$(number small.html 'len(o["sweep"])')" 3
# energy of a layer of floats: products, weights from DRAM, activations; more than with the same in few bytes
is "energy" "$(number small.html 'o["energy"]["weights_j"] < o["energy_before"]["weights_j"] / 8')" True

# Figures of their own are XML.
for f in bytes-by-layer graph-bytes graph-error graph-cost training-loss sweep-front confusion weights-000; do
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' figures/$f.svg || complain "figures/$f.svg"
done

# A name that would break out of HTML, in every place where a name goes.
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
from make_inputs import *
name = "</script><b>\"'&\x01"
graph = (node("Gemm", ["x", name], [name + "y"], name, attr_int("transB", 1)) + field(2, name) + tensor(name, [2, 3], [1, 2, 3, 4, 5, 6])
         + value(11, "x", [1, 3]) + value(12, name + "y", [1, 2]))
open("a<script>b.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
END
report "./a<script>b.onnx" --vs "./a<script>b.onnx" -o "escaped.html"
cp escaped.html plain-name.html
pages plain-name.html
grep -qE '<script>|</script><b' escaped.html && complain "a name is not escaped"

# Open sizes are those of the samples, in both networks.
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
from make_inputs import *
graph = (node("Conv", ["x", "w"], ["c"], "c") + node("GlobalAveragePool", ["c"], ["g"], "g") + field(2, "open")
         + tensor("w", [2, 1, 1, 1], [1, -2]) + value(11, "x", ["N", 1, "H", "W"]) + value(12, "g", ["N", 2, 1, 1]))
open("open.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
open("open.npy", "wb").write(npy("<f4", (2, 1, 5, 3), struct.pack("<30f", *range(30))))
END
report open.onnx --vs open.onnx -d open.npy -o open.html
is "operations at 5 x 3" "$(number open.html 'o["after"]["macs"]')" 30

# Weights as arrays and pictures: 2 outputs of 3 inputs.
cp "a<script>b.onnx" six.onnx
expect 0 pith weights six.onnx -o w.npy
expect 0 pith weights six.onnx -o w.png
python3 - <<'END' || complain "weights"
import struct
d = open("w.npy", "rb").read()
assert struct.unpack("<6f", d[-24:]) == (1, 2, 3, 4, 5, 6) and b"(2, 3)" in d
assert struct.unpack(">II", open("w.png", "rb").read()[16:24]) == (3, 2)
END
expect 0 pith weights small.pith --layer "$(pith info small.pith --json | sed 's/.*"layers":\[{"name":"\([^"]*\)".*/\1/')" -o c.png

# Mistakes.
expect 2 pith weights small.pith -o none.png # several layers
grep -q 'several layers' .err || complain "$(cat .err)"
expect 2 pith weights small.pith --layer conv99 -o none.png
grep -q "no layer 'conv99'; there are: " .err || complain "$(cat .err)"
expect 2 pith weights six.onnx -o none.txt
expect 2 pith report net.pith
expect 2 pith report net.pith -o plain.html # exists
expect 2 pith report net.pith small.pith --vs net.pith -o none.html
expect 2 pith report net.pith -d d/train-labels-idx1-ubyte -o none.html
echo nothing >broken.csv
expect 4 pith report net.pith --log broken.csv -o none.html
grep -q 'broken.csv: line 1 is no event' .err || complain "$(cat .err)"
: >empty
for option in log sweep; do expect 3 pith report net.pith --$option empty -o none.html; done
expect 3 pith report net.pith --sweep nowhere -o none.html
expect 3 pith report net.pith --svg six.onnx -o none.html
absent none.html none.png none.txt

command -v chromium >/dev/null || { echo "no chromium: apt-get install chromium"; exit $((status ? status : 77)); }
pages small.html int8.html two.html plain-name.html --layout
finish
