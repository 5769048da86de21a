# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
USES_runtime :=
DIR_runtime := runtime
SRC_runtime := $(wildcard runtime/*.c runtime/ref/*.c)
ifeq ($(ARCH),x86_64)
SRC_runtime += $(wildcard runtime/x86/*.c)
endif
ifeq ($(ARCH),aarch64)
SRC_runtime += $(wildcard runtime/arm/*.c)
endif
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops.
CFLAGS_runtime := -Iruntime/ref -Iruntime/x86 -ftree-vectorize

USES_host := runtime
DIR_host := runtime/host
SRC_host := $(wildcard runtime/host/*.c)
LIBS_host := -lpthread

# Code that runs once a plan, or on small tensors: built for size. (The kernels, and the operators
# that networks spend their time in, are not.)
COLD_runtime := graph_read validate stats_read container weight_read blob plan plan_steps plan_fill alias fuse place run_form \
    op_power op_variadic op_compare op_arg op_gather op_scatter op_top_k op_where op_tile op_one_hot op_trilu \
    op_depth_space op_along_axis op_slice op_pad op_cast op_attr op_conv op_gemm op_matmul op_view op_concat recurrent_product op_loop op_branch region \
    step_inputs fuse_chain layout integer_layout integer_op integer_chain op_matmul_integer op_non_max_suppression op_lp_pool window conv_window adaptive_decode \
    op_attention op_conv_transpose op_resize op_normalize op_reduce op_conv_integer op_quantize conv_run codebook_decode \
    huff_table kernels_integer opts broadcast reduced_axes run weight_f32 host/open host/text host/cpu_names
$(COLD_runtime:%=$(O)/runtime/%.o): FILE_CFLAGS := -Os -fno-tree-vectorize
$(O)/runtime/host/decimal.o $(O)/runtime/host/preprocess.o: FILE_CFLAGS := -Os
# References of kernels that every CPU of today has a wide variant of.
$(O)/runtime/ref/byte_rows.o $(O)/runtime/ref/row_f32.o $(O)/runtime/ref/activate.o: FILE_CFLAGS := -Os -fno-tree-vectorize
# Calls of kernels around short loops; one short loop for each of many functions.
$(O)/runtime/op_recurrent.o $(O)/runtime/op_unary.o $(O)/runtime/ref/elementary_f32.o: FILE_CFLAGS := -fno-tree-vectorize
