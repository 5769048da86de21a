/* SPDX-License-Identifier: MIT */
/* test_smooth.c - large channels behind a normalization become like the others, and nothing else
 * changes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "network_run.h"
#include "pith_value_stats.h"
#include "quantize/transform/smooth.h"

#define C 24u
#define ROWS 3u
#define OUT 4u

/* LayerNormalization, whose channel 2 is 256 times as large, -> MatMul and Gemm (columns: both with
 * B transposed) -> outputs. */
static struct pith_model *network(bool columns, bool observed)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){ROWS, C});
    uint32_t scale = add_constant(m, &r, "scale", 1, (const uint32_t[]){C});
    uint32_t bias = add_constant(m, &r, "bias", 1, (const uint32_t[]){C});
    for (uint32_t j = 0; j < C; j++)
        ((float *)m->values[scale].constant->data)[j] = j == 2 ? 256 : 1;
    struct pith_node *norm =
        add_node(m, PITH_OP_LAYER_NORM, "norm", "n", 3, (const uint32_t[]){x, scale, bias});
    norm->attr[ATTR_LAYER_NORM_AXIS] = 1;
    uint32_t n = norm->out[0];
    const uint32_t dims[2] = {columns ? OUT : C, columns ? C : OUT};
    uint32_t w = add_constant(m, &r, "w1", 2, dims);
    struct pith_node *one = add_node(m, PITH_OP_MATMUL, "one", "y1", 2, (const uint32_t[]){n, w});
    one->attr[ATTR_MATMUL_TRANS_B] = columns;
    m->outputs[m->n_outputs++] = one->out[0];
    w = add_constant(m, &r, "w2", 2, dims);
    struct pith_node *two = add_node(m, PITH_OP_GEMM, "two", "y2", 2, (const uint32_t[]){n, w});
    two->attr[ATTR_GEMM_TRANS_B] = columns;
    m->outputs[m->n_outputs++] = two->out[0];
    if (observed)
        m->outputs[m->n_outputs++] = n;
    return sample_shaped(m);
}

/* What each channel behind the normalization was like, as calibration has it. */
static void look(struct pith_model *m)
{
    struct pith_value *v = &m->values[m->nodes[0].out[0]];
    v->stats = pith_model_alloc(m, 1, sizeof *v->stats);
    assert_non_null(v->stats);
    *v->stats = (struct pith_value_stats){.n_channels = C, .channel_axis = 1};
    v->stats->channel = pith_model_alloc(m, C, sizeof *v->stats->channel);
    assert_non_null(v->stats->channel);
    for (uint32_t j = 0; j < C; j++) {
        v->stats->channel[j].min = j == 2 ? -512 : -2;
        v->stats->channel[j].max = 1;
    }
}

static void run(const struct pith_model *m, float *y)
{
    float x[ROWS * C];
    struct sample_random random = sample_random_of(4);
    for (uint32_t i = 0; i < ROWS * C; i++)
        x[i] = sample_gauss(&random);
    run_network(m, NULL, x, ROWS * C, y);
}

TEST(large_channels_shrink_and_answers_stay)
{
    for (int columns = 0; columns < 2; columns++) {
        struct pith_model *m = network(columns, false);
        const float *scale = m->values[m->nodes[0].in[1]].constant->data;
        float before[ROWS * OUT], after[ROWS * OUT];
        uint32_t n = 7;
        assert_int_equal(pith_smooth(m, 0, &n, NULL), PITH_OK);
        assert_int_equal(n, 0); /* not calibrated */
        look(m);
        run(m, before);
        assert_int_equal(pith_smooth(m, 9, &n, NULL), PITH_OK);
        assert_int_equal(n, 0); /* by less than a factor of 512 */
        assert_int_equal(pith_smooth(m, 2, &n, NULL), PITH_OK);
        assert_int_equal(n, 1);
        run(m, after);
        assert_memory_equal(before, after, sizeof before);
        /* 256 times as large before: a factor of 111 moves, 64 or 128, or the next where weights
         * differ */
        assert_true(scale[2] >= 1 && scale[2] <= 8);
        for (uint32_t j = 0; j < C; j++)
            assert_true(j == 2 || (scale[j] >= 0.25f && scale[j] <= 4));
        pith_model_free(m);
    }
}

/* Who else reads the value sees it as it was: products alone read a divided one. */
TEST(what_others_see_stays)
{
    struct pith_model *m = network(false, true);
    float before[ROWS * OUT], after[ROWS * OUT];
    uint32_t n = 7;
    look(m);
    run(m, before);
    assert_int_equal(m->outputs[2], m->nodes[0].out[0]);
    assert_int_equal(pith_smooth(m, 2, &n, NULL), PITH_OK);
    assert_int_equal(n, 1);
    run(m, after);
    assert_memory_equal(before, after, sizeof before);
    const struct pith_node *by = &m->nodes[1];
    assert_int_equal(m->n_nodes, 4);
    assert_int_equal(by->op, PITH_OP_MUL);
    assert_int_equal(by->in[0], m->nodes[0].out[0]);
    assert_int_equal(m->nodes[2].in[0], by->out[0]);
    assert_int_equal(m->nodes[3].in[0], by->out[0]);
    assert_int_equal(m->outputs[2], m->nodes[0].out[0]);
    assert_true(((const float *)m->values[m->nodes[0].in[1]].constant->data)[2] == 256);
    assert_true(((const float *)m->values[by->in[1]].constant->data)[2] <= 1.0f / 32);
    pith_model_free(m);
}

/* A product whose weight is somebody else's, too, reads what it read. */
TEST(shared_weights_stay)
{
    struct pith_model *m = network(true, false);
    uint32_t n = 7;
    look(m);
    const uint32_t read = m->nodes[2].in[0];
    m->outputs[m->n_outputs++] = m->nodes[2].in[1]; /* a weight */
    assert_int_equal(pith_smooth(m, 2, &n, NULL), PITH_OK);
    assert_int_equal(n, 1);
    assert_int_equal(m->n_nodes, 4);
    assert_int_equal(m->nodes[2].op, PITH_OP_MATMUL);
    assert_true(m->nodes[2].in[0] != read); /* the divided one */
    assert_int_equal(m->nodes[3].op, PITH_OP_GEMM);
    assert_int_equal(m->nodes[3].in[0], m->nodes[0].out[0]);
    pith_model_free(m);
}

/* Channels that are alike gain too little for an operator. */
TEST(little_gain_is_left)
{
    struct pith_model *m = network(false, true);
    uint32_t n = 7;
    look(m);
    m->values[m->nodes[0].out[0]].stats->channel[2].min = -4;
    assert_int_equal(pith_smooth(m, 1, &n, NULL), PITH_OK);
    assert_int_equal(n, 0);
    assert_int_equal(m->n_nodes, 3);
    pith_model_free(m);
}

RUN_TESTS
