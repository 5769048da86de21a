#!/bin/sh
# SPDX-License-Identifier: MIT
# What is said of data before it is worked with: NaN, constant inputs, pixels that were not scaled, one class for
# all; and that nothing is said of data as it should be.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || exit 1
import math
import random
import struct
import zipfile
from make_inputs import attr_int, field, model, node, npy, png, tensor, value, write

random.seed(5)
N, K, CLASSES = 64, 40, 3

def array(name, rows, kind="<f4"):
    flat = [v for row in rows for v in row]
    pack = struct.pack(f"<{len(flat)}{'f' if kind == '<f4' else 'B'}", *flat)
    open(name, "wb").write(npy(kind, (len(rows), len(rows[0])), pack))

def changed(rows, i, k, v):
    rows = [list(r) for r in rows]
    rows[i][k] = v
    return rows

weights = tensor("w", [CLASSES, K], [random.gauss(0, .3) for _ in range(CLASSES * K)])
first = node("Gemm", ["x", "w"], ["l"], "fc", attr_int("transB", 1))
ends = {"net.onnx": node("Softmax", ["l"], ["y"], "softmax"), "log.onnx": node("Log", ["l"], ["y"], "log")}
for name, end in ends.items():
    write(name, model(first + end + field(2, "g") + weights + value(11, "x", ["n", K]) + value(12, "y", ["n", CLASSES])))
steady = first + tensor("b", [CLASSES], [0, 50, 0]) + node("Add", ["l", "b"], ["z"], "add") + node("Softmax", ["z"], ["y"], "s")
write("steady.onnx", model(steady + field(2, "g") + weights + value(11, "x", ["n", K]) + value(12, "y", ["n", CLASSES])))

good = [[random.gauss(0, 1) for _ in range(K)] for _ in range(N)]
array("good.npy", good)
array("positive.npy", [[abs(v) + .5 for v in row] for row in good])
array("nan.npy", changed(good, 5, 3, math.nan))
array("inf.npy", changed(good, 6, 0, -math.inf))
array("zeros.npy", [[0] * K] * N)
array("same.npy", [good[0]] * N)
array("far.npy", [[random.randrange(256) for _ in range(K)] for _ in range(N)])
array("bytes.npy", [[random.randrange(256) for _ in range(K)] for _ in range(N)], "|u1")
array("small_bytes.npy", [[random.randrange(9) for _ in range(K)] for _ in range(N)], "|u1")
array("one_hot.npy", [[float(i % K == k) for k in range(K)] for i in range(N)])
with zipfile.ZipFile("target.npz", "w") as z:
    targets = [i / 7 for i in range(3 * N)]
    targets[3 * 9 + 1] = math.nan
    z.write("good.npy", "x.npy")
    z.writestr("y.npy", npy("<f4", (N, 3), struct.pack(f"<{3 * N}f", *targets)))
wide = 2000
rows = [[.5 + k % 7 for k in range(wide)] for _ in range(N)]
for i in range(N):
    rows[i][7] = i / N
array("stuck.npy", rows)
write("wide.onnx", model(node("Gemm", ["x", "w"], ["y"], "fc", attr_int("transB", 1)) + field(2, "g") +
                         tensor("w", [2, wide], [random.gauss(0, .1) for _ in range(2 * wide)]) +
                         value(11, "x", ["n", wide]) + value(12, "y", ["n", 2])))
PY

# every VERB MODEL DATA CODE TEXT: the command ends with CODE, and says TEXT; "" : it says nothing of the data
every() {
    verb=$1 model=$2 data=$3 code=$4 text=$5
    case $verb in
    calibrate | quantize | compress) set -- -f -o out.pith ;;
    train) set -- -f -o out.pith --batch 16 --epochs 1 --teacher "$model" --loss distill ;;
    run) set -- -f -o out.npy ;;
    *) set -- ;;
    esac
    expect "$code" pith "$verb" "$model" -d "$data" "$@"
    if [ "$text" ]; then
        cat .out .err | grep -q "$text" || complain "pith $verb $model -d $data does not say '$text': $(cat .out .err)"
    elif cat .out .err | grep -v "held-out samples leave the SQNR uncertain" | grep "warning.*\(sample\|input\|pixels\|class\)"; then
        complain "pith $verb $model -d $data warns of good data"
    fi
}
for verb in run calibrate quantize compress sense train; do
    every $verb net.onnx nan.npy 5 "cannot $verb: input 'x' is NaN for sample 5 of nan.npy"
    every $verb net.onnx inf.npy 5 "cannot $verb: input 'x' is infinite for sample 6 of inf.npy"
done
for verb in calibrate quantize compress sense train; do
    every $verb log.onnx good.npy 5 "cannot $verb: output 'y' of the network is NaN for sample "
done
every run log.onnx good.npy 0 "output 'y' of the network is NaN for sample "
for verb in run calibrate quantize compress sense train; do
    every $verb steady.onnx good.npy 0 "all 64 samples are of class 1 for the network, each with p > 0.999"
done
for verb in check run calibrate quantize sense; do
    every $verb net.onnx zeros.npy 0 "input 'x' is 0 in all 64 samples"
    every $verb net.onnx same.npy 0 "all 64 samples of input 'x' are the same"
    every $verb net.onnx bytes.npy 0 "the model stores no preprocessing: pixels are fed as they are, 0 to 255"
    every $verb wide.onnx stuck.npy 0 "1999 of 2000 values of input 'x' are the same in all 64 samples"
    for data in good positive far one_hot small_bytes; do every $verb net.onnx $data.npy 0 ""; done
done
every check net.onnx nan.npy 1 "input 'x' is NaN for sample 5 of nan.npy"
every check log.onnx good.npy 1 "output 'y' of the network is NaN for sample "
every check steady.onnx good.npy 0 "all 64 samples are of class 1 for the network"

expect 5 pith train net.onnx -d target.npz --loss mse --batch 16 --epochs 1 -o out.pith -f
grep -q 'target.npz: the target of sample 9 is NaN' .err || complain "$(cat .err)"

# only the samples that are read count
expect 0 pith run net.onnx -d nan.npy --range 6:64 -f -o out.npy
expect 0 pith calibrate net.onnx -d nan.npy --samples 5 -f -o out.pith
expect 5 pith calibrate net.onnx -d nan.npy --samples 6 -f -o out.pith
expect 0 pith run net.onnx -d bytes.npy --preprocess raw -f -o out.npy
! grep -q pixels .err || complain "raw pixels were requested: $(cat .err)"

# what the network holds of its input
expect 0 pith calibrate net.onnx -d good.npy -o ranges.pith
expect 0 pith quantize net.onnx -d good.npy -o int8.pith
for model in ranges.pith int8.pith; do
    for verb in check run; do
        every $verb $model far.npy 0 "input 'x' is 0 to 255, the network was calibrated for -[0-9.]* to [0-9.]*:"
        every $verb $model good.npy 0 ""
    done
    expect 0 pith check $model -d good.npy
    grep -q '^x  *64  *-[0-9.]*  *-*[0-9.e-]*  *[0-9.]*  0.000  -[0-9.]* to [0-9.]*$' .out || complain "$(cat .out)"
done
expect 0 pith check ranges.pith -d far.npy --json
grep -q '"data":\[{"input":"x","samples":64,"min":0,"mean":[0-9.]*,"max":255,"zeros":[0-9.]*,"range_min":-[0-9.]*,"range_max":[0-9.]*}\],"findings":\["input .x. is 0 to 255' .out ||
    complain "JSON of check: $(cat .out)"
finish
