# SPDX-License-Identifier: MIT
USES_calibrate := measure model runtime huffman host
DIR_calibrate := calibrate
SRC_calibrate := $(wildcard calibrate/*.c)
ifneq ($(ARCH),x86_64)
SRC_calibrate := $(filter-out %_avx2.c %_avx512.c,$(SRC_calibrate))
endif
# every number of every layer of every sample goes through these
HOT_calibrate := run_sums run_sums_avx2 run_sums_avx512 histogram_count histogram_count_avx2 histogram_count_avx512 grid_choice
$(HOT_calibrate:%=$(O)/calibrate/%.o): FILE_CFLAGS := -O3
