/* SPDX-License-Identifier: MIT */
/* op_list.h - the op_info of every operator, each defined in the file of its family. */
#ifndef OP_LIST_H
#define OP_LIST_H

#include "op_interface/op_info.h"

/* op_conv.c, op_gemm.c, op_matmul.c */
extern const struct op_info pith_op_conv, pith_op_gemm, pith_op_matmul;
/* op_binary.c */
extern const struct op_info pith_op_add, pith_op_sub, pith_op_mul, pith_op_div, pith_op_prelu;
/* op_activation.c */
extern const struct op_info pith_op_relu, pith_op_leaky_relu, pith_op_clip, pith_op_sigmoid,
    pith_op_tanh, pith_op_hard_sigmoid, pith_op_hard_swish;
/* op_softmax.c */
extern const struct op_info pith_op_softmax, pith_op_log_softmax;
/* op_pool.c, op_global_pool.c, op_lp_pool.c */
extern const struct op_info pith_op_max_pool, pith_op_average_pool, pith_op_global_max_pool,
    pith_op_global_average_pool, pith_op_lp_pool;
/* op_batch_norm.c, op_lrn.c */
extern const struct op_info pith_op_batch_norm, pith_op_lrn;
/* op_concat.c (with split), op_slice.c, op_transpose.c, op_pad.c */
extern const struct op_info pith_op_concat, pith_op_split, pith_op_slice, pith_op_transpose,
    pith_op_pad;
/* op_view.c */
extern const struct op_info pith_op_squeeze, pith_op_unsqueeze, pith_op_reshape, pith_op_flatten,
    pith_op_identity;
/* op_cast.c, op_reduce_mean.c, op_resize.c */
extern const struct op_info pith_op_cast, pith_op_reduce_mean, pith_op_resize;
/* op_gather.c, op_scatter.c, op_tile.c, op_depth_space.c, op_trilu.c, op_one_hot.c, op_top_k.c */
extern const struct op_info pith_op_gather, pith_op_scatter, pith_op_tile, pith_op_depth_space,
    pith_op_trilu, pith_op_one_hot, pith_op_top_k;
/* op_recurrent.c */
extern const struct op_info pith_op_recurrent;
/* op_conv_transpose.c */
extern const struct op_info pith_op_conv_transpose;
/* op_quantize.c, op_requantize.c, op_matmul_integer.c, op_conv_integer.c */
extern const struct op_info pith_op_quantize, pith_op_dequantize, pith_op_dynamic_quantize,
    pith_op_requantize, pith_op_matmul_integer, pith_op_conv_integer;
/* op_non_max_suppression.c */
extern const struct op_info pith_op_non_max_suppression;
/* op_unary.c */
extern const struct op_info pith_op_unary;
/* op_power.c, op_compare.c, op_where.c */
extern const struct op_info pith_op_power, pith_op_mod, pith_op_compare, pith_op_where;
/* op_variadic.c, op_reduce.c */
extern const struct op_info pith_op_variadic, pith_op_reduce;
/* op_arg.c, op_along_axis.c */
extern const struct op_info pith_op_arg, pith_op_along_axis;
/* op_loop.c, op_branch.c */
extern const struct op_info pith_op_loop, pith_op_loop_end, pith_op_branch, pith_op_branch_else,
    pith_op_branch_end;
/* op_normalize.c */
extern const struct op_info pith_op_group_norm, pith_op_layer_norm, pith_op_mean_variance;
/* op_attention.c, op_grid_sample.c */
extern const struct op_info pith_op_attention, pith_op_grid_sample;

#endif
