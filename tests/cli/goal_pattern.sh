#!/bin/sh
# SPDX-License-Identifier: MIT
# A goal with a pattern, or with few levels: the file that is found keeps it in each layer that prune
# would take, option and recipe make the same bytes, and what does not fit is refused.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_own_inputs.py" && mv photos.onnx net.onnx || exit 1
data="-d val.tar --range 0:20 --preprocess imagenet"
search="pith compress net.onnx $data -T 1 --max-drop 20% -q -f"

# weights FILE: of layers patches [8, 768] and classes [4, 8], a row a line
weights() {
    pith decode "$1" -o decoded.onnx -q -f || complain "$1: no ONNX"
    "$PITH_VENV/bin/python" - <<'END'
import numpy, onnx
from onnx import numpy_helper
for t in onnx.load("decoded.onnx").graph.initializer:
    if len(t.dims) in (2, 4) and t.dims[1] > 1:
        for row in numpy_helper.to_array(t).reshape(t.dims[0], -1):
            print(" ".join("%.9g" % v for v in row))
END
}

# windows WIDTH MOST: whether of so many neighbours at most that many are not 0
windows() {
    awk -v width="$1" -v most="$2" '{
        for (i = 1; i <= NF; i += width) {
            kept = 0
            for (k = i; k < i + width && k <= NF; k++) kept += $k != 0
            if (kept > most) exit bad = 1
        }
        n++
    } END {exit bad || n != 12}'
}

expect 0 $search --pattern 2:4 -o pattern.pith
weights pattern.pith | windows 4 2 || complain "2:4 does not hold"
expect 0 $search --pattern balanced:3/8 -o balanced.pith
weights balanced.pith | windows 8 3 || complain "balanced:3/8 does not hold"
expect 0 $search --pattern 2x4 -o blocks.pith
weights blocks.pith | awk '{row[NR] = $0; n = NR} END {
    for (r = 1; r <= n; r += 2) {
        split(row[r], a); cols = split(row[r + 1], b)
        for (i = 1; i <= cols; i += 4) {
            zero = 1
            for (k = i; k < i + 4; k++) zero = zero && a[k] == 0 && b[k] == 0
            zeros[cols] += zero; all[cols]++
        }
    }
    for (c in all) if (zeros[c] < all[c] / 4 || all[c] < 4) exit 1
}' || complain "fewer than a quarter of the blocks are zero"
expect 0 $search --levels 5 -o levels.pith
weights levels.pith | tr ' ' '\n' | sort -u | wc -l >count
[ "$(cat count)" -le 10 ] || complain "$(cat count) values of two weights, expected at most 10"

echo '{"pith": 1, "goal": {"max_drop": "20%", "pattern": "2:4"}}' >r.json
expect 0 pith compress net.onnx $data -T 2 -q -r r.json -o recipe.pith
same pattern.pith recipe.pith
echo '{"pith": 1, "goal": {"max_drop": "20%", "pattern": "2:"}}' >bad.json
expect 2 pith compress net.onnx $data -q -r bad.json -o no.pith
echo '{"pith": 1, "goal": {"max_drop": "20%", "pattern": "2x4", "pattern_sparsity": 0.5}}' >former.json
expect 5 pith compress net.onnx $data -q -r former.json -o no.pith
grep -q "no goal 'pattern_sparsity'" .err || complain "former.json: $(cat .err)"

# refuse WORDS OPTIONS...
refuse() {
    words=$1
    shift
    expect 2 $search "$@" -o no.pith
    grep -q -e "$words" .err || complain "$*: $(cat .err)"
}
refuse "--pattern cannot go with --run int8" --pattern 2:4 --run int8
refuse "'row'" --pattern row
refuse "group 7 does not divide" --pattern 2:7
refuse "unknown option" --pattern 2:4 --pattern-sparsity 50%
refuse "out of range 3..16" --levels 17
refuse "needs a search" --pattern 2:4 --bits 4
expect 5 $search --pattern 2:4 -n -o no.pith
grep -q "cannot be estimated" .err || complain "-n: $(cat .err)"
expect 2 pith compress net.onnx --pattern 2:4 -q -o no.pith # needs data
absent no.pith no.best.pith
finish
