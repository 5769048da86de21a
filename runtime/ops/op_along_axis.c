/* SPDX-License-Identifier: MIT */
/* op_along_axis.c - what turns each line along one axis into a line as long: Hardmax (1 at the
 * first of the largest, 0 elsewhere), CumSum and LpNormalization, distinguished by `kind`.
 *
 * The tensor is treated as [outer, n, inner], in columns of `inner` 16 at a time. Sums are kept in
 * double. CumSum also takes i32 and i64, wrapping. A line of zeros stays zeros under
 * LpNormalization.
 *
 * Sixteen columns are one cache line of f32: a walk along an axis that is not the last then uses
 * all that it loads. Each column has an accumulator of its own, so the order of a sum is that of
 * its line, whatever else is computed beside it. */
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define COLUMNS 16u
#define LINES 4u /* that are summed together */

static enum pith_status shape_along(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct tview *x = args->in[0];
    bool is_sum = args->attr[ATTR_KIND] == ALONG_CUM_SUM;
    /* A flat Hardmax may start behind the last axis (then every row has one element). */
    uint32_t end = args->attr[ATTR_ALONG_FLAT] ? x->shape.rank + 1 : x->shape.rank;
    if ((uint32_t)args->attr[ATTR_ALONG_AXIS] >= end)
        return PITH_ERR_CORRUPT;
    if (x->type != PITH_F32 && !(is_sum && (x->type == PITH_I32 || x->type == PITH_I64)))
        return PITH_ERR_UNSUPPORTED;
    return pith_out_set(args->out[0], x->type, &x->shape);
}

struct along_job {
    int32_t kind, p;
    bool exclusive, reverse;
    enum pith_type type;
    const void *x;
    void *y;
    size_t n, inner, columns, blocks;
};

/* Strictly larger, so that the first of equals is found, as in ONNX. A NaN never wins, but
 * stays where it is first. */
static void hardmax(const struct along_job *j, const float *x, float *y, size_t width)
{
    for (size_t c = 0; c < width; c++) {
        size_t best = 0;
        float max = x[c];
        for (size_t i = 1; i < j->n; i++)
            if (x[i * j->inner + c] > max) {
                max = x[i * j->inner + c];
                best = i;
            }
        for (size_t i = 0; i < j->n; i++)
            y[i * j->inner + c] = i == best ? 1.0f : 0.0f;
    }
}

/* The division is by the norm itself, not a product with its inverse: two roundings would differ
 * from other runtimes in the last bit. */
static void lp_normalize(const struct along_job *j, const float *x, float *y, size_t width)
{
    double sum[COLUMNS] = {0};
    for (size_t i = 0; i < j->n; i++)
        for (size_t c = 0; c < width; c++) {
            double v = (double)x[i * j->inner + c];
            sum[c] += j->p == 2 ? v * v : v < 0.0 ? -v : v;
        }
    float norm[COLUMNS];
    for (size_t c = 0; c < width; c++) {
        norm[c] = j->p == 2 ? pith_sqrt_f32((float)sum[c]) : (float)sum[c];
        /* x / 1 leaves the zeros of an empty line, or one that underflowed, as they are. */
        norm[c] = norm[c] == 0.0f ? 1.0f : norm[c];
    }
    for (size_t i = 0; i < j->n; i++)
        for (size_t c = 0; c < width; c++)
            y[i * j->inner + c] = x[i * j->inner + c] / norm[c];
}

/* The element is read before it is overwritten: y may be x. S is wide enough not to lose what a
 * sum needs: double for f32; for integers the unsigned type, whose overflow is defined and
 * leaves the bits that ONNX's wrapping sum has. Sums of `lines` columns, `apart` elements from one
 * to the next, stay in registers and do not wait for one another. */
#define CUM_SUM(T, S)                                                                              \
    static inline __attribute__((always_inline)) void cum_lines_##T(                               \
        const struct along_job *j, const T *x, T *y, size_t apart, const size_t lines)             \
    {                                                                                              \
        const ptrdiff_t step = j->reverse ? -(ptrdiff_t)j->inner : (ptrdiff_t)j->inner;            \
        ptrdiff_t at = j->reverse ? (ptrdiff_t)((j->n - 1) * j->inner) : 0;                        \
        S sum[LINES] = {0};                                                                        \
        for (size_t i = 0; i < j->n; i++, at += step)                                              \
            for (size_t c = 0; c < lines; c++) {                                                   \
                const S before = sum[c];                                                           \
                sum[c] += (S)x[at + (ptrdiff_t)(c * apart)];                                       \
                y[at + (ptrdiff_t)(c * apart)] = (T)(j->exclusive ? before : sum[c]);              \
            }                                                                                      \
    }                                                                                              \
    static void cum_sum_##T(const struct along_job *j, const T *x, T *y, size_t width)             \
    {                                                                                              \
        const size_t apart = j->inner > 1 ? 1 : j->n;                                              \
        for (; width >= LINES; width -= LINES, x += LINES * apart, y += LINES * apart)             \
            cum_lines_##T(j, x, y, apart, LINES);                                                  \
        for (; width > 0; width--, x += apart, y += apart)                                         \
            cum_lines_##T(j, x, y, apart, 1);                                                      \
    }

CUM_SUM(float, double)
CUM_SUM(int32_t, uint32_t)
CUM_SUM(int64_t, uint64_t)

/* One item is a block of columns at one outer index: what threads share out. Lines of CumSum that
 * lie one behind the other count as columns. */
static void along_range(void *arg, size_t begin, size_t end)
{
    const struct along_job *j = arg;
    for (size_t item = begin; item < end; item++) {
        size_t first = item % j->blocks * COLUMNS;
        size_t at =
            j->inner < j->columns ? first * j->n : item / j->blocks * j->n * j->inner + first;
        size_t width = j->columns - first < COLUMNS ? j->columns - first : COLUMNS;
        if (j->type == PITH_I32)
            cum_sum_int32_t(j, (const int32_t *)j->x + at, (int32_t *)j->y + at, width);
        else if (j->type == PITH_I64)
            cum_sum_int64_t(j, (const int64_t *)j->x + at, (int64_t *)j->y + at, width);
        else if (j->kind == ALONG_CUM_SUM)
            cum_sum_float(j, (const float *)j->x + at, (float *)j->y + at, width);
        else if (j->kind == ALONG_HARDMAX)
            hardmax(j, (const float *)j->x + at, (float *)j->y + at, width);
        else
            lp_normalize(j, (const float *)j->x + at, (float *)j->y + at, width);
    }
}

static void run_along(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_ALONG_AXIS];
    /* A flat Hardmax (opset 1 to 12) takes all axes from `axis` on as one line. */
    uint32_t end = args->attr[ATTR_ALONG_FLAT] ? s->rank : axis + 1;
    struct along_job job = {
        .kind = args->attr[ATTR_KIND],
        .p = args->attr[ATTR_ALONG_P],
        .exclusive = args->attr[ATTR_ALONG_EXCLUSIVE],
        .reverse = args->attr[ATTR_ALONG_REVERSE],
        .type = args->in[0]->type,
        .x = args->in[0]->data,
        .y = args->out[0]->data,
        .n = shape_product(s, axis, end),
        .inner = shape_product(s, end, s->rank),
    };
    /* The work of an item is passed on so that short lines are not handed to threads one by one. */
    size_t outer = shape_product(s, 0, axis);
    job.columns = job.inner;
    if (job.kind == ALONG_CUM_SUM && job.inner == 1) {
        job.columns = outer;
        outer = 1;
    }
    job.blocks = (job.columns + COLUMNS - 1) / COLUMNS;
    pith_op_range(env, outer * job.blocks, job.n * (job.columns < COLUMNS ? job.columns : COLUMNS),
                  along_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_KIND, -1, 0, ALONG_END - 1}, {ATTR_INT, ATTR_ALONG_AXIS, -1, 0, 7},
    {ATTR_INT, ATTR_ALONG_FLAT, 0, 0, 1},        {ATTR_INT, ATTR_ALONG_P, 2, 1, 2},
    {ATTR_INT, ATTR_ALONG_EXCLUSIVE, 0, 0, 1},   {ATTR_INT, ATTR_ALONG_REVERSE, 0, 0, 1},
};

const struct op_info pith_op_along_axis = {
    .op = PITH_OP_ALONG_AXIS,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 6,
    .n_slots = 6,
    .flags = OP_INPLACE,
    .fields = fields,
    .shape = shape_along,
    .run = run_along,
};
