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

/* The kernel that the step is launched with; of several the one that comes last. true: several
 * blocks share its sums. */
static inline bool check_kernel(const struct step *s, enum launch_kernel kernel)
{
    struct lowering l = {.plan = &plan, .half = half_products, .processors = processors};
    uint32_t found = LAUNCH_KERNELS;
    bool shared = false;
    assert_true(pith_device_step(&l, s));
    for (uint32_t i = 0; i < l.n_actions; i++) {
        shared |= l.action[i].kind == ACTION_LAUNCH && (l.action[i].kernel == LAUNCH_gemm_parts ||
                                                        l.action[i].kernel == LAUNCH_conv_parts);
        if (l.action[i].kind == ACTION_LAUNCH && !is_follower(l.action[i].kernel))
            found = l.action[i].kernel;
    }
    pith_device_lowering_free(&l);
    const struct shape *w = &s->args.weight->shape;
    if (found != kernel)
        fail_msg("%u x %u, %u nonzeros, %u centroids: %s instead of %s", w->dim[0], w->dim[1],
                 (uint32_t)s->args.weight->nnz, s->args.weight->n_centroids, emu_kernel_name(found),
                 emu_kernel_name(kernel));
    return shared;
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
 * from the case's weight. Frees all of them, and bound. true: several blocks share its sums. */
static inline bool check_within(struct one_op *t, struct weight_case *k, enum launch_kernel kernel,
                                double *bound)
{
    struct guarded in[ONE_OP_MAX];
    types_alternate = false; /* what tensor cores multiply is of the weight's type */
    values = k->w.type == PITH_BF16 ? VALUE_BF16 : VALUE_F16;
    guard_inputs(t, in);
    one_op_run(t, false);
    t->args.weight = &k->w;
    struct step s = {.args = t->args};
    const bool shared = check_kernel(&s, kernel);
    assert_true(try_device(emu_kernel_name(kernel), &s, bound));
    free(bound);
    one_op_close(t);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        guard_free(&in[i]);
    case_free(k);
    return shared;
}

/* Each element may be `off` off. */
static inline bool check_beside(struct one_op *t, struct weight_case *k, enum launch_kernel kernel,
                                double off)
{
    dense_input(t, k);
    size_t n = shape_elems(&t->out[0].shape);
    double *bound = malloc(n * sizeof *bound);
    for (size_t i = 0; i < n; i++)
        bound[i] = off;
    return check_within(t, k, kernel, bound);
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

/* Behind the sums: a residual for some, and activations, long ones, too, none of which makes a
 * difference larger. The shape of t is known already. The residual's memory is the caller's to
 * free. */
static inline struct guarded give_tail(struct one_op *t, struct tview *residual, uint64_t *seed,
                                       uint32_t round)
{
    static const uint32_t acts[] = {ACT_NONE, ACT_RELU, ACT_SIGMOID, ACT_LEAKY, ACT_TANH};
    struct guarded added = guard_random(shape_elems(&t->out[0].shape), 1, seed);
    t->args.fuse.act = acts[round % (sizeof acts / sizeof *acts)];
    t->args.fuse.a = 0.5f;
    if (round % 3 != 1)
        return added;
    *residual = t->out[0];
    residual->data = added.data;
    t->args.fuse.residual = residual;
    return added;
}

/* ---- products whose sums are shared -----------------------------------------------------------
 */

/* t is x by the case's weight, plus c for each column. terms_first: the weight is [k, n]. */
static inline void shared_product(struct one_op *t, uint64_t *seed, uint32_t m,
                                  const struct weight_case *k, bool terms_first)
{
    one_op_open(t, PITH_OP_GEMM, 3, 1);
    t->kernels = &reference;
    t->attr[ATTR_GEMM_TRANS_B] = !terms_first;
    random_floats(t, seed, 0, DIMS(m, terms_first ? k->rows : k->cols));
    one_op_in(t, 1, PITH_F32, DIMS(k->rows, k->cols), NULL);
    random_floats(t, seed, 2, DIMS(terms_first ? k->cols : k->rows));
    assert_int_equal(one_op_shape(t), PITH_OK);
}

/* The convolution from random x by the case's weight, plus a bias. */
static inline void weight_conv(struct one_op *t, uint64_t *seed, const struct conv_case *c,
                               struct weight_case *k)
{
    const uint32_t all = c->groups * c->outputs;
    open_conv(t, c, &reference);
    random_floats(t, seed, 0, DIMS(c->images, c->groups * c->channels, c->h, c->w));
    one_op_in(t, 1, PITH_F32, DIMS(all, c->channels, c->kh, c->kw), NULL);
    random_floats(t, seed, 2, DIMS(all));
    k->w.shape = t->in[1].shape;
    assert_int_equal(one_op_shape(t), PITH_OK);
}

#endif
