# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
ROOMS_runtime := runtime runtime/contract runtime/core runtime/decode runtime/gate runtime/kernels runtime/kernels/arm runtime/kernels/ref runtime/kernels/x86 runtime/ops runtime/plan runtime/products
USES_runtime := 
USES_runtime/contract := runtime runtime/core
USES_runtime/core := runtime
USES_runtime/decode := runtime runtime/contract runtime/core runtime/kernels
USES_runtime/gate := runtime runtime/contract runtime/core runtime/decode
USES_runtime/kernels := runtime runtime/contract runtime/core
USES_runtime/kernels/arm := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/kernels/ref := runtime runtime/contract runtime/core runtime/kernels
USES_runtime/kernels/x86 := runtime runtime/contract runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/ops := runtime runtime/contract runtime/core runtime/decode runtime/kernels runtime/kernels/ref runtime/products
USES_runtime/plan := runtime runtime/contract runtime/core runtime/decode runtime/gate runtime/kernels runtime/ops runtime/products
USES_runtime/products := runtime runtime/contract runtime/core runtime/decode runtime/kernels
ROOMS_host := runtime/host
USES_runtime/host := runtime
LIBS_host := -lpthread
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops.
CFLAGS_runtime := -ftree-vectorize

# $(call in_runtime,FILES): patterns of their objects, whatever room they lie in.
in_runtime = $(addprefix $(O)/runtime/%/,$(1:=.o))
# Code that runs once a plan, or on small tensors: built for size. (The kernels, and the operators
# that networks spend their time in, are not.)
COLD_runtime := graph_read validate stats_read container weight_read blob plan plan_steps plan_fill alias fuse place run_form \
    op_power op_variadic op_compare op_arg op_gather op_scatter op_top_k op_where op_tile op_one_hot op_trilu \
    op_depth_space op_along_axis op_slice op_pad op_cast op_attr op_conv op_gemm op_matmul op_view op_concat recurrent_product op_loop op_branch region \
    step_inputs fuse_chain layout integer_layout integer_op integer_chain op_matmul_integer op_non_max_suppression op_lp_pool window conv_window adaptive_decode \
    op_attention op_conv_transpose op_resize op_normalize op_reduce op_conv_integer op_quantize conv_run codebook_decode \
    huff_table kernels_integer opts broadcast reduced_axes run weight_f32 open text cpu_names
$(call in_runtime,$(COLD_runtime)): FILE_CFLAGS := -Os -fno-tree-vectorize
$(call in_runtime,decimal preprocess): FILE_CFLAGS := -Os
# References of kernels that every CPU of today has a wide variant of.
$(call in_runtime,byte_rows row_f32 activate): FILE_CFLAGS := -Os -fno-tree-vectorize
# Calls of kernels around short loops; one short loop for each of many functions.
$(call in_runtime,op_recurrent op_unary elementary_f32): FILE_CFLAGS := -fno-tree-vectorize
