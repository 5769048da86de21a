# SPDX-License-Identifier: MIT
# A model as the bytes of a .pith, and back.
ROOMS_pack := pack
USES_pack := runtime runtime/host base huffman model
LIBS_pack := -ljansson
