/* SPDX-License-Identifier: MIT */
/* Trials that begin in the middle of a run say what whole ones say. */
#include <math.h>
#include "test_run.h"
#include "loop_model.h"
#include "calibrate/output_trial.h"

#define WIDE 5
#define SAMPLES 3

struct change {
    uint32_t value; /* becomes larger by a tenth */
    uint32_t calls[PITH_TRIAL_LANES];
};

static uint32_t calls_of(const struct change *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < PITH_TRIAL_LANES; i++)
        n += c->calls[i];
    return n;
}

static void grow(void *user, uint32_t lane, uint32_t value, float *x, size_t n)
{
    struct change *c = user;
    c->calls[lane]++;
    for (size_t i = 0; i < n && value == c->value; i++)
        x[i] *= 1.1f;
}

/* Values are read by the next node and by later ones, so some lie in the place of others and some
 * do not. One is of booleans, which never change, but which some middles have to have. */
static struct pith_model *network(void)
{
    struct pith_model *m;
    struct pith_error err = {0};
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    m->values = pith_model_alloc(m, 16, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 8, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 2, sizeof *m->outputs);
    uint32_t x = m->inputs[m->n_inputs++] = loop_value(m, "x", 2, (const uint32_t[]){1, WIDE});
    uint32_t a = loop_node(m, PITH_OP_RELU, "a", 1, &x, 1)->out[0];
    struct pith_node *less = loop_node(m, PITH_OP_COMPARE, "is", 2, (const uint32_t[]){x, a}, 1);
    less->attr[ATTR_KIND] = COMPARE_LESS;
    uint32_t b = loop_node(m, PITH_OP_ADD, "b", 2, (const uint32_t[]){a, x}, 1)->out[0];
    uint32_t c = loop_node(m, PITH_OP_SIGMOID, "c", 1, &b, 1)->out[0];
    const uint32_t either[] = {less->out[0], c, x};
    uint32_t w = loop_node(m, PITH_OP_WHERE, "w", 3, either, 1)->out[0];
    uint32_t d = loop_node(m, PITH_OP_CONCAT, "d", 2, (const uint32_t[]){w, a}, 1)->out[0];
    uint32_t e = loop_node(m, PITH_OP_RELU, "e", 1, &d, 1)->out[0];
    uint32_t f = loop_node(m, PITH_OP_MUL, "f", 2, (const uint32_t[]){e, e}, 1)->out[0];
    m->outputs[m->n_outputs++] = b; /* observed before the middle of some */
    m->outputs[m->n_outputs++] = f;
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    return m;
}

static struct pith_data *samples(uint32_t wide)
{
    float x[SAMPLES * WIDE];
    struct pith_buffer npy = {0};
    struct pith_data *data = NULL;
    for (uint32_t i = 0; i < SAMPLES * wide; i++)
        x[i] = (float)((int)(i * 37 % 23) - 11) / 4;
    assert_int_equal(pith_npy_write(PITH_F32, 2, (const uint32_t[]){SAMPLES, wide}, x, &npy, NULL),
                     PITH_OK);
    struct pith_data_opts d = {.size_bytes = sizeof d,
                               .path = "x.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, wide}};
    assert_int_equal(pith_data_open(&d, &data, NULL), PITH_OK);
    pith_buffer_free(&npy);
    return data;
}

/* Nodes from that step on whose results are shown. */
static uint32_t numbers_from(const struct pith_model *m, uint32_t step)
{
    uint32_t n = 0;
    for (; step < m->n_nodes; step++)
        n += m->values[m->nodes[step].out[0]].type == PITH_F32;
    return n;
}

static void open_trial(struct output_trial *t, struct change *c, struct pith_model *m,
                       const struct pith_calibrate_opts *o, size_t most_bytes)
{
    struct pith_error err = {0};
    *t = (struct output_trial){.change = grow, .user = c, .most_bytes = most_bytes};
    SUCCEEDS(pith_output_trial_open(t, m, o, SAMPLES, &err));
}

static double error_of(struct output_trial *t, struct change *c, uint32_t value, uint32_t sample)
{
    double error;
    c->value = value;
    memset(c->calls, 0, sizeof c->calls);
    assert_int_equal(pith_output_trial_run(t, sample, sample + 1, INFINITY, &error), PITH_OK);
    return error;
}

/* Steps go up, so that middles before have left places on the way; room: for so many bytes; the
 * second run of a sample is shorter, if there is room for it. */
static void check_middles(size_t room, uint32_t threads)
{
    struct pith_model *m = network();
    struct pith_data *data = samples(WIDE);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data, .threads = threads};
    struct change c = {0};
    struct output_trial t;
    open_trial(&t, &c, m, &o, room);
    for (uint32_t step = 0; step < m->n_nodes; step++)
        for (int round = 0; round < 3; round++) {
            if (numbers_from(m, step) == numbers_from(m, step + 1))
                continue;
            uint32_t later = m->nodes[round == 1 ? m->n_nodes - 1 : step].out[0];
            double whole[SAMPLES], behind[SAMPLES];
            for (uint32_t i = 0; i < SAMPLES; i++) {
                pith_output_trial_behind(&t, NO_STEP);
                whole[i] = error_of(&t, &c, later, i);
                assert_int_equal(calls_of(&c), numbers_from(m, 0) + 1);
            }
            pith_output_trial_behind(&t, step);
            for (int again = 0; again < 3; again++)
                for (uint32_t i = 0; i < SAMPLES; i++) {
                    behind[i] = error_of(&t, &c, later, i);
                    if (behind[i] != whole[i] || whole[i] <= 0)
                        fail_msg("step %u, sample %u: %g, whole %g", step, i, behind[i], whole[i]);
                    if (room == 0)
                        assert_int_equal(calls_of(&c), numbers_from(m, 0) + 1);
                    else if (again == 0) /* from the start or a place on the way */
                        assert_in_range(calls_of(&c), numbers_from(m, step),
                                        numbers_from(m, 0) + 1);
                    else if (room > 10000)
                        assert_int_equal(calls_of(&c), numbers_from(m, step));
                }
        }
    pith_output_trial_close(&t);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(test_same_errors)
{
    check_middles(1 << 20, 1);
}

TEST(test_without_room)
{
    check_middles(0, 1);
    check_middles(2 * WIDE * sizeof(float), 1);
}

/* Whatever ran beside a sample, and however many did. */
TEST(test_lanes)
{
    double error[4], first[2];
    check_middles(1 << 20, 2);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct pith_model *m = network();
        struct pith_data *data = samples(WIDE);
        struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data, .threads = threads};
        struct change c = {.value = m->nodes[2].out[0]};
        struct output_trial t;
        open_trial(&t, &c, m, &o, 1 << 20);
        assert_int_equal(t.n_lanes, threads < SAMPLES ? threads : SAMPLES);
        pith_output_trial_behind(&t, 2);
        assert_int_equal(pith_output_trial_run(&t, 0, SAMPLES, INFINITY, &error[0]), PITH_OK);
        assert_int_equal(pith_output_trial_run(&t, 0, 1, INFINITY, &error[1]), PITH_OK);
        assert_int_equal(pith_output_trial_run(&t, 0, SAMPLES, error[1], &error[2]), PITH_OK);
        assert_int_equal(pith_output_trial_run(&t, 0, SAMPLES, 0, &error[3]), PITH_OK);
        assert_true(error[0] > error[1] && error[1] > 0);
        assert_true(error[2] == error[1] && error[3] == 0);
        if (threads == 1)
            memcpy(first, error, sizeof first);
        assert_memory_equal(first, error, sizeof first);
        assert_int_equal(t.n_runs, 2 * SAMPLES + 2);
        pith_output_trial_close(&t);
        pith_data_free(data);
        pith_model_free(m);
    }
}

/* What a loop runs depends on its condition: no middle. */
TEST(test_loop)
{
    struct loop_model l = loop_model(5, 10);
    struct pith_data *data = samples(2);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data};
    struct change c = {0};
    struct output_trial t;
    open_trial(&t, &c, l.m, &o, 1 << 20);
    pith_output_trial_behind(&t, l.m->n_nodes - 1);
    double first = error_of(&t, &c, l.out, 0);
    uint32_t calls = calls_of(&c);
    assert_true(error_of(&t, &c, l.out, 0) == first);
    assert_int_equal(calls_of(&c), calls);
    pith_output_trial_close(&t);
    pith_data_free(data);
    pith_model_free(l.m);
}

RUN_TESTS
