#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job from end to end, each stage its own command. Data is made and LeNet-5 is trained on it. It is then
# compressed in two ways: stage by stage (prune with retraining, cluster, encode), and by one training that removes
# weights and learns a grid for the others. The last table compares both with the trained network. Half a minute on
# two cores. With a network of yours, make demo MODEL=net.onnx DATA=images, nothing is trained.
# Environment: PITH (the command), DEMO_DIR (where files go), MODEL, DATA, SPARSITY, BITS, PREPROCESS,
# LABELS.
set -e
pith=${PITH:-pith}
dir=${DEMO_DIR:-demo}
mkdir -p "$dir"
step() { printf '\n== %s\n' "$*"; }
if [ -z "$MODEL" ]; then
    digits=$dir/digits
    train=$digits/train-images-idx3-ubyte
    data=$digits/test-images-idx3-ubyte
    step "1. Make 8,000 pictures of digits and train LeNet-5 on 6,000 of them: dense.pith, net.onnx"
    [ -f "$digits/pictures/9/0.png" ] || "${MAKE_DIGITS:?}" "$digits" 6000 2000
    learn="-d $train --hold 0::10"
    "$pith" train --init lenet5 --preprocess scale=1/255 $learn --epochs 6 \
        --augment shift=1,rotate=5,elastic=0.7 -f -o "$dir/dense.pith"
    "$pith" decode "$dir/dense.pith" --to onnx -q -f -o "$dir/net.onnx"
else
    data=$DATA
    train=
    step "1. Import $MODEL: dense.pith"
    "$pith" import "$MODEL" ${PREPROCESS:+--preprocess "$PREPROCESS"} -f -o "$dir/dense.pith"
fi
labels=${LABELS:+--labels $LABELS}
size() { wc -c <"$1"; }
stored=${train:+--preprocess scale=1/255} # what the compact header of small.pith leaves out
accuracy() { # top-1 in percent, or - without labels
    "$pith" eval "$1" -d "$data" $labels $stored --json |
        sed -E 's/.*"top1":([0-9.e+-]+).*/\1/; t; s/.*"psnr":([0-9.e+-]+).*/\1/' |
        awk '{ printf "%.2f", $1 <= 1 ? 100 * $1 : $1 }'
}
if [ -n "$train" ]; then
    step "2. Stage by stage: prune and retrain, cluster, encode: encoded.pith"
    "$pith" prune "$dir/dense.pith" --sparsity 0.95 --scope global --steps 4 --train $learn --epochs 2 \
        --teacher start -f -o "$dir/pruned.pith"
else
    step "2. Prune, cluster, encode: encoded.pith"
    "$pith" prune "$dir/dense.pith" --sparsity "${SPARSITY:-0.4}" -f -o "$dir/pruned.pith"
fi
"$pith" cluster "$dir/pruned.pith" --bits "${BITS:-5}" -f -o "$dir/clustered.pith"
"$pith" encode "$dir/clustered.pith" -f -o "$dir/encoded.pith"
if [ -n "$train" ]; then
    step "3. In one training: remove weights and learn a grid of 15 values for the others, encode: small.pith"
    "$pith" train "$dir/dense.pith" $learn --epochs 12 --sparsity 0.98 --levels 7 --set bias_levels=31 \
        --teacher start -f -o "$dir/shrunk.pith"
    "$pith" encode "$dir/shrunk.pith" --for size -f -o "$dir/small.pith"
fi
step "What is in encoded.pith, how far its outputs are from dense.pith's, how long both run"
"$pith" info "$dir/encoded.pith"
echo
"$pith" compare "$dir/dense.pith" "$dir/encoded.pith" -d "$data" $labels --range 0:100
echo
"$pith" bench "$dir/encoded.pith" --vs "$dir/dense.pith" -T 1 --time 1

base=$(size "$dir/dense.pith")
row() { # STAGE WHAT
    n=$(size "$dir/$1.pith")
    top=$(accuracy "$dir/$1.pith")
    printf '%-15s %9d %8s %7s  %s\n' "$1.pith" "$n" "$(awk "BEGIN { printf \"%.1fx\", $base / $n }")" "$top" "$2"
}
step "Result"
printf '%-15s %9s %8s %7s\n' file bytes smaller top-1
row dense "the original"
echo "stage by stage"
row pruned "the smallest weights removed"
row clustered "the others share ${BITS:-5}-bit codebooks"
row encoded "entropy-coded"
last=encoded
if [ -n "$train" ]; then
    echo "in one training"
    row shrunk "98 % of the weights removed, 15 values for the others"
    row small "entropy-coded, compact header"
    last=small
    was=$(accuracy "$dir/dense.pith")
    printf '\nLeNet-5 takes %d bytes instead of %d and classifies %s %% of 2,000 test pictures correctly (before: %s %%).\n' \
        "$n" "$base" "$top" "$was"
fi
cat <<END
The files are in $dir. Next:
    $pith info $dir/$last.pith
    $pith compress ${MODEL:-$dir/net.onnx} -d ${train:-${data:-DATA}}${train:+ --preprocess scale=1/255} --max-drop 0.5% -o $dir/net.pith
END
