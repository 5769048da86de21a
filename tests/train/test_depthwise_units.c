/* SPDX-License-Identifier: MIT */
/* Units that go through a depthwise convolution: which rows and columns they are, put in order, and
 * taken out. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <string.h>
#include "sample_models.h"
#include "train/model_answers.h"
#include "train/shrink/parametrization.h"
#include "train/shrink/grid.h"
#include "train/shrink/channel_dependency.h"
#include "train/shrink/channel_permutation.h"

enum { CHANNELS = 3, SIDE = 6, UNITS = 12, CLASSES = 4 };
enum { WIDE, DEPTHWISE, DENSE, LAYERS = 4 };

static uint32_t conv(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x,
                     const uint32_t dim[4], int32_t group)
{
    x = add_layer(m, r, PITH_OP_CONV, name, x, 4, dim);
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = group;
    return add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
}

static struct pith_model *network(struct pith_weight_ref refs[LAYERS])
{
    struct sample_random r = sample_random_of(6);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_input(m, "image", 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    m->batch_open = true;
    x = conv(m, &r, "wide", x, (const uint32_t[]){UNITS, CHANNELS, 3, 3}, 1);
    x = conv(m, &r, "depthwise", x, (const uint32_t[]){UNITS, 1, 3, 3}, UNITS);
    x = conv(m, &r, "dense", x, (const uint32_t[]){8, UNITS, 1, 1}, 1);
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    uint32_t flat = m->values[x].dim[1];
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){CLASSES, flat});
    sample_done(m, x);
    assert_int_equal(pith_model_weights(m, refs), LAYERS);
    return m;
}

static struct pith_const *weight(struct pith_model *m, const struct pith_weight_ref *ref)
{
    return m->values[ref->value].constant;
}

static struct pith_const *bias(struct pith_model *m, const struct pith_weight_ref *ref)
{
    return m->values[m->nodes[ref->node].in[2]].constant;
}

static void answers(const struct pith_model *m, float y[CLASSES])
{
    model_answers(m, CHANNELS * SIDE * SIDE, y, CLASSES);
}

static void assert_same_answers(const float *a, const float *b)
{
    float largest = 0;
    for (uint32_t i = 0; i < CLASSES; i++)
        largest = fmaxf(largest, fabsf(a[i]));
    assert_true(largest > 0);
    for (uint32_t i = 0; i < CLASSES; i++)
        assert_true(fabsf(a[i] - b[i]) < 1e-5f * largest);
}

TEST(test_links)
{
    struct pith_weight_ref refs[LAYERS], again[LAYERS];
    struct channel_link link[16];
    uint32_t n;
    struct pith_model *m = network(refs);
    assert_true(m->n_nodes <= 16);
    assert_int_equal(pith_channel_dependencies(m, link, again, &n), PITH_OK);
    assert_int_equal(n, LAYERS);
    for (uint32_t i = 0; i < LAYERS; i++) {
        assert_int_equal(link[i].source, i ? i - 1 : PITH_VALUE_NONE);
        assert_int_equal(link[i].by_row, i == DEPTHWISE);
    }
    m->nodes[refs[DEPTHWISE].node].attr[ATTR_CONV_GROUP] =
        UNITS / 2; /* neither one nor the other */
    assert_int_equal(pith_channel_dependencies(m, link, again, &n), PITH_OK);
    assert_int_equal(link[DEPTHWISE].source, PITH_VALUE_NONE);
    assert_int_equal(link[DENSE].source, PITH_VALUE_NONE);
    pith_model_free(m);
}

/* Rows on grids of their own: five steps, none like the row's before. */
static void put_rows_on_grids(struct pith_model *m, struct pith_const *c)
{
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    *b = (struct pith_codebook){
        .n_centroids = 15, .group_elems = c->count / UNITS, .n_groups = UNITS};
    b->centroid = pith_model_alloc(m, 15 * UNITS, sizeof(float));
    b->index = pith_model_alloc(m, c->count, 1);
    for (uint32_t k = 0; k < 15 * UNITS; k++)
        b->centroid[k] = ((float)(k % 15) - 7) * (float)(1 << k / 15 * 2 % 5) / 64;
    for (uint64_t i = 0; i < c->count; i++) {
        b->index[i] = (uint8_t)(i * 7 % 15);
        ((float *)c->data)[i] = b->centroid[i / b->group_elems * 15 + b->index[i]];
    }
    c->codebook = b;
}

TEST(test_order_by_steps)
{
    struct pith_weight_ref refs[LAYERS];
    float before[CLASSES], after[CLASSES];
    struct pith_model *m = network(refs);
    struct pith_const *c = weight(m, &refs[DEPTHWISE]);
    put_rows_on_grids(m, c);
    answers(m, before);
    assert_int_equal(pith_permute_channels(m), PITH_OK);
    for (uint64_t r = 0; r < UNITS; r++) {
        const float *centroid = c->codebook->centroid + 15 * r;
        assert_true(r == 0 || centroid[8] <= centroid[8 - 15]);
        for (uint64_t k = 9 * r; k < 9 * r + 9; k++)
            assert_true(((float *)c->data)[k] == centroid[c->codebook->index[k]]);
    }
    assert_true(c->codebook->centroid[8] > c->codebook->centroid[15 * (UNITS - 1) + 8]);
    answers(m, after);
    assert_same_answers(before, after);
    pith_model_free(m);
}

static void kill_unit(struct pith_model *m, const struct pith_weight_ref refs[LAYERS],
                      uint64_t unit)
{
    for (uint32_t i = WIDE; i <= DEPTHWISE; i++) {
        memset((float *)weight(m, &refs[i])->data + unit * refs[i].cols, 0,
               refs[i].cols * sizeof(float));
        ((float *)bias(m, &refs[i])->data)[unit] = 0;
    }
    for (uint64_t r = 0; r < refs[DENSE].rows; r++)
        ((float *)weight(m, &refs[DENSE])->data)[r * UNITS + unit] = 0;
}

TEST(test_drop)
{
    struct pith_weight_ref refs[LAYERS];
    float before[CLASSES], after[CLASSES];
    struct pith_error err;
    uint64_t dropped;
    struct pith_model *m = network(refs);
    kill_unit(m, refs, 3);
    kill_unit(m, refs, 7);
    answers(m, before);
    assert_int_equal(pith_permute_channels(m), PITH_OK);
    assert_int_equal(pith_remove_dead_channels(m, &dropped, &err), PITH_OK);
    assert_int_equal(dropped, 2);
    assert_int_equal(m->values[refs[WIDE].value].dim[0], UNITS - 2);
    assert_int_equal(m->values[refs[DEPTHWISE].value].dim[0], UNITS - 2);
    assert_int_equal(m->nodes[refs[DEPTHWISE].node].attr[ATTR_CONV_GROUP], UNITS - 2);
    assert_int_equal(m->values[refs[DENSE].value].dim[1], UNITS - 2);
    assert_int_equal(bias(m, &refs[DEPTHWISE])->count, UNITS - 2);
    answers(m, after);
    assert_same_answers(before, after);
    pith_model_free(m);
}

RUN_TESTS
