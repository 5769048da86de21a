/* SPDX-License-Identifier: MIT */
/* Noisy weights: exact derivatives, draws of the right law, and networks pruned by what the noise
 * says of their weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "small_network.h"
#include "test_train_shrink.h"

enum { COUNT = 40 };

static const enum pith_score kinds[2] = {PITH_SCORE_GATES, PITH_SCORE_VARIATIONAL};

static void numbers(const struct weight_noise *n, float *t, float *r, uint8_t *alive)
{
    struct sample_random random = sample_random_of(3);
    for (uint32_t k = 0; k < COUNT; k++) {
        t[k] = sample_gauss(&random);
        r[k] = n->kind == PITH_SCORE_GATES ? 2 * sample_gauss(&random) : -2 + sample_gauss(&random);
        alive[k] = k % 5 != 0;
    }
}

/* A linear form of the weights, and what they cost. */
static double loss_of(const struct weight_noise *n, const float *t, const float *r,
                      const uint8_t *alive)
{
    float w[COUNT];
    double sum = 0;
    pith_noise_values(n, t, r, alive, w);
    for (uint32_t k = 0; k < COUNT; k++) {
        sum += sin(1.0 + k) * (double)w[k];
        if (alive[k] && !n->quiet)
            sum += (double)n->cost * pith_noise_cost(n->kind, t[k], r[k]);
    }
    return sum;
}

/* A gate that is shut or open has a kink there: differences across it are left out. */
static bool near_kink(const struct weight_noise *n, float t, float r, uint32_t k, float step)
{
    float w[COUNT], ts[COUNT] = {0}, rs[COUNT] = {0};
    bool inside[2];
    for (int i = 0; i < 2; i++) {
        ts[k] = 1;
        rs[k] = i ? r + step : r - step;
        pith_noise_values(n, ts, rs, NULL, w);
        inside[i] = w[k] > 0 && w[k] < 1;
    }
    (void)t;
    return n->kind == PITH_SCORE_GATES && inside[0] != inside[1];
}

static void check_gradients(enum pith_score kind, bool quiet)
{
    const float step = 2e-3f;
    float t[COUNT], r[COUNT], g[COUNT], dt[COUNT], dr[COUNT];
    uint8_t alive[COUNT];
    struct weight_noise *n;
    uint32_t moving = 0;
    assert_true(pith_noise_new(kind, COUNT, 5, r, &n));
    n->quiet = quiet;
    n->cost = 0.7f;
    numbers(n, t, r, alive);
    for (uint32_t k = 0; k < COUNT; k++)
        g[k] = (float)sin(1.0 + k);
    pith_noise_gradient(n, t, r, alive, g, dt, dr);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint32_t k = i % COUNT;
        float *at = i < COUNT ? &t[k] : &r[k], was = *at;
        if (i >= COUNT && near_kink(n, t[k], was, k, step))
            continue;
        *at = was + step;
        double up = loss_of(n, t, r, alive);
        *at = was - step;
        double slope = (up - loss_of(n, t, r, alive)) / (2 * (double)step);
        *at = was;
        double is = (double)(i < COUNT ? dt[k] : dr[k]);
        moving += i >= COUNT && is != 0;
        if (!(fabs(slope - is) <= 1e-3 + 3e-3 * fabs(slope)))
            fail_msg("score %d, number %u: %g, by differences %g", (int)kind, i, is, slope);
    }
    assert_true(moving > COUNT / 4 || (quiet && kind == PITH_SCORE_VARIATIONAL));
    pith_noise_free(n);
}

static void gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_gradients(kinds[i & 1], i & 2);
}

/* Gates: how often they are shut is what the cost says. Gaussians: mean and variance. */
static void laws(void **state)
{
    (void)state;
    enum { STEPS = 4000 };
    for (int i = 0; i < 2; i++) {
        float t[COUNT], r[COUNT], w[COUNT], again[COUNT];
        double shut[COUNT] = {0}, sum[COUNT] = {0}, square[COUNT] = {0};
        uint8_t alive[COUNT];
        struct weight_noise *n;
        assert_true(pith_noise_new(kinds[i], COUNT, 5, r, &n));
        numbers(n, t, r, alive);
        for (uint64_t step = 0; step < STEPS; step++) {
            pith_noise_draw(n, step);
            pith_noise_values(n, t, r, NULL, w);
            for (uint32_t k = 0; k < COUNT; k++) {
                double off = (double)w[k] - (double)t[k];
                shut[k] += w[k] == 0;
                sum[k] += off;
                square[k] += off * off;
            }
        }
        for (uint32_t k = 0; k < COUNT; k++) {
            double p = 1 - pith_noise_cost(kinds[i], t[k], r[k]), v = exp((double)r[k]);
            if (i == 0) /* within 5 deviations of a count */
                assert_true(fabs(shut[k] / STEPS - p) < 5 * sqrt(p * (1 - p) / STEPS) + 1e-3);
            else
                assert_true(fabs(sum[k] / STEPS) < 5 * sqrt(v / STEPS) &&
                            fabs(square[k] / STEPS / v - 1) < 5 * sqrt(2.0 / STEPS));
        }
        pith_noise_draw(n, STEPS - 1);
        pith_noise_values(n, t, r, NULL, again);
        assert_memory_equal(w, again, sizeof w);
        pith_noise_free(n);
    }
}

/* Falls as the noise rises, to none where a weight says nothing. */
static void divergence(void **state)
{
    (void)state;
    double last = INFINITY;
    for (float r = -10; r <= 10; r += 0.5f) {
        double cost = pith_noise_cost(PITH_SCORE_VARIATIONAL, 1, r);
        assert_true(cost < last && cost > -1e-3);
        last = cost;
    }
    assert_true(last < 1e-3);
    assert_true(fabs(pith_noise_cost(PITH_SCORE_VARIATIONAL, 1, 0) - 0.43) < 0.01);
}

/* ---- training -------------------------------------------------------------------------------- */

static struct pith_train_opts noisy(enum pith_score kind)
{
    struct pith_train_opts o = small_options();
    o.score = kind;
    o.sparsity = 0.6;
    o.prune_every = 4;
    o.epochs = 30;
    return o;
}

/* Inputs 4 and 5 are noise: nothing of them is worth its place. */
static void prunes_by_noise(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = noisy(kinds[i]);
        struct pith_train_result r = trained_on(m, &o, true);
        const struct pith_const *w = constant(m, "w1");
        uint32_t told = 0, untold = 0;
        for (uint32_t k = 0; k < HIDDEN * INPUTS; k++) {
            const float v = ((const float *)w->data)[k];
            assert_true((v != 0) == w->mask[k]);
            *(k % INPUTS < CLASSES ? &told : &untold) += v != 0;
        }
        if (!(r.val_accuracy > 0.9 &&
              (double)r.kept <= 0.4 * (HIDDEN * INPUTS + HIDDEN * CLASSES) + 1))
            fail_msg("score %d: accuracy %g, %u kept", (int)kinds[i], r.val_accuracy,
                     (unsigned)r.kept);
        if (!(untold * CLASSES < told))
            fail_msg("score %d: %u of inputs that tell something, %u of others", (int)kinds[i],
                     told, untold);
        pith_model_free(m);
    }
}

static void refuses_a_grid(void **state)
{
    (void)state;
    struct pith_model *m = network_of(3, false);
    struct pith_train_opts o = noisy(PITH_SCORE_GATES);
    struct pith_data *data = clouds(0);
    struct pith_train_result r;
    struct pith_error err = {0};
    o.levels = 7;
    assert_int_equal(pith_train(m, data, NULL, &o, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "levels"));
    o.levels = 0;
    attach_codebook(m);
    assert_int_equal(pith_train(m, data, NULL, &o, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "codebook"));
    pith_data_free(data);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients), cmocka_unit_test(laws), cmocka_unit_test(divergence),
        cmocka_unit_test(prunes_by_noise), cmocka_unit_test(refuses_a_grid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
