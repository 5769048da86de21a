/* SPDX-License-Identifier: MIT */
/* op_normalize.c - GroupNormalization (with InstanceNormalization as one group a channel),
 * LayerNormalization (about 0: RMSNormalization) and MeanVarianceNormalization.
 *
 * Mean first, then the mean of squared deviations from it: what one pass over x and x^2 saves in
 * time it loses to cancellation. Sums as in sum_f32.h, across rows in double.
 *
 * ONNX GroupNormalization-21, InstanceNormalization-6, LayerNormalization-17, RMSNormalization-23,
 * MeanVarianceNormalization-13. A group is summed by one thread in the order of memory, in
 * pieces of fixed length, so results depend on nothing but the data. */
#include "kernels/kernels.h"
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/reduced_axes.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define COLUMNS 16u

/* ---- contiguous groups: GroupNormalization, LayerNormalization --------------------------- */

/* A group is `n` neighbours; scales repeat after `groups` groups. */
struct norm_job {
    const struct row_kernels *row;
    const float *x, *scale, *bias; /* bias may be NULL */
    float *y;
    size_t n;         /* elements of a group */
    size_t run;       /* neighbours that share one scale and bias */
    size_t per_group; /* scales a group has: n / run, or 1 */
    size_t groups;    /* after which scales begin anew */
    float epsilon;
    bool about_zero; /* LayerNormalization: the mean counts as 0 */
};

/* The bias is added last, to a value near 1: what rounding it adds is relative to the result. */
static void scale_run(const float *x, float mean, float factor, float bias, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * factor + bias;
}

static void norm_range(void *arg, size_t begin, size_t end)
{
    const struct norm_job *j = arg;
    for (size_t group = begin; group < end; group++) {
        const float *x = j->x + group * j->n;
        float *y = j->y + group * j->n;
        /* To f32 before deviations are taken: the second sum is then that of the numbers the
         * result uses. */
        float mean = (float)(pith_long_sum_f32(x, j->n) / (double)j->n);
        double variance = pith_long_sum_square_f32(x, mean, j->n) / (double)j->n;
        float factor = 1.0f / pith_sqrt_f32((float)variance + j->epsilon);
        const float *scale = j->scale + group % j->groups * j->per_group;
        const float *bias = j->bias ? j->bias + group % j->groups * j->per_group : NULL;
        for (size_t k = 0; k < j->per_group; k++)
            scale_run(x + k * j->run, mean, factor * scale[k], bias ? bias[k] : 0.0f,
                      y + k * j->run, j->run);
    }
}

/* One group with a scale and bias for each element. Through the kernel table: this is what
 * transformers spend beside their products. */
static void layer_range(void *arg, size_t begin, size_t end)
{
    const struct norm_job *j = arg;
    const struct norm_rows norm = {j->x + begin * j->n, j->y + begin * j->n, j->scale, j->bias,
                                   j->epsilon,          j->about_zero};
    j->row->layer_norm(&norm, end - begin, j->n);
}

static enum pith_status shape_group_norm(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 3);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    if (x->rank < 2)
        return PITH_ERR_CORRUPT;
    /* groups = 0 stands for one group a channel (InstanceNormalization), which no number in the
     * file could say for every network. */
    uint32_t channels = x->dim[1], groups = (uint32_t)args->attr[ATTR_GROUP_NORM_GROUPS];
    if (groups && channels % groups)
        return PITH_ERR_CORRUPT;
    /* ONNX 18 had one scale a group, 21 has one a channel. */
    uint32_t scales = args->attr[ATTR_GROUP_NORM_PER_GROUP] && groups ? groups : channels;
    for (uint32_t i = 1; i < 3; i++)
        if (args->in[i]->shape.rank != 1 || args->in[i]->shape.dim[0] != scales)
            return PITH_ERR_CORRUPT;
    return pith_shape_same_f32(args);
}

static void run_group_norm(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    size_t channels = s->dim[1], pixels = shape_product(s, 2, s->rank);
    size_t groups = (size_t)args->attr[ATTR_GROUP_NORM_GROUPS];
    groups = groups ? groups : channels;
    struct norm_job job = {
        .x = args->in[0]->data,
        .scale = args->in[1]->data,
        .bias = args->in[2]->data,
        .y = args->out[0]->data,
        .n = channels / groups * pixels,
        .run = pixels,
        .groups = groups,
        .epsilon = attr_f32(args->attr, ATTR_GROUP_NORM_EPSILON),
    };
    job.per_group = args->in[1]->shape.dim[0] / groups;
    /* Then a group is one run. */
    if (job.per_group * job.run != job.n) /* one scale for the channels of a group */
        job.run = job.n;
    pith_op_range(env, s->dim[0] * groups, 3 * job.n, norm_range, &job);
}

static enum pith_status shape_layer_norm(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 2);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_LAYER_NORM_AXIS];
    if (axis >= x->rank)
        return PITH_ERR_CORRUPT;
    /* pith_shape_count() bounds the product of all dims, hence that of the normalised ones. */
    uint64_t n, all;
    st = pith_shape_count(x, &all); /* so that the product below cannot overflow */
    for (uint32_t i = 1; i < args->n_in && !st; i++) {
        if (!args->in[i])
            continue;
        if (args->in[i]->type != PITH_F32)
            /* Scales of the shape of the normalised axes, or that many in another shape. */
            return PITH_ERR_UNSUPPORTED;
        st = pith_shape_count(&args->in[i]->shape, &n);
        if (!st && n != shape_product(x, axis, x->rank))
            st = PITH_ERR_CORRUPT;
    }
    return st ? st : pith_shape_same_f32(args);
}

static void run_layer_norm(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_LAYER_NORM_AXIS];
    bool biased = args->n_in > 2 && args->in[2];
    struct norm_job job = {
        .row = pith_row_kernels(env->kernels),
        .x = args->in[0]->data,
        .scale = args->in[1]->data,
        .bias = biased ? args->in[2]->data : NULL,
        .y = args->out[0]->data,
        .n = shape_product(s, axis, s->rank),
        .epsilon = attr_f32(args->attr, ATTR_LAYER_NORM_EPSILON),
        .about_zero = args->attr[ATTR_LAYER_NORM_ABOUT_ZERO] != 0,
    };
    pith_op_range(env, shape_product(s, 0, axis), 3 * job.n, layer_range, &job);
}

/* ---- any axes: MeanVarianceNormalization ------------------------------------------------- */

/* Axes of any set: exporters of ONNX 9 normalise over N, H, W. */
static enum pith_status shape_mean_variance(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    uint32_t set;
    if (!st)
        st = pith_axes_set(args->attr, ATTR_AXES, args->in[0]->shape.rank, &set);
    return st ? st : pith_shape_same_f32(args);
}

/* Rows of neighbours along reduced axes where there are any, else columns side by side
 * (op_reduce.c). */
struct mean_variance_job {
    const float *x;
    float *y;
    struct axis_walk kept, reduced;
    size_t row, inner, blocks; /* as in op_reduce.c */
};

/* acc[c] is increased by the sum of column c: of x - minus, squared or not. */
static void sum_columns(const struct mean_variance_job *j, const float *x, size_t width,
                        const float *minus, bool squared, double *acc)
{
    for (size_t r = 0; r < j->reduced.count; r++) {
        /* A reduced row ends in one column; otherwise `width` columns advance together. */
        const float *row = x + axis_offset(&j->reduced, r);
        if (j->row > 1) {
            acc[0] += squared ? pith_long_sum_square_f32(row, minus[0], j->row)
                              : pith_long_sum_f32(row, j->row);
            continue;
        }
        for (size_t c = 0; c < width; c++) {
            double d = (double)row[c] - (double)minus[c];
            acc[c] += squared ? d * d : d;
        }
    }
}

static void mean_variance_range(void *arg, size_t begin, size_t end)
{
    const struct mean_variance_job *j = arg;
    double n = (double)j->reduced.count * (double)j->row;
    for (size_t item = begin; item < end; item++) {
        size_t outer = item / j->blocks, first = item % j->blocks * COLUMNS;
        size_t width = j->inner - first < COLUMNS ? j->inner - first : COLUMNS;
        size_t at = axis_offset(&j->kept, outer) + first;
        double sum[COLUMNS] = {0}, square[COLUMNS] = {0};
        float mean[COLUMNS] = {0}, deviation[COLUMNS];
        sum_columns(j, j->x + at, width, mean, false, sum);
        for (size_t c = 0; c < width; c++)
            mean[c] = (float)(sum[c] / n);
        sum_columns(j, j->x + at, width, mean, true, square);
        for (size_t c = 0; c < width; c++)
            /* ONNX's function body adds 1e-9 to the deviation, not to the variance. */
            deviation[c] = pith_sqrt_f32((float)(square[c] / n)) + 1e-9f;
        for (size_t r = 0; r < j->reduced.count; r++) {
            size_t row = at + axis_offset(&j->reduced, r);
            /* One of the two loops runs: either a row is reduced or columns are. */
            for (size_t i = 0; i < j->row && j->row > 1; i++)
                j->y[row + i] = (j->x[row + i] - mean[0]) / deviation[0];
            for (size_t c = 0; c < width && j->row == 1; c++)
                j->y[row + c] = (j->x[row + c] - mean[c]) / deviation[c];
        }
    }
}

static void run_mean_variance(const struct op_args *args, const struct op_env *env)
{
    struct mean_variance_job job = {.x = args->in[0]->data, .y = args->out[0]->data};
    pith_reduced_walks(args, ATTR_AXES, &job.kept, &job.reduced);
    job.row = pith_walk_pop_row(&job.reduced);
    job.inner = pith_walk_pop_row(&job.kept);
    job.blocks = (job.inner + COLUMNS - 1) / COLUMNS;
    size_t width = job.inner < COLUMNS ? job.inner : COLUMNS;
    pith_op_range(env, job.kept.count * job.blocks, 3 * job.reduced.count * job.row * width,
                  mean_variance_range, &job);
}

/* ------------------------------------------------------------------------------------------ */

/* As bits (op_activation.c). */
#define F32_1E_5 0x3727c5ac

static const struct attr_field group_norm_fields[] = {
    {ATTR_INT, ATTR_GROUP_NORM_GROUPS, 0, 0, INT32_MAX},
    {ATTR_INT, ATTR_GROUP_NORM_PER_GROUP, 0, 0, 1},
    {ATTR_FLOAT, ATTR_GROUP_NORM_EPSILON, F32_1E_5, 0, 0},
};
static const struct attr_field layer_norm_fields[] = {
    {ATTR_INT, ATTR_LAYER_NORM_AXIS, -1, 0, 7},
    {ATTR_FLOAT, ATTR_LAYER_NORM_EPSILON, F32_1E_5, 0, 0},
    {ATTR_INT, ATTR_LAYER_NORM_ABOUT_ZERO, 0, 0, 1},
};
static const struct attr_field mean_variance_fields[] = {{ATTR_LIST, ATTR_AXES, 0, 0, 7}};

#define NORM_TRAITS(more)                                                                          \
    {                                                                                              \
        .flags = TRAIT_NORMALIZES | more, .parameters = 1u << 1 | 1u << 2                          \
    }

#define NORM(name, number, least, most, count, slots, has)                                         \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = least,                                                                         \
        .n_in_max = most,                                                                          \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = count,                                                                         \
        .n_slots = slots,                                                                          \
        .flags = OP_INPLACE,                                                                       \
        .fields = name##_fields,                                                                   \
        .traits = has,                                                                             \
        .shape = shape_##name,                                                                     \
        .run = run_##name,                                                                         \
    };

NORM(group_norm, PITH_OP_GROUP_NORM, 3, 3, 3, 3, NORM_TRAITS(TRAIT_CHANNELS_FIRST))
NORM(layer_norm, PITH_OP_LAYER_NORM, 2, 3, 3, 3, NORM_TRAITS(0))
NORM(mean_variance, PITH_OP_MEAN_VARIANCE, 1, 1, 1, PITH_LIST_SLOTS, {0})
