# SPDX-License-Identifier: MIT
# Rate and distortion: what a layer's weights may be changed into for the least of error + lambda *
# bits, layer by layer.
ROOMS_rd := rd
USES_rd := runtime host base numeric model data onnx pack load measure layers prune
# Products of patches and factorisations are loops of unknown length (see runtime/).
CFLAGS_rd := $(VECTORIZED)
