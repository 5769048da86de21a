#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo and the batch script run, and their results are what they say.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
MAKE_DIGITS=$PITH_O/samples/make_digits DEMO_DIR=$work/demo sh samples/demo.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
tail -4 "$work/out" | awk '
    $1 == "digits.onnx" && $4 >= 99 { dense = 1 }
    $1 == "small.pith" && $2 < 13000 && $4 >= 98 { small = 1 }
    END { exit !(dense && small) }' || { echo "unexpected table:"; tail -4 "$work/out"; exit 1; }
echo "no network" >"$work/bad.onnx"
if sh samples/batch.sh "$work/batch" samples/digits.onnx "$work/bad.onnx" >"$work/out" 2>"$work/err"; then
    echo "batch.sh hid a failure"
    exit 1
fi
[ -s "$work/batch/digits.pith" ] && [ ! -e "$work/batch/bad.pith" ] && grep -q "failed:.*bad.onnx" "$work/err"
