# SPDX-License-Identifier: MIT
ROOMS_quantize := quantize quantize/codebook quantize/layer quantize/rewrite quantize/walk
USES_quantize := runtime base numeric model data onnx load measure layers quantize/codebook quantize/layer quantize/rewrite quantize/walk
USES_quantize/codebook := runtime base numeric model data quantize
USES_quantize/layer := runtime base numeric model data quantize
USES_quantize/rewrite := runtime base numeric model data quantize quantize/codebook quantize/layer
USES_quantize/walk := runtime base numeric model data onnx load measure layers quantize quantize/layer quantize/rewrite
# Products of patches and factorisations are loops of unknown length (see runtime/).
CFLAGS_quantize := -ftree-vectorize
