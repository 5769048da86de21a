/* SPDX-License-Identifier: MIT */
/* op_softmax.c - Softmax and LogSoftmax along one axis, or over all axes from one on (`flat`, what
 * opsets below 13 mean).
 *
 * The maximum is subtracted first, so exp never overflows and the sum is at least 1. The tensor
 * is treated as [outer, n, inner]; columns of `inner` are handled side by side, so that memory is
 * walked in order.
 *
 * ONNX Softmax-13 and LogSoftmax-13. y may be x: a column's maximum is known before its first
 * element is written. LogSoftmax is (x - max) - log(sum) and never the log of a softmax, whose
 * small shares would be 0. */
#include "kernels/ref/math_f32.h"
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define COLUMNS DENSE_MAX_NR /* side by side */
#define LANES 16u            /* of sums */

static enum pith_status shape_softmax(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    uint32_t rank = args->in[0]->shape.rank;
    /* A flat softmax may start behind the last axis (then every row has one element). */
    uint32_t end = args->attr[ATTR_SOFTMAX_FLAT] ? rank + 1 : rank;
    if ((uint32_t)args->attr[ATTR_SOFTMAX_AXIS] >= end)
        return PITH_ERR_CORRUPT;
    return pith_shape_same_f32(args);
}

/* outer, n, inner as above; `n` is what sums to 1. */
struct softmax_job {
    const struct row_kernels *row;
    const float *x;
    float *y;
    size_t n, inner, blocks; /* blocks of COLUMNS per outer index */
    bool is_log;
};

#define BLOCK 256u /* exponentials at a time */

/* y = x - minus, rounded once; y may be x. */
static void subtract(const struct softmax_job *j, const float *x, float minus, float *y)
{
    if (j->row->elementwise)
        j->row->elementwise->binary[BINARY_SUB](x, 1, &minus, 0, y, j->n);
    for (size_t i = 0; i < j->n && !j->row->elementwise; i++)
        y[i] = x[i] - minus;
}

/* Sixteen partial sums, as the kernel's row has: an order that vectors share. */
static void log_softmax_row(const struct softmax_job *j, const float *x, float *y)
{
    float max, e[BLOCK], lane[LANES] = {0};
    j->row->extreme_rows(x, 1.0f, &max, 1, j->n);
    subtract(j, x, max, y);
    for (size_t at = 0; at < j->n; at += BLOCK) {
        const size_t n = j->n - at < BLOCK ? j->n - at : BLOCK;
        memset(e, 0, sizeof e);
        j->row->exp(y + at, 0.0f, e, n);
        for (size_t i = 0; i < n; i += LANES)
            for (size_t k = 0; k < LANES; k++)
                lane[k] += e[i + k];
    }
    subtract(j, y, pith_log_f32(pith_sum_f32(lane, LANES)), y);
}

/* x, y: [n, inner]; the first `width` columns. Each has its own sum, so a result does not depend on
 * the columns beside it. */
static void log_softmax_columns(const struct softmax_job *j, const float *x, float *y, size_t width)
{
    float max[COLUMNS], sum[COLUMNS] = {0}, e[COLUMNS];
    memcpy(max, x, width * sizeof *max);
    for (size_t i = 1; i < j->n; i++)
        for (size_t c = 0; c < width; c++)
            max[c] = x[i * j->inner + c] > max[c] ? x[i * j->inner + c] : max[c];
    for (size_t i = 0; i < j->n; i++) {
        for (size_t c = 0; c < width; c++)
            y[i * j->inner + c] = x[i * j->inner + c] - max[c];
        j->row->exp(y + i * j->inner, 0.0f, e, width);
        for (size_t c = 0; c < width; c++)
            sum[c] += e[c];
    }
    for (size_t c = 0; c < width; c++)
        sum[c] = pith_log_f32(sum[c]);
    for (size_t i = 0; i < j->n; i++)
        for (size_t c = 0; c < width; c++)
            y[i * j->inner + c] -= sum[c];
}

/* The kernel divides nothing, for attention does that later. */
static void softmax_columns(const struct softmax_job *j, const float *x, float *y, size_t width)
{
    float inverse[COLUMNS];
    for (size_t i = 0; i < j->n && x != y; i++)
        memcpy(y + i * j->inner, x + i * j->inner, width * sizeof *y);
    j->row->softmax_columns(y, j->inner, j->n, width, inverse);
    for (size_t i = 0; i < j->n; i++)
        for (size_t c = 0; c < width; c++)
            y[i * j->inner + c] *= inverse[c];
}

/* Items are rows, or blocks of columns. */
static void softmax_range(void *arg, size_t begin, size_t end)
{
    const struct softmax_job *j = arg;
    /* Softmax of neighbours is a kernel, for it ends every classifier and fills attention. */
    if (j->inner == 1 && !j->is_log) {
        j->row->softmax(j->x + begin * j->n, j->y + begin * j->n, end - begin, j->n);
        return;
    }
    for (size_t item = begin; item < end; item++) {
        size_t first = item % j->blocks * COLUMNS;
        size_t at = item / j->blocks * j->n * j->inner + first;
        size_t width = j->inner - first < COLUMNS ? j->inner - first : COLUMNS;
        if (j->inner == 1)
            log_softmax_row(j, j->x + at, j->y + at);
        else if (j->is_log)
            log_softmax_columns(j, j->x + at, j->y + at, width);
        else
            softmax_columns(j, j->x + at, j->y + at, width);
    }
}

static void run_softmax(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_SOFTMAX_AXIS];
    uint32_t end = args->attr[ATTR_SOFTMAX_FLAT] ? s->rank : axis + 1;
    struct softmax_job job = {
        .row = pith_row_kernels(env->kernels),
        .x = args->in[0]->data,
        .y = args->out[0]->data,
        .n = shape_product(s, axis, end),
        .inner = shape_product(s, end, s->rank),
        .is_log = args->info->op == PITH_OP_LOG_SOFTMAX,
    };
    job.blocks = (job.inner + COLUMNS - 1) / COLUMNS;
    size_t items = shape_product(s, 0, axis) * job.blocks;
    pith_op_range(env, items, job.n * (job.inner < COLUMNS ? job.inner : COLUMNS), softmax_range,
                  &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_SOFTMAX_AXIS, 1, 0, 7},
    {ATTR_INT, ATTR_SOFTMAX_FLAT, 0, 0, 1},
};

#define SOFTMAX(name, number)                                                                      \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = 2,                                                                             \
        .n_slots = 2,                                                                              \
        .flags = OP_INPLACE,                                                                       \
        .fields = fields,                                                                          \
        .shape = shape_softmax,                                                                    \
        .run = run_softmax,                                                                        \
    };

SOFTMAX(softmax, PITH_OP_SOFTMAX)
SOFTMAX(log_softmax, PITH_OP_LOG_SOFTMAX)
