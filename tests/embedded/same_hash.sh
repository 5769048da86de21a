#!/bin/sh
# SPDX-License-Identifier: MIT
# Two samples, one of floats with Huffman codes and one of integers, give the same output bits on every
# platform for which there are a compiler and an emulator: Cortex-M0+, M3 (soft float), M4F and M33,
# freestanding; RISC-V of 32 bits without floats, freestanding, and of 64; AArch64, armhf, i686, wasm32,
# and s390x, which is big-endian. AArch64, armhf and wasm32 run integers with vectors, too, AArch64 with and
# without dot products.
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
here=tests/embedded
tests/fresh_digits.sh "$work/digits.onnx" && "$PITH_O/samples/make_digits" "$work/d" 64 1 &&
    "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 --for size -q -o "$work/floats.pith" &&
    "$PITH" quantize "$work/digits.onnx" -d "$work/d/train-images-idx3-ubyte" --weights 4 -q -o "$work/q.pith" &&
    "$PITH" encode "$work/q.pith" -q -o "$work/integers.pith" || exit 1
. $here/objects.inc
for net in floats integers; do
    image_of "$work/$net.pith" >"$work/$net.c"
done
status=0
has() { # programs...
    for p in "$@"; do command -v "$p" >/dev/null || return 1; done
}
# platform NAME "COMPILER FLAGS" "LINKER'S FLAGS AND FILES" EMULATOR...: compiles the core once
platform() {
    name=$1 cc="$2 ${optimized:-$light}" link=$3
    shift 3
    [ -n "$objects" ] || objects_of "$name" "$cc"
    for net in ${nets:-floats integers}; do
        $cc "$work/$net.c" $here/output_hash.c $link $objects -Wl,--gc-sections $libraries -o "$work/$name.$net" ||
            exit 1
        hash=$(timeout 120 "$@" "$work/$name.$net" 2>&1)
        [ "$name" = host ] && eval "expected_$net=\$hash"
        eval "expected=\$expected_$net"
        [ "$hash" = "$expected" ] || { echo "$name, $net: output hash '$hash', x86-64 has '$expected'"; status=1; }
    done
    tried="$tried $name" objects=
}
# x86-64: the reference of the library that is tested
objects=$PITH_O/libpith-runtime.a libraries=-lpthread
platform host "${CC:-gcc}" $here/hosted_print.c env
libraries=
cortex() { # name board "flags" [linker's flags]
    libraries=-lgcc platform "$1" "arm-none-eabi-gcc -mthumb -mcpu=$3 -ffreestanding" \
        "-nostdlib -T samples/mcu/mps2.ld $4 samples/mcu/start.c samples/mcu/memory.c" qemu-system-arm -M "$2" -nographic \
        -monitor none -serial none -semihosting-config enable=on,target=native -kernel
}
optimized=$lightest cortex cortex-m0+ mps2-an385 cortex-m0plus
optimized=$lightest cortex cortex-m3 mps2-an385 cortex-m3
optimized=$flags cortex cortex-m4f mps2-an386 "cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
cortex cortex-m33 mps2-an505 "cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" \
    "-Wl,--defsym=flash=0x10000000,--defsym=ram=0x38000000"
# this compiler comes without a libc
mkdir "$work/include"
{ echo '#include <stddef.h>' && grep -E '^(void \*mem|int memcmp).*;$' samples/mcu/memory.c; } >"$work/include/string.h"
has riscv64-unknown-elf-gcc qemu-riscv32 &&
    optimized=$lightest libraries=-lgcc platform rv32 "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -ffreestanding -I$work/include" \
        "-nostdlib -Wl,-z,separate-code $here/riscv_start.c samples/mcu/memory.c" qemu-riscv32
linux() { # name emulator "compiler's flags" ["flags of hosted_print.c"]
    has "$1-gcc" "qemu-$2" &&
        platform "$1" "$1-gcc $3" "-static $4 $here/hosted_print.c" "qemu-$2"
}
linux riscv64-linux-gnu riscv64
linux arm-linux-gnueabihf arm
optimized=$lightest linux i686-linux-gnu i386 "-msse2 -mfpmath=sse"
# gcc with strict C11 would compute floats in double there
linux s390x-linux-gnu s390x -fexcess-precision=fast
node="node --no-warnings $here/run_wasi.mjs"
if has clang wasm-ld node && [ -d /usr/include/wasm32-wasi ]; then
    optimized=$lightest platform wasm32 "clang --target=wasm32-wasi" $here/hosted_print.c $node
    vectors_of wasm
    nets=integers optimized=$vector_flags \
        platform wasm32-simd128 "$wasm_simd128" "-DCPU_MASK=PITH_CPU_NEON $here/hosted_print.c" $node
fi
optimized=$vector_flags
if has aarch64-linux-gnu-gcc qemu-aarch64; then
    vectors_of aarch64
    vectors=$objects
    linux aarch64-linux-gnu aarch64
    nets=integers
    for levels in PITH_CPU_NEON "PITH_CPU_NEON|PITH_CPU_DOTPROD" "PITH_CPU_NEON|PITH_CPU_DOTPROD|PITH_CPU_I8MM"; do
        objects=$vectors
        linux aarch64-linux-gnu aarch64 "" "-DCPU_MASK=($levels)"
    done
fi
if has arm-linux-gnueabihf-gcc qemu-arm; then
    vectors_of armhf
    nets=integers linux arm-linux-gnueabihf arm "" -DCPU_MASK=PITH_CPU_NEON
fi
echo "one hash:$tried"
exit $status
