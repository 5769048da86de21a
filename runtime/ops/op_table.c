/* SPDX-License-Identifier: MIT */
/* op_table.c - one row per operator: from its number in a file to its op_info.
 *
 * The table is constant, indexed by the number that a file holds, so lookup cannot fail but for
 * a number out of range. BUILT_OP leaves out operators that a build for one network does not
 * name (build_choice.h): their rows are NULL, nothing refers to their code, and the linker drops
 * it.
 *
 * A new operator is one row here, one number in op_number.h and one file
 * (docs/add-an-operator.md). */
#include "core/build_choice.h"
#include "ops/op_list.h"
#include "core/op_number.h"

_Static_assert(PITH_OP_END <= 128, "build_choice.h has bits for 128 operators");

#define ROW(op, info) [op] = BUILT_OP(op) ? &(info) : NULL

static const struct op_info *const table[PITH_OP_END] = {
    ROW(PITH_OP_CONV, pith_op_conv),
    ROW(PITH_OP_GEMM, pith_op_gemm),
    ROW(PITH_OP_MATMUL, pith_op_matmul),
    ROW(PITH_OP_ADD, pith_op_add),
    ROW(PITH_OP_SUB, pith_op_sub),
    ROW(PITH_OP_MUL, pith_op_mul),
    ROW(PITH_OP_DIV, pith_op_div),
    ROW(PITH_OP_RELU, pith_op_relu),
    ROW(PITH_OP_LEAKY_RELU, pith_op_leaky_relu),
    ROW(PITH_OP_PRELU, pith_op_prelu),
    ROW(PITH_OP_CLIP, pith_op_clip),
    ROW(PITH_OP_SIGMOID, pith_op_sigmoid),
    ROW(PITH_OP_TANH, pith_op_tanh),
    ROW(PITH_OP_HARD_SIGMOID, pith_op_hard_sigmoid),
    ROW(PITH_OP_HARD_SWISH, pith_op_hard_swish),
    ROW(PITH_OP_SOFTMAX, pith_op_softmax),
    ROW(PITH_OP_LOG_SOFTMAX, pith_op_log_softmax),
    ROW(PITH_OP_MAX_POOL, pith_op_max_pool),
    ROW(PITH_OP_AVERAGE_POOL, pith_op_average_pool),
    ROW(PITH_OP_GLOBAL_MAX_POOL, pith_op_global_max_pool),
    ROW(PITH_OP_GLOBAL_AVERAGE_POOL, pith_op_global_average_pool),
    ROW(PITH_OP_BATCH_NORM, pith_op_batch_norm),
    ROW(PITH_OP_LRN, pith_op_lrn),
    ROW(PITH_OP_CONCAT, pith_op_concat),
    ROW(PITH_OP_SPLIT, pith_op_split),
    ROW(PITH_OP_SLICE, pith_op_slice),
    ROW(PITH_OP_SQUEEZE, pith_op_squeeze),
    ROW(PITH_OP_UNSQUEEZE, pith_op_unsqueeze),
    ROW(PITH_OP_RESHAPE, pith_op_reshape),
    ROW(PITH_OP_FLATTEN, pith_op_flatten),
    ROW(PITH_OP_TRANSPOSE, pith_op_transpose),
    ROW(PITH_OP_PAD, pith_op_pad),
    ROW(PITH_OP_CAST, pith_op_cast),
    ROW(PITH_OP_REDUCE_MEAN, pith_op_reduce_mean),
    ROW(PITH_OP_RESIZE, pith_op_resize),
    ROW(PITH_OP_IDENTITY, pith_op_identity),
    ROW(PITH_OP_GATHER, pith_op_gather),
    ROW(PITH_OP_SCATTER, pith_op_scatter),
    ROW(PITH_OP_TILE, pith_op_tile),
    ROW(PITH_OP_DEPTH_SPACE, pith_op_depth_space),
    ROW(PITH_OP_TRILU, pith_op_trilu),
    ROW(PITH_OP_ONE_HOT, pith_op_one_hot),
    ROW(PITH_OP_TOP_K, pith_op_top_k),
    ROW(PITH_OP_CONV_TRANSPOSE, pith_op_conv_transpose),
    ROW(PITH_OP_RECURRENT, pith_op_recurrent),
    ROW(PITH_OP_UNARY, pith_op_unary),
    ROW(PITH_OP_POWER, pith_op_power),
    ROW(PITH_OP_MOD, pith_op_mod),
    ROW(PITH_OP_COMPARE, pith_op_compare),
    ROW(PITH_OP_WHERE, pith_op_where),
    ROW(PITH_OP_VARIADIC, pith_op_variadic),
    ROW(PITH_OP_REDUCE, pith_op_reduce),
    ROW(PITH_OP_ARG, pith_op_arg),
    ROW(PITH_OP_ALONG_AXIS, pith_op_along_axis),
    ROW(PITH_OP_GROUP_NORM, pith_op_group_norm),
    ROW(PITH_OP_LAYER_NORM, pith_op_layer_norm),
    ROW(PITH_OP_MEAN_VARIANCE, pith_op_mean_variance),
    ROW(PITH_OP_QUANTIZE, pith_op_quantize),
    ROW(PITH_OP_DEQUANTIZE, pith_op_dequantize),
    ROW(PITH_OP_DYNAMIC_QUANTIZE, pith_op_dynamic_quantize),
    ROW(PITH_OP_REQUANTIZE, pith_op_requantize),
    ROW(PITH_OP_MATMUL_INTEGER, pith_op_matmul_integer),
    ROW(PITH_OP_CONV_INTEGER, pith_op_conv_integer),
    ROW(PITH_OP_NON_MAX_SUPPRESSION, pith_op_non_max_suppression),
    ROW(PITH_OP_LP_POOL, pith_op_lp_pool),
    ROW(PITH_OP_LOOP, pith_op_loop),
    ROW(PITH_OP_LOOP_END, pith_op_loop_end),
    ROW(PITH_OP_BRANCH, pith_op_branch),
    ROW(PITH_OP_BRANCH_ELSE, pith_op_branch_else),
    ROW(PITH_OP_BRANCH_END, pith_op_branch_end),
    ROW(PITH_OP_ATTENTION, pith_op_attention),
    ROW(PITH_OP_GRID_SAMPLE, pith_op_grid_sample),
};

/* The number may come from a file: it is compared before it indexes. */
const struct op_info *pith_op_get(uint32_t op)
{
    return op < PITH_OP_END ? table[op] : NULL;
}

struct op_traits pith_op_traits(uint32_t op)
{
    const struct op_info *info = pith_op_get(op);
    return info ? info->traits : (struct op_traits){0};
}
