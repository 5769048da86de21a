/* SPDX-License-Identifier: MIT */
/* test_stage.c - one stage at a time: what it leaves in the model, in its report and in the
 * history. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_compress.h"
#include "pith_pack.h"
#include "measure/small_net.h"

static const float weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};

static const struct pith_const *weight_of(const struct pith_model *m)
{
    struct pith_weight_ref refs[16];
    assert_in_range(m->n_nodes, 1, 16);
    assert_int_equal(pith_model_weights(m, refs), 1);
    return m->values[refs[0].value].constant;
}

static void run(struct pith_model *m, const struct pith_stage *s, uint64_t seed,
                struct pith_stage_report *report)
{
    struct pith_error err = {0};
    if (pith_stage_run(m, s, seed, report, &err)) {
        print_error("%s\n", err.text);
        fail();
    }
}

TEST(prune_keeps_the_largest_half)
{
    const uint8_t kept[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct pith_model *m = small_net(4, 2, weights, false);
    struct pith_stage s;
    struct pith_stage_report r = {0};
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    s.prune.sparsity = 0.5;
    run(m, &s, 1, &r);
    assert_memory_equal(weight_of(m)->mask, kept, sizeof kept);
    assert_int_equal(r.weights, 8);
    assert_int_equal(r.kept, 4);
    assert_int_equal(r.n_layers, 1);
    assert_string_equal(r.prune[0].layer, "fc");
    assert_null(r.cluster);
    assert_int_equal(m->n_history, 1);
    assert_string_equal(m->history[0].key, "prune");
    assert_string_equal(
        m->history[0].text,
        "{\"do\":\"prune\",\"sparsity\":0.5,\"pattern\":\"any\",\"scope\":\"layer\","
        "\"result\":{\"weights\":8,\"kept\":4}}");
    pith_stage_report_free(&r);
    pith_model_free(m);
}

TEST(cluster_and_encode_attach_their_answers)
{
    struct pith_model *m = small_net(4, 2, weights, false);
    struct pith_stage s;
    struct pith_stage_report r = {0};
    pith_stage_init(&s, PITH_STAGE_CLUSTER);
    s.cluster.n_centroids = 4;
    run(m, &s, 1, &r);
    assert_non_null(weight_of(m)->codebook);
    assert_int_equal(weight_of(m)->codebook->n_centroids, 4);
    assert_int_equal(r.n_layers, 1);
    assert_int_equal(r.cluster[0].n_weights, 8);
    assert_true(r.snr_db > 10 && r.snr_db < 60);
    assert_true(fabs(r.snr_db - r.cluster[0].snr_db) < 1e-9);
    pith_stage_report_free(&r);
    pith_stage_init(&s, PITH_STAGE_ENCODE);
    run(m, &s, 1, NULL);
    assert_int_equal(weight_of(m)->code, PITH_CODE_HUFFMAN);
    s.encode.plain = true;
    run(m, &s, 1, NULL);
    assert_int_equal(weight_of(m)->code, PITH_CODE_PLAIN);
    assert_int_equal(m->n_history, 3);
    assert_non_null(strstr(m->history[2].text, "\"coder\":\"none\""));
    pith_model_free(m);
}

/* A layer of n x n weights of 16 levels, drawn, those in the middle more often; of each row the
 * part that is kept; with `narrow` every so many rows have the four middle levels alone. */
static struct pith_model *drawn_net(uint32_t n, uint32_t kept_percent, uint32_t narrow)
{
    struct sample_random r = sample_random_of(2026);
    float *w = calloc((size_t)n * n, sizeof *w);
    assert_non_null(w);
    for (uint32_t i = 0; i < n * n; i++)
        if (i % n * 100 < kept_percent * n)
            w[i] = narrow && i / n % narrow == 0
                       ? (float)sample_below(&r, 4) - 1.5f
                       : (float)(sample_below(&r, 8) + sample_below(&r, 9)) - 7.5f;
    struct pith_model *m = small_net(n, n, w, false);
    free(w);
    return m;
}

static enum pith_code code_after(struct pith_model *m, struct pith_encode_opts encode,
                                 const char *expected)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_ENCODE);
    s.encode = encode;
    run(m, &s, 1, NULL);
    if (!strstr(m->history[m->n_history - 1].text, expected))
        fail_msg("%s is not in %s", expected, m->history[m->n_history - 1].text);
    return weight_of(m)->code;
}

/* Where no coder is named: for size adaptive streams where they cost little time or bring bytes,
 * else rANS; for speed rANS where there is much to decode. */
TEST(adaptive_streams_must_pay)
{
    static const struct {
        uint32_t n, kept_percent, narrow;
        enum pith_code code;
        const char *expected;
    } cases[] = {
        {64, 100, 0, PITH_CODE_ADAPTIVE, "\"coder\":\"adaptive\""}, /* loaded in a millisecond */
        /* 8 ms, and nothing to learn from such numbers */
        {512, 100, 0, PITH_CODE_RANS, "\"coder\":\"rans\""},
        /* half of the columns are gone: adaptive streams see that at once */
        {256, 50, 0, PITH_CODE_ADAPTIVE, "\"coder\":\"adaptive\""}};
    const struct pith_encode_opts size = {.goal = PITH_FOR_SIZE},
                                  huffman = {.goal = PITH_FOR_SIZE, .huffman = true},
                                  adaptive = {.goal = PITH_FOR_SIZE, .adaptive = true}, speed = {0},
                                  flash = {.goal = PITH_FOR_FLASH}, rans = {.rans = true};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_model *m = drawn_net(cases[i].n, cases[i].kept_percent, cases[i].narrow);
        struct pith_stage s;
        pith_stage_init(&s, PITH_STAGE_PRUNE);
        s.prune.sparsity = 1 - cases[i].kept_percent / 100.0;
        run(m, &s, 1, NULL);
        pith_stage_init(&s, PITH_STAGE_CLUSTER);
        s.cluster.n_centroids = 16;
        run(m, &s, 1, NULL);
        assert_int_equal(code_after(m, size, cases[i].expected), cases[i].code);
        assert_int_equal(code_after(m, adaptive, "\"coder\":\"adaptive\""), PITH_CODE_ADAPTIVE);
        assert_int_equal(code_after(m, huffman, "\"coder\":\"huffman\""), PITH_CODE_HUFFMAN);
        assert_int_equal(code_after(m, flash, "\"coder\":\"huffman\""), PITH_CODE_HUFFMAN);
        assert_int_equal(code_after(m, rans, "\"coder\":\"rans\""), PITH_CODE_RANS);
        bool large = cases[i].n * cases[i].n >= PITH_RANS_ELEMENTS;
        assert_int_equal(
            code_after(m, speed, large ? "\"coder\":\"rans\"" : "\"coder\":\"huffman\""),
            large ? PITH_CODE_RANS : PITH_CODE_HUFFMAN);
        pith_model_free(m);
    }
}

TEST(a_failing_stage_leaves_no_trace)
{
    struct pith_model *m = small_net(4, 2, weights, false);
    struct pith_stage s;
    struct pith_stage_report r = {.weights = 77};
    struct pith_error err = {0};
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    s.prune.sparsity = 0.5;
    s.prune_layers[0] = (struct pith_prune_amount){"nothere", 0.5};
    s.prune.layers = s.prune_layers;
    s.prune.n_layers = 1;
    assert_int_equal(pith_stage_run(m, &s, 1, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "nothere"));
    assert_int_equal(r.weights, 77);
    assert_int_equal(m->n_history, 0);
    assert_null(weight_of(m)->mask);
    pith_model_free(m);
}

/* conv (1x1, 2 channels) with batch normalisation behind. */
static struct pith_model *normalised_net(void)
{
    struct sample_random r = sample_random_of(4);
    struct pith_model *m = sample_new();
    uint32_t in[5] = {add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, 3, 4, 4})};
    m->inputs[m->n_inputs++] = in[0];
    in[0] = add_layer(m, &r, PITH_OP_CONV, "conv", in[0], 4, (const uint32_t[]){8, 3, 3, 3});
    for (uint32_t i = 1; i < 5; i++) {
        static const char *const names[] = {"", "scale", "shift", "mean", "var"};
        in[i] = add_constant(m, &r, names[i], 1, (const uint32_t[]){8});
        float *v = m->values[in[i]].constant->data;
        for (uint32_t k = 0; k < 8; k++)
            v[k] = fabsf(v[k]) + 0.5f;
    }
    return sample_done(m, add_node(m, PITH_OP_BATCH_NORM, "norm", "y", 5, in)->out[0]);
}

/* One codebook for the layer, also behind encode: folded too late there would be eight. */
TEST(cluster_folds_batch_norm_first)
{
    struct pith_model *m = normalised_net();
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_CLUSTER);
    s.cluster.n_centroids = 16;
    run(m, &s, 1, NULL);
    assert_int_equal(m->n_nodes, 1);
    pith_stage_init(&s, PITH_STAGE_ENCODE);
    run(m, &s, 1, NULL);
    assert_int_equal(weight_of(m)->codebook->n_groups, 1);
    pith_model_free(m);
}

TEST(pack_options_follow_encode)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_ENCODE);
    struct pith_pack_opts o = pith_stage_pack_opts(&s);
    assert_true(!o.compact && !o.keep_history && !o.full);
    s.encode.goal = PITH_FOR_SIZE;
    s.encode.keep_history = true;
    o = pith_stage_pack_opts(&s);
    assert_true(o.compact && o.keep_history);
}

RUN_TESTS
