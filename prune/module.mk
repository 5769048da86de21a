# SPDX-License-Identifier: MIT
USES_prune := model runtime huffman host
DIR_prune := prune
SRC_prune := $(wildcard prune/*.c)
