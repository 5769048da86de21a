# SPDX-License-Identifier: MIT
USES_quantize := model runtime huffman host
DIR_quantize := quantize
SRC_quantize := $(wildcard quantize/*.c)
# Products of patches and factorisations are loops of unknown length (see runtime/).
CFLAGS_quantize := -ftree-vectorize
