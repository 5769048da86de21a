#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels are found in an .npz, in files beside the data, or in a csv that names each picture's file (which
# names of arrays are taken: tests/data/test_data_arrays.c). Class names that the model stores are labels wherever
# numbers are: in text, as numpy's strings, as names of folders.
. "$(dirname "$0")/sandbox.inc"
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import struct
import zipfile
from make_inputs import npy
rows = npy("<f4", (3, 6), struct.pack("<18f", *range(18)))
labels = npy("<i8", (3,), struct.pack("<3q", 0, 1, 2))
def npz(name, **arrays):
    with zipfile.ZipFile(name, "w") as z:
        for k, v in arrays.items():
            z.writestr(k + ".npy", v)
npz("y_x.npz", testLabels=labels, data=rows)
npz("weights_unlabelled.npz", x=rows, weights=npy("<f4", (3,), struct.pack("<3f", 0, 1, 2)))
npz("alone.npz", digits=labels)
npz("others.npz", ids=rows, test_labels=labels)
open("x.npy", "wb").write(rows)
END
expect 0 pith eval good.onnx -d y_x.npz
grep -q 'on 3 samples' .out || complain "y_x.npz: $(cat .out .err)"
expect 2 pith eval good.onnx -d weights_unlabelled.npz
grep -q 'no labels found' .err || complain "weights_unlabelled.npz: $(cat .out .err)"
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
pith run digits.onnx -d set --preprocess unit >printed || complain "run of set"
answer() { sed -n "s/^$1	\([0-9]*\)	.*/\1/p" printed; }
rows() { for f in 2c.png 0a.png 1b.png; do echo "$f,$(answer $f)"; done; }
for head in '' file,class filename,label 'Image,Target' 'path,y' 'file_name,class_id'; do
    { [ -z "$head" ] || echo "$head"; rows; } >names.csv
    expect 0 pith eval digits.onnx -d set --preprocess unit --labels names.csv
    grep -q 'top-1 100.00% (3)' .out || complain "csv '$head': $(cat .out .err)"
done
rows | sed 's/\([^,]*\),\(.*\)/\2,x,\1/; 1i target,note,path' >names.csv
expect 0 pith eval digits.onnx -d set --preprocess unit --labels names.csv
grep -q 'top-1 100.00% (3)' .out || complain "csv of three columns: $(cat .out .err)"

# What is refused names the sample, the value and the way out.
refused() { # CODE TEXT COMMAND...
    code=$1 text=$2
    shift 2
    expect "$code" "$@"
    grep -qF -- "$text" .err || complain "$*: no '$text' in: $(cat .err)"
}
# scores FILE ARGUMENTS...: all three samples are of the class that their label gives
scores() { expect 0 pith eval "$@"; grep -q 'top-1 100.00% (3)' .out || complain "eval $*: $(cat .out .err)"; }

PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || exit 1
import os
import struct
import subprocess
import zipfile
from make_inputs import npy, png, write
names = ["n01440764 tench, Tinca tinca", "n01443537\tgoldfish", "great white shark", "Egyptian_cat", "a", "A", "emu", "owl",
         "newt, eft", "crane"]
write("names.txt", "\n".join(names + ["crane", ""]).encode())
values = [[(7 * i * k + 3 * i) % 251 / 250 for k in range(784)] for i in range(3)]
write("rows.npy", npy("<f4", (3, 1, 28, 28), struct.pack("<2352f", *sum(values, []))))
subprocess.run("pith run digits.onnx -d rows.npy -f -o answers.npy -q", shell=True, check=True)
scores = struct.unpack("<30f", open("answers.npy", "rb").read()[-120:])
top = [max(range(10), key=lambda k: scores[10 * i + k]) for i in range(3)]
write("top", " ".join(map(str, top)).encode())
rotated = [names[(k - top[0]) % 10] for k in range(10)]  # sample 0 is a tench, whatever its class is
write("names0.txt", "\n".join(rotated).encode())
word = [rotated[k] for k in top]
write("whole.txt", "\n".join(word + [""]).encode())
write("folded.txt", "\r\n".join(w.replace("_", " ") if len(w) == 1 else w.upper().replace("N0", "n0").replace("_", " ")
                                 for w in word).encode())
write("semicolons.csv", ("file;class\n" + "".join(f"s{i};{w}\n" for i, w in enumerate(word))).encode())
write("tabs.csv", "".join(f"s{i}\t{k}\n" for i, k in enumerate(top)).encode())
def strings(name, descr, items):
    with zipfile.ZipFile(name, "w") as z:
        z.writestr("x.npy", open("rows.npy", "rb").read())
        z.writestr("true_class.npy", npy(descr, (3,), b"".join(items)))
strings("u.npz", "<U40", [w.encode("utf-32-le").ljust(160, b"\0") for w in word])
strings("big.npz", ">U40", [w.encode("utf-32-be").ljust(160, b"\0") for w in word])
strings("bytes.npz", "|S40", [w.encode().ljust(40, b"\0") for w in word])
strings("digits.npz", "|S1", [b"%d" % k for k in top])
strings("unknown.npz", "|S5", [b"tench", b"zebra", b"tench"])
strings("f8.npz", "<f8", [struct.pack("<d", k) for k in top])
strings("half.npz", "<f8", [struct.pack("<d", k + .5) for k in top])
strings("objects.npz", "|O", [struct.pack("<q", k) for k in top])
write("minus.npy", npy("<i8", (3,), struct.pack("<3q", *top[:2], -1)))
for i, kind in enumerate(("n01440764", "n01440764_tench/images", "tinca TINCA")):  # one class, three folders
    os.makedirs(f"synsets/{kind}")
    write(f"synsets/{kind}/{i}.png", png(28, 28, lambda y, x: (7 * x + y) % 251))
    os.makedirs(f"others/{'abc'[i]}b")
    write(f"others/{'abc'[i]}b/p.png", png(28, 28, lambda y, x: (7 * x + y) % 251))
for kind in ("goldfish", "emu", "zoo"):
    os.makedirs(f"mixed/{kind}")
    write(f"mixed/{kind}/p.png", png(28, 28, lambda y, x: (7 * x + y) % 251))
END
pith import digits.onnx --class-names names0.txt -q -o named.pith
for f in whole.txt folded.txt semicolons.csv tabs.csv; do scores named.pith -d rows.npy --labels $f; done
for f in u.npz big.npz bytes.npz digits.npz f8.npz; do scores named.pith -d $f; done
scores digits.onnx -d digits.npz
refused 4 "half.npz: true_class: the label of sample 0 is" pith eval named.pith -d half.npz
refused 4 "minus.npy: the label of sample 2 is -1, not a class number" pith eval named.pith -d rows.npy --labels minus.npy
refused 4 "unknown.npz: true_class: the label of sample 1, 'zebra', is neither" pith eval named.pith -d unknown.npz
refused 4 "the model stores no class names" pith eval digits.onnx -d rows.npy --labels whole.txt
refused 2 "bytes.npz: no labels found: its array true_class" pith eval digits.onnx -d bytes.npz
grep -q "bytes.npz: true_class: the label of sample 0, '" .err || complain "no word on bytes.npz: $(cat .err)"
refused 2 "its array true_class cannot be read as labels" pith eval named.pith -d objects.npz
refused 0 "not taken as labels: objects.npz" pith calibrate named.pith -d objects.npz -o c.pith
refused 2 "of its arrays (x, weights) none is named as labels are" pith eval good.onnx -d weights_unlabelled.npz
pith import digits.onnx --class-names names.txt -q -o crane.pith
printf 'crane\ncrane\ncrane\n' >cranes.txt
refused 4 "line 1: 'crane' is the name of 2 classes" pith eval crane.pith -d rows.npy --labels cranes.txt
printf "tench\\ntench\\nzebra\\n" >zebra.txt
for command in eval sense "train -f -o t.pith" "compress --max-drop 1% -f -o t.pith"; do
    [ "${command%% *}" = train ] || expect 0 pith $command named.pith -d rows.npy --labels whole.txt
    refused 4 "line 3: 'zebra' is neither" pith $command named.pith -d rows.npy --labels zebra.txt
done

# class folders: by stored name, else by their numbers, else in alphabetical order with a warning
answer=$(pith run digits.onnx synsets --preprocess unit | sed -n '1s/^[^	]*	\([0-9]*\)	.*/\1/p')
awk -v k="$answer" '{ line[NR] = $0 } END { for (i = 0; i < 10; i++) print line[(i - k + 10) % 10 + 1] }' names.txt >answer.txt
pith import digits.onnx --class-names answer.txt --preprocess unit -q -o folders.pith
scores folders.pith -d synsets
tar cf synsets.tar synsets
scores folders.pith -d synsets.tar
! grep -q alphabetical .err || complain "a warning where names match: $(cat .err)"
mkdir -p numbers/"$answer" numbers/0"$answer"
cp others/ab/p.png numbers/"$answer"; cp others/ab/p.png numbers/0"$answer"/q.png; cp others/ab/p.png numbers/0"$answer"/r.png
scores digits.onnx --preprocess unit -d numbers
refused 0 "others: folders are numbered in alphabetical order, 'ab' is class 0, 'cb' class 2: none is one of the 10 class" \
    pith eval folders.pith -d others
refused 0 "the model stores no class names" pith eval digits.onnx --preprocess unit -d others
refused 2 "folder 'zoo' is none of the class names that the model stores, as 2 others are" pith eval folders.pith -d mixed
refused 0 "mixed: folder 'zoo'" pith calibrate folders.pith -d mixed -f -o c.pith
finish
