# SPDX-License-Identifier: MIT
USES_cli := compress train measure prune quantize calibrate model huffman runtime host
DIR_cli := cli
SRC_cli := $(wildcard cli/*.c)
CFLAGS_cli := -Impi
LIBS_cli := -ljansson -ldl
