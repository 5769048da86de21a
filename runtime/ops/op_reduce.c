/* SPDX-License-Identifier: MIT */
/* op_reduce.c - ReduceSum, Max, Min, Prod, L1, L2, LogSum, LogSumExp and SumSquare, distinguished
 * by `kind`; axes as for ReduceMean (op_reduce_mean.c). f32 for all, sums and products in double;
 * i32 and i64 for Sum, Max, Min and Prod, wrapping. Max and Min give NaN where there is one.
 *
 * Where the innermost axes are reduced, rows are summed up; where they are kept, neighbouring
 * outputs are computed side by side.
 *
 * ONNX Reduce*-18. One operator in the format for nine of ONNX's, because they differ in how an
 * element joins the sum alone. LogSumExp subtracts the maximum first, as softmax does, so that
 * no exponential overflows. */
#include "core/f64_bits.h"
#include "kernels/kernels.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/reduced_axes.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Sums in double of a block are 512 bytes, on the stack. */
#define COLUMNS 64u
#define WIDE_COLUMNS 1024u /* of which a row of results stays in the first-level cache */

static enum pith_status shape_reduce(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    enum pith_type type = args->in[0]->type;
    bool is_integer = type == PITH_I32 || type == PITH_I64;
    if (type != PITH_F32 && !(is_integer && args->attr[ATTR_KIND] <= REDUCE_PROD))
        return PITH_ERR_UNSUPPORTED;
    return pith_reduced_shape(args, ATTR_REDUCE_KIND_AXES, ATTR_REDUCE_KIND_KEEP, type);
}

/* axis_walk merges axes that lie behind one another (op_interface/reduced_axes.c). */
struct reduce_job {
    int32_t kind;
    enum pith_type type;
    const void *x;
    void *y;
    struct axis_walk kept, reduced;
    size_t row;             /* contiguous reduced elements; 1 when the inner run is kept */
    size_t inner;           /* contiguous kept elements; 1 when the inner run is reduced */
    size_t columns, blocks; /* blocks of `columns` in inner */
    size_t rows, step;      /* of columns of f32: the innermost reduced axis */
    const struct row_kernels *row_kernels;
    bool extreme; /* Max or Min of f32 */
    bool follow;  /* rows of those, or short ones of a sum, lie behind one another */
};

/* ---- f32 --------------------------------------------------------------------------------- */

/* which ? x : m without a jump, so that columns become vectors */
static inline double choose_f64(bool which, double x, double m)
{
    uint64_t mask = 0u - (uint64_t)which;
    return f64_from_bits((f64_bits(x) & mask) | (f64_bits(m) & ~mask));
}

/* NaN goes through a maximum, which C's fmax would drop; docs/arithmetic.md promises it. */
static inline double larger(double m, double x)
{
    return choose_f64(!(x <= m), x, m);
}

static inline double smaller(double m, double x)
{
    return choose_f64(!(x >= m), x, m);
}

/* The neutral element. Integers have none for Max and Min: they begin with the first element. */
static double first_value(int32_t kind)
{
    const double inf = (double)f32_from_bits(0x7f800000u);
    return kind == REDUCE_MAX ? -inf : kind == REDUCE_MIN ? inf : kind == REDUCE_PROD ? 1.0 : 0.0;
}

/* The largest element or, of `turn` -1, minus the smallest; a NaN stays one, as above. */
static float extreme(const struct reduce_job *j, const float *x, size_t n, float turn)
{
    float y;
    j->row_kernels->extreme_rows(x, turn, &y, 1, n);
    return y;
}

/* As pith_long_sum_f32 of exp(x - minus). */
static double long_sum_exp(const struct reduce_job *j, const float *x, size_t n, float minus)
{
    float e[LONG_SUM_PIECE];
    double sum = 0;
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = n - at < LONG_SUM_PIECE ? n - at : LONG_SUM_PIECE;
        j->row_kernels->exp(x + at, minus, e, piece);
        sum += (double)pith_sum_f32(e, piece);
    }
    return sum;
}

/* acc joined by a row of n elements; `minus` is what LogSumExp subtracts. In double where
 * elements are f32: K products or sums then lose no more than one rounding for K < 2^29. */
static double join_row(const struct reduce_job *j, int32_t kind, double acc, const float *x,
                       size_t n, float minus)
{
    switch ((enum reduce_kind)kind) {
    case REDUCE_MAX:
        return larger(acc, (double)extreme(j, x, n, 1.0f));
    case REDUCE_MIN:
        return smaller(acc, (double)-extreme(j, x, n, -1.0f));
    case REDUCE_PROD:
        for (size_t i = 0; i < n; i++)
            acc *= (double)x[i];
        return acc;
    case REDUCE_L1:
        return acc + pith_long_sum_abs_f32(x, n);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return acc + pith_long_sum_square_f32(x, 0.0f, n);
    case REDUCE_LOG_SUM_EXP:
        return acc + long_sum_exp(j, x, n, minus);
    case REDUCE_SUM:
    case REDUCE_LOG_SUM:
    case REDUCE_END:
        break;
    }
    return acc + pith_long_sum_f32(x, n);
}

#define EACH_COLUMN(value)                                                                         \
    for (size_t c = 0; c < width; c++)                                                             \
    acc[c] = (value)

typedef double two_f64 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t two_i64 __attribute__((vector_size(16)));

static inline two_f64 size_of(two_f64 v, bool squared)
{
    if (squared)
        return v * v;
    return (two_f64)((two_i64)v & INT64_MAX);
}

/* acc[c] += x[c]^2 or |x[c]| */
static inline __attribute__((always_inline)) void add_sizes(double *acc, const float *x,
                                                            size_t width, const bool squared)
{
    size_t c = 0;
    for (; c + 4 <= width; c += 4) {
        two_f64 *to = (two_f64 *)(void *)(acc + c);
        to[0] += size_of((two_f64){(double)x[c], (double)x[c + 1]}, squared);
        to[1] += size_of((two_f64){(double)x[c + 2], (double)x[c + 3]}, squared);
    }
    for (; c < width; c++)
        acc[c] += size_of((two_f64){(double)x[c]}, squared)[0];
}

/* acc[c] joined by x[c], of kinds that have no kernel. */
static void join_columns(int32_t kind, double *acc, const float *x, size_t width,
                         const float *minus)
{
    float e[COLUMNS];
    switch ((enum reduce_kind)kind) {
    case REDUCE_PROD:
        EACH_COLUMN(acc[c] * (double)x[c]);
        break;
    case REDUCE_L1:
        add_sizes(acc, x, width, false);
        break;
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        add_sizes(acc, x, width, true);
        break;
    /* Through f32, with the exp that everything else uses. */
    case REDUCE_LOG_SUM_EXP:
        for (size_t c = 0; c < width; c++)
            e[c] = x[c] - minus[c];
        pith_exp_row_f32(e, 0.0f, e, width);
        EACH_COLUMN(acc[c] + (double)e[c]);
        break;
    default: /* the others have kernels */
        break;
    }
}

/* One order whatever the shape: along the reduced axes as they lie, rows joined by fixed pieces. */
static void join_all(const struct reduce_job *j, int32_t kind, const float *x, size_t width,
                     const float *minus, double *acc)
{
    for (size_t c = 0; c < width; c++)
        acc[c] = first_value(kind);
    for (size_t r = 0; r < j->reduced.count; r++) {
        const float *row = x + axis_offset(&j->reduced, r);
        if (j->row > 1)
            acc[0] = join_row(j, kind, acc[0], row, j->row, minus[0]);
        else if (kind == REDUCE_SUM || kind == REDUCE_LOG_SUM)
            j->row_kernels->sum_columns(row, j->step, j->rows, width, acc);
        else
            for (size_t i = 0; i < j->rows; i++)
                join_columns(kind, acc, row + i * j->step, width, minus);
    }
}

/* y: the largest of turn * x, of columns. */
static void extremes(const struct reduce_job *j, const float *x, float turn, float *y, size_t width)
{
    for (size_t c = 0; c < width; c++)
        y[c] = turn * x[c];
    for (size_t r = 0; r < j->reduced.count; r++)
        j->row_kernels->extreme_columns(x + axis_offset(&j->reduced, r), j->step, j->rows, width,
                                        turn, y);
}

static float finish(int32_t kind, double acc, float max)
{
    if (kind == REDUCE_L2)
        return pith_sqrt_f32((float)acc);
    if (kind == REDUCE_LOG_SUM)
        return pith_log_f32((float)acc);
    if (kind != REDUCE_LOG_SUM_EXP)
        return (float)acc;
    /* exp(x - max) of an infinite maximum would be NaN; the maximum is the result. */
    return max - max == 0.0f ? max + pith_log_f32((float)acc) : max; /* infinite or NaN */
}

static void reduce_f32(const struct reduce_job *j, const float *x, float *y, size_t width)
{
    const float turn = j->kind == REDUCE_MIN ? -1.0f : 1.0f;
    if (j->row == 1 && j->extreme) {
        extremes(j, x, turn, y, width);
        for (size_t c = 0; c < width; c++)
            y[c] *= turn;
        return;
    }
    double acc[COLUMNS];
    float max[COLUMNS] = {0};
    /* First pass: the maximum of each line. */
    if (j->kind == REDUCE_LOG_SUM_EXP && j->row == 1) {
        extremes(j, x, 1.0f, max, width);
    } else if (j->kind == REDUCE_LOG_SUM_EXP) {
        join_all(j, REDUCE_MAX, x, width, max, acc);
        max[0] = (float)acc[0];
    }
    join_all(j, j->kind, x, width, max, acc);
    for (size_t c = 0; c < width; c++)
        y[c] = finish(j->kind, acc[c], max[c]);
}

/* ---- integers ---------------------------------------------------------------------------- */

/* Unsigned: overflow wraps, as ONNX's integers do. Lines are walked one by one: integer
 * reductions are of shapes and counts. */
#define REDUCE_INTEGER(T, U)                                                                       \
    static T join_##T(int32_t kind, T acc, T x)                                                    \
    {                                                                                              \
        if (kind == REDUCE_SUM)                                                                    \
            return (T)((U)acc + (U)x);                                                             \
        if (kind == REDUCE_PROD)                                                                   \
            return (T)((U)acc * (U)x);                                                             \
        return (kind == REDUCE_MAX) == (x > acc) ? x : acc;                                        \
    }                                                                                              \
    static void reduce_##T(const struct reduce_job *j, const T *x, T *y, size_t width)             \
    {                                                                                              \
        for (size_t c = 0; c < width; c++) {                                                       \
            T acc = x[c];                                                                          \
            for (size_t r = 0; r < j->reduced.count; r++) {                                        \
                const T *row = x + c + axis_offset(&j->reduced, r);                                \
                for (size_t i = r == 0; i < j->row; i++)                                           \
                    acc = join_##T(j->kind, acc, row[i]);                                          \
            }                                                                                      \
            y[c] = acc;                                                                            \
        }                                                                                          \
    }

REDUCE_INTEGER(int32_t, uint32_t)
REDUCE_INTEGER(int64_t, uint64_t)

/* ---- both -------------------------------------------------------------------------------- */

/* As op_reduce_mean.c. */
static void reduce_range(void *arg, size_t begin, size_t end)
{
    const struct reduce_job *j = arg;
    if (j->follow && !j->extreme) {
        j->row_kernels->sum_rows((const float *)j->x + begin * j->row, (float *)j->y + begin,
                                 end - begin, j->row);
        return;
    }
    if (j->follow) {
        const float turn = j->kind == REDUCE_MAX ? 1.0f : -1.0f;
        float *y = (float *)j->y + begin;
        j->row_kernels->extreme_rows((const float *)j->x + begin * j->row, turn, y, end - begin,
                                     j->row);
        for (size_t i = 0; i < end - begin; i++)
            y[i] *= turn;
        return;
    }
    for (size_t item = begin; item < end; item++) {
        size_t outer = item / j->blocks, first = item % j->blocks * j->columns;
        size_t width = j->inner - first < j->columns ? j->inner - first : j->columns;
        size_t from = axis_offset(&j->kept, outer) + first, to = outer * j->inner + first;
        if (j->type == PITH_F32)
            reduce_f32(j, (const float *)j->x + from, (float *)j->y + to, width);
        else if (j->type == PITH_I32)
            reduce_int32_t(j, (const int32_t *)j->x + from, (int32_t *)j->y + to, width);
        else
            reduce_int64_t(j, (const int64_t *)j->x + from, (int64_t *)j->y + to, width);
    }
}

static void run_reduce(const struct op_args *args, const struct op_env *env)
{
    struct reduce_job job = {.kind = args->attr[ATTR_KIND],
                             .type = args->in[0]->type,
                             .x = args->in[0]->data,
                             .y = args->out[0]->data};
    pith_reduced_walks(args, ATTR_REDUCE_KIND_AXES, &job.kept, &job.reduced);
    job.row = pith_walk_pop_row(&job.reduced);
    job.inner = pith_walk_pop_row(&job.kept);
    job.extreme = job.type == PITH_F32 && (job.kind == REDUCE_MAX || job.kind == REDUCE_MIN);
    job.columns = COLUMNS;
    job.row_kernels = pith_row_kernels(env->kernels);
    const bool short_sum =
        job.type == PITH_F32 && job.kind == REDUCE_SUM && job.row <= LONG_SUM_PIECE;
    job.follow = (job.extreme || short_sum) && pith_rows_follow(&job.kept, &job.reduced, job.row);
    const size_t count = job.reduced.count;
    if (job.type == PITH_F32 && job.row == 1) {
        job.rows = pith_walk_pop_axis(&job.reduced, &job.step);
        job.columns = job.extreme ? WIDE_COLUMNS : COLUMNS;
    }
    job.blocks = (job.inner + job.columns - 1) / job.columns;
    size_t width = job.inner < job.columns ? job.inner : job.columns;
    pith_op_range(env, job.kept.count * job.blocks, count * job.row * width, reduce_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_KIND, -1, 0, REDUCE_END - 1},
    {ATTR_LIST, ATTR_REDUCE_KIND_AXES, 0, 0, 7},
    {ATTR_INT, ATTR_REDUCE_KIND_KEEP, 1, 0, 1},
};

const struct op_info pith_op_reduce = {
    .op = PITH_OP_REDUCE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 3,
    .n_slots = ATTR_REDUCE_KIND_KEEP + 1,
    .fields = fields,
    .shape = shape_reduce,
    .run = run_reduce,
};
