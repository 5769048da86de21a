#!/bin/sh
# SPDX-License-Identifier: MIT
# What a program keeps in memory once a compressed network is open: its weights in run form, its arena, and at
# most 1 MiB for everything else. What decoding took is given back, and so are the pages of the file.
python=$PITH_VENV/bin/python
[ -r /proc/self/status ] || { echo "no /proc/self/status"; exit 77; }
"$python" -c 'import onnx' 2>/dev/null || { echo "no onnx for Python (make deps-test)"; exit 77; }
nm -u "$PITH" | grep -q __asan_init && { echo "AddressSanitizer brings a heap of its own"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
"$python" - "$work/net.onnx" <<'END' || exit 1
import sys
import numpy as np
import onnx
from onnx import helper, numpy_helper
rows, columns = 1024, 8192
w = np.random.default_rng(1).standard_normal((rows, columns)).astype('f4')
graph = helper.make_graph([helper.make_node('Gemm', ['x', 'w'], ['y'], transB=1)], 'one_layer',
                          [helper.make_tensor_value_info('x', 1, [1, columns])],
                          [helper.make_tensor_value_info('y', 1, [1, rows])], [numpy_helper.from_array(w, 'w')])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)]), sys.argv[1])
END
"$PITH" compress "$work/net.onnx" --sparsity 0.8 --bits 5 -q -o "$work/net.pith" &&
    ${CC:-cc} -O1 -Iruntime tests/embedded/resident.c "$PITH_O/libpith-runtime.a" -lpthread -lm -o "$work/resident" || exit 1
[ "$(wc -c <"$work/net.pith")" -gt 1048576 ] || { echo "the file is too small to be mapped"; status=1; }
resident=$("$work/resident" "$work/net.pith") || exit 1
echo "resident, weights and arena, decoding: $resident"
echo "$resident" | awk '{exit !($1 <= $2 + 1048576 && $3 > 2097152)}' || { echo "more than weights, arena and 1 MiB, or too little to decode"; status=1; }
exit $status
