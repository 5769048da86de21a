#!/bin/sh
# SPDX-License-Identifier: MIT
# Core and reference kernels compile freestanding for Cortex-M3 and M4F without a warning.
command -v arm-none-eabi-gcc >/dev/null || { echo "no arm-none-eabi-gcc"; exit 77; }
. tests/build/runtime_files.inc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
for cpu in "-mcpu=cortex-m3" "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"; do
    for file in $core; do
        arm-none-eabi-gcc -std=c11 -Os -mthumb $cpu -ffreestanding -Wall -Wextra -Werror \
            -ffp-contract=off -Iruntime -c "$file" -o "$work/o" || exit 1
    done
done
