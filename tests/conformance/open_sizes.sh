#!/bin/sh
# SPDX-License-Identifier: MIT
# Networks with open lengths, pictures and batches: one file for all sizes, onnxruntime's outputs at each.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
exec "$python" tests/conformance/open_sizes.py
