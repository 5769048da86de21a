#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command that takes a model, with and without data, over networks of all kinds (make_zoo.py): floats, onnxruntime's
# two forms of integers, pith's own, codebooks, pruned, without weights, whose first output is an input or holds integers or
# is made by an If, a Loop, a Scan, with a constant on the left of a product, several inputs with a state, half floats, dead
# channels, parallel convolutions. Each run ends with an answer or with a sentence about the network; the list of commands is
# pith's.
. "$(dirname "$0")/sandbox.inc"
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no onnxruntime ($python): make deps-test"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/make_zoo.py" 2>make.err || { cat make.err; exit 1; }
expect 0 pith quantize float.onnx -d float.npy -q -o own.pith
expect 0 pith cluster float.onnx --bits 3 -q -o codebook.pith
expect 0 pith prune float.onnx --sparsity 60% -q -o pruned.pith
for kind in own codebook pruned; do ln float.npy $kind.npy; done
cat >spec.json <<'END'
{"pith": 1, "sweep": {"stages.0.bits": [2, 4]}, "stages": [{"do": "cluster"}, {"do": "encode"}]}
END
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/zoo.py" float qdq qoperator own.pith codebook.pith pruned.pith no_weights \
    passed_through integer_output if_output loop_output scan_output constant_left states halves dead_channels \
    parallel || status=1
# Sums of parallel convolutions are one convolution in what is made; layers of one name stay what they are.
expect 0 pith encode parallel.onnx -q -o merged.pith
expect 0 pith prune parallel.onnx --sparsity 20% -q -o branches.pith
for net in merged branches; do
    expect 0 pith compare parallel.onnx $net.pith -d parallel.npy --layers
    grep -q '^sum ' .out || complain "layers of $net: $(cat .out)"
    expect 0 pith report parallel.onnx $net.pith -d parallel.npy -q -o $net.html
done
expect 0 pith compare parallel.onnx merged.pith -d parallel.npy --first --tol 'snr>80dB'
expect 0 pith quantize parallel.onnx -d parallel.npy -o integers.pith
grep -q 'of 3 layers are integers' .out .err || complain "integers of branches: $(cat .out .err)"
# Integer outputs are compared as the numbers that they stand for.
expect 0 pith compare integer_output.onnx integer_output.onnx -d integer_output.npy --tol bits
expect 0 pith compare floats_out.onnx bytes_out.onnx --tol abs:0.0251
expect 1 pith compare floats_out.onnx bytes_out.onnx --tol abs:0.02
expect 2 pith compare floats_out.onnx integer_output.onnx
expect 5 pith prune depthwise.onnx --sparsity 50% -o none.pith
absent none.pith
expect 0 pith prune depthwise.onnx --layer dw=0.5 -q -o pruned.pith -f
finish
