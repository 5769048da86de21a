/* SPDX-License-Identifier: MIT */
/* Loops laid out and batches opened: forward against the runtime, which does neither, and
 * gradients through the iterations against differences. */
#include <stdint.h>
#include "test_run.h"
#include "sample_models.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"
#include "pith_host.h"
#include "pith_train.h"
#include "pith_value_stats.h"

/* ---- models ---------------------------------------------------------------------------------- */

enum { STEPS = 5, WIDE = 3, STATE = 4 };

static void set_list(int32_t *list, uint32_t n, const int32_t *v)
{
    list[0] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        list[1 + i] = v[i];
}

static uint32_t input(struct pith_model *m, uint32_t rank, const uint32_t *dim)
{
    uint32_t x = add_input(m, "x", rank, dim);
    return x;
}

static uint32_t one_node(struct pith_model *m, uint32_t op, const char *name, uint32_t n,
                         const uint32_t *in)
{
    return add_node(m, op, name, name, n, in)->out[0];
}

static struct pith_node *with_outputs(struct pith_model *m, struct pith_node *node, uint32_t n)
{
    uint32_t first = node->out[0];
    node->out = pith_model_alloc(m, n, sizeof *node->out);
    node->n_out = n;
    node->out[0] = first;
    for (uint32_t i = 1; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.%u", node->name, i);
        node->out[i] = add_value(m, name, PITH_F32, 0, NULL);
    }
    return node;
}

static uint32_t reshape(struct pith_model *m, const char *name, uint32_t x, uint32_t n,
                        const int32_t *dim)
{
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, name, name, 1, &x);
    set_list(node->attr + ATTR_RESHAPE_DIMS, n, dim);
    return node->out[0];
}

/* s' = tanh(W x_t + b + M s + s), from a constant s of one row; collected: s o s. `inner`: M s
 * comes out of a loop in the loop, which takes M s twice. */
static struct pith_model *loop_net(bool inner, bool collect)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    uint32_t x = input(m, 2, (const uint32_t[]){1, STEPS * WIDE});
    uint32_t s0 = add_constant(m, &r, "s0", 2, (const uint32_t[]){1, STATE});
    uint32_t matrix = add_constant(m, &r, "matrix", 2, (const uint32_t[]){STATE, STATE});
    x = reshape(m, "rows", x, 3, (const int32_t[]){STEPS, 1, WIDE});
    struct pith_node *loop = with_outputs(m, add_node(m, PITH_OP_LOOP, "loop", "t", 1, &s0), 2);
    loop->attr[ATTR_LOOP_TRIPS] = STEPS;
    uint32_t t = loop->out[0], s = loop->out[1];
    uint32_t at = one_node(m, PITH_OP_GATHER, "row", 2, (const uint32_t[]){x, t});
    uint32_t a = add_layer(m, &r, PITH_OP_GEMM, "in", at, 2, (const uint32_t[]){STATE, WIDE});
    uint32_t b = s;
    struct pith_node *in_loop = NULL;
    if (inner) {
        in_loop = with_outputs(m, add_node(m, PITH_OP_LOOP, "inner", "u", 1, &s), 2);
        in_loop->attr[ATTR_LOOP_TRIPS] = 2;
        b = in_loop->out[1];
    }
    b = add_node(m, PITH_OP_MATMUL, "turn", "turned", 2, (const uint32_t[]){b, matrix})->out[0];
    m->nodes[m->n_nodes - 1].attr[0] = 1;
    if (inner) {
        struct pith_node *end = add_node(m, PITH_OP_LOOP_END, "inner_end", "v", 2,
                                         (const uint32_t[]){in_loop->out[1], b});
        end->attr[ATTR_LOOP_TRIPS] = 2;
        end->attr[ATTR_LOOP_STATES] = 1;
        b = end->out[0];
    }
    uint32_t sum = one_node(m, PITH_OP_ADD, "sum", 2, (const uint32_t[]){a, b});
    uint32_t sum2 = one_node(m, PITH_OP_ADD, "sum2", 2, (const uint32_t[]){sum, s});
    uint32_t next = one_node(m, PITH_OP_TANH, "next", 1, &sum2);
    uint32_t square = one_node(m, PITH_OP_MUL, "square", 2, (const uint32_t[]){next, next});
    struct pith_node *end = add_node(m, PITH_OP_LOOP_END, "end", "last", 2u + collect,
                                     (const uint32_t[]){s, next, square});
    with_outputs(m, end, 1u + collect);
    end->attr[ATTR_LOOP_TRIPS] = STEPS;
    end->attr[ATTR_LOOP_STATES] = 1;
    uint32_t y = end->out[0];
    if (collect) { /* [STEPS, n, STATE] -> [n, STATE] */
        struct pith_node *mean = add_node(m, PITH_OP_REDUCE_MEAN, "mean", "mean", 1, &end->out[1]);
        set_list(mean->attr + ATTR_AXES, 1, (const int32_t[]){0});
        mean->attr[ATTR_REDUCE_KEEP] = 0;
        y = one_node(m, PITH_OP_ADD, "both", 2, (const uint32_t[]){y, mean->out[0]});
    }
    m->outputs[m->n_outputs++] =
        add_layer(m, &r, PITH_OP_GEMM, "classes", y, 2, (const uint32_t[]){3, STATE});
    return m;
}

static void infer(struct pith_model *m)
{
    struct pith_error err = {0};
    SUCCEEDS(pith_model_infer_shapes(m, &err));
}

/* ---- against the runtime --------------------------------------------------------------------- */

static struct tape *tape_of(const struct pith_model *m, uint32_t batch, bool training)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    const struct tape_opts o = {.batch = batch, .threads = 2, .training = training};
    SUCCEEDS(pith_tape_new(m, &o, &t, &err));
    return t;
}

static void fill(struct tape *t)
{
    struct sample_random r = sample_random_of(5);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *x = pith_tape_input(t, s, 0);
        for (size_t k = 0; k < shape_elems(&x->shape); k++)
            ((float *)x->data)[k] = sample_gauss(&r);
    }
}

static void same_rows(const struct pith_model *m, struct tape *t, struct pith_plan *plan,
                      uint32_t slice, uint32_t per_slice)
{
    struct tape_tensor *x = pith_tape_input(t, slice, 0), *y = pith_tape_output(t, slice, 0);
    size_t n_x = shape_elems(&x->shape) / per_slice, n_y = shape_elems(&y->shape) / per_slice;
    for (uint32_t row = 0; row < per_slice; row++) {
        const float *is = (const float *)y->data + row * n_y;
        memcpy(pith_plan_input_data(plan, 0), (const float *)x->data + row * n_x,
               n_x * sizeof(float));
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        const float *expected = pith_plan_output_data(plan, 0);
        double largest = 0;
        for (size_t i = 0; i < n_y; i++)
            largest = fmax(largest, fabs((double)expected[i]));
        for (size_t i = 0; i < n_y; i++)
            if (!(fabs((double)is[i] - (double)expected[i]) <= 1e-4 * largest))
                fail_msg("%s, slice %u, row %u, element %zu: %g, runtime %g", m->values[0].name,
                         slice, row, i, (double)is[i], (double)expected[i]);
    }
}

static void same_as_runtime(struct pith_model *m, uint32_t batch)
{
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    struct pith_session *session = NULL;
    struct tape *t = tape_of(m, batch, false);
    fill(t);
    pith_tape_forward(t);
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    struct pith_opts o = {.size_bytes = sizeof o};
    SUCCEEDS(pith_open_memory(file.data, file.bytes, &o, &session, &err));
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        same_rows(m, t, pith_plan_of(session), s, batch / PITH_TRAIN_SLICES);
    pith_close(session);
    pith_buffer_free(&file);
    pith_tape_free(t);
}

TEST(loops_as_runtime)
{
    for (int i = 0; i < 4; i++)
        for (uint32_t batch = 8; batch <= 24; batch += 16) {
            struct pith_model *m = loop_net(i & 1, i & 2);
            infer(m);
            same_as_runtime(m, batch);
            pith_model_free(m);
        }
}

TEST(real_nets_as_runtime)
{
    static const char *const names[] = {"tiny_kws_dscnn", "tiny_vww_mbv1", "tiny_ic_resnet8",
                                        "tiny_ad01_ae",   "mnist_cntk",    "kws_DNN_L",
                                        "kws_GRU_L",      "kws_LSTM_L"};
    const char *folder = getenv("PITH_DATA");
    char path[512];
    unsigned found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pith_model *m;
        struct pith_error err = {0};
        snprintf(path, sizeof path, "%s/models/%s.onnx", folder ? folder : "../shared/data",
                 names[i]);
        enum pith_status status = pith_model_load(path, NULL, &m, &err);
        if (status == PITH_ERR_IO)
            continue;
        SUCCEEDS(status);
        assert_false(m->batch_open);
        same_as_runtime(m, 16);
        pith_model_free(m);
        found++;
    }
    if (found == 0)
        skip();
}

/* ---- gradients ------------------------------------------------------------------------------- */

static double coefficient(uint32_t slice, size_t i)
{
    return sin(1.0 + 0.7 * (double)i + 1.3 * slice);
}

static double loss_of(struct tape *t)
{
    double sum = 0;
    pith_tape_forward(t);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        const struct tape_tensor *y = pith_tape_output(t, s, 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            sum += coefficient(s, i) * (double)((const float *)y->data)[i];
    }
    return sum;
}

/* The outputs are some 1 and add up in double: a difference is off by some 1e-5, and by the square
 * of the step. */
static void check_gradients(const struct pith_model *m, uint32_t batch, uint32_t expected)
{
    const float step = 4e-3f;
    struct tape *t = tape_of(m, batch, true);
    uint32_t n;
    fill(t);
    loss_of(t);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *y = pith_tape_output(t, s, 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            y->grad[i] += (float)coefficient(s, i);
    }
    pith_tape_backward(t);
    struct tape_parameter *p = pith_tape_parameters(t, &n);
    assert_int_equal(n, expected);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].count; k += 1 + p[i].count / 20) {
            float at = p[i].data[k];
            p[i].data[k] = at + step;
            double up = loss_of(t);
            p[i].data[k] = at - step;
            double slope = (up - loss_of(t)) / (2 * (double)step);
            p[i].data[k] = at;
            if (!(fabs(slope - (double)p[i].grad[k]) <= 0.02 + 0.01 * fabs(slope)))
                fail_msg("'%s'[%u]: %g, by differences %g", m->values[p[i].value].name, (unsigned)k,
                         (double)p[i].grad[k], slope);
        }
    pith_tape_free(t);
}

TEST(gradients_go_through_time)
{
    for (int i = 0; i < 4; i++)
        for (uint32_t batch = 8; batch <= 16; batch += 8) {
            struct pith_model *m = loop_net(i & 1, i & 2);
            infer(m);
            check_gradients(m, batch, 5); /* two layers' weights and biases, the matrix */
            pith_model_free(m);
        }
}

/* What backward finds goes into the model that the tape was made of. */
TEST(parameters_are_the_models)
{
    struct pith_model *m = loop_net(true, true);
    uint32_t n;
    infer(m);
    struct tape *t = tape_of(m, 16, true);
    struct tape_parameter *p = pith_tape_parameters(t, &n);
    for (uint32_t i = 0; i < n; i++)
        p[i].data[0] = 7.0f + (float)i;
    pith_tape_store(t, m);
    for (uint32_t i = 0; i < n; i++)
        assert_true(*(float *)m->values[p[i].value].constant->data == 7.0f + (float)i);
    pith_tape_free(t);
    pith_model_free(m);
}

/* What rounds stands in the body, too: all answers are tanh's of 4 bits. */
TEST(loops_that_round)
{
    for (uint32_t batch = 8; batch <= 16; batch += 8) {
        struct pith_model *m = loop_net(batch > 8, false);
        const struct pith_node *end = &m->nodes[m->n_nodes - 2];
        uint32_t next = end->in[1], n_nodes = m->n_nodes;
        float scale = 0.125f;
        struct pith_grid grid = {.type = PITH_I8, .bits = 4, .n = 1, .scale = &scale};
        struct pith_train_value value = {.value = next, .like = next, .learned = true};
        const struct pith_train_integers q = {.values = &value, .n_values = 1};
        const struct pith_train_opts o = {.integers = &q};
        struct fake_graph *g = NULL;
        struct pith_error err = {0};
        m->outputs[0] = end->out[0]; /* the state */
        infer(m);
        assert_string_equal(m->values[next].name, "next");
        m->values[next].grid = &grid;
        assert_int_equal(pith_fake_graph_open(m, &o, &g, &err), PITH_OK);
        struct tape *t = tape_of(m, batch, true);
        fill(t);
        pith_tape_forward(t);
        const struct tape_tensor *y = pith_tape_output(t, 0, 0);
        const float *k = y->data;
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            assert_true(8 * k[i] == nearbyintf(8 * k[i]) && fabsf(k[i]) <= 1);
        pith_tape_free(t);
        pith_fake_graph_close(g, m, false);
        assert_int_equal(m->n_nodes, n_nodes);
        pith_model_free(m);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(struct pith_model *m, uint32_t batch, const char *text)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    const struct tape_opts o = {.batch = batch, .threads = 1, .training = true};
    infer(m);
    assert_int_equal(pith_tape_new(m, &o, &t, &err), PITH_ERR_UNSUPPORTED);
    assert_null(t);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    pith_model_free(m);
}

/* Softmax over the axis of 1 that the batch has: shapes follow, numbers do not. */
static struct pith_model *mixing_net(void)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    uint32_t x = input(m, 2, (const uint32_t[]){1, 6});
    x = add_layer(m, &r, PITH_OP_GEMM, "layer", x, 2, (const uint32_t[]){4, 6});
    struct pith_node *node = add_node(m, PITH_OP_SOFTMAX, "mixes", "y", 1, &x);
    node->attr[ATTR_SOFTMAX_AXIS] = 0;
    m->outputs[m->n_outputs++] =
        one_node(m, PITH_OP_MUL, "z", 2, (const uint32_t[]){node->out[0], x});
    return m;
}

static struct pith_model *stuck_net(uint32_t batch)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    uint32_t x = input(m, 2, (const uint32_t[]){batch, 6});
    x = add_layer(m, &r, PITH_OP_GEMM, "layer", x, 2, (const uint32_t[]){4, 6});
    struct pith_node *node = add_node(m, PITH_OP_SQUEEZE, "stuck", "y", 1, &x);
    set_list(node->attr + ATTR_AXES, batch == 1, (const int32_t[]){0});
    m->outputs[m->n_outputs++] = node->out[0];
    return m;
}

TEST(refusals)
{
    refuse(mixing_net(), 16, "mixes samples");
    refuse(stuck_net(1), 16, "node 'stuck' (Squeeze) does not follow a batch of 2");
    refuse(stuck_net(2), 16, "input 'x' has a fixed batch of 2");
    struct pith_model *m = loop_net(false, false);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_LOOP || m->nodes[i].op == PITH_OP_LOOP_END)
            m->nodes[i].attr[ATTR_LOOP_TRIPS] = INT32_MAX;
    refuse(m, 8, "too many");
}

RUN_TESTS
