/* SPDX-License-Identifier: MIT */
/* test_mixed_precision.c - the one layer that ruins a network of integers gets more than a byte,
 * and no other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_compress.h"
#include "pith_pack.h"
#include "measure/small_net.h"

#define N 8u
#define SAMPLES 32u

/* Three layers N -> N with names that a pattern must not take for one. loud: number 0 of the input
 * is a thousand times as large as the others, and counts as much as they do, for its weights are as
 * much smaller: no range of bytes is right for both. */
static struct pith_model *network(bool loud)
{
    float w[N * N];
    struct sample_random r = sample_random_of(7);
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = sample_gauss(&r) * (loud && i % N == 0 ? 0.001f : 1.0f);
    struct pith_model *m = small_net(N, N, w, true);
    m->nodes[0].name = pith_model_strdup(m, "re:[fc]*");
    const char *const names[] = {"fc", "fc*"};
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t v = add_constant(m, &r, "", 2, (const uint32_t[]){N, N});
        float *x = m->values[v].constant->data;
        for (uint32_t i = 0; i < N * N; i++)
            x[i] = sample_gauss(&r);
        m->outputs[0] =
            add_node(m, PITH_OP_GEMM, names[k], "", 2, (const uint32_t[]){m->outputs[0], v})
                ->out[0];
    }
    return sample_shaped(m);
}

static struct pith_data *inputs(bool loud)
{
    float x[SAMPLES * N];
    struct sample_random r = sample_random_of(3);
    for (uint32_t i = 0; i < SAMPLES * N; i++)
        x[i] = sample_gauss(&r) * (loud && i % N == 0 ? 1000.0f : 1.0f);
    return rows_of(x, SAMPLES, N, NULL);
}

static struct pith_stage_report quantize(struct pith_model *m, const struct pith_stage *s,
                                         struct pith_data *data)
{
    const struct pith_stage_context context = {.size_bytes = sizeof context, .train = data};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    SUCCEEDS(pith_stage_run_with(m, s, &context, &r, &err));
    return r;
}

static double snr_of(const struct pith_model *a, const struct pith_model *b, struct pith_data *data)
{
    const struct pith_feed_input x = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &x};
    const struct pith_compare_opts o = {.size_bytes = sizeof o, .feed = &feed};
    struct pith_comparison c;
    assert_int_equal(pith_compare(a, b, &o, &c, NULL), PITH_OK);
    pith_comparison_free(&c);
    return c.output.snr_db;
}

static uint32_t n_float(const struct pith_stage_report *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++)
        n += r->quantize[i].why != NULL;
    return n;
}

TEST(the_layer_that_costs_most_stays_float)
{
    struct pith_model *m = network(true), *was = network(true);
    struct pith_data *data = inputs(true);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    struct pith_stage_report r = quantize(m, &s, data);
    assert_int_equal(r.n_kept_float, 1);
    assert_int_equal(n_float(&r), 1);
    assert_string_equal(r.quantize[0].layer, "re:[fc]*");
    assert_int_equal(strncmp(r.quantize[0].why, "kept: ", 6), 0);
    assert_true(r.loss.measured &&
                r.loss.predictions == 0); /* as wide as its input: numbers, not classes */
    assert_true(r.loss.output_db > 25);
    assert_true(snr_of(was, m, data) > 25);
    pith_stage_report_free(&r);
    pith_model_free(m);

    m = network(true);
    s.all_integers = true;
    r = quantize(m, &s, data);
    assert_true(r.loss.measured && r.loss.output_db < 10); /* measured all the same */
    assert_int_equal(n_float(&r), 0);
    assert_true(snr_of(was, m, data) < 10);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_model_free(was);
    pith_data_free(data);
}

/* Both scores and their Softmax are outputs: the scores are what both are compared by. */
TEST(predictions_are_counted_once)
{
    struct pith_model *m = network(false);
    struct pith_data *data = inputs(false);
    struct pith_stage s;
    struct pith_error err = {0};
    uint32_t *outputs = pith_model_alloc(m, 2, sizeof *outputs);
    outputs[0] = m->outputs[0];
    outputs[1] = add_node(m, PITH_OP_SOFTMAX, "", "", 1, outputs)->out[0];
    m->outputs = outputs;
    m->n_outputs = 2;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    struct pith_stage_report r = quantize(m, &s, data);
    assert_int_equal(r.loss.predictions, 8);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_data_free(data);
}

/* The loud network, and behind it layers that make up most of all products. */
static struct pith_model *cheap_loud_layer(void)
{
    struct pith_model *m = network(true);
    struct sample_random r = sample_random_of(9);
    struct pith_error err = {0};
    const uint32_t sizes[] = {N, 8 * N, 8 * N, N};
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t v = add_constant(m, &r, "", 2, (const uint32_t[]){sizes[k + 1], sizes[k]});
        m->outputs[0] =
            add_node(m, PITH_OP_GEMM, "large", "", 2, (const uint32_t[]){m->outputs[0], v})->out[0];
        assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    }
    return m;
}

/* What stays float is stored in 2 bytes, but where f32 is requested. */
TEST(what_is_cheap_stays_float)
{
    struct pith_data *data = inputs(true);
    for (uint32_t i = 0; i < 4; i++) {
        struct pith_model *m = cheap_loud_layer();
        struct pith_stage s;
        pith_stage_init(&s, PITH_STAGE_QUANTIZE);
        s.floats = i == 1 ? PITH_F32 : 0;
        s.all_integers = i == 2;
        s.quantize.weight_bits = i == 3 ? 7 : 0;
        struct pith_stage_report r = quantize(m, &s, data);
        assert_int_equal(n_float(&r), r.n_kept_float);
        assert_int_equal(r.n_kept_float, i != 2);
        if (i < 2)
            assert_true(r.quantize[0].why && r.loss.output_db > 25);
        assert_int_equal(r.floats.type, i == 1 || r.n_kept_float == 0 ? 0 : PITH_F16);
        pith_stage_report_free(&r);
        pith_model_free(m);
    }
    pith_data_free(data);
}

/* The depthwise layer in front of it stays float, too: its integers would be bytes again. */
TEST(a_depthwise_layer_goes_along)
{
    float x[SAMPLES * N];
    struct sample_random r = sample_random_of(21);
    for (uint32_t i = 0; i < SAMPLES * N; i++)
        x[i] = sample_gauss(&r);
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL);
    struct pith_model *m = sample_new();
    uint32_t in = add_input(m, "x", 2, (const uint32_t[]){1, N});
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "picture", "", 1, &in);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){4, 1, N, 1, 1}, 5 * sizeof(int32_t));
    const uint32_t groups[] = {1, N, 1, 1}, outs[] = {N, N, N, 64 * N};
    uint32_t y = node->out[0];
    for (uint32_t k = 0; k < 4; k++) {
        const char *const names[] = {"first", "depthwise", "loud", "wide"};
        uint32_t w = add_constant(m, &r, "", 4, (const uint32_t[]){outs[k], N / groups[k], 1, 1});
        float *to = m->values[w].constant->data;
        for (uint64_t i = 0; i < m->values[w].constant->count; i++)
            to[i] = sample_gauss(&r) * (k == 1 && i == 0       ? 1000.0f
                                        : k == 2 && i % N == 0 ? 0.001f
                                                               : 1);
        node = add_node(m, PITH_OP_CONV, names[k], "", 2, (const uint32_t[]){y, w});
        node->attr[ATTR_CONV_GROUP] = (int32_t)groups[k];
        y = node->out[0];
    }
    sample_done(m, y);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    struct pith_stage_report report = quantize(m, &s, data);
    assert_int_equal(report.n_kept_float, 2);
    for (uint32_t i = 0; i < report.n_layers; i++)
        assert_int_equal(report.quantize[i].why != NULL, i == 1 || i == 2);
    assert_true(report.loss.output_db > 25);
    pith_stage_report_free(&report);
    pith_model_free(m);
    pith_data_free(data);
}

static size_t packed_bytes(const struct pith_model *m)
{
    struct pith_buffer file = {0};
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    size_t bytes = file.bytes;
    pith_buffer_free(&file);
    return bytes;
}

/* Of the layers that stay float the large one has weights that bytes are enough for. */
TEST(weights_that_stay_float_have_codebooks)
{
    struct pith_data *data = inputs(true);
    size_t bytes[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_model *m = cheap_loud_layer();
        struct pith_stage s;
        pith_stage_init(&s, PITH_STAGE_QUANTIZE);
        s.keep[s.quantize.n_keep++] = "large";
        s.floats = i == 0 ? PITH_F16 : 0;
        struct pith_stage_report r = quantize(m, &s, data);
        assert_int_equal(r.n_kept_float, 1);
        assert_int_equal(n_float(&r), 4);
        assert_int_equal(r.floats.type, PITH_F16);
        assert_int_equal(r.floats.n_codebooks, i);
        assert_int_equal(r.floats.n_indexed, i * 64 * N * N);
        assert_true(r.loss.output_db > 25);
        bytes[i] = packed_bytes(m);
        pith_stage_report_free(&r);
        pith_model_free(m);
    }
    assert_true(bytes[1] + 64 * N * N - 1024 < bytes[0]);
    pith_data_free(data);
}

/* Beside a small enough one a layer of weights of all magnitudes, which no table of 256 numbers has
 * room for: the loud input is multiplied with the smallest. It stays f16, the other layer does not.
 */
TEST(a_codebook_that_costs_too_much_is_not_taken)
{
    enum { WIDE = 40 };
    static float w[WIDE * WIDE], x[SAMPLES * WIDE];
    struct sample_random r = sample_random_of(31);
    for (uint32_t i = 0; i < WIDE * WIDE; i++)
        w[i] = sample_gauss(&r) * (i % WIDE == 0 ? 0.001f : 1.0f);
    for (uint32_t i = 0; i < SAMPLES * WIDE; i++)
        x[i] = sample_gauss(&r) * (i % WIDE == 0 ? 10000.0f : 1.0f);
    struct pith_data *data = rows_of(x, SAMPLES, WIDE, NULL);
    struct pith_model *m = small_net(WIDE, WIDE, w, true);
    struct pith_error err = {0};
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t v = add_constant(m, &r, "", 2, (const uint32_t[]){WIDE, WIDE});
        m->outputs[0] = add_node(m, PITH_OP_GEMM, k == 0 ? "even" : "large", "", 2,
                                 (const uint32_t[]){m->outputs[0], v})
                            ->out[0];
    }
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.keep[s.quantize.n_keep++] = "even";
    struct pith_stage_report report = quantize(m, &s, data);
    assert_int_equal(report.n_kept_float, 1);
    assert_int_equal(report.floats.n_codebooks, 1);
    assert_int_equal(report.floats.n_indexed, WIDE * WIDE);
    uint32_t n_narrow = 0, n_codebooks = 0;
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_const *c = m->values[v].constant;
        if (!c || c->count != WIDE * WIDE || m->values[v].type != PITH_F32)
            continue;
        n_codebooks += c->codebook != NULL;
        n_narrow += c->stored == PITH_F16;
        if (c->stored == PITH_F16) /* as it was, but for f16 */
            for (uint32_t i = 0; i < WIDE * WIDE; i++)
                assert_true(fabsf(((const float *)c->data)[i] - w[i]) <= fabsf(w[i]) * 0x1p-10f);
    }
    assert_true(n_narrow == 1 && n_codebooks == 1);
    assert_true(report.loss.output_db > PITH_KEEP_FLOOR_DB);
    pith_stage_report_free(&report);
    pith_model_free(m);
    pith_data_free(data);
}

/* What the loud layer costs counts, what an option keeps does not. */
TEST(bytes_of_what_stays_float_are_reported)
{
    const size_t history = 256; /* which is written when all is done */
    struct pith_data *data = inputs(true);
    for (uint32_t i = 0; i < 4; i++) {
        struct pith_model *m = cheap_loud_layer(), *whole = cheap_loud_layer();
        struct pith_stage s;
        pith_stage_init(&s, PITH_STAGE_QUANTIZE);
        if (i % 2)
            s.keep[s.quantize.n_keep++] = "large";
        s.floats = i < 2 ? PITH_F16 : PITH_F32;
        s.quantize.keep_biases =
            true; /* else layers without a bias get one, which is not counted */
        struct pith_stage_report r = quantize(m, &s, data);
        assert_int_equal(r.n_kept_float, 1);
        size_t reported = (size_t)((int64_t)r.integer_bytes + r.kept_bytes);
        assert_in_range(packed_bytes(m), reported, reported + history);
        size_t integers = r.integer_bytes;
        pith_stage_report_free(&r);
        s.all_integers = true;
        r = quantize(whole, &s, data);
        assert_int_equal(r.kept_bytes, 0);
        assert_in_range(packed_bytes(whole), integers - 64, integers + history);
        pith_stage_report_free(&r);
        pith_model_free(m);
        pith_model_free(whole);
    }
    pith_data_free(data);
}

TEST(a_good_network_keeps_none)
{
    struct pith_model *m = network(false), *was = network(false);
    struct pith_data *data = inputs(false);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    struct pith_stage_report r = quantize(m, &s, data);
    assert_int_equal(r.n_kept_float, 0);
    assert_int_equal(n_float(&r), 0);
    assert_true(r.loss.output_db > 30);
    assert_true(snr_of(was, m, data) > 30);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_model_free(was);
    pith_data_free(data);
}

/* Two bits hurt every layer about alike: keeping one would not bring enough. */
TEST(errors_spread_over_all_layers_keep_none)
{
    struct pith_model *m = network(false);
    struct pith_data *data = inputs(false);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 2;
    struct pith_stage_report r = quantize(m, &s, data);
    assert_true(r.loss.output_db < PITH_KEEP_FLOOR_DB);
    assert_int_equal(r.n_kept_float, 0);
    assert_int_equal(n_float(&r), 0);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_data_free(data);
}

/* To keep it would leave nothing to quantize. */
TEST(the_only_layer_does_not_stay_float)
{
    float w[N * N];
    struct sample_random r = sample_random_of(5);
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = sample_gauss(&r);
    struct pith_model *m = small_net(N, N, w, true);
    struct pith_data *data = inputs(false);
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 2;
    struct pith_stage_report report = quantize(m, &s, data);
    assert_int_equal(report.n_layers, 1);
    assert_true(report.loss.output_db < PITH_KEEP_FLOOR_DB);
    assert_int_equal(report.n_kept_float, 0);
    assert_null(report.quantize[0].why);
    pith_stage_report_free(&report);
    pith_model_free(m);
    pith_data_free(data);
}

#define STEPS 4u
#define GATES 3u

/* A GRU, whose product is two in integers and one operator in float, and a layer of weights -1 to
 * 1, which two bits hold. */
static struct pith_model *recurrent_network(void)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, STEPS * GATES * N}), in[5];
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "steps", "steps.out", 1, &x);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){3, STEPS, 1, GATES * N},
           4 * sizeof(int32_t));
    for (uint32_t i = 0; i < 5; i++)
        in[i] = PITH_VALUE_NONE;
    in[0] = node->out[0];
    in[1] = add_constant(m, &r, "R", 2, (const uint32_t[]){GATES * N, N});
    node = add_node(m, PITH_OP_RECURRENT, "gru", "y", 5, in);
    node->attr[ATTR_RECURRENT_KIND] = RECURRENT_GRU;
    uint32_t y = node->out[0], w = add_constant(m, &r, "w", 2, (const uint32_t[]){5, STEPS * N});
    node->out = pith_model_alloc(m, 2, sizeof *node->out);
    node->out[0] = y;
    node->out[1] = add_value(m, "", PITH_F32, 0, NULL);
    node->n_out = 2;
    float *weights = m->values[w].constant->data;
    for (uint32_t i = 0; i < 5 * STEPS * N; i++)
        weights[i] = (float)(i % 3) - 1;
    node = add_node(m, PITH_OP_RESHAPE, "flat", "flat.out", 1, &y);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){2, 1, -1}, 3 * sizeof(int32_t));
    node = add_node(m, PITH_OP_GEMM, "out", "out.out", 2, (const uint32_t[]){node->out[0], w});
    node->attr[ATTR_GEMM_TRANS_B] = 1;
    return sample_done(m, node->out[0]);
}

TEST(what_was_taken_apart_stays_float_as_one)
{
    float x[SAMPLES * STEPS * GATES * N];
    struct sample_random random = sample_random_of(13);
    for (uint32_t i = 0; i < SAMPLES * STEPS * GATES * N; i++)
        x[i] = sample_gauss(&random);
    struct pith_data *data = rows_of(x, SAMPLES, STEPS * GATES * N, NULL);
    struct pith_model *m = recurrent_network();
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 2;
    s.all_integers = true;
    struct pith_stage_report r = quantize(m, &s, data);
    assert_int_equal(r.n_layers, 3);
    assert_int_equal(n_float(&r), 0);
    pith_stage_report_free(&r);
    pith_model_free(m);

    m = recurrent_network();
    s.all_integers = false;
    r = quantize(m, &s, data);
    assert_int_equal(r.n_kept_float, 1);
    assert_int_equal(r.n_layers, 2);
    assert_string_equal(r.quantize[0].layer, "gru");
    assert_int_equal(strncmp(r.quantize[0].why, "kept: ", 6), 0);
    assert_string_equal(r.quantize[1].layer, "out");
    assert_null(r.quantize[1].why);
    assert_int_equal(r.weights, GATES * N * N + 5 * STEPS * N);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_data_free(data);
}

/* A cell in a loop that multiplies one matrix with its loud input and its quiet state, which become
 * two products with a grid each: one of them is named by its columns. */
static struct pith_model *parted_network(void)
{
    struct sample_random r = sample_random_of(17);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, STEPS * N});
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "steps", "steps.out", 1, &x);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){3, STEPS, 1, N}, 4 * sizeof(int32_t));
    uint32_t steps = node->out[0], h0 = add_constant(m, &r, "h0", 2, (const uint32_t[]){1, N});
    memset(m->values[h0].constant->data, 0, N * sizeof(float));
    node = add_node(m, PITH_OP_LOOP, "loop", "i", 1, &h0);
    node->attr[ATTR_LOOP_TRIPS] = STEPS;
    uint32_t index = node->out[0], h = add_value(m, "h", PITH_F32, 0, NULL);
    node->out = pith_model_alloc(m, 2, sizeof *node->out);
    node->out[0] = index;
    node->out[1] = h;
    node->n_out = 2;
    uint32_t at =
        add_node(m, PITH_OP_GATHER, "at", "at.out", 2, (const uint32_t[]){steps, index})->out[0];
    node = add_node(m, PITH_OP_CONCAT, "join", "join.out", 2, (const uint32_t[]){at, h});
    node->attr[ATTR_AXIS] = 1;
    uint32_t w = add_constant(m, &r, "cell.w", 2, (const uint32_t[]){N, 2 * N});
    float *weights = m->values[w].constant->data;
    for (uint32_t i = 0; i < 2 * N * N; i++)
        weights[i] = sample_gauss(&r) * (i % (2 * N) < N ? 0.001f : 0.25f);
    node = add_node(m, PITH_OP_GEMM, "cell", "cell.out", 2, (const uint32_t[]){node->out[0], w});
    node->attr[ATTR_GEMM_TRANS_B] = 1;
    uint32_t next = add_node(m, PITH_OP_TANH, "tanh", "tanh.out", 1, node->out)->out[0];
    node = add_node(m, PITH_OP_LOOP_END, "loop", "last", 2, (const uint32_t[]){h, next});
    node->attr[ATTR_LOOP_TRIPS] = STEPS;
    node->attr[ATTR_LOOP_STATES] = 1;
    w = add_constant(m, &r, "out.w", 2, (const uint32_t[]){5, N});
    weights = m->values[w].constant->data;
    for (uint32_t i = 0; i < 5 * N; i++)
        weights[i] = (float)(i % 3) - 1;
    node = add_node(m, PITH_OP_GEMM, "out", "out.out", 2, (const uint32_t[]){node->out[0], w});
    node->attr[ATTR_GEMM_TRANS_B] = 1;
    return sample_done(m, node->out[0]);
}

static bool has_layer(const struct pith_stage_report *r, const char *name)
{
    for (uint32_t i = 0; i < r->n_layers; i++)
        if (strcmp(r->quantize[i].layer, name) == 0)
            return true;
    return false;
}

TEST(parts_of_a_product_stay_float_as_one)
{
    char first[64], second[64];
    float x[SAMPLES * STEPS * N];
    struct sample_random random = sample_random_of(19);
    for (uint32_t i = 0; i < SAMPLES * STEPS * N; i++)
        x[i] = 250 * sample_gauss(&random);
    struct pith_data *data = rows_of(x, SAMPLES, STEPS * N, NULL);
    struct pith_model *m = parted_network();
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 2;
    s.all_integers = true;
    struct pith_stage_report r = quantize(m, &s, data);
    snprintf(first, sizeof first, "cell:0-%u", (unsigned)N - 1);
    snprintf(second, sizeof second, "cell:%u-%u", (unsigned)N, 2 * (unsigned)N - 1);
    assert_int_equal(r.n_layers, 3);
    assert_true(has_layer(&r, "cell") && (has_layer(&r, first) || has_layer(&r, second)));
    assert_true(r.loss.output_db < PITH_KEEP_FLOOR_DB);
    pith_stage_report_free(&r);
    pith_model_free(m);

    m = parted_network();
    s.all_integers = false;
    r = quantize(m, &s, data);
    assert_int_equal(r.n_kept_float, 1);
    assert_int_equal(r.n_layers, 2);
    assert_string_equal(r.quantize[0].layer, "cell");
    assert_int_equal(strncmp(r.quantize[0].why, "kept: ", 6), 0);
    pith_stage_report_free(&r);
    pith_model_free(m);
    pith_data_free(data);
}

RUN_TESTS
