/* SPDX-License-Identifier: MIT */
/* Clustering: known codebooks, the exact optimum against exhaustive search, zero, groups, f16,
 * refusals. */
#include "test_run.h"
#include "backwards.h"
#include "gemm_model.h"
#include "base/half_float.h"
#include "pith_quantize.h"
#include "pith_runtime.h"

static struct pith_model *layer_of(uint32_t rows, uint32_t cols, const float *w)
{
    struct pith_model *m = gemm_model((uint32_t[]){cols, rows}, 1);
    if (w)
        memcpy(data_of_layer(m, 0), w, rows * cols * sizeof *w);
    return m;
}

static struct pith_cluster_layer cluster(struct pith_model *m, const struct pith_cluster_opts *o)
{
    struct pith_cluster_layer layers[8];
    struct pith_error err = {0};
    uint32_t n;
    SUCCEEDS(pith_cluster(m, o, layers, &n, &err));
    assert_int_equal(n, m->n_nodes / 2);
    return layers[0];
}

/* Every promise a codebook makes, whatever the options. */
static void check_codebook(struct pith_model *m, uint32_t k, const float *before)
{
    const struct pith_const *c = weight_of_layer(m, k);
    const struct pith_codebook *b = c->codebook;
    assert_non_null(b);
    assert_int_equal(b->group_elems * b->n_groups, c->count);
    for (uint64_t g = 0; g < b->n_groups; g++) {
        for (uint32_t i = 0; i < b->n_centroids; i++) {
            assert_true(isfinite(b->centroid[g * b->n_centroids + i]));
            assert_true(i == 0 || b->centroid[g * b->n_centroids + i] >
                                      b->centroid[g * b->n_centroids + i - 1]);
        }
    }
    for (uint64_t i = 0; i < c->count; i++) {
        float w = ((float *)c->data)[i];
        if (c->mask && !c->mask[i]) {
            assert_true(w == 0 && b->index[i] == 0);
            continue;
        }
        const float *centroid = b->centroid + i / b->group_elems * b->n_centroids;
        assert_true(b->index[i] < b->n_centroids);
        assert_true(w == centroid[b->index[i]]);
        for (uint32_t j = 0; before && j < b->n_centroids; j++)
            assert_true(fabs((double)w - (double)before[i]) <=
                        fabs((double)centroid[j] - (double)before[i]) * (1 + 1e-12));
        if (before && before[i] == 0 && !c->mask && b->n_centroids >= 3)
            assert_true(w == 0);
    }
}

TEST(two_heaps_give_their_means)
{
    static const float w[] = {1, 2, 3, 11, 12, 13};
    for (enum pith_cluster_init init = PITH_CLUSTER_LINEAR; init <= PITH_CLUSTER_EXACT; init++) {
        struct pith_model *m = layer_of(1, 6, w);
        struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 2, .init = init};
        struct pith_cluster_layer r = cluster(m, &o);
        check_codebook(m, 0, w);
        assert_true(weight_of_layer(m, 0)->codebook->centroid[0] == 2);
        assert_true(weight_of_layer(m, 0)->codebook->centroid[1] == 12);
        assert_true(fabs(r.mse - 4.0 / 6) < 1e-12);
        assert_true(fabs(r.snr_db - 10 * log10(448.0 / 4)) < 1e-9);
        assert_int_equal(r.n_weights, 6);
        pith_model_free(m);
    }
}

TEST(few_values_are_kept_exactly)
{
    static const float w[] = {5, -1, 5, 5, -1, 0.25f};
    struct pith_model *m = layer_of(2, 3, w);
    struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 256};
    struct pith_cluster_layer r = cluster(m, &o);
    assert_int_equal(r.n_centroids, 3);
    assert_true(r.mse == 0 && isinf(r.snr_db));
    assert_memory_equal(data_of_layer(m, 0), w, sizeof w);
    check_codebook(m, 0, w);
    pith_model_free(m);
}

/* Best squared error of n sorted values in up to k clusters, all splits tried. With `zero`, one
 * more centroid sits at 0 and every value may choose it: then values are only assigned, not cut. */
static double best_by_trying(const double *v, int n, int k)
{
    if (n == 0)
        return 0;
    if (k == 0)
        return INFINITY;
    double best = INFINITY;
    for (int from = 0; from < n; from++) {
        double mean = 0, e = 0;
        for (int i = from; i < n; i++)
            mean += v[i] / (n - from);
        for (int i = from; i < n; i++)
            e += (v[i] - mean) * (v[i] - mean);
        e += best_by_trying(v, from, k - 1);
        best = e < best ? e : best;
    }
    return best;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

TEST(exact_equals_exhaustive_search)
{
    struct test_random r = test_seed(20263);
    for (int round = 0; round < 200; round++) {
        int n = 4 + (int)test_below(&r, 8), k = 2 + (int)test_below(&r, 3);
        struct pith_model *m = layer_of(1, (uint32_t)n, NULL);
        fill_gauss(m, 0, &r);
        double v[16];
        float before[16];
        for (int i = 0; i < n; i++) {
            if (test_below(&r, 4) == 0)
                data_of_layer(m, 0)[i] = 1.0f + (float)test_below(&r, 2); /* ties */
            before[i] = data_of_layer(m, 0)[i];
            v[i] = (double)before[i];
        }
        qsort(v, (size_t)n, sizeof v[0], compare_doubles);
        struct pith_cluster_opts o = {
            .size_bytes = sizeof o, .n_centroids = (uint32_t)k, .init = PITH_CLUSTER_EXACT};
        struct pith_cluster_layer layer = cluster(m, &o);
        double want = best_by_trying(v, n, k) / n;
        if (fabs(layer.mse - want) > 1e-6 * (want + 1e-9))
            fail_msg("round %d: n %d k %d: mse %.12g, best %.12g", round, n, k, layer.mse, want);
        check_codebook(m, 0, before);
        pith_model_free(m);
    }
}

/* With a pinned zero the optimum is the least over all ways to give an interval around the zeros to
 * it; here by trying all pairs of borders and the number of clusters on either side. */
static double best_with_zero(const double *v, int n, int k)
{
    double best = INFINITY;
    for (int low = 0; low <= n; low++) {
        for (int high = low; high <= n; high++) {
            double e = 0;
            for (int i = low; i < high; i++)
                e += v[i] * v[i];
            for (int left = 0; left < k; left++) {
                double both =
                    best_by_trying(v, low, left) + best_by_trying(v + high, n - high, k - 1 - left);
                best = e + both < best ? e + both : best;
            }
        }
    }
    return best;
}

TEST(exact_with_zero_equals_exhaustive_search)
{
    struct test_random r = test_seed(20264);
    for (int round = 0; round < 60; round++) {
        int n = 6 + (int)test_below(&r, 4), k = 3 + (int)test_below(&r, 2);
        struct pith_model *m = layer_of(1, (uint32_t)n, NULL);
        fill_gauss(m, 0, &r);
        data_of_layer(m, 0)[0] = data_of_layer(m, 0)[n / 2] = 0;
        double v[16];
        float before[16];
        for (int i = 0; i < n; i++)
            v[i] = (double)(before[i] = data_of_layer(m, 0)[i]);
        qsort(v, (size_t)n, sizeof v[0], compare_doubles);
        struct pith_cluster_opts o = {
            .size_bytes = sizeof o, .n_centroids = (uint32_t)k, .init = PITH_CLUSTER_EXACT};
        struct pith_cluster_layer layer = cluster(m, &o);
        double want = best_with_zero(v, n, k) / n;
        if (fabs(layer.mse - want) > 1e-6 * (want + 1e-9))
            fail_msg("round %d: n %d k %d: mse %.12g, best %.12g", round, n, k, layer.mse, want);
        check_codebook(m, 0, before);
        pith_model_free(m);
    }
}

TEST(both_starts_are_sound_and_exact_is_best)
{
    struct test_random r = test_seed(20265);
    for (int round = 0; round < 12; round++) {
        uint32_t rows = 1 + test_below(&r, 20), cols = 40 + test_below(&r, 400);
        struct pith_model *m = layer_of(rows, cols, NULL);
        uint32_t n = rows * cols;
        fill_gauss(m, 0, &r);
        if (round % 3 == 0)
            data_of_layer(m, 0)[n / 2] = 1000; /* an outlier empties linear clusters */
        for (uint32_t i = 0; round % 2 && i < n; i += 5)
            data_of_layer(m, 0)[i] = 0;
        float *before = malloc(n * sizeof *before);
        memcpy(before, data_of_layer(m, 0), n * sizeof *before);
        double mse[2];
        for (enum pith_cluster_init init = PITH_CLUSTER_LINEAR; init <= PITH_CLUSTER_EXACT;
             init++) {
            struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 16, .init = init};
            memcpy(data_of_layer(m, 0), before, n * sizeof *before);
            struct pith_cluster_layer layer = cluster(m, &o);
            check_codebook(m, 0, before);
            assert_int_equal(layer.n_centroids, 16);
            mse[init] = layer.mse;
        }
        assert_true(mse[PITH_CLUSTER_EXACT] <= mse[PITH_CLUSTER_LINEAR] * (1 + 1e-6));
        free(before);
        pith_model_free(m);
    }
}

/* More than 65,536 distinct values: joined runs, then Lloyd; never worse than the other starts. */
TEST(many_distinct_values)
{
    struct test_random r = test_seed(20266);
    struct pith_model *m = layer_of(300, 300, NULL);
    fill_gauss(m, 0, &r);
    float *before = malloc(90000 * sizeof *before);
    memcpy(before, data_of_layer(m, 0), 90000 * sizeof *before);
    double mse[2];
    for (int i = 0; i < 2; i++) {
        struct pith_cluster_opts o = {.size_bytes = sizeof o,
                                      .n_centroids = 32,
                                      .init = i ? PITH_CLUSTER_EXACT : PITH_CLUSTER_LINEAR};
        memcpy(data_of_layer(m, 0), before, 90000 * sizeof *before);
        mse[i] = cluster(m, &o).mse;
        check_codebook(m, 0, NULL);
    }
    assert_true(mse[1] <= mse[0] * (1 + 1e-9));
    assert_true(mse[1] > 0.5 * mse[0]);
    free(before);
    pith_model_free(m);
}

TEST(pruned_weights_are_left_out)
{
    float w[] = {0, 1, 2, 0, 11, 12, 0, 0};
    static uint8_t mask[] = {0, 1, 1, 0, 1, 1, 0, 0};
    struct pith_model *m = layer_of(2, 4, w);
    weight_of_layer(m, 0)->mask = mask;
    struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 2};
    struct pith_cluster_layer r = cluster(m, &o);
    assert_int_equal(r.n_weights, 4);
    assert_true(weight_of_layer(m, 0)->codebook->centroid[0] == 1.5f);
    assert_true(weight_of_layer(m, 0)->codebook->centroid[1] == 11.5f);
    check_codebook(m, 0, w);
    pith_model_free(m);
}

TEST(groups_have_their_own_codebooks)
{
    /* the second group holds one value and is filled up behind it; the third is all pruned */
    float w[] = {1, 2, 3, 4, 7, 7, 7, 7, 0, 0, 0, 0};
    static uint8_t mask[] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    struct pith_model *m = layer_of(3, 4, w);
    weight_of_layer(m, 0)->mask = mask;
    struct pith_cluster_opts o = {
        .size_bytes = sizeof o, .n_centroids = 4, .per = PITH_CLUSTER_PER_CHANNEL};
    struct pith_cluster_layer r = cluster(m, &o);
    check_codebook(m, 0, w);
    assert_int_equal(r.n_groups, 3);
    assert_true(weight_of_layer(m, 0)->codebook->centroid[4] == 7);
    assert_true(r.mse == 0);
    o.per = PITH_CLUSTER_PER_GROUP;
    o.group_elems = 2;
    assert_int_equal(cluster(m, &o).n_groups, 6);
    check_codebook(m, 0, w);
    pith_model_free(m);
}

/* Groups of 3,000 end inside of the pieces that threads take. */
TEST(threads_change_nothing)
{
    enum { ROWS = 400, COLS = 3000 };
    const struct pith_opts runtime = {.parallel_for = backwards};
    for (int per = PITH_CLUSTER_PER_TENSOR; per <= PITH_CLUSTER_PER_CHANNEL; per++) {
        struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 5, .per = per};
        struct pith_model *alone = layer_of(ROWS, COLS, NULL);
        struct pith_model *shared = layer_of(ROWS, COLS, data_of_layer(alone, 0));
        struct pith_cluster_layer a = cluster(alone, &o);
        o.runtime = &runtime;
        struct pith_cluster_layer b = cluster(shared, &o);
        assert_true(a.mse == b.mse && a.snr_db == b.snr_db && a.n_weights == ROWS * COLS);
        assert_memory_equal(data_of_layer(alone, 0), data_of_layer(shared, 0),
                            (size_t)ROWS * COLS * sizeof(float));
        assert_memory_equal(weight_of_layer(alone, 0)->codebook->index,
                            weight_of_layer(shared, 0)->codebook->index, (size_t)ROWS * COLS);
        pith_model_free(alone);
        pith_model_free(shared);
    }
}

TEST(half_centroids_are_half_values)
{
    struct test_random r = test_seed(20267);
    struct pith_model *m = layer_of(20, 50, NULL);
    fill_gauss(m, 0, &r);
    struct pith_cluster_opts o = {.size_bytes = sizeof o,
                                  .n_centroids = 256,
                                  .values = PITH_CLUSTER_F16,
                                  .per = PITH_CLUSTER_PER_CHANNEL};
    cluster(m, &o);
    check_codebook(m, 0, NULL);
    const struct pith_codebook *b = weight_of_layer(m, 0)->codebook;
    for (uint64_t i = 0; i < b->n_groups * b->n_centroids; i++)
        assert_true(half_to_f32(half_from_f32(b->centroid[i])) == b->centroid[i]);
    pith_model_free(m);
}

TEST(half_rounding)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = half_to_f32((uint16_t)h);
        if (!isnan(f))
            assert_int_equal(half_from_f32(f), h);
    }
    assert_int_equal(half_from_f32(65519.996f), 0x7bff);
    assert_int_equal(half_from_f32(65520.0f), 0x7c00);
    assert_int_equal(half_from_f32(0x1p-25f), 0); /* tie to even */
    assert_int_equal(half_from_f32(0x1.000002p-25f), 1);
    assert_int_equal(half_from_f32(1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(half_from_f32(1.0f + 0x3p-11f), 0x3c02);
}

TEST(options_per_layer)
{
    struct test_random r = test_seed(20268);
    struct pith_model *m = gemm_model((uint32_t[]){20, 20, 20, 20}, 3);
    for (uint32_t k = 0; k < 3; k++)
        fill_gauss(m, k, &r);
    struct pith_cluster_size own[] = {{"fc*", 4}, {"fc2", 0}, {"fc3", 256}};
    struct pith_cluster_opts o = {.size_bytes = sizeof o, .layers = own, .n_layers = 3};
    cluster(m, &o);
    assert_int_equal(weight_of_layer(m, 0)->codebook->n_centroids, 4);
    assert_null(weight_of_layer(m, 1)->codebook);
    assert_int_equal(weight_of_layer(m, 2)->codebook->n_centroids, 256);
    pith_model_free(m);
}

static void expect_refusal(struct pith_model *m, const struct pith_cluster_opts *o,
                           enum pith_status status, const char *text)
{
    struct pith_error err = {0};
    assert_int_equal(pith_cluster(m, o, NULL, NULL, &err), status);
    assert_string_equal(err.text, text);
    assert_null(weight_of_layer(m, 0)->codebook);
}

TEST(refusals_name_layer_and_numbers)
{
    struct pith_model *m = gemm_model((uint32_t[]){6, 5}, 1);
    struct pith_cluster_opts o = {.size_bytes = sizeof o, .n_centroids = 257};
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot cluster: 257 centroids, allowed are 2 to 256");
    o.n_centroids = 4;
    o.per = PITH_CLUSTER_PER_GROUP;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot cluster: a group has at least 1 element");
    o.group_elems = 4;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot cluster 'fc1': group 4 does not divide 30 elements");
    o.per = PITH_CLUSTER_PER_TENSOR;
    struct pith_cluster_size own = {"conv", 1};
    o.layers = &own;
    o.n_layers = 1;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot cluster: 1 centroids for 'conv', allowed are 2 to 256");
    own.n_centroids = 2;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot cluster: no layer matches 'conv'");
    o.n_layers = 0;
    data_of_layer(m, 0)[3] = 40000;
    o.values = PITH_CLUSTER_F16;
    expect_refusal(m, &o, PITH_ERR_UNSUPPORTED,
                   "cannot cluster 'fc1': element 3 of 'fc1.w' is 40000, beyond 32768");
    o.values = PITH_CLUSTER_F32;
    data_of_layer(m, 0)[3] = INFINITY;
    expect_refusal(m, &o, PITH_ERR_UNSUPPORTED,
                   "cannot cluster 'fc1': element 3 of 'fc1.w' is inf, beyond 8.50706e+37");
    o.size_bytes--;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot cluster: option struct of another version");
    pith_model_free(m);
}

RUN_TESTS
