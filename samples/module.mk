# SPDX-License-Identifier: MIT
# Generated digits and keywords, and what is trained on them: the whole pipeline in one command.
$(O)/samples/make_digits: samples/make_digits.c samples/generate.h $(O)/flags
$(O)/samples/make_keywords: samples/mcu/make_keywords.c samples/mcu/features.c samples/mcu/features.h samples/generate.h $(O)/flags
$(O)/samples/make_digits $(O)/samples/make_keywords:
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Isamples $(ALL_LDFLAGS) $(filter %.c,$^) -lpng -lm -o $@

.PHONY: demo
demo: $(O)/pith $(O)/samples/make_digits ## the whole pipeline on the sample, or MODEL= DATA=
	@PITH=$(O)/pith MAKE_DIGITS=$(O)/samples/make_digits DEMO_DIR=$(BUILD)/demo MODEL=$(MODEL) DATA=$(DATA) \
	    LABELS=$(LABELS) samples/demo.sh

.PHONY: mcu wasm
mcu: $(O)/pith $(O)/samples/make_keywords ## a keyword spotter from training to an emulated Cortex-M4F (samples/mcu)
wasm: $(O)/pith $(O)/samples/make_digits ## the runtime for browsers, and a page with LeNet-5 (samples/wasm)
mcu wasm:
	@$(MAKE) --no-print-directory -C samples/$@ PITH=$(abspath $(O)/pith) \
	    MAKE_DIGITS=$(abspath $(O)/samples/make_digits) MAKE_KEYWORDS=$(abspath $(O)/samples/make_keywords) \
	    O=$(abspath $(BUILD)/$@)
