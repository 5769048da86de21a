# SPDX-License-Identifier: MIT
ROOMS_quantize := quantize quantize/codebook quantize/layer quantize/transform quantize/round
USES_quantize := runtime base numeric model data onnx load measure layers quantize/codebook quantize/layer quantize/transform quantize/round
USES_quantize/codebook := runtime base numeric model data quantize
USES_quantize/layer := runtime base numeric model data quantize
USES_quantize/transform := runtime base numeric model data quantize quantize/codebook quantize/layer
USES_quantize/round := runtime base numeric model data onnx load measure layers quantize quantize/layer quantize/transform
# Products of patches and factorisations are loops of unknown length (see runtime/).
CFLAGS_quantize := $(VECTORIZED)
