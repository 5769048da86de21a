#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels under AddressSanitizer and UndefinedBehaviorSanitizer: test_device_ops, _weights, _half, _attention, _huffman, _integers and _rows with their
# emulator compiled so; each kernel there is (limits.txt) runs in at least four orders of lanes and blocks. These take turns from case
# to case: what a case reads and writes does not depend on the order, unless its values do, which the unsanitized tests notice.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
libs=$("$MAKE" -s --eval 'print-libs: ; @echo -Wl,--start-group $(foreach m,$(call visible_to_tests,cuda),$(O)/lib/$(m).a) -Wl,--end-group -lcmocka $(sort $(foreach m,$(call visible_to_tests,cuda),$(LIBS_$(m)))) -lm -lpthread' print-libs) || exit 1
flags='-O1 -g -w -D_GNU_SOURCE -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=undefined'
includes='-iquote . -Itests -Itests/cuda -Icuda -Icuda/kernels -Iruntime'
for part in emu emu_kernels ptx_launch ptx_read ptx_run; do
    ${CC:-cc} -std=c11 $flags $includes -c tests/cuda/$part.c -o "$work/$part.o" || exit 1
done
# without tensor cores, as before compute capability 8.0
${CC:-cc} -std=c11 $flags -DEMU_NO_MMA $includes -c tests/cuda/emu_kernels.c -o "$work/without.mma" || exit 1
export EMU_LAUNCHED="$work/launched" ORDERS_IN_TURN=1
for cases in ops weights half attention huffman integers rows; do
    ${CC:-cc} $flags "$work"/*.o "$PITH_O/tests/cuda/test_device_$cases.o" $libs -o "$work/cases" || exit 1
    # Fibers have stacks of their own.
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 "$work/cases" || exit 1
done
missing=$(awk 'FILENAME == ARGV[1] {orders[$1] += !(($1, $2) in ran); ran[$1, $2] = 1; next}
    !/^#/ && orders[$2] < 4 && !printed[$2]++ {print $2 ": " orders[$2] + 0 " orders"}' "$EMU_LAUNCHED" tests/cuda/limits.txt)
[ -z "$missing" ] || { echo "$missing"; exit 1; }
# without, the kernels that ask (HAS_MMA in *_tile.cuh)
mv "$work/without.mma" "$work/emu_kernels.o"
ONLY_KERNELS=" $(sed -nE 's/^KERNEL[A-Z_]*\((\w+).*/\1/p' $(grep -l '_tile\.cuh"$' cuda/kernels/*.cu) | tr '\n' ' ')"
export ONLY_KERNELS
for cases in ops half integers; do
    ${CC:-cc} $flags "$work"/*.o "$PITH_O/tests/cuda/test_device_$cases.o" $libs -o "$work/cases" || exit 1
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 "$work/cases" || exit 1
done
