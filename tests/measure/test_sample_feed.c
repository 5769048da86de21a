/* SPDX-License-Identifier: MIT */
/* test_sample_feed.c - several inputs, constants and states, on y = x + s, where every call's
 * answer can be summed by hand. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "test_run.h"
#include "measure/recorded_feed.h"
#include "small_net.h"

enum { WIDTH = 2 };

/* y = x + s; x, s: [1, WIDTH] */
static struct pith_model *sum_net(void)
{
    struct pith_model *m = sample_new();
    const uint32_t dim[] = {1, WIDTH};
    uint32_t in[2] = {add_value(m, "x", PITH_F32, 2, dim), add_value(m, "s", PITH_F32, 2, dim)};
    m->inputs[m->n_inputs++] = in[0];
    m->inputs[m->n_inputs++] = in[1];
    return sample_done(m, add_node(m, PITH_OP_ADD, "sum", "y", 2, in)->out[0]);
}

/* Rows of `n_in` values; as a data set for inputs of WIDTH, whole steps allowed. */
static struct pith_data *steps_of(const float *x, uint32_t rows, uint32_t n_in, const char *labels)
{
    struct pith_buffer npy = {0};
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (uint32_t[]){rows, n_in}, x, &npy, &err), PITH_OK);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "x.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .labels = labels,
                               .rank = 2,
                               .dim = {1, WIDTH},
                               .steps = true};
    SUCCEEDS(pith_data_open(&o, &d, &err));
    pith_buffer_free(&npy);
    return d;
}

struct taken {
    struct pith_plan *plan;
    float y[8 * WIDTH];
    uint64_t n, stop_at;
};

static bool take(void *user, uint64_t sample)
{
    struct taken *t = user;
    assert_int_equal(sample, t->n);
    memcpy(t->y + WIDTH * t->n++, pith_plan_output_data(t->plan, 0), WIDTH * sizeof *t->y);
    return t->n != t->stop_at;
}

static enum pith_status run_feed(struct pith_engine *e, const struct pith_feed *feed,
                                 struct taken *t, struct pith_error *err)
{
    t->plan = pith_engine_plan(e);
    t->n = 0;
    return pith_feed_run(e, feed, take, t, err);
}

static void expect(const struct taken *t, uint64_t n, const float *want)
{
    assert_int_equal(t->n, n);
    for (uint64_t i = 0; i < n * WIDTH; i++)
        if (t->y[i] != want[i])
            fail_msg("value %d: %g, expected %g", (int)i, (double)t->y[i], (double)want[i]);
}

static const float rows[] = {1, 10, 2, 20, 3, 30, 4, 40};
static const struct pith_state back = {.output = 0, .input = 1};

TEST(a_stream_carries_its_state)
{
    struct pith_model *m = sum_net();
    struct pith_engine *e = engine_of(m);
    struct pith_data *d = steps_of(rows, 4, WIDTH, NULL);
    struct pith_feed_input in[2] = {{.data = d}, {0}};
    struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    struct taken t = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_feed_count(&feed), 4);
    for (int twice = 0; twice < 2; twice++) { /* each run begins anew */
        assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
        expect(&t, 4, (float[]){1, 10, 3, 30, 6, 60, 10, 100});
    }
    const float first[] = {100, -1};
    const struct pith_state from_first = {.output = 0, .input = 1, .first = first};
    feed.state = &from_first;
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
    expect(&t, 4, (float[]){101, 9, 103, 29, 106, 59, 110, 99});
    pith_data_free(d);
    pith_engine_close(e);
    pith_model_free(m);
}

TEST(a_sequence_begins_anew_and_gives_its_last_answer)
{
    struct pith_model *m = sum_net();
    struct pith_engine *e = engine_of(m);
    struct pith_data *d = steps_of(rows, 2, 2 * WIDTH, NULL);
    struct pith_feed_input in[2] = {{.data = d}, {0}};
    struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    struct taken t = {0};
    struct pith_error err = {0};
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
    expect(&t, 2, (float[]){3, 30, 7, 70});
    t.stop_at = 1;
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "stopped after 1 samples");
    pith_data_free(d);
    pith_engine_close(e);
    pith_model_free(m);
}

/* The answers of a stream all count, those of sequences once: labels 0 or 1, the larger of two. */
TEST(accuracy_of_streams_and_sequences)
{
    struct pith_model *m = sum_net();
    struct pith_engine *e = engine_of(m);
    const float x[] = {1, 0, 0, 3, 5, 0, 0, 1};
    struct pith_error err = {0};
    struct pith_accuracy a;
    struct pith_feed_input in[2] = {{0}};
    struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    char *labels = text_file("0\n1\n0\n0\n"); /* sums (1,0) (1,3) (6,3) (6,4) */
    in[0].data = steps_of(x, 4, WIDTH, labels);
    assert_int_equal(pith_evaluate(e, &feed, NULL, &a, &err), PITH_OK);
    assert_int_equal(a.samples, 4);
    assert_int_equal(a.correct1, 4);
    pith_data_free(in[0].data);
    unlink(labels);
    labels = text_file("1\n0\n"); /* last sums (1,3) and (5,1) */
    in[0].data = steps_of(x, 2, 2 * WIDTH, labels);
    assert_int_equal(pith_evaluate(e, &feed, NULL, &a, &err), PITH_OK);
    assert_int_equal(a.samples, 2);
    assert_int_equal(a.correct1, 2);
    uint64_t table[4] = {0};
    assert_int_equal(pith_confusion(e, &feed, NULL, table, 2, &err), PITH_OK);
    assert_true(table[0] == 1 && table[3] == 1 && table[1] == 0 && table[2] == 0);
    pith_data_free(in[0].data);
    unlink(labels);
    pith_engine_close(e);
    pith_model_free(m);
}

TEST(constants_and_two_data_sets)
{
    struct pith_model *m = sum_net();
    struct pith_engine *e = engine_of(m);
    struct pith_data *d = steps_of(rows, 2, WIDTH, NULL),
                     *other = steps_of(rows + 4, 2, WIDTH, NULL);
    const float constant[] = {0.5f, -0.5f};
    struct pith_feed_input in[2] = {{.data = d}, {.constant = constant}};
    struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 2, .input = in};
    struct taken t = {0};
    struct pith_error err = {0};
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
    expect(&t, 2, (float[]){1.5f, 9.5f, 2.5f, 19.5f});
    in[1] = (struct pith_feed_input){.data = other};
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
    expect(&t, 2, (float[]){4, 40, 6, 60});
    in[0] = (struct pith_feed_input){.constant = constant};
    in[1] = in[0];
    assert_int_equal(pith_feed_count(&feed), 1);
    assert_int_equal(run_feed(e, &feed, &t, &err), PITH_OK);
    expect(&t, 1, (float[]){1, -1});
    pith_data_free(d);
    pith_data_free(other);
    pith_engine_close(e);
    pith_model_free(m);
}

static void expect_refusal(struct pith_engine *e, const struct pith_feed *feed, const char *text)
{
    struct pith_error err = {0};
    struct taken t = {0};
    assert_int_equal(run_feed(e, feed, &t, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, text);
    assert_int_equal(t.n, 0);
}

TEST(what_does_not_fit_is_named)
{
    struct pith_model *m = sum_net(), *wide = small_net(WIDTH, 3, rows, false);
    struct pith_engine *e = engine_of(m), *w = engine_of(wide);
    struct pith_data *two = steps_of(rows, 2, WIDTH, NULL), *three = steps_of(rows, 3, WIDTH, NULL);
    struct pith_data *sequence = steps_of(rows, 2, 2 * WIDTH, NULL);
    struct pith_feed_input in[2] = {{.data = two}, {0}};
    struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 2, .input = in};
    struct pith_error err = {0};
    expect_refusal(e, &feed,
                   "input 's' of the model's 2 is not given: feed each by name (s=FILE), or freeze "
                   "it at import with --set-input");
    assert_int_equal(pith_feed_check(e, &feed, &err), PITH_OK); /* what is given fits */
    in[1].data = three;
    expect_refusal(e, &feed, "the data for input 's' has 3 samples, that of another input 2");
    in[1].data = sequence;
    expect_refusal(e, &feed, "a sample has 4 values, the model's input 's' 2");
    in[1].data = two;
    feed.n_states = 1;
    feed.state = &back;
    expect_refusal(e, &feed, "input 's' is given more than once");
    const struct pith_state none = {.output = 1, .input = 1};
    feed.state = &none;
    expect_refusal(e, &feed, "a state from output 1 to input 1: the model has 1 and 2");
    feed.n_inputs = 1;
    expect_refusal(e, &feed, "the model has 2 inputs: data is given for 1");
    const struct pith_state to_x = {.output = 0, .input = 0};
    feed.state = &to_x;
    expect_refusal(w, &feed,
                   "output 'fc.out' (f32, 12 bytes) cannot come back as input 'x' (f32, 8 bytes)");
    pith_data_free(two);
    pith_data_free(three);
    pith_data_free(sequence);
    pith_engine_close(e);
    pith_engine_close(w);
    pith_model_free(m);
    pith_model_free(wide);
}

/* A and B keep states of their own: B doubles, so its sums are twice A's. */
TEST(comparing_streams)
{
    struct pith_model *a = sum_net(), *b = sum_net();
    struct pith_data *d = steps_of(rows, 4, WIDTH, NULL);
    struct pith_feed_input in[2] = {{.data = d}, {0}};
    struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    struct pith_dump dump_a = {.name = "sum"}, dump_b = {.name = "sum"}, nothing = {.name = "x"};
    struct pith_compare_opts o = {
        .size_bytes = sizeof o, .feed = &feed, .n_dumps = 1, .dump_a = &dump_a, .dump_b = &dump_b};
    struct pith_comparison c;
    struct pith_buffer npy;
    struct pith_array array;
    struct pith_error err = {0};
    assert_int_equal(pith_compare(a, b, &o, &c, &err), PITH_OK);
    assert_int_equal(c.samples, 4);
    assert_true(c.output.equal_bits);
    assert_true(c.output.range == 99); /* 100 - 1 */
    assert_int_equal(c.n_layers, 0);   /* not requested */
    pith_comparison_free(&c);
    assert_int_equal(pith_dump_npy(&dump_b, &npy, &err), PITH_OK);
    assert_int_equal(pith_npy_read(npy.data, npy.bytes, "dump", &array, &err), PITH_OK);
    assert_true(array.rank == 3 && array.dim[0] == 4 && array.dim[1] == 1 && array.dim[2] == WIDTH);
    assert_true(((const float *)array.data)[7] == 100);
    assert_int_equal(pith_dump_npy(&nothing, &npy, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "no layer gives 'x'");
    pith_array_free(&array);
    pith_buffer_free(&npy);
    pith_dump_free(&dump_a);
    pith_dump_free(&dump_b);
    pith_data_free(d);
    pith_model_free(a);
    pith_model_free(b);
}

/* Of several outputs and layers of one name, the requested one. */
TEST(dumps_distinguish_outputs)
{
    const float x[3] = {1, 2, 3};
    struct pith_dump d = {.name = "split", .label = "half", .step = 4, .output = 1};
    for (uint32_t i = 0; i < 12; i++) {
        const struct pith_layer layer = {.step = 4 + i / 3 % 2, .output = i % 3};
        const struct pith_tensor t = {.name = "split",
                                      .name_bytes = 5,
                                      .type = PITH_F32,
                                      .rank = 1,
                                      .dim = {1 + i % 3},
                                      .bytes = 4 * (1 + i % 3),
                                      .data = x};
        pith_dump_see(&d, 1, &layer, &t);
    }
    assert_int_equal(d.status, PITH_OK);
    assert_int_equal(d.n_samples, 2);
    assert_int_equal(d.dim[0], 2);
    const struct pith_layer layer = {.step = 4, .output = 1};
    const struct pith_tensor other = {.name = "split",
                                      .name_bytes = 5,
                                      .type = PITH_F32,
                                      .rank = 1,
                                      .dim = {1},
                                      .bytes = 4,
                                      .data = x};
    pith_dump_see(&d, 1, &layer, &other); /* another shape cannot be stacked */
    assert_int_equal(d.status, PITH_ERR_UNSUPPORTED);
    struct pith_buffer npy;
    struct pith_error err;
    assert_int_equal(pith_dump_npy(&d, &npy, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text,
                        "cannot store 'half': it has 8 axes, or its shape changes between calls");
    pith_dump_free(&d);
}

static void expect_call(struct recorded_feed *r, uint64_t call, const float *x, const float *s)
{
    struct pith_error err = {0};
    float got[2][WIDTH];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pith_recorded_feed_read(r, i, call, got[i], &err), PITH_OK);
    assert_memory_equal(got[0], x, sizeof got[0]);
    assert_memory_equal(got[1], s, sizeof got[1]);
}

/* Two samples of two steps: the state of a second step is the first one's sum; in any order. */
TEST(recorded_calls_may_be_read_again)
{
    struct pith_model *m = sum_net();
    struct pith_data *d = steps_of(rows, 2, 2 * WIDTH, NULL);
    struct pith_feed_input in[2] = {{.data = d}, {0}};
    struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    struct recorded_feed *r;
    struct pith_error err = {0};
    const float none[WIDTH] = {0}, one[WIDTH] = {7, 8};
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 0, &r, &err), PITH_OK);
    assert_int_equal(pith_recorded_feed_calls(r), 4);
    expect_call(r, 3, rows + 3 * WIDTH, rows + 2 * WIDTH);
    expect_call(r, 1, rows + WIDTH, rows);
    expect_call(r, 2, rows + 2 * WIDTH, none);
    pith_recorded_feed_close(r);
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 1, &r, &err), PITH_OK);
    assert_int_equal(pith_recorded_feed_calls(r), 2);
    pith_recorded_feed_close(r);
    pith_data_free(d);
    in[0].data = d = steps_of(rows, 4, WIDTH, NULL);
    in[1].constant = one;
    feed.n_states = 0;
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 3, &r, &err), PITH_OK);
    assert_int_equal(pith_recorded_feed_calls(r), 3);
    expect_call(r, 2, rows + 2 * WIDTH, one);
    pith_recorded_feed_close(r);
    in[1].constant = NULL;
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 0, &r, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "input 's' is not given");
    assert_int_equal(pith_recorded_feed_open(m, NULL, d, 0, &r, &err), PITH_ERR_UNSUPPORTED);
    feed.n_inputs = 1;
    assert_int_equal(pith_recorded_feed_open(m, &feed, NULL, 0, &r, &err), PITH_ERR_ARGUMENT);
    pith_data_free(d);
    pith_model_free(m);
}

RUN_TESTS
