#!/bin/sh
# SPDX-License-Identifier: MIT
# networks.sh - networks beside onnxruntime, OpenVINO and MNN: a line of JSON a row.
#
#     python3 -m venv peers && peers/bin/pip install onnx onnxruntime openvino MNN
#     PYTHON=peers/bin/python bench/networks.sh float|int8|small [OPTIONS OF networks.py]
#
# float and int8: the networks of docs/results/float-speed.md; small: keyword networks and their like. Both sides
# at real-time priority where this user may: what else runs on the machine then tells less. See bench/networks.py.
: "${PITH:=build/release/pith}" "${MODELS:=../shared/data/models}" "${PYTHON:=build/venv/bin/python}"
case $1 in
float | int8)
    set -- "$@" "$MODELS/imagenet_squeezenet_v1_1.onnx" "$MODELS/imagenet_mobilenet_v2.onnx" resnet18 resnet50 \
        "$MODELS/cifar10_resnet20.onnx" "$MODELS/tiny_ic_resnet8.onnx" "$MODELS/tiny_kws_dscnn.onnx" \
        "$MODELS/tiny_vww_mbv1.onnx" vit_tiny minilm "$MODELS/super_resolution_x3.onnx" efficientnet_b0
    ;;
small)
    set -- "$@" "$MODELS/kws_LSTM_L.onnx" "$MODELS/kws_GRU_L.onnx" "$MODELS/silero_vad_16k.onnx" \
        "$MODELS/tiny_ad01_ae.onnx" "$MODELS/kws_DNN_L.onnx" "$MODELS/mnist_lenet5_caffe.onnx" lenet300
    ;;
*)
    sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
chrt -f 50 true 2>/dev/null && first="chrt -f 50"
exec $first "$PYTHON" bench/networks.py "$PITH" --form "$@"
