/* SPDX-License-Identifier: MIT */
/* weight_product_case.h - operators with a weight that the device has in a form of its own, beside
 * the same operator of the CPU with its elements. */
#ifndef WEIGHT_PRODUCT_CASE_H
#define WEIGHT_PRODUCT_CASE_H

#include "runtime/weight_case.h"
#include "device_case.h"
#include "emu_launch.h"

/* What is behind a kernel that is looked for. */
static inline bool is_follower(uint32_t kernel)
{
    return kernel == LAUNCH_recurrent_cell || kernel == LAUNCH_gemm_parts ||
           kernel == LAUNCH_conv_parts;
}

/* The kernel that the step is launched with; of several the one that comes last. */
static inline void check_kernel(const struct step *s, enum launch_kernel kernel)
{
    struct lowering l = {.plan = &plan, .half = half_products, .processors = processors};
    uint32_t found = LAUNCH_KERNELS;
    assert_true(pith_device_step(&l, s));
    for (uint32_t i = 0; i < l.n_actions; i++)
        if (l.action[i].kind == ACTION_LAUNCH && !is_follower(l.action[i].kernel))
            found = l.action[i].kernel;
    pith_device_lowering_free(&l);
    const struct shape *w = &s->args.weight->shape;
    if (found != kernel)
        fail_msg("%u x %u, %u nonzeros, %u centroids: %s instead of %s", w->dim[0], w->dim[1],
                 (uint32_t)s->args.weight->nnz, s->args.weight->n_centroids, emu_kernel_name(found),
                 emu_kernel_name(kernel));
}

/* ---- beside the same operator with a dense weight -------------------------------------------- */

/* Gives t its input 1, the elements of the case, which are the caller's to free. */
static inline void dense_input(struct one_op *t, const struct weight_case *k)
{
    float *dense = malloc(k->w.count * sizeof *dense);
    for (uint64_t i = 0; i < k->w.count; i++)
        dense[i] = (float)k->dense[i];
    t->in[1].data = dense;
    assert_int_equal(one_op_shape(t), PITH_OK);
}

/* Runs t on the CPU with its inputs, those of random_floats() and dense_input(); then on the device
 * from the case's weight. Frees all of them, and bound. */
static inline void check_within(struct one_op *t, struct weight_case *k, enum launch_kernel kernel,
                                double *bound)
{
    struct guarded in[ONE_OP_MAX];
    guard_inputs(t, in);
    one_op_run(t, false);
    t->args.weight = &k->w;
    struct step s = {.args = t->args};
    check_kernel(&s, kernel);
    assert_true(try_device(emu_kernel_name(kernel), &s, bound));
    free(bound);
    one_op_close(t);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        guard_free(&in[i]);
    case_free(k);
}

/* Each element may be `off` off. */
static inline void check_beside(struct one_op *t, struct weight_case *k, enum launch_kernel kernel,
                                double off)
{
    dense_input(t, k);
    size_t n = shape_elems(&t->out[0].shape);
    double *bound = malloc(n * sizeof *bound);
    for (size_t i = 0; i < n; i++)
        bound[i] = off;
    check_within(t, k, kernel, bound);
}

static inline void random_floats(struct one_op *t, uint64_t *seed, uint32_t i, uint32_t rank,
                                 const uint32_t *dims)
{
    one_op_in(t, i, PITH_F32, rank, dims, NULL);
    size_t n = shape_elems(&t->in[i].shape);
    float *data = malloc(n * sizeof *data);
    for (size_t k = 0; k < n; k++)
        data[k] = random_f32(seed);
    t->in[i].data = data;
}

#endif
