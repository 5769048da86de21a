/* SPDX-License-Identifier: MIT */
/* A walk over two layers and three samples by hand: values as they are kept, changed, held and
 * mapped, in memory and in files; a weight that changes on the way. */
#include "test_run.h"
#include "gemm_model.h"
#include "layers/layer_walk.h"
#include "loop_model.h"
#include "op_interface/op_attr.h"

enum { X, W1, Y1, R1, W2, Y2, SAMPLES = 3 };

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

static struct pith_data *data_of(const float *x, uint64_t samples)
{
    struct pith_data *data;
    float *copy = malloc(samples * 2 * sizeof *copy);
    memcpy(copy, x, samples * 2 * sizeof *copy);
    check(pith_data_of_numbers(
        &(struct pith_numbers){.rank = 2, .dim = (uint32_t[]){1, 2}, .n = samples, .x = copy},
        &data, &err));
    return data;
}

static struct pith_model *two_layers(void)
{
    struct pith_model *m = gemm_model((const uint32_t[]){2, 2, 1}, 2);
    memcpy(m->values[W1].constant->data, ((float[]){1, -1, 2, 0}), 4 * sizeof(float));
    memcpy(m->values[W2].constant->data, ((float[]){1, 1}), 2 * sizeof(float));
    m->nodes[0].attr[ATTR_GEMM_TRANS_B] = m->nodes[2].attr[ATTR_GEMM_TRANS_B] = 1;
    return m;
}

static enum pith_status at_most_four(void *user, uint32_t value, uint64_t sample, void *data,
                                     struct pith_error *error)
{
    float *x = data;
    (void)user, (void)sample, (void)error;
    for (int k = 0; k < 2 && value == R1; k++)
        x[k] = x[k] < 4 ? x[k] : 4;
    return PITH_OK;
}

static void expect(struct layer_walk *w, uint32_t value, const float *wanted, size_t n)
{
    const void *data = NULL;
    check(pith_layer_walk_map(w, value, &data, &err));
    assert_memory_equal(data, wanted, n * sizeof *wanted);
}

TEST(values_of_two_layers)
{
    for (int in_files = 0; in_files < 2; in_files++) {
        struct pith_model *m = two_layers();
        struct pith_data *data = data_of((float[]){1, 2, 3, 1, 0, -1}, SAMPLES);
        struct recorded_feed *feed;
        struct layer_walk *w;
        float one[2];
        check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
        const struct layer_walk_opts o = {
            .feed = feed, .memory_bytes = in_files ? 0 : 1 << 20, .change = at_most_four};
        check(pith_layer_walk_open(m, &o, &w, &err));
        assert_int_equal(pith_layer_walk_samples(w), SAMPLES);
        pith_layer_walk_hold(w, Y2, 4);
        check(pith_layer_walk_to(w, 2, &err)); /* (0 2) (2 6) (1 0), but for the 6 */
        expect(w, R1, (const float[]){0, 2, 2, 4, 1, 0}, 6);
        expect(w, X, (const float[]){1, 2, 3, 1, 0, -1}, 6);
        check(pith_layer_walk_read(w, R1, 1, one, &err));
        assert_true(one[0] == 2 && one[1] == 4);
        ((float *)m->values[W2].constant->data)[0] = 2;
        check(pith_layer_walk_to(w, 4, &err));
        expect(w, Y2, (const float[]){2, 8, 2}, 3);
        pith_layer_walk_close(w);
        pith_recorded_feed_close(feed);
        pith_data_free(data);
        pith_model_free(m);
    }
}

static enum pith_status refuse_one(void *user, uint32_t value, uint64_t sample, void *data,
                                   struct pith_error *error)
{
    (void)data, (void)error;
    return value == *(uint32_t *)user && sample == 1 ? PITH_ERR_IO : PITH_OK;
}

/* Of a value that comes from the feed, and of one that is kept. */
TEST(failing_changes_end_the_walk)
{
    for (uint32_t value = X; value <= R1; value += R1 - X) {
        struct pith_model *m = two_layers();
        struct pith_data *data = data_of((float[]){1, 2, 3, 1, 0, -1}, SAMPLES);
        struct recorded_feed *feed;
        struct layer_walk *w;
        check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
        const struct layer_walk_opts o = {
            .feed = feed, .memory_bytes = 1 << 20, .change = refuse_one, .user = &value};
        check(pith_layer_walk_open(m, &o, &w, &err));
        assert_int_equal(pith_layer_walk_to(w, 2, &err), PITH_ERR_IO);
        pith_layer_walk_close(w);
        pith_recorded_feed_close(feed);
        pith_data_free(data);
        pith_model_free(m);
    }
}

/* A layer's input, all of it, of so many samples of x. elems: of a sample, 0 where samples differ.
 */
static void expect_input(const struct pith_model *m, uint32_t node, const float *x,
                         uint64_t samples, uint64_t elems, const float *wanted, uint64_t records,
                         size_t n)
{
    struct pith_data *data = data_of(x, samples);
    struct recorded_feed *feed;
    struct layer_walk *w;
    struct layer_input in;
    const void *all;
    float *one = malloc((elems + 1) * sizeof *one);
    uint64_t count;
    check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    check(pith_layer_walk_open(m, &o, &w, &err));
    check(pith_layer_walk_to(w, node, &err));
    check(pith_layer_input_open(w, node, pith_layer_walk_body(w, node), &in, &err));
    assert_int_equal(in.elems, elems);
    for (uint64_t i = 0; i < samples && elems; i++) {
        check(pith_layer_input_read(&in, i, one, &err));
        assert_memory_equal(one, wanted + i * elems, elems * sizeof *one);
    }
    if (!in.is_state) {
        check(pith_layer_input_map(&in, &all, &count, &err));
        assert_int_equal(count, records);
        assert_memory_equal(all, wanted, n * sizeof *wanted);
    }
    free(one);
    pith_layer_input_close(&in);
    pith_layer_walk_close(w);
    pith_recorded_feed_close(feed);
    pith_data_free(data);
}

/* A sum begins as x and grows by x, three times, or while its elements' is below 10: (4 4) does so
 * once. The body's Add reads it each time; room is for as many in each sample as in the first. */
TEST(inputs_in_a_loop)
{
    enum { LOOP = 2, ADD, END = 6 };
    struct loop_model l = loop_model(3, 10);
    struct pith_data *data = data_of((float[]){1, 2}, 1);
    struct recorded_feed *feed;
    struct layer_walk *w;
    check(pith_recorded_feed_open(l.m, NULL, data, 0, &feed, &err));
    check(pith_layer_walk_open(l.m, &(struct layer_walk_opts){.feed = feed}, &w, &err));
    for (uint32_t i = 0; i <= l.m->n_nodes; i++) {
        const bool in = i >= LOOP && i <= END;
        const struct body_span body = pith_layer_walk_body(w, i);
        assert_true(body.begin == (in ? LOOP : 0) && body.end == (in ? END + 1 : 0));
    }
    pith_layer_walk_close(w);
    pith_recorded_feed_close(feed);
    pith_data_free(data);
    expect_input(l.m, ADD, (const float[]){1, 2, 1, 1}, 2, 6,
                 (const float[]){1, 2, 2, 4, 3, 6, 1, 1, 2, 2, 3, 3}, 6, 12);
    expect_input(l.m, ADD, (const float[]){1, 2, 4, 4, 1, 1}, 3, 0,
                 (const float[]){1, 2, 2, 4, 3, 6, 4, 4, 1, 1, 2, 2, 3, 3}, 7, 14);
    expect_input(l.m, ADD, (const float[]){4, 4, 1, 2, 1, 1}, 3, 0,
                 (const float[]){4, 4, 1, 2, 2, 4}, 3, 6);
    expect_input(l.m, END + 1, (const float[]){1, 2, 4, 4}, 2, 2, (const float[]){4, 8, 8, 8}, 2,
                 4);
    pith_model_free(l.m);
}

/* h = relu(x + 2 h), of two steps: the state before each is 0, or 3, at first, then h. Nothing
 * reads but the last state. */
TEST(states_before_each_step)
{
    static const struct {
        int32_t reverse;
        float first; /* 0: none */
        float before[4];
    } of[] = {
        {0, 0, {0, 1, 0, 3}}, {1, 0, {2, 0, 0, 0}}, {0, 3, {3, 7, 3, 9}}, {1, 3, {8, 3, 5, 3}}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct pith_model *m;
        check(pith_model_new(NULL, &m));
        m->values = pith_model_alloc(m, 16, sizeof *m->values);
        m->nodes = pith_model_alloc(m, 2, sizeof *m->nodes);
        m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
        m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
        const uint32_t x = loop_value(m, "x", 2, (const uint32_t[]){1, 2}),
                       r = loop_constant(m, "r", 2), h0 = loop_constant(m, "h0", of[i].first);
        m->inputs[m->n_inputs++] = x;
        m->values[r].rank = 2;
        m->values[h0].rank = 2;
        for (int k = 0; k < 2; k++)
            m->values[r].dim[k] = m->values[h0].dim[k] = 1;
        struct pith_node *turn = loop_node(m, PITH_OP_RESHAPE, "steps", 1, &x, 1);
        turn->attr[0] = 3;
        for (int k = 0; k < 3; k++)
            turn->attr[1 + k] = k ? 1 : 2;
        const uint32_t none = PITH_VALUE_NONE,
                       in[] = {turn->out[0], r, none, none, of[i].first > 0 ? h0 : none};
        struct pith_node *recur = loop_node(m, PITH_OP_RECURRENT, "recur", 5, in, 2);
        recur->attr[ATTR_RECURRENT_KIND] = RECURRENT_RNN;
        recur->attr[ATTR_RECURRENT_REVERSE] = of[i].reverse;
        recur->attr[ATTR_RECURRENT_ACT] = 1;
        recur->attr[ATTR_RECURRENT_ACT + 1] = RECURRENT_RELU;
        m->outputs[m->n_outputs++] = recur->out[1];
        SUCCEEDS(pith_model_infer_shapes(m, &err));
        recur->out[0] = none;
        expect_input(m, 1, (const float[]){1, 2, 3, -1}, 2, 2, of[i].before, 2, 4);
        pith_model_free(m);
    }
}

RUN_TESTS
