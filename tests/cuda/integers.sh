#!/bin/sh
# SPDX-License-Identifier: MIT
# Networks of integers on the fake device: every output has the CPU's bits, and no step runs on the CPU.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fake=$PITH_O/tests/cuda/fake
status=0
import() { # network, options of import
    name=$1; shift
    "$PITH" import "$PITH_DATA/models/$name.onnx" "$@" -q -f -o "$work/net.pith" || { echo "$name: no import"; status=1; }
}
same() { # order INPUT...: of what is imported
    order=$1; shift
    "$PITH" quantize "$work/net.pith" --all-integers "$@" --range 0:4 -q -f -o "$work/int8.pith" &&
        "$PITH" run "$work/int8.pith" "$@" --range 0:2 -q -f -o "$work/cpu.npy" &&
        LD_LIBRARY_PATH=$fake FAKE_CUDA=$order FAKE_CUDA_COUNTS=$work/graphs "$PITH" run "$work/int8.pith" "$@" --range 0:2 -q -f --device cuda:0 -o "$work/gpu.npy" ||
        { echo "$name: does not run"; status=1; return; }
    for cpu in "$work"/cpu*.npy; do
        cmp "$cpu" "$work/gpu${cpu#"$work/cpu"}" || { echo "$name: other bits"; status=1; }
    done
    # with a step on the CPU there is no graph
    [ "$(cat "$work/graphs")" -eq 2 ] || { echo "$name: $(cat "$work/graphs") graphs in 2 runs"; status=1; }
    rm -f "$work"/cpu*.npy "$work"/gpu*.npy "$work/graphs"
}
steps() { # residuals: how the last one's steps run. What a bench repeats does nothing.
    LD_LIBRARY_PATH=$fake FAKE_CUDA=0,0,0,0,0,0,0,0,0,0,1 "$PITH" bench "$work/int8.pith" --time 0.01 --device cuda:0 --per-layer --json | tr '{' '\n' | grep '"op":' >"$work/steps" || status=1
    grep -v '"kernel":"device"' "$work/steps" && { echo "$name: steps on the CPU"; status=1; }
    # residuals are added by the product's kernel: such an Add has no launch, and so no bytes
    joined=$(grep -c '"op":"Add".*"device_bytes":0,' "$work/steps")
    [ "$joined" -eq "$1" ] || { echo "$name: $joined residuals in a product's kernel, not $1"; status=1; }
}
drawn() { # network order: of inputs that are drawn
    import "$1"
    rm -f "$work"/sample.*.npy
    "$PITH_O/bench/bench_gpu_pack" samples "$work/net.pith" "$work/sample" || { echo "$1: no samples"; status=1; }
    set -- "$2"
    for sample in "$work"/sample.*.npy; do
        input=${sample#"$work/sample."}
        set -- "$@" -d "${input%.npy}=$sample"
    done
    same "$@"
}
rgb='scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225'
import mnist_lenet5_caffe --preprocess scale=1/256 && same 77 -d "$PITH_DATA/mnist/t10k-images-idx3-ubyte.gz" && steps 0
import cifar10_resnet20 --preprocess "$rgb" && same 1 -d "$PITH_DATA/cifar10/test_jpeg.tar.gz" && steps 7 # the other branch of two comes behind the product
import tiny_ic_resnet8 --preprocess scale=1 && same 2 -d "$PITH_DATA/cifar10/test_jpeg.tar.gz" && steps 3
import imagenet_squeezenet_v1_1 --preprocess "$rgb,crop=224" && same 0 -d "$PITH_DATA/imagenet/imagenet_a500.tar" && steps 0
import imagenet_mobilenet_v2 --preprocess "$rgb,crop=224" && same 1 -d "$PITH_DATA/imagenet/imagenet_a500.tar" && steps 10
drawn imagenet_squeezenet_v1_dc 2
drawn kws_DNN_L 77
drawn kws_GRU_L 2
drawn kws_LSTM_L 1
drawn mnist_cntk 1
drawn silero_vad_16k 77
drawn super_resolution_x3 1
drawn tiny_ad01_ae 2
drawn tiny_kws_dscnn 1
drawn tiny_vww_mbv1 77
exit $status
