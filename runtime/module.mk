# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
USES_runtime :=
DIR_runtime := runtime
SRC_runtime := $(wildcard runtime/*.c runtime/ref/*.c)
ifeq ($(ARCH),x86_64)
SRC_runtime += $(wildcard runtime/x86/*.c)
endif
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops.
CFLAGS_runtime := -Iruntime/ref -Iruntime/x86 -ftree-vectorize

USES_host := runtime
DIR_host := runtime/host
SRC_host := $(wildcard runtime/host/*.c)
LIBS_host := -lpthread

# Code that runs once a plan, or on small tensors: built for size. (The kernels, and the operators
# that networks spend their time in, are not.)
COLD_runtime := graph_read validate container weight_read blob plan plan_steps plan_fill alias fuse place run_form \
    op_power op_variadic op_compare op_arg op_gather op_scatter op_top_k op_where op_tile op_one_hot op_trilu \
    op_depth_space op_along_axis op_slice op_pad op_cast op_attr op_conv op_gemm op_matmul op_view op_concat recurrent_product op_loop op_branch region \
    op_requantize op_non_max_suppression op_lp_pool window conv_window adaptive_decode
$(COLD_runtime:%=$(O)/runtime/%.o): FILE_CFLAGS := -Os -fno-tree-vectorize
$(O)/runtime/host/decimal.o $(O)/runtime/host/preprocess.o: FILE_CFLAGS := -Os
