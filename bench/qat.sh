#!/bin/sh
# SPDX-License-Identifier: MIT
# qat.sh - networks of integers, trained as such: the figures of docs/results/qat.md.
#
#     bench/qat.sh lenet5|resnet20 [SEED]
#
# One float network as its authors trained it, fine-tuned as float and, alike - the same epochs, rates and
# pictures - with integers in the loop, towards labels and towards the float network's answers. No
# held-out samples: the last epoch counts, and the test pictures are looked at once. START names another
# float network to begin with, EPOCHS and SPECS other epochs and grids.
set -e
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
net=$1 seed=${2:-1}
work=${QAT_WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$QAT_WORK" ] || trap 'rm -rf "$work"' EXIT INT TERM
case $net in
lenet5)
    train=$data/mnist/train-images-idx3-ubyte.gz test=$data/mnist/t10k-images-idx3-ubyte.gz
    spec=--preprocess=scale=1/256
    augment=rotate=7,scale=.07,shear=.09,shift=1.2,elastic=1.5,clean=.5
    epochs=${EPOCHS:-8} rate=5e-4 model=mnist_lenet5_caffe
    ;;
resnet20)
    train=$data/cifar10/train_jpeg.tar.gz test=$data/cifar10/test_jpeg.tar.gz
    spec=--preprocess=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
    augment=crop=4,flip
    epochs=${EPOCHS:-16} rate=2e-4 model=cifar10_resnet20
    ;;
*) echo "usage: $0 lenet5|resnet20 [SEED]" >&2 && exit 2 ;;
esac
start=${START:-$work/$net.start.pith}
[ -f "$start" ] || "$pith" import "$data/models/$model.onnx" "$spec" -q -f -o "$start"

row() {
    top1=$("$pith" eval "$2" -d "$test" "$spec" --json | sed -E 's/.*"top1":([0-9.]+).*/\1/')
    echo "| $net | $seed | $1 | $(echo "$top1" | awk '{printf "%.2f", 100 * $1}') | $(wc -c < "$2") |"
}

# run NAME OPTIONS
run() {
    to=$work/$net.$1.$seed.pith
    shift
    [ -f "$to" ] || "$pith" train "$start" -d "$train" "$spec" --seed "$seed" --epochs "$epochs" --lr $rate --augment $augment \
        -f -o "$to" "$@"
}
echo "| network | seed | grid | top-1 | bytes |"
row "float, as it was" "$start"
run alike
row "float, fine-tuned alike" "$work/$net.alike.$seed.pith"
for q in ${SPECS:-int8 fixed:8 w4a8 w4a4 ternary w2a4}; do
    run "$q" --quantize "$q"
    row "$q" "$work/$net.$q.$seed.pith"
done
for q in ${TAUGHT_SPECS:-w4a4}; do
    run "$q.taught" --quantize "$q" --teacher start --loss distill
    row "$q, no labels" "$work/$net.$q.taught.$seed.pith"
done
