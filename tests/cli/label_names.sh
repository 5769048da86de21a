#!/bin/sh
# SPDX-License-Identifier: MIT
# The labels of an .npz are found under any name that people give them, wherever they stand in it.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import struct
import zipfile
from make_inputs import npy
rows = npy("<f4", (3, 6), struct.pack("<18f", *range(18)))
labels = npy("<i8", (3,), struct.pack("<3q", 0, 1, 2))
for name in ("y", "Y", "label", "labels", "Labels", "target", "targets", "class", "Classes", "y_test"):
    for samples in ("x", "data"):
        with zipfile.ZipFile(f"{name}_{samples}.npz", "w") as z:
            z.writestr(f"{name}.npy", labels)
            z.writestr(f"{samples}.npy", rows)
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
finish
