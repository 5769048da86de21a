/* SPDX-License-Identifier: MIT */
/* Gram matrices against their definition; places of patches against the windows of a picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gemm_model.h"
#include "pith_gram.h"
#include "pith_im2col.h"

enum { N = 7, ROWS = 3, STRIDE = 512, COUNT = 300 };

static void products_are_exact_and_added(void **state)
{
    (void)state;
    struct test_random r = test_seed(61);
    static int16_t x[N * STRIDE];
    double h[N * N];
    for (int i = 0; i < N * STRIDE; i++)
        x[i] = (int16_t)(test_below(&r, 511) - 255);
    for (int i = 0; i < N * N; i++)
        h[i] = i;
    pith_gram_add(x, N, STRIDE, COUNT, h);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            int64_t sum = i * N + k;
            for (int p = 0; p < COUNT && k >= i; p++)
                sum += x[i * STRIDE + p] * x[k * STRIDE + p];
            assert_true(h[i * N + k] == (double)sum);
        }
    pith_gram_mirror(h, N);
    for (int i = 0; i < N * N; i++)
        assert_true(h[i] == h[i % N * N + i / N]);
}

static void crossed_products_are_added(void **state)
{
    (void)state;
    struct test_random r = test_seed(62);
    static float x[N * STRIDE], y[ROWS * STRIDE];
    double c[ROWS * N];
    for (int i = 0; i < N * STRIDE; i++)
        x[i] = test_gauss(&r);
    for (int i = 0; i < ROWS * STRIDE; i++)
        y[i] = test_gauss(&r);
    for (int i = 0; i < ROWS * N; i++)
        c[i] = 100;
    pith_gram_add_cross(y, ROWS, x, N, STRIDE, COUNT + 5, c);
    for (int o = 0; o < ROWS; o++)
        for (int i = 0; i < N; i++) {
            double sum = 100;
            for (int p = 0; p < COUNT + 5; p++)
                sum += (double)y[o * STRIDE + p] * (double)x[i * STRIDE + p];
            assert_true(fabs(c[o * N + i] - sum) < 1e-3);
        }
}

/* 4 x 3 pixels, a window of 2 x 3 with steps of 2 x 1 and padding of 1 x 1: each place by hand. */
static void places_are_those_of_the_window(void **state)
{
    (void)state;
    const struct window v = {
        .n = 2,
        .axis = {{.in = 4, .out = 3, .kernel = 2, .stride = 2, .dilation = 1, .pad = 1},
                 {.in = 3, .out = 3, .kernel = 3, .stride = 1, .dilation = 1, .pad = 1}},
        .taps = 6,
        .in = 12,
        .out = 9,
        .out_rows = 3};
    static const int64_t wanted[9][6] = {
        {-1, -1, -1, -1, 0, 1},  {-1, -1, -1, 0, 1, 2},   {-1, -1, -1, 1, 2, -1},
        {-1, 3, 4, -1, 6, 7},    {3, 4, 5, 6, 7, 8},      {4, 5, -1, 7, 8, -1},
        {-1, 9, 10, -1, -1, -1}, {9, 10, 11, -1, -1, -1}, {10, 11, -1, -1, -1, -1}};
    int64_t place[9 * 6];
    pith_im2col_places(&v, place);
    assert_memory_equal(place, wanted, sizeof wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact_and_added),
        cmocka_unit_test(crossed_products_are_added),
        cmocka_unit_test(places_are_those_of_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
