#!/bin/sh
# SPDX-License-Identifier: MIT
# A result that misses its goal never lies under the name asked for: it goes to NAME.missed.pith, what
# was there stays, standard output gets nothing, and --json tells which file there is.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_readme_inputs.py" || exit 1
miss="pith compress net.onnx -d val.tar --preprocess imagenet --sparsity 95% --bits 1 --max-drop 1%"

expect 1 $miss -o net.pith
absent net.pith
[ -s net.missed.pith ] || complain "no net.missed.pith"
[ "$(grep -c 'goal not met.*saved as net.missed.pith instead' .err)" = 1 ] || complain "not told: $(cat .err)"
expect 0 pith info net.missed.pith

echo old >kept.pith
expect 2 $miss -q -o kept.pith # exists, and there is no -f
expect 1 $miss -q -f -o kept.pith
[ "$(cat kept.pith)" = old ] || complain "kept.pith was touched by a result that missed its goal"
same net.missed.pith kept.missed.pith
expect 1 $miss -q -f -o kept.pith # the last miss is replaced

expect 1 $miss -q -o other.bin
absent other.bin
[ -s other.bin.missed.pith ] || complain "no other.bin.missed.pith"
mkdir default
(cd default && ln -s ../net.onnx ../val.tar ../labels.csv . && expect 1 $miss -q && absent net.pith &&
    [ -s net.missed.pith ] && exit $status) || complain "without -o: $(ls default)"

expect 1 $miss -q -o -
[ ! -s .out ] || complain "a result that missed its goal went to standard output"
grep -q 'nothing is written' .err || complain "not told: $(cat .err)"
expect 1 $miss -n -q -o dry.pith
absent dry.pith dry.missed.pith

# The input is never what is replaced.
cp net.missed.pith input.missed.pith
expect 1 pith compress input.missed.pith -d val.tar --sparsity 97% --bits 1 --max-drop 0% -q -o input.pith ||
    true
same net.missed.pith input.missed.pith
absent input.pith

$miss -q -f -o json.pith --json >json 2>err
python3 - <<'END' || status=1
import json
got = json.load(open("json"))
want = {"input": "net.onnx", "written": "json.missed.pith", "metric": "top1", "limit": 0.01, "met": False}
wrong = {k: got.get(k) for k in want if got.get(k) != want[k]}
if wrong or got["drop"] <= 0.01 or got["drop"] != got["before"] - got["after"]:
    raise SystemExit(f"json: {wrong} {got}")
layers = {l["name"]: l for l in got["layers"]}
if set(layers) != {"patches", "small", "classes"} or layers["small"]["density"] != 1:
    raise SystemExit(f"layers: {got['layers']}")
END
finish
