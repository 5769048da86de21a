# SPDX-License-Identifier: MIT
# Benchmarks: each prints its figures; bench/tables.txt names the command behind each
# table of the documents.
BENCH_BIN := $(patsubst bench/%.c,$(O)/bench/%,$(wildcard bench/bench_*.c))
$(O)/bench/%.o: MODULE_CFLAGS = -D_GNU_SOURCE= $(CFLAGS_runtime) $(INCLUDES)
$(O)/bench/bench_%: $(O)/bench/bench_%.o $(foreach m,$(LIB_MODULES),$(O)/lib/$(m).a)
	$(Q)$(CC) $(ALL_LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(sort $(call link_libs,cli)) -lm -lpthread -ldl -o $@

.PHONY: bench bench-build
bench-build: $(BENCH_BIN) $(O)/pith
bench: ## the tables of figures, and the command of each (bench/run.sh NAME runs one)
	@bench/run.sh
