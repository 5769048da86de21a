/* SPDX-License-Identifier: MIT */
/* kernels_row.c - fills the row part of the kernel table from its list; activations by it. */
#include "kernels/ref/activate.h"
#include "core/build_choice.h"
#include "kernels/kernels.h"
#include "core/op_number.h"

/* Operators that call a member; nothing refers to the others. */
#define ACTIVATES                                                                                  \
    (BUILT_PRODUCTS | BUILT_OP(PITH_OP_RELU) | BUILT_OP(PITH_OP_LEAKY_RELU) |                      \
     BUILT_OP(PITH_OP_CLIP) | BUILT_OP(PITH_OP_SIGMOID) | BUILT_OP(PITH_OP_TANH) |                 \
     BUILT_OP(PITH_OP_HARD_SIGMOID) | BUILT_OP(PITH_OP_HARD_SWISH) | BUILT_OP(PITH_OP_UNARY))
#define SOFTENS                                                                                    \
    (BUILT_OP(PITH_OP_SOFTMAX) | BUILT_OP(PITH_OP_LOG_SOFTMAX) | BUILT_OP(PITH_OP_ATTENTION))
enum {
    WANTS_relu = ACTIVATES,
    WANTS_tanh = ACTIVATES,
    WANTS_sigmoid = ACTIVATES,
    WANTS_swish = ACTIVATES,
    WANTS_erf = ACTIVATES,
    WANTS_gelu = ACTIVATES,
    WANTS_gelu_tanh = ACTIVATES,
    WANTS_clip = ACTIVATES,
    WANTS_exp = SOFTENS | BUILT_OP(PITH_OP_UNARY),
    WANTS_softmax = SOFTENS,
    WANTS_softmax_columns = SOFTENS,
    WANTS_layer_norm = BUILT_OP(PITH_OP_LAYER_NORM) | BUILT_OP(PITH_OP_GROUP_NORM) |
                       BUILT_OP(PITH_OP_MEAN_VARIANCE),
    WANTS_sum_rows = BUILT_OP(PITH_OP_REDUCE_MEAN) | BUILT_OP(PITH_OP_GLOBAL_AVERAGE_POOL),
    WANTS_extreme_rows = BUILT_OP(PITH_OP_REDUCE) | BUILT_OP(PITH_OP_GLOBAL_MAX_POOL),
    WANTS_sum_columns = BUILT_OP(PITH_OP_REDUCE_MEAN) | BUILT_OP(PITH_OP_REDUCE),
    WANTS_extreme_columns = BUILT_OP(PITH_OP_REDUCE),
    WANTS_where = BUILT_OP(PITH_OP_WHERE)
};
#define SLOT(member, type, name, needs) .member = WANTS_##member ? &(name) : NULL,
static const struct row_kernels reference = {ROW_KERNELS_ANY(SLOT)};

void pith_row_kernels_fill(struct row_kernels *k, uint32_t features)
{
    *k = reference;
    features &= PITH_BUILD_CPU;
    ROW_KERNELS_OWN(KERNEL_TAKE)
    (void)features; /* of a processor without variants */
}

const struct row_kernels *pith_row_kernels(const struct pith_kernels *kernels)
{
    return kernels ? &kernels->row : &reference;
}

void pith_activate_by(const struct row_kernels *row, struct dense_act act, const float *x, float *y,
                      size_t n)
{
    if (act.kind == ACT_RELU)
        row->relu(x, y, n);
    else if (act.kind == ACT_CLIP)
        row->clip(x, act.a, act.b, y, n);
    else if (act.kind == ACT_SIGMOID)
        row->sigmoid(x, y, n);
    else if (act.kind == ACT_SWISH)
        row->swish(x, y, n);
    else if (act.kind == ACT_TANH)
        row->tanh(x, y, n);
    else if (row->elementwise &&
             (act.kind == ACT_LEAKY || act.kind == ACT_HARD_SIGMOID || act.kind == ACT_HARD_SWISH))
        row->elementwise->act(act.kind, act.a, act.b, x, y, n);
    else
        pith_activate_row(act.kind, act.a, act.b, x, y, n);
}
