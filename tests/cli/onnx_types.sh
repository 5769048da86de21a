#!/bin/sh
# SPDX-License-Identifier: MIT
# A command that is given ONNX writes what it writes of the imported file, and networks of narrow
# types (integers with scales, f16, bf16) do not grow on the way.
. "$(dirname "$0")/sandbox.inc"
"$PITH_VENV/bin/python" - <<'END' || exit 1
import numpy as np, onnx, ml_dtypes
from onnx import TensorProto as T, helper as h, numpy_helper
rng = np.random.default_rng(7)

def save(name, nodes, weights, type_in=T.FLOAT, type_out=T.FLOAT):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", type_in, ["N", 64])],
                         [h.make_tensor_value_info("y", type_out, ["N", 64])],
                         [numpy_helper.from_array(a, n) for n, a in weights.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")

def qdq(name, dtype, low, high, per_channel, zero):
    shape = (64,) if per_channel else ()
    scale = (rng.random(shape) * 0.01 + 0.001).astype(np.float32)
    nodes, weights, last = [], {"s": np.float32(0.02), "z": np.uint8(128)}, "x"
    for i in range(3):
        weights.update({f"w{i}": rng.integers(low, high, (64, 64)).astype(dtype), f"ws{i}": scale,
                        f"wz{i}": (zero * rng.random(shape)).astype(dtype)})
        out = "y" if i == 2 else f"a{i}"
        nodes += [h.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"]),
                  h.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]),
                  h.make_node("DequantizeLinear", [f"w{i}", f"ws{i}", f"wz{i}"], [f"f{i}"], axis=1),
                  h.make_node("MatMul", [f"d{i}", f"f{i}"], [out], name=f"fc{i}")]
        last = out
    save(name, nodes, weights)

for per_channel in (False, True):
    which = "channel" if per_channel else "tensor"
    qdq("i8_" + which, np.int8, -127, 128, per_channel, 0)
    qdq("u8_" + which, np.uint8, 0, 256, per_channel, 255)
weight = rng.standard_normal((64, 64)) * 0.1
for name, dtype, kind in (("f16", np.float16, T.FLOAT16), ("bf16", ml_dtypes.bfloat16, T.BFLOAT16)):
    save(name, [h.make_node("MatMul", ["x", "w"], ["a"], name="fc0"), h.make_node("Relu", ["a"], ["y"])],
         {"w": weight.astype(dtype)}, kind, kind)
END
size() { wc -c <"$1"; }

# as_imported NAME COMMAND...: of the ONNX file and of the imported one
as_imported() {
    net=$1
    shift
    for from in onnx pith; do
        expect 0 "$@" $net.$from -q -f -o $from.out
    done
    same onnx.out pith.out
}

for net in i8_tensor i8_channel u8_tensor u8_channel f16 bf16 digits; do
    expect 0 pith import $net.onnx -q -o $net.pith
    as_imported $net pith encode
    case $net in i8* | u8*)
        [ "$(size onnx.out)" -le "$(size $net.onnx)" ] || complain "encode $net.onnx grows: $(size onnx.out)" ;;
    esac
    as_imported $net pith encode --for size
    as_imported $net pith encode --lossless
    as_imported $net pith prune --sparsity 30%
    [ "$(size onnx.out)" -le "$(size $net.onnx)" ] || complain "prune $net.onnx grows: $(size onnx.out)"
    as_imported $net pith cluster --bits 4
    as_imported $net pith compress --sparsity 30% --bits 4
    for from in onnx pith; do
        expect 0 pith info --json $net.$from
        sed 's/"file":"[^"]*"//' .out >info.$from
    done
    same info.onnx info.pith
done

# Inputs and outputs of 16 bits stay what they are in ONNX, and so do weights whose numbers have 16 bits.
for net in f16 bf16; do
    expect 0 pith prune --sparsity 1% $net.onnx -q -f -o pruned.pith
    expect 0 pith encode --for size pruned.pith -q -f -o compact.pith
    for file in $net pruned compact; do
        pith info $file.pith | grep -q "^input .* $net Nx64$" || complain "info $file.pith does not say $net"
        expect 0 pith decode $file.pith --to onnx -q -f -o back_$file.onnx
        [ "$(size back_$file.onnx)" -le $(($(size $net.onnx) + 400)) ] || complain "decode: $(size back_$file.onnx) bytes"
        head -c 128 /dev/zero >raw
        expect 0 pith run $file.pith raw -q
        head -c 256 /dev/zero >raw
        expect 0 pith run $file.pith raw -q
        head -c 130 /dev/zero >raw
        expect 4 pith run $file.pith raw -q
        grep -q "the 128 raw bytes of input .* ($net)" .err || complain "$(cat .err)"
        expect 0 pith compare $file.pith back_$file.onnx --tol bits
    done
    "$PITH_VENV/bin/python" - $net back_*.onnx <<'END' || status=1
import sys, onnx
from onnx import TensorProto as T
kind = {"f16": T.FLOAT16, "bf16": T.BFLOAT16}[sys.argv[1]]
for name in sys.argv[2:]:
    model = onnx.load(name)
    onnx.checker.check_model(model, full_check=True)
    ends = [v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output]]
    weights = {t.data_type for t in model.graph.initializer if len(t.dims) == 2}
    if ends != [kind, kind] or weights != {kind}:
        sys.exit(f"{name}: ends of types {ends}, weights {weights}, expected {kind}")
END
    rm back_*.onnx
done
finish
