#!/bin/sh
# SPDX-License-Identifier: MIT
# classic_settings.sh - Deep Compression's classic settings without retraining on SqueezeNet v1.1 and
# MobileNet-v2: 8-bit codebooks, and 30 % sparsity with 8 bits; bytes after each stage, accuracy,
# and the file to the byte. Needs the networks and images of PITH_DATA. Prints Markdown.
pith=${PITH:-build/release/pith}
data=${PITH_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
images=$data/imagenet/imagenet_a500.tar
labels=$data/imagenet/labels.csv
size() { wc -c <"$1"; }
top1() {
    "$pith" eval "$1" -d "$images" --labels "$labels" --json |
        sed -E 's/.*"top1":([0-9.]+),"top5":([0-9.]+).*/\1 \2/' | awk '{printf "%.1f / %.1f", 100 * $1, 100 * $2}'
}
echo '| network | setting | imported | pruned | clustered | encoded | smaller | top-1 / top-5 % |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
run() { # model preprocess sparsity
    "$pith" import "$data/models/$1.onnx" --preprocess "$2" -q -f -o "$work/0.pith" || exit 1
    if [ "$3" = 0 ]; then
        cp "$work/0.pith" "$work/1.pith"
        pruned=-
    else
        "$pith" prune "$work/0.pith" --sparsity "$3" -q -f -o "$work/1.pith" || exit 1
        pruned=$(size "$work/1.pith")
    fi
    "$pith" cluster "$work/1.pith" --bits 8 -q -f -o "$work/2.pith" || exit 1
    "$pith" encode "$work/2.pith" -q -f -o "$work/3.pith" || exit 1
    [ -n "$first" ] && echo "| $1 | float | $(size "$work/0.pith") | - | - | - | - | $(top1 "$work/0.pith") |"
    echo "| $1 | sparsity $3, 8 bits | $(size "$work/0.pith") | $pruned | $(size "$work/2.pith") | $(size "$work/3.pith") | $(awk "BEGIN {printf \"%.2f\", $(size "$data/models/$1.onnx") / $(size "$work/3.pith")}") | $(top1 "$work/3.pith") |"
    "$pith" info "$work/3.pith" --bytes >>"$work/sections"
}
bgr='order=bgr,mean=104:117:123,crop=224'
rgb='scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,crop=224'
first=1 run imagenet_squeezenet_v1_1 "$bgr" 0
first= run imagenet_squeezenet_v1_1 "$bgr" 0.3
first=1 run imagenet_mobilenet_v2 "$rgb" 0
first= run imagenet_mobilenet_v2 "$rgb" 0.3
echo
cat "$work/sections"
