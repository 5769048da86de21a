/* SPDX-License-Identifier: MIT */
/* Pruning: known answers by hand, counts and order on random weights, every refusal. */
#include "test_run.h"
#include "gemm_model.h"
#include "op_interface/op_attr.h"
#include "pith_prune.h"

static struct pith_model *one_layer(uint32_t rows, uint32_t cols, const float *w)
{
    struct pith_model *m = gemm_model((uint32_t[]){cols, rows}, 1);
    if (w)
        memcpy(data_of_layer(m, 0), w, rows * cols * sizeof *w);
    return m;
}

static void expect_mask(struct pith_model *m, uint32_t k, const char *want)
{
    const struct pith_const *c = weight_of_layer(m, k);
    for (uint64_t i = 0; i < c->count; i++) {
        int kept = c->mask ? c->mask[i] : 1;
        if (kept != (want[i] == '1'))
            fail_msg("element %d: kept %d, expected %c", (int)i, kept, want[i]);
        if (!kept)
            assert_true(data_of_layer(m, k)[i] == 0);
    }
}

static void prune_text(struct pith_model *m, const char *pattern, double sparsity)
{
    struct pith_prune_opts o = {.size_bytes = sizeof o, .sparsity = sparsity};
    struct pith_error err = {0};
    assert_int_equal(pith_pattern_parse(pattern, &o.pattern, &err), PITH_OK);
    SUCCEEDS(pith_prune(m, &o, NULL, NULL, &err));
}

static const float ladder[] = {1, -8, 3, 4, -5, 6, 7, -2, 9, 10, 11, 12, 0.5f, 14, 15, 16};

TEST(known_answers)
{
    static const struct {
        const char *pattern;
        double sparsity;
        const char *want; /* of the 4x4 ladder */
    } cases[] = {{"any", 0.5, "0100000011110111"},        {"any", 0.25, "0101111011110111"},
                 {"2:4", 0, "0101011000110011"},          {"1:4", 0, "0100001000010001"},
                 {"1x4", 0.5, "0000000011111111"},        {"2x2", 0.75, "0000000000110011"},
                 {"row", 0.25, "0000111111111111"},       {"channel", 0.5, "0011001100110011"},
                 {"balanced:1/2", 0, "0101011001010101"}, {"any", 0.97, "0000000000000001"},
                 {"balanced:1/3", 0, "0101001100110011"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pith_model *m = one_layer(4, 4, ladder);
        prune_text(m, cases[i].pattern, cases[i].sparsity);
        expect_mask(m, 0, cases[i].want);
        pith_model_free(m);
    }
}

TEST(of_equal_weights_the_first_stay)
{
    static const float w[] = {1, -1, 1, 1, -1, 2};
    struct pith_model *m = one_layer(1, 6, w);
    prune_text(m, "any", 0.5);
    expect_mask(m, 0, "110001");
    pith_model_free(m);
}

TEST(pruned_stays_pruned_and_counts)
{
    struct pith_model *m = one_layer(4, 4, ladder);
    prune_text(m, "any", 0.75);
    expect_mask(m, 0, "0000000000010111");
    prune_text(m, "any", 0.25); /* already beyond */
    expect_mask(m, 0, "0000000000010111");
    data_of_layer(m, 0)[0] = 100; /* a pruned element does not come back whatever it holds */
    prune_text(m, "any", 0.875);
    expect_mask(m, 0, "0000000000000011");
    pith_model_free(m);
}

TEST(nothing_to_prune_leaves_no_mask)
{
    struct pith_model *m = one_layer(4, 4, ladder);
    prune_text(m, "any", 0);
    assert_null(weight_of_layer(m, 0)->mask);
    pith_model_free(m);
}

TEST(sigma_counts_from_the_deviation)
{
    static const float w[] = {-3, -1, 1, 3}; /* sigma = sqrt(5) = 2.236 */
    static const struct {
        double s;
        const char *want;
    } cases[] = {{0.44, "1111"}, {0.45, "1001"}, {1.3, "1001"}, {1.35, "0000"}};
    for (size_t i = 0; i < 4; i++) {
        struct pith_model *m = one_layer(1, 4, w);
        struct pith_prune_opts o = {
            .size_bytes = sizeof o, .by = PITH_PRUNE_BY_SIGMA, .sigma = cases[i].s};
        assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
        expect_mask(m, 0, cases[i].want);
        pith_model_free(m);
    }
}

/* A magnitude equal to the threshold stays: sigma of these is 1, exactly. And the mean counts: of 1
 * and 3 sigma is 1, not the root of 5. */
TEST(what_equals_the_threshold_stays)
{
    static const float ones[] = {1, -1, -1, 1}, apart[] = {1, 3, 3, 1};
    struct pith_prune_opts o = {.size_bytes = sizeof o, .by = PITH_PRUNE_BY_SIGMA, .sigma = 1};
    struct pith_model *m = one_layer(1, 4, ones);
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "1111");
    o.sigma = 1 + 1e-6;
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "0000");
    pith_model_free(m);
    m = one_layer(1, 4, apart);
    o.sigma = 2;
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "0110");
    pith_model_free(m);
    m = one_layer(1, 4, apart);
    o.sigma = 1e6; /* the most that is allowed */
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "0000");
    pith_model_free(m);
}

/* A block counts by the root of its mean square, not of its sum: 1, -1 scores 1, below 1.2 times
 * the sigma of 1. By the sum of its weights, it would score 0, and the block 2, 0 less
 * than 1.5, 1.5. */
TEST(blocks_by_root_mean_square)
{
    static const float w[] = {1, -1, 1, -1, 1, -1, 1, -1}, sizes[] = {2, -2, 1.5f, 1.5f};
    struct pith_prune_opts o = {.size_bytes = sizeof o, .by = PITH_PRUNE_BY_SIGMA, .sigma = 1.2};
    struct pith_model *m = one_layer(2, 4, w);
    assert_int_equal(pith_pattern_parse("1x2", &o.pattern, NULL), PITH_OK);
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "00000000");
    pith_model_free(m);
    m = one_layer(1, 4, sizes);
    prune_text(m, "1x2", 0.5);
    expect_mask(m, 0, "1100");
    pith_model_free(m);
    static const float unlike[] = {3, 0, 2, 2}; /* 9 to 8; by magnitudes 3 to 4 */
    m = one_layer(1, 4, unlike);
    prune_text(m, "1x2", 0.5);
    expect_mask(m, 0, "1100");
    pith_model_free(m);
}

/* A score that f32 rounds to 0 is not that of zeros. */
TEST(least_block_is_not_zero)
{
    static const float w[] = {0, 1e-45f, 0, 0, 0, 0, -0.0f, 0};
    struct pith_prune_opts o = {.size_bytes = sizeof o, .by = PITH_PRUNE_BY_ZERO};
    struct pith_model *m = one_layer(2, 4, w);
    assert_int_equal(pith_pattern_parse("1x4", &o.pattern, NULL), PITH_OK);
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "11110000");
    pith_model_free(m);
}

/* The last window is shorter: three of four are 1.5 of two, rounded up; and four of four are all.
 */
TEST(windows_at_the_end)
{
    static const float w[] = {1, 2, 3, 4, 5, 6};
    struct pith_model *m = one_layer(1, 6, w);
    prune_text(m, "balanced:4/4", 0);
    expect_mask(m, 0, "111111");
    prune_text(m, "balanced:3/4", 0);
    expect_mask(m, 0, "011111");
    pith_model_free(m);
    m = one_layer(1, 6, w);
    prune_text(m, "balanced:1/4", 0);
    expect_mask(m, 0, "000101");
    pith_model_free(m);
}

TEST(zeros_become_support)
{
    static const float w[] = {0, 1e-45f, -0.0f, 3, 0, 0, -1, 2};
    struct pith_model *m = one_layer(2, 4, w);
    struct pith_prune_opts o = {.size_bytes = sizeof o, .by = PITH_PRUNE_BY_ZERO};
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "01010011");
    pith_model_free(m);
}

TEST(global_scope_shares_one_threshold)
{
    static const float small[] = {1, 2, 3, 4}, large[] = {5, 6, 0.5f, 8};
    struct pith_model *m = gemm_model((uint32_t[]){2, 2, 2, 2}, 3);
    memcpy(data_of_layer(m, 0), small, sizeof small);
    memcpy(data_of_layer(m, 1), large, sizeof large);
    memcpy(data_of_layer(m, 2), small, sizeof small);
    struct pith_prune_amount own = {"fc3", 0.25};
    struct pith_prune_opts o = {.size_bytes = sizeof o,
                                .scope = PITH_PRUNE_GLOBAL,
                                .sparsity = 0.5,
                                .layers = &own,
                                .n_layers = 1};
    struct pith_prune_layer report[6];
    uint32_t n;
    assert_int_equal(pith_prune(m, &o, report, &n, NULL), PITH_OK);
    expect_mask(m, 0, "0001");
    expect_mask(m, 1, "1101");
    expect_mask(m, 2, "0111");
    assert_int_equal(n, 3);
    assert_int_equal(report[0].kept, 1);
    assert_int_equal(report[1].kept, 3);
    assert_int_equal(report[1].kept_before, 4);
    assert_string_equal(report[2].layer, "fc3");
    assert_string_equal(report[2].tensor, "fc3.w");
    pith_model_free(m);
}

TEST(later_amounts_win)
{
    struct pith_model *m = gemm_model((uint32_t[]){4, 4, 4}, 2);
    memcpy(data_of_layer(m, 0), ladder, sizeof ladder);
    memcpy(data_of_layer(m, 1), ladder, sizeof ladder);
    struct pith_prune_amount own[] = {{"fc*", 0.5}, {"re:fc2[.]w", 0}, {"*1", 0.75}};
    struct pith_prune_opts o = {
        .size_bytes = sizeof o, .sparsity = 0.1, .layers = own, .n_layers = 3};
    assert_int_equal(pith_prune(m, &o, NULL, NULL, NULL), PITH_OK);
    expect_mask(m, 0, "0000000000010111");
    assert_null(weight_of_layer(m, 1)->mask);
    pith_model_free(m);
}

/* Whatever the sizes: exactly k stay, and nothing pruned is larger than anything kept. */
TEST(random_layers_keep_the_largest)
{
    struct test_random r = test_seed(20261);
    for (int round = 0; round < 60; round++) {
        uint32_t rows = 1 + test_below(&r, 40), cols = 1 + test_below(&r, 60), n = rows * cols;
        double sparsity = test_below(&r, 1000) / 1000.0;
        struct pith_model *m = one_layer(rows, cols, NULL);
        fill_gauss(m, 0, &r);
        for (uint32_t i = 0; i < n; i += 3) /* many ties */
            data_of_layer(m, 0)[i] = roundf(data_of_layer(m, 0)[i]);
        float *before = malloc(n * sizeof *before);
        memcpy(before, data_of_layer(m, 0), n * sizeof *before);
        prune_text(m, "any", sparsity);
        uint32_t gone = (uint32_t)(sparsity * n + 0.5), kept = 0;
        float least_kept = INFINITY, most_gone = 0;
        const uint8_t *mask = weight_of_layer(m, 0)->mask;
        for (uint32_t i = 0; i < n; i++) {
            bool stays = !mask || mask[i];
            kept += stays;
            float a = fabsf(before[i]);
            if (stays && a < least_kept)
                least_kept = a;
            if (!stays && a > most_gone)
                most_gone = a;
        }
        assert_int_equal(kept, gone >= n ? 1 : n - gone);
        assert_true(most_gone <= least_kept);
        free(before);
        pith_model_free(m);
    }
}

TEST(balanced_keeps_k_of_every_window)
{
    struct test_random r = test_seed(20262);
    struct pith_model *m = one_layer(7, 300, NULL);
    fill_gauss(m, 0, &r);
    prune_text(m, "balanced:12/128", 0);
    const uint8_t *mask = weight_of_layer(m, 0)->mask;
    static const uint32_t from[] = {0, 128, 256, 300}, want[] = {12, 12, 4}; /* 44 * 12/128 = 4.1 */
    for (uint32_t row = 0; row < 7; row++) {
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t kept = 0;
            for (uint32_t c = from[k]; c < from[k + 1]; c++)
                kept += mask[row * 300 + c];
            assert_int_equal(kept, want[k]);
        }
    }
    pith_model_free(m);
}

TEST(codebook_stays_and_masked_indices_go)
{
    static const float w[] = {1, 2, 1, 2};
    struct pith_model *m = one_layer(1, 4, w);
    static float centroid[] = {1, 2};
    static uint8_t index[] = {0, 1, 0, 1};
    struct pith_codebook cb = {2, 4, 1, centroid, index};
    weight_of_layer(m, 0)->codebook = &cb;
    prune_text(m, "any", 0.75);
    expect_mask(m, 0, "0100");
    static const uint8_t want[] = {0, 1, 0, 0};
    assert_memory_equal(index, want, 4);
    assert_true(centroid[0] == 1 && centroid[1] == 2);
    pith_model_free(m);
}

static void expect_refusal(struct pith_model *m, const struct pith_prune_opts *o,
                           enum pith_status status, const char *text)
{
    struct pith_error err = {0};
    uint64_t n = weight_of_layer(m, 0)->count;
    float before[64];
    memcpy(before, data_of_layer(m, 0), n * sizeof *before);
    assert_int_equal(pith_prune(m, o, NULL, NULL, &err), status);
    assert_string_equal(err.text, text);
    assert_null(weight_of_layer(m, 0)->mask);
    assert_memory_equal(data_of_layer(m, 0), before, n * sizeof *before);
}

TEST(refusals_name_layer_and_numbers)
{
    struct pith_model *m = gemm_model((uint32_t[]){6, 5}, 1);
    for (int i = 0; i < 30; i++)
        data_of_layer(m, 0)[i] = (float)i;
    struct pith_prune_opts o = {.size_bytes = sizeof o, .sparsity = 0.5};
    o.pattern = (struct pith_pattern){PITH_PATTERN_BLOCK, 1, 4};
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot prune 'fc1': block 4 does not divide 6 columns");
    o.pattern = (struct pith_pattern){PITH_PATTERN_BLOCK, 2, 2};
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune 'fc1': block 2 does not divide 5 rows");
    o.pattern = (struct pith_pattern){PITH_PATTERN_N_OF_M, 2, 4};
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot prune 'fc1': group 4 does not divide 6 columns");
    static const struct pith_pattern out_of_range[] = {
        {PITH_PATTERN_N_OF_M, 0, 2}, {PITH_PATTERN_N_OF_M, 1, 4097}, {PITH_PATTERN_BALANCED, 0, 3},
        {PITH_PATTERN_BLOCK, 0, 2},  {PITH_PATTERN_BLOCK, 1, 0},     {PITH_PATTERN_BLOCK, 4097, 1}};
    for (size_t i = 0; i < sizeof out_of_range / sizeof *out_of_range; i++) {
        o.pattern = out_of_range[i];
        expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune: pattern numbers must be 1 to 4096");
    }
    o.pattern = (struct pith_pattern){PITH_PATTERN_N_OF_M, 2, 4};
    o.sparsity = 0.9;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot prune: the pattern fixes the sparsity at 0.5, got 0.9");
    o = (struct pith_prune_opts){.size_bytes = sizeof o, .sparsity = 1};
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune: sparsity 1 is not between 0 and 1");
    o.sparsity = NAN;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune: sparsity nan is not between 0 and 1");
    o.sparsity = 0.5;
    struct pith_prune_amount own = {"conv*", 0.5};
    o.layers = &own;
    o.n_layers = 1;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune: no layer matches 'conv*'");
    own.value = 2;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT,
                   "cannot prune: sparsity 2 for conv* is not between 0 and 1");
    o.n_layers = 0;
    data_of_layer(m, 0)[7] = INFINITY;
    expect_refusal(m, &o, PITH_ERR_UNSUPPORTED,
                   "cannot prune 'fc1': element 7 of 'fc1.w' is infinite");
    data_of_layer(m, 0)[7] = NAN;
    expect_refusal(m, &o, PITH_ERR_UNSUPPORTED, "cannot prune 'fc1': element 7 of 'fc1.w' is NaN");
    o.size_bytes = 4;
    expect_refusal(m, &o, PITH_ERR_ARGUMENT, "cannot prune: option struct of another version");
    pith_model_free(m);
}

/* fc1 is [4, 6], fc2 [3, 4]: only the second has rows of 4. */
TEST(layers_that_the_pattern_does_not_divide_are_left)
{
    struct pith_model *m = gemm_model((uint32_t[]){6, 4, 3}, 2);
    struct pith_prune_layer layers[2];
    struct pith_prune_opts o = {.size_bytes = sizeof o, .pattern = {PITH_PATTERN_N_OF_M, 2, 4}};
    struct pith_error err = {0};
    for (int i = 0; i < 24; i++)
        data_of_layer(m, 0)[i] = (float)(i + 1);
    for (int i = 0; i < 12; i++)
        data_of_layer(m, 1)[i] = (float)(i + 1);
    data_of_layer(m, 0)[3] = NAN; /* nor looked at */
    assert_int_equal(pith_prune(m, &o, layers, NULL, &err), PITH_OK);
    assert_null(weight_of_layer(m, 0)->mask);
    assert_int_equal(layers[0].kept, 24);
    assert_int_equal(layers[0].left, PITH_PRUNE_LEFT_PATTERN);
    expect_mask(m, 1, "001100110011");
    assert_int_equal(layers[1].left, PITH_PRUNE_TAKEN);
    pith_model_free(m);
}

/* Two filters of two channels of 2x2: a channel is all four elements of both,
 * the small ones, too. */
TEST(channels_of_kernels)
{
    static const float w[] = {9, 9, 1, 1, 3, 3, 3, 3, 9, 9, 1, 1, 3, 3, 3, 3};
    int32_t attr[32] = {0};
    struct pith_model *m = one_layer(2, 8, w);
    struct pith_weight_ref ref;
    pith_model_weights(m, &ref);
    struct pith_value *v = &m->values[ref.value];
    attr[ATTR_CONV_GROUP] = 1;
    m->nodes[ref.node].op = PITH_OP_CONV;
    m->nodes[ref.node].attr = attr;
    v->rank = 4;
    memcpy(v->dim, (uint32_t[]){2, 2, 2, 2}, 4 * sizeof *v->dim);
    prune_text(m, "channel", 0.5);
    expect_mask(m, 0, "1111000011110000");
    pith_model_free(m);
}

/* fc1 becomes a convolution of 4 channels, each with a filter of 3x3 of its own. */
static struct pith_model *depthwise_then_gemm(int32_t *attr)
{
    struct pith_model *m = gemm_model((uint32_t[]){9, 4, 5}, 2);
    struct pith_weight_ref refs[2];
    pith_model_weights(m, refs);
    struct pith_value *w = &m->values[refs[0].value];
    attr[ATTR_CONV_GROUP] = 4;
    m->nodes[refs[0].node].op = PITH_OP_CONV;
    m->nodes[refs[0].node].attr = attr;
    w->rank = 4;
    memcpy(w->dim, (uint32_t[]){4, 1, 3, 3}, 4 * sizeof *w->dim);
    for (int i = 0; i < 36; i++)
        data_of_layer(m, 0)[i] = i % 3 ? (float)(i + 1) : 0;
    for (int i = 0; i < 20; i++)
        data_of_layer(m, 1)[i] = (float)(i + 1);
    return m;
}

TEST(depthwise_layers_are_left_unless_named)
{
    const struct {
        struct pith_prune_opts o;
        uint64_t kept[2];
        enum pith_prune_left left;
    } cases[] = {
        {{.sparsity = 0.5}, {36, 10}, PITH_PRUNE_LEFT_DEPTHWISE},
        {{.sparsity = 0.5, .scope = PITH_PRUNE_GLOBAL}, {36, 10}, PITH_PRUNE_LEFT_DEPTHWISE},
        {{.sparsity = 0.5, .layers = &(struct pith_prune_amount){"fc1", 0.25}, .n_layers = 1},
         {27, 10},
         PITH_PRUNE_TAKEN},
        {{.sparsity = 0.5, .layers = &(struct pith_prune_amount){"*", 0.25}, .n_layers = 1},
         {27, 15},
         PITH_PRUNE_TAKEN},
        {{.by = PITH_PRUNE_BY_ZERO}, {24, 20}, PITH_PRUNE_TAKEN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t attr[32] = {0};
        struct pith_model *m = depthwise_then_gemm(attr);
        struct pith_prune_opts o = cases[i].o;
        struct pith_prune_layer layers[2];
        struct pith_error err = {0};
        o.size_bytes = sizeof o;
        assert_int_equal(pith_prune(m, &o, layers, NULL, &err), PITH_OK);
        assert_int_equal(layers[0].kept, cases[i].kept[0]);
        assert_int_equal(layers[1].kept, cases[i].kept[1]);
        assert_int_equal(layers[0].left, cases[i].left);
        pith_model_free(m);
    }
}

/* Each option at its ends, and one step beyond them. */
TEST(options_have_ends)
{
    static const struct pith_prune_amount zero = {"*", 0}, half = {"*", 0.5}, below = {"fc1", -1};
    static const struct {
        struct pith_prune_opts o;
        const char *text; /* NULL: it is allowed */
    } cases[] = {
        {{.sparsity = 0}, NULL},
        {{.sparsity = 0.999}, NULL},
        {{.sparsity = -0.001}, "sparsity -0.001 is not between 0 and 1"},
        {{.by = PITH_PRUNE_BY_SIGMA, .sigma = 0}, NULL},
        {{.by = PITH_PRUNE_BY_SIGMA, .sigma = 1e6}, NULL},
        {{.by = PITH_PRUNE_BY_SIGMA, .sigma = 1.1e6}, "sigma 1.1e+06 is not between 0 and 1e6"},
        {{.by = PITH_PRUNE_BY_SIGMA, .sigma = -0.5}, "sigma -0.5 is not between 0 and 1e6"},
        {{.by = PITH_PRUNE_BY_SIGMA, .sigma = 1, .sparsity = 7}, NULL}, /* is not read */
        {{.by = PITH_PRUNE_BY_SIGMA, .layers = &below, .n_layers = 1},
         "sigma -1 for fc1 is not between 0 and 1e6"},
        {{.by = PITH_PRUNE_BY_ZERO}, NULL},
        {{.by = PITH_PRUNE_BY_ZERO, .layers = &zero, .n_layers = 1}, NULL},
        {{.by = PITH_PRUNE_BY_ZERO, .sparsity = 0.5},
         "pruning what is zero takes no amount but 0, got 0.5"},
        {{.by = PITH_PRUNE_BY_ZERO, .layers = &half, .n_layers = 1},
         "pruning what is zero takes no amount but 0, got 0.5 for *"},
        {{.by = PITH_PRUNE_BY_ZERO + 1}, "unknown option value"},
        {{.scope = PITH_PRUNE_GLOBAL + 1}, "unknown option value"},
        {{.pattern = {PITH_PATTERN_CHANNEL + 1, 1, 1}}, "unknown option value"},
        {{.by = PITH_PRUNE_BY_SIGMA, .scope = PITH_PRUNE_GLOBAL}, "global scope needs a sparsity"},
        {{.by = PITH_PRUNE_BY_ZERO, .scope = PITH_PRUNE_GLOBAL}, "global scope needs a sparsity"},
        {{.pattern = {PITH_PATTERN_N_OF_M, 4, 4}}, NULL},
        {{.pattern = {PITH_PATTERN_N_OF_M, 5, 4}}, "pattern keeps more than it has"},
        {{.pattern = {PITH_PATTERN_BALANCED, 4096, 4096}}, NULL},
        {{.pattern = {PITH_PATTERN_BALANCED, 3, 2}}, "pattern keeps more than it has"},
        {{.pattern = {PITH_PATTERN_BLOCK, 4, 4}}, NULL}, /* nothing is fixed, and nothing goes */
        {{.pattern = {PITH_PATTERN_ROW, 0, 5000}}, NULL},
        {{.pattern = {PITH_PATTERN_BLOCK, 1, 4097}}, "pattern numbers must be 1 to 4096"},
        {{.pattern = {PITH_PATTERN_N_OF_M, 2, 4}, .by = PITH_PRUNE_BY_SIGMA},
         "N:M and balanced patterns fix the sparsity; sigma and zeros do not go with them"},
        {{.pattern = {PITH_PATTERN_BALANCED, 2, 4}, .by = PITH_PRUNE_BY_ZERO},
         "N:M and balanced patterns fix the sparsity; sigma and zeros do not go with them"},
        {{.pattern = {PITH_PATTERN_N_OF_M, 2, 4}, .scope = PITH_PRUNE_GLOBAL},
         "N:M and balanced patterns fix the sparsity of each layer; there is no global scope"},
        {{.pattern = {PITH_PATTERN_N_OF_M, 2, 4}, .sparsity = 0.5}, NULL},
        {{.pattern = {PITH_PATTERN_N_OF_M, 2, 4}, .layers = &half, .n_layers = 1}, NULL},
        {{.pattern = {PITH_PATTERN_BALANCED, 1, 4}, .layers = &half, .n_layers = 1},
         "the pattern fixes the sparsity at 0.75, got 0.5 for *"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_model *m = one_layer(4, 4, ladder);
        struct pith_prune_opts o = cases[i].o;
        struct pith_error err = {0};
        uint32_t n_layers = 77;
        char text[256];
        o.size_bytes = sizeof o;
        const enum pith_status st = pith_prune(m, &o, NULL, &n_layers, &err);
        snprintf(text, sizeof text, "cannot prune: %s", cases[i].text ? cases[i].text : "");
        if (st != (cases[i].text ? PITH_ERR_ARGUMENT : PITH_OK) ||
            (cases[i].text && strcmp(err.text, text) != 0))
            fail_msg("case %zu: status %d '%s'", i, (int)st, err.text);
        assert_int_equal(n_layers, cases[i].text ? 77 : 1);
        pith_model_free(m);
    }
}

/* What would be left: a depthwise layer, what patterns do not divide. */
TEST(layers_that_would_be_left)
{
    int32_t attr[32] = {0};
    struct pith_model *m = depthwise_then_gemm(attr);
    struct pith_weight_ref refs[2];
    struct pith_error err = {0};
    const struct pith_pattern any = {PITH_PATTERN_ANY, 0, 0}, pairs = {PITH_PATTERN_N_OF_M, 1, 2},
                              threes = {PITH_PATTERN_N_OF_M, 1, 3};
    assert_int_equal(pith_model_weights(m, refs), 2);
    assert_int_equal(pith_prune_leaves(m, &refs[0], &any, &err), PITH_PRUNE_LEFT_DEPTHWISE);
    assert_int_equal(pith_prune_leaves(m, &refs[1], &any, &err), PITH_PRUNE_TAKEN);
    assert_int_equal(pith_prune_leaves(m, &refs[1], &pairs, &err), PITH_PRUNE_TAKEN);
    assert_int_equal(pith_prune_leaves(m, &refs[1], &threes, &err), PITH_PRUNE_LEFT_PATTERN);
    assert_string_equal(err.text, "cannot prune 'fc2': group 3 does not divide 4 columns");
    assert_int_equal(pith_prune_leaves(NULL, &refs[1], &any, &err), PITH_PRUNE_LEFT_PATTERN);
    assert_int_equal(pith_prune_leaves(m, NULL, &any, &err), PITH_PRUNE_LEFT_PATTERN);
    assert_int_equal(pith_prune_leaves(m, &refs[1], NULL, &err), PITH_PRUNE_LEFT_PATTERN);
    pith_model_free(m);
}

RUN_TESTS
