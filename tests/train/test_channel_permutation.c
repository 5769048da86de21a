/* SPDX-License-Identifier: MIT */
/* Units in another order: the network answers as before, its rows have ever fewer weights, masks
 * and codebooks went along; what an output of the network shows stays where it is. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sample_models.h"
#include "pith_pack.h"
#include "train/model_answers.h"
#include "train/state/snapshot.h"
#include "train/small_network.h"
#include "train/shrink/parametrization.h"
#include "train/shrink/grid.h"
#include "train/shrink/channel_permutation.h"

enum { PIXELS = 28 * 28, DIGITS = 10, LAYERS = 4 };

/* Every third unit is dead, the others keep a share of their weights that differs; two centroids
 * for each row or, of every other layer, for all. */
static void prune_least(struct pith_model *m, const struct pith_weight_ref *ref, uint32_t layer)
{
    struct pith_const *c = m->values[ref->value].constant;
    float *data = c->data, *bias = m->values[m->nodes[ref->node].in[2]].constant->data;
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    b->n_centroids = 2;
    b->n_groups = layer % 2 ? ref->rows : 1;
    b->group_elems = c->count / b->n_groups;
    b->centroid = pith_model_alloc(m, 2 * b->n_groups, sizeof(float));
    b->index = pith_model_alloc(m, c->count, 1);
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t g = 0; g < b->n_groups; g++) {
        b->centroid[2 * g] = -0.0625f - (float)g / 1024.0f;
        b->centroid[2 * g + 1] = 0.125f + (float)g / 1024.0f;
    }
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t row = i / ref->cols;
        c->mask[i] = row % 3 != 0 && (i * 7 + layer) % (2 + row % 5) == 0;
        b->index[i] = data[i] > 0;
        data[i] = c->mask[i] ? b->centroid[2 * (i / b->group_elems) + b->index[i]] : 0.0f;
    }
    for (uint64_t row = 0; row < ref->rows; row += 3)
        bias[row] = 0;
    c->codebook = b;
}

static struct pith_model *network(struct pith_weight_ref refs[LAYERS])
{
    struct pith_error err;
    struct pith_model *m = sample_lenet5(3);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    assert_int_equal(pith_model_weights(m, refs), LAYERS);
    for (uint32_t i = 0; i + 1 < LAYERS; i++)
        prune_least(m, &refs[i], i);
    return m;
}

static void answers(const struct pith_model *m, float y[DIGITS])
{
    model_answers(m, PIXELS, y, DIGITS);
}

static uint64_t kept(const struct pith_model *m, const struct pith_weight_ref *ref, uint64_t row)
{
    const struct pith_const *c = m->values[ref->value].constant;
    const float *data = c->data;
    uint64_t n = 0;
    for (uint64_t i = row * ref->cols; i < (row + 1) * ref->cols; i++) {
        const struct pith_codebook *b = c->codebook;
        n += data[i] != 0;
        assert_int_equal(data[i] != 0, c->mask[i]);
        if (c->mask[i])
            assert_true(data[i] == b->centroid[2 * (i / b->group_elems) + b->index[i]]);
    }
    return n;
}

TEST(test_order)
{
    struct pith_weight_ref refs[LAYERS];
    float before[DIGITS], after[DIGITS];
    struct pith_model *m = network(refs);
    answers(m, before);
    assert_true(kept(m, &refs[2], 0) == 0 && kept(m, &refs[2], 1) > 0);
    assert_int_equal(pith_permute_channels(m), PITH_OK);
    for (uint32_t i = 0; i + 1 < LAYERS; i++)
        for (uint64_t row = 1; row < refs[i].rows; row++)
            assert_true(kept(m, &refs[i], row) <= kept(m, &refs[i], row - 1));
    answers(m, after);
    for (uint32_t i = 0; i < DIGITS; i++)
        assert_true(fabsf(after[i] - before[i]) < 1e-5f);
    pith_model_free(m);
}

/* The hidden layer is an output too: its units stay, those before it do not. */
TEST(test_shown)
{
    struct pith_weight_ref refs[LAYERS];
    struct pith_model *m = network(refs);
    m->outputs[m->n_outputs++] = m->nodes[refs[2].node].out[0];
    assert_int_equal(pith_permute_channels(m), PITH_OK);
    assert_int_equal(kept(m, &refs[2], 0), 0);
    assert_true(kept(m, &refs[2], 1) > 0);
    assert_true(kept(m, &refs[1], 0) > 0);
    assert_int_equal(kept(m, &refs[1], refs[1].rows - 1), 0);
    pith_model_free(m);
}

/* Dead units go out of the network: the ordered network answers the same with smaller
 * matrices, whether centroids are one set or one for each row. */
TEST(test_drop)
{
    struct pith_weight_ref refs[LAYERS], now[LAYERS];
    float before[DIGITS], after[DIGITS];
    struct pith_model *m = network(refs);
    struct pith_error err;
    uint64_t dropped, want = 0;
    for (uint32_t i = 0; i + 1 < LAYERS; i++) { /* what reads dead units goes too */
        struct pith_const *c = m->values[refs[i + 1].value].constant;
        uint64_t each = refs[i + 1].cols / refs[i].rows;
        for (uint64_t k = 0; k < c->count; k++)
            if (k % refs[i + 1].cols / each % 3 == 0) {
                ((float *)c->data)[k] = 0;
                if (c->mask)
                    c->mask[k] = 0;
            }
        want += (refs[i].rows + 2) / 3;
    }
    answers(m, before);
    assert_int_equal(pith_permute_channels(m), PITH_OK);
    assert_int_equal(pith_remove_dead_channels(m, &dropped, &err), PITH_OK);
    assert_int_equal(pith_model_weights(m, now), LAYERS);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const struct pith_codebook *b = m->values[now[i].value].constant->codebook;
        uint64_t less = i + 1 < LAYERS ? (refs[i].rows + 2) / 3 : 0;
        assert_true(now[i].rows <= refs[i].rows - less);
        assert_true(!b || b->group_elems * b->n_groups == now[i].rows * now[i].cols);
    }
    assert_true(dropped >= want);
    answers(m, after);
    for (uint32_t i = 0; i < DIGITS; i++)
        assert_true(fabsf(after[i] - before[i]) < 1e-5f);
    assert_int_equal(pith_remove_dead_channels(m, &dropped, &err), PITH_OK);
    assert_int_equal(dropped, 0);
    pith_model_free(m);
}

/* A bias [1, N] of a Gemm goes with its units as one of [N] does. */
TEST(test_drop_under_a_row_of_biases)
{
    struct pith_model *m = network_of(3, false);
    struct pith_error err = {0};
    uint64_t dropped = 0;
    float *w2 = constant(m, "w2")->data;
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, "b1") == 0) {
            m->values[i].rank = 2;
            m->values[i].dim[1] = m->values[i].dim[0];
            m->values[i].dim[0] = 1;
        }
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    for (uint32_t k = 0; k < CLASSES * HIDDEN; k++)
        if (k % HIDDEN >= HIDDEN - 2)
            w2[k] = 0;
    SUCCEEDS(pith_remove_dead_channels(m, &dropped, &err));
    assert_int_equal(dropped, 2);
    assert_int_equal(constant(m, "b1")->count, HIDDEN - 2);
    pith_model_free(m);
}

/* What was kept of a model before its units went brings all of it back. */
TEST(test_snapshot_of_dropped_units)
{
    struct pith_weight_ref refs[LAYERS];
    struct pith_model *m = network(refs);
    struct snapshot *s;
    struct pith_buffer file[2];
    struct pith_error err = {0};
    uint64_t dropped = 0;
    for (uint32_t i = 0; i + 1 < LAYERS; i++) { /* nothing reads the last units */
        struct pith_const *c = m->values[refs[i + 1].value].constant;
        for (uint64_t k = 0; k < c->count; k++)
            if (k % refs[i + 1].cols >= refs[i + 1].cols - refs[i + 1].cols / refs[i].rows) {
                ((float *)c->data)[k] = 0;
                if (c->mask)
                    c->mask[k] = 0;
            }
    }
    assert_int_equal(pith_model_pack(m, NULL, &file[0], &err), PITH_OK);
    assert_int_equal(pith_snapshot_new(m, &s), PITH_OK);
    assert_int_equal(pith_remove_dead_channels(m, &dropped, &err), PITH_OK);
    assert_true(dropped >= 3);
    pith_snapshot_restore(s, m);
    assert_int_equal(pith_model_pack(m, NULL, &file[1], &err), PITH_OK);
    assert_int_equal(file[0].bytes, file[1].bytes);
    assert_memory_equal(file[0].data, file[1].data, file[0].bytes);
    pith_snapshot_free(s);
    pith_buffer_free(&file[0]);
    pith_buffer_free(&file[1]);
    pith_model_free(m);
}

RUN_TESTS
