# SPDX-License-Identifier: MIT
# The mathematics that more than one stage stands on. What is decided from its sums is the same on
# every machine: their order is fixed.
ROOMS_numeric := numeric
USES_numeric := runtime base
# Products of rows and factorisations are loops of unknown length (see runtime/).
CFLAGS_numeric := $(VECTORIZED)
