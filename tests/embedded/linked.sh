#!/bin/sh
# SPDX-License-Identifier: MIT
# The linked runtime on a Cortex-M4F under QEMU, integer networks of the data folder: bytes that
# pith_plan_work_bytes reserves and that a plan needs, instructions of planning and of a run, stack of a run. Held
# against the columns `most`.
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
here=tests/embedded
status=0
complain() { echo "$*"; status=1; }
. $here/objects.inc
cc="arm-none-eabi-gcc -std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Iruntime -mthumb \
    -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffreestanding"
objects_of m4 "$cc"
number() { sed -n "s/^$1 //p" "$work/run"; }
printf '%-22s %8s %8s %12s %12s %12s %6s %6s\n' network work need planning run most stack most
row() { # name most-instructions most-stack [bytes of memory]
    image_of "$work/$1.pith" >"$work/image.c"
    $cc -DMEMORY_LIMIT="${4:-0}" -nostdlib -nostartfiles -Wl,--gc-sections -T $here/mps2.ld samples/mcu/start.c samples/mcu/memory.c \
        $here/linked_main.c "$work/image.c" $objects -lgcc -o "$work/net.elf" || exit 1
    timeout 300 qemu-system-arm -M mps2-an386 -nographic -icount shift=5 -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$work/net.elf" >"$work/run" 2>&1 ||
        { complain "$1: $(cat "$work/run")"; return; }
    run=$(number run) stack=$(number stack)
    printf '%-22s %8s %8s %12s %12s %12s %6s %6s\n' "$1" "$(number work)" "$(number need)" "$(number load)" "$run" "$2" \
        "$stack" "$3"
    [ "$run" -le "$2" ] && [ "$stack" -le "$3" ] || complain "$1: above what it may take"
}
network() { # name "dims"
    "$PITH_VENV/bin/python3" - "$work/in.npy" $2 <<'END' || { echo "no numpy in $PITH_VENV"; exit 77; }
import sys
import numpy as np
rng = np.random.default_rng(1)
np.save(sys.argv[1], rng.normal(size=[8] + [int(d) for d in sys.argv[2:]]).astype(np.float32))
END
    "$PITH" quantize "$PITH_DATA/models/$1.onnx" -d "$work/in.npy" -q -o "$work/$1.pith" || exit 1
}
network tiny_kws_dscnn "1 49 10"
network tiny_ic_resnet8 "3 32 32"
network tiny_ad01_ae 640
row tiny_kws_dscnn 14000000 4056
row tiny_ic_resnet8 55000000 4056
row tiny_ad01_ae 1000000 4056
# coded weights, decoded at each run and, where there is memory, once
"$PITH" encode "$work/tiny_ad01_ae.pith" --coder huffman -q -o "$work/tiny_ad01_coded.pith" || exit 1
row tiny_ad01_coded 13000000 4056
row tiny_ad01_coded 1000000 4056 400000
exit $status
