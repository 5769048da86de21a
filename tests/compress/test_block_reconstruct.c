/* SPDX-License-Identifier: MIT */
/* test_block_reconstruct.c - layers trained a block together come nearer to the float network, keep
 * to their integers and to what is pruned, and are left alone where they cannot be trained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "measure/small_net.h"
#include "pith_pack.h"
#include "pith_compress.h"

#define CHANNELS 6u
#define SIDE 5u
#define PIXELS (CHANNELS * SIDE * SIDE)
#define SAMPLES 64u

static uint32_t relu(struct pith_model *m, uint32_t x)
{
    return add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
}

static uint32_t conv(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x)
{
    return add_layer(m, r, PITH_OP_CONV, name, x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
}

/* Two convolutions beside a shortcut, twice; the first weight is half pruned. */
static struct pith_model *residual_network(bool batch_open)
{
    struct sample_random r = sample_random_of(5);
    struct pith_error err = {0};
    struct pith_model *m = sample_new();
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = batch_open;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t y = relu(m, conv(m, &r, k ? "c" : "a", x));
        y = conv(m, &r, k ? "d" : "b", y);
        x = relu(m, add_node(m, PITH_OP_ADD, "", "", 2, (const uint32_t[]){x, y})->out[0]);
    }
    m->outputs[m->n_outputs++] = x;
    for (uint32_t v = 0; v < m->n_values; v++)
        for (uint64_t i = 0; m->values[v].constant && i < m->values[v].constant->count; i++)
            ((float *)m->values[v].constant->data)[i] *= 0.4f;
    sample_prune(m, m->nodes[0].in[1], 0.5);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

static struct pith_data *pictures(uint64_t seed)
{
    float *x = malloc(SAMPLES * PIXELS * sizeof *x);
    struct sample_random r = sample_random_of(seed);
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    for (uint32_t i = 0; i < SAMPLES * PIXELS; i++)
        x[i] = sample_gauss(&r);
    assert_int_equal(pith_data_of_numbers(4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE}, SAMPLES,
                                          x, NULL, 0, &data, &err),
                     PITH_OK);
    return data;
}

static struct pith_stage_report quantize(struct pith_model *m, const struct pith_stage *s,
                                         uint32_t threads)
{
    struct pith_data *data = pictures(1);
    const struct pith_stage_means means = {
        .size_bytes = sizeof means, .train = data, .threads = threads};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    if (pith_stage_run_with(m, s, &means, &r, &err))
        fail_msg("%s", err.text);
    pith_data_free(data);
    return r;
}

static double snr_of(const struct pith_model *a, const struct pith_model *b)
{
    struct pith_data *others = pictures(2);
    const struct pith_feed_input x = {.data = others};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &x};
    const struct pith_compare_opts o = {.size_bytes = sizeof o, .feed = &feed};
    struct pith_comparison c;
    assert_int_equal(pith_compare(a, b, &o, &c, NULL), PITH_OK);
    pith_comparison_free(&c);
    pith_data_free(others);
    return c.output.snr_db;
}

static struct pith_stage few_bits(bool blocks)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 3;
    s.quantize.rounding = PITH_ROUND_NEAREST;
    s.quantize.same_bits = true;
    s.all_integers = true;
    s.blocks = blocks;
    return s;
}

static double db_of(bool batch_open, bool blocks, struct pith_stage_report *r)
{
    struct pith_model *m = residual_network(batch_open), *was = residual_network(batch_open);
    const struct pith_stage s = few_bits(blocks);
    *r = quantize(m, &s, 1);
    double db = snr_of(was, m);
    pith_model_free(m);
    pith_model_free(was);
    return db;
}

static void blocks_come_nearer(void **state)
{
    (void)state;
    for (int open = 0; open < 2; open++) {
        struct pith_stage_report alone, together;
        double without = db_of(open, false, &alone), with = db_of(open, true, &together);
        assert_int_equal(alone.n_blocks, 0);
        assert_int_equal(together.n_blocks, 2);
        assert_true(together.n_reconstructed > 0);
        if (!(with > without + 0.2))
            fail_msg("%g dB, %g with blocks", without, with);
        pith_stage_report_free(&alone);
        pith_stage_report_free(&together);
    }
}

/* What is pruned stays 0, all others are integers of 3 bits; whatever the number of threads. */
static void integers_stay_what_they_are(void **state)
{
    (void)state;
    struct pith_buffer file[2];
    const struct pith_stage s = few_bits(true);
    for (uint32_t t = 0; t < 2; t++) {
        struct pith_model *m = residual_network(true);
        struct pith_stage_report r = quantize(m, &s, t + 1);
        struct pith_weight_ref refs[64];
        assert_true(m->n_nodes < 64);
        uint32_t n = pith_model_all_weights(m, refs);
        assert_int_equal(n, 4);
        for (uint32_t i = 0; i < n; i++) {
            const struct pith_const *c = m->values[refs[i].value].constant;
            assert_int_equal(m->values[refs[i].value].type, PITH_I8);
            for (uint64_t k = 0; k < c->count; k++) {
                int8_t q = ((const int8_t *)c->data)[k];
                assert_true(q >= -4 && q <= 3);
                assert_true(!c->mask || c->mask[k] || q == 0);
            }
            assert_int_equal(c->mask != NULL, i == 0);
        }
        struct pith_error err = {0};
        assert_int_equal(pith_model_pack(m, NULL, &file[t], &err), PITH_OK);
        pith_stage_report_free(&r);
        pith_model_free(m);
    }
    assert_int_equal(file[0].bytes, file[1].bytes);
    assert_memory_equal(file[0].data, file[1].data, file[0].bytes);
    pith_buffer_free(&file[0]);
    pith_buffer_free(&file[1]);
}

/* A constant that is no layer's would move too. */
static void what_cannot_be_trained_is_left_alone(void **state)
{
    (void)state;
    struct pith_model *files[2];
    for (int blocks = 0; blocks < 2; blocks++) {
        struct sample_random r = sample_random_of(9);
        struct pith_error err = {0};
        struct pith_model *m = files[blocks] = residual_network(true);
        uint32_t c = add_constant(m, &r, "powers", 3, (const uint32_t[]){CHANNELS, 1, 1});
        uint32_t x =
            add_node(m, PITH_OP_PRELU, "", "", 2, (const uint32_t[]){m->outputs[0], c})->out[0];
        m->outputs[0] = conv(m, &r, "e", relu(m, conv(m, &r, "f", x)));
        assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
        const struct pith_stage s = few_bits(blocks);
        struct pith_stage_report report = quantize(m, &s, 1);
        if (blocks)
            assert_true(report.n_reconstructed > 0 && report.n_reconstructed < report.n_blocks);
        pith_stage_report_free(&report);
    }
    pith_model_free(files[0]);
    pith_model_free(files[1]);
}

static void it_needs_data_and_integers_of_bytes(void **state)
{
    (void)state;
    struct pith_model *m = residual_network(true);
    struct pith_data *data = pictures(1);
    const struct pith_stage_means means = {.size_bytes = sizeof means, .train = data};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.blocks = true;
    s.quantize.fixed_bits = 8;
    assert_int_equal(pith_stage_run_with(m, &s, &means, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "blocks"));
    pith_stage_report_free(&r);
    pith_data_free(data);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_come_nearer),
                                       cmocka_unit_test(integers_stay_what_they_are),
                                       cmocka_unit_test(what_cannot_be_trained_is_left_alone),
                                       cmocka_unit_test(it_needs_data_and_integers_of_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
