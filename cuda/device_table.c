/* SPDX-License-Identifier: MIT */
/* device_table.c - which operators have kernels for the device. */
#include "device_product.h"

/* Floats that the kernels take: each of its own type, all of the first output's, or f32. */
enum takes { ANY, ALIKE, F32 };

/* Operators that are not listed run on the CPU (device_run.c). So do single steps whose function
 * refuses: a type, a size or a layout that its kernel does not know. */
static const struct row {
    enum pith_op op;
    lower_fn *lower;
    enum takes takes;
} table[] = {
    {PITH_OP_RELU, pith_device_map, ANY},
    {PITH_OP_LEAKY_RELU, pith_device_map, ANY},
    {PITH_OP_CLIP, pith_device_map, ANY},
    {PITH_OP_SIGMOID, pith_device_map, ANY},
    {PITH_OP_TANH, pith_device_map, ANY},
    {PITH_OP_HARD_SIGMOID, pith_device_map, ANY},
    {PITH_OP_HARD_SWISH, pith_device_map, ANY},
    {PITH_OP_UNARY, pith_device_unary, ANY},
    {PITH_OP_ADD, pith_device_zip, ANY},
    {PITH_OP_SUB, pith_device_zip, ANY},
    {PITH_OP_MUL, pith_device_zip, ANY},
    {PITH_OP_DIV, pith_device_zip, ANY},
    {PITH_OP_PRELU, pith_device_zip, ANY},
    {PITH_OP_MOD, pith_device_zip, ANY},
    {PITH_OP_POWER, pith_device_power, ANY},
    {PITH_OP_COMPARE, pith_device_compare, F32},
    {PITH_OP_WHERE, pith_device_where, ALIKE},
    {PITH_OP_CAST, pith_device_cast, F32},
    {PITH_OP_ARG, pith_device_arg, F32},
    {PITH_OP_TILE, pith_device_tile, ALIKE},
    {PITH_OP_BATCH_NORM, pith_device_batch_norm, ANY},
    {PITH_OP_SQUEEZE, pith_device_view, ALIKE},
    {PITH_OP_UNSQUEEZE, pith_device_view, ALIKE},
    {PITH_OP_RESHAPE, pith_device_view, ALIKE},
    {PITH_OP_FLATTEN, pith_device_view, ALIKE},
    {PITH_OP_IDENTITY, pith_device_view, ALIKE},
    {PITH_OP_SLICE, pith_device_slice, ALIKE},
    {PITH_OP_TRANSPOSE, pith_device_transpose, ALIKE},
    {PITH_OP_CONCAT, pith_device_concat, ALIKE},
    {PITH_OP_SPLIT, pith_device_split, ALIKE},
    {PITH_OP_PAD, pith_device_pad, ALIKE},
    {PITH_OP_GATHER, pith_device_gather, ALIKE},
    {PITH_OP_SOFTMAX, pith_device_softmax, ANY},
    {PITH_OP_LOG_SOFTMAX, pith_device_softmax, ANY},
    {PITH_OP_REDUCE_MEAN, pith_device_reduce_mean, ANY},
    {PITH_OP_REDUCE, pith_device_reduce, ANY},
    {PITH_OP_GLOBAL_AVERAGE_POOL, pith_device_global_pool, ANY},
    {PITH_OP_GLOBAL_MAX_POOL, pith_device_global_pool, ANY},
    {PITH_OP_LAYER_NORM, pith_device_layer_norm, ANY},
    {PITH_OP_GROUP_NORM, pith_device_group_norm, ANY},
    {PITH_OP_MAX_POOL, pith_device_pool, ANY},
    {PITH_OP_AVERAGE_POOL, pith_device_pool, ANY},
    {PITH_OP_GEMM, pith_device_gemm, ANY},
    {PITH_OP_MATMUL, pith_device_matmul, ANY},
    {PITH_OP_CONV, pith_device_conv, ANY},
    {PITH_OP_RECURRENT, pith_device_recurrent, F32},
    {PITH_OP_ATTENTION, pith_device_attention, ANY},
    {PITH_OP_MATMUL_INTEGER, pith_device_matmul_integer, F32},
    {PITH_OP_CONV_INTEGER, pith_device_conv_integer, F32},
    {PITH_OP_QUANTIZE, pith_device_scale, F32},
    {PITH_OP_DEQUANTIZE, pith_device_scale, F32},
    {PITH_OP_DYNAMIC_QUANTIZE, pith_device_dynamic_quantize, F32},
    {PITH_OP_REQUANTIZE, pith_device_requantize, F32},
};

/* Inputs of a concat that do not lie in place; the others do. Such a Concat has no axis of more
 * than 1 before its own, so y is its inputs one behind the other; pith_device_copy leaves out those
 * that the planner has put there. */
static bool lower_copies(struct lowering *l, const struct step *s)
{
    uint64_t at = 0;
    uint8_t *to = pith_device_data(l, s->args.out[0]);
    for (uint32_t i = 0; i < s->args.n_in; i++) {
        const struct tview *t = s->args.in[i];
        uint64_t bytes = shape_elems(&t->shape) * pith_device_each(l, t);
        pith_device_copy(l, to + at, pith_device_data(l, t), bytes);
        at += bytes;
    }
    return true;
}

/* An operator that this build left out has no info: pith_op_get is then NULL, which no
 * step's is. */
static const struct row *row_of(const struct step *s)
{
    static const struct row copies = {.lower = lower_copies, .takes = ALIKE};
    for (size_t i = 0; i < sizeof table / sizeof *table && !s->copies; i++)
        if (s->args.info == pith_op_get(table[i].op))
            return &table[i];
    return s->copies ? &copies : NULL;
}

bool pith_device_needs_f32(const struct step *s)
{
    const struct row *row = row_of(s);
    return (row && row->takes == F32) || pith_device_is_compressed(s);
}

/* Elements are counted by all kernels but those that copy bytes, and where they are converted. */
static bool is_countable(const struct step *s)
{
    bool all = true;
    for (uint32_t i = 0; i < s->args.n_in; i++)
        all = all && (!s->args.in[i] || pith_device_count(s->args.in[i]));
    for (uint32_t i = 0; i < s->args.n_out; i++)
        all = all && pith_device_count(s->args.out[i]);
    return all;
}

bool pith_device_step(struct lowering *l, const struct step *s)
{
    const struct row *row = row_of(s);
    l->work_kept = 0;
    if (!row || ((l->values || row->takes != ALIKE) && !is_countable(s)))
        return false;
    if (row->takes == ANY)
        return row->lower(l, s);
    return pith_device_in(l, s, row->lower,
                          row->takes == ALIKE ? pith_device_type(l, s->args.out[0]) : VALUE_F32);
}
