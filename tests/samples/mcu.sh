#!/bin/sh
# SPDX-License-Identifier: MIT
# samples/mcu in one `make`: trained, quantized, exported and linked without libc, the network classifies pictures on
# an emulated Cortex-M4F. The runtime as one file gives the same classes there, in more flash and RAM.
command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
    { echo "no arm-none-eabi-gcc or qemu-system-arm"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
MAKEFLAGS= ${MAKE:-make} -s -C samples/mcu PITH="$PITH" MAKE_DIGITS="$PITH_O/samples/make_digits" O="$work" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; exit 1; }
[ ! -s "$work/err" ] || { cat "$work/err"; exit 1; }
for program in exported linked; do
    sed -n "/^$program:/,/^flash/p" "$work/out" | grep '^class' >"$work/$program.classes"
done
[ "$(wc -l <"$work/exported.classes")" -eq 20 ] || { echo "not 20 pictures:"; cat "$work/out"; exit 1; }
diff "$work/exported.classes" "$work/linked.classes" || exit 1
awk '/^flash [0-9]/ { flash[++n] = $2; ram[n] = $9; print }
    END { exit !(n == 2 && flash[1] > 20000 && flash[1] < flash[2] && ram[1] > 5000 && ram[1] < ram[2]) }' "$work/out"
