#!/bin/sh
# SPDX-License-Identifier: MIT
# `pith generate` chooses the tokens that onnxruntime's scores choose, from one file, from an empty cache on.
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
exec "$python" tests/conformance/generate.py
