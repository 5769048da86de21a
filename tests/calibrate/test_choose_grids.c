/* SPDX-License-Identifier: MIT */
/* Grids of a small network: by each method, by channel, by the effect on the outputs; what has no
 * grid, and what is refused. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "test_run.h"
#include "gemm_model.h"
#include "op_interface/op_attr.h"
#include "pith_calibrate.h"

static struct pith_data *samples(const float *x, uint32_t n, uint32_t width)
{
    struct pith_buffer npy = {0};
    struct pith_error err = {0};
    struct pith_data *data = NULL;
    assert_int_equal(pith_npy_write(PITH_F32, 2, (uint32_t[]){n, width}, x, &npy, &err), PITH_OK);
    struct pith_data_opts d = {.size_bytes = sizeof d,
                               .path = "x.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, width}};
    SUCCEEDS(pith_data_open(&d, &data, &err));
    pith_buffer_free(&npy);
    return data;
}

/* y = x W for two layers with a Relu between: values 0 x, 1 w, 2 y, 3 relu, 4 w, 5 z. */
static struct pith_model *calibrated(const float *x, uint32_t n, struct pith_calibrate_opts *o)
{
    struct pith_model *m = gemm_model((uint32_t[]){2, 2, 2}, 2);
    struct pith_error err = {0};
    memcpy(data_of_layer(m, 0), (float[]){1, 0, 0, 1}, 4 * sizeof(float));
    memcpy(data_of_layer(m, 1), (float[]){1, 0, 0, 1}, 4 * sizeof(float));
    *o = (struct pith_calibrate_opts){.size_bytes = sizeof *o, .data = samples(x, n, 2)};
    SUCCEEDS(pith_calibrate(m, o, NULL, &err));
    return m;
}

static struct pith_range_report choose(struct pith_model *m, struct pith_range_opts o)
{
    struct pith_range_report report;
    struct pith_error err = {0};
    o.size_bytes = sizeof o;
    SUCCEEDS(pith_choose_grids(m, &o, &report, &err));
    return report;
}

static uint32_t value_behind(const struct pith_model *m, uint32_t op)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == op)
            return m->nodes[i].out[0];
    fail_msg("no operator %u", op);
    return 0;
}

TEST(grids_by_hand)
{
    static const float x[] = {25.5f, -10, 5, 1, -25.5f, 0};
    struct pith_calibrate_opts see;
    struct pith_model *m = calibrated(x, 3, &see);
    uint32_t relu = value_behind(m, PITH_OP_RELU);
    struct pith_range_report r = choose(m, (struct pith_range_opts){.method = PITH_RANGE_MAX});
    const struct pith_grid *in = m->values[m->inputs[0]].grid, *g = m->values[relu].grid;
    assert_true(in && g);
    assert_true(in->type == PITH_U8 && in->scale[0] == 0.2f && in->n == 1);
    assert_true(in->zero_point == 127 || in->zero_point == 128);
    assert_true(g->type == PITH_U8 && g->zero_point == 0 && g->scale[0] == 0.1f);
    assert_null(m->values[m->nodes[0].out[0]].grid); /* goes into the Relu alone */
    assert_int_equal(r.n_grids, 3);
    assert_int_equal(r.n_method[PITH_RANGE_MAX], 3);
    choose(m, (struct pith_range_opts){.method = PITH_RANGE_MAX, .symmetric = true, .bits = 16});
    in = m->values[m->inputs[0]].grid;
    assert_true(in->type == PITH_I16 && in->zero_point == 0 && in->bits == 16);
    float scale = in->scale[0];
    choose(m, (struct pith_range_opts){
                  .method = PITH_RANGE_MAX, .symmetric = true, .bits = 16, .headroom = 4});
    assert_true(m->values[m->inputs[0]].grid->scale[0] == 4 * scale);
    choose(m, (struct pith_range_opts){.method = PITH_RANGE_MSE, .radix = true, .bits = 6});
    int exponent;
    assert_true(frexpf(m->values[relu].grid->scale[0], &exponent) == 0.5f);
    assert_int_equal(m->values[relu].grid->method, PITH_RANGE_MSE);
    choose(m, (struct pith_range_opts){.method = PITH_RANGE_MAX, .per = PITH_RANGE_PER_CHANNEL});
    g = m->values[relu].grid;
    assert_true(g->n == 2 && g->axis == 1 && g->scale[0] == 0.1f);
    assert_true(g->scale[1] == (float)(1 / 255.0));
    pith_data_free(see.data);
    pith_model_free(m);
}

/* Headroom for unobserved numbers, but not for impossible ones. */
TEST(headroom)
{
    static const float x[] = {-3, 25, 2, 1};
    const struct pith_range_opts o = {
        .method = PITH_RANGE_MAX, .symmetric = true, .bits = 16, .headroom = 2};
    struct pith_calibrate_opts see;
    struct pith_model *m = calibrated(x, 2, &see);
    uint32_t v = value_behind(m, PITH_OP_RELU);
    choose(m, o);
    assert_float_equal(m->values[v].grid->scale[0], 50.0 / 65535, 1e-8);
    assert_float_equal(m->values[m->inputs[0]].grid->scale[0], 50.0 / 32767, 1e-8);
    struct pith_node *node = &m->nodes[0];
    while (node->op != PITH_OP_RELU)
        node++;
    node->op = PITH_OP_CLIP;
    node->attr = pith_model_alloc(m, 2, sizeof *node->attr);
    assert_non_null(node->attr);
    node->attr[ATTR_CLIP_MIN] = 0;
    node->attr[ATTR_CLIP_MAX] = (int32_t)f32_bits(30);
    choose(m, o);
    assert_float_equal(m->values[v].grid->scale[0], 30.0 / 65535, 1e-8);
    node->op = PITH_OP_SIGMOID; /* as if: it gave 25, which is covered */
    choose(m, o);
    assert_float_equal(m->values[v].grid->scale[0], 25.0 / 65535, 1e-8);
    pith_data_free(see.data);
    pith_model_free(m);
}

/* What was always 0, and what is too small for a scale, as the header says. */
TEST(zeros_and_tiny_numbers)
{
    static const float x[] = {-1e-40f, -1, -3e-42f, -2};
    struct pith_calibrate_opts see;
    struct pith_model *m = calibrated(x, 2, &see);
    uint32_t relu = value_behind(m, PITH_OP_RELU);
    struct pith_range_report r = choose(m, (struct pith_range_opts){.method = PITH_RANGE_KL});
    assert_int_equal(r.n_zero, 3); /* relu and all that follows */
    assert_true(m->values[relu].grid->scale[0] == 1 && m->values[relu].grid->zero_point == 0);
    pith_data_free(see.data);
    pith_model_free(m);
    static const float y[] = {1e-40f, 0, 3e-42f, 0};
    m = calibrated(y, 2, &see);
    r = choose(m, (struct pith_range_opts){.method = PITH_RANGE_MSE});
    assert_int_equal(r.n_tiny, 3);
    assert_true(m->values[relu].grid->scale[0] == FLT_MIN);
    pith_data_free(see.data);
    pith_model_free(m);
}

TEST(refusals)
{
    static const float x[] = {1, 2};
    struct pith_calibrate_opts see;
    struct pith_model *m = calibrated(x, 1, &see);
    struct pith_range_opts o = {.size_bytes = sizeof o, .bits = 17};
    struct pith_error err = {0};
    assert_int_equal(pith_choose_grids(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot choose ranges: 17 bits, 2 to 16 are possible");
    o.bits = 8;
    o.percentile = 101;
    assert_int_equal(pith_choose_grids(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    o.percentile = 0;
    o.method = (enum pith_range_method)9;
    assert_int_equal(pith_choose_grids(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    o.method = PITH_RANGE_MAX;
    o.headroom = 17;
    assert_int_equal(pith_choose_grids(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    o.headroom = 0;
    pith_calibrate_reset(m);
    assert_int_equal(pith_choose_grids(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot choose ranges: the model has no statistics (calibrate it "
                                  "with data first)");
    pith_data_free(see.data);
    pith_model_free(m);
}

/* One number in 20,000 of value 0 is far away. Where the first layer looks at it, a range without
 * it ruins the output; where its weight is 0, all others gain from leaving it out. The squared
 * error of the value itself is the same both times. */
TEST(auto_compares_the_outputs)
{
    enum { WIDE = 1000, ROWS = 20 };
    static float x[WIDE * ROWS];
    enum pith_range_method chosen[2];
    double highest[2];
    for (uint32_t i = 0; i < WIDE * ROWS; i++)
        x[i] = (float)(i * 7919u % 997u) / 997.0f;
    for (uint32_t r = 0; r < ROWS; r++)
        x[r * WIDE] = 20; /* in every sample */
    for (int looked_at = 0; looked_at < 2; looked_at++) {
        struct pith_model *m = gemm_model((uint32_t[]){WIDE, 4}, 1);
        struct pith_error err = {0};
        float *w = data_of_layer(m, 0);
        for (uint32_t i = 0; i < 4 * WIDE; i++)
            w[i] = i % WIDE == 0 ? (looked_at ? 50.0f : 0.0f) : i % 3 ? 0.01f : -0.01f;
        struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = samples(x, ROWS, WIDE)};
        SUCCEEDS(pith_calibrate(m, &see, NULL, &err));
        struct pith_range_report r =
            choose(m, (struct pith_range_opts){.bits = 4, .samples = &see});
        const struct pith_grid *g = m->values[m->inputs[0]].grid;
        assert_true(r.n_runs > 4);
        chosen[looked_at] = g->method;
        highest[looked_at] = (double)g->scale[0] * (pith_grid_highest(g) - g->zero_point);
        pith_data_free(see.data);
        pith_model_free(m);
    }
    if (!(highest[0] < 5 && highest[1] > 15))
        fail_msg("by statistics: up to %g by %s; by outputs: up to %g by %s", highest[0],
                 pith_range_method_text(chosen[0]), highest[1], pith_range_method_text(chosen[1]));
}

/* One number of eight is a thousand times as large as the others, so that every method covers it.
 * Where no weight looks at it a sixteenth of the range is best, else all of it. */
TEST(auto_tries_narrower_ranges)
{
    enum { WIDE = 8, ROWS = 64 };
    static float x[WIDE * ROWS];
    for (uint32_t i = 0; i < WIDE * ROWS; i++)
        x[i] = (float)(i * 7919u % 997u) / 997.0f * (i % WIDE == 0 ? 1000.0f : 1.0f);
    for (int looked_at = 0; looked_at < 2; looked_at++) {
        struct pith_model *m = gemm_model((uint32_t[]){WIDE, 4}, 1);
        struct pith_error err = {0};
        float *w = data_of_layer(m, 0);
        for (uint32_t i = 0; i < 4 * WIDE; i++)
            w[i] = i % WIDE == 0 ? (float)looked_at : i % 3 ? 0.5f : -0.5f;
        struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = samples(x, ROWS, WIDE)};
        SUCCEEDS(pith_calibrate(m, &see, NULL, &err));
        choose(m, (struct pith_range_opts){.samples = &see});
        const struct pith_grid *g = m->values[m->inputs[0]].grid;
        const double highest = (double)g->scale[0] * (pith_grid_highest(g) - g->zero_point);
        if (looked_at ? highest < 900 : highest > 1000.0 / 15)
            fail_msg("looked at %d: up to %g", looked_at, highest);
        pith_data_free(see.data);
        pith_model_free(m);
    }
}

/* Of 16 bits no range is worth a trial: the samples run, and one of them with all on grids. */
TEST(auto_stops_where_all_is_well)
{
    enum { WIDE = 8, ROWS = 16 };
    static float x[WIDE * ROWS];
    for (uint32_t i = 0; i < WIDE * ROWS; i++)
        x[i] = (float)(i * 7919u % 997u) / 997.0f;
    for (uint32_t bits = 4; bits <= 16; bits += 12) {
        struct pith_model *m = gemm_model((uint32_t[]){WIDE, 4}, 1);
        struct pith_error err = {0};
        float *w = data_of_layer(m, 0);
        for (uint32_t i = 0; i < 4 * WIDE; i++)
            w[i] = i % 3 ? 0.5f : -0.5f;
        struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = samples(x, ROWS, WIDE)};
        SUCCEEDS(pith_calibrate(m, &see, NULL, &err));
        const struct pith_range_report r =
            choose(m, (struct pith_range_opts){.bits = bits, .samples = &see});
        if (bits == 16 ? r.n_runs != ROWS + 1 : r.n_runs <= ROWS + 1)
            fail_msg("%u bits: %u runs", bits, (unsigned)r.n_runs);
        pith_data_free(see.data);
        pith_model_free(m);
    }
}

static bool at_most_two(void *user, uint64_t done, uint64_t total)
{
    assert_int_equal(total, 0);
    *(uint64_t *)user = done;
    return done < 2;
}

/* An output that is always infinite leaves the choice to the other; stopped early, mse stays. */
TEST(auto_with_an_infinite_output)
{
    enum { WIDE = 1000, ROWS = 20 };
    static float x[WIDE * ROWS];
    for (uint32_t i = 0; i < WIDE * ROWS; i++)
        x[i] = i % WIDE == 0 ? 20 : (float)(i * 7919u % 997u) / 997.0f;
    struct pith_model *m = gemm_model((uint32_t[]){WIDE, 2}, 1);
    struct pith_error err = {0};
    float *w = data_of_layer(m, 0);
    for (uint32_t i = 0; i < 2 * WIDE; i++)
        w[i] = i >= WIDE ? FLT_MAX : i == 0 ? 50.0f : 0.01f;
    struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = samples(x, ROWS, WIDE)};
    SUCCEEDS(pith_calibrate(m, &see, NULL, &err));
    struct pith_range_report r = choose(m, (struct pith_range_opts){.bits = 4, .samples = &see});
    const struct pith_grid *g = m->values[m->inputs[0]].grid;
    assert_int_equal(r.n_without, 2); /* what the layer gives, and the Relu behind it */
    if ((double)g->scale[0] * (pith_grid_highest(g) - g->zero_point) <= 15)
        fail_msg("up to %g by %s, %d runs", (double)g->scale[0] * pith_grid_highest(g),
                 pith_range_method_text(g->method), (int)r.n_runs);
    uint64_t done = 0;
    see.progress = at_most_two;
    see.user = &done;
    r = choose(m, (struct pith_range_opts){.bits = 4, .samples = &see});
    assert_int_equal(done, r.n_runs);
    assert_int_equal(m->values[m->inputs[0]].grid->method, PITH_RANGE_MSE);
    pith_data_free(see.data);
    pith_model_free(m);
}

RUN_TESTS
