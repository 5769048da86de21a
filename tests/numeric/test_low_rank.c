/* SPDX-License-Identifier: MIT */
/* A factor of low rank against the whole one: its elements, solutions, and the integers of rows on
 * one path, on several, and beside each other. */
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "numeric/cholesky.h"
#include "numeric/feedback_panel.h"
#include "numeric/low_rank.h"
#include "gemm_model.h"

#define N 70 /* more than two blocks of paths */
#define ROWS 5
#define RIDGE 0.5

/* Three rows of inputs, the last of them twice: rank 2, damped, by place. */
struct both {
    double h[N * N], u[N * N];
    size_t order[2 * N];
    struct low_rank low;
};

static void open_both(struct test_random *r, struct both *b)
{
    double x[2][N], diagonal[N];
    memset(b->h, 0, sizeof b->h);
    for (int i = 0; i < 2 * N; i++)
        x[i / N][i % N] = (double)test_gauss(r) * (1 + 0.1 * (i % N));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < N * N; k++)
            b->h[k] += x[i / 2][k / N] * x[i / 2][k % N];
    assert_true(pith_low_rank_open(b->h, N, 3, &b->low));
    assert_int_equal(b->low.rank, 2);
    for (int k = 0; k < N; k++)
        diagonal[k] = b->h[k * N + k];
    pith_order_by_diagonal(diagonal, N, b->order);
    for (int k = 0; k < N * N; k++)
        b->u[k] = b->h[b->order[k / N] * N + b->order[k % N]] + (k / N == k % N ? RIDGE : 0);
    assert_true(pith_cholesky(b->u, N));
    assert_true(pith_low_rank_factor(&b->low, b->order, RIDGE));
}

TEST(elements_are_products)
{
    struct test_random r = test_seed(3);
    struct both b;
    open_both(&r, &b);
    for (size_t j = 0; j < N; j++) {
        assert_true(fabs(b.low.diagonal[j] - b.u[j * N + j]) < 1e-9);
        for (size_t i = j + 1; i < N; i++)
            assert_true(fabs(pith_dot(b.low.a + j * 2, b.low.x + i * 2, 2) - b.u[j * N + i]) <
                        1e-8);
    }
    double y[2 * N], z[2 * N];
    for (int i = 0; i < 2 * N; i++)
        y[i] = z[i] = (double)test_gauss(&r);
    assert_true(pith_low_rank_solve(&b.low, RIDGE, y, 2));
    pith_cholesky_solve(b.u, N, z);
    pith_cholesky_solve(b.u, N, z + N);
    for (int i = 0; i < 2 * N; i++)
        assert_true(fabs(y[i] - z[i]) < 1e-8);
    pith_low_rank_close(&b.low);
}

TEST(integers_are_those_of_the_whole)
{
    struct test_random r = test_seed(4);
    struct both b;
    const struct row_panel_kernels kernels = pith_row_panel_kernels();
    static double goals[N * PITH_ROW_PANEL], e[(N + 2) * 32];
    double scale[ROWS], enough[ROWS], error[PITH_ROW_PANEL];
    int16_t beside[ROWS * N], whole[N], low[N];
    open_both(&r, &b);
    for (size_t i = 0; i < N * ROWS; i++)
        goals[i / ROWS * PITH_ROW_PANEL + i % ROWS] = 3 * (double)test_gauss(&r);
    for (size_t row = 0; row < ROWS; row++) {
        scale[row] = 0.8 + 0.1 * (double)row;
        enough[row] = HUGE_VAL;
    }
    pith_feedback_panel(&(struct feedback_panel){.n = N,
                                                 .rows = ROWS,
                                                 .low = &b.low,
                                                 .goal = goals,
                                                 .lowest = -7,
                                                 .most = 7,
                                                 .e = e,
                                                 .q = beside,
                                                 .kernels = &kernels},
                        scale, enough, error);
    for (size_t row = 0; row < ROWS; row++) {
        double goal[N];
        for (size_t j = 0; j < N; j++)
            goal[j] = goals[j * PITH_ROW_PANEL + row];
        for (uint32_t paths = 1; paths <= 32; paths *= 2) {
            struct error_feedback f = {.n = N,
                                       .u = b.u,
                                       .goal = goal,
                                       .lowest = -7,
                                       .most = 7,
                                       .n_paths = paths,
                                       .e = e,
                                       .panel = paths > 8 ? &kernels : NULL};
            const double wanted = pith_error_feedback(&f, scale[row], HUGE_VAL, whole);
            f.u = NULL;
            f.low = &b.low;
            const double found = pith_error_feedback(&f, scale[row], HUGE_VAL, low);
            assert_true(fabs(wanted - found) < 1e-8 * wanted);
            assert_memory_equal(whole, low, sizeof low);
            if (paths == 1) {
                assert_memory_equal(low, beside + row * N, sizeof low);
                assert_true(fabs(error[row] - found) < 1e-8 * found);
            }
        }
    }
    pith_low_rank_close(&b.low);
}

/* No rank at all: nothing of H. */
TEST(zeros_have_no_rank)
{
    const double h[4] = {0};
    struct low_rank f;
    assert_true(pith_low_rank_open(h, 2, 2, &f));
    assert_int_equal(f.rank, 0);
    pith_low_rank_close(&f);
}

RUN_TESTS
