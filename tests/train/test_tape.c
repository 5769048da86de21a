/* SPDX-License-Identifier: MIT */
/* A tape's forward against the runtime's, the same bits on every number of threads, batch
 * statistics over slices, and what is refused. */
#include <stdint.h>
#include "test_run.h"
#include "sample_models.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* Names in a file are unique. */
static const char *named(const struct pith_model *m, const char *what)
{
    static char name[4][32];
    static unsigned turn;
    char *to = name[turn++ % 4];
    snprintf(to, sizeof name[0], "%s%u", what, m->n_values);
    return to;
}

static uint32_t image(struct pith_model *m, uint32_t c, uint32_t h, uint32_t w)
{
    uint32_t x = add_input(m, "image", 4, (const uint32_t[]){1, c, h, w});
    m->batch_open = true;
    return x;
}

static uint32_t conv(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x,
                     uint32_t o, uint32_t c, uint32_t group)
{
    uint32_t w = add_constant(m, r, named(m, "w"), 4, (const uint32_t[]){o, c / group, 3, 3});
    struct pith_const *k = m->values[w].constant;
    for (uint64_t i = 0; i < k->count; i++)
        ((float *)k->data)[i] *= 0.2f;
    struct pith_node *node =
        add_node(m, PITH_OP_CONV, named(m, name), named(m, "y"), 2, (const uint32_t[]){x, w});
    node->attr[ATTR_CONV_GROUP] = (int32_t)group;
    node->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 4; i++)
        node->attr[ATTR_CONV_PADS + i] = 1;
    return node->out[0];
}

static uint32_t batch_norm(struct pith_model *m, struct sample_random *r, uint32_t x, uint32_t c)
{
    uint32_t in[5] = {x};
    for (uint32_t i = 1; i < 5; i++)
        in[i] = add_constant(m, r, named(m, "bn"), 1, &c);
    for (uint32_t i = 0; i < c; i++) {
        float *variance = (float *)m->values[in[4]].constant->data + i;
        *variance = 0.5f + *variance * *variance;
    }
    return add_node(m, PITH_OP_BATCH_NORM, named(m, "norm"), named(m, "normed"), 5, in)->out[0];
}

static uint32_t unary(struct pith_model *m, uint32_t op, uint32_t x)
{
    return add_node(m, op, named(m, "act"), named(m, "acted"), 1, &x)->out[0];
}

/* Two residual blocks, one depthwise with hard swish; pool; classes. */
static struct pith_model *residual_net(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = image(m, 3, 8, 8);
    x = unary(m, PITH_OP_RELU, batch_norm(m, &r, conv(m, &r, "stem", x, 16, 3, 1), 16));
    for (uint32_t block = 0; block < 2; block++) {
        uint32_t y = conv(m, &r, "conv", x, 16, 16, block ? 16 : 1);
        y = unary(m, block ? PITH_OP_HARD_SWISH : PITH_OP_RELU, batch_norm(m, &r, y, 16));
        x = add_node(m, PITH_OP_ADD, named(m, "sum"), named(m, "summed"), 2,
                     (const uint32_t[]){x, y})
                ->out[0];
    }
    x = unary(m, PITH_OP_GLOBAL_AVERAGE_POOL, x);
    x = unary(m, PITH_OP_FLATTEN, x);
    x = add_layer(m, &r, PITH_OP_GEMM, "classes", x, 2, (const uint32_t[]){10, 16});
    m->outputs[m->n_outputs++] = x;
    return m;
}

static void infer(struct pith_model *m)
{
    struct pith_error err = {0};
    SUCCEEDS(pith_model_infer_shapes(m, &err));
}

/* ---- running --------------------------------------------------------------------------------- */

static struct tape *tape_of(const struct pith_model *m, uint32_t batch, uint32_t threads,
                            bool training)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    const struct tape_opts o = {.batch = batch, .threads = threads, .training = training};
    SUCCEEDS(pith_tape_new(m, &o, &t, &err));
    return t;
}

static void fill(struct tape *t, uint32_t n_inputs)
{
    struct sample_random r = sample_random_of(5);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t i = 0; i < n_inputs; i++) {
            struct tape_tensor *x = pith_tape_input(t, s, i);
            for (size_t k = 0; k < shape_elems(&x->shape); k++)
                ((float *)x->data)[k] = sample_gauss(&r);
        }
}

static void set_loss(struct tape *t)
{
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *y = pith_tape_output(t, s, 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            y->grad[i] += (float)sin(1.0 + 0.7 * (double)i + s);
    }
}

/* Sums are taken in another order, and kernels fuse multiplication and addition: outputs of a net
 * of some twenty layers differ by some 1e-6 of the largest; `bound` leaves room for deeper ones. */
static void same_as_runtime(struct pith_model *m, uint32_t batch, double bound)
{
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    struct pith_session *session = NULL;
    struct tape *t = tape_of(m, batch, 2, false);
    fill(t, m->n_inputs);
    pith_tape_forward(t);
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_OK);
    struct pith_opts o = {.size_bytes = sizeof o, .batch = batch / PITH_TRAIN_SLICES};
    SUCCEEDS(pith_open_memory(file.data, file.bytes, &o, &session, &err));
    struct pith_plan *plan = pith_plan_of(session);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        for (uint32_t i = 0; i < m->n_inputs; i++) {
            struct tape_tensor *x = pith_tape_input(t, s, i);
            memcpy(pith_plan_input_data(plan, i), x->data, shape_elems(&x->shape) * sizeof(float));
        }
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        struct tape_tensor *y = pith_tape_output(t, s, 0);
        const float *is = y->data, *expected = pith_plan_output_data(plan, 0);
        double largest = 0;
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            largest = fmax(largest, fabs((double)expected[i]));
        assert_true(largest > 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            if (!(fabs((double)is[i] - (double)expected[i]) <= bound * largest))
                fail_msg("slice %u, element %zu: %g, runtime %g", s, i, (double)is[i],
                         (double)expected[i]);
    }
    pith_close(session);
    pith_buffer_free(&file);
    pith_tape_free(t);
}

TEST(small_nets_as_runtime)
{
    struct pith_model *m = sample_lenet5(3);
    infer(m);
    same_as_runtime(m, 16, 1e-4);
    pith_model_free(m);
    m = residual_net(4);
    infer(m);
    same_as_runtime(m, 24, 1e-4);
    pith_model_free(m);
}

TEST(real_nets_as_runtime)
{
    static const char *const names[] = {"mnist_lenet5_caffe", "cifar10_resnet20", "tiny_kws_dscnn",
                                        "imagenet_mobilenet_v2"};
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
        same_as_runtime(m, PITH_TRAIN_SLICES, 1e-3);
        pith_model_free(m);
        found++;
    }
    if (found == 0)
        skip();
}

/* ---- threads --------------------------------------------------------------------------------- */

static float *all_gradients(struct pith_model *m, uint32_t threads, uint64_t *count)
{
    struct tape *t = tape_of(m, 32, threads, true);
    uint32_t n;
    fill(t, m->n_inputs);
    for (int step = 0; step < 2; step++) { /* the second finds what the first left */
        pith_tape_forward(t);
        set_loss(t);
        pith_tape_backward(t);
    }
    const struct tape_parameter *p = pith_tape_parameters(t, &n);
    *count = 0;
    for (uint32_t i = 0; i < n; i++)
        *count += p[i].count;
    float *all = malloc(*count * sizeof *all), *to = all;
    for (uint32_t i = 0; i < n; to += p[i++].count)
        memcpy(to, p[i].grad, p[i].count * sizeof *to);
    pith_tape_free(t);
    return all;
}

TEST(threads_give_the_same_bits)
{
    struct pith_model *m = residual_net(6);
    uint64_t count, again;
    infer(m);
    float *one = all_gradients(m, 1, &count);
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += fabs((double)one[i]);
    assert_true(sum > 0);
    for (uint32_t threads = 2; threads <= 4; threads += 2) {
        float *more = all_gradients(m, threads, &again);
        assert_int_equal(count, again);
        assert_memory_equal(one, more, count * sizeof *one);
        free(more);
    }
    free(one);
    pith_model_free(m);
}

/* ---- batch statistics ------------------------------------------------------------------------ */

enum { CHANNELS = 5, PIXELS = 6, BATCH = 16 };

/* Of the whole batch, in double. */
static void statistics_of(struct tape *t, uint32_t c, double *mean, double *variance)
{
    double sum = 0, square = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
            for (uint32_t i = 0; i < BATCH / PITH_TRAIN_SLICES * PIXELS; i++) {
                const float *x = pith_tape_input(t, s, 0)->data;
                double v = (double)x[(i / PIXELS * CHANNELS + c) * PIXELS + i % PIXELS];
                sum += pass ? 0 : v / (BATCH * PIXELS);
                square += pass ? (v - sum) * (v - sum) / (BATCH * PIXELS) : 0;
            }
    *mean = sum;
    *variance = square;
}

TEST(batch_statistics_span_slices)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    uint32_t n, x = image(m, CHANNELS, 2, 3);
    m->outputs[m->n_outputs++] = batch_norm(m, &r, x, CHANNELS);
    infer(m);
    const uint32_t *in = m->nodes[0].in;
    float before[2][CHANNELS];
    const float *scale = m->values[in[1]].constant->data, *bias = m->values[in[2]].constant->data;
    for (int i = 0; i < 2; i++)
        memcpy(before[i], m->values[in[3 + i]].constant->data, sizeof before[i]);
    struct tape *t = tape_of(m, BATCH, 2, true);
    fill(t, 1);
    pith_tape_forward(t);
    pith_tape_statistics(t, &n);
    assert_int_equal(n, 2);
    pith_tape_store(t, m);
    for (uint32_t c = 0; c < CHANNELS; c++) {
        double mean, variance;
        statistics_of(t, c, &mean, &variance);
        for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
            const float *xs = pith_tape_input(t, s, 0)->data, *y = pith_tape_output(t, s, 0)->data;
            size_t at = c * PIXELS;
            double expected = ((double)xs[at] - mean) / sqrt(variance + 1e-5) * (double)scale[c] +
                              (double)bias[c];
            assert_true(fabs((double)y[at] - expected) < 1e-5 * (1 + fabs(expected)));
        }
        double unbiased = variance * BATCH * PIXELS / (BATCH * PIXELS - 1);
        const double moved[2] = {0.9 * (double)before[0][c] + 0.1 * mean,
                                 0.9 * (double)before[1][c] + 0.1 * unbiased};
        for (int i = 0; i < 2; i++) {
            const float *now = m->values[in[3 + i]].constant->data;
            assert_true(fabs((double)now[c] - moved[i]) < 1e-6 * (1 + fabs(moved[i])));
        }
    }
    pith_tape_free(t);
    pith_model_free(m);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(struct pith_model *m, uint32_t batch, enum pith_status status, const char *text)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    const struct tape_opts o = {.batch = batch, .threads = 1, .training = true};
    assert_int_equal(pith_tape_new(m, &o, &t, &err), status);
    assert_null(t);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    pith_model_free(m);
}

/* A convolution, then the operator. */
static struct pith_model *then(uint32_t op, uint32_t n_in, int32_t kind)
{
    struct sample_random r = sample_random_of(9);
    struct pith_model *m = sample_new();
    uint32_t x = conv(m, &r, "conv", image(m, 2, 4, 4), 2, 2, 1);
    struct pith_node *node = add_node(m, op, "guilty", "z", n_in, (const uint32_t[]){x, x});
    node->attr[ATTR_KIND] = kind;
    m->outputs[m->n_outputs++] = node->out[0];
    infer(m);
    return m;
}

TEST(refusals_name_the_node)
{
    refuse(then(PITH_OP_UNARY, 1, UNARY_FLOOR), 8, PITH_ERR_UNSUPPORTED, "node 'guilty' (Floor)");
    refuse(then(PITH_OP_MOD, 2, 1), 8, PITH_ERR_UNSUPPORTED, "node 'guilty' (Mod) has no gradient");
    refuse(residual_net(1), 12, PITH_ERR_ARGUMENT, "12");
    struct pith_model *m = residual_net(1);
    m->batch_open = false;
    infer(m);
    m->values[m->inputs[0]].dim[0] = 3;
    infer(m);
    refuse(m, 16, PITH_ERR_UNSUPPORTED, "'image' has a fixed batch");
}

/* A lack of memory would be reported in the same place. */
TEST(threads_that_cannot_start_are_reported)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    struct pith_model *m = residual_net(1);
    const struct tape_opts o = {.batch = 8, .threads = 1 << 20, .training = true};
    assert_int_equal(pith_tape_new(m, &o, &t, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(err.status, PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "threads"));
    pith_model_free(m);
}

RUN_TESTS
