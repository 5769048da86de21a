#!/bin/sh
# SPDX-License-Identifier: MIT
# The linked runtime on a Cortex-M4F under QEMU, integer networks of the data folder: bytes that
# pith_plan_work_bytes reserves and that a plan needs, instructions of planning and of a run, stack of a run. Held
# against the columns `most`, for planning and the run in instructions, for the working memory in percent of the need.
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
printf '%-22s %8s %8s %5s %10s %10s %10s %10s %6s %6s\n' network work need most planning most run most stack most
row() { # name most-work-percent most-planning most-instructions most-stack [bytes of memory]
    image_of "$work/$1.pith" >"$work/image.c"
    $cc -DMEMORY_LIMIT="${6:-0}" -nostdlib -nostartfiles -Wl,--gc-sections -T samples/mcu/mps2.ld samples/mcu/start.c samples/mcu/memory.c \
        $here/linked_main.c "$work/image.c" $objects -lgcc -o "$work/net.elf" || exit 1
    timeout 300 qemu-system-arm -M mps2-an386 -nographic -icount shift=5 -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$work/net.elf" >"$work/run" 2>&1 ||
        { complain "$1: $(cat "$work/run")"; return; }
    work_bytes=$(number work) need=$(number need) load=$(number load) run=$(number run) stack=$(number stack)
    printf '%-22s %8s %8s %4s%% %10s %10s %10s %10s %6s %6s\n' "$1" "$work_bytes" "$need" "$2" "$load" "$3" "$run" "$4" \
        "$stack" "$5"
    [ $((100 * work_bytes)) -le $((need * $2)) ] && [ "$load" -le "$3" ] && [ "$run" -le "$4" ] && [ "$stack" -le "$5" ] ||
        complain "$1: above what it may take"
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
row tiny_kws_dscnn 150 2000000 12000000 1024
row tiny_ic_resnet8 150 3000000 38000000 1024
row tiny_ad01_ae 240 5000000 1000000 1024
# coded weights, decoded at each run and, where there is memory, once
"$PITH" encode "$work/tiny_ad01_ae.pith" --coder huffman -q -o "$work/tiny_ad01_coded.pith" || exit 1
row tiny_ad01_coded 240 14000000 6200000 1024
row tiny_ad01_coded 240 14000000 1000000 1024 400000
exit $status
