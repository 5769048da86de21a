/* SPDX-License-Identifier: MIT */
/* op_top_k.c - TopK: the k largest (or smallest) elements along an axis and where they
 * stood (i64). They come best first; of equals the one that stood first.
 *
 * The outputs themselves are the heap that holds the best k so far, its worst at the root:
 * nothing else is needed, whatever k. At the end the root is taken off again and again and put
 * behind what is left, which sorts the heap best first. A NaN is neither better nor worse than
 * anything: where there are some, the order is unspecified.
 *
 * ONNX TopK-11, sorted. A heap of k needs n log k comparisons at most and, on data in random
 * order, little more than n, since most elements are worse than the root. */
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_top_k(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct tview *x = args->in[0];
    struct shape s = x->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_TOP_K_AXIS], k = (uint32_t)args->attr[ATTR_TOP_K_K];
    if (x->type != PITH_F32 && x->type != PITH_I32 && x->type != PITH_I64)
        return PITH_ERR_UNSUPPORTED;
    if (axis >= s.rank || k > s.dim[axis])
        return PITH_ERR_CORRUPT;
    s.dim[axis] = k;
    /* pith_out_set() leaves its view alone on failure, so the first output is set when both fit. */
    struct tview indices; /* both outputs are set, or none */
    st = pith_out_set(&indices, PITH_I64, &s);
    if (!st)
        st = pith_out_set(args->out[0], x->type, &s);
    if (!st)
        st = pith_out_set(args->out[1], PITH_I64, &s);
    return st;
}

/* A line's elements are `step` apart in x and in both outputs. */
struct top_k_job {
    enum pith_type type;
    const void *x;
    void *values;
    int64_t *indices;
    size_t dim, k, step, top; /* step: elements between neighbours on the axis; top: largest? */
};

/* Slot i of a heap: v[i * step], and its index at[i * step]. Elements with equal values are
 * ordered by where they stood, which makes the order total and the result the same for every
 * heap. */
#define TOP_K(T)                                                                                   \
    static bool worse_##T(const struct top_k_job *j, T a, int64_t at_a, T b, int64_t at_b)         \
    {                                                                                              \
        if (a != b)                                                                                \
            return j->top ? a < b : a > b;                                                         \
        return at_a > at_b;                                                                        \
    }                                                                                              \
                                                                                                   \
    /* Puts (x, at) into the hole at the root of a heap of n. */                                   \
    static void sift_##T(const struct top_k_job *j, T *v, int64_t *at, size_t n, T x,              \
                         int64_t x_at)                                                             \
    {                                                                                              \
        size_t hole = 0;                                                                           \
        for (;;) {                                                                                 \
            size_t child = 2 * hole + 1, s = j->step;                                              \
            if (child >= n)                                                                        \
                break;                                                                             \
            if (child + 1 < n && worse_##T(j, v[(child + 1) * s], at[(child + 1) * s],             \
                                           v[child * s], at[child * s]))                           \
                child++;                                                                           \
            if (!worse_##T(j, v[child * s], at[child * s], x, x_at))                               \
                break;                                                                             \
            v[hole * s] = v[child * s];                                                            \
            at[hole * s] = at[child * s];                                                          \
            hole = child;                                                                          \
        }                                                                                          \
        v[hole * j->step] = x;                                                                     \
        at[hole * j->step] = x_at;                                                                 \
    }                                                                                              \
                                                                                                   \
    static void swim_##T(const struct top_k_job *j, T *v, int64_t *at, size_t hole, T x,           \
                         int64_t x_at)                                                             \
    {                                                                                              \
        size_t s = j->step;                                                                        \
        for (size_t up = (hole - 1) / 2; hole > 0; hole = up, up = (hole - 1) / 2) {               \
            if (!worse_##T(j, x, x_at, v[up * s], at[up * s]))                                     \
                break;                                                                             \
            v[hole * s] = v[up * s];                                                               \
            at[hole * s] = at[up * s];                                                             \
        }                                                                                          \
        v[hole * s] = x;                                                                           \
        at[hole * s] = x_at;                                                                       \
    }                                                                                              \
                                                                                                   \
    static void line_##T(const struct top_k_job *j, const T *x, T *v, int64_t *at)                 \
    {                                                                                              \
        size_t s = j->step;                                                                        \
        for (size_t i = 0; i < j->k; i++)                                                          \
            swim_##T(j, v, at, i, x[i * s], (int64_t)i);                                           \
        for (size_t i = j->k; i < j->dim; i++)                                                     \
            if (worse_##T(j, v[0], at[0], x[i * s], (int64_t)i))                                   \
                sift_##T(j, v, at, j->k, x[i * s], (int64_t)i);                                    \
        for (size_t n = j->k; n-- > 1;) {                                                          \
            T last = v[n * s];                                                                     \
            int64_t last_at = at[n * s];                                                           \
            v[n * s] = v[0];                                                                       \
            at[n * s] = at[0];                                                                     \
            sift_##T(j, v, at, n, last, last_at);                                                  \
        }                                                                                          \
    }

TOP_K(float)
TOP_K(int32_t)
TOP_K(int64_t)

/* Items are lines along the axis. A line is one thread's. */
static void top_k_range(void *arg, size_t begin, size_t end)
{
    const struct top_k_job *j = arg;
    for (size_t line = begin; line < end; line++) {
        size_t outer = line / j->step, inner = line % j->step;
        size_t from = outer * j->dim * j->step + inner, to = outer * j->k * j->step + inner;
        int64_t *at = j->indices + to;
        if (j->type == PITH_F32)
            line_float(j, (const float *)j->x + from, (float *)j->values + to, at);
        else if (j->type == PITH_I32)
            line_int32_t(j, (const int32_t *)j->x + from, (int32_t *)j->values + to, at);
        else
            line_int64_t(j, (const int64_t *)j->x + from, (int64_t *)j->values + to, at);
    }
}

static void run_top_k(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0];
    uint32_t axis = (uint32_t)args->attr[ATTR_TOP_K_AXIS];
    struct top_k_job job = {.type = x->type,
                            .x = x->data,
                            .values = args->out[0]->data,
                            .indices = args->out[1]->data,
                            .dim = x->shape.dim[axis],
                            .k = (size_t)args->attr[ATTR_TOP_K_K],
                            .step = shape_product(&x->shape, axis + 1, x->shape.rank),
                            .top = args->attr[ATTR_TOP_K_LARGEST] != 0};
    pith_op_range(env, shape_product(&x->shape, 0, axis) * job.step, job.dim, top_k_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_TOP_K_AXIS, 0, 0, 7},
    {ATTR_INT, ATTR_TOP_K_K, 0, 1, INT32_MAX},
    {ATTR_INT, ATTR_TOP_K_LARGEST, 1, 0, 1},
};

const struct op_info pith_op_top_k = {
    .op = PITH_OP_TOP_K,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 2,
    .n_out_max = 2,
    .n_fields = 3,
    .n_slots = 3,
    .fields = fields,
    .shape = shape_top_k,
    .run = run_top_k,
};
