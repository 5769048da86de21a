/* SPDX-License-Identifier: MIT */
/* grad_table.c - operators that have a gradient. */
#include "grad_list.h"
#include "core/op_number.h"

static const struct grad_op *const table[] = {
    &pith_grad_conv,
    &pith_grad_gemm,
    &pith_grad_max_pool,
    &pith_grad_average_pool,
    &pith_grad_relu,
    &pith_grad_leaky_relu,
    &pith_grad_clip,
    &pith_grad_sigmoid,
    &pith_grad_tanh,
    &pith_grad_hard_sigmoid,
    &pith_grad_hard_swish,
    &pith_grad_unary,
    &pith_grad_add,
    &pith_grad_sub,
    &pith_grad_mul,
    &pith_grad_div,
    &pith_grad_power,
    &pith_grad_prelu,
    &pith_grad_where,
    &pith_grad_variadic,
    &pith_grad_flatten,
    &pith_grad_reshape,
    &pith_grad_squeeze,
    &pith_grad_unsqueeze,
    &pith_grad_identity,
    &pith_grad_cast,
    &pith_grad_batch_norm,
    &pith_grad_global_average_pool,
    &pith_grad_global_max_pool,
    &pith_grad_softmax,
    &pith_grad_log_softmax,
    &pith_grad_matmul,
    &pith_grad_conv_transpose,
    &pith_grad_concat,
    &pith_grad_split,
    &pith_grad_slice,
    &pith_grad_pad,
    &pith_grad_transpose,
    &pith_grad_tile,
    &pith_grad_depth_space,
    &pith_grad_trilu,
    &pith_grad_gather,
    &pith_grad_reduce_mean,
    &pith_grad_reduce,
    &pith_grad_layer_norm,
    &pith_grad_group_norm,
    &pith_grad_mean_variance,
    &pith_grad_along_axis,
    &pith_grad_lrn,
    &pith_grad_resize,
    &pith_grad_recurrent,
    &pith_grad_attention,
};

static const struct grad_op *grad_get(uint32_t op)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i]->op == op)
            return table[i];
    return NULL;
}

/* An Identity of three inputs rounds (grad_fake_quant.c). */
const struct grad_op *pith_grad_of(const struct pith_node *node)
{
    bool rounds = node->op == PITH_OP_IDENTITY && node->n_in == 3;
    return rounds ? &pith_grad_fake_quant : grad_get(node->op);
}
