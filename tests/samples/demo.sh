#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo and the batch script run, and their results are what they say.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
MAKE_DIGITS=$PITH_O/samples/make_digits DEMO_DIR=$work/demo sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
awk '
    $1 == "dense.pith" && $4 >= 99 { dense = 1 }
    $1 == "encoded.pith" && $2 < 45000 && $4 >= 98 { encoded = 1 }
    $1 == "small.pith" && $2 < 8000 && $4 >= 98 { small = 1 }
    /^stage by stage$/ && !small && !encoded { apart++ }
    /^in one training$/ && encoded && !small { apart++ }
    END { exit !(dense && encoded && small && apart == 2) }' "$work/out" || { echo "unexpected table:"; tail -15 "$work/out"; exit 1; }
# The last lines are commands that work.
sed -n '/^The files are in .* Next:$/,$s/^    //p' "$work/out" >"$work/next"
[ "$(wc -l <"$work/next")" -eq 2 ] || { echo "the demo names no next commands"; tail -4 "$work/out"; exit 1; }
sh -e "$work/next" >"$work/log" 2>&1 && [ -s "$work/demo/net.pith" ] || { cat "$work/next" "$work/log"; exit 1; }
echo "no network" >"$work/bad.onnx"
"$PITH" init digits -q -o "$work/digits.pith" && "$PITH" decode "$work/digits.pith" --to onnx -q -o "$work/digits.onnx" || exit 1
MODEL=$work/digits.onnx DATA=$work/demo/digits/test-images-idx3-ubyte DEMO_DIR=$work/demo \
    sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
grep -q '^encoded.pith .*x ' "$work/out" || { echo "unexpected table:"; tail -10 "$work/out"; exit 1; }
if sh samples/batch.sh "$work/batch" "$work/digits.onnx" "$work/bad.onnx" >"$work/out" 2>"$work/err"; then
    echo "batch.sh hid a failure"
    exit 1
fi
[ -s "$work/batch/digits.pith" ] && [ ! -e "$work/batch/bad.pith" ] && grep -q "failed:.*bad.onnx" "$work/err"
