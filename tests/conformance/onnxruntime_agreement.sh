#!/bin/sh
# SPDX-License-Identifier: MIT
# Networks and single operators give what onnxruntime gives, before and after a way through
# `pith decode --to onnx`.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
set -- --pith "$PITH" --export --ops
if [ -d "$PITH_DATA/models" ]; then
    for m in mnist_lenet5_caffe mnist_cntk cifar10_resnet20 tiny_ic_resnet8 tiny_kws_dscnn \
        tiny_vww_mbv1 tiny_ad01_ae kws_DNN_L kws_LSTM_L kws_GRU_L super_resolution_x3 \
        imagenet_squeezenet_v1_dc imagenet_squeezenet_v1_1 imagenet_mobilenet_v2 silero_vad_16k; do
        set -- "$@" "$PITH_DATA/models/$m.onnx"
    done
fi
exec "$python" tests/conformance/compare_ort.py "$@"
