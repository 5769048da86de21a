# SPDX-License-Identifier: MIT
# Accuracy, differences and time of models, always through the runtime.
USES_measure := model runtime huffman host
DIR_measure := measure
SRC_measure := $(wildcard measure/*.c)
