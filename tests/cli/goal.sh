#!/bin/sh
# SPDX-License-Identifier: MIT
# A result that misses its goal never lies under the requested name: it goes to NAME.best.pith, what
# was there stays, standard output gets nothing, and --json names the file there is.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" && mv photos.onnx net.onnx || exit 1
miss="pith compress net.onnx -d val.tar --preprocess imagenet --sparsity 95% --bits 1 --max-drop 1%"

expect 1 $miss -o net.pith
absent net.pith
[ -s net.best.pith ] || complain "no net.best.pith"
[ "$(grep -c 'goal not met.*saved as net.best.pith' .err)" = 1 ] || complain "not reported: $(cat .err)"
total=$(grep '^total' .err)
expect 0 pith info net.best.pith
[ "$total" = "$(grep '^total' .out)" ] || complain "compress prints '$total', info $(grep '^total' .out)"

echo old >kept.pith
expect 2 $miss -q -o kept.pith # exists, and there is no -f
expect 1 $miss -q -f -o kept.pith
[ "$(cat kept.pith)" = old ] || complain "kept.pith was touched by a result that missed its goal"
same net.best.pith kept.best.pith
expect 1 $miss -q -f -o kept.pith # the last miss is replaced

expect 1 $miss -q -o other.bin
absent other.bin
[ -s other.bin.best.pith ] || complain "no other.bin.best.pith"
mkdir default
(cd default && ln -s ../net.onnx ../val.tar ../labels.csv . && expect 1 $miss -q && absent net.pith &&
    [ -s net.best.pith ] && exit $status) || complain "without -o: $(ls default)"

expect 1 $miss -q -o -
[ ! -s .out ] || complain "a result that missed its goal went to standard output"
grep -q 'nothing is written' .err || complain "not reported: $(cat .err)"
expect 1 $miss -n -q -o dry.pith
absent dry.pith dry.best.pith

# The input is never what is replaced.
cp net.best.pith input.best.pith
expect 1 pith compress input.best.pith -d val.tar --sparsity 97% --bits 1 --max-drop 0% -q -o input.pith ||
    true
same net.best.pith input.best.pith
absent input.pith

$miss -q -f -o json.pith --json >json 2>err
python3 - <<'END' || status=1
import json
got = json.load(open("json"))
want = {"input": "net.onnx", "written": "json.best.pith", "metric": "top1", "limit": 0.01, "met": False}
wrong = {k: got.get(k) for k in want if got.get(k) != want[k]}
if wrong or got["drop"] <= 0.01 or got["drop"] != got["before"] - got["after"]:
    raise SystemExit(f"json: {wrong} {got}")
layers = {l["name"]: l for l in got["layers"]}
if set(layers) != {"patches", "small", "classes"} or layers["small"]["density"] != 1:
    raise SystemExit(f"layers: {got['layers']}")
END
# With data and nothing but a goal it searches: the file is within it, and nothing else is left.
search="pith compress net.onnx -d val.tar --preprocess imagenet -T 1"
expect 0 $search --max-drop 2% -q -o found.pith --json
cp .out found.json
absent found.best.pith
expect 0 pith info found.pith
python3 - <<'END' || status=1
import json, os
got = json.load(open("found.json"))
wrong = {k: got.get(k) for k, want in {"met": True, "written": "found.pith", "limit": 0.02}.items() if got.get(k) != want}
if wrong or got["bytes"] != os.path.getsize("found.pith") or not 1 <= got["calls"] <= 10:
    raise SystemExit(f"search: {wrong} {got}")
files = got["files"]
chosen = [f["bytes"] for f in files if f["chosen"]]
if (len(files) != got["calls"] or chosen != [got["bytes"]] or got["labels_resolve"] or got["kl_limit"] != 0.08 or
        min(f["bytes"] for f in files if f["fits"]) != got["bytes"]):
    raise SystemExit(f"files of the search: {files}")
END
# The same samples, options and seed give the same bytes. The log: which limit decides, a header, a line for each file; in
# a file no line is above 100 columns, on a terminal none of them above its width.
expect 0 $search --max-drop 2% -o again.pith
same found.pith again.pith
grep -q '^20 test samples resolve 5.00 points: the KL limit decides$' .err || complain "no resolution: $(cat .err)"
grep -q '^encoder  *quality  *size  *ratio  loss on ' .err || complain "no header: $(cat .err)"
grep -q '^sweep .*\(KL\|SQNR\) .*(limit ' .err || complain "no limit: $(cat .err)"
grep -q 'held-out samples (used neither to calibrate nor to select)\|also used for selection' .err || complain "$(cat .err)"
awk 'length > 100 { exit 1 }' .err || complain "wide: $(cat .err)"
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "stty cols 40; $search --max-drop 2% --progress=never -f -o again.pith" /dev/null </dev/null |
        tr -d '\r' | grep '^encoder\|^[a-z]* .*x ' >narrow
    awk 'length > 40 { exit 1 }' narrow || complain "above 40 columns: $(cat narrow)"
    [ "$(grep -c . narrow)" -ge 3 ] || complain "no log on a terminal: $(cat narrow)"
fi
# What cannot be: 100 bytes.
expect 1 $search --max-size 100 --max-drop 2% -o small.pith
absent small.pith
[ -s small.best.pith ] || complain "no small.best.pith"
[ "$(grep -c 'goal not met.*saved as small.best.pith' .err)" = 1 ] || complain "not reported: $(cat .err)"
grep -q 'largest layers: ' .err || complain "no layers: $(cat .err)"
grep -q -e '--max-size [0-9]* would give' .err || complain "no looser limit: $(cat .err)"
# Latency: a second is kept to by every file, a nanosecond by none; what was measured is printed.
expect 0 $search --max-drop 2% --max-latency 1s -q -o slow.pith --json
python3 - <<'END' || status=1
import json
got = json.load(open(".out"))
if not got["met"] or not 0 < got["latency_ms"] < 1000:
    raise SystemExit(f"latency: {got}")
END
expect 1 $search --max-drop 2% --max-latency 0.001us -o fast.pith
absent fast.pith
[ -s fast.best.pith ] || complain "no fast.best.pith"
grep -q -e '^integers .* ms' .err || complain "no integers were tried: $(cat .err)"
grep -q -e '--max-latency [0-9.e-]*ms would give' .err || complain "no looser latency: $(cat .err)"
expect 2 pith compress net.onnx --max-latency 1ms -q -o no.pith # needs data
# Selection and test need separate samples.
expect 2 $search --range 0:1 -q -o one.pith
grep -q 'separate samples: at least 2' .err || complain "one sample: $(cat .err)"
absent one.pith one.best.pith
# Ended by a signal once something was found: the best so far stays, nothing else does.
$search --max-drop 0.00001% -o ended.pith 2>ended.err &
for _ in $(seq 1200); do [ -s ended.best.pith ] && break; sleep 0.05; done
kill -TERM $! 2>/dev/null
wait $!
ended=$?
if [ $ended -ne 0 ] && [ $ended -ne 1 ]; then # else it was over before the signal came
    [ $ended -eq 143 ] || complain "exit $ended, expected 143: $(cat ended.err)"
    absent ended.pith
    [ -s ended.best.pith ] || complain "no ended.best.pith"
    expect 0 pith info ended.best.pith
fi
expect 0 $search --range 0:32 --max-drop 20% -q -n -o dry2.pith
absent dry2.pith dry2.best.pith
finish
