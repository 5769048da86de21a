# SPDX-License-Identifier: MIT
# oneDNN's header is needed to build; the library itself is loaded when training starts
# (dnnl_load.c): nothing links it.
USES_train := model huffman runtime host
DIR_train := train
SRC_train := $(wildcard train/*.c)
ifneq ($(ARCH),x86_64)
SRC_train := $(filter-out %_avx2.c %_avx512.c,$(SRC_train))
endif
CFLAGS_train := -ftree-vectorize
LIBS_train := -ldl

ifeq ($(wildcard $(foreach d,/usr/include /usr/local/include $(subst :, ,$(CPATH)),$(d)/dnnl.h)),)
$(O)/train/backend_dnnl.o $(O)/train/dnnl_load.o: no-dnnl-header
.PHONY: no-dnnl-header
no-dnnl-header:
	@echo "dnnl.h not found: install oneDNN 2.6 (Debian, Ubuntu: libdnnl-dev), or make deps" >&2
	@false
endif
