#!/bin/sh
# SPDX-License-Identifier: MIT
# What an entry of a compressed product costs in the machine code of each device, against sass.txt: relative index at most 7.5
# instructions, an element of 4-bit codes at most 3, none more than 5 % above the list. UPDATE=1 writes the list anew, of the devices that were built.
nvcc=$("$MAKE" -s --eval 'print-nvcc: ; @echo $(NVCC)' print-nvcc)
[ -n "$nvcc" ] || { echo "no nvcc"; exit 77; }
disassembler=$(command -v nvdisasm || ls "$(dirname "$nvcc")/nvdisasm" "$PITH_VENV"/lib/python3*/site-packages/nvidia/*/bin/nvdisasm 2>/dev/null | head -1)
[ -n "$disassembler" ] || { echo "no nvdisasm (make deps-test installs it where nvcc is)"; exit 77; }
list=tests/cuda/sass.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
status=0
if [ -n "$UPDATE" ]; then python3 tests/cuda/sass.py "$disassembler" - "$PITH_O"/../cuda/sm_*.cubin >"$list" || exit 1; fi
python3 tests/cuda/sass.py "$disassembler" "$list" "$PITH_O"/../cuda/sm_*.cubin || status=1

# Kernels that grew are reported: one instruction more for each number, or byte of codes, that is read.
flags=$("$MAKE" -s --eval 'print-flags: ; @echo $(CUDA_FLAGS)' print-flags)
cp -r cuda/kernels "$work/cuda"
sed 's/(const char \*)base + bytes)/(const char *)base + (bytes ^ 4u))/' cuda/kernels/sparse.cu >"$work/cuda/sparse.cu"
cmp -s cuda/kernels/sparse.cu "$work/cuda/sparse.cu" && { echo "nothing planted"; status=1; }
sed -i 's/pick_bytes(word, copy, /pick_bytes(word ^ 77u * (i + 1), copy, /' "$work/cuda/codes.cu"
grep -q '77u' "$work/cuda/codes.cu" || { echo "nothing planted in codes.cu"; status=1; }
printf '#include "product.cu"\n#include "sparse.cu"\n#include "codes.cu"\n' >"$work/cuda/planted.cu"
"$nvcc" -I"$work/cuda" $flags -cubin -arch=sm_90 "$work/cuda/planted.cu" -o "$work/sm_90.cubin" || status=1
python3 tests/cuda/sass.py "$disassembler" "$list" "$work/sm_90.cubin" >"$work/said" && { echo "a dearer loop passes"; status=1; }
grep -q '^sm_90 spmv_relative.4: .* more than 7.5$' "$work/said" && grep -q '^sm_90 gemv_codes.4: .* were listed$' "$work/said" || { cat "$work/said"; status=1; }
exit $status
