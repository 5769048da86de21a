/* SPDX-License-Identifier: MIT */
/* test_compare.c - differences between models whose difference is known. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "test_run.h"
#include "small_net.h"

static const float weights[4] = {1, 0, 0, 1};
static const float scaled[4] = {1.5f, 0, 0, 1.5f};

static struct pith_compare_opts three_samples(bool layers)
{
    return (struct pith_compare_opts){
        .size_bytes = sizeof(struct pith_compare_opts), .n_random = 3, .seed = 1, .layers = layers};
}

static struct pith_comparison compare(const struct pith_model *a, const struct pith_model *b,
                                      struct pith_data *data, bool layers)
{
    struct pith_comparison c = {0};
    struct pith_error err = {0};
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    struct pith_compare_opts o = three_samples(layers);
    o.feed = data ? &feed : NULL;
    if (pith_compare(a, b, &o, &c, &err)) {
        print_error("%s\n", err.text);
        fail();
    }
    return c;
}

TEST(a_model_equals_itself)
{
    struct pith_model *m = small_net(2, 2, weights, true);
    struct pith_comparison c = compare(m, m, NULL, true);
    assert_int_equal(c.samples, 3);
    assert_int_equal(c.agree, 3);
    assert_true(c.output.equal_bits && isinf(c.output.snr_db) && c.output.max_abs == 0);
    assert_int_equal(c.n_layers, 2);
    assert_string_equal(c.layers[0].layer, "fc");
    assert_string_equal(c.layers[1].layer, "act");
    assert_true(c.layers[0].equal_bits && c.layers[0].elements == 6);
    pith_comparison_free(&c);
    pith_model_free(m);
}

/* b = 1.5 a: the error is half of a, 6.02 dB below it, in the same direction. */
TEST(a_known_difference_is_measured)
{
    const float x[2][2] = {{1, -2}, {3, 0.5f}};
    struct pith_model *a = small_net(2, 2, weights, false), *b = small_net(2, 2, scaled, false);
    struct pith_data *data = rows_of(x[0], 2, 2, NULL);
    struct pith_comparison c = compare(a, b, data, true);
    assert_int_equal(c.samples, 2);
    assert_int_equal(c.agree, 2);
    assert_true(fabs(c.output.snr_db - 10 * log10(4)) < 1e-9);
    assert_true(fabs(c.output.cosine - 1) < 1e-12);
    assert_true(c.output.max_abs == 1.5);
    assert_true(c.output.range == 5);
    assert_false(c.output.equal_bits);
    assert_int_equal(c.n_layers, 1);
    assert_true(c.layers[0].snr_db == c.output.snr_db);
    pith_comparison_free(&c);
    pith_data_free(data);
    pith_model_free(a);
    pith_model_free(b);
}

/* Only layers that both have under one name are compared, wherever they stand. */
/* Logits (0, ln 3) against (0, 0): probabilities 1/4, 3/4 against halves, so KL(A || B) is
 * 1/4 ln(1/2) + 3/4 ln(3/2), of one sample; equal answers on the other add 0 to the mean. */
TEST(classes_have_a_divergence)
{
    const float wide[6] = {0, 0, 0, 0, 1.0986123f, 0}, flat[6] = {0};
    const float x[2][3] = {{0, 1, 0}, {1, 0, 1}};
    struct pith_model *a = small_net(3, 2, wide, false), *b = small_net(3, 2, flat, false);
    struct pith_data *data = rows_of(x[0], 2, 3, NULL);
    struct pith_comparison c = compare(a, b, data, false);
    const double kl = 0.25 * log(0.5) + 0.75 * log(1.5);
    assert_true(c.classes);
    assert_true(fabs(c.kl - kl / 2) < 1e-6);
    assert_true(fabs(c.kl_se - kl / 2) < 1e-6); /* sqrt(mean of squares - square of mean) */
    pith_comparison_free(&c);
    pith_data_free(data);
    pith_model_free(a);
    pith_model_free(b);
}

/* Each also gives its input: B's outputs are in the other order, and its "y" is 1.5 times A's. */
TEST(all_outputs_are_compared_by_name)
{
    struct pith_model *a = small_net(2, 2, weights, false), *b = small_net(2, 2, scaled, false);
    const uint32_t y = a->outputs[0];
    a->outputs[0] = a->inputs[0];
    a->outputs[a->n_outputs++] = y;
    b->outputs[b->n_outputs++] = b->inputs[0];
    struct pith_comparison c = compare(a, b, NULL, false);
    assert_int_equal(c.n_outputs, 2);
    assert_true(c.outputs[0].equal_bits && !c.outputs[1].equal_bits);
    assert_string_equal(c.outputs[1].layer, a->values[y].name);
    assert_int_equal(c.worst, 1);
    assert_true(fabs(c.output.snr_db - 10 * log10(4)) < 1e-4);
    pith_comparison_free(&c);
    struct pith_error err = {0};
    const struct pith_compare_opts o = three_samples(false);
    b->n_outputs = 1;
    assert_int_equal(pith_compare(a, b, &o, &c, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "2 and 1 outputs"));
    b->values[b->inputs[0]].name = pith_model_strdup(b, "z");
    b->n_outputs = 2;
    assert_int_equal(pith_compare(a, b, &o, &c, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "the second model has no output 'x'"));
    pith_model_free(a);
    pith_model_free(b);
}

TEST(layers_are_matched_by_name)
{
    struct pith_model *a = small_net(2, 2, weights, true), *b = small_net(2, 2, weights, false);
    struct pith_comparison c = compare(a, b, NULL, true);
    assert_int_equal(c.n_layers, 1);
    assert_string_equal(c.layers[0].layer, "fc");
    assert_true(c.layers[0].equal_bits);
    pith_comparison_free(&c);
    pith_model_free(a);
    pith_model_free(b);
}

TEST(other_sizes_are_refused)
{
    struct pith_model *a = identity_net(2), *b = identity_net(3);
    struct pith_model *wide = small_net(2, 1, weights, false);
    struct pith_comparison c = {.samples = 77};
    struct pith_error err = {0};
    const struct pith_compare_opts o = three_samples(false);
    assert_int_equal(pith_compare(a, b, &o, &c, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "the models take inputs of different size");
    assert_int_equal(pith_compare(a, wide, &o, &c, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text,
                        "output 'fc.out' has 2 numbers in the first model, 1 in the second");
    wide->outputs[wide->n_outputs++] = wide->inputs[0];
    assert_int_equal(pith_compare(a, wide, &o, &c, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "the models have 1 and 2 outputs (import --outputs cuts others)");
    assert_int_equal(c.samples, 77);
    pith_model_free(a);
    pith_model_free(b);
    pith_model_free(wide);
}

static bool never(void *user, uint64_t done)
{
    (void)user;
    (void)done;
    return false;
}

TEST(stops_when_the_watch_says_so)
{
    struct pith_model *m = identity_net(2);
    struct pith_comparison c;
    struct pith_error err = {0};
    struct pith_watch watch = {never, NULL};
    struct pith_compare_opts o = three_samples(true);
    o.watch = &watch;
    assert_int_equal(pith_compare(m, m, &o, &c, &err), PITH_ERR_ARGUMENT);
    pith_model_free(m);
}

/* The figures do not depend on threads. */
TEST(threads_change_nothing)
{
    struct pith_model *a = sample_lenet5(3), *b = sample_lenet5(3);
    struct pith_comparison one, three;
    struct pith_error err = {0};
    struct pith_engine_opts opts = {.size_bytes = sizeof opts, .threads = 3};
    assert_int_equal(pith_model_infer_shapes(a, &err), PITH_OK);
    assert_int_equal(pith_model_infer_shapes(b, &err), PITH_OK);
    sample_compress(b, 0.5, 16);
    one = compare(a, b, NULL, true);
    struct pith_compare_opts o = three_samples(true);
    o.engine = &opts;
    assert_int_equal(pith_compare(a, b, &o, &three, &err), PITH_OK);
    assert_int_equal(one.n_layers, three.n_layers);
    assert_true(one.n_layers >= 8);
    for (uint32_t i = 0; i < one.n_layers; i++)
        assert_true(one.layers[i].snr_db == three.layers[i].snr_db);
    pith_comparison_free(&one);
    pith_comparison_free(&three);
    pith_model_free(a);
    pith_model_free(b);
}

RUN_TESTS
