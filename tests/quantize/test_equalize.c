/* SPDX-License-Identifier: MIT */
/* test_equalize.c - factors move between layers until channels are of one size, and nothing else
 * changes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "quantize/transform/equalize.h"
#include "network_run.h"

#define C 4u
#define SIDE 6u

/* Conv -> between -> Conv of `groups` -> outputs; channel i of the first is 8^i times as large. */
static struct pith_model *two_convs(uint32_t between, uint32_t groups, bool observed)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, 2, SIDE, SIDE});
    uint32_t w = add_constant(m, &r, "w1", 4, (const uint32_t[]){C, 2, 3, 3});
    uint32_t b = add_constant(m, &r, "b1", 1, (const uint32_t[]){C});
    float *data = m->values[w].constant->data, *bias = m->values[b].constant->data;
    for (uint32_t i = 0; i < C * 18; i++)
        data[i] = ldexpf(data[i], 3 * (int)(i / 18));
    for (uint32_t i = 0; i < C; i++)
        bias[i] = ldexpf(bias[i], 3 * (int)i);
    uint32_t y = add_node(m, PITH_OP_CONV, "one", "y1", 3, (const uint32_t[]){x, w, b})->out[0];
    uint32_t act = add_node(m, between, "act", "a", 1, &y)->out[0];
    w = add_constant(m, &r, "w2", 4, (const uint32_t[]){C, C / groups, 3, 3});
    struct pith_node *two = add_node(m, PITH_OP_CONV, "two", "y2", 2, (const uint32_t[]){act, w});
    two->attr[ATTR_CONV_GROUP] = (int32_t)groups;
    m->outputs[m->n_outputs++] = two->out[0];
    if (observed)
        m->outputs[m->n_outputs++] = act;
    return sample_shaped(m);
}

static void run(const struct pith_model *m, float *y)
{
    float x[2 * SIDE * SIDE];
    struct sample_random random = sample_random_of(4);
    for (uint32_t i = 0; i < 2 * SIDE * SIDE; i++)
        x[i] = sample_gauss(&random);
    run_network(m, NULL, x, 2 * SIDE * SIDE, y);
}

static double largest(const float *w, uint32_t n, uint32_t stride, uint32_t runs)
{
    double size = 0;
    for (uint32_t k = 0; k < runs; k++)
        for (uint32_t i = 0; i < n; i++)
            size = fmax(size, fabs((double)w[k * stride + i]));
    return size;
}

TEST(channels_become_alike_and_answers_stay)
{
    for (uint32_t groups = 1; groups <= C; groups *= 2) {
        struct pith_model *m = two_convs(PITH_OP_RELU, groups, false);
        float before[C * 4], after[C * 4];
        uint32_t n = 0, per_group = C / groups;
        run(m, before);
        assert_int_equal(pith_equalize(m, &n, NULL), PITH_OK);
        assert_int_equal(n, 1);
        run(m, after);
        assert_memory_equal(before, after, sizeof before);
        const float *w1 = m->values[m->nodes[0].in[1]].constant->data;
        const float *w2 = m->values[m->nodes[2].in[1]].constant->data;
        for (uint32_t i = 0; i < C; i++) {
            double row = largest(w1 + i * 18, 18, 0, 1);
            /* rows of the group that reads channel i, the kernel of the channel in each */
            const float *at = w2 + i / per_group * per_group * per_group * 9 + i % per_group * 9;
            double column = largest(at, 9, per_group * 9, per_group);
            assert_true(row / column < 4.01 && column / row < 4.01);
        }
        assert_int_equal(pith_equalize(m, &n, NULL), PITH_OK);
        assert_int_equal(n, 0); /* and that is how it stays */
        pith_model_free(m);
    }
}

/* Rows of 16 and columns of 1 meet at 4. */
TEST(sizes_meet_in_the_middle)
{
    struct pith_model *m = two_convs(PITH_OP_RELU, 1, false);
    float *w1 = m->values[m->nodes[0].in[1]].constant->data;
    float *w2 = m->values[m->nodes[2].in[1]].constant->data;
    uint32_t n = 0;
    for (uint32_t i = 0; i < C * 18; i++)
        w1[i] = i % 18 ? 1 : -16;
    for (uint32_t i = 0; i < C * C * 9; i++)
        w2[i] = i % 9 ? 0.5f : 1;
    assert_int_equal(pith_equalize(m, &n, NULL), PITH_OK);
    assert_int_equal(n, 1);
    for (uint32_t i = 0; i < C; i++)
        assert_true(w1[i * 18] == -4 && w1[i * 18 + 1] == 0.25f && w2[i * 9] == 4 &&
                    w2[i * 9 + 1] == 2);
    pith_model_free(m);
}

/* A Sigmoid does not keep factors; what somebody else sees must not change. */
TEST(what_cannot_move_stays)
{
    struct pith_model *bent = two_convs(PITH_OP_SIGMOID, 1, false),
                      *observed = two_convs(PITH_OP_RELU, 1, true),
                      *shared = two_convs(PITH_OP_RELU, 1, false);
    uint32_t n = 7;
    assert_int_equal(pith_equalize(bent, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    assert_int_equal(pith_equalize(observed, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    shared->outputs[shared->n_outputs++] = shared->nodes[2].in[1];
    assert_int_equal(pith_equalize(shared, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    pith_model_free(bent);
    pith_model_free(observed);
    pith_model_free(shared);
}

/* A channel of zeros has no size to match. */
TEST(a_dead_channel_stays)
{
    struct pith_model *m = two_convs(PITH_OP_RELU, 1, false);
    float *w1 = m->values[m->nodes[0].in[1]].constant->data, before[C * 4], after[C * 4];
    memset(w1 + 18, 0, 18 * sizeof *w1);
    run(m, before);
    uint32_t n;
    assert_int_equal(pith_equalize(m, &n, NULL), PITH_OK);
    assert_int_equal(n, 1);
    run(m, after);
    assert_memory_equal(before, after, sizeof before);
    pith_model_free(m);
}

RUN_TESTS
