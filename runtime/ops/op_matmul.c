/* SPDX-License-Identifier: MIT */
/* op_matmul.c - MatMul by numpy's rules: the last two axes multiply, the others broadcast; a vector
 * a is a row, a vector b a column, and the axis so added is dropped again from y.
 *
 * When b is one matrix for all of a's batches, the batches of a are just more rows, and the whole
 * is one product. A constant b with batches of its own is kept as plain values. */
#include "op_list.h"
#include "product_f32.h"
#include "weight_f32.h"

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_MATMUL_TRANS_B, 0, 0, 1},
};

/* The product's sizes and its batch axes, outermost first. */
struct matmul {
    uint32_t m, n, k;
    uint32_t n_batch;
    uint32_t batch[PITH_MAX_RANK];
    size_t a_step[PITH_MAX_RANK], b_step[PITH_MAX_RANK]; /* floats; 0 along broadcast axes */
};

/* Dim `i` from the left of the batch axes of s, right-aligned to n_batch axes. */
static uint32_t batch_dim(const struct shape *s, uint32_t n_batch, uint32_t i)
{
    uint32_t own = s->rank > 2 ? s->rank - 2 : 0;
    return i + own < n_batch ? 1 : s->dim[i + own - n_batch];
}

/* false: the shapes do not multiply */
static bool matmul_of(const struct shape *a, const struct shape *b, bool trans_b, struct matmul *mm)
{
    if (a->rank == 0 || b->rank == 0 || (trans_b && b->rank != 2))
        return false;
    *mm = (struct matmul){.m = 1, .n = 1};
    mm->k = a->dim[a->rank - 1];
    if (a->rank > 1)
        mm->m = a->dim[a->rank - 2];
    uint32_t b_k = b->dim[0];
    if (b->rank > 1) {
        b_k = b->dim[b->rank - (trans_b ? 1 : 2)];
        mm->n = b->dim[b->rank - (trans_b ? 2 : 1)];
    }
    if (b_k != mm->k)
        return false;
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    mm->n_batch = rank > 2 ? rank - 2 : 0;
    for (uint32_t i = 0; i < mm->n_batch; i++) {
        uint32_t da = batch_dim(a, mm->n_batch, i), db = batch_dim(b, mm->n_batch, i);
        if (da != db && da != 1 && db != 1)
            return false;
        mm->batch[i] = da > db ? da : db;
    }
    return true;
}

static void set_steps(struct matmul *mm, const struct shape *a, const struct shape *b)
{
    size_t a_size = (size_t)mm->m * mm->k, b_size = (size_t)mm->k * mm->n;
    for (uint32_t i = mm->n_batch; i-- > 0;) {
        uint32_t da = batch_dim(a, mm->n_batch, i), db = batch_dim(b, mm->n_batch, i);
        mm->a_step[i] = da > 1 ? a_size : 0;
        mm->b_step[i] = db > 1 ? b_size : 0;
        a_size *= da;
        b_size *= db;
    }
}

static enum pith_status matmul_shape(const struct op_args *args)
{
    const struct tview *a = args->in[0], *b = args->in[1];
    struct matmul mm;
    if (!a || !b)
        return PITH_ERR_CORRUPT;
    if (a->type != PITH_F32 || b->type != PITH_F32)
        return PITH_ERR_UNSUPPORTED;
    if (!matmul_of(&a->shape, &b->shape, args->attr[ATTR_MATMUL_TRANS_B] != 0, &mm))
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = mm.n_batch};
    uint64_t rows = mm.m; /* all of them, should b be one matrix */
    for (uint32_t i = 0; i < mm.n_batch; i++) {
        y.dim[i] = mm.batch[i];
        if (!mul_ok(rows, mm.batch[i], &rows) || rows > INT32_MAX)
            return PITH_ERR_UNSUPPORTED;
    }
    if (a->shape.rank > 1)
        y.dim[y.rank++] = mm.m;
    if (b->shape.rank > 1)
        y.dim[y.rank++] = mm.n;
    uint64_t count;
    enum pith_status status = pith_shape_count(&y, &count);
    if (status != PITH_OK)
        return status;
    args->out[0]->type = PITH_F32;
    args->out[0]->shape = y;
    return PITH_OK;
}

/* A constant b with batches. */
static bool batched_weight(const struct op_args *args)
{
    return args->weight && args->in[1]->shape.rank > 2;
}

/* The product of one batch, or of all when b is one matrix. */
static struct product product_of(const struct op_args *args, struct matmul *mm)
{
    const struct tview *a = args->in[0], *b = args->in[1], *y = args->out[0];
    bool trans_b = args->attr[ATTR_MATMUL_TRANS_B] != 0;
    matmul_of(&a->shape, &b->shape, trans_b, mm);
    if (b->shape.rank <= 2) {
        for (uint32_t i = 0; i < mm->n_batch; i++)
            mm->m *= mm->batch[i];
        mm->n_batch = 0;
    }
    set_steps(mm, &a->shape, &b->shape);
    struct product p = {.m = mm->m,
                        .n = mm->n,
                        .k = mm->k,
                        .trans_b = trans_b,
                        .alpha = 1.0f,
                        .beta = 1.0f,
                        .a = a->data,
                        .b = b->data,
                        .y = y->data,
                        .weight = args->weight,
                        .prep = args->prep,
                        .act = args->fuse.act,
                        .act_a = args->fuse.a,
                        .act_b = args->fuse.b};
    if (batched_weight(args)) {
        p.b = args->prep ? args->prep : pith_weight_f32_borrow(args->weight);
        p.weight = NULL;
        p.prep = NULL;
    }
    if (mm->n == 1 && b->shape.rank <= 2)
        p.trans_b = true; /* a single column is a single row */
    if (args->n_in > 2) { /* a bias per column that the planner put here */
        p.has_c = true;
        p.c = args->in[2]->data;
        p.c_col = mm->n > 1;
    }
    if (args->fuse.residual)
        p.residual = args->fuse.residual->data;
    return p;
}

static enum pith_status matmul_need(const struct op_args *args, const struct op_env *env,
                                    struct op_need *need)
{
    struct matmul mm;
    struct product p = product_of(args, &mm);
    enum pith_status status = pith_product_need(&p, env, need);
    for (uint32_t i = 0; i < mm.n_batch; i++)
        if (!mul_ok(need->macs, mm.batch[i], &need->macs))
            need->macs = UINT64_MAX;
    if (status == PITH_OK && batched_weight(args) && !pith_weight_f32_borrow(args->weight)) {
        need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
        need->prep_form = prep_form(PREP_ELEMENTS, 0);
        if (!mul_ok(args->weight->count, sizeof(float), &need->prep_bytes))
            return PITH_ERR_LIMIT;
    }
    return status;
}

static enum pith_status matmul_prepare(const struct op_args *args, const struct op_env *env)
{
    struct matmul mm;
    struct product p = product_of(args, &mm);
    if (batched_weight(args) && args->prep)
        return pith_weight_expand_f32(args->weight, args->prep, env->scratch);
    return pith_product_prepare(&p, env);
}

static void matmul_run(const struct op_args *args, const struct op_env *env)
{
    struct matmul mm;
    struct product p = product_of(args, &mm);
    size_t n = 1, y_size = (size_t)mm.m * mm.n;
    for (uint32_t i = 0; i < mm.n_batch; i++)
        n *= mm.batch[i];
    for (size_t item = 0; item < n; item++) {
        struct product one = p;
        size_t left = item;
        for (uint32_t i = mm.n_batch; i-- > 0; left /= mm.batch[i]) {
            one.a += left % mm.batch[i] * mm.a_step[i];
            one.b += left % mm.batch[i] * mm.b_step[i];
        }
        one.y += item * y_size;
        if (p.residual)
            one.residual += item * y_size;
        pith_product_run(&one, env);
    }
}

const struct op_info pith_op_matmul = {
    .op = PITH_OP_MATMUL,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = 1,
    .flags = OP_FUSES | OP_WEIGHT,
    .fields = fields,
    .traits = {.flags = 0,
               .weight_input = 1,
               .bias_input = 0,
               .row_axis = OP_LAST_AXIS,
               .trans_slot = ATTR_MATMUL_TRANS_B,
               .group_slot = OP_NO_SLOT,
               .integer_op = PITH_OP_MATMUL_INTEGER,
               .parameters = 1u << 1},
    .shape = matmul_shape,
    .need = matmul_need,
    .prepare = matmul_prepare,
    .run = matmul_run,
};
