#!/bin/sh
# SPDX-License-Identifier: MIT
# Layers of INT8 whose weights have 4 or 2 bits: on the fake device, at one sample and at five, outputs have the CPU's bits, and
# layers read codes of so many bits where bytes would be 204,800 and 40,000.
"$PITH_VENV/bin/python" -c 'import onnx' 2>/dev/null || { echo "no onnx"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
"$PITH_VENV/bin/python" - <<'END' || exit 1
import numpy as np
from onnx import TensorProto, helper as h, numpy_helper as n, save

rng = np.random.default_rng(5)
for rows in 1, 5:
    weights = [n.from_array(rng.standard_normal(shape).astype(np.float32) / 20, name) for name, shape in (('v', (512, 400)), ('w', (400, 100)))]
    nodes = [h.make_node('MatMul', ['x', 'v'], ['a']), h.make_node('Relu', ['a'], ['b']), h.make_node('MatMul', ['b', 'w'], ['y'])]
    ends = [h.make_tensor_value_info(name, TensorProto.FLOAT, [rows, d]) for name, d in (('x', 512), ('y', 100))]
    save(h.make_model(h.make_graph(nodes, 'g', ends[:1], ends[1:], weights), opset_imports=[h.make_opsetid('', 17)], ir_version=8), f'{rows}.onnx')
    np.save(f'{rows}.npy', rng.standard_normal((16, rows, 512) if rows > 1 else (16, 512)).astype(np.float32))
END
status=0
for rows in 1 5; do
    "$PITH" import $rows.onnx -q -f -o net.pith || exit 1
    for bits in 4 2; do
        "$PITH" quantize net.pith -d $rows.npy --weights $bits --set same_bits=true --all-integers -q -f -o int.pith 2>said || { cat said; exit 1; }
        "$PITH" run int.pith -d $rows.npy -q -f -o cpu.npy || exit 1
        LD_LIBRARY_PATH=$PITH_O/tests/cuda/fake FAKE_CUDA=77 "$PITH" run int.pith -d $rows.npy -q -f --device cuda:0 -o gpu.npy || exit 1
        cmp cpu.npy gpu.npy || { echo "$bits bits, $rows samples: other bits"; status=1; }
        LD_LIBRARY_PATH=$PITH_O/tests/cuda/fake "$PITH" bench int.pith --time 0.01 --device cuda:0 --per-layer --json >json || exit 1
        set -- $(tr '{' '\n' <json | grep '"op":"MatMulInteger"' | grep -o '"device_bytes":[0-9]*' | cut -d: -f2)
        [ "$#" -eq 2 ] && [ "$1" -lt $((26000 * bits + rows * 2200)) ] && [ "$2" -lt $((6800 * bits + rows * 900)) ] || { echo "$bits bits, $rows samples: layers read $* bytes"; status=1; }
    done
done
exit $status
