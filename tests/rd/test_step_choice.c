/* SPDX-License-Identifier: MIT */
/* What comes before a layer's integers: steps against the closed form, sensitivities drawn to their
 * mean, bits against counts, the values of a codebook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "conv_chain.h"
#include "layers/rate_table.h"
#include "rd/block_choice.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"
#include "rd/weight_store.h"

/* D + lambda * bits, of D = F noise / 24 s^2 n and bits = -n log2 s, has its least there. */
static void steps_are_where_a_bit_costs_lambda(void **state)
{
    (void)state;
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

static void sensitivities_are_drawn_to_their_mean(void **state)
{
    (void)state;
    double few[] = {0, 1, 5}, many[] = {0, 1, 5}, last[] = {0, 1, 5};
    pith_step_shrink(few, 3, 32, false);
    pith_step_shrink(many, 3, 1 << 20, false);
    pith_step_shrink(last, 3, 1 << 20, true);
    assert_true(few[0] == 1 && few[1] == 1.5 && few[2] == 3.5);
    assert_true(many[0] == 2e-3 && fabs(many[2] - 5) < 1e-3);
    assert_true(last[0] == 2 && last[1] == 2 && last[2] == 2);
}

static void bits_are_those_of_the_counts(void **state)
{
    (void)state;
    struct rate_table t = {{0}, {0}, 0};
    int16_t q[4096];
    for (int i = 0; i < 4096; i++)
        q[i] = (int16_t)(i % 4 == 0 ? 1 : i % 4 == 1 ? -1 : 0);
    pith_rate_count(&t, q, 4096);
    pith_rate_finish(&t);
    assert_true(fabs(t.bits[RATE_MOST] - 1) < 0.01);
    assert_true(fabs(t.bits[RATE_MOST + 1] - 2) < 0.01);
    assert_true(fabs(t.total - 4096 * 1.5) < 20);
    assert_true(t.bits[RATE_MOST + 2] > 12 && t.bits[RATE_MOST - 90] > 12);
}

static void codebooks_have_the_steps(void **state)
{
    (void)state;
    struct pith_model *m = chain_new(25);
    struct pith_const *c = m->values[m->nodes[4].in[1]].constant; /* [6, 8] */
    int16_t q[48];
    const double step[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 48; i++)
        q[i] = (int16_t)(i % 7 - 3);
    assert_int_equal(pith_weight_store(m, c, 6, q, step, true, false), PITH_OK);
    assert_int_equal(c->codebook->n_centroids, 7);
    assert_int_equal(c->codebook->n_groups, 6);
    for (int i = 0; i < 48; i++)
        assert_true(((float *)c->data)[i] == (float)(q[i] * step[i / 8]));
    assert_int_equal(pith_weight_store(m, c, 6, q, step, false, false), PITH_OK);
    assert_int_equal(c->codebook->n_groups, 1);
    assert_true(((float *)c->data)[47] == (float)q[47]);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_where_a_bit_costs_lambda),
        cmocka_unit_test(sensitivities_are_drawn_to_their_mean),
        cmocka_unit_test(bits_are_those_of_the_counts),
        cmocka_unit_test(codebooks_have_the_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
