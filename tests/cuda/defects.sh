#!/bin/sh
# SPDX-License-Identifier: MIT
# Defects of the kinds that device code has - a barrier or wait too few, a bound one off, the wrong lane, shared memory
# that was never written, an unwanted fused multiply-add, use after free - are noticed: defects.txt, defects.py. One of eight
# is planted; make mutate plants all (ALL_DEFECTS).
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
grep -q ' fma ' /proc/cpuinfo 2>/dev/null || { echo "no fused multiply-add here"; exit 77; }
libs=$("$MAKE" -s --eval 'print-libs: ; @echo -Wl,--start-group $(foreach m,$(call visible_to_tests,cuda),$(O)/lib/$(m).a) -Wl,--end-group -lcmocka $(sort $(foreach m,$(call visible_to_tests,cuda),$(LIBS_$(m)))) -lm -lpthread' print-libs) || exit 1
python3 tests/cuda/defects.py tests/cuda/defects.txt "$PITH_O" $libs
