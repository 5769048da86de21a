/* SPDX-License-Identifier: MIT */
/* test_int16_input.c - layers that read two bytes of each number, and those that read channels with
 * scales of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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

/* conv a, relu, conv b, which is depthwise where asked for; the relu added to what it gives */
static struct pith_model *network(bool depthwise)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE}), y;
    m->inputs[m->n_inputs++] = x;
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    x = add_node(m, PITH_OP_RELU, "ra", "ra.out", 1, &x)->out[0];
    y = add_layer(m, &r, PITH_OP_CONV, "b", x, 4,
                  (const uint32_t[]){CHANNELS, depthwise ? 1 : CHANNELS, 1, 1});
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = depthwise ? CHANNELS : 1;
    x = add_node(m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){x, y})->out[0];
    m->outputs[m->n_outputs++] = x;
    simple_weights(m);
    if (pith_model_infer_shapes(m, &err))
        fail_msg("%s", err.text);
    return m;
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

/* *out: the network of integers */
static double sqnr(const struct pith_quantize_opts *opts, struct pith_quantize_layer *layers,
                   struct pith_model **out)
{
    float a[SAMPLES][PIXELS], b[SAMPLES][PIXELS], x[PIXELS];
    struct sample_random r = sample_random_of(9), again = r;
    struct pith_error err = {0};
    struct pith_model *m = network(false);
    observe(m);
    for (int n = 0; n < SAMPLES; n++) {
        pixels(&r, x);
        run_network(m, NULL, x, PIXELS, a[n]);
    }
    if (pith_quantize(m, opts, layers, NULL, &err))
        fail_msg("%s", err.text);
    for (int n = 0; n < SAMPLES; n++) {
        pixels(&again, x);
        run_network(m, NULL, x, PIXELS, b[n]);
    }
    *out = m;
    return snr_db(a[0], b[0], SAMPLES * PIXELS);
}

static const char *const all[] = {"a", "b"}, *const second[] = {"b"};

static void two_bytes_are_finer_than_one(void **state)
{
    (void)state;
    struct pith_quantize_layer layers[2 * PITH_QUANTIZE_PARTS];
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .weight_bits = 8};
    struct pith_model *m;
    double one = sqnr(&o, layers, &m);
    assert_false(layers[0].int16 || layers[1].int16);
    pith_model_free(m);
    o.int16 = all, o.n_int16 = 2;
    double two = sqnr(&o, layers, &m);
    if (two < one + 6)
        fail_msg("one byte %.1f dB, two %.1f", one, two);
    for (int i = 0; i < 2; i++)
        assert_true(layers[i].int16);
    assert_int_equal(layers[1].n_weights, CHANNELS * CHANNELS);
    assert_int_equal(count_ops(m, PITH_OP_CONV_INTEGER), 2);
    assert_int_equal(m->values[first_op(m, PITH_OP_CONV_INTEGER)->in[1]].dim[1], 2 * CHANNELS);
    pith_model_free(m);
}

static void one_layer_may_be_requested(void **state)
{
    (void)state;
    struct pith_quantize_layer layers[2 * PITH_QUANTIZE_PARTS];
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .int16 = second, .n_int16 = 1};
    struct pith_model *m;
    sqnr(&o, layers, &m);
    assert_true(!layers[0].int16 && layers[1].int16);
    assert_int_equal(count_ops(m, PITH_OP_CONCAT), 1);
    pith_model_free(m);
}

static void refused(struct pith_model *m, const struct pith_quantize_opts *o, const char *text)
{
    struct pith_error err = {0};
    uint32_t nodes = m->n_nodes;
    assert_int_equal(pith_quantize(m, o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    assert_int_equal(m->n_nodes, nodes);
}

static void says_who_cannot(void **state)
{
    (void)state;
    static const char *const none[] = {"nobody"};
    struct pith_model *m = network(true);
    observe(m);
    refused(m,
            &(struct pith_quantize_opts){
                .size_bytes = sizeof(struct pith_quantize_opts), .int16 = second, .n_int16 = 1},
            "'b' cannot have 16-bit activations");
    refused(m,
            &(struct pith_quantize_opts){
                .size_bytes = sizeof(struct pith_quantize_opts), .int16 = none, .n_int16 = 1},
            "no layer matches 'nobody'");
    refused(m,
            &(struct pith_quantize_opts){.size_bytes = sizeof(struct pith_quantize_opts),
                                         .fixed_bits = 8,
                                         .int16 = second,
                                         .n_int16 = 1},
            "need 8 bits elsewhere");
    pith_model_free(m);
}

/* Pruned weights stay 0 in both halves. */
static void masks_come_along(void **state)
{
    (void)state;
    struct pith_model *m = network(false);
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o, .int16 = second, .n_int16 = 1};
    struct pith_const *c = NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (strcmp(m->nodes[i].name, "b") == 0)
            c = m->values[m->nodes[i].in[1]].constant;
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t i = 0; i < c->count; i++) {
        c->mask[i] = i % 3 != 0;
        ((float *)c->data)[i] *= (float)c->mask[i];
    }
    observe(m);
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_OK);
    const struct pith_const *q = NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_CONV_INTEGER && strcmp(m->nodes[i].name, "b") == 0)
            q = m->values[m->nodes[i].in[1]].constant;
    assert_non_null(q);
    assert_int_equal(q->count, 2 * c->count);
    assert_non_null(q->mask);
    for (uint64_t i = 0; i < q->count; i++) {
        uint64_t was = i / (2 * CHANNELS) * CHANNELS + i % CHANNELS;
        assert_int_equal(q->mask[i], c->mask[was]);
        if (!q->mask[i])
            assert_int_equal(((const int8_t *)q->data)[i], 0);
    }
    pith_model_free(m);
}

/* A layer that mixes channels has their scales in its weights. */
static void channels_may_have_scales(void **state)
{
    (void)state;
    struct pith_model *m = network(false);
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

/* Numbers that only move on their way, here through a Reshape, are not rounded before. */
static void moved_numbers_are_not_rounded_before(void **state)
{
    (void)state;
    struct pith_model *m = network(false);
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o, .int16 = second, .n_int16 = 1};
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_ADD)
            m->nodes[i].in[0] = m->nodes[i].in[1]; /* the relu has one reader then */
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_RELU) {
            m->nodes[i].op = PITH_OP_RESHAPE;
            m->nodes[i].attr = pith_model_alloc(m, 16, sizeof *m->nodes[i].attr);
            pith_op_attr_defaults(pith_op_get(PITH_OP_RESHAPE), m->nodes[i].attr);
            m->nodes[i].attr[0] = 4;
            for (int k = 0; k < 4; k++)
                m->nodes[i].attr[1 + k] = (int32_t[]){1, CHANNELS, SIDE, SIDE}[k];
        }
    observe(m);
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_OK);
    assert_int_equal(count_ops(m, PITH_OP_REQUANTIZE), 0);
    pith_model_free(m);
}

/* Two inputs joined are not one that is read twice, even where a row was pruned away. */
static void joined_inputs_are_not_two_bytes(void **state)
{
    (void)state;
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    struct pith_quantize_layer layers[3 * PITH_QUANTIZE_PARTS];
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE}), in[2];
    m->inputs[m->n_inputs++] = x;
    for (int i = 0; i < 2; i++)
        in[i] = add_layer(m, &r, PITH_OP_CONV, i ? "b" : "a", x, 4,
                          (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    struct pith_node *join = add_node(m, PITH_OP_CONCAT, "join", "join.out", 2, in);
    join->attr[ATTR_AXIS] = 1;
    x = add_layer(m, &r, PITH_OP_CONV, "c", join->out[0], 4,
                  (const uint32_t[]){3, 2 * CHANNELS, 1, 1});
    float *w = m->values[m->nodes[m->n_nodes - 1].in[1]].constant->data;
    memset(w, 0, 2 * CHANNELS * sizeof *w);
    m->outputs[m->n_outputs++] = x;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    observe(m);
    assert_int_equal(pith_quantize(m, &o, layers, NULL, &err), PITH_OK);
    assert_false(layers[2].int16);
    assert_int_equal(layers[2].n_weights, 3 * 2 * CHANNELS);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_bytes_are_finer_than_one),
        cmocka_unit_test(one_layer_may_be_requested),
        cmocka_unit_test(says_who_cannot),
        cmocka_unit_test(masks_come_along),
        cmocka_unit_test(moved_numbers_are_not_rounded_before),
        cmocka_unit_test(channels_may_have_scales),
        cmocka_unit_test(joined_inputs_are_not_two_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
