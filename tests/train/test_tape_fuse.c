/* SPDX-License-Identifier: MIT */
/* Normalisation, Add and Relu in one step against the same three steps, which a feature at each of
 * the values between them enforces: outputs and all gradients to the bit. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "sample_models.h"
#include "pith_train.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"

static const char *named(const struct pith_model *m, const char *what)
{
    static char name[4][32];
    static unsigned turn;
    char *to = name[turn++ % 4];
    snprintf(to, sizeof name[0], "%s%u", what, m->n_values);
    return to;
}

enum { C = 18 }; /* a vector and a tail */

static uint32_t conv(struct pith_model *m, struct sample_random *r, uint32_t x)
{
    uint32_t w = add_constant(m, r, named(m, "w"), 4, (const uint32_t[]){C, C, 1, 1});
    struct pith_const *k = m->values[w].constant;
    for (uint64_t i = 0; i < k->count; i++)
        ((float *)k->data)[i] *= 0.3f;
    return add_node(m, PITH_OP_CONV, named(m, "conv"), named(m, "y"), 2, (const uint32_t[]){x, w})
        ->out[0];
}

static uint32_t batch_norm(struct pith_model *m, struct sample_random *r, uint32_t x)
{
    uint32_t in[5] = {x}, c = C;
    for (uint32_t i = 1; i < 5; i++)
        in[i] = add_constant(m, r, named(m, "bn"), 1, &c);
    for (uint32_t i = 0; i < c; i++) {
        float *variance = (float *)m->values[in[4]].constant->data + i;
        *variance = 0.5f + *variance * *variance;
    }
    return add_node(m, PITH_OP_BATCH_NORM, named(m, "norm"), named(m, "normed"), 5, in)->out[0];
}

static uint32_t relu(struct pith_model *m, uint32_t x)
{
    return add_node(m, PITH_OP_RELU, named(m, "act"), named(m, "acted"), 1, &x)->out[0];
}

static uint32_t add(struct pith_model *m, uint32_t a, uint32_t b)
{
    return add_node(m, PITH_OP_ADD, named(m, "sum"), named(m, "summed"), 2,
                    (const uint32_t[]){a, b})
        ->out[0];
}

/* Norm and Relu; a block whose shortcut is a value; one whose shortcut is a norm of its own; a norm
 * that two read. */
static struct pith_model *net(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "image", 4, (const uint32_t[]){1, C, 5, 7});
    m->batch_open = true;
    x = relu(m, batch_norm(m, &r, conv(m, &r, x)));
    x = relu(m, add(m, x, batch_norm(m, &r, conv(m, &r, x))));
    x = relu(m, add(m, batch_norm(m, &r, conv(m, &r, x)), batch_norm(m, &r, conv(m, &r, x))));
    uint32_t both = batch_norm(m, &r, conv(m, &r, x));
    x = add(m, relu(m, both), both);
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "pool", "pooled", 1, &x)->out[0];
    m->outputs[m->n_outputs++] = x;
    return m;
}

static struct tape *run(const struct pith_model *m, const uint32_t *feature, uint32_t n_features,
                        uint32_t threads)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    struct sample_random r = sample_random_of(9);
    const struct tape_opts o = {.batch = 24,
                                .threads = threads,
                                .training = true,
                                .feature = feature,
                                .n_features = n_features};
    SUCCEEDS(pith_tape_new(m, &o, &t, &err));
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *x = pith_tape_input(t, s, 0);
        for (size_t k = 0; k < shape_elems(&x->shape); k++)
            ((float *)x->data)[k] = sample_gauss(&r);
    }
    pith_tape_forward(t);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *y = pith_tape_output(t, s, 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            y->grad[i] += (float)sin(1.0 + 0.7 * (double)i + s);
    }
    pith_tape_backward(t);
    return t;
}

static void check_same(struct tape *a, struct tape *b)
{
    uint32_t n, n_b;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        assert_memory_equal(pith_tape_output(a, s, 0)->data, pith_tape_output(b, s, 0)->data,
                            C * 3 * sizeof(float));
    const struct tape_parameter *p = pith_tape_parameters(a, &n),
                                *q = pith_tape_parameters(b, &n_b);
    assert_int_equal(n, n_b);
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t k = 0; k < p[i].count; k++)
            sum += fabs((double)p[i].grad[k]);
        assert_true(sum > 0);
        assert_memory_equal(p[i].grad, q[i].grad, p[i].count * sizeof(float));
    }
}

TEST(same_as_apart)
{
    struct pith_model *m = net(7);
    struct pith_error err = {0};
    uint32_t feature[64], n_features = 0;
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_BATCH_NORM || m->nodes[i].op == PITH_OP_ADD)
            feature[n_features++] = m->nodes[i].out[0];
    struct tape *apart = run(m, feature, n_features, 1), *fused = run(m, NULL, 0, 1);
    struct tape *threads = run(m, NULL, 0, 2);
    /* one Relu; Add and Relu; the same; nothing of the last */
    assert_int_equal(apart->n_steps - fused->n_steps, 1 + 2 + 2);
    check_same(apart, fused);
    check_same(fused, threads);
    pith_tape_free(apart);
    pith_tape_free(fused);
    pith_tape_free(threads);
    pith_model_free(m);
}

/* A normalisation that only the output sees, behind a Relu that is the first step: both stay. */
TEST(output_is_no_relu)
{
    struct sample_random r = sample_random_of(3);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    struct tape *t = NULL;
    uint32_t x = add_input(m, "row", 2, (const uint32_t[]){1, C});
    m->batch_open = true;
    m->outputs[m->n_outputs++] = batch_norm(m, &r, relu(m, x));
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    const struct tape_opts o = {.batch = 8, .threads = 1, .training = true};
    SUCCEEDS(pith_tape_new(m, &o, &t, &err));
    for (uint32_t i = 0; i < t->n_steps; i++)
        assert_false(t->step[i].rectifies);
    assert_true(t->n_steps >= 2);
    pith_tape_free(t);
    pith_model_free(m);
}

RUN_TESTS
