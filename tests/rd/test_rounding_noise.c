/* SPDX-License-Identifier: MIT */
/* What error feedback leaves, of two columns by hand; of inputs that say the same; of fewer samples
 * than a sweep will have; on several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "measure/small_net.h"
#include "pith_host.h"
#include "pith_rounding_noise.h"

enum { MOST = 64, MANY = 1000000000 };

static double share_of(const struct pith_model *m, const float *x, uint32_t samples, uint32_t cols,
                       uint64_t all_samples, const struct pith_opts *runtime)
{
    struct pith_data *data = rows_of(x, samples, cols, NULL);
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 1, .input = (struct pith_feed_input *)&input};
    const struct rounding_noise_opts o = {
        .feed = &feed, .all_samples = all_samples, .runtime = runtime};
    struct pith_error err = {0};
    double share = -1;
    if (pith_rounding_noise(m, &o, &share, &err))
        fail_msg("%s", err.text);
    pith_data_free(data);
    return share;
}

static void of_two_columns_by_hand(void **state)
{
    (void)state;
    static const float x[8][2] = {{1, 2}, {2, 1},  {-1, 3}, {0, 1},
                                  {2, 2}, {1, -1}, {3, 4},  {-2, -1}};
    static const float w[] = {1, 0, 0, 1};
    struct pith_model *m = small_net(2, 2, w, false);
    double a = 0, b = 0, c = 0;
    for (int i = 0; i < 8; i++) {
        a += (double)(x[i][0] * x[i][0]) / 8;
        b += (double)(x[i][0] * x[i][1]) / 8;
        c += (double)(x[i][1] * x[i][1]) / 8;
    }
    /* Damped by 1 %: with so many samples to come nothing is in doubt. H = U^T U by hand, the
     * smaller diagonal first. */
    const double ridge = 0.01 * (a + c) / 2, first = a + ridge, other = c + ridge - b * b / first;
    assert_true(a < c);
    const double share = share_of(m, x[0], 8, 2, MANY, NULL);
    assert_true(fabs(share - (first + other) / (a + c + 2 * ridge)) < 1e-6);
    pith_model_free(m);
}

/* x: [MOST, 4]; how far columns are the same number. */
static void draw(float *x, float same)
{
    struct sample_random r = sample_random_of(7);
    for (uint32_t i = 0; i < MOST; i++) {
        const float common = sample_gauss(&r);
        for (uint32_t k = 0; k < 4; k++)
            x[i * 4 + k] = same * common + (1 - same) * sample_gauss(&r);
    }
}

static void inputs_that_are_alike_leave_little(void **state)
{
    (void)state;
    float x[MOST * 4];
    struct pith_model *m = identity_net(4);
    double before = 1.1;
    for (float same = 0; same < 1.01f; same += 0.5f) {
        draw(x, same);
        const double share = share_of(m, x, MOST, 4, 0, NULL);
        assert_true(share > 0 && share < before);
        assert_true(same > 0 || share > 0.8);
        before = share;
    }
    assert_true(before < 0.4); /* one column in four is left, and what is in doubt */
    pith_model_free(m);
}

/* Of 4 rows of 24 columns, too: all columns the same number leave one in 24, and what is in doubt.
 */
static void few_rows_of_many_columns(void **state)
{
    (void)state;
    enum { ROWS = 4, COLS = 24 };
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = identity_net(COLS);
    float alike[ROWS * COLS], apart[ROWS * COLS];
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        apart[i] = sample_gauss(&r);
        alike[i] = i % COLS == 0 ? 1 + 0.1f * apart[i] : alike[i - 1];
    }
    const double little = share_of(m, alike, ROWS, COLS, 0, NULL),
                 much = share_of(m, apart, ROWS, COLS, 0, NULL);
    assert_true(little > 1.0 / COLS && little < 0.2);
    assert_true(much > 2 * little && much < 1);
    pith_model_free(m);
}

static void more_samples_to_come_leave_less_in_doubt(void **state)
{
    (void)state;
    float x[MOST * 4];
    struct pith_model *m = identity_net(4);
    draw(x, 0.9f);
    const double now = share_of(m, x, 16, 4, 0, NULL), then = share_of(m, x, 16, 4, MANY, NULL);
    assert_true(then < 0.9 * now);
    /* Two rows are not the rank of four columns, however many are to come. */
    assert_true(share_of(m, x, 2, 4, 0, NULL) == share_of(m, x, 2, 4, MANY, NULL));
    pith_model_free(m);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    float x[MOST * 4];
    struct pith_model *m = identity_net(4);
    struct pith_opts runtime;
    draw(x, 0.5f);
    pith_opts_init(&runtime, sizeof runtime);
    const double alone = share_of(m, x, MOST, 4, 0, NULL);
    assert_int_equal(pith_threads_start(&runtime, 3), PITH_OK);
    assert_true(alone == share_of(m, x, MOST, 4, 0, &runtime));
    pith_threads_stop(&runtime);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_columns_by_hand),
        cmocka_unit_test(inputs_that_are_alike_leave_little),
        cmocka_unit_test(few_rows_of_many_columns),
        cmocka_unit_test(more_samples_to_come_leave_less_in_doubt),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
