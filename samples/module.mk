# SPDX-License-Identifier: MIT
# The sample: generated digits, a small network trained on them, the whole pipeline in one command.
$(O)/samples/make_digits: samples/make_digits.c $(O)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< -lpng -lm -o $@

.PHONY: demo
demo: $(O)/pith $(O)/samples/make_digits ## the whole pipeline on the sample, or MODEL= DATA=
	@PITH=$(O)/pith MAKE_DIGITS=$(O)/samples/make_digits DEMO_DIR=$(BUILD)/demo MODEL=$(MODEL) DATA=$(DATA) \
	    LABELS=$(LABELS) samples/demo.sh

.PHONY: mcu wasm
mcu: $(O)/pith $(O)/samples/make_digits ## a network from training to an emulated Cortex-M4F (samples/mcu)
wasm: $(O)/pith $(O)/samples/make_digits ## the runtime for browsers, and a page with LeNet-5 (samples/wasm)
mcu wasm:
	@$(MAKE) --no-print-directory -C samples/$@ PITH=$(abspath $(O)/pith) \
	    MAKE_DIGITS=$(abspath $(O)/samples/make_digits) O=$(abspath $(BUILD)/$@)
