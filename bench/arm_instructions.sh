#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/arm_instructions.sh [NET.pith...]: how many instructions of AArch64 the reference and the NEON kernels take for
# an element, and for an inference of each network: counted under QEMU, as the difference of 11 runs and 1. A count is
# no time; costs.c of machines that were not measured rests on it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
. tests/build/runtime_files.inc
cc="aarch64-linux-gnu-gcc -std=c11 -O2 -ftree-vectorize -ffp-contract=off -fno-math-errno $(echo $core_includes)"
${CC:-gcc} -O2 -shared -fPIC bench/studies/qemu_instructions.c -o "$work/count.so" || exit 1
for file in $core runtime/kernels/arm/*.c; do
    case $file in
    *_dotprod.c) isa=-march=armv8.2-a+dotprod ;;
    */ref/row_f32.c) isa="-Os -fno-tree-vectorize" ;; # as the Makefile has it
    *) isa= ;;
    esac
    $cc $isa -c "$file" -o "$work/$(basename "$file" .c).o" || exit 1
done
$cc -D_GNU_SOURCE -Ibench -static bench/studies/arm_instructions.c "$work"/*.o -lm -o "$work/run" || exit 1

instructions() { # LEVEL RUNS WHAT...
    qemu-aarch64 -d plugin -D "$work/log" -plugin "$work/count.so" "$work/run" "$@" >"$work/said" || exit 1
    awk '/^instructions/ {print $2}' "$work/log"
}
line() { # NAME WHAT...
    name=$1
    shift
    for level in 0 1; do
        one=$(instructions $level 1 "$@") && eleven=$(instructions $level 11 "$@") || exit 1
        echo "$one $eleven $(awk '{print $2}' "$work/said")"
    done | awk -v name="$name" '{n[NR] = ($2 - $1) / 10 / $3}
        END {printf "%-26s %14.2f %14.2f %8.1f\n", name, n[1], n[2], n[1] / n[2]}'
}
printf '%-26s %14s %14s %8s\n' "" reference NEON ratio
line "dense f32, 1 row" product -1 1 100 256
line "dense f32, 16 rows" product -1 16 100 256
line "4 bits" product 3 1 100 16
line "5 bits" product 4 1 100 32
line "8 bits" product 5 1 100 256
line "10 %, f32 values" product 0 1 10 32
line "10 %, codebook of 32" product 1 1 10 32
line "10 %, 4 rows" product -2 4 10 32
line "10 %, 16 rows" product -2 16 10 32
for row in exp tanh sigmoid gelu softmax layer-norm; do
    line "$row" row $row
done
for net in "$@"; do
    line "$(basename "$net" .pith)" network "$net"
done
