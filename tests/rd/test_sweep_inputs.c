/* SPDX-License-Identifier: MIT */
/* What layers multiply their weights with, where that is no value of the network: states of a
 * recurrent product, and what is made in a loop, each time; several inputs, one of them a state
 * that comes back; rows that are too long for one matrix. */
#include "test_run.h"
#include "gemm_model.h"
#include "rd/weight_sweep.h"
#include "layers/layer_moments.h"
#include "op_interface/op_attr.h"

enum { WIDTH = 4, STEPS = 3, CALLS = 6, TRIPS = 5, LONG = 2050, ROWS = 3 };

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

static struct pith_model *empty(uint32_t n_inputs, uint32_t n_outputs)
{
    struct pith_model *m;
    check(pith_model_new(NULL, &m));
    m->values = pith_model_alloc(m, 16, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 8, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 2, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 2, sizeof *m->outputs);
    m->n_inputs = n_inputs;
    m->n_outputs = n_outputs;
    return m;
}

static uint32_t drawn(struct pith_model *m, struct test_random *r, const char *name, uint32_t rank,
                      const uint32_t *dim, float size)
{
    uint32_t v = add_weight(m, name, rank, dim);
    float *w = m->values[v].constant->data;
    for (uint64_t i = 0; i < m->values[v].constant->count; i++)
        w[i] = size * test_gauss(r);
    return v;
}

static struct pith_data *samples(struct test_random *r, uint64_t n, uint32_t elems)
{
    struct pith_data *data;
    float *x = malloc(n * elems * sizeof *x);
    assert_non_null(x);
    for (uint64_t i = 0; i < n * elems; i++)
        x[i] = test_gauss(r);
    check(pith_data_of_numbers(
        &(struct pith_numbers){.rank = 2, .dim = (uint32_t[]){1, elems}, .n = n, .x = x}, &data,
        &err));
    return data;
}

/* Elements that are much alike: noise besides a few patterns that all samples share. */
static struct pith_data *samples_alike(struct test_random *r, uint64_t n, uint32_t elems)
{
    enum { PATTERNS = 3 };
    struct pith_data *data;
    float *x = malloc(n * elems * sizeof *x), *pattern = malloc(PATTERNS * elems * sizeof *x);
    assert_true(x && pattern);
    for (uint32_t i = 0; i < PATTERNS * elems; i++)
        pattern[i] = test_gauss(r);
    for (uint64_t s = 0; s < n; s++) {
        const float by[PATTERNS] = {test_gauss(r), test_gauss(r), test_gauss(r)};
        for (uint32_t i = 0; i < elems; i++) {
            x[s * elems + i] = 0.1f * test_gauss(r);
            for (uint32_t k = 0; k < PATTERNS; k++)
                x[s * elems + i] += by[k] * pattern[k * elems + i];
        }
    }
    check(pith_data_of_numbers(
        &(struct pith_numbers){.rank = 2, .dim = (uint32_t[]){1, elems}, .n = n, .x = x}, &data,
        &err));
    free(pattern);
    return data;
}

static void outputs_of(struct pith_model *m, uint32_t n, const uint32_t *out)
{
    struct pith_node *node = &m->nodes[m->n_nodes - 1];
    node->n_out = n;
    node->out = pith_model_alloc(m, n, sizeof *node->out);
    memcpy(node->out, out, n * sizeof *out);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* x [STEPS, 1, WIDTH], h0 [1, WIDTH] -> h = tanh(x + R h + b) -> y, and the last h. */
static struct pith_model *recurrent_net(struct test_random *r, bool reverse)
{
    struct pith_model *m = empty(2, 2);
    m->inputs[0] = add_value(m, "x", 3, (uint32_t[]){STEPS, 1, WIDTH});
    m->inputs[1] = add_value(m, "h0", 2, (uint32_t[]){1, WIDTH});
    uint32_t w = drawn(m, r, "R", 2, (uint32_t[]){WIDTH, WIDTH}, 0.5f);
    uint32_t b = drawn(m, r, "b", 1, (uint32_t[]){WIDTH}, 0.2f);
    m->outputs[0] = add_value(m, "y", 3, (uint32_t[]){STEPS, 1, WIDTH});
    m->outputs[1] = add_value(m, "h", 2, (uint32_t[]){1, WIDTH});
    add_node(m, "cell", PITH_OP_RECURRENT, 5,
             (uint32_t[]){m->inputs[0], w, b, PITH_VALUE_NONE, m->inputs[1]}, m->outputs[0]);
    m->nodes[0].attr[ATTR_RECURRENT_KIND] = RECURRENT_RNN;
    m->nodes[0].attr[ATTR_RECURRENT_REVERSE] = reverse;
    outputs_of(m, 2, m->outputs);
    check(pith_model_infer_shapes(m, &err));
    return m;
}

static void step(const struct pith_model *m, const float *x, float *h)
{
    const float *w = m->values[m->nodes[0].in[1]].constant->data,
                *b = m->values[m->nodes[0].in[2]].constant->data;
    float was[WIDTH];
    memcpy(was, h, sizeof was);
    for (int i = 0; i < WIDTH; i++) {
        float sum = x[i] + b[i];
        for (int k = 0; k < WIDTH; k++)
            sum += w[i * WIDTH + k] * was[k];
        h[i] = tanhf(sum);
    }
}

static void expect_states(const struct pith_model *m, struct pith_data *data,
                          const struct layer_input *reader, bool reverse)
{
    float h[WIDTH] = {0}, x[STEPS * WIDTH], found[STEPS * WIDTH];
    assert_int_equal(reader->elems, STEPS * WIDTH);
    for (uint64_t call = 0; call < CALLS; call++) {
        check(pith_data_read(data, call, x, NULL, &err));
        check(pith_layer_input_read(reader, call, found, &err));
        for (int t = 0; t < STEPS; t++) {
            const int at = reverse ? STEPS - 1 - t : t;
            for (int i = 0; i < WIDTH; i++)
                assert_true(fabsf(found[at * WIDTH + i] - h[i]) < 1e-5f);
            step(m, x + at * WIDTH, h);
        }
    }
}

TEST(recurrent_weights_multiply_states)
{
    for (int reverse = 0; reverse < 2; reverse++) {
        struct test_random r = test_seed(31);
        struct pith_model *m = recurrent_net(&r, reverse);
        struct pith_data *data = samples(&r, CALLS, STEPS * WIDTH);
        const struct pith_feed_input in[2] = {{.data = data}, {0}};
        const struct pith_state back = {.output = 1, .input = 1};
        const struct pith_feed feed = {
            .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
        struct recorded_feed *calls;
        struct layer_walk *walk;
        struct layer_input reader;
        check(pith_recorded_feed_open(m, &feed, NULL, 0, &calls, &err));
        check(pith_layer_walk_open(
            m, &(struct layer_walk_opts){.feed = calls, .memory_bytes = 1 << 20}, &walk, &err));
        check(pith_layer_input_open(walk, 0, (struct body_span){0}, &reader, &err));
        expect_states(m, data, &reader, reverse);
        pith_layer_input_close(&reader);
        pith_layer_walk_close(walk);
        pith_recorded_feed_close(calls);
        pith_data_free(data);
        pith_model_free(m);
    }
}

/* Each network's own: half of what there was is not enough to say what there is. */
TEST(a_feed_is_swept_with_statistics)
{
    struct test_random r = test_seed(32);
    struct pith_model *m = recurrent_net(&r, false), *out = NULL;
    struct pith_data *data = samples(&r, 64, STEPS * WIDTH);
    const struct pith_feed_input in[2] = {{.data = data}, {0}};
    const struct pith_state back = {.output = 1, .input = 1};
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    struct pith_weight_sweep_report report;
    struct pith_weight_sweep_opts o = {.size_bytes = sizeof o, .lambda = 1e-3, .feed = &feed};
    check(pith_weight_sweep(m, NULL, &o, &out, &report, &err));
    assert_int_equal(report.n_layers, 1);
    assert_int_equal(report.n_data_free, 0);
    assert_non_null(out->values[m->nodes[0].in[1]].constant->codebook);
    pith_model_free(out);
    o.feed = NULL;
    assert_int_equal(pith_weight_sweep(m, data, &o, &out, NULL, &err), PITH_ERR_UNSUPPORTED);
    pith_data_free(data);
    pith_model_free(m);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* x [1, WIDTH]; TRIPS times h = relu(W h), h being x at first; h. */
static struct pith_model *loop_net(struct test_random *r)
{
    struct pith_model *m = empty(1, 1);
    const uint32_t dim[] = {1, WIDTH};
    uint32_t x = m->inputs[0] = add_value(m, "x", 2, dim);
    uint32_t w = drawn(m, r, "w", 2, (uint32_t[]){WIDTH, WIDTH}, 0.7f);
    uint32_t i = add_value(m, "i", 0, NULL), h = add_value(m, "h", 2, dim);
    add_node(m, "loop", PITH_OP_LOOP, 1, &x, i);
    m->values[i].type = PITH_I64;
    m->nodes[0].attr[ATTR_LOOP_TRIPS] = TRIPS;
    outputs_of(m, 2, (uint32_t[]){i, h});
    uint32_t y = add_value(m, "y", 2, dim), rect = add_value(m, "rect", 2, dim);
    add_node(m, "fc", PITH_OP_GEMM, 2, (uint32_t[]){h, w}, y);
    m->nodes[1].attr[ATTR_GEMM_TRANS_B] = 1;
    add_node(m, "relu", PITH_OP_RELU, 1, &y, rect);
    m->outputs[0] = add_value(m, "out", 2, dim);
    add_node(m, "end", PITH_OP_LOOP_END, 2, (uint32_t[]){h, rect}, m->outputs[0]);
    m->nodes[3].attr[ATTR_LOOP_TRIPS] = TRIPS;
    m->nodes[3].attr[ATTR_LOOP_STATES] = 1;
    check(pith_model_infer_shapes(m, &err));
    return m;
}

TEST(a_loop_shows_each_iteration)
{
    struct test_random r = test_seed(33);
    struct pith_model *m = loop_net(&r), *out = NULL;
    struct pith_data *data = samples(&r, CALLS, WIDTH);
    const float *w = m->values[m->nodes[1].in[1]].constant->data;
    struct recorded_feed *calls;
    struct layer_walk *walk;
    struct layer_input reader;
    float h[WIDTH], found[TRIPS * WIDTH];
    check(pith_recorded_feed_open(m, NULL, data, 0, &calls, &err));
    check(pith_layer_walk_open(m, &(struct layer_walk_opts){.feed = calls, .memory_bytes = 1 << 20},
                               &walk, &err));
    check(pith_layer_input_open(walk, 1, (struct body_span){0, 4}, &reader, &err));
    assert_int_equal(reader.elems, TRIPS * WIDTH);
    for (uint64_t call = 0; call < CALLS; call++) {
        check(pith_data_read(data, call, h, NULL, &err));
        check(pith_layer_input_read(&reader, call, found, &err));
        for (int t = 0; t < TRIPS; t++) {
            float next[WIDTH] = {0};
            for (int i = 0; i < WIDTH; i++)
                assert_true(fabsf(found[t * WIDTH + i] - h[i]) < 1e-5f);
            for (int i = 0; i < WIDTH * WIDTH; i++)
                next[i / WIDTH] += w[i] * h[i % WIDTH];
            for (int i = 0; i < WIDTH; i++)
                h[i] = fmaxf(next[i], 0);
        }
    }
    struct pith_weight_sweep_report report;
    struct pith_weight_sweep_opts o = {.size_bytes = sizeof o, .lambda = 1e-4};
    check(pith_weight_sweep(m, data, &o, &out, &report, &err));
    assert_int_equal(report.n_data_free, 0);
    pith_model_free(out);
    pith_layer_input_close(&reader);
    pith_layer_walk_close(walk);
    pith_recorded_feed_close(calls);
    pith_data_free(data);
    pith_model_free(m);
}

/* ---- long rows ------------------------------------------------------------------------------- */

/* Squared error of results on samples first .. last - 1: of the swept weight, or of w rounded to
 * its steps. */
static double error_of(const struct pith_const *w, const struct pith_const *swept, bool nearest,
                       struct pith_data *data, uint64_t first, uint64_t last)
{
    const float *a = w->data, *b = swept->data;
    const struct pith_codebook *c = swept->codebook;
    double sum = 0;
    float x[LONG];
    for (uint64_t s = first; s < last; s++) {
        check(pith_data_read(data, s, x, NULL, &err));
        for (uint64_t row = 0; row < ROWS; row++) {
            const uint64_t group = row * LONG / c->group_elems;
            const float unit = c->centroid[group * c->n_centroids + c->n_centroids / 2 + 1];
            double e = 0;
            for (uint64_t k = row * LONG; k < (row + 1) * LONG; k++)
                e += (double)(((nearest ? unit * nearbyintf(a[k] / unit) : b[k]) - a[k]) *
                              x[k % LONG]);
            sum += e * e;
        }
    }
    return sum;
}

TEST(long_rows_have_blocks)
{
    struct test_random r = test_seed(34);
    struct pith_model *m = gemm_model((uint32_t[]){LONG, ROWS}, 1), *out = NULL;
    m->nodes[0].attr[ATTR_GEMM_TRANS_B] = 1;
    fill_gauss(m, 0, &r);
    struct pith_data *data = samples_alike(&r, 40, LONG);
    struct pith_weight_sweep_report report;
    struct pith_weight_sweep_opts o = {.size_bytes = sizeof o, .lambda = 1e-4, .paths = 2};
    assert_int_equal(pith_layer_blocks(m, &m->nodes[0]), 2);
    check(pith_weight_sweep(m, data, &o, &out, &report, &err));
    assert_int_equal(report.n_data_free, 0);
    const struct pith_const *w = weight_of_layer(m, 0), *swept = weight_of_layer(out, 0);
    double found = error_of(w, swept, false, data, 0, 40),
           nearest = error_of(w, swept, true, data, 0, 40);
    if (!(found < 0.7 * nearest))
        fail_msg("error %g, of nearest integers %g", found, nearest);
    pith_model_free(out);
    pith_data_free(data);
    pith_model_free(m);
}

/* Samples that have nothing in common, fewer than columns: all of their errors could be made up
 * for, and none of that would hold for others. */
TEST(few_samples_are_believed_little)
{
    struct test_random r = test_seed(35);
    struct pith_model *m = gemm_model((uint32_t[]){LONG, ROWS}, 1), *out = NULL;
    m->nodes[0].attr[ATTR_GEMM_TRANS_B] = 1;
    fill_gauss(m, 0, &r);
    struct pith_data *data = samples(&r, 80, LONG);
    struct pith_weight_sweep_opts o = {
        .size_bytes = sizeof o, .lambda = 1e-5, .paths = 2, .samples = 40};
    check(pith_weight_sweep(m, data, &o, &out, NULL, &err));
    const struct pith_const *w = weight_of_layer(m, 0), *swept = weight_of_layer(out, 0);
    const double fitted = error_of(w, swept, false, data, 0, 40),
                 held_out = error_of(w, swept, false, data, 40, 80),
                 nearest = error_of(w, swept, true, data, 40, 80);
    if (!(held_out < 2 * fitted) || !(held_out < 1.05 * nearest))
        fail_msg("errors %g fitted, %g held out, %g of nearest integers", fitted, held_out,
                 nearest);
    pith_model_free(out);
    pith_data_free(data);
    pith_model_free(m);
}

RUN_TESTS
