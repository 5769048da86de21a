/* SPDX-License-Identifier: MIT */
/* op_table.c - one row per operator: from its number in a file to its op_info. */
#include "op_list.h"

static const struct op_info *const table[PITH_OP_END] = {
    [PITH_OP_CONV] = &pith_op_conv,
    [PITH_OP_GEMM] = &pith_op_gemm,
    [PITH_OP_MATMUL] = &pith_op_matmul,
    [PITH_OP_ADD] = &pith_op_add,
    [PITH_OP_SUB] = &pith_op_sub,
    [PITH_OP_MUL] = &pith_op_mul,
    [PITH_OP_DIV] = &pith_op_div,
    [PITH_OP_RELU] = &pith_op_relu,
    [PITH_OP_LEAKY_RELU] = &pith_op_leaky_relu,
    [PITH_OP_PRELU] = &pith_op_prelu,
    [PITH_OP_CLIP] = &pith_op_clip,
    [PITH_OP_SIGMOID] = &pith_op_sigmoid,
    [PITH_OP_TANH] = &pith_op_tanh,
    [PITH_OP_HARD_SIGMOID] = &pith_op_hard_sigmoid,
    [PITH_OP_HARD_SWISH] = &pith_op_hard_swish,
    [PITH_OP_SOFTMAX] = &pith_op_softmax,
    [PITH_OP_LOG_SOFTMAX] = &pith_op_log_softmax,
    [PITH_OP_MAX_POOL] = &pith_op_max_pool,
    [PITH_OP_AVERAGE_POOL] = &pith_op_average_pool,
    [PITH_OP_GLOBAL_MAX_POOL] = &pith_op_global_max_pool,
    [PITH_OP_GLOBAL_AVERAGE_POOL] = &pith_op_global_average_pool,
    [PITH_OP_BATCH_NORM] = &pith_op_batch_norm,
    [PITH_OP_LRN] = &pith_op_lrn,
    [PITH_OP_CONCAT] = &pith_op_concat,
    [PITH_OP_SPLIT] = &pith_op_split,
    [PITH_OP_SLICE] = &pith_op_slice,
    [PITH_OP_SQUEEZE] = &pith_op_squeeze,
    [PITH_OP_UNSQUEEZE] = &pith_op_unsqueeze,
    [PITH_OP_RESHAPE] = &pith_op_reshape,
    [PITH_OP_FLATTEN] = &pith_op_flatten,
    [PITH_OP_TRANSPOSE] = &pith_op_transpose,
    [PITH_OP_PAD] = &pith_op_pad,
    [PITH_OP_CAST] = &pith_op_cast,
    [PITH_OP_REDUCE_MEAN] = &pith_op_reduce_mean,
    [PITH_OP_RESIZE] = &pith_op_resize,
    [PITH_OP_IDENTITY] = &pith_op_identity,
    [PITH_OP_GATHER] = &pith_op_gather,
    [PITH_OP_SCATTER] = &pith_op_scatter,
    [PITH_OP_TILE] = &pith_op_tile,
};

const struct op_info *pith_op_get(uint32_t op)
{
    return op < PITH_OP_END ? table[op] : NULL;
}
