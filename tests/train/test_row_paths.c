/* SPDX-License-Identifier: MIT */
/* Rows put onto a grid along several paths: against a single path, and against all rows there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "sample_models.h"
#include "test_train_feedback.h"

enum { N = 24, FEW = 4 };

struct row {
    struct row_feedback s;
    struct sample_random r;
};

/* Inputs with much in common, and a row. */
static void open_row(struct row *x, uint32_t n, uint64_t seed)
{
    double both[N * N] = {0};
    float w[N];
    x->r = sample_random_of(seed);
    for (int t = 0; t < 100; t++) {
        float in[N], common = sample_gauss(&x->r);
        for (uint32_t i = 0; i < n; i++)
            in[i] = common + sample_gauss(&x->r);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < n; k++)
                both[i * n + k] += (double)in[i] * (double)in[k];
    }
    for (uint32_t i = 0; i < n; i++)
        w[i] = 3 * sample_gauss(&x->r);
    assert_true(pith_row_feedback_open(&x->s, n, true));
    assert_true(pith_row_feedback_factor(&x->s, both, both));
    pith_row_feedback_aim(&x->s, w);
}

static void close_row(struct row *x)
{
    pith_row_feedback_free(&x->s);
}

/* |U (goal - v)|^2. */
static double cost_of(const struct row_feedback *s, const float *v, double factor)
{
    double cost = 0;
    for (uint32_t j = 0; j < s->n; j++) {
        double sum = 0;
        for (uint32_t i = j; i < s->n; i++)
            sum +=
                (s->goal[s->order[i]] - (double)v[s->order[i]] * factor) * s->ordered[j * s->n + i];
        cost += sum * sum;
    }
    return cost;
}

static void round_once(const struct row_feedback *s, const struct grid *grid, float *v)
{
    double error[N];
    for (uint32_t j = s->n; j-- > 0;) {
        double wanted = s->goal[s->order[j]];
        for (uint32_t i = j + 1; i < s->n; i++)
            wanted += error[i] * s->ordered[j * s->n + i] / s->ordered[j * s->n + j];
        float level = (float)pith_grid_level(grid, (float)wanted);
        v[s->order[j]] = level * grid->step;
        error[j] = s->goal[s->order[j]] - (double)v[s->order[j]];
    }
}

static void test_better_than_one_path(void **state)
{
    (void)state;
    double one = 0, many = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct row x;
        struct grid grid;
        float v[N];
        open_row(&x, N, seed);
        pith_grid_init(&grid, 15, 1);
        round_once(&x.s, &grid, v);
        one += cost_of(&x.s, v, 1);
        pith_row_feedback_round(&x.s, &grid, 1, NULL, v);
        many += cost_of(&x.s, v, 1);
        for (int i = 0; i < N; i++)
            assert_true(v[i] == rintf(v[i]) && fabsf(v[i]) <= 15);
        close_row(&x);
    }
    assert_true(many < 0.9 * one);
}

/* Of four elements no path is given up: none of the rows made of two levels each is better. */
static void test_best_of_few(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct row x;
        struct grid grid;
        float v[FEW], other[FEW];
        open_row(&x, FEW, seed);
        pith_grid_init(&grid, 2, 1);
        pith_row_feedback_round(&x.s, &grid, 0.75, NULL, v);
        double found = cost_of(&x.s, v, 0.75), least = INFINITY;
        for (uint32_t k = 0; k < 625; k++) {
            for (uint32_t i = 0, rest = k; i < FEW; i++, rest /= 5)
                other[i] = (float)(rest % 5) - 2;
            least = fmin(least, cost_of(&x.s, other, 0.75));
        }
        assert_true(found >= least * (1 - 1e-12) && found < 1.5 * least);
        close_row(&x);
    }
}

static void test_dead_stay_zero(void **state)
{
    (void)state;
    struct row x;
    struct grid grid;
    uint8_t alive[N];
    float v[N];
    open_row(&x, N, 3);
    pith_grid_init(&grid, 15, 0.5f);
    for (int i = 0; i < N; i++)
        alive[i] = i % 3 != 0;
    pith_row_feedback_round(&x.s, &grid, 1, alive, v);
    int others = 0;
    for (int i = 0; i < N; i++) {
        assert_true(alive[i] || v[i] == 0);
        others += v[i] != 0;
    }
    assert_true(others > 8);
    close_row(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_better_than_one_path),
                                       cmocka_unit_test(test_best_of_few),
                                       cmocka_unit_test(test_dead_stay_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
