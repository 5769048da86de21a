#!/bin/sh
# SPDX-License-Identifier: MIT
# What the runtime adds to a program that is linked with it stays within the budgets of link_budget.txt, for builds
# with everything and for builds with one network's operators (runtime/core/build_choice.h). The latter give the
# bits that the former give, and refuse other networks.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
table=tests/build/link_budget.txt
here=tests/embedded
status=0
. tests/build/runtime_files.inc
flags="-std=c11 -ffp-contract=off -fno-math-errno -Iruntime"
# The files that read build_choice.h take the place of the archive's.
choice=$(grep -l '"core/build_choice.h"' $core)

"$PITH_O/samples/make_digits" "$work/d" 64 1 && tests/fresh_digits.sh "$work/digits.onnx" &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 --for size -q -o "$work/digits.pith" &&
    "$PITH" quantize "$work/digits.onnx" -d "$work/d/train-images-idx3-ubyte" -q -o "$work/int8.pith" &&
    "$PITH" encode "$work/int8.pith" --for flash -q -o "$work/flash.pith" || exit 1
for net in digits int8 flash; do
    printf '%s\n' '.section .rodata' '.global model_image, model_image_bytes' '.balign 64' 'model_image:' \
        ".incbin \"$work/$net.pith\"" 'model_image_end:' '.balign 4' 'model_image_bytes:' \
        '.4byte model_image_end - model_image' >"$work/$net.S"
    "$PITH" info "$work/$net.pith" --build >"$work/$net.flags" || exit 1
done

# bytes SIZE FILE: of text and data
bytes() { $1 "$2" | awk 'END {print $1 + $2}'; }
# Budgets are those of gcc 12; gcc 14 makes up to 4.1 % more of the same files.
more=5
[ "$(${CC:-gcc} -dumpversion | cut -d. -f1)" != 12 ] || more=0
# hold NAME BYTES
hold() {
    budget=$(awk -v name="$1" -v more=$more '$1 == name {print $2 + int($2 * more / 100)}' $table)
    printf '%-16s %7d of %7d\n' "$1" "$2" "$budget"
    [ "$2" -le "${budget:-0}" ] || { echo "$1: over its budget ($table)"; status=1; }
}

echo 'int main(void) { return 0; }' >"$work/nothing.c"
native="${CC:-gcc} $flags -O2 -Wl,--gc-sections -Wl,-z,noexecstack"
# host NAME NETWORK DEFINES [FILES...]: links, and counts what the runtime adds
host() {
    name=$1 net=$2 defines=$3
    shift 3
    $native $defines "$work/$net.S" $here/output_hash.c $here/hosted_print.c "$@" \
        "$PITH_O/libpith-runtime.a" -lpthread -o "$work/$name" || exit 1
    hold "$name" $(($(bytes size "$work/$name") - $(bytes size "$work/nothing") - $(wc -c <"$work/$net.pith")))
}
$native "$work/nothing.c" -o "$work/nothing" || exit 1
host x86-64-all digits ""
host x86-64-avx2 digits -DPITH_BUILD_CPU=1 $choice
host x86-64-ref digits -DPITH_BUILD_CPU=0 $choice
host x86-64-digits digits "-DPITH_BUILD_CPU=0xffffffffu $(cat "$work/digits.flags")" $choice
wanted=$("$work/x86-64-all")
for name in x86-64-avx2 x86-64-ref x86-64-digits; do
    [ "$("$work/$name")" = "$wanted" ] || { echo "$name: other bits than the full build"; status=1; }
done
# build FILE PROGRAM [DEFINES CHOICE]: one whose size is not looked at
build() {
    $native -O1 $3 "$work/$1.S" $here/output_hash.c $here/hosted_print.c $4 "$PITH_O/libpith-runtime.a" -lpthread \
        -o "$work/$2" || exit 1
}
chosen() { echo "-DPITH_BUILD_CPU=0xffffffffu $(cat "$work/$1.flags")"; }
for net in int8 flash; do
    build $net whole
    build $net parts "$(chosen $net)" "$choice"
    [ "$("$work/parts")" = "$("$work/whole")" ] || { echo "$net: other bits than the full build"; status=1; }
done
# refuses NETWORK FILE: a build for a network refuses a file with another operator or part
refuses() {
    build "$2" refuses "$(chosen "$1")" "$choice"
    "$work/refuses"
    [ $? -eq 1 ] || { echo "a build for $1 did not refuse $2"; status=1; }
}
refuses digits int8
refuses int8 flash # codes
refuses flash int8 # names

command -v arm-none-eabi-gcc >/dev/null || { echo "no arm-none-eabi-gcc: Cortex-M4F was not looked at"; exit $status; }
# m4 NAME NETWORK
m4() {
    arm-none-eabi-gcc $flags -Os $(cat "$work/$2.flags") -mthumb -mcpu=cortex-m4 -mfloat-abi=hard \
        -mfpu=fpv4-sp-d16 -ffreestanding -nostdlib -ffunction-sections -fdata-sections -Wl,--gc-sections \
        -T samples/mcu/mps2.ld samples/mcu/start.c samples/mcu/memory.c $here/output_hash.c "$work/$2.S" $core \
        -lgcc -o "$work/$1" || exit 1
    hold "$1" $(($(bytes arm-none-eabi-size "$work/$1") - $(wc -c <"$work/$2.pith")))
}
m4 m4-digits digits
m4 m4-digits-int8 int8
m4 m4-digits-flash flash
exit $status
