/* SPDX-License-Identifier: MIT */
/* What error feedback leaves of few rows: by their rank as by the whole factor; a matrix of more
 * rows than were said is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include "conv_chain.h"
#include "test_rd.h"

enum { N = 40, ROWS = 7 };

/* h [N, N] of rows, one of which is another's double, and columns of all sizes. */
static void make_gram(double *h)
{
    struct test_random r = test_seed(31);
    float x[ROWS][N];
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < N; k++)
            x[i][k] = i == 3 ? 2 * x[1][k] : test_gauss(&r) * (float)(1 + k % 5) / 3;
    memset(h, 0, N * N * sizeof *h);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < N * N; k++)
            h[k] += (double)x[i][k / N] * (double)x[i][k % N];
}

static void is_that_of_the_factor(void **state)
{
    (void)state;
    static const double damping[] = {0.01, 1, 50};
    for (int i = 0; i < 3; i++) {
        struct layer_statistics s = {.n = N, .groups = 1, .samples = ROWS, .rows = ROWS};
        struct layer_factor f;
        struct pith_error err = {0};
        double h[N * N], noise = 0;
        make_gram(h);
        s.h = malloc(sizeof h);
        s.mean[0] = calloc(N, sizeof **s.mean);
        memcpy(s.h, h, sizeof h);
        assert_int_equal(pith_layer_factor(&s, 0, damping[i], 1, &f, &err), PITH_OK);
        assert_int_equal(pith_low_rank_noise(h, N, ROWS, f.ridge[0], &noise), PITH_OK);
        assert_true(fabs(noise - f.noise[0]) < 1e-7 * noise);
        pith_layer_factor_end(&f);
        pith_layer_statistics_end(&s);
    }
}

static void more_rows_than_said_are_told(void **state)
{
    (void)state;
    double h[N * N], noise = -1;
    make_gram(h); /* of rank ROWS - 1 */
    assert_int_equal(pith_low_rank_noise(h, N, ROWS - 2, 0.1, &noise), PITH_ERR_ARGUMENT);
    assert_true(noise == -1);
    assert_int_equal(pith_low_rank_noise(h, N, ROWS - 1, 0.1, &noise), PITH_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_that_of_the_factor),
        cmocka_unit_test(more_rows_than_said_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
