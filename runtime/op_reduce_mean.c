/* SPDX-License-Identifier: MIT */
/* op_reduce_mean.c - ReduceMean over a set of axes (none named: all).
 *
 * Axes are merged into runs of kept and of reduced ones. Where the innermost run is reduced, each
 * output is a sum of rows (pith_sum_f32); where it is kept, 16 neighbouring outputs are summed
 * side by side. Sums across rows are kept in double, so the error does not grow with their
 * number. */
#include "op_list.h"
#include "op_range.h"
#include "shape_rule.h"
#include "sum_f32.h"

#define COLUMNS 16u

static enum pith_status reduced_set(const struct op_args *args, uint32_t *set)
{
    uint32_t rank = args->in[0]->shape.rank;
    enum pith_status st = pith_axes_set(args->attr, ATTR_AXES, rank, set);
    if (st == PITH_OK && attr_count(args->attr, ATTR_AXES) == 0)
        *set = (1u << rank) - 1u;
    return st;
}

static enum pith_status shape_reduce(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    uint32_t set;
    if (st == PITH_OK)
        st = reduced_set(args, &set);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    struct shape s = {.rank = 0};
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = set >> i & 1u;
        if (!reduced || args->attr[ATTR_REDUCE_KEEP])
            s.dim[s.rank++] = reduced ? 1 : x->dim[i];
    }
    return pith_out_set(args->out[0], PITH_F32, &s);
}

/* A walk over some axes of the input, in row-major order. */
struct walk {
    uint32_t rank;
    size_t count;
    size_t dim[PITH_MAX_RANK], step[PITH_MAX_RANK];
};

static size_t walk_offset(const struct walk *w, size_t index)
{
    size_t offset = 0;
    for (uint32_t i = w->rank; i-- > 0;) {
        offset += index % w->dim[i] * w->step[i];
        index /= w->dim[i];
    }
    return offset;
}

static void walk_push(struct walk *w, size_t dim, size_t step)
{
    w->count *= dim;
    if (w->rank > 0 && w->step[w->rank - 1] == dim * step) {
        w->dim[w->rank - 1] *= dim;
        w->step[w->rank - 1] = step;
        return;
    }
    w->dim[w->rank] = dim;
    w->step[w->rank++] = step;
}

/* Takes the contiguous axis off a walk and returns its length; 1 when it has none. */
static size_t walk_pop_row(struct walk *w)
{
    if (w->rank == 0 || w->step[w->rank - 1] != 1)
        return 1;
    size_t n = w->dim[--w->rank];
    w->count /= n;
    return n;
}

struct reduce_job {
    const float *x;
    float *y;
    struct walk kept, reduced;
    size_t row;    /* contiguous reduced elements; 1 when the inner run is kept */
    size_t inner;  /* contiguous kept elements; 1 when the inner run is reduced */
    size_t blocks; /* of COLUMNS in inner */
    double divisor;
};

static void reduce_range(void *arg, size_t begin, size_t end)
{
    const struct reduce_job *j = arg;
    for (size_t item = begin; item < end; item++) {
        size_t outer = item / j->blocks, first = item % j->blocks * COLUMNS;
        size_t width = j->inner - first < COLUMNS ? j->inner - first : COLUMNS;
        const float *x = j->x + walk_offset(&j->kept, outer) + first;
        float *y = j->y + outer * j->inner + first;
        double sum[COLUMNS] = {0};
        for (size_t r = 0; r < j->reduced.count; r++) {
            const float *row = x + walk_offset(&j->reduced, r);
            if (j->row > 1)
                sum[0] += (double)pith_sum_f32(row, j->row);
            else
                for (size_t c = 0; c < width; c++)
                    sum[c] += (double)row[c];
        }
        for (size_t c = 0; c < width; c++)
            y[c] = (float)(sum[c] / j->divisor);
    }
}

static void run_reduce(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t set;
    reduced_set(args, &set); /* cannot fail: the shape rule passed */
    struct reduce_job job = {
        .x = args->in[0]->data, .y = args->out[0]->data, .kept.count = 1, .reduced.count = 1};
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] > 1)
            walk_push(set >> i & 1u ? &job.reduced : &job.kept, s->dim[i],
                      shape_product(s, i + 1, s->rank));
    job.divisor = (double)job.reduced.count;
    job.row = walk_pop_row(&job.reduced);
    job.inner = walk_pop_row(&job.kept);
    job.blocks = (job.inner + COLUMNS - 1) / COLUMNS;
    size_t width = job.inner < COLUMNS ? job.inner : COLUMNS;
    pith_op_range(env, job.kept.count * job.blocks, job.reduced.count * job.row * width,
                  reduce_range, &job);
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
    .shape = shape_reduce,
    .run = run_reduce,
};
