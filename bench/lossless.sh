#!/bin/sh
# SPDX-License-Identifier: MIT
# lossless.sh - networks as they come, without a number changed: bytes of pith compress --lossless
# beside xz -9e and zipnn, and how fast one core reads the file. Prints Markdown.
#
#     python3 -m venv peers && peers/bin/pip install zipnn numpy onnx
#     make bench-build && PEERS=peers/bin/python bench/lossless.sh [NETWORK...]
#
# zipnn takes the f32 of all tensors as one run of bytes, without graph and names, in one thread;
# the other columns are whole files. Decoding: f32 bytes of the weights over the processor time of a
# plan of the file, less that of the same network stored plain (bench_load, medians).
pith=${PITH:-build/release/pith}
load=${BIN:-build/release/bench}/bench_load
data=${DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
[ $# -gt 0 ] || set -- "$data"/models/*.onnx
size() { wc -c <"$1"; }
zipnn() {
    [ -n "$PEERS" ] && "$PEERS" - "$1" 2>/dev/null <<'END' || echo -
import sys, numpy, onnx, zipnn
parts = []
def walk(graph):
    for t in graph.initializer:
        if t.data_type == 1:
            parts.append(onnx.numpy_helper.to_array(t).tobytes())
    for node in graph.node:
        for a in node.attribute:
            if a.HasField("t") and a.t.data_type == 1:
                parts.append(onnx.numpy_helper.to_array(a.t).tobytes())
            if a.HasField("g"):
                walk(a.g)
walk(onnx.load(sys.argv[1]).graph)
print(len(zipnn.ZipNN(bytearray_dtype="float32", threads=1).compress(bytearray(b"".join(parts)))))
END
}
speed() { # MB/s from the milliseconds of processor time in column 5, of the plain and the coded file
    "$load" --rounds 9 "$work/plain.pith" "$work/speed.pith" | awk -v bytes="$(size "$work/plain.pith")" '
        $1 ~ /plain.pith$/ {plain = $5} $1 ~ /speed.pith$/ {coded = $5}
        END {d = coded - plain; if (d > 0) printf "%.0f", bytes / 1000 / d; else printf "-"}'
}
echo '| network | ONNX file | xz -9e | zipnn | lossless | --for size | MB/s |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
for net; do
    "$pith" import --no-grids "$net" -q -f -o "$work/plain.pith" &&
        "$pith" compress --lossless "$net" -q -f -o "$work/speed.pith" &&
        "$pith" compress --lossless --for size "$net" -q -f -o "$work/size.pith" || exit 1
    for file in speed size; do
        "$pith" compare "$net" "$work/$file.pith" 2>&1 | grep -q 'equal bits' || { echo "$net: not equal"; exit 1; }
    done
    echo "| $(basename "$net" .onnx) | $(size "$net") | $(xz -9e <"$net" | wc -c) | $(zipnn "$net") | $(size "$work/speed.pith") | $(size "$work/size.pith") | $(speed) |"
done
