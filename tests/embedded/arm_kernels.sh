#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels of runtime/kernels/arm under emulation, floats, integers and entropy decoders: on AArch64 those of integers
# with dot products and i8mm, and on a CPU without; on Armv7; as WebAssembly's SIMD128. The tests of the kernels, of
# operators and of networks, and that CPUs without an instruction do not report it. The reference's integers on Armv7.
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null ||
    { echo "no aarch64-linux-gnu-gcc or qemu-aarch64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
. tests/embedded/objects.inc
status=0
# archive NAME "COMPILER": $work/NAME.a of $objects and of the encoders; $cc is then the compiler of tests
archive() {
    name=$1 cc="$2 $flags -iquote . -Ihuffman"
    mkdir "$work/$name"
    for f in huffman/*.c; do
        $cache $cc -c "$f" -o "$work/$name/$(basename "$f" .c).o" || exit 1
    done
    $ar rcs "$work/$name.a" $objects "$work/$name"/*.o
}
# tests "TESTS" EMULATOR...: of the archive built last
tests() {
    list=$1
    shift
    for t in $list; do
        program=$work/$name/$(basename "$t")
        [ -x "$program" ] ||
            $cc -O1 -DCASES=40 -D_GNU_SOURCE -Itests -Itests/embedded/shim -Itests/runtime $link "tests/$t.c" "$work/$name.a" -lm \
                -o "$program" || exit 1
        "$@" "$program" >"$work/log" 2>&1 || { echo "$t fails: $name, $*"; tail -5 "$work/log"; status=1; }
    done
}
integers="runtime/test_cpu runtime/test_kernels_integer runtime/test_kernels_bytes"
kernels="$integers runtime/test_integer_product runtime/test_kernels_dense runtime/test_kernels_sparse runtime/test_kernels_row runtime/test_kernel_list
    runtime/test_op_product runtime/test_op_compressed runtime/test_op_recurrent"
link=-static ar=ar
vectors_of aarch64
archive aarch64 "aarch64-linux-gnu-gcc -DPITH_BUILD_CPU=0xffffffffu"
tests "$kernels runtime/test_integer_network runtime/test_byte_table runtime/test_op_conv runtime/test_op_conv_transpose runtime/test_op_attention huffman/test_rans" \
    qemu-aarch64 -cpu max
tests "$integers" qemu-aarch64 -cpu cortex-a53 # dot products are of integers alone
cat >"$work/levels.c" <<'END'
#include <pith_runtime.h>
int main(void)
{
    return (int)(pith_cpu_features() >> 8);
}
END
levels() { # number emulator...
    $cc -static "$work/levels.c" "$work/$name.a" -o "$work/levels" || exit 1
    expected=$1
    shift
    "$@" "$work/levels"
    [ $? = "$expected" ] || { echo "levels of $name, $*: not $expected"; status=1; }
}
levels 7 qemu-aarch64 -cpu max
levels 1 qemu-aarch64 -cpu cortex-a53
if command -v arm-linux-gnueabihf-gcc >/dev/null && command -v qemu-arm >/dev/null; then
    vectors_of armhf
    archive armv7 "arm-linux-gnueabihf-gcc -DPITH_BUILD_CPU=0xffffffffu"
    tests "$kernels" qemu-arm -cpu cortex-a15
    levels 1 qemu-arm -cpu cortex-a15
    # integers by the tiles of its instructions for signals (integer_tile.h)
    objects_of arm-linux-gnueabihf "arm-linux-gnueabihf-gcc $light"
    archive armv7-tiles arm-linux-gnueabihf-gcc
    tests "runtime/test_integer_product runtime/test_integer_network" qemu-arm
fi
if command -v clang >/dev/null && command -v wasm-ld >/dev/null && command -v node >/dev/null &&
    command -v llvm-ar >/dev/null && [ -d /usr/include/wasm32-wasi ]; then
    ar=llvm-ar
    # neither pages nor jumps are there
    mkdir "$work/include"
    : >"$work/include/setjmp.h"
    printf '#include <stdlib.h>\n#include "guard_page.h"\nvoid *device_guard_new(size_t n)\n{\n    return calloc(1, n + 1);\n}\n%s\n' \
        'void device_guard_free(void *p) { free(p); }' >"$work/guard.c"
    link="-I$work/include -D_WASI_EMULATED_MMAN -DGUARD_DEVICE -Wl,-z,stack-size=1048576 $work/guard.c"
    vectors_of wasm
    archive wasm "$wasm_simd128 -DPITH_BUILD_CPU=0xffffffffu"
    tests "$kernels runtime/test_op_conv runtime/test_op_attention" node --no-warnings tests/embedded/run_wasi.mjs
fi
exit $status
