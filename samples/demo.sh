#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job from end to end: import -> prune -> cluster -> encode -> eval, compare, bench, each
# stage its own command, on the sample network or on yours: make demo MODEL=net.onnx DATA=images.
# Environment: PITH (the command), DEMO_DIR (where files go), MODEL, DATA, SPARSITY, BITS, PREPROCESS,
# LABELS.
set -e
pith=${PITH:-pith}
dir=${DEMO_DIR:-demo}
model=${MODEL:-samples/digits.onnx}
data=${DATA:-$dir/digits/test-images-idx3-ubyte}
sparsity=${SPARSITY:-0.4}
bits=${BITS:-5}
mkdir -p "$dir"
if [ -z "$MODEL" ]; then
    preprocess=${PREPROCESS:-scale=1/255}
    if [ ! -f "$dir/digits/test-labels-idx1-ubyte" ]; then
        echo "making 2,000 handwritten-like digits ..."
        "${MAKE_DIGITS:?}" "$dir/digits" 1 2000
    fi
fi
labels=${LABELS:+--labels $LABELS}
size() { wc -c <"$1"; }
accuracy() { # top-1 in percent, or - without labels
    "$pith" eval "$1" -d "$data" $labels --json |
        sed -E 's/.*"top1":([0-9.e+-]+).*/\1/; t; s/.*"psnr":([0-9.e+-]+).*/\1/' |
        awk '{ printf "%.2f", $1 <= 1 ? 100 * $1 : $1 }'
}
"$pith" import "$model" ${preprocess:+--preprocess "$preprocess"} -f -o "$dir/dense.pith"
"$pith" prune "$dir/dense.pith" --sparsity "$sparsity" -f -o "$dir/pruned.pith"
"$pith" cluster "$dir/pruned.pith" --bits "$bits" -f -o "$dir/clustered.pith"
"$pith" encode "$dir/clustered.pith" -f -o "$dir/small.pith"
echo
"$pith" info "$dir/small.pith"
echo
"$pith" compare "$dir/dense.pith" "$dir/small.pith" --layers -d "$data" $labels --range 0:100
echo
"$pith" bench "$dir/small.pith" --vs "$dir/dense.pith" -T 1 --time 1
echo
base=$(size "$model")
printf '%-22s %10s %9s %9s\n' stage bytes smaller top-1
printf '%-22s %10d %8.1fx %9s\n' "$(basename "$model")" "$base" 1 "$(accuracy "$dir/dense.pith")"
for stage in pruned clustered small; do
    n=$(size "$dir/$stage.pith")
    printf '%-22s %10d %8.1fx %9s\n' "$stage.pith" "$n" "$(awk "BEGIN { print $base / $n }")" \
        "$(accuracy "$dir/$stage.pith")"
done
