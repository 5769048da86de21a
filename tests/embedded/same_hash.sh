#!/bin/sh
# SPDX-License-Identifier: MIT
# The compressed sample gives the same output bits on x86-64 (reference kernels), AArch64, s390x (which
# is big-endian) and i686 where there are cross compilers, Cortex-M3 (soft float) and Cortex-M4F; the
# last two freestanding under QEMU. Quantized, it gives those of the reference on NEON's kernels, with
# and without dot products.
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
here=tests/embedded
tests/fresh_digits.sh "$work/digits.onnx" && "$PITH" compress "$work/digits.onnx" --sparsity 0.6 --bits 4 --for size -q -o "$work/net.pith" || exit 1
image() { # of the network FILE
    cat > "$work/image.S" <<EOF
    .section .rodata
    .global model_image, model_image_bytes
    .balign 64
model_image:
    .incbin "$1"
model_image_end:
    .balign 4
model_image_bytes:
    .4byte model_image_end - model_image
EOF
}
image "$work/net.pith"
. tests/build/runtime_files.inc
flags="-std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Iruntime"

expect() { # the hash here
    ${CC:-gcc} $flags -Wl,-z,noexecstack "$work/image.S" $here/output_hash.c $here/hosted_main.c \
        "$PITH_O/libpith-runtime.a" -lpthread -o "$work/host" && expected=$("$work/host") || exit 1
}
expect
status=0
compare() {
    if [ "$2" != "$expected" ]; then
        echo "$1: output hash '$2', x86-64 has '$expected'"
        status=1
    fi
}
cortex() { # name board flags
    arm-none-eabi-gcc $flags $3 -mthumb -ffreestanding -nostdlib -ffunction-sections -fdata-sections \
        -Wl,--gc-sections -T $here/mps2.ld $here/cortex_m_start.c $here/output_hash.c "$work/image.S" \
        $core -lgcc -o "$work/$1.elf" || exit 1
    compare "$1" "$(timeout 120 qemu-system-arm -M "$2" -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$work/$1.elf" 2>&1)"
}
cortex cortex-m3 mps2-an385 "-mcpu=cortex-m3"
cortex cortex-m4f mps2-an386 "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
linux() { # architecture emulator flags
    command -v "$1-linux-gnu-gcc" >/dev/null && command -v "qemu-$2" >/dev/null || return
    "$1-linux-gnu-gcc" $flags $3 -static -Wl,-z,noexecstack "$work/image.S" $here/output_hash.c \
        $here/hosted_main.c $core -o "$work/$1" || exit 1
    compare "$1" "$("qemu-$2" "$work/$1")"
}
reference=$core
# The core with the kernels of AArch64, compiled once.
arm_objects=
command -v aarch64-linux-gnu-gcc >/dev/null && for file in $core runtime/kernels/arm/*.c; do
    case $file in *_dotprod.c) isa=-march=armv8.2-a+dotprod ;; *) isa= ;; esac
    object=$work/$(basename "$file" .c).o
    aarch64-linux-gnu-gcc $flags -DPITH_BUILD_CPU=0xffffffffu $isa -c "$file" -o "$object" || exit 1
    arm_objects="$arm_objects $object"
done
arm() { # flags of hosted_main.c
    core=$arm_objects
    linux aarch64 aarch64 "$1"
    core=$reference
}
arm
# big-endian; gcc, asked for C11 to the letter, would compute floats in double there
linux s390x s390x -fexcess-precision=fast
linux i686 i386 "-msse2 -mfpmath=sse"
"$PITH_O/samples/make_digits" "$work/d" 64 1 &&
    "$PITH" quantize "$work/digits.onnx" -d "$work/d/train-images-idx3-ubyte" --weights 4 -q -o "$work/q.pith" &&
    "$PITH" encode "$work/q.pith" -q -o "$work/integers.pith" || exit 1
image "$work/integers.pith"
expect
arm -DCPU_MASK=PITH_CPU_NEON
arm "-DCPU_MASK=(PITH_CPU_NEON|PITH_CPU_DOTPROD)"
exit $status
