#!/bin/sh
# SPDX-License-Identifier: MIT
# Networks of integers on the fake device: every output has the CPU's bits, and no step runs on the CPU.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fake=$PITH_O/tests/cuda/fake
status=0
same() { # network data preprocess order residuals
    "$PITH" import "$PITH_DATA/models/$1.onnx" --preprocess "$3" -q -f -o "$work/net.pith" &&
        "$PITH" quantize "$work/net.pith" --all-integers -d "$2" --range 0:4 -q -f -o "$work/int8.pith" &&
        "$PITH" run "$work/int8.pith" -d "$2" --range 0:2 -q -f -o "$work/cpu.npy" &&
        LD_LIBRARY_PATH=$fake FAKE_CUDA=$4 "$PITH" run "$work/int8.pith" -d "$2" --range 0:2 -q -f --device cuda:0 -o "$work/gpu.npy" &&
        LD_LIBRARY_PATH=$fake "$PITH" bench "$work/int8.pith" --time 0.01 --device cuda:0 --per-layer --json | tr '{' '\n' | grep '"op":' >"$work/steps" || { status=1; return; }
    cmp "$work/cpu.npy" "$work/gpu.npy" || { echo "$1: other bits"; status=1; }
    grep -v '"kernel":"device"' "$work/steps" && { echo "$1: steps on the CPU"; status=1; }
    # residuals are added by the product's kernel: such an Add has no launch, and so no bytes
    joined=$(grep -c '"op":"Add".*"device_bytes":0,' "$work/steps")
    [ "$joined" -eq "$5" ] || { echo "$1: $joined residuals in a product's kernel, not $5"; status=1; }
}
rgb='scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225'
same mnist_lenet5_caffe "$PITH_DATA/mnist/t10k-images-idx3-ubyte.gz" scale=1/256 77 0
same cifar10_resnet20 "$PITH_DATA/cifar10/test_jpeg.tar.gz" "$rgb" 1 7 # the other branch of two comes behind the product
same tiny_ic_resnet8 "$PITH_DATA/cifar10/test_jpeg.tar.gz" scale=1 2 3
same imagenet_squeezenet_v1_1 "$PITH_DATA/imagenet/imagenet_a500.tar" "$rgb,crop=224" 0 0
same imagenet_mobilenet_v2 "$PITH_DATA/imagenet/imagenet_a500.tar" "$rgb,crop=224" 1 10
exit $status
