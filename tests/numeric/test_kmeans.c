/* SPDX-License-Identifier: MIT */
/* k-means in one dimension: known optima, the optimum never above what Lloyd's iteration finds from
 * any start, sums of ranges as they are added up one by one. (Against all splits there are:
 * tests/quantize/test_cluster.c.) */
#include <math.h>
#include "test_run.h"
#include "backwards.h"
#include "gemm_model.h"
#include "numeric/kmeans.h"
#include "pith_runtime.h"

enum { N = 1000, ROUNDS = 20 };

static void fill(struct sorted_values *s, const float *v, uint64_t n)
{
    assert_true(pith_sorted_begin(s, n));
    memcpy(s->v, v, n * sizeof *v);
    pith_sorted_build(s, n);
}

static void fill_some(struct sorted_values *s, struct test_random *r)
{
    float v[N];
    for (int i = 0; i < N; i++)
        v[i] = i % 10 ? test_gauss(r) : 0;
    fill(s, v, N);
}

/* Sum of squared distances to the nearest centroid. */
static double error_of(const struct sorted_values *s, const struct centroids *c)
{
    double sum = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        double nearest = INFINITY;
        for (uint32_t j = 0; j < c->n; j++)
            nearest = fmin(nearest, fabs((double)s->v[i] - c->at[j]));
        sum += nearest * nearest;
    }
    return sum;
}

TEST(known_clusters_are_found)
{
    static const float v[8] = {9, -3, 10, 1, 2, 11, -5, 3};
    struct sorted_values s;
    struct centroids c = {.wanted = 3};
    fill(&s, v, 8);
    assert_true(pith_kmeans_exact(&s, &c));
    assert_int_equal(c.n, 3);
    assert_true(c.at[0] == -4 && c.at[1] == 2 && c.at[2] == 10);
    assert_true(error_of(&s, &c) == 6);
    c.pin_zero = true; /* 1 goes to 0, or 2 and 3 pay for it */
    assert_true(pith_kmeans_exact(&s, &c));
    bool zero = false;
    for (uint32_t i = 0; i < c.n; i++)
        zero |= c.at[i] == 0;
    assert_true(zero && error_of(&s, &c) > 6);
    pith_sorted_end(&s);
}

TEST(sums_are_those_of_the_values)
{
    struct test_random r = test_seed(51);
    struct sorted_values s;
    fill_some(&s, &r);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = test_below(&r, N - 1), to = from + 1 + test_below(&r, (uint32_t)(N - from));
        double sum = 0, error = 0, centre = (double)test_gauss(&r);
        for (uint64_t i = from; i < to; i++) {
            assert_true(i == 0 || s.v[i - 1] <= s.v[i]);
            sum += (double)s.v[i];
            error += ((double)s.v[i] - centre) * ((double)s.v[i] - centre);
        }
        assert_true(fabs(pith_sorted_mean(&s, from, to) - sum / (double)(to - from)) < 1e-9);
        assert_true(fabs(pith_sorted_error(&s, from, to, centre) - error) < 1e-9 * (error + 1));
        uint64_t below = pith_sorted_count_to(&s, centre);
        assert_true(below == 0 || (double)s.v[below - 1] <= centre);
        assert_true(below == N || (double)s.v[below] > centre);
    }
    assert_int_equal(pith_sorted_distinct(&s, 5), 5);
    pith_sorted_end(&s);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* So many that they are sorted in pieces, whose order must not matter. */
TEST(many_values_are_sorted_in_pieces)
{
    struct test_random r = test_seed(53);
    uint32_t n = (1u << 20) + 77, n_calls = 0;
    struct pith_opts runtime = {.parallel_for = backwards, .parallel_user = &n_calls};
    struct sorted_values s;
    float *v = malloc(n * sizeof *v);
    assert_true(v && pith_sorted_begin(&s, n));
    for (uint32_t i = 0; i < n; i++)
        s.v[i] = v[i] = i % 7 ? test_gauss(&r) * (i % 3 ? 1 : 1e-6f) : 0;
    s.runtime = &runtime;
    pith_sorted_build(&s, n);
    qsort(v, n, sizeof *v, by_value);
    assert_memory_equal(s.v, v, n * sizeof *v);
    assert_int_equal(n_calls, 8); /* four digits: counted, then moved */
    pith_sorted_end(&s);
    free(v);
}

/* As many as fill blocks and the short sort exactly, one fewer and one more: every range of them.
 */
TEST(blocks_have_ends)
{
    static const uint32_t sizes[] = {0, 1, 2, 47, 48, 49, 63, 64, 65, 127, 128, 129};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i];
        struct sorted_values s;
        assert_true(pith_sorted_begin(&s, n));
        for (uint32_t k = 0; k < n; k++) /* 0, -1, 2, -3 ... twice each, in no order, and -0 */
            s.v[k] = k % 5 ? (k % 2 ? -1.0f : 1.0f) * (float)(k * 7 % n / 2) : -0.0f;
        pith_sorted_build(&s, n);
        assert_true(s.shift == (n ? (double)s.v[n / 2] : 0));
        uint64_t different = n > 0;
        for (uint32_t k = 1; k < n; k++) {
            assert_true(s.v[k - 1] <= s.v[k] && (s.v[k] != 0 || !signbit(s.v[k])));
            different += s.v[k] != s.v[k - 1];
        }
        assert_int_equal(pith_sorted_distinct(&s, n + 1), different);
        if (different)
            assert_int_equal(pith_sorted_distinct(&s, different - 1),
                             different > 1 ? different - 1 : 1);
        for (uint32_t from = 0; from < n; from++)
            for (uint32_t to = from + 1; to <= n; to++) {
                double sum = 0, error = 0;
                for (uint32_t k = from; k < to; k++) {
                    sum += (double)s.v[k];
                    error += ((double)s.v[k] - 2.5) * ((double)s.v[k] - 2.5);
                }
                assert_true(fabs(pith_sorted_mean(&s, from, to) - sum / (to - from)) < 1e-9);
                assert_true(fabs(pith_sorted_error(&s, from, to, 2.5) - error) <
                            1e-9 * (error + 1));
            }
        for (uint32_t k = 0; k < n; k++) {
            const uint64_t at = pith_sorted_count_to(&s, (double)s.v[k]);
            assert_true(at > k && s.v[at - 1] == s.v[k] && (at == n || s.v[at] > s.v[k]));
        }
        assert_int_equal(pith_sorted_count_to(&s, -1e9), 0);
        assert_int_equal(pith_sorted_count_to(&s, 1e9), n);
        pith_sorted_end(&s);
    }
}

TEST(linear_start_does_not_beat_the_optimum)
{
    struct test_random r = test_seed(52);
    for (int round = 0; round < ROUNDS; round++) {
        struct sorted_values s;
        struct centroids best = {.wanted = 2 + test_below(&r, 20), .pin_zero = round % 2};
        fill_some(&s, &r);
        assert_true(pith_kmeans_exact(&s, &best));
        double least = error_of(&s, &best);
        struct centroids c = {.wanted = best.wanted, .pin_zero = best.pin_zero};
        pith_kmeans_linear(&s, &c);
        double before = error_of(&s, &c);
        pith_kmeans_lloyd(&s, &c);
        double after = error_of(&s, &c);
        assert_true(c.n <= best.wanted && after <= before * (1 + 1e-12));
        assert_true(after >= least * (1 - 1e-9));
        for (uint32_t i = 1; i < c.n; i++)
            assert_true(c.at[i - 1] < c.at[i]);
        pith_sorted_end(&s);
    }
}

RUN_TESTS
