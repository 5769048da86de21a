#!/bin/sh
# SPDX-License-Identifier: MIT
# weight_sweep.sh - the figures of docs/results/weight-sweep.md: networks of the data folder behind
# rd/pith_weight_sweep.h, judged on pictures that nothing was chosen by.
#
#     bench/weight_sweep.sh resnet20|squeezenet|mobilenet|squeezenet-dc|ablation|parts|parts-mobilenet|patterns|patterns-squeezenet|few|others
#         [OPTIONS of bench_sweep]
#
# Calibration: every 20th training picture of CIFAR-10 (2,500; ablation: every 84th, 595), every second
# one of the 500 of ImageNet (250). The ablation is judged by 5,000 other training pictures, the
# networks by CIFAR-10's test pictures and by 125 of ImageNet's, which are not the 125 that options were
# chosen by (1:500:4). parts, parts-mobilenet: one part of the sweep after the other, from plain rounding
# on, of ResNet-20 and of MobileNet-v2 (63 pictures; a quarter of an hour of two cores); patterns,
# patterns-squeezenet: chosen in the sweep, and by pith prune before it, judged against the network
# as it came; few levels; few: 32, 64 and
# 256 pictures, steps of tensors and of rows, and plain rounding; others: networks that are no picture
# classifiers.
set -e
bench=${BENCH:-build/release/bench/bench_sweep}
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
rgb=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
bgr=order=bgr,mean=104:117:123

import() {
    "$pith" import "$data/models/$1.onnx" --preprocess "$2" -q -f -o "$work/net.pith"
}

cifar() {
    import cifar10_resnet20 $rgb
    set -- "$work/net.pith" --data "$data/cifar10/train_jpeg.tar.gz" "$@"
    "$bench" "$@"
}

# NAME SPEC LAMBDAS OPTIONS
imagenet() {
    import "$1" "$2"
    lambdas=$3
    shift 3
    "$bench" "$work/net.pith" --data "$data/imagenet/imagenet_a500.tar" 0:500:2 \
        --test "$data/imagenet/imagenet_a500.tar" 3:500:4 --lambda "$lambdas" --places .3 --rate .5 "$@"
}

# Lines of lambdas and options: what part() makes of each, with the options given here.
each_part() {
    while read -r lambdas o; do
        echo "# $o"
        # shellcheck disable=SC2086
        part --lambda "$lambdas" $o "$@" 2>/dev/null
    done
}

net=$1
[ $# -gt 0 ] && shift
case $net in
resnet20)
    cifar 0:50000:20 --test "$data/cifar10/test_jpeg.tar.gz" 0:10000:1 --lambda 8e-7,8.5e-7,1.1e-6 \
        --steps tensor --places .3 --rate .5 "$@"
    ;;
squeezenet) imagenet imagenet_squeezenet_v1_1 $bgr,crop=224 3e-8,6e-8 "$@" ;;
mobilenet) imagenet imagenet_mobilenet_v2 $rgb,crop=224 5e-9 "$@" ;;
squeezenet-dc) imagenet imagenet_squeezenet_v1_dc $bgr,crop=227 1e-7,3e-7 "$@" ;;
ablation)
    for o in "--paths 1" "" "--steps row" "--places .3" "--places .7" "--rate .5" "--rate 1" "--places .3 --rate .5"; do
        echo "# $o"
        # shellcheck disable=SC2086
        cifar 0:50000:84 --test "$data/cifar10/train_jpeg.tar.gz" 1:50000:10 --lambda 1e-6 \
            --steps tensor --without coupling $o "$@" 2>/dev/null
    done
    ;;
parts)
    # Lambdas of about equal KL: without statistics a bit must cost less.
    part() { cifar 0:50000:84 --test "$data/cifar10/train_jpeg.tar.gz" 1:50000:20 "$@"; }
    each_part "$@" <<END
1e-7,2e-7 --without statistics,correction,refit,coupling --steps tensor
1e-7,2e-7 --without statistics,correction,refit,coupling --steps auto
2e-7,4e-7 --without correction,refit,coupling --steps auto --paths 1
2e-7,4e-7 --without correction,refit,coupling --steps auto
2e-7,4e-7 --without correction,refit,coupling --steps auto --rate .5
2e-7,4e-7 --without correction,refit,coupling --steps auto --rate .5 --states 8
2e-7,4e-7 --without correction,coupling --steps auto --rate .5 --states 8
8e-7,1.1e-6 --without coupling --steps auto --rate .5 --states 8
6e-7,8e-7 --steps auto --rate .5 --states 8
8e-7,1.1e-6 --without coupling --steps auto --rate .5 --states 8 --places .3
END
    ;;
parts-mobilenet)
    import imagenet_mobilenet_v2 $rgb,crop=224
    part() {
        "$bench" "$work/net.pith" --data "$data/imagenet/imagenet_a500.tar" 0:500:8 \
            --test "$data/imagenet/imagenet_a500.tar" 3:500:4 "$@"
    }
    each_part "$@" <<END
2e-10,1e-9 --without statistics,correction,refit,coupling --steps tensor
1e-9,4e-9 --without statistics,correction,refit,coupling --steps auto
4e-9,1e-8 --without correction,refit,coupling --steps auto --paths 1
4e-9,1e-8 --without correction,refit,coupling --steps auto
4e-9,1e-8 --without correction,refit,coupling --steps auto --rate .5
4e-9,1e-8 --without correction,refit,coupling --steps auto --rate .5 --states 8
4e-9,1e-8 --without correction,coupling --steps auto --rate .5 --states 8
4e-9,1e-8 --without coupling --steps auto --rate .5 --states 8
4e-9,1e-8 --steps auto --rate .5 --states 8
4e-9,1e-8 --without coupling --steps auto --rate .5 --states 8 --places .3
END
    ;;
patterns)
    import cifar10_resnet20 $rgb
    of() {
        echo "# $*"
        net=$1
        shift
        "$bench" "$work/$net.pith" --data "$data/cifar10/train_jpeg.tar.gz" 0:50000:195 --mirror \
            --test "$data/cifar10/train_jpeg.tar.gz" 1:50000:25 --places .3 --rate .5 "$@" 2>/dev/null
    }
    for o in "2:4" "balanced:64/128" "4x4 --sparsity .25"; do
        # shellcheck disable=SC2086
        "$pith" prune "$work/net.pith" --pattern $o -q -f -o "$work/pruned.pith"
        # shellcheck disable=SC2086
        of net --lambda 3e-7,6e-7,1.2e-6 --pattern $o "$@"
        of pruned --lambda 3e-7,6e-7,1.2e-6 --against "$work/net.pith" "$@"
    done
    of net --lambda 6e-7,1.2e-6,2.4e-6 "$@"
    of net --lambda 6e-7,1.2e-6,2.4e-6 --states 8 "$@"
    of net --lambda 3e-7,6e-7,1.2e-6 --levels 16 "$@"
    of net --lambda 3e-7,6e-7,1.2e-6 --levels 8 "$@"
    ;;
patterns-squeezenet)
    import imagenet_squeezenet_v1_1 $bgr,crop=224
    "$pith" prune "$work/net.pith" --pattern 2:4 -q -f -o "$work/pruned.pith"
    part() {
        net=$1
        shift
        "$bench" "$work/$net.pith" --data "$data/imagenet/imagenet_a500.tar" 0:500:2 \
            --test "$data/imagenet/imagenet_a500.tar" 3:500:4 --places .3 --rate .5 "$@"
    }
    part net --pattern 2:4 --lambda 3e-8,8e-8 "$@"
    part pruned --against "$work/net.pith" --lambda 3e-8,8e-8 "$@"
    part net --states 8 --lambda 6e-8,1.5e-7 "$@"
    part net --levels 16 --lambda 3e-8 "$@"
    ;;
few)
    for every in 1562 781 195; do
        for o in "--steps tensor" "--steps row" "--steps tensor --without statistics"; do
            echo "# $((50000 / every)) pictures, $o"
            # shellcheck disable=SC2086
            cifar 0:50000:$every --test "$data/cifar10/train_jpeg.tar.gz" 1:50000:20 --lambda 6e-7 \
                --places .3 --rate .5 $o "$@" 2>/dev/null
        done
    done
    ;;
others)
    for net in kws_GRU_L kws_LSTM_L; do
        "$pith" import "$data/models/$net.onnx" -q -f -o "$work/net.pith"
        "$bench" "$work/net.pith" --data "$data/kws/kws_mfcc490_f32.npy" 0:304:2 \
            --test "$data/kws/kws_mfcc490_f32.npy" 1:304:2 --lambda 1e-9,1e-8 --rate .5 "$@"
    done
    "$pith" import "$data/models/silero_vad_16k.onnx" -q -f -o "$work/net.pith"
    wav="wav:576:512:$data/audio/vad_test_16k.wav"
    "$bench" "$work/net.pith" --data "$wav" 0:1200 --test "$wav" 1200:1875 --state 1=1 --squares \
        --lambda 1e-10,1e-9 --rate .5 "$@"
    "$pith" import "$data/models/tiny_ad01_ae.onnx" -q -f -o "$work/net.pith"
    "$bench" "$work/net.pith" --data "$data/audio/ad01_logmel640_f32.npy" 0:256 \
        --test "$data/audio/ad01_logmel640_f32.npy" 256:300 --squares --lambda 1e-8 --rate .5 "$@"
    ;;
*)
    echo "usage: $0 resnet20|squeezenet|mobilenet|squeezenet-dc|ablation|parts|parts-mobilenet|patterns|patterns-squeezenet|few|others" >&2
    exit 2
    ;;
esac
