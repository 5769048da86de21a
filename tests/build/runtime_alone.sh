#!/bin/sh
# SPDX-License-Identifier: MIT
# A copy of runtime/ builds by itself: one command compiles every file outside the folders of instruction sets, a
# program with them opens and runs a network, and so it does with AVX2's kernels added, where the CPU has them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cp -r runtime tests/embedded/resident.c "$work" && tests/fresh_digits.sh "$work/digits.onnx" &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 -q -o "$work/digits.pith" && cd "$work" || exit 1
cc=${CC:-cc}
$cc -Iruntime -O2 -c $(find runtime -name '*.c' ! -path '*/x86/*' ! -path '*/arm/*') &&
    $cc -Iruntime -O2 resident.c *.o -lm -lpthread -o alone && ./alone digits.pith || exit 1
grep -qw avx2 /proc/cpuinfo || exit 0
$cc -Iruntime -O2 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt -c $(find runtime/kernels/x86 -name '*_avx2.c') &&
    $cc -Iruntime -O2 -DPITH_BUILD_CPU=1 -c $(grep -rl build_choice.h runtime --include='*.c') &&
    $cc -Iruntime -O2 resident.c *.o -lm -lpthread -o with_avx2 && ./with_avx2 digits.pith || exit 1
nm with_avx2 | grep -q 'pith_gemm_f32_avx2$' || { echo "AVX2's kernels are not in the program"; exit 1; }
nm alone | grep '_avx2$' && { echo "kernels of AVX2 were compiled without its flags"; exit 1; }
exit 0
