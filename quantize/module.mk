# SPDX-License-Identifier: MIT
USES_quantize := model runtime huffman host
DIR_quantize := quantize
SRC_quantize := $(wildcard quantize/*.c)
