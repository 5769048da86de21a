# SPDX-License-Identifier: MIT
# One layer of a network at a time, over all samples: what comes in, sums of it, its weights onto integers.
ROOMS_layers := layers
USES_layers := runtime host base numeric model data onnx pack load measure
# Sums of products are loops of unknown length (see runtime/).
CFLAGS_layers := $(VECTORIZED)
