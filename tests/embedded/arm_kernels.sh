#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels of AArch64 under emulation, integers and entropy decoders, on a CPU with dot products and
# on one without: the tests of the kernels and of networks, and that the latter CPU is not told to have
# what it lacks.
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null ||
    { echo "no aarch64-linux-gnu-gcc or qemu-aarch64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
. tests/build/runtime_files.inc
cc="aarch64-linux-gnu-gcc -std=c11 -O2 -ffp-contract=off -fno-math-errno $(echo $core_includes)"
objects=
for file in $core runtime/kernels/arm/*.c huffman/*.c; do
    object=$work/$(basename "$file" .c).o
    case $file in *_dotprod.c) isa=-march=armv8.2-a+dotprod ;; *) isa= ;; esac
    $cc -Ihuffman -Wall -Wextra -Werror $isa -c "$file" -o "$object" || exit 1
    objects="$objects $object"
done
aarch64-linux-gnu-ar rcs "$work/runtime.a" $objects || exit 1
status=0
for t in runtime/test_cpu runtime/test_kernels_integer runtime/test_integer_product runtime/test_integer_network \
    huffman/test_rans huffman/test_context; do
    source=tests/$t.c t=$(basename "$t")
    $cc -DCASES=40 -D_GNU_SOURCE -Ihuffman -Itests -Itests/embedded/shim -Itests/runtime -static \
        "$source" "$work/runtime.a" -lm -o "$work/$t" || exit 1
    # (dot products are of integers alone)
    cpus="max cortex-a53"
    case $t in test_rans | test_context) cpus=max ;; esac
    for cpu in $cpus; do
        qemu-aarch64 -cpu $cpu "$work/$t" >"$work/log" 2>&1 ||
            { echo "$t fails on $cpu"; tail -5 "$work/log"; status=1; }
    done
done
cat >"$work/levels.c" <<'END'
#include <pith_runtime.h>
int main(void)
{
    return (int)(pith_cpu_features() >> 8);
}
END
$cc -static "$work/levels.c" "$work/runtime.a" -o "$work/levels" || exit 1
for cpu in max:3 cortex-a53:1; do
    qemu-aarch64 -cpu ${cpu%:*} "$work/levels"
    [ $? = ${cpu#*:} ] || { echo "levels of ${cpu%:*}: not ${cpu#*:}"; status=1; }
done
exit $status
