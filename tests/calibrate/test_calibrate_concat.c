/* SPDX-License-Identifier: MIT */
/* The result of a Concat is not observed: the statistics of its parts are merged. A Clip without
 * limits behind it gives the same numbers, which are. */
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include "loop_model.h"
#include "pith_calibrate.h"
#include "pith_value_stats.h"

#define WIDE 700 /* more than is counted one by one */

struct joined {
    struct pith_model *m;
    uint32_t x, positive, whole, copy; /* values [1, WIDE], [1, WIDE], [1, 2 WIDE] twice */
};

static uint32_t layer_of(struct pith_model *m, uint32_t x, uint32_t weight)
{
    return loop_node(m, PITH_OP_MATMUL, "layer", 2, (const uint32_t[]){x, weight}, 1)->out[0];
}

/* (x, relu x), which a layer reads, and another one a copy. */
static struct joined joined(void)
{
    static const float infinity = INFINITY;
    struct joined j;
    struct pith_error err = {0};
    assert_int_equal(pith_model_new(NULL, &j.m), PITH_OK);
    struct pith_model *m = j.m;
    m->values = pith_model_alloc(m, 16, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 8, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 2, sizeof *m->outputs);
    j.x = m->inputs[m->n_inputs++] = loop_value(m, "x", 2, (const uint32_t[]){1, WIDE});
    uint32_t w = loop_value(m, "w", 2, (const uint32_t[]){2 * WIDE, 1});
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    float *ones = pith_model_alloc(m, (size_t)2 * WIDE, sizeof *ones);
    for (int i = 0; i < 2 * WIDE; i++)
        ones[i] = 1;
    *c = (struct pith_const){.count = (uint64_t)2 * WIDE, .data = ones};
    m->values[w].constant = c;
    j.positive = loop_node(m, PITH_OP_RELU, "relu", 1, &j.x, 1)->out[0];
    j.whole =
        loop_node(m, PITH_OP_CONCAT, "concat", 2, (const uint32_t[]){j.x, j.positive}, 1)->out[0];
    struct pith_node *clip = loop_node(m, PITH_OP_CLIP, "clip", 1, &j.whole, 1);
    memcpy(&clip->attr[ATTR_CLIP_MAX], &infinity, sizeof infinity);
    clip->attr[ATTR_CLIP_MIN] = clip->attr[ATTR_CLIP_MAX] | INT32_MIN;
    j.copy = clip->out[0];
    m->outputs[m->n_outputs++] = layer_of(m, j.whole, w);
    m->outputs[m->n_outputs++] = layer_of(m, j.copy, w);
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    return j;
}

/* Whole numbers, so that sums are exact in any order. */
static void see(struct pith_model *m, const float *x, uint32_t n)
{
    struct pith_buffer npy = {0};
    struct pith_error err = {0};
    struct pith_data *data = NULL;
    assert_int_equal(pith_npy_write(PITH_F32, 2, (const uint32_t[]){n, WIDE}, x, &npy, &err),
                     PITH_OK);
    struct pith_data_opts d = {.size_bytes = sizeof d,
                               .path = "x.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, WIDE}};
    assert_int_equal(pith_data_open(&d, &data, &err), PITH_OK);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data};
    SUCCEEDS(pith_calibrate(m, &o, NULL, &err));
    pith_data_free(data);
    pith_buffer_free(&npy);
}

static void expect_equal(const struct joined *j)
{
    const struct pith_value *a = &j->m->values[j->whole], *b = &j->m->values[j->copy];
    assert_true(a->min == b->min && a->max == b->max);
    assert_int_equal(a->n_observed, b->n_observed);
    assert_int_equal(!a->stats, !b->stats);
    if (!a->stats)
        return;
    const struct pith_value_stats *s = a->stats, *t = b->stats;
    assert_int_equal(s->n, t->n);
    assert_int_equal(s->n_zero, t->n_zero);
    assert_int_equal(s->n_samples, t->n_samples);
    assert_true(pith_exact_sum_value(&s->sum) == pith_exact_sum_value(&t->sum));
    assert_true(pith_exact_sum_value(&s->sum_squares) == pith_exact_sum_value(&t->sum_squares));
    assert_int_equal(s->histogram.exponent, t->histogram.exponent);
    assert_int_equal(s->histogram.first, t->histogram.first);
    assert_int_equal(s->histogram.n_bins, t->histogram.n_bins);
    assert_memory_equal(s->histogram.count, t->histogram.count,
                        s->histogram.n_bins * sizeof *s->histogram.count);
    assert_int_equal(s->n_channels, 2 * WIDE);
    assert_int_equal(t->n_channels, 2 * WIDE);
    assert_int_equal(s->channel_axis, t->channel_axis);
    for (uint32_t c = 0; c < s->n_channels; c++) {
        assert_true(s->channel[c].min == t->channel[c].min &&
                    s->channel[c].max == t->channel[c].max);
        assert_true(pith_stats_channel_mean(s, c) == pith_stats_channel_mean(t, c));
    }
}

static float *numbers(uint32_t n, int most)
{
    float *x = malloc((size_t)n * WIDE * sizeof *x);
    assert_non_null(x);
    for (uint32_t i = 0; i < n * WIDE; i++)
        x[i] = (float)((int)(i * 7919 % 10007) % (2 * most + 1) - most);
    return x;
}

TEST(test_parts_suffice)
{
    struct joined j = joined();
    for (int most = 3; most < 4000; most *= 31) { /* what comes is larger than what was */
        float *x = numbers(5, most);
        see(j.m, x, 5);
        free(x);
        assert_non_null(j.m->values[j.whole].stats);
        assert_int_equal(j.m->values[j.whole].stats->histogram.n_bins > 0, 1);
        expect_equal(&j);
    }
    pith_model_free(j.m);
}

TEST(test_infinite)
{
    struct joined j = joined();
    float *x = numbers(3, 9);
    for (int k = 0; k < WIDE; k++) /* a mask: other samples with infinities are refused */
        x[WIDE + k] = k == 1 ? -INFINITY : 0;
    see(j.m, x, 3);
    assert_null(j.m->values[j.whole].stats);
    assert_int_equal(j.m->values[j.whole].n_observed, (uint64_t)3 * 2 * WIDE);
    assert_true(isinf(j.m->values[j.whole].min));
    expect_equal(&j);
    free(x);
    pith_model_free(j.m);
}

/* As a file says whose writer did not look at parts by channel: then the whole is looked at. */
TEST(test_parts_without_channels)
{
    struct joined j = joined();
    float *x = numbers(2, 9);
    see(j.m, x, 2);
    assert_int_equal(j.m->values[j.positive].stats->n_channels, WIDE);
    j.m->values[j.x].stats->n_channels = j.m->values[j.positive].stats->n_channels = 0;
    see(j.m, x, 1);
    assert_int_equal(j.m->values[j.positive].stats->n_channels, 0);
    expect_equal(&j);
    free(x);
    pith_model_free(j.m);
}

/* The whole has the statistics of the parts of both models, once. */
TEST(test_merged)
{
    struct joined a = joined(), b = joined();
    struct pith_error err = {0};
    float *x = numbers(5, 30);
    see(a.m, x, 2);
    see(b.m, x + 2 * WIDE, 3);
    assert_int_equal(pith_calibrate_merge(a.m, b.m, &err), PITH_OK);
    assert_int_equal(a.m->values[a.whole].n_observed, (uint64_t)5 * 2 * WIDE);
    assert_non_null(a.m->values[a.whole].stats);
    expect_equal(&a);
    free(x);
    pith_model_free(a.m);
    pith_model_free(b.m);
}

RUN_TESTS
