#!/bin/sh
# SPDX-License-Identifier: MIT
# The sample of a language model: it learns sentences, shrinks to a sixth or less within its limit, and goes on with a
# prompt.
python=$PITH_VENV/bin/python3
"$python" -c 'import numpy, onnx' 2>/dev/null || { echo "Python has no onnx"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
PYTHONDONTWRITEBYTECODE=1 PYTHON=$python DEMO_DIR=$work sh samples/generate.sh >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err"
    exit 1
}
# Guessing among 21 characters has a perplexity of 21, the sentences' own is about 1.4.
awk '
    /^writer.pith/ { bytes = $2; before = $5 + 0 }
    /^small.pith .* top-1/ { small = $2; after = $5 + 0; for (i = 1; i < NF; i++) if ($i == "perplexity") perplexity = $(i + 1) }
    END { exit !(small > 0 && bytes / small >= 6 && before - after <= 1 && perplexity < 3) }' "$work/out" || {
    echo "unexpected figures:"
    grep '^writer\|^small' "$work/out"
    exit 1
}
sed '1,/^== 5/d' "$work/out" | tr -d '\n' | wc -c | awk '{ exit $1 < 40 }' || { echo "nothing was generated"; exit 1; }
