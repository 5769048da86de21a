#!/bin/sh
# SPDX-License-Identifier: MIT
# Transformers that PyTorch's exporters write. PYTHON: one that has torch, onnxscript, transformers and onnxruntime.
: "${PYTHON:=$PITH_VENV/bin/python}"
"$PYTHON" -c "import torch, transformers, onnxscript, onnxruntime" 2>/dev/null || {
    echo "no PyTorch, transformers, onnxscript or onnxruntime ($PYTHON)"
    exit 77
}
exec "$PYTHON" tests/conformance/exported.py
