#!/bin/sh
# SPDX-License-Identifier: MIT
# Samples of different lengths, as text and as a folder of arrays: each runs at its own length; stages take them filled up.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
exec "$python" tests/conformance/uneven_samples.py
