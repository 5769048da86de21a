#!/bin/sh
# SPDX-License-Identifier: MIT
# Matrices of integers with scales for blocks of columns, as DequantizeLinear has them: on the fake device they stay bytes, in f32
# and with f16, and outputs are the CPU's but for the order of sums.
"$PITH_VENV/bin/python" -c 'import onnx' 2>/dev/null || { echo "no onnx"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
"$PITH_VENV/bin/python" - <<'END' || exit 1
import numpy as np
from onnx import TensorProto, helper as h, numpy_helper as n, save

rng = np.random.default_rng(3)
nodes, weights = [], []


def layer(x, y, shape, axis, block, op, **attributes):
    scales = [-(-d // block) if i == axis else d for i, d in enumerate(shape)]
    weights.append(n.from_array(rng.integers(-128, 128, shape).astype(np.int8), 'q' + y))
    weights.append(n.from_array(rng.uniform(1e-4, 1e-3, scales).astype(np.float32), 's' + y))
    nodes.append(h.make_node('DequantizeLinear', ['q' + y, 's' + y], ['w' + y], axis=axis, block_size=block))
    nodes.append(h.make_node(op, [x, 'w' + y], [y], **attributes))


layer('x', 'a', (200, 300), 0, 64, 'MatMul')
nodes.append(h.make_node('Relu', ['a'], ['b']))
layer('b', 'y', (77, 300), 1, 128, 'Gemm', transB=1)
ends = [h.make_tensor_value_info(name, TensorProto.FLOAT, [1, d]) for name, d in (('x', 200), ('y', 77))]
graph = h.make_graph(nodes, 'g', ends[:1], ends[1:], weights)
save(h.make_model(graph, opset_imports=[h.make_opsetid('', 21)], ir_version=10), 'net.onnx')
np.save('x.npy', rng.standard_normal((2, 200)).astype(np.float32))
END
"$PITH" import net.onnx -q -f -o net.pith && "$PITH" run net.pith -d x.npy -q -f -o cpu.npy || exit 1
for device in cuda:0 cuda:0,f16; do
    LD_LIBRARY_PATH=$PITH_O/tests/cuda/fake FAKE_CUDA=77 "$PITH" run net.pith -d x.npy -q -f --device $device -o gpu.npy || exit 1
    "$PITH_VENV/bin/python" - <<'END' || { echo "$device: other values"; exit 1; }
import numpy as np
cpu, gpu = np.load('cpu.npy'), np.load('gpu.npy')
raise SystemExit(not abs(cpu - gpu).max() <= 2e-6 * abs(cpu).max())
END
done
# what the layers read: bytes and scales, where floats would be 240,000 and 92,400 bytes
LD_LIBRARY_PATH=$PITH_O/tests/cuda/fake "$PITH" bench net.pith --time 0.01 --device cuda:0 --per-layer --json >json || exit 1
read=$(grep -o '"device_bytes":[0-9]*' json | cut -d: -f2 | tr '\n' ' ')
set -- $read
[ "$1" -lt 90000 ] && [ "$2" -lt 36000 ] || { echo "layers read $read bytes"; exit 1; }
