#!/bin/sh
# SPDX-License-Identifier: MIT
# qat.sh - networks of integers, trained as such (docs/results/qat.md): one float network as its authors trained it,
# fine-tuned as float and, with the same epochs, rates and pictures, with integers in the loop. The last epoch counts;
# the test pictures are looked at once.
#
#     bench/qat.sh lenet5|resnet20 [SEED]        EPOCHS: others than 8; SPECS: other grids
set -e
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
net=$1 seed=${2:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
case $net in
lenet5)
    train=$data/mnist/train-images-idx3-ubyte.gz test=$data/mnist/t10k-images-idx3-ubyte.gz
    spec=--preprocess=scale=1/256 rate=5e-4 model=mnist_lenet5_caffe
    augment=rotate=7,scale=.07,shear=.09,shift=1.2,elastic=1.5,clean=.5
    ;;
resnet20)
    train=$data/cifar10/train_jpeg.tar.gz test=$data/cifar10/test_jpeg.tar.gz
    spec=--preprocess=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
    rate=2e-4 model=cifar10_resnet20 augment=crop=4,flip
    ;;
*) echo "usage: $0 lenet5|resnet20 [SEED]" >&2 && exit 2 ;;
esac
row() { # WHAT FILE
    top1=$("$pith" eval "$2" -d "$test" "$spec" --json | sed -E 's/.*"top1":([0-9.]+).*/\1/')
    echo "| $net | $seed | $1 | $(echo "$top1" | awk '{printf "%.2f", 100 * $1}') | $(wc -c <"$2") |"
}
"$pith" import "$data/models/$model.onnx" "$spec" -q -f -o "$work/start.pith"
echo "| network | seed | grid | top-1 | bytes |"
row "float, as it was" "$work/start.pith"
for q in float ${SPECS:-w4a4 fixed:8 ternary}; do
    quantize="--quantize $q"
    [ "$q" != float ] || quantize=
    # shellcheck disable=SC2086
    "$pith" train "$work/start.pith" -d "$train" "$spec" --seed "$seed" --epochs "${EPOCHS:-8}" --lr $rate \
        --augment $augment $quantize -f -o "$work/$q.pith"
    row "$q, fine-tuned" "$work/$q.pith"
done
