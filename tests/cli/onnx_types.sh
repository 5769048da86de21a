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

def weights_only(name, layer, shape, axis, zero, rank=2):
    """One layer whose weight is of 8 bits; axis None: with one scale."""
    n = () if axis is None else (shape[axis],)
    weights = {"q": rng.integers(0, 256, shape).astype(np.uint8) if zero else rng.integers(-127, 128, shape).astype(np.int8),
               "s": (rng.random(n) * 0.01 + 0.001).astype(np.float32)}
    if zero:
        weights["z"] = rng.integers(1, 255, n).astype(np.uint8)
    nodes = [h.make_node("DequantizeLinear", list(weights), ["w"], axis=axis or 0), h.make_node(*layer[:3], **layer[3])]
    if "r" in layer[1]:
        weights["r"] = rng.standard_normal((1, 32, 8)).astype(np.float32)
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [2, 8, 16, 16][:rank - 1] + [16])],
                         [h.make_tensor_value_info("y", T.FLOAT, None)],
                         [numpy_helper.from_array(np.asarray(a), k) for k, a in weights.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), name + ".onnx")

for kind, zero in (("i8", False), ("u8", True)):
    weights_only(kind + "_conv", ("Conv", ["x", "w"], ["y"], {}), (12, 8, 3, 3), 0, zero, 4)
    weights_only(kind + "_conv_tensor", ("Conv", ["x", "w"], ["y"], {}), (12, 8, 3, 3), None, zero, 4)
    weights_only(kind + "_gemm", ("Gemm", ["x", "w"], ["y"], {"transB": 1}), (32, 16), 0, zero)
    weights_only(kind + "_matmul", ("MatMul", ["x", "w"], ["y"], {}), (16, 32), 1, zero, 3)
    weights_only(kind + "_lstm", ("LSTM", ["x", "w", "r"], ["", "y"], {"hidden_size": 8}), (1, 32, 16), 1, zero, 3)
weight = rng.standard_normal((64, 64)) * 0.1
save("kmeans", [h.make_node("MatMul", ["x", "w"], ["y"])],
     {"w": rng.standard_normal(16).astype(np.float32)[rng.integers(0, 16, (64, 64))]})
for name, dtype, kind in (("f16", np.float16, T.FLOAT16), ("bf16", ml_dtypes.bfloat16, T.BFLOAT16)):
    save(name, [h.make_node("MatMul", ["x", "w"], ["a"], name="fc0"), h.make_node("Relu", ["a"], ["y"])],
         {"w": weight.astype(dtype)}, kind, kind)
save("flat", [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Add", ["a", "b"], ["c"]),
              h.make_node("Softmax", ["c"], ["y"])],
     {"w": (weight * 1e-3).astype(np.float32), "b": rng.standard_normal(64).astype(np.float32)})
np.save("x.npy", rng.standard_normal((100, 64)).astype(np.float32))
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
    case $net in
    i8* | u8_tensor) # runs in integers
        for stage in "prune --sparsity 30%" "cluster --bits 4" "compress --sparsity 30% --bits 4"; do
            expect 5 pith $stage $net.onnx -q -f -o onnx.out
            grep -q "no layer has float weights" .err || complain "$(cat .err)"
        done
        ;;
    *)
        as_imported $net pith prune --sparsity 30%
        [ "$(size onnx.out)" -le "$(size $net.onnx)" ] || complain "prune $net.onnx grows: $(size onnx.out)"
        as_imported $net pith cluster --bits 4
        as_imported $net pith compress --sparsity 30% --bits 4
        ;;
    esac
    for from in onnx pith; do
        expect 0 pith info --json $net.$from
        sed 's/"file":"[^"]*"//' .out >info.$from
    done
    same info.onnx info.pith
done

# compress compares with the types of the file, and says when no weight is left.
expect 0 pith compress f16.onnx -d x.npy -f -o small.pith
grep -q ", was 8.00 KiB: " .err || complain "compress f16.onnx: $(cat .err)"
grep -q "all weights are 0" .err && complain "compress f16.onnx: $(cat .err)"
expect 0 pith compress flat.onnx -d x.npy -f -o small.pith
grep -q "all weights are 0" .err || complain "compress flat.onnx: $(cat .err)"

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

# Weights that are integers of 8 bits times a scale are such in ONNX, and come back as they were.
nets=
for kind in i8 u8; do
    for layer in conv conv_tensor gemm matmul lstm; do nets="$nets ${kind}_$layer"; done
done
for net in u8_channel $nets kmeans; do
    expect 0 pith import $net.onnx -q -f -o $net.pith
    expect 0 pith decode $net.pith -q -f -o back.onnx
    expect 0 pith compare $net.pith back.onnx --tol bits
    expect 0 pith import back.onnx -q -f -o again.pith
    expect 0 pith decode again.pith -q -f -o back_again.onnx
    "$PITH_VENV/bin/python" - $net.onnx back.onnx back_again.onnx <<'END' || status=1
import sys, numpy as np, onnx, onnxruntime as ort
from onnx import TensorProto as T
name = sys.argv[1]

def run(path):
    """In f32: by default onnxruntime rounds the input of a MatMul whose weight is of 8 bits."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    shape = [d if isinstance(d, int) else 4 for d in session.get_inputs()[0].shape]
    return session.run(None, {"x": np.random.default_rng(3).standard_normal(shape).astype(np.float32)})[0]

def largest(path):
    """Types and bytes of the largest initializers, by type."""
    return sorted((t.data_type, len(t.raw_data)) for t in onnx.load(path).graph.initializer if len(t.raw_data) >= 512)

onnx.checker.check_model(onnx.load("back.onnx"), full_check=True)
kinds = {kind for kind, _ in largest("back.onnx")} - ({T.FLOAT} if "lstm" in name else set())
expected = T.FLOAT if name == "kmeans.onnx" else T.INT8 if name.startswith("i8") else T.UINT8
if kinds != {expected}:
    sys.exit(f"decode {name}: initializers of types {kinds}, expected {expected}")
if largest("back.onnx") != largest("back_again.onnx"):
    sys.exit(f"decode {name}: {largest('back.onnx')}, of the imported one {largest('back_again.onnx')}")
if not np.array_equal(run(name), run("back.onnx")):
    sys.exit(f"decode {name}: onnxruntime's outputs differ by up to {np.abs(run(name) - run('back.onnx')).max()}")
END
    [ "$(size back.onnx)" -le $(($(size $net.onnx) + 400)) ] || complain "decode $net.onnx grows: $(size back.onnx) bytes"
done
finish
