/* SPDX-License-Identifier: MIT */
/* Rows that make up for each other's errors: their compensation is the minimum of what all rows
 * cost together, and rounding with it costs less; the same weights for any number of threads. */
#include "test_run.h"
#include "conv_chain.h"
#include "drawn_sensitivity.h"
#include "pith_host.h"
#include "rd/weight_sweep.h"
#include "layers/layer_round.h"
#include "rd/block_choice.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"

#define ROWS 7
#define DRAWS 400
#define COLUMNS 24
#define ANSWERS 18
#define SHARE (0.5 * 200 / (200 + 32 + ANSWERS)) /* with DRAWS / 2 samples */

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

/* Rows whose gradients have much in common. */
struct known {
    struct pith_row_sensitivity of;
    struct pith_sensitivity s;
    double g[ROWS][ROWS]; /* that the layer is to be rounded by */
};

static void open_known(struct known *k, uint64_t seed)
{
    struct test_random r = {seed};
    double sum[ROWS][ROWS] = {{0}};
    *k = (struct known){.of = {.rows = ROWS, .n_draws = 2}};
    k->s = (struct pith_sensitivity){
        .n = 1, .n_samples = DRAWS / 2, .of = &k->of, .draw = pith_kept_new(1, 1 << 16)};
    for (size_t i = 0; i < DRAWS; i++) {
        float x[ROWS], common = test_gauss(&r);
        for (int a = 0; a < ROWS; a++)
            x[a] = common * (float)(a - 2) + 0.3f * test_gauss(&r);
        check(pith_kept_open(k->s.draw, 0, DRAWS * sizeof x, &err));
        check(pith_kept_write(k->s.draw, 0, i * sizeof x, x, sizeof x, &err));
        for (int a = 0; a < ROWS; a++)
            for (int b = 0; b < ROWS; b++)
                sum[a][b] += (double)x[a] * (double)x[b];
    }
    for (int a = 0; a < ROWS; a++)
        for (int b = 0; b < ROWS; b++)
            k->g[a][b] = (a == b ? 1 : SHARE) * sum[a][b] / DRAWS;
}

static void losses_of(const struct known *k, double loss[ROWS])
{
    for (int a = 0; a < ROWS; a++)
        loss[a] = k->g[a][a];
}

/* Rows in front as they are compensated, behind an error of one row of the block that is rounded
 * first: no other choice of theirs costs less, so the gradient of the cost is 0, and the cost is
 * the row's. */
TEST(rows_in_front_make_up_for_the_rest)
{
    struct known k;
    struct row_coupling c;
    double loss[ROWS], before[ROWS];
    open_known(&k, 3);
    losses_of(&k, before);
    losses_of(&k, loss);
    check(pith_row_coupling_open(&k.s, 0, ANSWERS, loss, &c, &err));
    assert_non_null(c.compensation);
    assert_int_equal(c.at_once, 2);
    assert_int_equal(coupled_from(&c, ROWS - 1), ROWS);
    assert_int_equal(coupled_from(&c, ROWS - 3), ROWS - 2);
    double e[ROWS] = {0}, cost = 0;
    e[c.order[ROWS - 1]] = 1;
    for (size_t j = ROWS - 2; j-- > 0;)
        for (uint64_t i = coupled_from(&c, j); i < ROWS; i++)
            e[c.order[j]] -= c.compensation[j * ROWS + i] * e[c.order[i]];
    for (size_t a = 0; a < ROWS; a++) {
        double slope = 0;
        for (size_t b = 0; b < ROWS; b++)
            slope += k.g[a][b] * e[b];
        cost += slope * e[a];
        if (a != c.order[ROWS - 1] && a != c.order[ROWS - 2])
            assert_true(fabs(slope) < 1e-5 * before[a]);
    }
    assert_true(fabs(cost / loss[c.order[ROWS - 1]] - 1) < 1e-5);
    assert_true(cost < 0.95 * before[c.order[ROWS - 1]]);
    pith_row_coupling_close(&c);
    pith_kept_free(k.s.draw);
}

TEST(none_that_samples_do_not_know)
{
    struct known k;
    struct row_coupling c;
    double loss[ROWS], before[ROWS];
    open_known(&k, 4);
    losses_of(&k, before);
    losses_of(&k, loss);
    check(pith_row_coupling_open(&k.s, 0, 2000, loss, &c, &err)); /* more answers than samples */
    assert_null(c.compensation);
    k.of.n_draws = 0;
    check(pith_row_coupling_open(&k.s, 0, ANSWERS, loss, &c, &err));
    assert_null(c.compensation);
    check(pith_row_coupling_open(NULL, 0, ANSWERS, loss, &c, &err));
    assert_null(c.compensation);
    assert_memory_equal(loss, before, sizeof loss);
    pith_kept_free(k.s.draw);
}

/* Inputs of a common part. */
static struct layer_factor factor_of(struct test_random *r)
{
    struct layer_moments s = pith_layer_moments_none(COLUMNS);
    struct layer_factor f;
    s.h = calloc(COLUMNS * COLUMNS, sizeof *s.h);
    for (int net = 0; net < 2; net++)
        s.mean[net] = calloc(COLUMNS, sizeof **s.mean);
    for (int i = 0; i < 100; i++) {
        double x[COLUMNS], common = (double)test_gauss(r);
        for (int k = 0; k < COLUMNS; k++)
            x[k] = common + (double)test_gauss(r);
        for (int a = 0; a < COLUMNS; a++)
            for (int b = 0; b < COLUMNS; b++)
                s.h[a * COLUMNS + b] += x[a] * x[b];
    }
    check(pith_layer_factor(&s, 0, 0.01, 1, &f, &err));
    pith_layer_moments_end(&s);
    return f;
}

/* Of all rows, by its definition. */
static double cost_of(const struct known *k, const struct layer_round *l)
{
    const struct layer_factor *f = l->factor;
    double moved[ROWS][COLUMNS] = {{0}}, cost = 0;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < COLUMNS; i++)
            for (int j = i; j < COLUMNS; j++) {
                const size_t at = (size_t)r * COLUMNS + f->order[j];
                moved[r][i] += f->u[i * COLUMNS + j] * (l->step[r] * l->q[at] - (double)l->w[at]);
            }
    for (int a = 0; a < ROWS; a++)
        for (int b = 0; b < ROWS; b++)
            for (int i = 0; i < COLUMNS; i++)
                cost += k->g[a][b] * moved[a][i] * moved[b][i];
    return cost;
}

static double rounded(const struct known *k, const struct layer_factor *f, const float *w,
                      bool coupled)
{
    struct row_coupling c = {0};
    double loss[ROWS], step[ROWS], factor;
    losses_of(k, loss);
    if (coupled)
        check(pith_row_coupling_open(&k->s, 0, ANSWERS, loss, &c, &err));
    for (int r = 0; r < ROWS; r++)
        step[r] = 0.4;
    struct layer_round l = {.factor = f,
                            .rows = ROWS,
                            .w = w,
                            .loss = loss,
                            .step = step,
                            .lowest = -RATE_MOST,
                            .most = RATE_MOST,
                            .coupling = coupled ? &c : NULL,
                            .paths = 8};
    check(pith_layer_round(&l, &err));
    check(pith_layer_refit(&l, &factor, &err));
    assert_true(factor > 0.9 && factor < 1.1);
    const double cost = cost_of(k, &l);
    free(l.q);
    free(l.error);
    pith_row_coupling_close(&c);
    return cost;
}

TEST(rounding_costs_less)
{
    struct test_random r = {11};
    double with = 0, without = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct known k;
        struct layer_factor f = factor_of(&r);
        float w[ROWS * COLUMNS];
        open_known(&k, seed);
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            w[i] = test_gauss(&r);
        with += rounded(&k, &f, w, true);
        without += rounded(&k, &f, w, false);
        pith_layer_factor_end(&f);
        pith_kept_free(k.s.draw);
    }
    if (!(with < 0.9 * without))
        fail_msg("coupled %g, each for itself %g", with, without);
}

TEST(threads_change_no_bit)
{
    struct pith_model *m = chain_new(6), *out[3], *alone;
    struct pith_data *data = chain_data(8);
    struct pith_sensitivity s;
    check(drawn_sensitivity(m, 5, &s, &err));
    struct pith_weight_sweep_opts o = {
        .size_bytes = sizeof o, .lambda = 1e-4, .rate_share = 0.5, .sensitivity = &s};
    for (uint32_t i = 0; i < 3; i++) {
        struct pith_opts runtime = {.size_bytes = sizeof runtime};
        if (i)
            check(pith_threads_start(&runtime, 2 * i));
        o.runtime = &runtime;
        check(pith_weight_sweep(m, data, &o, &out[i], NULL, &err));
        if (i)
            pith_threads_stop(&runtime);
    }
    o.runtime = NULL;
    o.without = PITH_SWEEP_NO_COUPLING;
    check(pith_weight_sweep(m, data, &o, &alone, NULL, &err));
    bool differs = false;
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_const *c = out[0]->values[v].constant;
        const size_t bytes = c ? (size_t)c->count * sizeof(float) : 0;
        for (int i = 1; i < 3 && c; i++)
            assert_memory_equal(c->data, out[i]->values[v].constant->data, bytes);
        differs = differs || (c && memcmp(c->data, alone->values[v].constant->data, bytes));
    }
    assert_true(differs);
    for (int i = 0; i < 3; i++)
        pith_model_free(out[i]);
    pith_model_free(alone);
    free_drawn(&s);
    pith_model_free(m);
    pith_data_free(data);
}

RUN_TESTS
