#!/bin/sh
# SPDX-License-Identifier: MIT
# One .npz feeds several inputs, by the names of its arrays, and holds the labels besides; a name that is
# wrong is reported. Of a network with one input the array of its name is taken. Images with their channels at
# the other end are transposed, which is said; arrays of any other order of axes are refused.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || exit 1
import struct
import zipfile
from make_inputs import field, model, node, npy, tensor, value, write

def floats(*rows):
    flat = [v for row in rows for v in row]
    return npy("<f4", (len(rows), len(rows[0])), struct.pack(f"<{len(flat)}f", *flat))

def npz(name, **arrays):
    with zipfile.ZipFile(name, "w") as z:
        for k, v in arrays.items():
            z.writestr(k + ".npy", v)

# the second input has a name that labels have elsewhere
write("two.onnx", model(node("Sub", ["left", "target"], ["y"], "sub") + field(2, "two") +
                        value(11, "left", ["n", 3]) + value(11, "target", ["n", 3]) + value(12, "y", ["n", 3])))
write("one.onnx", model(node("Relu", ["right"], ["y"], "relu") + field(2, "one") +
                        value(11, "right", ["n", 3]) + value(12, "y", ["n", 3])))
left, target = floats([9, 1, 2], [3, 4, 9]), floats([1, 0, 1], [1, 1, 1])
labels = npy("<i8", (2,), struct.pack("<2q", 0, 2))
npz("both.npz", more=labels, target=target, left=left)
npz("labelled.npz", classes=labels, target=target, left=left)
npz("part.npz", left=left, tarqet=target)
npz("none.npz", a=left, b=target)
npz("several.npz", x=target, right=left)
channels_first = field(5, field(1, "perm") + b"".join(field(8, k) for k in (0, 3, 1, 2)) + field(20, 7))

def image(name, input_dims, first):
    conv = node("Conv", ["x", "w"], ["y"], "c") if first else \
        node("Transpose", ["x"], ["t"], "t", channels_first) + \
        node("Conv", ["t", "w"], ["y"], "c")
    write(name, model(conv + field(2, name) + tensor("w", [2, 3, 3, 3], [(i % 7 - 3) / 8 for i in range(54)]) +
                      value(11, "x", input_dims) + value(12, "y", ["n", 2, 2, 4])))

image("chw.onnx", ["n", 3, 4, 6], True)
image("hwc.onnx", ["n", 4, 6, 3], False)
N, C, H, W = 16, 3, 4, 6
at = lambda n, c, h, w: (n * 31 + c * 17 + h * 5 + w * 3) % 41 / 8 - 2
orders = {"nchw": (N, C, H, W), "nhwc": (N, H, W, C), "nwch": (N, W, C, H)}
for name, dims in orders.items():
    def walk(axes):
        index = [0] * 4
        def go(d):
            if d == 4:
                yield at(index[0], *(index[axes.index(k)] for k in "chw"))
                return
            for index[d] in range(dims[d]):
                yield from go(d + 1)
        return list(go(0))
    flat = walk(name)
    pack = lambda v: struct.pack(f"<{len(v)}f", *v)
    open(name + ".npy", "wb").write(npy("<f4", dims, pack(flat)))
    open(name + "1.npy", "wb").write(npy("<f4", dims[1:], pack(flat[:72])))
    open(name + "_flat.npy", "wb").write(npy("<f4", (N, 72), pack(flat)))
open("left.npy", "wb").write(left)
open("target.npy", "wb").write(target)
PY
expect 0 pith run two.onnx -d left=left.npy -d target=target.npy -o wanted.npy
expect 0 pith run two.onnx -d both.npz -o got.npy
cmp wanted.npy got.npy || complain "both.npz: other outputs than of its arrays by name"
expect 0 pith run two.onnx -d part.npz -d target.npy -o got2.npy
cmp wanted.npy got2.npy || complain "part.npz beside another: other outputs"
expect 0 pith run two.onnx -d target=target.npy -d both.npz -o got3.npy
cmp wanted.npy got3.npy || complain "both.npz for what is left: other outputs"
expect 0 pith eval two.onnx -d labelled.npz
grep -q 'top-1 100.00% (2)' .out || complain "labels beside inputs: $(cat .out)"
expect 2 pith run two.onnx -d part.npz -o bad.npy
grep -q "part.npz: no array for input 'target' (its arrays: left, tarqet)" .err || complain "$(cat .err)"
expect 2 pith run two.onnx -d none.npz -o bad.npy
[ ! -e bad.npy ] || complain "an output of a run that was refused"
expect 0 pith run one.onnx -d right=left.npy -o wanted1.npy
expect 0 pith run one.onnx -d several.npz -o got1.npy
cmp wanted1.npy got1.npy || complain "several.npz: not the array of the input's name"

for model in chw hwc; do
    right=n$model
    other=nhwc
    [ $right = nhwc ] && other=nchw
    expect 0 pith run $model.onnx -d $right.npy -o $model.npy
    [ ! -s .err ] || complain "$model: a note on data in the input's order: $(cat .err)"
    for data in $other "${right}_flat"; do
        expect 0 pith run $model.onnx -d $data.npy -f -o got.npy
        cmp $model.npy got.npy || complain "$model.onnx: other outputs of $data.npy"
    done
    expect 0 pith run $model.onnx "${right}1.npy" -o $model.1.npy
    expect 0 pith run $model.onnx "${other}1.npy" -o $other.1.npy
    same $model.1.npy $other.1.npy
    grep -q "${other}1.npy: transposed from" .err || complain "nothing said of ${other}1.npy: $(cat .err)"
    expect 2 pith run $model.onnx nwch1.npy
    for verb in check calibrate quantize compress; do
        out="-o $model.$verb.pith"
        [ $verb = check ] && out=
        expect 0 pith $verb $model.onnx -d $other.npy $out
        cat .out .err | grep -q "$other.npy: samples transposed from .* for input 'x'" || complain "$verb: $(cat .err)"
        code=2
        [ $verb = check ] && code=1
        expect $code pith $verb $model.onnx -d nwch.npy ${out:+-o bad.pith}
        cat .out .err | grep -q "16 samples of 6x3x4 do not fit input 'x' .*: the axes are in another order" ||
            complain "$verb of nwch.npy: $(cat .err)"
    done
    expect 0 pith calibrate $model.onnx -d $right.npy -o $model.right.pith
    same $model.right.pith $model.calibrate.pith
done
expect 2 pith run chw.onnx -d nhwc.npy --preprocess layout=nchw
finish
