/* SPDX-License-Identifier: MIT */
/* What rounding costs: the noise that feedback makes of roundings, and the steps told from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "sample_models.h"
#include "test_train_feedback.h"

enum { N = 9 };

/* Sums of squares of inputs that have much in common. */
static void some_inputs(double *both)
{
    struct sample_random r = sample_random_of(4);
    memset(both, 0, N * N * sizeof *both);
    for (int s = 0; s < 40; s++) {
        float x[N], common = sample_gauss(&r);
        for (int i = 0; i < N; i++)
            x[i] = common + 0.3f * (float)(i + 1) * sample_gauss(&r);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                both[i * N + k] += (double)x[i] * (double)x[k];
    }
}

/* One rounding of 1, of element number `at` of the order, and what feedback makes of it: g e. */
static double moved_by(struct row_feedback *s, uint32_t at, const float *g)
{
    double sum = 0;
    double error[N];
    for (uint32_t j = N; j-- > 0;) {
        error[j] = j == at;
        for (uint32_t i = j + 1; i < N; i++)
            error[j] -= error[i] * s->ordered[j * N + i] / s->ordered[j * N + j];
    }
    for (uint32_t j = 0; j < N; j++)
        sum += (double)g[s->order[j]] * error[j];
    return sum;
}

static void test_noise_is_what_feedback_makes(void **state)
{
    (void)state;
    struct sample_random r = sample_random_of(5);
    struct row_feedback s;
    double both[N * N];
    float w[N], g[N];
    some_inputs(both);
    for (int i = 0; i < N; i++) {
        w[i] = sample_gauss(&r);
        g[i] = sample_gauss(&r);
    }
    assert_true(pith_row_feedback_open(&s, N, true));
    assert_true(pith_row_feedback_factor(&s, both, both));
    pith_row_feedback_aim(&s, w);
    for (int i = 0; i < N; i++) /* the same inputs before and now: the goal is the row itself */
        assert_true(fabs(s.goal[i] - (double)w[i]) < 1e-4);
    double wanted = 0, plain = 0;
    for (uint32_t at = 0; at < N; at++) {
        double moved = moved_by(&s, at, g);
        wanted += moved * moved;
        plain += (double)g[at] * (double)g[at];
    }
    double noise = pith_row_feedback_noise(&s, g);
    assert_true(fabs(noise - wanted) < 1e-9 * wanted);
    assert_true(fabs(noise - plain) > 0.1 * plain);
    pith_row_feedback_free(&s);
}

/* Where inputs have nothing in common, nothing is made up for: noise is the square of the gradient.
 */
static void test_nothing_in_common(void **state)
{
    (void)state;
    struct row_feedback s;
    double both[N * N] = {0};
    float g[N];
    for (int i = 0; i < N; i++) {
        both[i * N + i] = i + 1;
        g[i] = (float)(i - 3);
    }
    assert_true(pith_row_feedback_open(&s, N, false));
    assert_true(pith_row_feedback_factor(&s, both, NULL));
    assert_int_equal(s.order[N - 1], N - 1); /* the strongest first, from the end */
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += (double)g[i] * (double)g[i];
    assert_true(fabs(pith_row_feedback_noise(&s, g) - sum) < 1e-12 * sum);
    memset(both, 0, sizeof both);
    assert_false(pith_row_feedback_factor(&s, both, NULL));
    pith_row_feedback_free(&s);
}

static void test_steps_take_few_bits(void **state)
{
    (void)state;
    const double given[] = {1, 1.2, 1.23, 1.7, 1.74, 2.9, 0.3, 1e-9, 1e-300};
    const float wanted[] = {1, 1, 1.5f, 1.5f, 2, 3, 0.25f, 0x1p-30f, 0x1.8p-100f};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        assert_true(pith_row_step_round(given[i]) == wanted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise_is_what_feedback_makes),
                                       cmocka_unit_test(test_nothing_in_common),
                                       cmocka_unit_test(test_steps_take_few_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
