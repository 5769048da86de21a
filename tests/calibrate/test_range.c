/* SPDX-License-Identifier: MIT */
/* Each method on distributions whose answer is known. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "test_run.h"
#include "distribution_sample.h"

#define SEED 7u
#define N 40000u

static struct pith_model *m;
static float *x;

FIXTURE(setup)
{
    x = malloc(N * sizeof *x);
    return pith_model_new(NULL, &m) == PITH_OK && x ? 0 : 1;
}

FIXTURE(teardown)
{
    pith_model_free(m);
    free(x);
    return 0;
}

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
}

/* With b = 1. */
static double laplace(uint64_t *state)
{
    double u = uniform(state) - 0.5;
    return (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u));
}

/* Kurtosis 4.2, sigma pi / sqrt 3. */
static double logistic(uint64_t *state)
{
    double u = uniform(state);
    return log(u / (1 - u));
}

static struct distribution drawn(double (*draw)(uint64_t *state), bool positive)
{
    uint64_t state = SEED;
    for (uint32_t i = 0; i < N; i++) {
        double y = draw(&state);
        x[i] = (float)(positive ? fabs(y) : y);
    }
    return distribution_of(m, x, N);
}

static void expect_range(struct range r, double low, double high, double by)
{
    if (fabs(r.low - low) > by || fabs(r.high - high) > by)
        fail_msg("%g..%g, expected %g..%g +- %g", r.low, r.high, low, high, by);
}

static const struct grid_kind u8 = {8, false, false}, i8 = {8, true, false}, q8 = {8, true, true};

/* ---- grids ----------------------------------------------------------------------------------- */

static void expect_grid(struct simple_grid g, enum pith_type type, int32_t lowest, int32_t highest,
                        int32_t zero, float scale)
{
    if (g.type != type || g.lowest != lowest || g.highest != highest || g.zero_point != zero ||
        g.scale != scale)
        fail_msg("type %d, %d..%d, zero %d, scale %g", (int)g.type, (int)g.lowest, (int)g.highest,
                 (int)g.zero_point, (double)g.scale);
}

TEST(grids_of_ranges)
{
    struct range up = {0, 25.5}, both = {-10, 15.5}, down = {-25.5, 0}, tiny = {0, 1e-43};
    struct range lopsided = {-12.8, 12};
    expect_grid(pith_grid_of_range(&up, &u8), PITH_U8, 0, 255, 0, 0.1f);
    expect_grid(pith_grid_of_range(&up, &i8), PITH_U8, 0, 255, 0, 0.1f);
    expect_grid(pith_grid_of_range(&up, &q8), PITH_U8, 0, 255, 0, 0.125f);
    expect_grid(pith_grid_of_range(&both, &u8), PITH_U8, 0, 255, 100, 0.1f);
    expect_grid(pith_grid_of_range(&both, &i8), PITH_I8, -128, 127, 0, (float)(15.5 / 127));
    expect_grid(pith_grid_of_range(&lopsided, &i8), PITH_I8, -128, 127, 0, 0.1f);
    expect_grid(pith_grid_of_range(&both, &q8), PITH_I8, -128, 127, 0, 0.125f);
    expect_grid(pith_grid_of_range(&down, &u8), PITH_U8, 0, 255, 255, 0.1f);
    expect_grid(pith_grid_of_range(&tiny, &u8), PITH_U8, 0, 255, 0, FLT_MIN);
    struct grid_kind wide = {12, true, true}, narrow = {4, false, false};
    struct range exact = {-16, 15};
    expect_grid(pith_grid_of_range(&exact, &wide), PITH_I16, -2048, 2047, 0, 0.0078125f);
    expect_grid(pith_grid_of_range(&up, &narrow), PITH_U8, 0, 15, 0, (float)(25.5 / 15));
}

/* Against the error of every number by itself; the histogram only knows bins. */
TEST(error_of_a_grid)
{
    struct distribution d = drawn(laplace, false);
    static const struct grid_kind kinds[] = {
        {3, false, false}, {8, false, false}, {8, true, false}, {13, true, false}};
    for (int i = 0; i < 4; i++) {
        struct range all = {d.min, d.max}, cut = {-4, 3};
        for (int k = 0; k < 2; k++) {
            struct simple_grid g = pith_grid_of_range(k ? &cut : &all, &kinds[i]);
            double sum = 0;
            for (uint32_t n = 0; n < N; n++) {
                double q = nearbyint((double)x[n] / (double)g.scale) + g.zero_point;
                q = fmin(fmax(q, g.lowest), g.highest);
                double e = (q - g.zero_point) * (double)g.scale - (double)x[n];
                sum += e * e;
            }
            double got = pith_grid_error(&d, &g, HUGE_VAL);
            if (fabs(got - sum) > 0.02 * sum)
                fail_msg("kind %d, range %d: %g, expected %g", i, k, got, sum);
        }
    }
}

/* ---- methods --------------------------------------------------------------------------------- */

TEST(percentiles)
{
    for (uint32_t i = 0; i < 1000; i++)
        x[i] = (float)(i + 1);
    struct distribution d = distribution_of(m, x, 1000);
    expect_range(pith_range_max(&d), 0, 1000, 0);
    expect_range(pith_range_percentile(&d, &u8, 99), 0, 990, 1.1);
    expect_range(pith_range_percentile(&d, &u8, 100), 0, 1000, 0);
    for (uint32_t i = 0; i < 1000; i++)
        x[i] = (float)i - 300;
    d = distribution_of(m, x, 1000);
    expect_range(pith_range_percentile(&d, &u8, 98), -290, 689, 1.1);
    expect_range(pith_range_percentile(&d, &i8, 90), -300, 599, 1.1);
    for (uint32_t i = 0; i < 1000; i++) /* zeros count among what is kept */
        x[i] = i < 990 ? 0 : (float)(i - 989);
    d = distribution_of(m, x, 1000);
    expect_range(pith_range_percentile(&d, &u8, 99.5), 0, 5, 0.1); /* all but 6 to 10 */
    expect_range(pith_range_percentile(&d, &u8, 98), 0, 10, 0);    /* fewer than may be left out */
    x[0] = -1;
    d = distribution_of(m, x, 1000);
    expect_range(pith_range_percentile(&d, &i8, 98), -1, 10, 0);
    for (uint32_t i = 0; i < 1000; i++) /* two above zero, in one bin, where ten may be left out */
        x[i] = i < 2 ? 0.001f : -(float)i;
    d = distribution_of(m, x, 1000);
    expect_range(pith_range_percentile(&d, &u8, 98), -989, 0, 1.1);
}

/* Five of ten numbers of the last bin are left out: half of the bin. */
TEST(within_a_bin)
{
    for (uint32_t i = 0; i < 100; i++)
        x[i] = i < 10 ? 1 : 0.5f;
    double width = distribution_of(m, x, 100).width;
    x[0] = (float)(1 + 0.875 * width);
    struct distribution d = distribution_of(m, x, 100);
    assert_true(d.width == width);
    expect_range(pith_range_percentile(&d, &u8, 95), 0, 1 + width / 2, 1e-9);
    expect_range(pith_range_percentile(&d, &i8, 95), 0, 1 + width / 2, 1e-9);
}

/* The published clips for 4 bits: 5.03 b of Laplace's law, 2.56 sigma of Gauss's; a bit more where
 * one half of the law is all there is. */
TEST(closed_form)
{
    struct grid_kind four = {4, true, false}, three = {3, false, false};
    struct distribution d = drawn(laplace, false);
    expect_range(pith_range_aciq(&d, &four), -5.03, 5.03, 0.1);
    d = drawn(normal, false);
    expect_range(pith_range_aciq(&d, &four), -2.56, 2.56, 0.05);
    d = drawn(logistic, false); /* nearer to Gauss's law: 2.56 sigma */
    expect_range(pith_range_aciq(&d, &four), -2.56 * 1.814, 2.56 * 1.814, 0.1);
    d = drawn(laplace, true);
    expect_range(pith_range_aciq(&d, &three), 0, 5.03, 0.1);
    d = drawn(normal, true);
    expect_range(pith_range_aciq(&d, &three), 0, 2.56, 0.05);
}

/* Where the law holds, the search over the histogram finds the same clip, and no worse error. */
TEST(squared_error)
{
    struct grid_kind four = {4, true, false};
    struct distribution d = drawn(normal, false);
    struct range best = pith_range_mse(&d, &four), form = pith_range_aciq(&d, &four);
    struct range all = pith_range_max(&d);
    struct simple_grid a = pith_grid_of_range(&best, &four), b = pith_grid_of_range(&form, &four);
    struct simple_grid c = pith_grid_of_range(&all, &four);
    assert_true(fabs((double)a.scale - 2 * 2.56 / 16) < 0.03);
    assert_true(pith_grid_error(&d, &a, HUGE_VAL) <= pith_grid_error(&d, &b, HUGE_VAL));
    assert_true(pith_grid_error(&d, &a, HUGE_VAL) < 0.6 * pith_grid_error(&d, &c, HUGE_VAL));
    /* two ends that differ: numbers crowd between -1 and 3, one lies at 100 */
    for (uint32_t i = 0; i < N; i++)
        x[i] = -1 + 4 * (float)i / (float)N;
    x[0] = 100;
    d = distribution_of(m, x, N);
    best = pith_range_mse(&d, &(struct grid_kind){4, false, false});
    if (!(best.low < -0.9 && best.high > 2.5 && best.high < 6))
        fail_msg("%g..%g", best.low, best.high);
    best = pith_range_mse(&d, &(struct grid_kind){4, true, true});
    a = pith_grid_of_range(&best, &(struct grid_kind){4, true, true});
    assert_true(a.scale == 0.5f || a.scale == 1);
}

/* All of an even distribution is worth keeping; a far outlier is not. */
TEST(divergence)
{
    for (uint32_t i = 0; i < N; i++)
        x[i] = (float)(i + 1) / (float)N;
    struct distribution d = distribution_of(m, x, N);
    expect_range(pith_range_kl(&d, &u8), 0, 1, 0.01);
    d = drawn(laplace, false);
    struct range r = pith_range_kl(&d, &(struct grid_kind){6, true, false});
    assert_true(r.high < 0.95 * fmax(d.max, -d.min) && r.high > 2);
    struct range all = pith_range_max(&d);
    expect_range(pith_range_kl(&d, &(struct grid_kind){16, true, false}), all.low, all.high, 0);
}

/* Ones and fours in two bins: whether the fours are there or not, nothing is lost. They stay. */
TEST(the_widest_of_equal_ranges)
{
    static const float numbers[] = {1, 1, 1, 4}, lopsided[] = {-2, -1, 1};
    struct distribution d = distribution_of(m, numbers, 4);
    expect_range(pith_range_kl(&d, &(struct grid_kind){4, false, false}), 0, 4, 0);
    /* -2..1 and -1..1 have one grid of two bits, -2 to 1 */
    d = distribution_of(m, lopsided, 3);
    expect_range(pith_range_mse(&d, &(struct grid_kind){2, true, false}), -2, 1, 0);
}

/* Magnitudes alone have as many steps with a bit less: the same clip, or the next that is tried. */
TEST(divergence_of_magnitudes)
{
    struct distribution d = drawn(laplace, false);
    struct range both = pith_range_kl(&d, &(struct grid_kind){6, true, false});
    d = drawn(laplace, true);
    struct range one = pith_range_kl(&d, &(struct grid_kind){5, true, false});
    assert_true(both.high < d.max);
    expect_range(one, 0, both.high, 0.03);
}

/* No method gives an empty range, or one beyond the extremes, for anything. */
TEST(odd_distributions)
{
    static const float odd[][4] = {{5, 5, 5, 5},          {-5, -5, -5, -5},   {1e-44f, 0, 0, 0},
                                   {3e38f, -3e38f, 0, 1}, {0, 0, 0, -1e-30f}, {1, 1, 1, 1e6f},
                                   {7, 7, 7.5f, 8},       {-1, 1, -1, 1}};
    const struct grid_kind kinds[] = {u8, i8, q8, {2, false, false}, {16, true, true}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct distribution d = distribution_of(m, odd[i], 4);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            struct range all = pith_range_max(&d);
            struct range r[] = {pith_range_percentile(&d, &kinds[k], 99.99),
                                pith_range_kl(&d, &kinds[k]), pith_range_mse(&d, &kinds[k]),
                                pith_range_aciq(&d, &kinds[k]), all};
            for (int n = 0; n < 5; n++) {
                struct simple_grid g = pith_grid_of_range(&r[n], &kinds[k]);
                if (!(r[n].high > r[n].low && r[n].low >= all.low && r[n].high <= all.high) ||
                    r[n].low > 0 || r[n].high < 0 || !(g.scale >= FLT_MIN && g.scale <= FLT_MAX) ||
                    g.zero_point < g.lowest || g.zero_point > g.highest)
                    fail_msg("numbers %d, kind %d, method %d: %g..%g", (int)i, (int)k, n, r[n].low,
                             r[n].high);
            }
        }
    }
}

/* Beyond the largest power of two that is an f32, a radix is that. */
TEST(largest_scales)
{
    const struct range r = {-(double)FLT_MAX, (double)FLT_MAX};
    const struct grid_kind kind = {.bits = 2, .radix = true};
    assert_true(pith_grid_of_range(&r, &kind).scale == 0x1p127f);
    const struct grid_kind any = {.bits = 2, .symmetric = true};
    assert_true(pith_grid_of_range(&r, &any).scale == FLT_MAX);
}

RUN_TESTS_WITH(setup, teardown)
