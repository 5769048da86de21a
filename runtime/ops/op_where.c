/* SPDX-License-Identifier: MIT */
/* op_where.c - y = condition ? a : b, all three broadcast, for elements of any type: they are
 * moved, not computed with.
 *
 * Axes along which all three advance alike are merged, as in broadcast.c; along a row each
 * operand's step is 0 or 1.
 *
 * ONNX Where-16. Bits are chosen, not added: a NaN in the operand that is not taken leaves no
 * trace. */
#include "op_interface/broadcast.h"
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"

/* Elements of a piece: what one item of work writes. */
#define PIECE 4096u

static enum pith_status shape_where(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 3);
    if (st)
        return st;
    const struct tview *condition = args->in[0], *a = args->in[1], *b = args->in[2];
    if (condition->type != PITH_BOOL || a->type != b->type)
        return PITH_ERR_CORRUPT;
    if (pith_type_bytes(a->type) == 0)
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    if (!st)
        st = pith_broadcast_shape(&s, &condition->shape, &s);
    return st ? st : pith_out_set(args->out[0], a->type, &s);
}

/* Steps of condition, a and b in elements; the row's are 0 or 1 after merging. */
struct where_job {
    const struct row_kernels *kernels;
    uint32_t rank;
    size_t dim[PITH_MAX_RANK], step[3][PITH_MAX_RANK]; /* the last axis is the row */
    size_t row_elems, pieces, bytes;
    const uint8_t *in[3];
    uint8_t *y;
};

/* As broadcast.c does it for two operands; three would not share a struct with two without a
 * count in every loop. */
static void push_axis(struct where_job *j, size_t dim, const size_t step[3])
{
    bool merge = j->rank > 0;
    for (uint32_t k = 0; k < 3 && merge; k++)
        merge = j->step[k][j->rank - 1] == step[k] * dim;
    if (merge)
        j->dim[j->rank - 1] *= dim;
    else
        j->dim[j->rank++] = dim;
    for (uint32_t k = 0; k < 3; k++)
        j->step[k][j->rank - 1] = step[k];
}

/* Elements of operand k for one step of the output's axis; 0 where it is repeated. Dims of 1 are
 * read again for each place. */
static size_t step_of(const struct shape *s, uint32_t rank, uint32_t axis)
{
    uint32_t missing = rank - s->rank;
    if (axis < missing || s->dim[axis - missing] == 1)
        return 0;
    return shape_product(s, axis - missing + 1, s->rank);
}

/* The four ways in which operands of a row stand still or move, each a loop without a test of
 * its kind; elements are moved as unsigned integers of their size, so four functions serve ten
 * types. */
#define WHERE_ROW(T)                                                                               \
    static void where_##T(const uint8_t *c, size_t c_step, const T *a, size_t a_step, const T *b,  \
                          size_t b_step, T *y, size_t n)                                           \
    {                                                                                              \
        if (c_step == 0) {                                                                         \
            const T *from = *c ? a : b;                                                            \
            size_t step = *c ? a_step : b_step;                                                    \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = from[i * step];                                                             \
        } else if (a_step && b_step) {                                                             \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = c[i] ? a[i] : b[i];                                                         \
        } else if (a_step || b_step) {                                                             \
            const T *moving = a_step ? a : b, fixed = a_step ? *b : *a;                            \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = (c[i] != 0) == (a_step != 0) ? moving[i] : fixed;                           \
        } else {                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                y[i] = c[i] ? *a : *b;                                                             \
        }                                                                                          \
    }

WHERE_ROW(uint8_t)
WHERE_ROW(uint16_t)
WHERE_ROW(uint32_t)
WHERE_ROW(uint64_t)

/* In the row kernel where elements have 4 bytes and the condition moves: the masks of
 * transformers. */
static void where_range(void *arg, size_t begin, size_t end)
{
    const struct where_job *j = arg;
    uint32_t last = j->rank - 1;
    const size_t step[3] = {j->step[0][last], j->step[1][last], j->step[2][last]};
    for (size_t item = begin; item < end; item++) {
        size_t row = item / j->pieces, first = item % j->pieces * PIECE, at[3];
        size_t n = j->row_elems - first < PIECE ? j->row_elems - first : PIECE;
        for (uint32_t k = 0; k < 3; k++)
            at[k] = first * step[k];
        size_t rest = row;
        for (uint32_t i = last; i-- > 0; rest /= j->dim[i])
            for (uint32_t k = 0; k < 3; k++)
                at[k] += rest % j->dim[i] * j->step[k][i];
        const uint8_t *c = j->in[0] + at[0];
        const void *a = j->in[1] + at[1] * j->bytes, *b = j->in[2] + at[2] * j->bytes;
        void *y = j->y + (row * j->row_elems + first) * j->bytes;
        if (j->bytes == 1)
            where_uint8_t(c, step[0], a, step[1], b, step[2], y, n);
        else if (j->bytes == 2)
            where_uint16_t(c, step[0], a, step[1], b, step[2], y, n);
        else if (j->bytes == 4 && step[0])
            j->kernels->where(c, a, step[1], b, step[2], y, n);
        else if (j->bytes == 4)
            where_uint32_t(c, step[0], a, step[1], b, step[2], y, n);
        else
            where_uint64_t(c, step[0], a, step[1], b, step[2], y, n);
    }
}

static void run_where(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->out[0]->shape;
    struct where_job job = {.bytes = pith_type_bytes(args->out[0]->type),
                            .y = args->out[0]->data,
                            .kernels = pith_row_kernels(env->kernels)};
    for (uint32_t k = 0; k < 3; k++)
        job.in[k] = args->in[k]->data;
    for (uint32_t i = 0; i < s->rank; i++) {
        size_t step[3];
        for (uint32_t k = 0; k < 3; k++)
            step[k] = step_of(&args->in[k]->shape, s->rank, i);
        if (s->dim[i] > 1)
            push_axis(&job, s->dim[i], step);
    }
    if (job.rank == 0) /* one element */
        job.dim[job.rank++] = 1;
    size_t rows = 1;
    for (uint32_t i = 0; i + 1 < job.rank; i++)
        rows *= job.dim[i];
    job.row_elems = job.dim[job.rank - 1];
    job.pieces = (job.row_elems + PIECE - 1) / PIECE;
    pith_op_range(env, rows * job.pieces, job.row_elems < PIECE ? job.row_elems : PIECE,
                  where_range, &job);
}

const struct op_info pith_op_where = {
    .op = PITH_OP_WHERE,
    .n_in_min = 3,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .traits = {.flags = TRAIT_BROADCASTS},
    .shape = shape_where,
    .run = run_where,
};
