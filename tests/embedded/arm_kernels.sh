#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels of AArch64 under emulation, floats, integers and entropy decoders, those of integers on a CPU
# with dot products and i8mm, and on one without: the tests of the kernels, of operators and of networks, and that the
# latter CPU has not got what it lacks. The reference's integers on Armv7.
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null ||
    { echo "no aarch64-linux-gnu-gcc or qemu-aarch64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
. tests/build/runtime_files.inc
cc="aarch64-linux-gnu-gcc -std=c11 -O2 -ffp-contract=off -fno-math-errno -DPITH_BUILD_CPU=0xffffffffu -Iruntime"
objects=
for file in $core runtime/kernels/arm/*.c huffman/*.c; do
    object=$work/$(basename "$file" .c).o
    case $file in *_dotprod.c) isa=-march=armv8.2-a+dotprod ;; *_i8mm.c) isa=-march=armv8.2-a+dotprod+i8mm ;; *) isa= ;; esac
    $cc -iquote . -Ihuffman -Wall -Wextra -Werror $isa -c "$file" -o "$object" || exit 1
    objects="$objects $object"
done
aarch64-linux-gnu-ar rcs "$work/runtime.a" $objects || exit 1
status=0
integers="runtime/test_cpu runtime/test_kernels_integer runtime/test_kernels_bytes runtime/test_integer_product runtime/test_integer_network runtime/test_byte_table"
floats="runtime/test_kernels_dense runtime/test_kernels_sparse runtime/test_kernels_row runtime/test_kernel_list
    runtime/test_op_product runtime/test_op_conv runtime/test_op_compressed runtime/test_op_conv_transpose
    runtime/test_op_recurrent runtime/test_op_attention huffman/test_rans"
for t in $integers $floats; do
    source=tests/$t.c t=$(basename "$t")
    $cc -DCASES=40 -D_GNU_SOURCE -iquote . -Ihuffman -Itests -Itests/embedded/shim -Itests/runtime -static \
        "$source" "$work/runtime.a" -lm -o "$work/$t" || exit 1
    cpus=max # dot products are of integers alone
    case $integers in *$t*) cpus="max cortex-a53" ;; esac
    for cpu in $cpus; do
        qemu-aarch64 -cpu $cpu "$work/$t" >"$work/log" 2>&1 ||
            { echo "$t fails on $cpu"; tail -5 "$work/log"; status=1; }
    done
done
# the same integers by the tiles of Armv7's instructions for signals (integer_tile.h)
if command -v arm-linux-gnueabihf-gcc >/dev/null && command -v qemu-arm >/dev/null; then
    mkdir "$work/v7"
    cc7="arm-linux-gnueabihf-gcc -std=c11 -O2 -ffp-contract=off -fno-math-errno -Iruntime -iquote . -Ihuffman -Wall -Wextra -Werror"
    for file in $core huffman/*.c; do
        $cc7 -c "$file" -o "$work/v7/$(basename "$file" .c).o" || exit 1
    done
    arm-linux-gnueabihf-ar rcs "$work/v7.a" "$work"/v7/*.o || exit 1
    for t in runtime/test_integer_product runtime/test_integer_network; do
        $cc7 -DCASES=40 -D_GNU_SOURCE -Itests -Itests/embedded/shim -Itests/runtime -static "tests/$t.c" "$work/v7.a" \
            -lm -o "$work/test7" || exit 1
        qemu-arm "$work/test7" >"$work/log" 2>&1 || { echo "$t fails on Armv7"; tail -5 "$work/log"; status=1; }
    done
fi
cat >"$work/levels.c" <<'END'
#include <pith_runtime.h>
int main(void)
{
    return (int)(pith_cpu_features() >> 8);
}
END
$cc -static "$work/levels.c" "$work/runtime.a" -o "$work/levels" || exit 1
for cpu in max:7 cortex-a53:1; do
    qemu-aarch64 -cpu ${cpu%:*} "$work/levels"
    [ $? = ${cpu#*:} ] || { echo "levels of ${cpu%:*}: not ${cpu#*:}"; status=1; }
done
exit $status
