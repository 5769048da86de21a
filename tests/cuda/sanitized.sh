#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels under AddressSanitizer and UndefinedBehaviorSanitizer: test_device_ops with its emulator compiled so.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
libs=$("$MAKE" -s --eval 'print-libs: ; @echo -Wl,--start-group $(foreach m,$(call seen_by_tests,cuda),$(O)/lib/$(m).a) -Wl,--end-group -lcmocka $(sort $(foreach m,$(call seen_by_tests,cuda),$(LIBS_$(m)))) -lm -lpthread' print-libs) || exit 1
${CC:-cc} -std=c11 -O1 -g -w -D_GNU_SOURCE -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -Itests/cuda -Iruntime -Iruntime/core -Iruntime/kernels -Iruntime/kernels/ref -Iruntime/cuda tests/cuda/emu.c tests/cuda/emu_kernels.c tests/cuda/ptx_*.c \
    "$PITH_O/tests/cuda/test_device_ops.o" $libs -o "$work/ops" || exit 1
# Fibers have stacks of their own.
ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 "$work/ops" || exit 1
