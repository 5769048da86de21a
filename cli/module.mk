# SPDX-License-Identifier: MIT
USES_cli := compress train measure prune quantize calibrate model huffman runtime host
DIR_cli := cli
SRC_cli := $(wildcard cli/*.c)
LIBS_cli := -ljansson
