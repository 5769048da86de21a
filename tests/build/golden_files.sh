#!/bin/sh
# SPDX-License-Identifier: MIT
# The files in tests/golden: still readable, still what pith writes, to the byte, on every CPU level
# and for 1, 2 and 3 threads; and their outputs (reference kernels) keep their bits. UPDATE=1
# rewrites them: only with a change of docs/format.md, or of the recipe that a file records.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
golden=tests/golden
status=0
tests/fresh_digits.sh "$work/digits.onnx" || exit 1
head -c 3136 "$work/digits.onnx" >"$work/bytes" # any bytes: 784 floats ...
od -An -tu1 -v -w1 "$work/bytes" | head -784 | awk '{printf "%.6f\n", $1 / 256}' >"$work/pixels"
python3 -c "
import struct, sys
sys.stdout.buffer.write(b''.join(struct.pack('<f', float(v)) for v in open('$work/pixels')))" >"$work/input"
make_file() { # name options
    file=$1
    shift
    "$PITH" compress "$work/digits.onnx" --preprocess scale=1/255 "$@" -q -f -o "$work/$file.pith" || return 1
}
check() { # name options
    file=$1
    for cpu in ref avx2 ""; do
        for threads in 1 2 3; do
            PITH_CPU=$cpu make_file "$@" -T $threads || { status=1; return; }
            if [ -n "$UPDATE" ]; then cp "$work/$file.pith" "$golden/$file.pith"; fi
            cmp "$work/$file.pith" "$golden/$file.pith" || { status=1; return; }
        done
    done
    PITH_CPU=ref "$PITH" run "$golden/$file.pith" "$work/input" -T 1 -f -o "$work/$file.npy" || status=1
    sum=$(tail -c 40 "$work/$file.npy" | od -An -tx4 -v | tr -d ' \n')
    if [ -n "$UPDATE" ]; then echo "$sum" >"$golden/$file.output"; fi
    [ "$sum" = "$(cat "$golden/$file.output")" ] || { echo "$file: output bits differ: $sum"; status=1; }
}
check digits_full --bits 8
check digits_compact --sparsity 0.8 --bits 3 --for size
check digits_dense --bits 4
exit $status
