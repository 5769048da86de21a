/* SPDX-License-Identifier: MIT */
/* grad_list.h - the gradients, each defined in the file of its family. */
#ifndef GRAD_LIST_H
#define GRAD_LIST_H

#include "grad_op.h"

/* grad_conv.c, grad_product.c, grad_pool.c */
extern const struct grad_op pith_grad_conv, pith_grad_gemm, pith_grad_max_pool,
    pith_grad_average_pool;
/* grad_activation.c */
extern const struct grad_op pith_grad_relu, pith_grad_leaky_relu, pith_grad_clip, pith_grad_sigmoid,
    pith_grad_tanh, pith_grad_hard_sigmoid, pith_grad_hard_swish, pith_grad_unary;
/* grad_binary.c */
extern const struct grad_op pith_grad_add, pith_grad_sub, pith_grad_mul, pith_grad_div,
    pith_grad_power, pith_grad_prelu, pith_grad_where, pith_grad_variadic;
/* grad_view.c */
extern const struct grad_op pith_grad_flatten, pith_grad_reshape, pith_grad_squeeze,
    pith_grad_unsqueeze, pith_grad_identity, pith_grad_cast;
/* grad_batch_norm.c */
extern const struct grad_op pith_grad_batch_norm;
/* grad_global_pool.c */
extern const struct grad_op pith_grad_global_average_pool, pith_grad_global_max_pool;
/* grad_softmax.c */
extern const struct grad_op pith_grad_softmax, pith_grad_log_softmax;
/* grad_matmul.c */
extern const struct grad_op pith_grad_matmul;
/* grad_conv_transpose.c */
extern const struct grad_op pith_grad_conv_transpose;
/* grad_concat.c */
extern const struct grad_op pith_grad_concat, pith_grad_split;
/* grad_move.c */
extern const struct grad_op pith_grad_slice, pith_grad_pad, pith_grad_transpose, pith_grad_tile,
    pith_grad_depth_space, pith_grad_trilu, pith_grad_gather;
/* grad_reduce.c */
extern const struct grad_op pith_grad_reduce_mean, pith_grad_reduce;
/* grad_normalize.c */
extern const struct grad_op pith_grad_layer_norm, pith_grad_group_norm, pith_grad_mean_variance;
/* grad_along_axis.c */
extern const struct grad_op pith_grad_along_axis;
/* grad_lrn.c */
extern const struct grad_op pith_grad_lrn;
/* grad_resize.c */
extern const struct grad_op pith_grad_resize;
/* grad_recurrent.c */
extern const struct grad_op pith_grad_recurrent;
/* grad_attention.c */
extern const struct grad_op pith_grad_attention;
/* grad_fake_quant.c: no row of the table */
extern const struct grad_op pith_grad_fake_quant;

#endif
