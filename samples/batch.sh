#!/bin/sh
# SPDX-License-Identifier: MIT
# batch.sh OUTDIR MODEL.onnx... - compress many networks; failures are collected, not fatal.
# PITH (default: pith), SPARSITY (0.5) and BITS (5) may be set in the environment.
out=${1:?usage: batch.sh OUTDIR MODEL.onnx...}
shift
mkdir -p "$out" || exit 3
failed=""
for model in "$@"; do
    small=$out/$(basename "$model" .onnx).pith
    if "${PITH:-pith}" compress "$model" --sparsity "${SPARSITY:-0.5}" --bits "${BITS:-5}" -f -q -o "$small"; then
        printf '%s: %s -> %s bytes\n' "$small" "$(wc -c <"$model")" "$(wc -c <"$small")"
    else
        failed="$failed $model"
    fi
done
[ -z "$failed" ] && exit 0
echo "failed:$failed" >&2
exit 1
