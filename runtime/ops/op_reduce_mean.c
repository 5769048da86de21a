/* SPDX-License-Identifier: MIT */
/* op_reduce_mean.c - ReduceMean over a set of axes (none named: all).
 *
 * Axes are merged into runs of kept and of reduced ones. Where the innermost run is reduced,
 * each output is a sum of rows (pith_sum_f32); where it is kept, neighbouring outputs are summed
 * side by side (kernel_row.h). Sums across rows are kept in double, so the error does not grow
 * with their number.
 *
 * ONNX ReduceMean-18. Apart from op_reduce.c because global means end most image networks: it
 * has one loop and no switch, and the sum of a row is in pieces of f32 (sum_f32.h), not in
 * double. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/reduced_axes.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define COLUMNS 128u /* sums of a block are 1 KiB, on the stack */

static enum pith_status shape_reduce(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    return st ? st : pith_reduced_shape(args, ATTR_AXES, ATTR_REDUCE_KEEP, PITH_F32);
}

/* Shared with op_reduce.c in form; each file keeps its own so that neither has fields it does
 * not use. */
struct reduce_job {
    const float *x;
    float *y;
    struct axis_walk kept, reduced;
    size_t rows, step; /* of columns: the innermost reduced axis */
    size_t row;        /* contiguous reduced elements; 1 when the inner run is kept */
    size_t inner;      /* contiguous kept elements; 1 when the inner run is reduced */
    size_t blocks;     /* of COLUMNS in inner */
    double divisor;
    sum_rows_f32_fn *sum_rows; /* of rows that follow each other; NULL: they do not */
    sum_columns_f32_fn *sum_columns;
};

/* Outputs that lie side by side. */
static void means(const struct reduce_job *j, const float *x, float *y, size_t width)
{
    double sum[COLUMNS] = {0};
    for (size_t r = 0; r < j->reduced.count; r++) {
        const float *at = x + axis_offset(&j->reduced, r);
        if (j->row > 1)
            sum[0] += (double)pith_sum_f32(at, j->row);
        else
            j->sum_columns(at, j->step, j->rows, width, sum);
    }
    for (size_t c = 0; c < width; c++)
        y[c] = (float)(sum[c] / j->divisor);
}

static void reduce_range(void *arg, size_t begin, size_t end)
{
    const struct reduce_job *j = arg;
    if (j->sum_rows) {
        j->sum_rows(j->x + begin * j->row, j->y + begin, end - begin, j->row);
        for (size_t i = begin; i < end; i++)
            j->y[i] = (float)((double)j->y[i] / j->divisor);
        return;
    }
    for (size_t item = begin; item < end; item++) {
        size_t outer = item / j->blocks, first = item % j->blocks * COLUMNS;
        size_t width = j->inner - first < COLUMNS ? j->inner - first : COLUMNS;
        const float *x = j->x + axis_offset(&j->kept, outer) + first;
        float *y = j->y + outer * j->inner + first;
        means(j, x, y, width);
    }
}

static void run_reduce(const struct op_args *args, const struct op_env *env)
{
    struct reduce_job job = {.x = args->in[0]->data, .y = args->out[0]->data};
    pith_reduced_walks(args, ATTR_AXES, &job.kept, &job.reduced);
    /* Before the row is taken out of the walk. */
    job.divisor = (double)job.reduced.count;
    job.row = pith_walk_pop_row(&job.reduced);
    job.inner = pith_walk_pop_row(&job.kept);
    const struct row_kernels *row = pith_row_kernels(env->kernels);
    if (pith_rows_follow(&job.kept, &job.reduced, job.row))
        job.sum_rows = row->sum_rows;
    job.sum_columns = row->sum_columns;
    job.rows = job.row > 1 ? 1 : pith_walk_pop_axis(&job.reduced, &job.step);
    job.blocks = (job.inner + COLUMNS - 1) / COLUMNS;
    size_t width = job.inner < COLUMNS ? job.inner : COLUMNS;
    pith_op_range(env, job.kept.count * job.blocks, (size_t)job.divisor * width, reduce_range,
                  &job);
}

static const struct attr_field fields[] = {
    {ATTR_LIST, ATTR_AXES, 0, 0, 7},
    {ATTR_INT, ATTR_REDUCE_KEEP, 1, 0, 1},
};

const struct op_info pith_op_reduce_mean = {
    .op = PITH_OP_REDUCE_MEAN,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = ATTR_REDUCE_KEEP + 1,
    .fields = fields,
    .traits = {.flags = TRAIT_AVERAGES},
    .shape = shape_reduce,
    .run = run_reduce,
};
