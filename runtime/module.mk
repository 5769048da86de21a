# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
ROOMS_runtime := runtime runtime/contract runtime/core runtime/decode runtime/gate runtime/kernels runtime/kernels/arm runtime/kernels/ref runtime/kernels/x86 runtime/kernels/x86/integer runtime/ops runtime/plan runtime/products
USES_runtime := 
USES_runtime/contract := runtime runtime/core runtime/kernels
USES_runtime/core := runtime
USES_runtime/decode := runtime runtime/contract runtime/core runtime/kernels
USES_runtime/gate := runtime runtime/contract runtime/core runtime/decode runtime/kernels
USES_runtime/kernels := runtime runtime/core runtime/kernels/ref
USES_runtime/kernels/arm := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/kernels/ref := runtime runtime/contract runtime/core runtime/kernels
USES_runtime/kernels/x86 := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/kernels/x86/integer := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/ops := runtime runtime/contract runtime/core runtime/decode runtime/kernels runtime/kernels/ref runtime/products
USES_runtime/plan := runtime runtime/contract runtime/core runtime/decode runtime/gate runtime/kernels runtime/ops runtime/products
USES_runtime/products := runtime runtime/contract runtime/core runtime/decode runtime/kernels runtime/kernels/ref
ROOMS_host := runtime/host
USES_runtime/host := runtime
LIBS_host := -lpthread
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops.
CFLAGS_runtime := -ftree-vectorize

# $(call in_runtime,FILES): patterns of their objects, whatever room they lie in.
in_runtime = $(addprefix $(O)/runtime/%/,$(1:=.o))
# Code that runs once a plan, or once a step without a loop over elements: built for size. The forms of weights
# are, too: filling them waits for the decoder. Everything else,
# operators and decoders too, is built for speed.
ONCE_runtime := bytes graph_parse graph_read validate stats_read container weight_head weight_read blob region \
    plan_init plan_block plan_weights plan_steps segment run_segment pair run_pair lanes plan_fill plan_file plan_describe alias fuse fuse_chain fuse_table place step_inputs layout integer_layout integer_slots integer_op run opts cpu costs kernels kernels_dense kernels_decode kernels_integer kernels_ordered kernels_row kernels_sparse \
    op_attr op_parallel op_loop op_branch op_view codebook_decode huff_table weight_open weight_kind weight_cut row_slices window open text cpu_names \
    run_form run_form_window quad_form rans_table reduced_axes
$(call in_runtime,$(ONCE_runtime)): FILE_CFLAGS := -Os -fno-tree-vectorize
# Pow and Mod: their time is that of one powf or division an element. Weights read row by row: that of the decoders
# they call.
$(call in_runtime,decimal preprocess op_power weight_rows): FILE_CFLAGS := -Os
# Calls of kernels: what loops over elements is in these.
$(call in_runtime,conv_run conv_pair conv_tiles conv_direct conv_sparse conv_winograd integer_winograd product_tiles \
    product_quads product_form integer_chain byte_table op_attention broadcast): FILE_CFLAGS := -Os
# What these take is little beside the layers before them.
$(call in_runtime,op_arg op_resize op_grid_sample op_along_axis op_scatter op_top_k op_one_hot op_lp_pool op_lrn op_non_max_suppression \
    op_matmul_integer): FILE_CFLAGS := -Os
# References of kernels that every CPU of today has a wide variant of, and products that run beside those alone.
$(call in_runtime,byte_rows row_f32 activate conv_f32 gemm_i8 integer_direct op_conv_integer): FILE_CFLAGS := -Os -fno-tree-vectorize
# Where its loops begin decides over 5 %, and not where a linker happens to put the function.
$(call in_runtime,gemm_f32_avx512): FILE_CFLAGS := -falign-functions=64 -falign-loops=32
# Loops around copies of whole rows.
$(call in_runtime,op_gather op_pad op_tile op_slice op_concat): FILE_CFLAGS := -Os
# Calls of kernels around short loops; one short loop for each of many functions.
$(call in_runtime,op_recurrent op_unary op_compare op_variadic elementary_f32): FILE_CFLAGS := -fno-tree-vectorize
