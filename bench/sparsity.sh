#!/bin/sh
# SPDX-License-Identifier: MIT
# sparsity.sh - what sparsity alone costs: the figures of docs/results/sparsity.md.
#
#     bench/sparsity.sh lenet300|resnet20 [SEED]
#
# One dense network (LeNet-300-100 trained here from scratch; ResNet-20 as its authors trained it), then
# four runs from it, of the same epochs, rates and pictures: nothing removed, 90 % of the weights removed
# wherever they lie, 2 of each 4 neighbours, and 90 % in blocks of 4 neighbours. No teacher. The test
# pictures are looked at once, at the end of each. EPOCHS: of ResNet-20, others than 16.
set -e
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
net=$1 seed=${2:-1} more='' whole=''
work=${SPARSITY_WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$SPARSITY_WORK" ] || trap 'rm -rf "$work"' EXIT INT TERM
case $net in
lenet300)
    train=$data/mnist/train-images-idx3-ubyte.gz test=$data/mnist/t10k-images-idx3-ubyte.gz
    spec="--preprocess scale=1/255"
    augment=rotate=7,scale=.07,shear=.09,shift=1.2,elastic=1.5,clean=.5
    epochs=24 rate=1e-3
    "$pith" init lenet300 --seed "$seed" -q -f -o "$work/init.pith"
    # shellcheck disable=SC2086
    [ -f "$work/start.$seed.pith" ] || "$pith" train "$work/init.pith" -d "$train" $spec --seed "$seed" --epochs 16 \
        --lr 1.5e-3 --augment $augment -f -o "$work/start.$seed.pith"
    ;;
resnet20)
    train=$data/cifar10/train_jpeg.tar.gz test=$data/cifar10/test_jpeg.tar.gz
    spec=--preprocess=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
    augment=crop=4,flip
    epochs=${EPOCHS:-16} rate=1e-3
    more="--set prune_until=.5"  # weights go early: few epochs must do
    whole="--layer Conv_1=0" # its rows of 27 weights are no fours: patterns leave it alone
    # shellcheck disable=SC2086
    "$pith" import "$data/models/cifar10_resnet20.onnx" $spec -q -f -o "$work/start.$seed.pith"
    ;;
*) echo "usage: $0 lenet300|resnet20 [SEED]" >&2 && exit 2 ;;
esac

error() {
    # shellcheck disable=SC2086
    "$pith" eval "$1" -d "$test" $spec --json | sed -E 's/.*"top1":([0-9.]+).*/\1/' | awk '{printf "%.2f", 100 - 100 * $1}'
}
row() { echo "| $net | $seed | $1 | $(error "$2") |"; }

# run NAME FROM OPTIONS: the same fine-tuning under what OPTIONS and FROM's masks ask
run() {
    to=$work/$1.$seed.pith from=$2
    shift 2
    # shellcheck disable=SC2086
    [ -f "$to" ] || "$pith" train "$from" -d "$train" $spec --seed "$seed" --epochs $epochs --lr $rate --augment $augment \
        -f -o "$to" "$@"
}
# shellcheck disable=SC2086
reduced() { "$pith" prune "$start" $whole -f "$@"; }
start=$work/start.$seed.pith
row "as it was" "$start"
run alike "$start"
row "fine-tuned alike" "$work/alike.$seed.pith"
# shellcheck disable=SC2086
run any "$start" --sparsity .9 --set score=fisher $more
row "90 % anywhere" "$work/any.$seed.pith"
reduced --pattern 2:4 -q -o "$work/2of4-cut.pith"
run 2of4 "$work/2of4-cut.pith"
row "2:4" "$work/2of4.$seed.pith"
# shellcheck disable=SC2086
reduced --pattern 1x4 --sparsity .9 --scope global --steps $((epochs / 2)) --train -d "$train" $spec --seed "$seed" \
    --epochs 1 --lr $rate --augment $augment -o "$work/1x4-cut.pith"
epochs=$((epochs - epochs / 2))
run 1x4 "$work/1x4-cut.pith"
row "90 % in blocks of 1x4" "$work/1x4.$seed.pith"
