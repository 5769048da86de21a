# SPDX-License-Identifier: MIT
# Benchmarks: each prints its figures; docs/results/ names the command behind each figure.
BENCH_BIN := $(patsubst bench/%.c,$(O)/bench/%,$(wildcard bench/bench_*.c))
$(O)/bench/%.o: MODULE_CFLAGS = -D_GNU_SOURCE= $(CFLAGS_runtime) $(ALL_ROOMS:%=-I%)
$(O)/bench/bench_%: $(O)/bench/bench_%.o $(foreach m,$(LIB_MODULES),$(O)/lib/$(m).a)
	$(Q)$(CC) $(ALL_LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(sort $(call link_libs,cli)) -lm -lpthread -ldl -o $@

.PHONY: bench bench-build
bench-build: $(BENCH_BIN) $(O)/pith
bench: bench-build ## kernels, codec, fully connected layers, networks against their peers
	@for b in $(BENCH_BIN); do echo "== $$b"; $$b || exit 1; done
	@if [ -x $(BUILD)/venv/bin/python ] && [ -d $(PITH_DATA)/models ]; then \
	    $(BUILD)/venv/bin/python bench/networks.py $(O)/pith $(PITH_DATA)/models/imagenet_mobilenet_v2.onnx $(PITH_DATA)/models/imagenet_squeezenet_v1_1.onnx --encoder; fi
