#!/bin/sh
# SPDX-License-Identifier: MIT
# The PTX that is shipped, interpreted (ptx.h): all cases of the operators leave the emulator's bits in all memory that they
# write. test_device_counts.c counts what the kernels cost there.
nvcc=$("$MAKE" -s --eval 'print-nvcc: ; @echo $(NVCC)' print-nvcc)
[ -n "$nvcc" ] || { echo "no nvcc"; exit 77; }
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
run() {
    "$@" >"$work/said" 2>&1 && return
    echo "failed: $*"
    tail -5 "$work/said"
    status=1
}
for text in "$PITH_O"/../cuda/compute_*.ptx; do
    export PTX="$text"
    for cases in ops weights half attention huffman integers rows; do
        run "$PITH_O/tests/cuda/test_device_$cases"
    done
    # ptxas takes it, too, as a driver of that version has to
    "$(dirname "$nvcc")/ptxas" -arch=sm_"$(echo "$text" | sed 's/.*_//; s/\.ptx//')" --entry zip "$text" -o "$work/zip.cubin" 2>"$work/said" ||
        { head -3 "$work/said"; status=1; }
    # a reader that takes anything would find nothing
    sed 's/fma\.rn\.f32/fmb.rn.f32/' "$text" >"$work/other.ptx"
    PTX=$work/other.ptx "$PITH_O/tests/cuda/test_device_counts" >"$work/said" 2>&1 && { echo "an unknown instruction is taken"; status=1; }
    grep -q "unknown instruction 'fmb.rn.f32'" "$work/said" || { echo "not reported which"; status=1; }
    # a wrong kernel is noticed
    sed 's/add\.rn\.f32/sub.rn.f32/' "$text" >"$work/other.ptx"
    PTX=$work/other.ptx "$PITH_O/tests/cuda/test_device_ops" >"$work/said" 2>&1 && { echo "other kernels pass"; status=1; }
    grep -q 'stores other bits' "$work/said" || { echo "not reported that it is PTX's"; status=1; }
    # and one that leaves out a store
    awk '/st\.global\.f32/ && !done {done = 1; next} {print}' "$text" >"$work/other.ptx"
    PTX=$work/other.ptx "$PITH_O/tests/cuda/test_device_ops" >"$work/said" 2>&1 && { echo "a store too few passes"; status=1; }
done
# tensor cores from compute capability 8.0 on, and none before
grep -q 'mma\.sync' "$PITH_O/../cuda/compute_80.ptx" || { echo "no mma for 8.0"; status=1; }
sed '/mma\.sync/d' "$PITH_O/../cuda/compute_80.ptx" >"$work/other.ptx"
PTX=$work/other.ptx "$PITH_O/tests/cuda/test_device_ops" >"$work/said" 2>&1 && { echo "products without mma pass"; status=1; }
PTX=$work/other.ptx "$PITH_O/tests/cuda/test_device_half" >"$work/said" 2>&1 && { echo "products of f16 without mma pass"; status=1; }
grep 'mma\.sync' "$PITH_O/../cuda/compute_75.ptx" | grep -qv 'm16n8k8\.row\.col\.f32\.f16' && { echo "mma of 8.0 before it"; status=1; }
grep -q 'mma\.sync' "$PITH_O/../cuda/compute_75.ptx" || { echo "no mma of f16 for 7.5"; status=1; }
exit $status
