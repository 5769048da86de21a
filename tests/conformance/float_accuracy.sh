#!/bin/sh
# SPDX-License-Identifier: MIT
# import + eval give each network's known float accuracy, within one answer in a thousand.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
rgb='scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225'
bgr='order=bgr,mean=104:117:123'
expect() { # model correct tolerance preprocess data [labels]
    "$PITH" import "$PITH_DATA/models/$1.onnx" --preprocess "$4" -q -f -o "$work/net.pith" || { status=1; return; }
    json=$("$PITH" eval "$work/net.pith" -d "$5" ${6:+--labels "$6"} --json) || { status=1; return; }
    correct=$(echo "$json" | sed -E 's/.*"correct1":([0-9]+).*/\1/')
    off=$((correct - $2))
    if [ ${off#-} -gt "$3" ]; then
        echo "$1: $correct answers right, expected $2 +- $3"
        status=1
    else
        echo "$1: $correct right (reference $2)"
    fi
}
d=$PITH_DATA
mnist=$d/mnist/t10k-images-idx3-ubyte.gz
cifar=$d/cifar10/test_jpeg.tar.gz
imagenet=$d/imagenet/imagenet_a500.tar
expect mnist_lenet5_caffe 9907 10 'scale=1/256' "$mnist"
expect mnist_cntk 9891 10 'scale=1' "$mnist"
expect cifar10_resnet20 8103 10 "$rgb" "$cifar"
expect tiny_ic_resnet8 7548 10 'scale=1' "$cifar"
expect imagenet_squeezenet_v1_dc 305 1 "$bgr,crop=227" "$imagenet" "$d/imagenet/labels.csv"
expect imagenet_squeezenet_v1_1 297 1 "$bgr,crop=224" "$imagenet" "$d/imagenet/labels.csv"
expect imagenet_mobilenet_v2 413 1 "$rgb,crop=224" "$imagenet" "$d/imagenet/labels.csv"
expect tiny_kws_dscnn 913 1 'scale=0.5847029089927673,mean=48.53034144639969' \
    "raw:i8:490:$d/kws/kws01_mfcc_int8.bin.gz" "$d/kws/kws01_labels.csv"
for m in kws_LSTM_L kws_GRU_L; do
    expect "$m" 246 0 scale=1 "$d/kws/kws_mfcc490_f32.npy" "$d/kws/kws_mfcc_labels_i32.npy"
done
exit $status
