#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job from end to end, each stage its own command: data is made and LeNet-5 trained on it;
# made small the classic way (prune and train in turns -> cluster -> encode) and by one training that
# removes weights and puts the others on a grid; and what came out is measured. Under a minute on two
# cores. With a network of yours, make demo MODEL=net.onnx DATA=images, nothing is trained.
# Environment: PITH (the command), DEMO_DIR (where files go), MODEL, DATA, SPARSITY, BITS, PREPROCESS,
# LABELS.
set -e
pith=${PITH:-pith}
dir=${DEMO_DIR:-demo}
mkdir -p "$dir"
if [ -z "$MODEL" ]; then
    digits=$dir/digits
    train=$digits/train-images-idx3-ubyte
    data=$digits/test-images-idx3-ubyte
    if [ ! -f "$digits/test-labels-idx1-ubyte" ]; then
        echo "making 8,000 handwritten-like digits ..."
        "${MAKE_DIGITS:?}" "$digits" 6000 2000
    fi
    echo "training LeNet-5 on 6,000 of them ..."
    learn="-d $train --hold 0::10"
    "$pith" train --init lenet5 --preprocess scale=1/255 $learn --epochs 6 \
        --augment shift=1,rotate=5,elastic=0.7 -f -o "$dir/dense.pith"
else
    data=$DATA
    train=
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
echo
if [ -n "$train" ]; then
    "$pith" prune "$dir/dense.pith" --sparsity 0.95 --scope global --steps 4 --train $learn --epochs 2 \
        --teacher start -f -o "$dir/pruned.pith"
else
    "$pith" prune "$dir/dense.pith" --sparsity "${SPARSITY:-0.4}" -f -o "$dir/pruned.pith"
fi
"$pith" cluster "$dir/pruned.pith" --bits "${BITS:-5}" -f -o "$dir/clustered.pith"
"$pith" encode "$dir/clustered.pith" -f -o "$dir/encoded.pith"
if [ -n "$train" ]; then
    echo
    "$pith" train "$dir/dense.pith" $learn --epochs 12 --sparsity 0.98 --levels 7 --set bias_levels=31 \
        --teacher start -f -o "$dir/shrunk.pith"
    "$pith" encode "$dir/shrunk.pith" --for size -f -o "$dir/small.pith"
fi
echo
"$pith" info "$dir/encoded.pith"
echo
"$pith" compare "$dir/dense.pith" "$dir/encoded.pith" --layers -d "$data" $labels --range 0:100
echo
"$pith" bench "$dir/encoded.pith" --vs "$dir/dense.pith" -T 1 --time 1
echo
base=$(size "$dir/dense.pith")
printf '%-22s %10s %9s %9s\n' stage bytes smaller top-1
for stage in dense pruned clustered encoded ${train:+shrunk small}; do
    n=$(size "$dir/$stage.pith")
    printf '%-22s %10d %8.1fx %9s\n' "$stage.pith" "$n" "$(awk "BEGIN { print $base / $n }")" \
        "$(accuracy "$dir/$stage.pith")"
done
