/* SPDX-License-Identifier: MIT */
/* op_matmul_integer.c - products of matrices of integers of 8 or 16 bits, summed in 32 bits (modulo
 * 2^32, which holds K <= 33,000 of 8 bits exactly; with b of 16 bits in 64, modulo 2^64):
 *
 *     y[m, n] = sum over k of (a[m, k] - za[m]) * (b[k, n] - zb[n])     (trans_b: b[n, k])
 *             = sum over k of (a[m, k] - za[m]) * b[k, n]
 *               - zb[n] * sum over k of (a[m, k] - za[m])
 *
 * The second form is what runs: the inner loop is over a row of b. Where b is a constant, the
 * product goes to the kernels (integer_conv.c) if those can.
 *
 * ONNX MatMulInteger-10. K <= 33,000: 2^31 / 65,025 = 33,026 products of two bytes, the largest
 * in size 255 * 255. Sums are kept unsigned, where wrapping is defined. */
#include "core/build_choice.h"
#include "op_interface/broadcast.h"
#include "products/integer_conv.h"
#include "kernels/ref/integer_element.h"
#include "kernels/integer_row.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_MATMUL_TRANS_B, 0, 0, 1},
};

/* A weight that others read as [K, N]: the loops below go over it in other steps, kernels pack it
 * as well as any, and without kernels it is read like a convolution's. */
static uint32_t is_turned(const struct op_args *args)
{
    return (uint32_t)args->attr[ATTR_MATMUL_TRANS_B]; /* 0 or 1 */
}

/* Batch dims, and the sizes of numpy's matrix product. Leading axes broadcast; a vector is a row
 * or a column, as in op_matmul.c. With trans_b b is a matrix [N, K]. */
struct product_shape {
    struct shape batch_a, batch_b, batch;
    uint32_t m, n, k;
};

static struct shape leading(const struct shape *s)
{
    struct shape lead = {.rank = s->rank > 2 ? s->rank - 2 : 0};
    for (uint32_t i = 0; i < lead.rank; i++)
        lead.dim[i] = s->dim[i];
    return lead;
}

static enum pith_status product_shape_of(const struct op_args *args, struct product_shape *p)
{
    const struct shape *a = &args->in[0]->shape;
    struct shape b = args->in[1]->shape;
    if (is_turned(args)) {
        b.dim[0] = b.dim[1];
        b.dim[1] = args->in[1]->shape.dim[0];
    }
    if (a->rank == 0 || b.rank == 0 || (is_turned(args) && b.rank != 2))
        return PITH_ERR_CORRUPT;
    p->batch_a = leading(a);
    p->batch_b = leading(&b);
    p->m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    p->n = b.rank > 1 ? b.dim[b.rank - 1] : 1;
    p->k = a->dim[a->rank - 1];
    if (p->k != b.dim[b.rank > 1 ? b.rank - 2 : 0])
        return PITH_ERR_CORRUPT;
    return pith_broadcast_shape(&p->batch_a, &p->batch_b, &p->batch);
}

/* Absent, one element, or `n` in one dim. Of a one for each row, of b one for each column: both
 * leave the sum over k. */
static bool zero_fits(const struct op_args *args, uint32_t i, uint32_t n)
{
    const struct tview *zero = args->n_in > i ? args->in[i] : NULL;
    return !zero || (zero->type == args->in[i - 2]->type && zero->shape.rank <= 1 &&
                     (shape_elems(&zero->shape) == 1 || zero->shape.dim[0] == n));
}

static enum pith_status shape_matmul_integer(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    if (!is_grid_type(args->in[0]->type) || !is_grid_type(args->in[1]->type))
        return PITH_ERR_UNSUPPORTED;
    struct product_shape p;
    st = product_shape_of(args, &p);
    if (st)
        return st;
    if (!zero_fits(args, 2, p.m) || !zero_fits(args, 3, p.n))
        return PITH_ERR_CORRUPT;
    struct shape y = p.batch;
    if (y.rank > PITH_MAX_RANK - 2)
        return PITH_ERR_CORRUPT;
    if (args->in[0]->shape.rank > 1)
        y.dim[y.rank++] = p.m;
    if (args->in[1]->shape.rank > 1)
        y.dim[y.rank++] = p.n;
    return pith_out_set(args->out[0], sums_of(args->in[1]->type), &y);
}

/* a is walked element by element, b row by row; a row of b is what the inner loop reads. */
struct product_job {
    struct product_shape p;
    enum pith_type type_a;
    struct integer_row row; /* of b */
    const uint8_t *a, *b;
    const void *zero_a, *zero_b; /* NULL: 0 */
    size_t step_a, step_b;       /* of the zero points: 0 or 1 */
    size_t step_k;               /* elements of b from one k to the next */
    uint8_t *y;
};

/* y[n] -= sum * zero point of b[n] The term with zb is one product a column, after the loop:
 * inside it would be one for each k. */
static void take_zero_b(const struct product_job *j, uint64_t sum, uint8_t *y)
{
    if (!j->zero_b)
        return;
    for (size_t n = 0; n < j->p.n; n++) {
        uint64_t off = sum * (uint64_t)(int64_t)integer_at(j->row.type, j->zero_b, n * j->step_b);
        if (j->row.wide)
            ((uint64_t *)(void *)y)[n] -= off;
        else
            ((uint32_t *)(void *)y)[n] -= (uint32_t)off;
    }
}

/* Items are rows of y. A row of y is computed by one thread from first to last k, though the
 * order would not matter modulo 2^n. */
static void product_range(void *arg, size_t begin, size_t end)
{
    const struct product_job *j = arg;
    const struct product_shape *p = &j->p;
    struct broadcast bc = pith_broadcast_plan(&p->batch_a, &p->batch_b);
    size_t element = pith_type_bytes(j->row.type), row_y = p->n * (size_t)(j->row.wide ? 8 : 4);
    for (size_t item = begin; item < end; item++) {
        /* The batch's places in a and b; bc merges axes, so the last one is stepped here. */
        size_t m = item % p->m, batch = item / p->m, row = bc.dim[bc.rank - 1], at[2];
        for (uint32_t i = 0; i < 2; i++)
            at[i] =
                pith_broadcast_offset(&bc, i, batch / row) + batch % row * bc.step[i][bc.rank - 1];
        const uint8_t *a = j->a + (at[0] * p->m + m) * p->k * pith_type_bytes(j->type_a);
        const uint8_t *b = j->b + at[1] * p->k * p->n * element;
        int32_t zero = j->zero_a ? integer_at(j->type_a, j->zero_a, m * j->step_a) : 0;
        uint8_t *y = j->y + item * row_y;
        uint64_t sum = 0;
        memset(y, 0, row_y);
        for (size_t k = 0; k < p->k; k++, b += j->step_k * element) {
            int32_t scale = integer_at(j->type_a, a, k) - zero;
            /* Signed to 64 bits first: a difference of bytes may be negative. */
            sum += (uint64_t)(int64_t)scale;
            pith_integer_row_add(&j->row, b, scale, y, p->n);
        }
        take_zero_b(j, sum, y);
    }
}

static const struct tview *optional_in(const struct op_args *args, uint32_t i)
{
    return args->n_in > i ? args->in[i] : NULL;
}

/* Of a b that is computed, or that no kernel takes. Not inlined: its structs would be on the stack
 * of every product. */
static __attribute__((noinline)) void multiply(const struct op_args *args, const struct op_env *env)
{
    const struct tview *za = optional_in(args, 2), *zb = optional_in(args, 3);
    struct product_job job = {
        .type_a = args->in[0]->type,
        .row = {.type = args->in[1]->type, .wide = args->out[0]->type == PITH_I64},
        .a = args->in[0]->data,
        .b = pith_integer_op_weights(args),
        .y = args->out[0]->data};
    product_shape_of(args, &job.p); /* cannot fail: the shape rule passed */
    job.row.stride = is_turned(args) ? job.p.k : 1;
    job.step_k = is_turned(args) ? 1 : job.p.n;
    if (za) {
        job.zero_a = za->data;
        job.step_a = shape_elems(&za->shape) > 1;
    }
    if (zb) {
        job.zero_b = zb->data;
        job.step_b = shape_elems(&zb->shape) > 1;
    }
    size_t work = (size_t)job.p.k * job.p.n;
    pith_op_range(env, shape_elems(&job.p.batch) * job.p.m, work, product_range, &job);
}

static void run_matmul_integer(const struct op_args *args, const struct op_env *env)
{
    if (!pith_integer_op_run(args, env))
        multiply(args, env);
}

/* Kernels take a constant b as a convolution of one pixel (integer_conv.c). */
static enum pith_status need_matmul_integer(const struct op_args *args, const struct op_env *env,
                                            struct op_need *need)
{
    struct product_shape p;
    *need = (struct op_need){.kernel = "matmul-i8"};
    product_shape_of(args, &p);
    if (!mul_ok(shape_elems(&args->out[0]->shape), p.k, &need->macs))
        need->macs = UINT64_MAX;
    return pith_integer_op_need(args, env, pith_integer_conv_of_matmul, need);
}

static enum pith_status prepare_matmul_integer(const struct op_args *args, const struct op_env *env)
{
    const struct shape *b = &args->in[1]->shape;
    /* Where a weight's next output and next input channel lie, for who packs it. */
    struct integer_weights strides = {.output = 1, .channel = b->dim[b->rank - 1]};
    if (is_turned(args))
        strides = (struct integer_weights){.output = strides.channel, .channel = 1};
    return pith_integer_op_prepare(args, env, &strides);
}

const struct op_info pith_op_matmul_integer = {
    .op = PITH_OP_MATMUL_INTEGER,
    .n_in_min = 2,
    .n_in_max = 4,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = 1,
    .flags = OP_WEIGHT,
    .fields = fields,
    .traits = {.flags = TRAIT_INTEGERS,
               .weight_input = 1,
               .bias_input = 0,
               .row_axis = OP_LAST_AXIS,
               .trans_slot = ATTR_MATMUL_TRANS_B,
               .group_slot = OP_NO_SLOT,
               .integer_op = 0,
               .parameters = 0},
    .shape = shape_matmul_integer,
    .lowered_most = INTEGER_LOWERED_MAX,
    .lowered_bytes = pith_integer_op_lowered_bytes,
    .need = need_matmul_integer,
    .prepare = prepare_matmul_integer,
    .run = run_matmul_integer,
};
