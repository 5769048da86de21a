#!/bin/sh
# SPDX-License-Identifier: MIT
# vs_nncodec.sh - whole files beside NNCodec's (PyPI nncodec, the reference of ISO/IEC 15938-17) at
# equal KL, same network, same pictures: docs/results/vs-nncodec.md.
#
#     bench/vs_nncodec.sh resnet20|squeezenet|mobilenet|squeezenet-dc [--lambda L,L..] [--qp Q,Q..] [--points FILE]
#
# NNCodec and torch are installed into build/nncodec (6 GB) when they are not there.
set -e
cd "$(dirname "$0")/.."
venv=${NNCODEC_VENV:-build/nncodec}
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import nncodec, onnx' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q nncodec onnx
fi
exec "$venv/bin/python" bench/vs_nncodec.py "$@"
