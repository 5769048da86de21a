/* SPDX-License-Identifier: MIT */
/* test_channel_scales.c - layers that read channels with scales of their own, and joined ones. */
#include <stdint.h>
#include "test_run.h"
#include "network_run.h"
#include "pith_quantize.h"
#include "pith_value_stats.h"

enum { CHANNELS = 6, SIDE = 6, PIXELS = CHANNELS * SIDE * SIDE, SAMPLES = 16 };

/* -1, 0 and 1, which integers hold exactly: what is lost is lost by activations. */
static void simple_weights(struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++) {
        struct pith_const *c = m->values[v].constant;
        for (uint64_t i = 0; c && m->values[v].rank > 1 && i < c->count; i++)
            ((float *)c->data)[i] = (float)((int)(i * 7 % 5 % 3) - 1);
    }
}

/* conv a, relu, conv b; the relu added to what it gives */
static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE}), y;
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    x = add_node(m, PITH_OP_RELU, "ra", "ra.out", 1, &x)->out[0];
    y = add_layer(m, &r, PITH_OP_CONV, "b", x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    x = add_node(m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){x, y})->out[0];
    m->outputs[m->n_outputs++] = x;
    simple_weights(m);
    return sample_shaped(m);
}

/* Mostly small numbers, and every 50th 30 times as large: what 256 steps are too few for. */
static void pixels(struct sample_random *r, float *x)
{
    for (int i = 0; i < PIXELS; i++)
        x[i] = sample_gauss(r) * (i % 50 ? 0.1f : 3.0f);
}

static void observe(struct pith_model *m)
{
    struct sample_random r = sample_random_of(2);
    float x[PIXELS];
    for (int n = 0; n < SAMPLES; n++) {
        pixels(&r, x);
        run_network(m, m, x, PIXELS, NULL);
    }
}

/* A layer that mixes channels has their scales in its weights. */
TEST(channels_may_have_scales)
{
    struct pith_model *m = network();
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    struct pith_quantize_layer layers[2 * PITH_QUANTIZE_PARTS];
    float a[PIXELS], b[PIXELS], x[PIXELS], scale[CHANNELS];
    struct pith_grid grid = {.type = PITH_U8,
                             .bits = 8,
                             .method = PITH_RANGE_MAX,
                             .n = CHANNELS,
                             .axis = 1,
                             .zero_point = 128,
                             .scale = scale};
    struct sample_random r = sample_random_of(4);
    observe(m);
    for (int c = 0; c < CHANNELS; c++)
        scale[c] = 0.1f * (1 + 0.2f * (float)c);
    pixels(&r, x);
    run_network(m, NULL, x, PIXELS, a);
    m->values[m->inputs[0]].grid = &grid;
    assert_int_equal(pith_quantize(m, &o, layers, NULL, &err), PITH_OK);
    assert_null(layers[0].why);
    run_network(m, NULL, x, PIXELS, b);
    double db = snr_db(a, b, PIXELS);
    if (db < 20) /* with the scales of other channels it would be less than 10 */
        fail_msg("%.1f dB", db);
    pith_model_free(m);
}

/* A layer of joined inputs has all its weights, even where a row was pruned away. */
TEST(joined_inputs_are_read_as_one)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    struct pith_quantize_layer layers[3 * PITH_QUANTIZE_PARTS];
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE}), in[2];
    for (int i = 0; i < 2; i++)
        in[i] = add_layer(m, &r, PITH_OP_CONV, i ? "b" : "a", x, 4,
                          (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    struct pith_node *join = add_node(m, PITH_OP_CONCAT, "join", "join.out", 2, in);
    join->attr[ATTR_AXIS] = 1;
    x = add_layer(m, &r, PITH_OP_CONV, "c", join->out[0], 4,
                  (const uint32_t[]){3, 2 * CHANNELS, 1, 1});
    float *w = m->values[m->nodes[m->n_nodes - 1].in[1]].constant->data;
    memset(w, 0, 2 * CHANNELS * sizeof *w);
    sample_done(m, x);
    observe(m);
    assert_int_equal(pith_quantize(m, &o, layers, NULL, &err), PITH_OK);
    assert_int_equal(layers[2].n_weights, 3 * 2 * CHANNELS);
    pith_model_free(m);
}

RUN_TESTS
