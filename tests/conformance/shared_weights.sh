#!/bin/sh
# SPDX-License-Identifier: MIT
# A weight that several layers read is stored once, through import, compress, prune, cluster, encode, quantize
# and export, and the networks still compute what they did.
set -eu
python=${PITH_VENV:-build/venv}/bin/python
"$python" -c 'import onnx, onnxruntime' 2>/dev/null || { echo "no onnxruntime in $python"; exit 77; }
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in $("$python" "$here/shared_weights.py" make "$dir"); do
    at=$dir/$name
    "$PITH" import -q "$at.onnx" -o "$at.pith"
    "$PITH" compress -q "$at.onnx" --bits 8 -o "$at.c.pith"
    "$PITH" prune -q "$at.pith" --sparsity 50% | "$PITH" cluster -q - --bits 4 | "$PITH" encode -q - -o "$at.p.pith"
    "$PITH" quantize -q "$at.onnx" -d "$at.s.npy" -o "$at.q.pith"
    "$PITH" encode -q "$at.q.pith" -o "$at.h.pith"
    "$PITH" encode -q "$at.q.pith" --for size -o "$at.e.pith"
    "$PITH" decode -q "$at.q.pith" --to onnx -o "$at.q.onnx"
    "$PITH" import -q "$at.q.onnx" -o "$at.b.pith"
    "$PITH" decode -q "$at.pith" --to onnx -o "$at.d.onnx"
    "$PITH" run "$at.pith" "x=$at.x.npy" -o "$at.y.npy"
done
"$PITH" quantize "$dir/tied.onnx" -d "$dir/tied.s.npy" --json -f -o "$dir/tied.q.pith" |
    grep -q '"name":"[^"]*","weights":64000,"integer":true,"snr_db":[0-9.]*,"table":true,"bits":8' ||
    { echo "quantize --json does not report the table"; exit 1; }
"$python" "$here/shared_weights.py" check "$dir"
