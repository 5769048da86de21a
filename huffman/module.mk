# SPDX-License-Identifier: MIT
ROOMS_huffman := huffman
USES_huffman := runtime
