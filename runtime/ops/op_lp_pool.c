/* SPDX-License-Identifier: MIT */
/* op_lp_pool.c - LpPool and GlobalLpPool: the p-th root of the sum of |x|^p over a window.
 *
 * Three passes: powers of the whole input into scratch memory, so that an element under several
 * windows is raised once; their sums, windows as AveragePool's or whole planes; the roots of the
 * sums, in place. Each pass rounds to f32, so large p may overflow or underflow in between. A
 * power is a product of squares: its relative error, at most about p / 2^24, is divided by p
 * again in the root.
 *
 * ONNX LpPool-18 and GlobalLpPool-2. */
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/math_f32.h"
#include "ops/op_list.h"
#include "ops/op_pool.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "kernels/ref/sum_f32.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define ROOT_WORK 32u /* elements that a root takes as long as */

/* No kernel: the window is the plane. An empty list is how the file says so; the other lists
 * have to be empty, too. */
static bool is_global(const struct op_args *args)
{
    return attr_count(args->attr, ATTR_POOL_KERNEL) == 0;
}

static enum pith_status shape_lp_pool(const struct op_args *args)
{
    if (!is_global(args))
        return pith_pool_shape(args);
    enum pith_status st = pith_in_f32(args, 1);
    if (st)
        return st;
    const int32_t *attr = args->attr;
    struct shape s = args->in[0]->shape;
    if (s.rank < 3 || attr_count(attr, ATTR_POOL_STRIDES) || attr[ATTR_POOL_CEIL] ||
        attr_count(attr, ATTR_POOL_DILATIONS) || attr_count(attr, ATTR_POOL_PADS))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 2; i < s.rank; i++)
        s.dim[i] = 1;
    return pith_out_set(args->out[0], PITH_F32, &s);
}

/* As large as the input: powers are kept for the second pass. */
static enum pith_status need_lp_pool(const struct op_args *args, const struct op_env *env,
                                     struct op_need *need)
{
    (void)env;
    *need = (struct op_need){.kernel = "ref"};
    return mul_ok(shape_elems(&args->in[0]->shape), sizeof(float), &need->scratch_bytes)
               ? PITH_OK
               : PITH_ERR_LIMIT;
}

struct lp_job {
    const float *x;
    float *y;
    size_t plane; /* elements of one */
    uint32_t p;
};

/* By squares; what overflows or underflows on the way is a factor of the result, or not used.
 * About 2 log2(p) products; p is an integer in ONNX. */
static float power(float x, uint32_t p)
{
    float y = 1.0f;
    for (; p; p >>= 1) {
        y = p & 1u ? y * x : y;
        x *= x;
    }
    return y;
}

/* Items are elements. |x| clears the sign bit; p = 2 needs neither, and is what networks use. */
static void power_range(void *arg, size_t begin, size_t end)
{
    const struct lp_job *j = arg;
    const float *x = j->x;
    if (j->p == 2)
        for (size_t i = begin; i < end; i++)
            j->y[i] = x[i] * x[i];
    else
        for (size_t i = begin; i < end; i++)
            j->y[i] = power(f32_from_bits(f32_bits(x[i]) & 0x7fffffffu), j->p);
}

/* Items are planes. */
static void plane_range(void *arg, size_t begin, size_t end)
{
    const struct lp_job *j = arg;
    for (size_t i = begin; i < end; i++)
        j->y[i] = (float)pith_long_sum_f32(j->x + i * j->plane, j->plane);
}

/* Items are elements. In place: the sums are where the roots go. A square root is correctly
 * rounded, pow costs some ROOT_WORK elements' time. */
static void root_range(void *arg, size_t begin, size_t end)
{
    const struct lp_job *j = arg;
    if (j->p == 2)
        pith_sqrt_row_f32(j->y + begin, j->y + begin, end - begin);
    else
        for (size_t i = begin; i < end; i++)
            j->y[i] = pith_pow_f32(j->y[i], 1.0f / (float)j->p);
}

static void run_lp_pool(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    struct lp_job powers = {
        .x = args->in[0]->data, .y = env->scratch, .p = (uint32_t)args->attr[ATTR_POOL_P]};
    struct lp_job sums = {.x = env->scratch,
                          .y = args->out[0]->data,
                          .plane = shape_product(s, 2, s->rank),
                          .p = powers.p};
    /* How work is split among threads depends on the cost of an element. */
    pith_op_range(env, shape_elems(s), sums.p <= 2 ? 1 : 4, power_range, &powers);
    if (is_global(args))
        pith_op_range(env, shape_product(s, 0, 2), sums.plane, plane_range, &sums);
    else
        pith_pool_run(args, env, sums.x, POOL_SUM);
    if (sums.p != 1)
        pith_op_range(env, shape_elems(&args->out[0]->shape), sums.p == 2 ? 1 : ROOT_WORK,
                      root_range, &sums);
}

static const struct attr_field fields[] = {
    {ATTR_LIST, ATTR_POOL_KERNEL, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_STRIDES, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_DILATIONS, 0, 1, POOL_MAX_WINDOW},
    {ATTR_LIST, ATTR_POOL_PADS, 0, 0, POOL_MAX_WINDOW},
    {ATTR_INT, ATTR_POOL_CEIL, 0, 0, 1},
    {ATTR_INT, ATTR_POOL_P, 2, 1, INT32_MAX},
};

const struct op_info pith_op_lp_pool = {
    .op = PITH_OP_LP_POOL,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 6,
    .n_slots = ATTR_POOL_P + 1,
    .fields = fields,
    .traits = {.flags = TRAIT_CHANNELS_FIRST},
    .shape = shape_lp_pool,
    .need = need_lp_pool,
    .run = run_lp_pool,
};
