#!/bin/sh
# SPDX-License-Identifier: MIT
# Attention and RMSNormalization in the pieces that exporters write: one operator each, onnxruntime's outputs.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
exec "$python" tests/conformance/attention.py
