#!/bin/sh
# SPDX-License-Identifier: MIT
# No file is larger than the ONNX it was made from: tiny networks, drawn by a seed, and constants of 8-
# and 16-bit integers with one scale, scales along an axis, or scales of blocks. The integers stay
# what they are: decode gives them back, and outputs are onnxruntime's.
. "$(dirname "$0")/sandbox.inc"
python=$PITH_VENV/bin/python
[ -x "$python" ] || { echo "no $python"; exit 77; }
size() { wc -c <"$1"; }

# no_larger NETWORK FILE COMMAND
no_larger() { [ "$(size "$2")" -le "$(size "$1")" ] || complain "$3 $1: $(size "$1") bytes become $(size "$2")"; }

mkdir drawn && cd drawn || exit 1
"$python" "$here/file_sizes.py" tiny 1 24 || exit 1
"$python" "$here/file_sizes.py" integers || exit 1
for net in *.onnx; do
    for command in import encode "encode --for size"; do
        # shellcheck disable=SC2086 # a command and its options
        expect 0 pith $command $net -q -f -o out.pith
        no_larger $net out.pith "$command"
    done
done
for net in d*.onnx; do
    pith compress $net --bits 8 -q -f -o out.pith 2>err
    case $? in
    0) no_larger $net out.pith "compress --bits 8" ;;
    5) grep -q "no layer has float weights" err || complain "$net: $(cat err)" ;;
    *) complain "compress $net: $(cat err)" ;;
    esac
done
for net in *_i16.onnx *_u16.onnx *_i8.onnx; do
    expect 0 pith import $net -q -f -o out.pith
    expect 0 pith decode out.pith --to onnx -q -f -o back
    "$python" "$here/file_sizes.py" input $net
    for cpu in "" ref; do
        expect 0 env PITH_CPU=$cpu pith run out.pith x.npy -f -o y.npy
        "$python" "$here/file_sizes.py" same $net back y.npy || status=1
    done
    expect 0 pith import back -q -f -o again.pith
    expect 0 pith compare out.pith again.pith --tol bits
    no_larger $net again.pith "decode and import"
done
# a stage that changes the elements goes on with floats
expect 0 pith prune columns_i16.onnx --sparsity 90% -q -f -o out.pith
expect 0 pith encode out.pith -q -f -o coded.pith
expect 0 pith compare out.pith coded.pith --tol bits
finish
