# SPDX-License-Identifier: MIT
USES_huffman := runtime
DIR_huffman := huffman
SRC_huffman := $(wildcard huffman/*.c)
