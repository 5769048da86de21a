#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels are found under any name that people give them: as an array of an .npz, wherever it stands in
# it, or as a csv that names each picture's file.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import struct
import zipfile
from make_inputs import npy
rows = npy("<f4", (3, 6), struct.pack("<18f", *range(18)))
labels = npy("<i8", (3,), struct.pack("<3q", 0, 1, 2))
for name in ("y", "Y", "label", "labels", "Labels", "target", "targets", "class", "Classes", "y_test", "test_labels",
             "labels_int", "ground-truth", "gt", "Category"):
    for samples in ("x", "data"):
        with zipfile.ZipFile(f"{name}_{samples}.npz", "w") as z:
            z.writestr(f"{name}.npy", labels)
            z.writestr(f"{samples}.npy", rows)
for name in ("arr_1", "digits"): # no word for it, but the only other array, of one integer a sample
    with zipfile.ZipFile(f"{name}_x.npz", "w") as z:
        z.writestr("arr_0.npy", rows)
        z.writestr(f"{name}.npy", labels)
floats = npy("<f4", (3,), struct.pack("<3f", 0, 1, 2))
for name, array in (("weights", floats), ("class_names", npy("<i8", (2,), struct.pack("<2q", 0, 1)))):
    with zipfile.ZipFile(f"{name}_unlabelled.npz", "w") as z: # none of these is labels
        z.writestr("x.npy", rows)
        z.writestr(f"{name}.npy", array)
with zipfile.ZipFile("alone.npz", "w") as z:
    z.writestr("digits.npy", labels)
with zipfile.ZipFile("others.npz", "w") as z:
    z.writestr("ids.npy", rows)
    z.writestr("test_labels.npy", labels)
open("x.npy", "wb").write(rows)
two = npy("<i8", (2,), struct.pack("<2q", 0, 1))
with zipfile.ZipFile("names_x.npz", "w") as z: # y before the names of the classes
    z.writestr("classes.npy", two)
    z.writestr("x.npy", rows)
    z.writestr("y.npy", labels)
with zipfile.ZipFile("pairs_x.npz", "w") as z:
    z.writestr("x_test.npy", rows)
    z.writestr("x_train.npy", rows)
    z.writestr("y_train.npy", two)
    z.writestr("y_test.npy", labels)
END
for f in *_x.npz *_data.npz; do
    expect 0 pith eval good.onnx -d "$f"
    grep -q 'on 3 samples' .out || complain "$f: $(cat .out .err)"
done
for f in *_unlabelled.npz; do
    expect 2 pith eval good.onnx -d "$f"
    grep -q 'no labels found' .err || complain "$f: $(cat .out .err)"
done
for f in alone.npz others.npz; do
    expect 0 pith eval good.onnx -d x.npy --labels $f
    grep -q 'on 3 samples' .out || complain "--labels $f: $(cat .out .err)"
done
expect 4 pith eval good.onnx -d x.npy --labels weights_unlabelled.npz
grep -q 'weights_unlabelled.npz: no array of labels inside' .err || complain "$(cat .err)"

# csv: the order of the rows is not that of the pictures, which alone says whose class is whose
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import os
from make_inputs import png, write
os.makedirs("set")
for name, shade in (("0a.png", 10), ("1b.png", 90), ("2c.png", 200)):
    write(f"set/{name}", png(28, 28, lambda y, x: (shade * (y + 1) + x) % 251))
END
pith run digits.onnx -d set --preprocess unit >told || complain "run of set"
answer() { sed -n "s/^$1	\([0-9]*\)	.*/\1/p" told; }
rows() { for f in 2c.png 0a.png 1b.png; do echo "$f,$(answer $f)"; done; }
for head in '' file,class filename,label 'Image,Target' 'path,y' 'file_name,class_id'; do
    { [ -z "$head" ] || echo "$head"; rows; } >names.csv
    expect 0 pith eval digits.onnx -d set --preprocess unit --labels names.csv
    grep -q 'top-1 100.00% (3)' .out || complain "csv '$head': $(cat .out .err)"
done
rows | sed 's/\([^,]*\),\(.*\)/\2,x,\1/; 1i target,note,path' >names.csv
expect 0 pith eval digits.onnx -d set --preprocess unit --labels names.csv
grep -q 'top-1 100.00% (3)' .out || complain "csv of three columns: $(cat .out .err)"
finish
