/* SPDX-License-Identifier: MIT */
/* U^T U = A for random positive definite matrices of many sizes; systems are
 * solved by it; matrices that are not are reported. */
#include "test_run.h"
#include "numeric/cholesky.h"
#include "gemm_model.h"
#include "pith_runtime.h"
#include "numeric/gram_tile.h"
#include "numeric/row_panel_list.h"
#include "panels_that_run.h"

/* B^T B + I. */
static void positive_definite(struct test_random *r, double *a, size_t n)
{
    double *b = malloc(n * n * sizeof *b);
    for (size_t i = 0; i < n * n; i++)
        b[i] = (double)test_gauss(r);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            a[i * n + k] = i == k;
            for (size_t j = 0; j < n; j++)
                a[i * n + k] += b[j * n + i] * b[j * n + k];
        }
    free(b);
}

TEST(factors_give_the_matrix_back)
{
    struct test_random r = test_seed(1);
    static const size_t sizes[] = {1, 2, 3, 31, 32, 33, 64, 100};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        double *a = malloc(n * n * sizeof *a), *u = malloc(n * n * sizeof *u);
        positive_definite(&r, a, n);
        memcpy(u, a, n * n * sizeof *a);
        for (size_t i = 0; i < n; i++) /* nothing reads it */
            for (size_t k = 0; k < i; k++)
                u[i * n + k] = NAN;
        assert_true(pith_cholesky(u, n));
        for (size_t i = 0; i < n; i++)
            for (size_t k = i; k < n; k++) {
                double sum = 0;
                for (size_t j = 0; j <= i; j++)
                    sum += u[j * n + i] * u[j * n + k];
                assert_true(fabs(sum - a[i * n + k]) < 1e-10 * (double)n * a[0]);
            }
        free(a);
        free(u);
    }
}

static void last_first(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    ++*(uint32_t *)user;
    while (n-- > 0)
        body(arg, n);
}

TEST(order_of_pieces_changes_no_bit)
{
    enum { N = 200 };
    struct test_random r = test_seed(5);
    double *u = malloc(N * N * sizeof *u), *other = malloc(N * N * sizeof *u);
    uint32_t calls = 0;
    const struct pith_opts runtime = {.parallel_for = last_first, .parallel_user = &calls};
    positive_definite(&r, u, N);
    memcpy(other, u, N * N * sizeof *u);
    assert_true(pith_cholesky(u, N) && pith_cholesky_on(other, N, &runtime));
    assert_memory_equal(u, other, N * N * sizeof *u);
    assert_true(calls > 0);
    free(u);
    free(other);
}

TEST(solves_what_was_factored)
{
    enum { N = 37 };
    struct test_random r = test_seed(2);
    double a[N * N], u[N * N], wanted[N], x[N];
    positive_definite(&r, a, N);
    memcpy(u, a, sizeof a);
    assert_true(pith_cholesky(u, N));
    for (size_t i = 0; i < N; i++)
        wanted[i] = (double)test_gauss(&r);
    for (size_t i = 0; i < N; i++) {
        x[i] = 0;
        for (size_t k = 0; k < N; k++)
            x[i] += a[i * N + k] * wanted[k];
    }
    double y[N];
    memcpy(y, x, sizeof x);
    pith_cholesky_forward(u, N, y);
    for (size_t i = 0; i < N; i++) { /* U x = y */
        double sum = -y[i];
        for (size_t k = i; k < N; k++)
            sum += u[i * N + k] * wanted[k];
        assert_true(fabs(sum) < 1e-8);
    }
    pith_cholesky_solve(u, N, x);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(x[i] - wanted[i]) < 1e-8);
}

TEST(known_factor)
{
    double a[9] = {4, 12, -16, 0, 37, -43, 0, 0, 98};
    static const double u[9] = {2, 6, -8, 0, 1, 5, 0, 0, 3};
    assert_true(pith_cholesky(a, 3));
    for (size_t i = 0; i < 3; i++)
        for (size_t k = i; k < 3; k++)
            assert_true(a[i * 3 + k] == u[i * 3 + k]);
}

TEST(others_are_reported)
{
    double indefinite[4] = {1, 2, 0, 1}, flat[4] = {1, 1, 1, 1}, zero[1] = {0}, nan[1] = {NAN},
           inf[1] = {INFINITY};
    assert_false(pith_cholesky(indefinite, 2));
    assert_false(pith_cholesky(flat, 2));
    assert_false(pith_cholesky(zero, 1));
    assert_false(pith_cholesky(nan, 1));
    assert_false(pith_cholesky(inf, 1));
}

/* Of each instruction set that runs here. */
TEST(panels_have_the_bits_of_rows)
{
    enum { N = 37 };
    struct test_random r = test_seed(3);
    const struct row_panel_kernels *of[PANELS];
    const size_t n_panels = panels_that_run(of);
    double a[N * N], u[N * N], x[N * PITH_ROW_PANEL], y[N * PITH_ROW_PANEL], row[N], one[N];
    size_t order[N];
    positive_definite(&r, a, N);
    memcpy(u, a, sizeof a);
    assert_true(pith_cholesky(u, N));
    for (size_t i = 0; i < N; i++)
        order[i] = (i * 5 + 2) % N;
    for (size_t i = 0; i < N * PITH_ROW_PANEL; i++)
        x[i] = (double)test_gauss(&r);
    for (size_t v = 0; v < n_panels; v++) {
        of[v]->multiply(a, N, order, x, y);
        of[v]->solve(u, N, y);
        for (size_t k = 0; k < PITH_ROW_PANEL; k++) {
            for (size_t i = 0; i < N; i++)
                row[i] = x[i * PITH_ROW_PANEL + k];
            for (size_t i = 0; i < N; i++)
                one[i] = pith_dot(a + order[i] * N, row, N);
            pith_cholesky_solve(u, N, one);
            for (size_t i = 0; i < N; i++)
                assert_true(one[i] == y[i * PITH_ROW_PANEL + k]);
        }
    }
}

/* Few rows and many, of each instruction set that runs here: term by term. */
TEST(panels_add_rows_in_their_order)
{
    enum { ROWS = 7, LONG = 21, PATHS = 2 * PITH_ROW_PANEL, STRIDE = LONG + 3 };
    struct test_random r = test_seed(4);
    const struct row_panel_kernels *of[PANELS];
    const size_t n_panels = panels_that_run(of);
    double u[ROWS * STRIDE], e[LONG * PATHS], begun[ROWS * PATHS], sum[ROWS * PATHS];
    for (size_t i = 0; i < ROWS * STRIDE; i++)
        u[i] = (double)test_gauss(&r);
    for (size_t i = 0; i < LONG * PATHS; i++)
        e[i] = (double)test_gauss(&r);
    for (size_t i = 0; i < ROWS * PATHS; i++)
        begun[i] = (double)test_gauss(&r);
    for (size_t v = 0; v < n_panels; v++) {
        memcpy(sum, begun, sizeof sum);
        of[v]->add(&(struct panel_sum){
            .u = u, .e = e, .sum = sum, .stride = STRIDE, .rows = ROWS, .n = LONG, .k = PATHS});
        for (size_t at = 0; at < ROWS * PATHS; at++) {
            double one = begun[at];
            for (size_t i = 0; i < LONG; i++) {
                const volatile double product =
                    u[at / PATHS * STRIDE + i] * e[i * PATHS + at % PATHS];
                one += product;
            }
            assert_true(one == sum[at]);
        }
    }
}

RUN_TESTS
