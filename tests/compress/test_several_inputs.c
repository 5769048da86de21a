/* SPDX-License-Identifier: MIT */
/* test_several_inputs.c - quantizing with data for networks of several inputs, some of which an
 * output comes back as: what is recorded, and that rounding heeds it. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "measure/small_net.h"
#include "pith_compress.h"
#include "measure/recorded_feed.h"
#include "compress/held_out.h"

enum { N = 12, STEPS = 40, RANK = 3, CLASSES = 5 };

static uint32_t product(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x,
                        uint32_t n_out)
{
    uint32_t w = add_constant(m, r, "", 2, (const uint32_t[]){n_out, N});
    return add_node(m, PITH_OP_GEMM, name, name, 2, (const uint32_t[]){x, w})->out[0];
}

/* y = V h, h = tanh(W x + U s); inputs x, s; outputs y, h. */
static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    for (int i = 0; i < 2; i++)
        m->inputs[m->n_inputs++] =
            add_value(m, i ? "s" : "x", PITH_F32, 2, (const uint32_t[]){1, N});
    uint32_t part[2] = {product(m, &r, "W", 0, N), product(m, &r, "U", 1, N)};
    uint32_t h = add_node(m, PITH_OP_ADD, "sum", "sum", 2, part)->out[0];
    h = add_node(m, PITH_OP_TANH, "h", "h", 1, &h)->out[0];
    m->outputs[m->n_outputs++] = product(m, &r, "V", h, CLASSES);
    return sample_done(m, h);
}

/* Rows that are sums of RANK vectors and a little more: what feedback rounding can make use of. */
static struct pith_data *rows(uint64_t seed)
{
    float x[STEPS * N], base[RANK * N];
    struct sample_random r = sample_random_of(seed);
    for (int i = 0; i < RANK * N; i++)
        base[i] = sample_gauss(&r);
    for (int s = 0; s < STEPS; s++) {
        float *row = x + s * N;
        for (int i = 0; i < N; i++)
            row[i] = 0.02f * sample_gauss(&r);
        for (int k = 0; k < RANK; k++) {
            float share = sample_gauss(&r);
            for (int i = 0; i < N; i++)
                row[i] += share * base[k * N + i];
        }
    }
    return rows_of(x, STEPS, N, NULL);
}

static const struct pith_state h_is_s = {.output = 1, .input = 1};

/* dB of output 0 after quantizing with feed; report: what the stage says. */
static double quantized_db(const struct pith_feed *feed, enum pith_rounding rounding,
                           struct pith_stage_report *report)
{
    struct pith_model *m = network(), *was = network();
    const struct pith_stage_context context = {.size_bytes = sizeof context, .feed = feed};
    const struct pith_compare_opts o = {.size_bytes = sizeof o, .feed = feed};
    struct pith_comparison c;
    struct pith_error err = {0};
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 3;
    s.quantize.rounding = rounding;
    s.quantize.keep_biases = rounding == PITH_ROUND_NEAREST;
    s.all_integers = rounding == PITH_ROUND_NEAREST;
    SUCCEEDS(pith_stage_run_with(m, &s, &context, report, &err));
    SUCCEEDS(pith_compare(was, m, &o, &c, &err));
    pith_comparison_free(&c);
    pith_model_free(m);
    pith_model_free(was);
    return c.output.snr_db;
}

static void expect_feedback_wins(const struct pith_feed *feed, uint64_t n_samples)
{
    struct pith_stage_report r = {0}, plain = {0};
    double nearest = quantized_db(feed, PITH_ROUND_NEAREST, &plain);
    double feedback = quantized_db(feed, PITH_ROUND_DEFAULT, &r);
    if (feedback < nearest + 3)
        fail_msg("%.1f dB with feedback, %.1f to nearest", feedback, nearest);
    assert_int_equal(r.loss.held_out, n_samples);
    pith_stage_report_free(&r);
    pith_stage_report_free(&plain);
}

TEST(rounding_heeds_both_inputs)
{
    struct pith_feed_input in[2] = {{.data = rows(1)}, {.data = rows(2)}};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 2, .input = in};
    expect_feedback_wins(&feed, 8);
    pith_data_free(in[0].data);
    pith_data_free(in[1].data);
}

TEST(rounding_heeds_a_state)
{
    struct pith_feed_input in[2] = {{.data = rows(1)}, {0}};
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &h_is_s};
    expect_feedback_wins(&feed, STEPS / 5); /* the end of a stream is held out */
    pith_data_free(in[0].data);
}

/* The state recorded at each step is the output of the step before. */
TEST(what_comes_back_is_recorded)
{
    struct pith_model *m = network();
    struct pith_feed_input in[2] = {{.data = rows(1)}, {0}};
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &h_is_s};
    struct recorded_feed *calls;
    struct pith_engine *e = engine_of(m);
    struct pith_plan *plan = pith_engine_plan(e);
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 9, &calls, NULL), PITH_OK);
    assert_int_equal(pith_recorded_feed_calls(calls), 9);
    float want[N] = {0}, row[N], found[N];
    for (uint32_t step = 0; step < 9; step++) {
        assert_int_equal(pith_recorded_feed_read(calls, 1, step, found, NULL), PITH_OK);
        assert_memory_equal(found, want, sizeof want);
        assert_int_equal(pith_data_read(in[0].data, step, row, NULL, NULL), PITH_OK);
        assert_int_equal(pith_recorded_feed_read(calls, 0, step, found, NULL), PITH_OK);
        assert_memory_equal(found, row, sizeof row);
        memcpy(pith_plan_input_data(plan, 0), row, sizeof row);
        memcpy(pith_plan_input_data(plan, 1), want, sizeof want);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        memcpy(want, pith_plan_output_data(plan, 1), sizeof want);
    }
    pith_recorded_feed_close(calls);
    pith_engine_close(e);
    pith_data_free(in[0].data);
    pith_model_free(m);
}

TEST(an_input_without_source_is_named)
{
    struct pith_model *m = network();
    struct pith_feed_input in[2] = {{.data = rows(1)}, {0}};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 2, .input = in};
    const struct pith_stage_context context = {.size_bytes = sizeof context, .feed = &feed};
    struct pith_error err = {0};
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    assert_int_equal(pith_stage_run_with(m, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "input 's'"));
    pith_data_free(in[0].data);
    pith_model_free(m);
}

RUN_TESTS
