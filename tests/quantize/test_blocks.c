/* SPDX-License-Identifier: MIT */
/* test_blocks.c - where a network falls into blocks, what whoever improves one is told, and that
 * only what is better on samples held out stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "test_quantize_walk.h"
#include "network_run.h"
#include "pith_quantize.h"

enum { SIDE = 6, CHANNELS = 4, PIXELS = CHANNELS * SIDE * SIDE, SAMPLES = 40, CLASSES = 3 };

static float samples[SAMPLES][PIXELS];

static uint32_t conv(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x)
{
    x = add_layer(m, r, PITH_OP_CONV, name, x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    float *w = m->values[m->nodes[m->n_nodes - 1].in[1]].constant->data;
    for (uint32_t i = 0; i < CHANNELS * CHANNELS; i++)
        w[i] *= 0.5f;
    return x;
}

static uint32_t relu(struct pith_model *m, uint32_t x)
{
    return add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
}

/* a, Relu, then twice: two convolutions beside a shortcut, Add, Relu; then pool, Gemm, Softmax. */
static struct pith_model *residual_network(void)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    m->inputs[m->n_inputs++] = x;
    x = relu(m, conv(m, &r, "a", x));
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t y = relu(m, conv(m, &r, k ? "d" : "b", x));
        y = conv(m, &r, k ? "e" : "c", y);
        x = relu(m, add_node(m, PITH_OP_ADD, "", "", 2, (const uint32_t[]){x, y})->out[0]);
    }
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "", "", 1, &x)->out[0];
    x = add_node(m, PITH_OP_FLATTEN, "", "", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "f", x, 2, (const uint32_t[]){CLASSES, CHANNELS});
    m->outputs[m->n_outputs++] = add_node(m, PITH_OP_SOFTMAX, "", "", 1, &x)->out[0];
    struct pith_error err = {0};
    if (pith_model_infer_shapes(m, &err))
        fail_msg("%s", err.text);
    for (uint32_t n = 0; n < SAMPLES; n++)
        run_network(m, m, samples[n], PIXELS, NULL);
    return m;
}

static struct pith_quantize_opts options(struct pith_block_improver *blocks)
{
    static const void *inputs[] = {samples};
    return (struct pith_quantize_opts){.size_bytes = sizeof(struct pith_quantize_opts),
                                       .weight_bits = 3,
                                       .same_bits = true,
                                       .keep_biases = true,
                                       .rounding = PITH_ROUND_NEAREST,
                                       .inputs = inputs,
                                       .n_samples = SAMPLES,
                                       .blocks = blocks};
}

static void blocks_lie_between_single_values(void **state)
{
    (void)state;
    struct pith_model *m = residual_network();
    struct pith_quantize_opts o = options(NULL);
    struct integer_plan p = {.m = m, .opts = &o};
    struct pith_error err = {0};
    struct layer_block *blocks = NULL;
    uint32_t n = 0;
    assert_int_equal(pith_integer_plan(&p, &err), PITH_OK);
    assert_int_equal(pith_find_layer_blocks(&p, &blocks, &n), PITH_OK);
    /* a with b and c, for a alone is too little; d and e with f, for nothing comes behind f */
    assert_int_equal(n, 2);
    assert_int_equal(blocks[0].first, 0);
    assert_int_equal(blocks[0].x, m->inputs[0]);
    assert_int_equal(blocks[0].n_layers, 3);
    assert_int_equal(blocks[0].y, blocks[1].x);
    assert_int_equal(blocks[0].last, blocks[1].first);
    assert_int_equal(m->nodes[blocks[0].last - 1].op, PITH_OP_RELU);
    assert_int_equal(blocks[1].n_layers, 3);
    assert_int_equal(m->nodes[blocks[1].last - 1].op, PITH_OP_GEMM);
    assert_int_equal(m->nodes[blocks[1].last - 1].out[0], blocks[1].y);
    free(blocks);
    pith_integer_plan_end(&p);
    pith_model_free(m);
}

/* ---- what is done with them ------------------------------------------------------------------ */

enum doing { NOTHING, RUIN, HELP, FAIL };

struct doer {
    enum doing doing;
    uint32_t calls;
};

static void shift_biases(struct pith_block *b, double by)
{
    struct pith_block_layer *l = &b->layers[b->n_layers - 1];
    for (uint64_t o = 0; o < l->rows; o++)
        l->bias[o] += by;
}

static enum pith_status improve(void *user, struct pith_block *b, struct pith_error *err)
{
    struct doer *d = user;
    d->calls++;
    assert_int_equal(b->n_samples, SAMPLES - SAMPLES / 8);
    assert_int_equal(b->n_layers, 3);
    assert_non_null(b->in);
    assert_non_null(b->goal);
    for (uint32_t i = 0; i < b->n_layers; i++) {
        const struct pith_block_layer *l = &b->layers[i];
        const float *w = b->m->values[b->m->nodes[l->node].in[1]].constant->data;
        assert_int_equal(l->lowest, -4);
        assert_int_equal(l->highest, 3);
        for (uint64_t k = 0; k < l->rows * l->cols; k++) /* rounded, not cut */
            assert_true(fabs((double)w[k] - l->q[k] * l->scale[k / l->cols]) <=
                        0.51 * l->scale[k / l->cols]);
    }
    if (d->doing == RUIN)
        for (uint64_t k = 0; k < b->layers[0].rows * b->layers[0].cols; k++)
            b->layers[0].q[k] = 3;
    if (d->doing == HELP && b->y_elems == CLASSES)
        shift_biases(b, -1);
    if (d->doing == FAIL) {
        snprintf(err->text, sizeof err->text, "does not want to");
        return PITH_ERR_ARGUMENT;
    }
    return PITH_OK;
}

static struct pith_block_improver improver_of(struct doer *d)
{
    return (struct pith_block_improver){.improve = improve, .user = d};
}

/* bias: is added to those of the last layer; the network learns of it from the samples alone. */
static void answers(struct pith_block_improver *blocks, float (*y)[CLASSES], struct pith_error *err,
                    enum pith_status want)
{
    struct pith_model *m = residual_network();
    struct pith_quantize_opts o = options(blocks);
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, err), want);
    for (uint32_t n = 0; n < SAMPLES && !want; n++)
        run_network(m, NULL, samples[n], PIXELS, y[n]);
    pith_model_free(m);
}

static void what_is_worse_is_put_back(void **state)
{
    (void)state;
    static float plain[SAMPLES][CLASSES], y[SAMPLES][CLASSES];
    struct pith_error err = {0};
    answers(NULL, plain, &err, PITH_OK);
    struct doer d = {.doing = RUIN};
    struct pith_block_improver blocks = improver_of(&d);
    answers(&blocks, y, &err, PITH_OK);
    assert_int_equal(d.calls, 2);
    assert_int_equal(blocks.n_blocks, 2);
    assert_int_equal(blocks.n_improved, 0);
    assert_memory_equal(plain, y, sizeof y);
}

static void what_is_no_better_is_not_counted(void **state)
{
    (void)state;
    static float plain[SAMPLES][CLASSES], y[SAMPLES][CLASSES];
    struct pith_error err = {0};
    answers(NULL, plain, &err, PITH_OK);
    struct doer d = {.doing = NOTHING};
    struct pith_block_improver blocks = improver_of(&d);
    answers(&blocks, y, &err, PITH_OK);
    assert_int_equal(blocks.n_blocks, 2);
    assert_int_equal(blocks.n_improved, 0);
    assert_memory_equal(plain, y, sizeof y);
}

static void a_failure_ends_it(void **state)
{
    (void)state;
    struct pith_error err = {0};
    struct doer d = {.doing = FAIL};
    struct pith_block_improver blocks = improver_of(&d);
    answers(&blocks, NULL, &err, PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "does not want to");
    assert_int_equal(d.calls, 1);
}

static void it_is_refused_where_it_cannot_be(void **state)
{
    (void)state;
    struct pith_error err = {0};
    struct doer d = {.doing = NOTHING};
    struct pith_block_improver blocks = improver_of(&d);
    struct pith_model *m = residual_network();
    struct pith_quantize_opts o = options(&blocks);
    o.inputs = NULL;
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    o = options(&blocks);
    o.weight_bits = 0;
    o.same_bits = false;
    o.fixed_bits = 8;
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    o = options(&blocks);
    o.n_samples = 15;
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_OK); /* too few: layers alone */
    assert_int_equal(d.calls, 0);
    pith_model_free(m);
}

static int set_up(void **state)
{
    (void)state;
    struct sample_random r = sample_random_of(22);
    for (uint32_t i = 0; i < SAMPLES * PIXELS; i++)
        samples[i / PIXELS][i % PIXELS] = sample_gauss(&r);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_lie_between_single_values),
                                       cmocka_unit_test(what_is_worse_is_put_back),
                                       cmocka_unit_test(what_is_no_better_is_not_counted),
                                       cmocka_unit_test(a_failure_ends_it),
                                       cmocka_unit_test(it_is_refused_where_it_cannot_be)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
