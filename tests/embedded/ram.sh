#!/bin/sh
# SPDX-License-Identifier: MIT
# RAM of a microcontroller: what a plan of a compressed file needs, with reference kernels and without
# threads, is at most what the same float network needs; where weights are coded, a decoder's 1,408
# bytes, a table of up to 3,072, decoded rows of 3,072 and a ten-thousandth more, and with adaptive
# streams their model. Outputs have the bits of weights decoded once. Prints a table: bytes of RAM.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${CC:-gcc} -std=c11 -O2 -D_GNU_SOURCE -Iruntime tests/embedded/plan_need.c "$PITH_O/libpith-runtime.a" \
    -lpthread -lm -o "$work/plan_need" || exit 1
imported() { # network: its first two files
    name=$1
    file=$PITH_DATA/models/$name.onnx
    [ -f "$file" ] && "$PITH" import "$file" -q -o "$work/$name.float.pith" &&
        "$PITH" encode "$work/$name.float.pith" -q -o "$work/$name.encoded.pith"
}
forms() { # network inputs...
    imported "$1" || return
    shift
    "$PITH" cluster "$work/$name.float.pith" --bits 4 -q -o "$work/$name.codebook.pith" &&
        "$PITH" prune "$work/$name.float.pith" --sparsity 0.8 -q -o "$work/$name.sparse.pith" &&
        "$PITH" cluster "$work/$name.sparse.pith" --bits 5 -q -o "$work/$name.few" &&
        "$PITH" encode "$work/$name.few" --coder huffman -q -o "$work/$name.huffman.pith" &&
        "$PITH" encode "$work/$name.few" --coder adaptive -q -o "$work/$name.adaptive.pith" || exit 1
    integers "$@"
}
integers() { # inputs... of $name: as integers
    python3 - "$work/$name.npy" 4 "$@" <<'END'
import math, random, struct, sys
dims = [int(d) for d in sys.argv[2:]]
random.seed(1)
head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, dims))).encode()
head += b" " * ((-len(head) - 11) % 64) + b"\n"
n = math.prod(dims)
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    f.write(struct.pack("<%df" % n, *[random.gauss(0, 1) for _ in range(n)]))
END
    "$PITH" quantize "$file" -d "$work/$name.npy" --samples 4 --rounding nearest -q -o "$work/$name.int8.pith" &&
        "$PITH" encode "$work/$name.int8.pith" --coder huffman -q -o "$work/$name.int8huffman.pith" || exit 1
}
large() { # network inputs...: is not run
    imported "$1" || return
    shift
    [ $# = 0 ] || integers "$@"
    mv "$work/$name".*.pith "$work/large"
}
mkdir "$work/large"
forms mnist_lenet5_caffe 1 28 28
forms mnist_cntk 1 28 28
forms tiny_ad01_ae 640
forms kws_DNN_L 25 10
forms kws_GRU_L 490
forms kws_LSTM_L 490
forms tiny_kws_dscnn 49 10 1
forms tiny_ic_resnet8 32 32 3
forms tiny_vww_mbv1 96 96 3
forms cifar10_resnet20 3 32 32
large imagenet_squeezenet_v1_1 3 224 224
large imagenet_squeezenet_v1_dc 3 227 227
large imagenet_mobilenet_v2 3 224 224
large super_resolution_x3 1 224 224
large silero_vad_16k
ls "$work"/*.float.pith >/dev/null 2>&1 || { echo "no networks"; exit 77; }
"$work/plan_need" -r "$work"/*.pith >"$work/needs" || exit 1
ls "$work"/large/*.pith >/dev/null 2>&1 && { "$work/plan_need" "$work"/large/*.pith >>"$work/needs" || exit 1; }
while read -r file kernels need rest; do
    [ "$kernels" = reference ] || continue
    reported=$("$PITH" info --target cortex-m4f "$file" --json | sed 's/.*"plan_bytes":\([0-9]*\).*/\1/')
    [ "$reported" = "$need" ] || { echo "info --target cortex-m4f $file: $reported, a plan needs $need $rest"; exit 1; }
done <"$work/needs"
"$PITH" info --target cortex-m "$work"/*.float.pith >/dev/null 2>&1
[ $? -eq 2 ] || { echo "info --target takes a name that is none"; exit 1; }
python3 - "$work/needs" <<'END'
import os, sys
FORMS = ["float", "encoded", "codebook", "sparse", "huffman", "adaptive", "int8", "int8huffman"]
DECODER = 1408 + 3072 + 3072
need, output = {}, {}
for line in open(sys.argv[1]):
    path, kernels, total, *rest = line.split()
    name, form, _ = os.path.basename(path).split(".")
    need[name, form, kernels] = int(total)
    if kernels != "native" and len(rest) > 4:
        output[name, form, kernels] = rest[4]
status = 0
print("%-20s" % "", *("%11s" % f for f in FORMS))
for name in sorted({n for n, _, _ in need}):
    row = {f: need.get((name, f, "reference")) for f in FORMS}
    print("%-20s" % name, *("%11s" % ("-" if row[f] is None else format(row[f], ",")) for f in FORMS))
    for f in FORMS:
        if row[f] is None:
            continue
        if output.get((name, f, "reference")) != output.get((name, f, "once")):
            print(f"{name}.{f}: other outputs than of weights decoded once")
            status = 1
        more = DECODER + row["float"] // 10000
        more = 0 if f == "int8" else 104 * 1024 if f == "adaptive" else more
        # in a loop layers of few columns stay float, so its body has values of both kinds
        more += row["float"] // 10 if f.startswith("int8") and ("GRU" in name or "LSTM" in name) else 0
        if row[f] > row["float"] + more:
            print(f"{name}.{f}: {row[f]} bytes, float {row['float']}")
            status = 1
sys.exit(status)
END
