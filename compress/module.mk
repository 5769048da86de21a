# SPDX-License-Identifier: MIT
USES_compress := train measure prune quantize calibrate model huffman runtime host
DIR_compress := compress
SRC_compress := $(wildcard compress/*.c)
LIBS_compress := -ljansson
