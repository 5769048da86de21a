/* SPDX-License-Identifier: MIT */
/* device_table.c - which operators have kernels for the device. */
#include "device_lower.h"

/* Operators that are not listed run on the CPU (device_run.c). So do single steps whose function
 * refuses: a type, a size or a layout that its kernel does not know. */
static const struct {
    enum pith_op op;
    lower_fn *lower;
} table[] = {
    {PITH_OP_RELU, pith_device_map},
    {PITH_OP_LEAKY_RELU, pith_device_map},
    {PITH_OP_CLIP, pith_device_map},
    {PITH_OP_SIGMOID, pith_device_map},
    {PITH_OP_TANH, pith_device_map},
    {PITH_OP_HARD_SIGMOID, pith_device_map},
    {PITH_OP_HARD_SWISH, pith_device_map},
    {PITH_OP_UNARY, pith_device_unary},
    {PITH_OP_ADD, pith_device_zip},
    {PITH_OP_SUB, pith_device_zip},
    {PITH_OP_MUL, pith_device_zip},
    {PITH_OP_DIV, pith_device_zip},
    {PITH_OP_PRELU, pith_device_zip},
    {PITH_OP_MOD, pith_device_zip},
    {PITH_OP_POWER, pith_device_power},
    {PITH_OP_COMPARE, pith_device_compare},
    {PITH_OP_WHERE, pith_device_where},
    {PITH_OP_CAST, pith_device_cast},
    {PITH_OP_ARG, pith_device_arg},
    {PITH_OP_TILE, pith_device_tile},
    {PITH_OP_BATCH_NORM, pith_device_batch_norm},
    {PITH_OP_SQUEEZE, pith_device_view},
    {PITH_OP_UNSQUEEZE, pith_device_view},
    {PITH_OP_RESHAPE, pith_device_view},
    {PITH_OP_FLATTEN, pith_device_view},
    {PITH_OP_IDENTITY, pith_device_view},
    {PITH_OP_SLICE, pith_device_slice},
    {PITH_OP_TRANSPOSE, pith_device_transpose},
    {PITH_OP_CONCAT, pith_device_concat},
    {PITH_OP_SPLIT, pith_device_split},
    {PITH_OP_PAD, pith_device_pad},
    {PITH_OP_GATHER, pith_device_gather},
    {PITH_OP_SOFTMAX, pith_device_softmax},
    {PITH_OP_LOG_SOFTMAX, pith_device_softmax},
    {PITH_OP_REDUCE_MEAN, pith_device_reduce_mean},
    {PITH_OP_REDUCE, pith_device_reduce},
    {PITH_OP_GLOBAL_AVERAGE_POOL, pith_device_global_pool},
    {PITH_OP_GLOBAL_MAX_POOL, pith_device_global_pool},
    {PITH_OP_LAYER_NORM, pith_device_layer_norm},
    {PITH_OP_GROUP_NORM, pith_device_group_norm},
    {PITH_OP_MAX_POOL, pith_device_pool},
    {PITH_OP_AVERAGE_POOL, pith_device_pool},
    {PITH_OP_GEMM, pith_device_gemm},
    {PITH_OP_MATMUL, pith_device_matmul},
    {PITH_OP_CONV, pith_device_conv},
    {PITH_OP_RECURRENT, pith_device_recurrent},
    {PITH_OP_ATTENTION, pith_device_attention},
    {PITH_OP_MATMUL_INTEGER, pith_device_matmul_integer},
    {PITH_OP_CONV_INTEGER, pith_device_conv_integer},
    {PITH_OP_QUANTIZE, pith_device_quantize},
    {PITH_OP_DEQUANTIZE, pith_device_dequantize},
    {PITH_OP_DYNAMIC_QUANTIZE, pith_device_dynamic_quantize},
    {PITH_OP_REQUANTIZE, pith_device_requantize},
};

/* Inputs of a concat that do not lie in place; the others do. Such a Concat has no axis of more
 * than 1 before its own, so y is its inputs one behind the other; pith_device_copy leaves out those
 * that the planner has put there. */
static bool lower_copies(struct lowering *l, const struct op_args *args)
{
    uint64_t at = 0;
    uint8_t *to = pith_device_data(l, args->out[0]);
    for (uint32_t i = 0; i < args->n_in; i++) {
        const struct tview *t = args->in[i];
        uint64_t bytes = shape_elems(&t->shape) * pith_type_bytes(t->type);
        pith_device_copy(l, to + at, pith_device_data(l, t), bytes);
        at += bytes;
    }
    return true;
}

/* An operator that this build left out has no info: pith_op_get is then NULL, which no
 * step's is. */
bool pith_device_step(struct lowering *l, const struct step *s)
{
    l->work_kept = 0;
    if (s->copies)
        return lower_copies(l, &s->args);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (s->args.info == pith_op_get(table[i].op))
            return table[i].lower(l, s);
    return false;
}
