# SPDX-License-Identifier: MIT
USES_calibrate := model runtime huffman host
DIR_calibrate := calibrate
SRC_calibrate := $(wildcard calibrate/*.c)
