/* SPDX-License-Identifier: MIT */
/* Histograms that grow give what counting with the last width from the start would have given; in
 * any order, in any shards, with any loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "backwards.h"
#include "core/bytes.h"
#include "calibrate/calibrate_kernels.h"
#include "calibrate/value_observer.h"

#define SEED 20261121u

static uint32_t random_bits(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Zeros of both signs, numbers of any magnitude, edges of bins. */
static float random_number(uint64_t *state, int spread)
{
    uint32_t what = random_bits(state) % 8;
    float m = (float)(random_bits(state) % 4096) / 4096.0f;
    float sign = random_bits(state) % 2 ? -1.0f : 1.0f;
    if (what == 0)
        return sign * 0.0f;
    return sign * ldexpf(what == 1 ? 1.0f : m,
                         (int)(random_bits(state) % (uint32_t)(2 * spread + 1)) - spread);
}

static struct pith_value value_of(uint32_t n)
{
    return (struct pith_value){.name = "v", .type = PITH_F32, .rank = 2, .dim = {1, n}};
}

/* One sample of n numbers after the other. */
static struct pith_value_stats *observed(struct pith_model *m, const float *x, uint32_t n_samples,
                                         uint32_t n, const uint32_t *order, uint32_t cpu_mask)
{
    static struct histogram_scratch scratch;
    const struct count_team alone = {.n = 1, .scratch = &scratch};
    struct value_observer o;
    struct pith_value v = value_of(n);
    struct pith_value_stats *s = NULL;
    assert_int_equal(pith_observer_start(&o, &v, OBSERVE_HISTOGRAM, 1), PITH_OK);
    pith_observer_use_cpu(&o, cpu_mask);
    for (uint32_t i = 0; i < n_samples; i++)
        pith_observer_see(&o, x + (size_t)order[i] * n, n, &alone);
    assert_int_equal(pith_observer_result(&o, m, &s), PITH_OK);
    pith_observer_clear(&o);
    return s;
}

static void expect_same(const struct pith_value_stats *a, const struct pith_value_stats *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_zero, b->n_zero);
    assert_int_equal(a->n_samples, b->n_samples);
    assert_memory_equal(&a->sum, &b->sum, sizeof a->sum);
    assert_memory_equal(&a->sum_squares, &b->sum_squares, sizeof a->sum_squares);
    assert_int_equal(a->histogram.exponent, b->histogram.exponent);
    assert_int_equal(a->histogram.first, b->histogram.first);
    assert_int_equal(a->histogram.n_bins, b->histogram.n_bins);
    assert_memory_equal(a->histogram.count, b->histogram.count,
                        a->histogram.n_bins * sizeof(uint64_t));
    assert_int_equal(a->n_channels, b->n_channels);
    assert_memory_equal(a->channel, b->channel, a->n_channels * sizeof *a->channel);
}

/* The definition: the smallest width for the extremes, every number put into its bin by division.
 */
static void expect_by_definition(const struct pith_value_stats *s, const float *x, size_t n)
{
    double low = 0, high = 0;
    uint64_t zeros = 0;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
        zeros += x[i] == 0;
    }
    int e = -126;
    while (pith_bin_of(high, e) - pith_bin_of(low, e) >= 2048)
        e++;
    assert_int_equal(s->n_zero, zeros);
    assert_int_equal(s->histogram.exponent, e);
    uint64_t *count = calloc(4096, sizeof *count);
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            count[2048 + (int)pith_bin_of((double)x[i], e)]++;
    for (int k = -2048; k < 2048; k++) {
        int at = k - s->histogram.first;
        uint64_t got = at >= 0 && at < (int)s->histogram.n_bins ? s->histogram.count[at] : 0;
        if (got != count[2048 + k])
            fail_msg("bin %d: %d, expected %d", k, (int)got, (int)count[2048 + k]);
    }
    free(count);
}

TEST(any_order_any_loop)
{
    enum { SAMPLES = 6, MOST = 3000 };
    float *x = malloc(SAMPLES * MOST * sizeof *x);
    for (uint32_t round = 0; round < 24; round++) {
        uint64_t seed = SEED + round;
        uint32_t n = 1 + random_bits(&seed) % MOST;
        int spread = (int[]){0, 3, 20, 120}[round % 4];
        for (size_t i = 0; i < (size_t)SAMPLES * n; i++)
            x[i] = random_number(&seed, spread) * (round & 4 ? 1.0f : 1.5f);
        for (size_t i = 0; round & 8 && i < (size_t)SAMPLES * n; i++)
            x[i] = fabsf(x[i]);
        struct pith_model *m;
        assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
        struct pith_value_stats *a = observed(m, x, SAMPLES, n, (uint32_t[]){0, 1, 2, 3, 4, 5}, 0);
        struct pith_value_stats *b =
            observed(m, x, SAMPLES, n, (uint32_t[]){5, 2, 0, 4, 3, 1}, PITH_CPU_REF);
        if (a->n != (uint64_t)SAMPLES * n)
            print_error("round %u\n", round);
        struct pith_value_stats *c = observed(m, x, SAMPLES, n, (uint32_t[]){0, 1, 2, 3, 4, 5},
                                              PITH_CPU_REF | PITH_CPU_AVX2);
        expect_same(a, b);
        expect_same(a, c);
        expect_by_definition(a, x, (size_t)SAMPLES * n);
        pith_model_free(m);
    }
    free(x);
}

/* A Relu may give nothing but zeros for the first samples and small numbers for later ones. */
TEST(zeros_come_first)
{
    for (int exponent = -130; exponent < 4; exponent++) {
        float small = ldexpf(0.6f, exponent), x[] = {0, -0.0f, 0, 0, 0, small};
        struct pith_model *m;
        assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
        struct pith_value_stats *first = observed(m, x, 3, 2, (uint32_t[]){0, 1, 2}, 0);
        struct pith_value_stats *last = observed(m, x, 3, 2, (uint32_t[]){2, 0, 1}, 0);
        expect_by_definition(first, x, 6);
        expect_same(first, last);
        pith_model_free(m);
    }
}

static void take(struct value_observer *o, struct pith_value *v, struct pith_model *m)
{
    assert_int_equal(pith_observer_result(o, m, &v->stats), PITH_OK);
    v->min = o->min;
    v->max = o->max;
    v->n_observed = o->sum.n;
}

/* Three shards merged in both orders, against one run over all. */
TEST(shards_merge_to_the_same)
{
    enum { N = 700 };
    static struct histogram_scratch scratch;
    const struct count_team alone = {.n = 1, .scratch = &scratch};
    float x[3 * N];
    for (uint32_t round = 0; round < 12; round++) {
        uint64_t seed = SEED + 100 + round;
        struct pith_model *m;
        struct pith_value part[3], v = value_of(N);
        struct value_observer o;
        assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
        for (uint32_t i = 0; i < 3 * N; i++)
            x[i] = random_number(&seed, (int)round * (int)(i / N + 1));
        struct pith_value_stats *all = observed(m, x, 3, N, (uint32_t[]){0, 1, 2}, 0), *s;
        for (uint32_t i = 0; i < 3; i++) {
            part[i] = value_of(N);
            pith_observer_start(&o, &part[i], OBSERVE_HISTOGRAM, 1);
            pith_observer_see(&o, x + (size_t)i * N, N, &alone);
            take(&o, &part[i], m);
            pith_observer_clear(&o);
        }
        for (uint32_t turn = 0; turn < 2; turn++) {
            pith_observer_start(&o, &v, OBSERVE_HISTOGRAM, 1);
            for (uint32_t i = 0; i < 3; i++)
                pith_observer_merge(&o, &part[turn ? 2 - i : i]);
            assert_int_equal(pith_observer_result(&o, m, &s), PITH_OK);
            expect_same(all, s);
            pith_observer_clear(&o);
        }
        pith_model_free(m);
    }
}

/* What is infinite keeps its extremes and count, and loses the rest, whichever came first. */
TEST(infinite_numbers)
{
    static struct histogram_scratch scratch;
    const struct count_team alone = {.n = 1, .scratch = &scratch};
    static const float fine[] = {1, -2}, bad[] = {INFINITY, 3}, nan[] = {NAN, 1};
    for (int first = 0; first < 2; first++) {
        struct value_observer o;
        struct pith_value v = value_of(2);
        struct pith_value_stats *s = &(struct pith_value_stats){0};
        struct pith_model *m;
        assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
        pith_observer_start(&o, &v, OBSERVE_HISTOGRAM, PITH_MAX_RANK);
        pith_observer_see(&o, first ? bad : fine, 2, &alone);
        pith_observer_see(&o, first ? fine : bad, 2, &alone);
        assert_int_equal(pith_observer_result(&o, m, &s), PITH_OK);
        assert_null(s);
        assert_true(o.min == -2 && o.max == INFINITY && o.sum.n == 4 && !o.has_nan);
        pith_observer_see(&o, nan, 2, &alone);
        assert_true(o.has_nan && o.sum.n == 4);
        pith_observer_clear(&o);
        pith_model_free(m);
    }
}

/* Teams of one and of several, by channel and not, give the same; the large ones are shared. */
TEST(any_team)
{
    enum { C = 7, INNER = 5003, MOST = 5 };
    float *x = malloc(C * INNER * sizeof *x);
    uint64_t seed = SEED + 1000;
    for (uint32_t i = 0; i < C * INNER; i++)
        x[i] = random_number(&seed, 8);
    for (uint32_t axis = 1; axis < 4; axis++) {
        struct pith_value_stats *first = NULL;
        struct pith_model *m;
        assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
        for (uint32_t n = 1; n <= MOST; n++) {
            uint32_t shared = 0;
            struct count_team team = {n, calloc(n, sizeof *team.scratch), backwards, &shared};
            struct pith_value v = {.name = "v", .type = PITH_F32, .rank = 3, .dim = {1, C, INNER}};
            struct value_observer o;
            struct pith_value_stats *s = NULL;
            assert_int_equal(pith_observer_start(&o, &v, OBSERVE_HISTOGRAM, axis), PITH_OK);
            pith_observer_see(&o, x, C * INNER, &team);
            assert_int_equal(pith_observer_result(&o, m, &s), PITH_OK);
            assert_int_equal(shared, n == 1 ? 0 : 2); /* sums; counts */
            first = first ? first : s;
            expect_same(first, s);
            expect_by_definition(s, x, C * INNER);
            pith_observer_clear(&o);
            free(team.scratch);
        }
        pith_model_free(m);
    }
    free(x);
}

RUN_TESTS
