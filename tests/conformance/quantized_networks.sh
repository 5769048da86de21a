#!/bin/sh
# SPDX-License-Identifier: MIT
# What `pith quantize` makes gives the same outputs in onnxruntime as in pith.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
exec "$python" tests/conformance/quantized_networks.py "$PITH" "$PITH_DATA"
