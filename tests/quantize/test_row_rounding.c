/* SPDX-License-Identifier: MIT */
/* A row rounded with feedback: its error is what it says, less than that of the nearest integers,
 * within bounds, 0 where it must; the scale that is found is no worse than the one that cuts
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "pith_cholesky.h"
#include "gemm_model.h"
#include "weight_scale_search.h"

enum { N = 24, ROWS = 40, PATCHES = 200 };

struct problem {
    double h[N * N], u[N * N], goal[N], e[N];
    int16_t q[N];
    struct row_rounding row;
};

/* Inputs that are much alike, as neighbours in pictures are. */
static void make_problem(struct test_random *r, struct problem *p)
{
    memset(p, 0, sizeof *p);
    for (int s = 0; s < PATCHES; s++) {
        double x[N], common = (double)test_gauss(r);
        for (int k = 0; k < N; k++)
            x[k] = common + 0.5 * (double)test_gauss(r);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                p->h[i * N + k] += x[i] * x[k];
    }
    memcpy(p->u, p->h, sizeof p->h);
    assert_true(pith_cholesky(p->u, N));
    for (int k = 0; k < N; k++)
        p->goal[k] = (double)test_gauss(r);
    p->row = (struct row_rounding){
        .n = N, .u = p->u, .goal = p->goal, .lowest = -8, .most = 7, .e = p->e};
}

static double error_of(const struct problem *p, double scale, const int16_t *q)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            sum += (p->goal[i] - scale * q[i]) * p->h[i * N + k] * (p->goal[k] - scale * q[k]);
    return sum;
}

static double widest(const struct problem *p)
{
    double most = 0;
    for (int k = 0; k < N; k++)
        most = fmax(most, fabs(p->goal[k]));
    return most / p->row.most;
}

static void feedback_has_the_error_it_says_and_less_than_nearest(void **state)
{
    (void)state;
    struct test_random r = test_seed(31);
    double nearest = 0, feedback = 0;
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        int16_t q[N];
        make_problem(&r, &p);
        double scale = widest(&p), error = pith_round_row(&p.row, scale, HUGE_VAL, p.q);
        assert_true(fabs(error - error_of(&p, scale, p.q)) < 1e-9 * error);
        for (int k = 0; k < N; k++)
            q[k] = (int16_t)nearbyint(p.goal[k] / scale);
        feedback += error;
        nearest += error_of(&p, scale, q);
    }
    if (feedback > 0.5 * nearest)
        fail_msg("feedback %g, nearest %g", feedback, nearest);
}

/* D + X X^T, by its factor of low rank and by Cholesky's of the whole: the same integers. */
static void low_rank_rounds_as_the_whole_matrix(void **state)
{
    (void)state;
    enum { R = 5 };
    struct test_random r = test_seed(35);
    for (int trial = 0; trial < ROWS; trial++) {
        struct problem p;
        int16_t q[N];
        double x[N * R], d[N], diagonal[N], of_x[N * R], room[R * (R + 1)], seen[R];
        struct low_rank_factor f = {.n = N, .r = R, .x = x, .p = of_x, .diagonal = diagonal};
        make_problem(&r, &p);
        for (int i = 0; i < N * R; i++)
            x[i] = (double)test_gauss(&r);
        for (int i = 0; i < N; i++) {
            d[i] = .1 + .01 * i;
            for (int k = 0; k < N; k++) {
                p.h[i * N + k] = i == k ? d[i] : 0;
                for (int s = 0; s < R; s++)
                    p.h[i * N + k] += x[i * R + s] * x[k * R + s];
            }
        }
        memcpy(p.u, p.h, sizeof p.h);
        assert_true(pith_cholesky(p.u, N));
        assert_true(pith_low_rank_cholesky(&f, d, room));
        for (int j = 0; j < N; j++) {
            assert_true(fabs(diagonal[j] - p.u[j * N + j]) < 1e-10);
            for (int i = j + 1; i < N; i++) {
                double u = 0;
                for (int s = 0; s < R; s++)
                    u += of_x[j * R + s] * x[i * R + s];
                assert_true(fabs(u - p.u[j * N + i]) < 1e-10);
            }
        }
        double scale = widest(&p), error = pith_round_row(&p.row, scale, HUGE_VAL, q);
        p.row.u = NULL;
        p.row.factor = &f;
        p.row.seen = seen;
        double low = pith_round_row(&p.row, scale, HUGE_VAL, p.q);
        assert_true(fabs(low - error) < 1e-9 * error);
        assert_memory_equal(p.q, q, sizeof q);
    }
    double d = -1, diagonal, of_x, x = .5, room[2];
    struct low_rank_factor f = {.n = 1, .r = 1, .x = &x, .p = &of_x, .diagonal = &diagonal};
    assert_false(pith_low_rank_cholesky(&f, &d, room));
}

static void bounds_and_zeros_are_kept(void **state)
{
    (void)state;
    struct test_random r = test_seed(32);
    struct problem p;
    uint8_t kept[N];
    int low = 0, high = 0;
    make_problem(&r, &p);
    for (int k = 0; k < N; k++)
        kept[k] = k % 3 != 0;
    p.row.kept = kept;
    pith_round_row(&p.row, widest(&p) / 8, HUGE_VAL, p.q);
    for (int k = 0; k < N; k++) {
        assert_true(p.q[k] >= -8 && p.q[k] <= 7);
        assert_true(kept[k] || p.q[k] == 0);
        low += p.q[k] == -8;
        high += p.q[k] == 7;
    }
    assert_true(low > 0 && high > 0);
}

static void stops_when_it_is_too_much(void **state)
{
    (void)state;
    struct test_random r = test_seed(33);
    struct problem p;
    make_problem(&r, &p);
    double scale = widest(&p), error = pith_round_row(&p.row, scale, HUGE_VAL, p.q);
    assert_true(pith_round_row(&p.row, scale, error / 2, p.q) >= error / 2);
    assert_true(pith_round_row(&p.row, scale, 2 * error, p.q) == error);
}

/* Three weights whose errors do not meet, 0.25 each: the first is not looked at when those behind
 * it have made as much as is too much, or more. */
static void stops_when_it_is_exactly_too_much(void **state)
{
    (void)state;
    static const double u[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, goal[3] = {1.5, 2.5, 3.5};
    double e[3];
    const struct row_rounding row = {.n = 3, .u = u, .goal = goal, .lowest = -8, .most = 7, .e = e};
    int16_t q[3] = {77, 77, 77};
    assert_true(pith_round_row(&row, 1, 0.5, q) == 0.5);
    assert_true(q[0] == 77 && q[1] == 2 && q[2] == 4);
    assert_true(pith_round_row(&row, 1, 0.51, q) == 0.75);
    assert_true(q[0] == 2);
}

/* A layer of one row, whose input is read as it is. */
static struct integer_layer layer_of(struct pith_grid *x, double *scale, double *shift,
                                     int32_t most)
{
    static float one[1] = {1};
    *x = (struct pith_grid){.type = PITH_U8, .bits = 8, .n = 1, .scale = one};
    return (struct integer_layer){.shape = {.rows = 1, .cols = N, .groups = 1},
                                  .w_factor = 1,
                                  .x = x,
                                  .most = most,
                                  .lowest = -most - 1,
                                  .most_x = 255,
                                  .scale = scale,
                                  .bias_shift = shift};
}

static void the_scale_found_is_no_worse(void **state)
{
    (void)state;
    struct test_random r = test_seed(34);
    int finer = 0;
    for (int i = 0; i < ROWS; i++)
        for (int bits = 2; bits <= 8; bits++) {
            struct problem p;
            struct pith_grid x;
            double scale = 1, shift = 0;
            make_problem(&r, &p);
            struct integer_layer l = layer_of(&x, &scale, &shift, (1 << (bits - 1)) - 1);
            p.row.lowest = l.lowest;
            p.row.most = l.most;
            double most = pith_round_row(&p.row, widest(&p), HUGE_VAL, p.q);
            double found = pith_search_weight_scale(&p.row, &l, 0, p.q);
            assert_true(pith_round_row(&p.row, found, HUGE_VAL, p.q) <= most);
            finer += found < widest(&p);
            l.radix = true;
            found = pith_search_weight_scale(&p.row, &l, 0, p.q);
            int exponent;
            assert_true(frexp(found, &exponent) == 0.5);
        }
    assert_true(finer > ROWS);
}

/* -1 is -4 quarters and -8 eighths, both without error: the wider scale, which was tried first,
 * stays. */
static void the_wider_of_equal_scales_stays(void **state)
{
    (void)state;
    struct test_random r = test_seed(36);
    struct problem p;
    struct pith_grid x;
    double scale = 1, shift = 0;
    make_problem(&r, &p);
    memset(p.goal, 0, sizeof p.goal);
    p.goal[5] = -1;
    struct integer_layer l = layer_of(&x, &scale, &shift, 7);
    l.radix = true;
    assert_true(pith_search_weight_scale(&p.row, &l, 0, p.q) == 0.25);
}

/* A bias that needs 32 bits at some scale allows no finer one, though the row would be rounded
 * better. */
static void finer_scales_than_allowed_are_not_tried(void **state)
{
    (void)state;
    struct test_random r = test_seed(34);
    int finer = 0;
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        struct pith_grid x;
        double scale = 1, shift = 0;
        make_problem(&r, &p);
        struct integer_layer l = layer_of(&x, &scale, &shift, 7);
        double free_of_bias = pith_search_weight_scale(&p.row, &l, 0, p.q);
        finer += free_of_bias < 0.95 * widest(&p);
        shift =
            0x1p32; /* so large that the bias alone tells the least scale, which is in proportion */
        shift *= 0.95 * widest(&p) / pith_layer_least_scale(&l, 0);
        double least = pith_layer_least_scale(&l, 0);
        assert_true(least > 0.9 * widest(&p) && least < widest(&p));
        assert_true(pith_search_weight_scale(&p.row, &l, 0, p.q) >= least);
    }
    assert_true(finer > 0);
}

static void nothing_to_round_leaves_the_scale(void **state)
{
    (void)state;
    struct test_random r = test_seed(35);
    struct problem p;
    struct pith_grid x;
    double scale = 0.25, shift = 0;
    make_problem(&r, &p);
    memset(p.goal, 0, sizeof p.goal);
    struct integer_layer l = layer_of(&x, &scale, &shift, 7);
    assert_true(pith_search_weight_scale(&p.row, &l, 0, p.q) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feedback_has_the_error_it_says_and_less_than_nearest),
        cmocka_unit_test(bounds_and_zeros_are_kept),
        cmocka_unit_test(low_rank_rounds_as_the_whole_matrix),
        cmocka_unit_test(stops_when_it_is_too_much),
        cmocka_unit_test(the_scale_found_is_no_worse),
        cmocka_unit_test(stops_when_it_is_exactly_too_much),
        cmocka_unit_test(the_wider_of_equal_scales_stays),
        cmocka_unit_test(finer_scales_than_allowed_are_not_tried),
        cmocka_unit_test(nothing_to_round_leaves_the_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
