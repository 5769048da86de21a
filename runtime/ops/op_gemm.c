/* SPDX-License-Identifier: MIT */
/* op_gemm.c - Gemm: y [M,N] = act(alpha * a b + beta * c + residual).
 *
 * ONNX Gemm-13. What can be a product of matrices in this runtime ends in struct product
 * (products/product.h); this file says which. A Gemm is the form of fully connected layers: b is
 * constant, its rows are outputs when trans_b is set, as PyTorch's Linear exports it. */
#include "ops/op_list.h"
#include "products/product_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* As bits, because a schema holds integers (op_activation.c). */
#define F32_ONE 0x3f800000

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_GEMM_TRANS_A, 0, 0, 1},
    {ATTR_INT, ATTR_GEMM_TRANS_B, 1, 0, 1},
    {ATTR_FLOAT, ATTR_GEMM_ALPHA, F32_ONE, 0, 0},
    {ATTR_FLOAT, ATTR_GEMM_BETA, F32_ONE, 0, 0},
};

static const struct tview *gemm_c(const struct op_args *args)
{
    return args->n_in > 2 ? args->in[2] : NULL;
}

/* c's dims, from the right, are 1 or y's. ONNX allows any broadcast of c to [M, N]; what is not
 * a value for each column is added behind the product by plain loops (product_is_plain). */
static bool broadcasts(const struct shape *c, uint32_t m, uint32_t n)
{
    if (c->rank > 2)
        return false;
    uint32_t cols = c->rank > 0 ? c->dim[c->rank - 1] : 1;
    uint32_t rows = c->rank > 1 ? c->dim[0] : 1;
    return (cols == 1 || cols == n) && (rows == 1 || rows == m);
}

static enum pith_status gemm_shape(const struct op_args *args)
{
    const struct tview *a = args->in[0], *b = args->in[1], *c = gemm_c(args);
    if (!a || !b)
        return PITH_ERR_CORRUPT;
    if (a->type != PITH_F32 || b->type != PITH_F32 || (c && c->type != PITH_F32))
        return PITH_ERR_UNSUPPORTED;
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return PITH_ERR_CORRUPT;
    const uint32_t ta = args->attr[ATTR_GEMM_TRANS_A] != 0, tb = args->attr[ATTR_GEMM_TRANS_B] != 0;
    /* ta, tb are 0 or 1: dim[ta] is M whichever way a lies. */
    uint32_t m = a->shape.dim[ta], n = b->shape.dim[1 - tb];
    if (a->shape.dim[1 - ta] != b->shape.dim[tb] || (c && !broadcasts(&c->shape, m, n)))
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = 2, .dim = {m, n}};
    uint64_t count;
    enum pith_status status = pith_shape_count(&y, &count);
    if (status != PITH_OK)
        return status;
    args->out[0]->type = PITH_F32;
    args->out[0]->shape = y;
    return PITH_OK;
}

/* Steps of c: 0 along what is repeated, so that one expression reads all of its shapes. */
static struct product product_of(const struct op_args *args)
{
    const struct tview *c = gemm_c(args);
    const struct shape *y = &args->out[0]->shape;
    struct product p = {.m = y->dim[0],
                        .n = y->dim[1],
                        .trans_a = args->attr[ATTR_GEMM_TRANS_A] != 0,
                        .trans_b = args->attr[ATTR_GEMM_TRANS_B] != 0,
                        .alpha = attr_f32(args->attr, ATTR_GEMM_ALPHA),
                        .beta = attr_f32(args->attr, ATTR_GEMM_BETA),
                        .has_c = c != NULL};
    p.k = args->in[0]->shape.dim[p.trans_a ? 0 : 1];
    if (c) {
        const struct shape *s = &c->shape;
        uint32_t cols = s->rank > 0 ? s->dim[s->rank - 1] : 1;
        p.c_col = cols > 1;
        p.c_row = s->rank > 1 && s->dim[0] > 1 ? cols : 0;
    }
    return p;
}

/* need(), prepare() and run() share one struct product in the plan's memory, so nothing is
 * derived again when the network runs. */
static uint32_t gemm_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return sizeof(struct product);
}

static enum pith_status gemm_need(const struct op_args *args, const struct op_env *env,
                                  struct op_need *need)
{
    struct product *p = args->lowered;
    *p = product_of(args);
    return pith_product_need(p, args->weight, args->choice, env, need);
}

static enum pith_status gemm_prepare(const struct op_args *args, const struct op_env *env)
{
    return pith_product_prepare(args->lowered, args->weight, args->prep, env);
}

/* Addresses are the only thing that run() adds. */
static void gemm_run(const struct op_args *args, const struct op_env *env)
{
    struct product_data d = product_data_of(args);
    d.b = args->in[1]->data;
    d.c = gemm_c(args) ? gemm_c(args)->data : NULL;
    d.y = args->out[0]->data;
    pith_product_run(args->lowered, &d, env);
}

/* The weight's rows are along its last axis unless trans_b says otherwise (trans_slot). */
const struct op_info pith_op_gemm = {
    .op = PITH_OP_GEMM,
    .n_in_min = 2,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = 4,
    .flags = OP_FUSES | OP_WEIGHT,
    .fields = fields,
    .traits = {.flags = 0,
               .weight_input = 1,
               .bias_input = 2,
               .row_axis = OP_LAST_AXIS,
               .trans_slot = ATTR_GEMM_TRANS_B,
               .group_slot = OP_NO_SLOT,
               .integer_op = PITH_OP_MATMUL_INTEGER,
               .parameters = 1u << 1 | 1u << 2},
    .shape = gemm_shape,
    .lowered_most = OP_LOWERED_MAX,
    .lowered_bytes = gemm_lowered_bytes,
    .need = gemm_need,
    .prepare = gemm_prepare,
    .run = gemm_run,
};
