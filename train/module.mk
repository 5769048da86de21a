# SPDX-License-Identifier: MIT
# oneDNN's header (2 or 3) is needed to build; the library itself, of either version, is loaded when
# training starts (dnnl_load.c): nothing links it.
USES_train := model huffman runtime host
DIR_train := train
SRC_train := $(wildcard train/*.c)
ifneq ($(ARCH),x86_64)
SRC_train := $(filter-out %_avx2.c %_avx512.c,$(SRC_train))
endif
CFLAGS_train := -ftree-vectorize
LIBS_train := -ldl
