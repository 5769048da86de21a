/* SPDX-License-Identifier: MIT */
/* test_absorb_bias.c - what channels always have at least moves into the next layer's biases, the
 * numbers between become small, and answers stay. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "pith_absorb_bias.h"
#include "network_run.h"
#include "pith_op_semantics.h"
#include "pith_value_stats.h"

#define C 4u
#define SIDE 6u
#define PIXELS (2 * SIDE * SIDE)

/* Conv of C channels, the last of which is sometimes cut by the Relu behind it -> pool -> Conv or,
 * behind a mean of the plane, Gemm -> output. */
struct net_form {
    uint32_t groups;      /* of the second Conv; 0: a Gemm */
    uint32_t pool;        /* 0: none */
    bool pool_pads, pads; /* of the pool; of the second Conv */
    bool include_pad;
    bool no_bias;     /* of the second layer */
    bool seen, twice; /* the Relu's value is an output; is read by a second layer */
};

static void set_pads(int32_t *list)
{
    list[0] = 4;
    list[1] = list[2] = list[3] = list[4] = 1;
}

static uint32_t add_first(struct pith_model *m, struct sample_random *r)
{
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, 2, SIDE, SIDE});
    m->inputs[m->n_inputs++] = x;
    uint32_t y = add_layer(m, r, PITH_OP_CONV, "one", x, 4, (const uint32_t[]){C, 2, 3, 3});
    float *bias = m->values[m->nodes[0].in[2]].constant->data;
    for (uint32_t i = 0; i < C; i++) /* 18 weights of about 1 */
        bias[i] = i == C - 1 ? 1 : 100 * (float)(i + 1);
    return add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &y)->out[0];
}

static uint32_t add_second(struct pith_model *m, struct sample_random *r, const struct net_form *s,
                           const char *name, uint32_t x)
{
    bool gemm = s->groups == 0;
    uint32_t w = gemm ? add_constant(m, r, "", 2, (const uint32_t[]){C, C})
                      : add_constant(m, r, "", 4, (const uint32_t[]){C, C / s->groups, 2, 2});
    uint32_t b = s->no_bias ? PITH_VALUE_NONE : add_constant(m, r, "", 1, (const uint32_t[]){C});
    struct pith_node *two = add_node(m, gemm ? PITH_OP_GEMM : PITH_OP_CONV, name, name,
                                     s->no_bias ? 2 : 3, (const uint32_t[]){x, w, b});
    if (!gemm)
        two->attr[ATTR_CONV_GROUP] = (int32_t)s->groups;
    if (s->pads)
        set_pads(two->attr + ATTR_CONV_PADS);
    return two->out[0];
}

static struct pith_model *network(const struct net_form *s)
{
    struct sample_random r = sample_random_of(3);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t relu = add_first(m, &r), x = relu;
    if (s->pool) {
        struct pith_node *pool = add_node(m, s->pool, "pool", "pool.out", 1, &x);
        set_pair(pool->attr + ATTR_POOL_KERNEL, 2);
        pool->attr[ATTR_POOL_INCLUDE_PAD] = s->include_pad;
        if (s->pool_pads)
            set_pads(pool->attr + ATTR_POOL_PADS);
        x = pool->out[0];
    }
    if (s->groups == 0) {
        x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "mean.out", 1, &x)->out[0];
        x = add_node(m, PITH_OP_FLATTEN, "flat", "flat.out", 1, &x)->out[0];
    }
    m->outputs[m->n_outputs++] = add_second(m, &r, s, "two", x);
    if (s->twice)
        m->outputs[m->n_outputs++] = add_second(m, &r, s, "other", relu);
    if (s->seen)
        m->outputs[m->n_outputs++] = relu;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

static struct pith_value_stats *new_stats(struct pith_model *m, struct pith_value *v, uint32_t axis)
{
    v->stats = pith_model_alloc(m, 1, sizeof *v->stats);
    assert_non_null(v->stats);
    *v->stats = (struct pith_value_stats){.n_channels = v->dim[axis], .channel_axis = axis};
    v->stats->channel = pith_model_alloc(m, v->dim[axis], sizeof *v->stats->channel);
    assert_non_null(v->stats->channel);
    return v->stats;
}

/* As if calibration had seen the extremes of each channel that inputs from -1 to 1 can make. */
static void look(struct pith_model *m)
{
    const float *w = m->values[m->nodes[0].in[1]].constant->data;
    const float *b = m->values[m->nodes[0].in[2]].constant->data;
    struct pith_value_stats *s = new_stats(m, &m->values[m->nodes[0].out[0]], 1);
    for (uint32_t i = 0; i < C; i++) {
        float reach = 0;
        for (uint32_t k = 0; k < 18; k++)
            reach += fabsf(w[i * 18 + k]);
        s->channel[i].min = b[i] - reach;
        s->channel[i].max = b[i] + reach;
    }
}

static void run(const struct pith_model *m, struct pith_model *noted, float *y)
{
    float x[PIXELS];
    struct sample_random random = sample_random_of(4);
    for (uint32_t i = 0; i < PIXELS; i++)
        x[i] = fmaxf(-1, fminf(1, sample_gauss(&random))); /* as look() has it */
    run_network(m, noted, x, PIXELS, y);
}

static uint64_t count_of(const struct pith_value *v)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

/* Sums have some 64 terms of up to 1,000: 2^-24 of each, and of each partial sum. */
static void assert_same_answers(const float *a, const float *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        assert_true(fabsf(a[i] - b[i]) < 0.02f);
}

static void ranges_shrink_and_answers_stay(void **state)
{
    (void)state;
    const struct net_form forms[] = {
        {.groups = 1},
        {.groups = 2},
        {.groups = C},
        {.groups = C, .no_bias = true},
        {.groups = 1, .pool = PITH_OP_MAX_POOL, .pool_pads = true},
        {.groups = 2, .pool = PITH_OP_AVERAGE_POOL, .no_bias = true},
        {.groups = 1, .pool = PITH_OP_AVERAGE_POOL, .include_pad = true},
        {.groups = 1, .pool = PITH_OP_AVERAGE_POOL, .pool_pads = true},
        {.groups = 0},
        {.groups = 0, .no_bias = true, .pool = PITH_OP_MAX_POOL},
    };
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct pith_model *m = network(&forms[i]);
        const float *bias = m->values[m->nodes[0].in[2]].constant->data;
        float before[C * SIDE * SIDE], after[C * SIDE * SIDE], low = bias[C - 1];
        uint32_t n = 7;
        assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
        assert_int_equal(n, 0); /* nobody has looked */
        look(m);
        run(m, NULL, before);
        assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
        assert_int_equal(n, C - 1);
        run(m, m, after);
        assert_same_answers(before, after, count_of(&m->values[m->outputs[0]]));
        const struct pith_value *relu = &m->values[m->nodes[1].out[0]];
        const struct pith_channel_stats *seen = m->values[m->nodes[0].out[0]].stats->channel;
        float widest = 0;
        for (uint32_t c = 0; c < C; c++)
            widest = fmaxf(widest, seen[c].max - seen[c].min);
        assert_true(bias[C - 1] == low && relu->max < 1.11f * widest && relu->max < 100);
        pith_model_free(m);
    }
}

/* A tenth of the range seen is left below what was seen; the numbers can be told by hand. */
static void a_margin_is_left(void **state)
{
    (void)state;
    struct pith_model *m = network(&(const struct net_form){.groups = 1});
    struct pith_value_stats *s = new_stats(m, &m->values[m->nodes[0].out[0]], 1);
    const float *w = m->values[m->nodes[2].in[1]].constant->data;
    float *b1 = m->values[m->nodes[0].in[2]].constant->data;
    float *b2 = m->values[m->nodes[2].in[2]].constant->data;
    const float was = b2[1];
    uint32_t n;
    s->channel[0].min = 8, s->channel[0].max = 28; /* 6 */
    s->channel[1].min = 2, s->channel[1].max = 22; /* 0 */
    s->channel[2].min = 1, s->channel[2].max = 22; /* 0 */
    s->channel[3].min = 1, s->channel[3].max = HUGE_VALF;
    assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
    assert_int_equal(n, 1);
    assert_true(b1[0] == 94 && b1[1] == 200 && b1[2] == 300 && b1[3] == 1);
    const float *row = w + C * 4; /* output 1, input 0 */
    assert_true(fabsf(b2[1] - was - 6 * (row[0] + row[1] + row[2] + row[3])) < 1e-4f);
    pith_model_free(m);
}

/* Zeros around the channel are no c; what somebody else reads must not change. */
static void what_cannot_move_stays(void **state)
{
    (void)state;
    const struct net_form forms[] = {
        {.groups = 1, .pads = true},
        {.groups = C, .pads = true, .no_bias = true},
        {.groups = 1, .seen = true},
        {.groups = 1, .twice = true},
        {.groups = 1, .pool = PITH_OP_AVERAGE_POOL, .pool_pads = true, .include_pad = true},
    };
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct pith_model *m = network(&forms[i]);
        float before[C * SIDE * SIDE * 2], after[C * SIDE * SIDE * 2];
        uint32_t n = 7, n_values = m->n_values;
        look(m);
        run(m, NULL, before);
        assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
        assert_int_equal(n, 0);
        assert_int_equal(m->n_values, n_values);
        run(m, NULL, after);
        assert_memory_equal(before, after, count_of(&m->values[m->outputs[0]]) * sizeof *after);
        pith_model_free(m);
    }
}

/* A bias that two layers share is not one layer's to change; nor is y = alpha W x + beta b a plain
 * sum. */
static void odd_layers_stay(void **state)
{
    (void)state;
    struct pith_model *shared = network(&(const struct net_form){.groups = 1}),
                      *scaled = network(&(const struct net_form){.groups = 0});
    uint32_t n = 7;
    look(shared);
    look(scaled);
    shared->outputs[shared->n_outputs++] = shared->nodes[2].in[2];
    assert_int_equal(pith_absorb_biases(shared, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    int32_t *attr = scaled->nodes[scaled->n_nodes - 1].attr;
    attr[ATTR_GEMM_BETA] = (int32_t)f32_bits(2);
    assert_int_equal(pith_absorb_biases(scaled, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    attr[ATTR_GEMM_BETA] = (int32_t)f32_bits(1);
    attr[ATTR_GEMM_ALPHA] = (int32_t)f32_bits(2);
    n = 7;
    assert_int_equal(pith_absorb_biases(scaled, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    attr[ATTR_GEMM_ALPHA] = (int32_t)f32_bits(1);
    assert_int_equal(pith_absorb_biases(scaled, &n, NULL), PITH_OK);
    assert_true(n > 0);
    pith_model_free(shared);
    pith_model_free(scaled);
}

/* Statistics of other channels than the layer's, or along another axis, tell nothing of its
 * channels. */
static void other_channels_tell_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct pith_model *m = network(&(const struct net_form){.groups = 1});
        struct pith_value_stats *s;
        uint32_t n = 7;
        look(m);
        s = (struct pith_value_stats *)m->values[m->nodes[0].out[0]].stats;
        s->n_channels = i == 1 ? C + 1 : C;
        s->channel_axis = i == 2 ? 2 : 1;
        assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
        assert_true(i == 0 ? n > 0 : n == 0);
        pith_model_free(m);
    }
}

/* Gemm, Gemm, Gemm with a Relu behind each of the first two, all positive, none with a bias: all
 * three get one, the middle one that of two pairs. */
static void missing_biases_are_added(void **state)
{
    (void)state;
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, C}), n;
    m->inputs[m->n_inputs++] = x;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t w = add_constant(m, &r, "", 2, (const uint32_t[]){C, C});
        float *data = m->values[w].constant->data;
        for (uint32_t k = 0; k < C * C; k++)
            data[k] = 1 + 0.1f * fabsf(data[k]);
        x = add_node(m, PITH_OP_GEMM, "", "", 2, (const uint32_t[]){x, w})->out[0];
        if (i < 2)
            x = add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
    }
    m->outputs[m->n_outputs++] = x;
    assert_int_equal(pith_model_infer_shapes(m, NULL), PITH_OK);
    const float inputs[C] = {1, 1.5f, 1.25f, 2};
    float before[C], after[C];
    run_network(m, m, inputs, C, before);
    for (uint32_t i = 0; i < 3; i += 2) {
        struct pith_value *y = &m->values[m->nodes[i].out[0]];
        struct pith_value_stats *s = new_stats(m, y, 1);
        for (uint32_t c = 0; c < C; c++)
            s->channel[c] = (struct pith_channel_stats){.min = y->min, .max = y->max};
    }
    uint32_t n_values = m->n_values;
    assert_int_equal(pith_absorb_biases(m, &n, NULL), PITH_OK);
    assert_int_equal(n, 2 * C);
    assert_int_equal(m->n_values, n_values + 3);
    for (uint32_t i = 0; i < 5; i += 2) {
        assert_int_equal(m->nodes[i].n_in, 3);
        m->values[m->nodes[i].out[0]].stats = NULL; /* made up: no file takes them with a range */
    }
    run_network(m, NULL, inputs, C, after);
    assert_same_answers(before, after, C);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_shrink_and_answers_stay),
        cmocka_unit_test(a_margin_is_left),
        cmocka_unit_test(what_cannot_move_stays),
        cmocka_unit_test(odd_layers_stay),
        cmocka_unit_test(missing_biases_are_added),
        cmocka_unit_test(other_channels_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
