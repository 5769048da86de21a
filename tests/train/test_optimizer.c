/* SPDX-License-Identifier: MIT */
/* test_optimizer.c - two steps of each optimizer on a layer of two weights and a bias, by hand. */
#include <stdint.h>
#include "test_run.h"
#include "sample_models.h"
#include "train/shrink/optimizer.h"

/* y = w x + b, w = (1, -2), b = 1/2. */
static struct pith_model *layer(void)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    const uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, 2});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    const uint32_t w = add_constant(m, &r, "w", 2, (const uint32_t[]){1, 2}),
                   b = add_constant(m, &r, "b", 1, (const uint32_t[]){1});
    memcpy(m->values[w].constant->data, (const float[]){1, -2}, 2 * sizeof(float));
    memcpy(m->values[b].constant->data, (const float[]){0.5f}, sizeof(float));
    return sample_done(
        m, add_node(m, PITH_OP_GEMM, "fc", "y", 3, (const uint32_t[]){x, w, b})->out[0]);
}

/* Sums over two samples: a mean gradient of (1/4, -1/2) and 1. */
static void set_gradients(struct tape_parameter *p, float more)
{
    p[0].grad[0] = 0.5f + more;
    p[0].grad[1] = -1;
    p[1].grad[0] = 2;
}

static const struct {
    enum pith_optimizer of;
    float momentum, decay, clip;
    double after[2][3]; /* w and b behind the first and the second step of 0.1 */
} cases[] = {
    {PITH_SGD, 0, 0, 0, {{0.975, -1.95, 0.4}, {0.95, -1.9, 0.3}}},
    {PITH_SGD, 0.5f, 0, 0, {{0.975, -1.95, 0.4}, {0.9375, -1.875, 0.25}}},
    {PITH_NESTEROV, 0.5f, 0, 0, {{0.9625, -1.925, 0.35}, {0.91875, -1.8375, 0.175}}},
    /* weights decay, biases do not */
    {PITH_SGD, 0, 0.1f, 0, {{0.965, -1.93, 0.4}, {0.93035, -1.8607, 0.3}}},
    /* gradients of a norm above 1/2 are cut to it; one below a limit is as it is */
    {PITH_SGD,
     0,
     0,
     0.5f,
     {{0.98908911, -1.97817822, 0.45635644}, {0.97817822, -1.95635644, 0.41271287}}},
    {PITH_SGD, 0, 0, 1.15f, {{0.975, -1.95, 0.4}, {0.95, -1.9, 0.3}}},
    /* steps of the rate as long as gradients stay what they are; decay in the gradient, and apart
     */
    {PITH_ADAM, 0, 0, 0, {{0.9, -1.9, 0.4}, {0.8, -1.8, 0.3}}},
    {PITH_ADAM, 0, 0.1f, 0, {{0.9, -1.9, 0.4}, {0.8000862, -1.8000401, 0.3}}},
    {PITH_ADAMW, 0, 0.1f, 0, {{0.89, -1.88, 0.4}, {0.7811, -1.7612, 0.3}}},
};

TEST(test_steps)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_model *m = layer();
        struct tape *t = NULL;
        struct optimizer *o = NULL;
        struct pith_train_opts opts;
        const struct tape_opts tape_opts = {
            .batch = PITH_TRAIN_SLICES, .threads = 1, .training = true};
        uint32_t n;
        pith_train_opts_init(&opts, sizeof opts);
        opts.optimizer = cases[i].of;
        opts.momentum = cases[i].momentum;
        opts.weight_decay = cases[i].decay;
        opts.clip_norm = cases[i].clip;
        assert_int_equal(pith_tape_new(m, &tape_opts, &t, NULL), PITH_OK);
        assert_int_equal(pith_optimizer_new(m, t, &opts, 2, &o, NULL), PITH_OK);
        struct tape_parameter *p = pith_tape_parameters(t, &n);
        assert_int_equal(n, 2);
        assert_true(p[0].is_weight && !p[1].is_weight);
        for (uint32_t step = 0; step < 2; step++) {
            const double *want = cases[i].after[step];
            const double got[] = {(double)p[0].data[0], (double)p[0].data[1], (double)p[1].data[0]};
            set_gradients(p, INFINITY); /* changes nothing, and is no step */
            assert_true(isinf(pith_optimizer_step(o, 0.1, 2)));
            assert_true((double)p[0].data[1] == got[1] && (double)p[1].data[0] == got[2]);
            set_gradients(p, 0);
            assert_true(fabs(pith_optimizer_step(o, 0.1, 2) - sqrt(1.3125)) < 1e-6);
            if (fabs((double)p[0].data[0] - want[0]) > 2e-6 ||
                fabs((double)p[0].data[1] - want[1]) > 2e-6 ||
                fabs((double)p[1].data[0] - want[2]) > 2e-6)
                fail_msg("case %zu, step %u: %.7f %.7f %.7f", i, step, (double)p[0].data[0],
                         (double)p[0].data[1], (double)p[1].data[0]);
        }
        assert_int_equal(pith_optimizer_kept(o), 2);
        pith_optimizer_store(o);
        assert_true(((const float *)m->values[p[0].value].constant->data)[0] == p[0].data[0]);
        pith_optimizer_free(o);
        pith_tape_free(t);
        pith_model_free(m);
    }
}

RUN_TESTS
