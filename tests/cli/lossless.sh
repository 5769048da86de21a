#!/bin/sh
# SPDX-License-Identifier: MIT
# compress --lossless on real networks: the weights come back to the bit (import --no-grids and the
# lossless file give the same ONNX file), the outputs are equal bits, with other kernels, too (where a pruned convolution adds its nonzeros alone,
# sums differ in their order); and the sizes are what grids make possible.
. "$(dirname "$0")/sandbox.inc"
models=$PITH_DATA/models
[ -r "$models/mnist_cntk.onnx" ] || {
    echo "no trained networks: PITH_DATA does not name the data folder"
    exit 77
}

other=$(grep -q avx512f /proc/cpuinfo && echo avx2) # else these are the kernels that run anyway
equal() { # equal NETWORK FILE: outputs
    for cpu in "" $other; do
        expect 0 env ${cpu:+PITH_CPU=$cpu} pith compare "$1" "$2"
        grep -q "$likeness" .out .err || complain "$1: $2 gives other outputs ($cpu): $(tail -n 1 .out)"
    done
}

# 1: integers times a scale a row; 2: few values and zeros; 3: f16 numbers; then floats with batch
# normalization, recurrences and small tensors.
for name in imagenet_mobilenet_v2 imagenet_squeezenet_v1_dc imagenet_squeezenet_v1_1 \
    cifar10_resnet20 kws_LSTM_L tiny_kws_dscnn mnist_cntk; do
    net=$models/$name.onnx
    expect 0 pith import --no-grids "$net" -q -f -o plain.pith
    expect 0 pith import "$net" -q -f -o grids.pith
    expect 0 pith compress --lossless "$net" -q -f -o speed.pith
    expect 0 pith compress --lossless --for size grids.pith -q -f -o size.pith
    for form in plain grids speed; do
        expect 0 pith decode -q -f $form.pith -o $form.onnx
        same plain.onnx $form.onnx
    done
    expect 0 pith encode --lossless --coder none size.pith -q -f -o unpacked.pith
    expect 0 pith compress --lossless --for size unpacked.pith -q -f -o again.pith
    same size.pith again.pith
    likeness='equal bits'
    case $name in *_dc) likeness='snr 1[3-9][0-9]\.' ;; esac
    equal "$net" speed.pith
    equal "$net" size.pith
    wc -c <speed.pith >$name.speed
    wc -c <size.pith >$name.size
done

most() { # most FILE BYTES
    [ "$(cat "$1")" -le "$2" ] || complain "$1: $(cat "$1") bytes, more than $2"
}
most imagenet_mobilenet_v2.speed 3350000
most imagenet_squeezenet_v1_dc.speed 534000
most imagenet_squeezenet_v1_dc.size 525000
most imagenet_squeezenet_v1_1.speed 2114803
most tiny_kws_dscnn.speed 91343

# What would not be lossless is refused.
expect 2 pith compress --lossless --bits 8 digits.onnx -o no.pith
expect 2 pith compress --lossless --sparsity 50% digits.onnx -o no.pith
absent no.pith
finish
