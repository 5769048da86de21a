#!/bin/sh
# SPDX-License-Identifier: MIT
# weight_sweep.sh - one part of the sweep after the other, from plain rounding on (docs/results/weight-sweep.md):
# ResNet-20 with 257 training pictures, evaluated on 2,000 others; MobileNet-v2 with 63 pictures, evaluated on 125.
# A quarter of an hour of two cores each.
#
#     bench/weight_sweep.sh parts|parts-mobilenet [OPTIONS of bench_sweep]
set -e
bench=${BIN:-build/release/bench}/bench_sweep
pith=${PITH:-build/release/pith}
data=${DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
rgb=scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225
net=$1
[ $# -gt 0 ] && shift
case $net in # lambdas of about equal KL: without statistics a bit must cost less
parts)
    set -- "$@" --data "$data/cifar10/train_jpeg.tar.gz" 0:50000:195 --test "$data/cifar10/train_jpeg.tar.gz" 1:50000:25
    model=cifar10_resnet20 spec=$rgb lambdas="1e-7,2e-7 1e-7,2e-7 2e-7,4e-7 8e-7,1.1e-6"
    ;;
parts-mobilenet)
    set -- "$@" --data "$data/imagenet/imagenet_a500.tar" 0:500:8 --test "$data/imagenet/imagenet_a500.tar" 3:500:4
    model=imagenet_mobilenet_v2 spec=$rgb,crop=224 lambdas="2e-10,1e-9 1e-9,4e-9 4e-9,1e-8 4e-9,1e-8"
    ;;
*) sed -n '7s/^# *//p' "$0" >&2 && exit 2 ;;
esac
"$pith" import "$data/models/$model.onnx" --preprocess "$spec" -q -f -o "$work/net.pith"
while read -r lambda options; do
    echo "# $options"
    # shellcheck disable=SC2086
    "$bench" "$work/net.pith" --lambda "$(echo $lambdas | cut -d' ' -f"$lambda")" $options "$@" 2>/dev/null
done <<END
1 --without statistics,correction,refit,coupling --steps tensor
2 --without statistics,correction,refit,coupling --steps auto
3 --without correction,refit,coupling --steps auto --paths 1
3 --without correction,refit,coupling --steps auto
3 --without correction,refit,coupling --steps auto --rate .5
3 --without correction,refit,coupling --steps auto --rate .5 --states 8
3 --without correction,coupling --steps auto --rate .5 --states 8
4 --without coupling --steps auto --rate .5 --states 8
END
