/* SPDX-License-Identifier: MIT */
/* op_global_pool.c - the maximum or mean of each plane: x [N,C,D1,...] -> y [N,C,1,...].
 *
 * ONNX GlobalMaxPool-1 and GlobalAveragePool-1. The mean's sum is in double in pieces
 * (ref/sum_f32.h) and divided once, so that a plane of any size loses no more than the last
 * rounding. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"

static enum pith_status shape_global_pool(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 1);
    if (st)
        return st;
    struct shape s = args->in[0]->shape;
    if (s.rank < 3)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 2; i < s.rank; i++)
        s.dim[i] = 1;
    return pith_out_set(args->out[0], PITH_F32, &s);
}

struct global_pool_job {
    extreme_rows_f32_fn *extreme_rows;
    sum_rows_f32_fn *sum_rows;
    const float *x; /* [planes, elems] */
    float *y;       /* [planes] */
    size_t elems;
};

/* One thread forms a plane's sum: cutting a plane would need a tree of its own to stay the same
 * for every number of threads. */
static void mean_range(void *arg, size_t begin, size_t end)
{
    const struct global_pool_job *j = arg;
    j->sum_rows(j->x + begin * j->elems, j->y + begin, end - begin, j->elems);
    for (size_t i = begin; i < end; i++)
        j->y[i] /= (float)j->elems;
}

static void max_range(void *arg, size_t begin, size_t end)
{
    const struct global_pool_job *j = arg;
    j->extreme_rows(j->x + begin * j->elems, 1.0f, j->y + begin, end - begin, j->elems);
}

static void run_global_pool(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    const struct row_kernels *row = pith_row_kernels(env->kernels);
    struct global_pool_job job = {row->extreme_rows, row->sum_rows, args->in[0]->data,
                                  args->out[0]->data, shape_product(s, 2, s->rank)};
    bool is_max = args->info->op == PITH_OP_GLOBAL_MAX_POOL;
    pith_op_range(env, (size_t)s->dim[0] * s->dim[1], job.elems, is_max ? max_range : mean_range,
                  &job);
}

/* A maximum does not read where another element writes, but planes shrink: no OP_INPLACE. */
#define GLOBAL_POOL(name, number, has)                                                             \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .traits = {.flags = TRAIT_CHANNELS_FIRST | has},                                           \
        .shape = shape_global_pool,                                                                \
        .run = run_global_pool,                                                                    \
    };

GLOBAL_POOL(global_max_pool, PITH_OP_GLOBAL_MAX_POOL,
            TRAIT_SELECTS | TRAIT_AVERAGES | TRAIT_HOMOGENEOUS)
GLOBAL_POOL(global_average_pool, PITH_OP_GLOBAL_AVERAGE_POOL, TRAIT_AVERAGES | TRAIT_HOMOGENEOUS)
