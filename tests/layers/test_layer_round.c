/* SPDX-License-Identifier: MIT */
/* Rows of a layer onto integers: each is what error feedback makes of it alone, whatever is rounded
 * beside it and by how many threads; steps are searched, weights kept 0 and chosen as requested. */
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "numeric/error_feedback.h"
#include "layers/layer_round.h"
#include "compress/failing_heap.h"
#include "gemm_model.h"

#define N 9
#define GROUPS 2
#define ROWS 22 /* 11 a group: more than are rounded beside each other, and not a multiple */
#define MOST 7

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

/* Of inputs that have something in common; none: nothing comes in. */
static struct layer_factor factor_of(struct test_random *r, bool none)
{
    struct layer_moments m = {.n = N, .groups = GROUPS};
    struct layer_factor f;
    m.h = calloc(GROUPS * N * N, sizeof *m.h);
    m.mean[0] = calloc(GROUPS * N, sizeof **m.mean);
    m.mean[1] = calloc(GROUPS * N, sizeof **m.mean);
    assert_true(m.h && m.mean[0] && m.mean[1]);
    for (int i = 0; i < 60 && !none; i++) {
        double x[N], common = (double)test_gauss(r);
        for (int k = 0; k < N; k++)
            x[k] = common + (double)test_gauss(r) * (1 + 0.2 * k);
        for (int a = 0; a < N * N; a++)
            m.h[i % GROUPS * N * N + a] += x[a / N] * x[a % N];
    }
    check(pith_layer_factor(&m, 0, PITH_LAYER_DAMPING, 1, &f, &err));
    pith_layer_moments_end(&m);
    assert_int_equal(f.u == NULL, none);
    return f;
}

/* Row 3 is of zeros. */
struct rows {
    float w[ROWS * N];
    uint8_t kept[ROWS * N];
    double step[ROWS], least[ROWS];
};

static void draw_rows(struct test_random *r, struct rows *x)
{
    for (int i = 0; i < ROWS * N; i++) {
        x->w[i] = i / N == 3 ? 0 : test_gauss(r);
        x->kept[i] = test_below(r, 4) != 0;
    }
    for (int i = 0; i < ROWS; i++) {
        x->step[i] = 0.2 + 0.01 * i;
        x->least[i] = 0.05;
    }
}

/* What pith_error_feedback() makes of a row by itself. */
static double alone(const struct layer_round *l, uint64_t row, double *step, int16_t *q)
{
    const struct layer_factor *f = l->factor;
    const size_t group = row / (ROWS / GROUPS), *order = f->order + group * N;
    double goal[N], e[N * 4];
    uint8_t kept[N];
    int16_t by_place[N];
    for (int i = 0; i < N; i++) {
        goal[i] = (double)l->w[row * N + order[i]];
        kept[i] = !l->kept || l->kept[row * N + order[i]];
    }
    const struct error_feedback one = {.n = N,
                                       .u = f->u + group * N * N,
                                       .goal = goal,
                                       .kept = kept,
                                       .lowest = l->lowest,
                                       .most = l->most,
                                       .n_paths = l->paths,
                                       .e = e};
    if (l->least_step) {
        const double found = pith_search_scale(&one, l->least_step[row], l->halves, by_place);
        *step = found > 0 ? found : *step;
    }
    const double error = pith_error_feedback(&one, *step, HUGE_VAL, by_place);
    for (int i = 0; i < N; i++)
        q[order[i]] = by_place[i];
    return error;
}

TEST(rows_are_those_alone)
{
    struct test_random r = test_seed(71);
    for (int way = 0; way < 24; way++) {
        struct rows x;
        struct layer_factor f = factor_of(&r, false);
        draw_rows(&r, &x);
        struct pith_opts threads = {.size_bytes = sizeof threads};
        if (way & 1)
            check(pith_threads_start(&threads, 3));
        struct layer_round l = {.factor = &f,
                                .rows = ROWS,
                                .w = x.w,
                                .step = x.step,
                                .least_step = way & 2 ? x.least : NULL,
                                .halves = way % 3 == 0,
                                .kept = way & 4 ? x.kept : NULL,
                                .lowest = -MOST - 1,
                                .most = MOST,
                                .paths = way & 8 ? 4 : 1,
                                .runtime = way & 1 ? &threads : NULL};
        struct rows was = x;
        check(pith_layer_round(&l, &err));
        for (uint64_t row = 0; row < ROWS; row++) {
            int16_t q[N];
            const double error = alone(&l, row, &was.step[row], q);
            assert_true(l.error[row] == error && x.step[row] == was.step[row]);
            assert_memory_equal(l.q + row * N, q, sizeof q);
        }
        assert_true(x.step[3] == 0.2 + 0.01 * 3); /* nothing to search by */
        free(l.q);
        free(l.error);
        pith_layer_factor_end(&f);
        if (way & 1)
            pith_threads_stop(&threads);
    }
}

/* Without inputs each weight goes to its nearest integer, within the bounds; into the caller's
 * room. */
TEST(nearest_without_inputs)
{
    struct test_random r = test_seed(72);
    struct layer_factor f = factor_of(&r, true);
    for (uint32_t paths = 1; paths <= 4; paths += 3) {
        struct rows x;
        int16_t q[ROWS * N];
        draw_rows(&r, &x);
        struct layer_round l = {.factor = &f,
                                .rows = ROWS,
                                .w = x.w,
                                .step = x.step,
                                .keep_zeros = true,
                                .lowest = -3,
                                .most = 2,
                                .paths = paths,
                                .q = q};
        check(pith_layer_round(&l, &err));
        assert_ptr_equal(l.q, q);
        for (int i = 0; i < ROWS * N; i++) {
            const double nearest = nearbyint((double)x.w[i] / x.step[i / N]);
            assert_true(q[i] == fmin(fmax(nearest, -3), 2));
        }
        free(l.error);
    }
    pith_layer_factor_end(&f);
}

/* Every second place goes, in rows of group 1 alone. */
static void choose(const void *of, uint32_t thread, uint32_t group, const double *target,
                   uint8_t *kept)
{
    assert_ptr_equal(of, &err);
    assert_int_equal(thread, 0);
    for (int i = 0; i < N && group == 1; i += 2)
        kept[i] = target[i] > 100;
}

TEST(chosen_weights_become_0)
{
    struct test_random r = test_seed(73);
    struct layer_factor f = factor_of(&r, false);
    struct rows x;
    double error[2] = {0, 0};
    draw_rows(&r, &x);
    for (int own = 0; own < 2; own++) {
        struct layer_round l = {.factor = &f,
                                .rows = ROWS,
                                .w = x.w,
                                .step = x.step,
                                .choose_kept = choose,
                                .choice = &err,
                                .own_factors = own,
                                .lowest = -100,
                                .most = 100,
                                .paths = 1};
        check(pith_layer_round(&l, &err));
        for (int row = 0; row < ROWS; row++) {
            int gone = 0;
            for (int i = 0; i < N; i++)
                gone += row >= ROWS / 2 && i % 2 == 0 && l.q[row * N + (int)f.order[N + i]] == 0;
            assert_int_equal(gone, row < ROWS / 2 ? 0 : (N + 1) / 2);
            error[own] += row < ROWS / 2 ? 0 : l.error[row];
        }
        free(l.q);
        free(l.error);
    }
    assert_true(error[1] < error[0]); /* all that stays makes up for what goes */
    pith_layer_factor_end(&f);
}

/* Results of other weights: these are the targets, where samples show all of them. */
TEST(targets_of_results_are_what_made_them)
{
    enum { EACH = ROWS / GROUPS };
    struct test_random r = test_seed(74);
    struct layer_factor f = factor_of(&r, false);
    double *h = calloc(GROUPS * N * N, sizeof *h),
           *cross = calloc(GROUPS * N * EACH, sizeof *cross);
    double other[ROWS][N];
    struct rows x;
    draw_rows(&r, &x);
    assert_true(h && cross);
    for (int i = 0; i < ROWS * N; i++)
        other[i / N][i % N] = (double)test_gauss(&r);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < N; k++) { /* H as it came is below the diagonal, by place */
                const size_t low = i < k ? i : k, high = i < k ? k : i, *order = f.order + g * N;
                h[(g * N + order[i]) * N + order[k]] =
                    i == k ? f.diagonal[g * N + i] : f.u[(g * N + high) * N + low];
            }
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < N; i++)
            for (size_t o = 0; o < EACH; o++)
                for (size_t k = 0; k < N; k++)
                    cross[(g * N + i) * EACH + o] +=
                        h[(g * N + i) * N + k] * other[g * EACH + o][k];
    free(h);
    f.cross = cross;
    f.of_results = true;
    f.damping = 0;
    f.shrinkage = 1e-12;
    check(pith_layer_targets(&f, x.w, ROWS, NULL, &err));
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(f.target[row * N + i] - other[row][f.order[row / EACH * N + i]]) <
                        1e-6);
    pith_layer_factor_end(&f);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* H by hand, [n, n]; NULL: none. */
static struct layer_factor factor_by_hand(size_t n, const double *h, size_t window)
{
    struct layer_moments m = pith_layer_moments_none(n);
    struct layer_factor f;
    for (int net = 0; net < 2; net++)
        assert_non_null(m.mean[net] = calloc(n, sizeof **m.mean));
    if (h) {
        assert_non_null(m.h = malloc(n * n * sizeof *m.h));
        memcpy(m.h, h, n * n * sizeof *h);
    }
    check(pith_layer_factor(&m, 0, 0, window, &f, &err));
    pith_layer_moments_end(&m);
    return f;
}

static void assert_near(double found, double wanted)
{
    if (!(fabs(found - wanted) < 1e-9 * (1 + fabs(wanted))))
        fail_msg("%.12g, wanted %.12g", found, wanted);
}

/* Of H = (4 2; 2 2): weight 0 is rounded first and an error of 1 moves weight 1 by as much; an
 * error of (a b) costs 4 a a + 4 a b + 2 b b. Row 0 without its second weight: 1.2 + 2 / 4 is the
 * best goal of what stays. Refit: the sum over rows of q H g over that of q H q, times loss. */
/* clang-format off */
static const struct by_hand {
    const char *what;
    double step, h[4], loss[2]; /* h of zeros: no inputs; loss of zeros: all alike */
    float w[4];
    uint8_t kept[4], own_factors, keep_zeros;
    int16_t q[4];
    double error[2], refit;
} by_hand[] = {
#define H {4, 2, 2, 2}
#define ALL {1, 1, 1, 1}
#define W {1.4f, 1.4f, -0.6f, 0.2f}
#define Q {1, 2, -1, 1}
    {"feedback", 1, H, {0}, W, ALL, 0, 0, Q, {0.40, 0.64}, 20.8 / 22},
    {"losses", 1, H, {1, 3}, W, ALL, 0, 0, Q, {0.40, 0.64}, (19.6 + 3 * 1.2) / (20 + 3 * 2)},
    {"steps", 0.5, H, {0}, {0.7f, 0.7f, -0.3f, 0.1f}, ALL, 0, 0, Q, {0.1, 0.16}, 20.8 / 22},
    {"no inputs", 1, {0}, {0}, {1.4f, 0.7f, 2.2f, -0.4f}, ALL, 0, 0, {1, 1, 2}, {0.25, 0.2}, 6.5 / 6},
    {"kept", 1, H, {0}, {1.2f, 1}, {1, 0, 1, 1}, 0, 0, {1}, {2.96, 0}, 6.8 / 4},
    {"own factors", 1, H, {0}, {1.2f, 1}, {1, 0, 1, 1}, 1, 0, {2}, {1.36, 0}, 13.6 / 16},
    {"zeros", 1, H, {1, 1}, {1.4f, 0, 0, 0.8f}, ALL, 0, 1, {1, 0, 0, 1}, {0.64, 0.08}, 7.2 / 6},
    {"bounds", 1, {0}, {0}, {9, -9, 0.2f}, ALL, 0, 0, {3, -4}, {61, 0.04}, 63. / 25},
    {"nothing", 1, H, {0}, {0}, ALL, 0, 0, {0}, {0}, 1},
#undef H
#undef ALL
#undef W
#undef Q
};
/* clang-format on */

TEST(two_rows_by_hand)
{
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        const struct by_hand *x = &by_hand[i];
        struct layer_factor f = factor_by_hand(2, x->h[0] > 0 ? x->h : NULL, 1);
        double step[2] = {x->step, x->step}, factor;
        struct layer_round l = {.factor = &f,
                                .rows = 2,
                                .w = x->w,
                                .loss = x->loss[0] > 0 ? x->loss : NULL,
                                .step = step,
                                .kept = x->kept,
                                .own_factors = x->own_factors,
                                .keep_zeros = x->keep_zeros,
                                .lowest = -4,
                                .most = 3,
                                .paths = 1};
        check(pith_layer_round(&l, &err));
        for (int k = 0; k < 4; k++)
            if (l.q[k] != x->q[k])
                fail_msg("%s: weight %d is %d", x->what, k, l.q[k]);
        for (int row = 0; row < 2; row++)
            if (!(fabs(l.error[row] - x->error[row]) < 1e-6 * (1 + x->error[row])))
                fail_msg("%s: row %d errs by %g", x->what, row, l.error[row]);
        check(pith_layer_refit(&l, &factor, &err));
        if (!(fabs(factor * x->step - x->refit * x->step) < 1e-6))
            fail_msg("%s: refit by %g", x->what, factor);
        free(l.q);
        free(l.error);
        pith_layer_factor_end(&f);
    }
}

/* Two of 16 weights are 0.55. First there are 14 zeros and 2 ones: a one takes log2(14.4 / 2.4)
 * bits more than a zero, which saves 0.1 of the error; at 0.05 nats a bit that is worth it in a row
 * whose errors cost 10, not in one whose errors cost 1. */
TEST(bits_have_their_price)
{
    const float w[16] = {0.55f, 0, 0, 0, 0, 0, 0, 0, 0.55f};
    const double loss[2] = {1, 10};
    double step[2] = {1, 1};
    struct layer_factor f = factor_by_hand(8, NULL, 1);
    struct layer_round l = {.factor = &f,
                            .rows = 2,
                            .w = w,
                            .loss = loss,
                            .step = step,
                            .lambda = 0.05,
                            .lowest = -127,
                            .most = 127,
                            .paths = 4};
    check(pith_layer_round(&l, &err));
    for (int i = 0; i < 16; i++)
        assert_int_equal(l.q[i], i == 8);
    assert_true(fabs(l.error[0] - 0.3025) < 1e-6 && fabs(l.error[1] - 0.2025) < 1e-6);
    assert_near(l.rate[0].bits[RATE_MOST], log2(18 / 15.4));
    assert_near(l.rate[0].bits[RATE_MOST + 1], log2(18 / 1.4));
    assert_near(l.rate[0].bits[RATE_MOST - 1], log2(18 / 0.4));
    assert_near(l.bits, 15 * log2(18 / 15.4) + log2(18 / 1.4));
    free(l.q);
    free(l.error);
    pith_layer_factor_end(&f);
}

/* 2 is level 1 of the even integers: from state 0 to 2, again to 3, where integers are odd. The
 * first table counts two twos, the second a one. */
TEST(levels_follow_their_states)
{
    const float w[3] = {2, 2, 1};
    double step = 1;
    struct layer_factor f = factor_by_hand(3, NULL, 0);
    struct layer_round l = {.factor = &f,
                            .rows = 1,
                            .w = w,
                            .step = &step,
                            .lowest = -127,
                            .most = 127,
                            .states = 8,
                            .paths = 8};
    assert_true(f.order[0] == 2 && f.order[1] == 1 && f.order[2] == 0);
    check(pith_layer_round(&l, &err));
    assert_true(l.q[0] == 2 && l.q[1] == 2 && l.q[2] == 1 && l.error[0] == 0);
    assert_true(l.rate[0].count[RATE_MOST + 2] == 2 && l.rate[1].count[RATE_MOST + 1] == 1);
    assert_near(l.bits, 2 * log2(4.8 / 2.4) + log2(3 / 1.4));
    free(l.q);
    free(l.error);
    pith_layer_factor_end(&f);
}

/* Row 1, which is rounded first, is 0.4 off; row 0 makes up for it: 1.2 + 0.4 is nearer to 2. Refit
 * compares each row with what it makes up for: 2 + 1 with 1.2 + 1.4, and 1 with 1.4. */
TEST(coupled_rows_by_hand)
{
    const float w[2] = {1.2f, 1.4f};
    const double loss[2] = {2, 3};
    double step[2] = {1, 1}, compensation[4] = {0, 1, 0, 0}, factor;
    size_t order[2] = {0, 1};
    struct layer_factor f = factor_by_hand(1, (const double[]){1}, 1);
    struct row_coupling c = {.rows = 2, .at_once = 1, .order = order, .compensation = compensation};
    struct layer_round l = {.factor = &f,
                            .rows = 2,
                            .w = w,
                            .loss = loss,
                            .step = step,
                            .lowest = -127,
                            .most = 127,
                            .coupling = &c,
                            .paths = 1};
    check(pith_layer_round(&l, &err));
    assert_true(l.q[0] == 2 && l.q[1] == 1);
    assert_true(fabs(l.error[0] - 0.16) < 1e-6 && fabs(l.error[1] - 0.16) < 1e-6);
    check(pith_layer_refit(&l, &factor, &err));
    assert_true(fabs(factor - (2 * 3 * 2.6 + 3 * 1.4) / (2 * 9 + 3)) < 1e-6);
    free(l.q);
    free(l.error);
    pith_layer_factor_end(&f);
}

/* Coupled rows, rows with factors of their own, targets of all rows at once. */
static enum pith_status round_and_refit(struct pith_error *e)
{
    enum pith_status st;
    const float w[4] = {1.2f, 1.4f, -0.6f, 0.2f};
    const double loss[2] = {2, 3};
    const uint8_t kept[4] = {1, 0, 1, 1};
    double step[2] = {1, 1}, compensation[4] = {0, 1, 0, 0}, factor;
    size_t order[2] = {0, 1};
    struct layer_factor f = factor_by_hand(2, (const double[]){4, 2, 2, 2}, 1);
    struct row_coupling c = {.rows = 2, .at_once = 1, .order = order, .compensation = compensation};
    struct layer_round l = {.factor = &f,
                            .rows = 2,
                            .w = w,
                            .loss = loss,
                            .step = step,
                            .lambda = 0.01,
                            .kept = kept,
                            .own_factors = true,
                            .lowest = -127,
                            .most = 127,
                            .coupling = &c,
                            .paths = 4};
    assert_non_null(f.cross = calloc(4, sizeof *f.cross));
    FAILING(pith_layer_targets(&f, w, 2, NULL, e));
    if (!st)
        FAILING(pith_layer_round(&l, e));
    if (!st)
        FAILING(pith_layer_refit(&l, &factor, e));
    free(l.q);
    free(l.error);
    pith_layer_factor_end(&f);
    return st;
}

TEST(each_allocation_may_fail)
{
    fail_all(round_and_refit, false);
}

RUN_TESTS
