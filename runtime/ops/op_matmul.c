/* SPDX-License-Identifier: MIT */
/* op_matmul.c - MatMul by numpy's rules: the last two axes multiply, the others broadcast; a vector
 * a is a row, a vector b a column, and the axis so added is dropped again from y.
 *
 * When b is one matrix for all of a's batches, the batches of a are just more rows, and the
 * whole is one product. A constant b with batches of its own is kept as plain values.
 *
 * ONNX MatMul-13. b transposed is not of ONNX: import writes it where a Transpose of a constant
 * stood before, so that weights of all layers lie the same way. */
#include "ops/op_list.h"
#include "products/product_f32.h"
#include "decode/weight_cut.h"
#include "decode/weight_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_MATMUL_TRANS_B, 0, 0, 1},
};

/* The product's sizes and its batch axes, outermost first. b [K, N], or [N, K] with trans_b,
 * which has no batches. */
struct matmul {
    uint32_t m, n, k;
    uint32_t n_batch;
    uint32_t batch[PITH_MAX_RANK];
};

/* The lowered operation: one product, run for each item of the batch axes. */
struct batch_axis {
    uint32_t items;
    size_t a_step, b_step; /* floats; 0 along broadcast axes */
};

struct lowered_matmul {
    struct product product;
    uint32_t n_batch;
    struct batch_axis batch[]; /* [n_batch] */
};

/* Dim `i` from the left of the batch axes of s, right-aligned to n_batch axes. Axes that s lacks
 * count as 1, as numpy has it. */
static uint32_t batch_dim(const struct shape *s, uint32_t n_batch, uint32_t i)
{
    uint32_t own = s->rank > 2 ? s->rank - 2 : 0;
    return i + own < n_batch ? 1 : s->dim[i + own - n_batch];
}

/* false: the shapes do not multiply 1-D operands get the axis they lack: m or n stays 1. */
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

/* From the innermost batch axis out, so a step is the product of what lies inside; 0 where the
 * operand has one matrix for all. */
static void set_steps(struct lowered_matmul *l, const struct shape *a, const struct shape *b)
{
    const struct product *p = &l->product;
    size_t a_size = (size_t)p->m * p->k, b_size = (size_t)p->k * p->n;
    for (uint32_t i = l->n_batch; i-- > 0;) {
        uint32_t da = batch_dim(a, l->n_batch, i), db = batch_dim(b, l->n_batch, i);
        l->batch[i] =
            (struct batch_axis){da > db ? da : db, da > 1 ? a_size : 0, db > 1 ? b_size : 0};
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
    /* Should b be one matrix, all batches are rows of one product: m times the batches is a
     * uint32_t of a kernel's job. */
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

/* A constant b with batches. Expanded to plain floats once: run forms are of one matrix. */
static bool batched_weight(const struct op_args *args)
{
    return args->weight && args->in[1]->shape.rank > 2;
}

/* Of b with batches; one matrix b is multiplied with all rows of a at once. */
static uint32_t batch_axes(const struct op_args *args)
{
    uint32_t a = args->in[0]->shape.rank, b = args->in[1]->shape.rank;
    return b <= 2 ? 0 : (a > b ? a : b) - 2;
}

/* The product of one batch, or of all when b is one matrix. The product is found again here from
 * shapes that matmul_shape() let pass, so it cannot fail. */
static void set_product(const struct op_args *args, struct lowered_matmul *l)
{
    const struct shape *a = &args->in[0]->shape, *b = &args->in[1]->shape;
    bool trans_b = args->attr[ATTR_MATMUL_TRANS_B] != 0;
    struct matmul mm;
    matmul_of(a, b, trans_b, &mm);
    l->n_batch = batch_axes(args);
    /* b is the same for all: a's batches are rows. */
    for (uint32_t i = 0; i < mm.n_batch && l->n_batch == 0; i++)
        mm.m *= mm.batch[i];
    l->product = (struct product){
        .m = mm.m, .n = mm.n, .k = mm.k, .trans_b = trans_b, .alpha = 1.0f, .beta = 1.0f};
    set_steps(l, a, b);
    /* [K, 1] and [1, K] are the same bytes; read as a row it goes to gemv. */
    if (mm.n == 1 && b->rank <= 2)
        l->product.trans_b = true; /* a single column is a single row */
    if (args->n_in > 2) {          /* a bias per column that the planner put here */
        l->product.has_c = true;
        l->product.c_col = mm.n > 1;
    }
}

/* So that planning can reserve for a node before it knows the operator's rank. */
_Static_assert(sizeof(struct lowered_matmul) + (PITH_MAX_RANK - 2) * sizeof(struct batch_axis) <=
                   OP_LOWERED_MAX,
               "planning reserves more");

static uint32_t matmul_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    return (uint32_t)(sizeof(struct lowered_matmul) + batch_axes(args) * sizeof(struct batch_axis));
}

static enum pith_status matmul_need(const struct op_args *args, const struct op_env *env,
                                    struct op_need *need)
{
    struct lowered_matmul *l = args->lowered;
    bool batched = batched_weight(args);
    set_product(args, l);
    enum pith_status status =
        pith_product_need(&l->product, batched ? NULL : args->weight, args->choice, env, need);
    /* One product's, times the batches; a count only, so it saturates. */
    for (uint32_t i = 0; i < l->n_batch; i++)
        if (!mul_ok(need->macs, l->batch[i].items, &need->macs))
            need->macs = UINT64_MAX;
    /* A weight with batches has no run form: it is read where it lies, or expanded. */
    if (status == PITH_OK && batched && !pith_weight_f32_borrow(args->weight)) {
        need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
        need->prep_form = prep_form(PREP_ELEMENTS, 0);
        if (!mul_ok(args->weight->count, sizeof(float), &need->prep_bytes))
            return PITH_ERR_LIMIT;
    }
    return status;
}

static enum pith_status matmul_prepare(const struct op_args *args, const struct op_env *env)
{
    const struct lowered_matmul *l = args->lowered;
    if (!batched_weight(args))
        return pith_product_prepare(&l->product, args->weight, args->prep, env);
    return args->prep ? pith_weight_cut_f32(env, args->weight, args->prep, env->scratch) : PITH_OK;
}

/* product_data's addresses are of the first batch. */
static struct product_data data_of(const struct op_args *args)
{
    struct product_data d = product_data_of(args);
    d.b = args->in[1]->data;
    d.y = args->out[0]->data;
    if (args->n_in > 2)
        d.c = args->in[2]->data;
    if (batched_weight(args)) {
        d.b = args->prep ? args->prep : pith_weight_f32_borrow(args->weight);
        d.weight = NULL;
        d.prep = NULL;
    }
    return d;
}

/* Batches run one after the other and threads share each product's rows: there are few batches
 * wherever b has them, and a product is large. */
static void matmul_run(const struct op_args *args, const struct op_env *env)
{
    const struct lowered_matmul *l = args->lowered;
    struct product_data d = data_of(args);
    size_t n = 1, y_size = (size_t)l->product.m * l->product.n;
    for (uint32_t i = 0; i < l->n_batch; i++)
        n *= l->batch[i].items;
    for (size_t item = 0; item < n; item++) {
        struct product_data one = d;
        size_t left = item;
        for (uint32_t i = l->n_batch; i-- > 0; left /= l->batch[i].items) {
            const struct batch_axis *axis = &l->batch[i];
            one.a += left % axis->items * axis->a_step;
            one.b += left % axis->items * axis->b_step;
        }
        one.y += item * y_size;
        if (d.residual)
            one.residual += item * y_size;
        pith_product_run(&l->product, &one, env);
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
    .lowered_most = OP_LOWERED_MAX,
    .lowered_bytes = matmul_lowered_bytes,
    .need = matmul_need,
    .prepare = matmul_prepare,
    .run = matmul_run,
};
