#!/bin/sh
# SPDX-License-Identifier: MIT
# One .npz feeds several inputs, by the names of its arrays, and holds the labels besides; a name that is
# wrong is told. Of a network with one input the array of its name is taken.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || exit 1
import struct
import zipfile
from make_inputs import field, model, node, npy, value, write

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
finish
