/* SPDX-License-Identifier: MIT */
/* What comes before a layer's integers: steps against the closed form, sensitivities drawn to their
 * mean, bits against counts, the values of a codebook. */
#include "test_run.h"
#include "conv_chain.h"
#include "layers/rate_table.h"
#include "rd/block_choice.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"
#include "rd/weight_store.h"

/* D + lambda * bits, of D = F noise / 24 s^2 n and bits = -n log2 s, has its least there. */
TEST(steps_are_where_a_bit_costs_lambda)
{
    const double loss[] = {1, 16, 400}, most[] = {0.1, 0.1, 0.1};
    double step[3];
    struct step_choice c = {.rows = 3,
                            .n = 100,
                            .lambda = 1e-3,
                            .loss = loss,
                            .most = most,
                            .levels = 127,
                            .by_row = 0};
    assert_false(pith_step_choose(&c, step));
    double mean = (1 + 16 + 400) / 3.0, best = HUGE_VAL, at = 0;
    for (double s = 1e-3; s < 1; s *= 1.001) {
        double cost = mean * s * s / 24 - c.lambda * log2(s);
        if (cost < best) {
            best = cost;
            at = s;
        }
    }
    assert_true(fabs(log(step[0] / at)) < 2e-3);
    assert_true(step[0] == step[1] && step[1] == step[2]);
    assert_true(pith_step_reach(&c, false, step));
    c.trellis = true;
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(log(step[0] / at / 0.56)) < 2e-3);
    assert_true(pith_step_reach(&c, false, step));
    c.trellis = false;
    c.by_row = -1; /* they differ by much */
    assert_true(pith_step_choose(&c, step));
    for (int i = 0; i < 3; i++) {
        double wanted = sqrt(12 * c.lambda / (log(2) * loss[i]));
        assert_true(fabs(log2(step[i] / wanted)) < 0.17);
        int e;
        double eighths = 8 * frexp(step[i], &e);
        assert_true(eighths == floor(eighths));
    }
    c.lambda = 1e-9; /* finer than 127 of them reach */
    assert_true(pith_step_choose(&c, step));
    for (int i = 0; i < 3; i++)
        assert_true(step[i] * 127 >= 0.1 && step[i] * 127 < 0.13);
    assert_false(pith_step_reach(&c, true, step));
    const double alike[] = {1, 1, 1};
    c.loss = alike;
    assert_false(pith_step_choose(&c, step));
}

/* With lambda = ln 2 / 12 a row of loss 1 / s^2 has the step s, rounded to a quarter of a power of
 * two by its logarithm: between 1 and 1.25 at 1.118. */
TEST(steps_by_hand)
{
    static const double s[] = {1, 1.11, 1.12, 1.3, 1.65, 1.9, 0.26, 3.2, 1},
                        most[] = {0, 0, 0, 0, 0, 0, 0, 0, 9},
                        wanted[] = {1, 1, 1.25, 1.25, 1.75, 2, 0.25, 3, 2.5}; /* 4 levels reach 9 */
    enum { ROWS = sizeof s / sizeof *s };
    double loss[ROWS], step[ROWS];
    struct step_choice c = {.rows = ROWS,
                            .n = 99,
                            .lambda = log(2) / 12,
                            .loss = loss,
                            .most = most,
                            .levels = 4,
                            .by_row = 1};
    for (int i = 0; i < ROWS; i++)
        loss[i] = 1 / (s[i] * s[i]);
    assert_true(pith_step_choose(&c, step));
    assert_memory_equal(step, wanted, sizeof step);
    c.by_row = 0;
    assert_false(pith_step_choose(&c, step));
    for (int i = 0; i < ROWS; i++)
        assert_true(step[i] == 2.25);
    /* Of losses 1 and 4 rows save 0.161 bits a weight; they have to save 0.1 + 6 / n. */
    loss[0] = 1;
    loss[1] = 4;
    c.rows = 2;
    c.by_row = -1;
    assert_true(pith_step_choose(&c, step));
    assert_true(step[0] == 1 && step[1] == 0.5);
    c.n = 98;
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(step[0] - sqrt(0.4)) < 1e-6 && step[1] == step[0]);
    /* One of ten rows may be more than 1.15 times as wide. */
    for (int i = 0; i < ROWS; i++)
        loss[i] = step[i] = 1;
    c.rows = ROWS;
    step[2] = 1.14;
    assert_true(pith_step_reach(&c, true, step));
    step[2] = 1.16;
    assert_false(pith_step_reach(&c, true, step)); /* of nine */
}

/* Of -1, 0 and 1 times a step: 0.7 has the least squares of (1 0.6 0.6 0.6), of steps that are 1,
 * 0.95
 * ..., 0.4. With (0.9 0.9 0.9 0.9) it is 0.8, or 0.9 where that counts ten times. */
TEST(steps_that_cut_weights_off)
{
    static const float w[] = {1, 0.6f, 0.6f, 0.6f, 0.9f, 0.9f, 0.9f, 0.9f};
    static const double most[] = {1, 0.9};
    double loss[] = {1, 1}, step[2];
    struct step_choice c = {
        .rows = 1, .n = 4, .lambda = 1e-9, .loss = loss, .most = most, .levels = 1, .cut = w};
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(step[0] - 0.7) < 1e-6);
    c.by_row = 1;
    assert_true(pith_step_choose(&c, step));
    assert_true(step[0] == 0.75);
    c.by_row = 0;
    c.rows = 2;
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(step[0] - 0.8) < 1e-6 && step[1] == step[0]);
    loss[1] = 10;
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(step[0] - 0.9) < 1e-6);
    c.lambda = 1; /* wider than any weight */
    assert_false(pith_step_choose(&c, step));
    assert_true(fabs(step[0] - sqrt(12 / (log(2) * 5.5))) < 1e-6);
}

TEST(sensitivities_are_drawn_to_their_mean)
{
    double few[] = {0, 1, 5}, many[] = {0, 1, 5}, last[] = {0, 1, 5};
    pith_step_shrink(few, 3, 32, false);
    pith_step_shrink(many, 3, 1 << 20, false);
    pith_step_shrink(last, 3, 1 << 20, true);
    assert_true(few[0] == 1 && few[1] == 1.5 && few[2] == 3.5);
    assert_true(many[0] == 2e-3 && fabs(many[2] - 5) < 1e-3);
    assert_true(last[0] == 2 && last[1] == 2 && last[2] == 2);
}

TEST(bits_are_those_of_the_counts)
{
    struct rate_table t = {{0}, {0}, 0};
    int16_t q[4096];
    for (int i = 0; i < 4096; i++)
        q[i] = (int16_t)(i % 4 == 0 ? 1 : i % 4 == 1 ? -1 : 0);
    pith_rate_count(&t, q, 4096);
    pith_rate_finish(&t);
    const double all = 4096 + 0.4 * 5, zero = log2(all / 2048.4), one = log2(all / 1024.4);
    assert_true(fabs(t.bits[RATE_MOST] - zero) < 1e-9);
    assert_true(fabs(t.bits[RATE_MOST + 1] - one) < 1e-9);
    assert_true(fabs(t.total - 2048 * (zero + one)) < 1e-6);
    assert_true(fabs(t.bits[RATE_MOST - 90] - log2(all / 0.4)) < 1e-9);
}

TEST(codebooks_have_the_steps)
{
    struct pith_model *m = chain_new(25);
    struct pith_const *c = m->values[m->nodes[4].in[1]].constant; /* [6, 8] */
    int16_t q[48];
    const double step[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 48; i++)
        q[i] = (int16_t)(i % 7 - 3);
    assert_int_equal(pith_weight_store(m, c, q, step, 6, false), PITH_OK);
    assert_int_equal(c->codebook->n_centroids, 7);
    assert_int_equal(c->codebook->n_groups, 6);
    for (int i = 0; i < 48; i++)
        assert_true(((float *)c->data)[i] == (float)(q[i] * step[i / 8]));
    assert_int_equal(pith_weight_store(m, c, q, step, 1, false), PITH_OK);
    assert_int_equal(c->codebook->n_groups, 1);
    assert_true(((float *)c->data)[47] == (float)q[47] && !c->mask);
    assert_int_equal(c->code, PITH_CODE_ADAPTIVE);
    memset(q, 0, sizeof q);
    q[5] = -1;
    assert_int_equal(pith_weight_store(m, c, q, step, 6, true), PITH_OK);
    assert_int_equal(c->codebook->n_centroids, 3);
    for (int i = 0; i < 48; i++)
        assert_true(c->mask[i] == (i == 5) && c->codebook->index[i] == (i == 5 ? 0 : 1) &&
                    ((float *)c->data)[i] == (i == 5 ? -1.0f : 0));
    pith_model_free(m);
}

RUN_TESTS
