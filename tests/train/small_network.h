/* SPDX-License-Identifier: MIT */
/* small_network.h - four clouds of points, and a network that classifies them. Include after
 * cmocka.h. */
#ifndef SMALL_NETWORK_H
#define SMALL_NETWORK_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sample_models.h"
#include "pith_train.h"
#include "pith_value_stats.h"
#include "train/train_with.h"

enum { INPUTS = 6, HIDDEN = 12, CLASSES = 4, SAMPLES = 512 };

static inline float noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

/* x: [n, INPUTS]; label: [n]. */
static inline struct pith_data *labelled_points(uint32_t n, const float *x, const int64_t *label)
{
    struct pith_buffer npy, labels;
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    char path[] = "/tmp/pith-train-XXXXXX";
    const uint32_t dim[] = {n, INPUTS};
    assert_int_equal(pith_npy_write(PITH_F32, 2, dim, x, &npy, &err), PITH_OK);
    assert_int_equal(pith_npy_write(PITH_I64, 1, dim, label, &labels, &err), PITH_OK);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(pith_file_write(path, labels.data, labels.bytes, &err), PITH_OK);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "points.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .labels = path,
                               .rank = 2,
                               .dim = {1, INPUTS}};
    SUCCEEDS(pith_data_open(&o, &data, &err));
    unlink(path);
    pith_buffer_free(&npy);
    pith_buffer_free(&labels);
    return data;
}

/* The label of one of the samples is `wrong`, unless that is 0. */
static inline struct pith_data *clouds(int64_t wrong)
{
    static float x[SAMPLES * INPUTS];
    static int64_t label[SAMPLES];
    uint32_t state = 7;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        label[i] = i % CLASSES;
        for (uint32_t k = 0; k < INPUTS; k++)
            x[i * INPUTS + k] = noise(&state) + (k == i % CLASSES ? 2.0f : 0.0f);
    }
    if (wrong)
        label[SAMPLES / 2] = wrong;
    return labelled_points(SAMPLES, x, label);
}

/* fc1, batch normalisation if wanted, act, fc2. */
static inline struct pith_model *network_of(uint64_t seed, bool batch_norm)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, INPUTS});
    m->batch_open = true;
    uint32_t w1 = add_constant(m, &r, "w1", 2, (const uint32_t[]){HIDDEN, INPUTS});
    uint32_t b1 = add_constant(m, &r, "b1", 1, (const uint32_t[]){HIDDEN});
    uint32_t h = add_node(m, PITH_OP_GEMM, "fc1", "h", 3, (const uint32_t[]){x, w1, b1})->out[0];
    if (batch_norm) {
        uint32_t in[5] = {h};
        static const char *const name[] = {"", "scale", "bias", "mean", "variance"};
        for (uint32_t i = 1; i < 5; i++) {
            in[i] = add_constant(m, &r, name[i], 1, (const uint32_t[]){HIDDEN});
            float *v = m->values[in[i]].constant->data;
            for (uint32_t k = 0; k < HIDDEN; k++)
                v[k] = i == 1 || i == 4 ? 1.0f : 0.0f;
        }
        h = add_node(m, PITH_OP_BATCH_NORM, "norm", "n", 5, in)->out[0];
    }
    h = add_node(m, PITH_OP_RELU, "act", "a", 1, &h)->out[0];
    uint32_t w2 = add_constant(m, &r, "w2", 2, (const uint32_t[]){CLASSES, HIDDEN});
    uint32_t b2 = add_constant(m, &r, "b2", 1, (const uint32_t[]){CLASSES});
    return sample_done(
        m, add_node(m, PITH_OP_GEMM, "fc2", "y", 3, (const uint32_t[]){h, w2, b2})->out[0]);
}

static inline struct pith_train_opts small_options(void)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 6;
    o.batch = 32;
    o.rate = 0.02f;
    o.threads = 1;
    return o;
}

static inline struct pith_const *constant(struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return m->values[i].constant;
    fail_msg("no constant %s", name);
    return NULL;
}

/* Every third weight of w1 is removed. */
static inline void attach_mask(struct pith_model *m)
{
    struct pith_const *c = constant(m, "w1");
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t k = 0; k < c->count; k++) {
        c->mask[k] = k % 3 != 0;
        if (!c->mask[k])
            ((float *)c->data)[k] = 0;
    }
}

/* Four centroids for w1, so close that they pass each other. */
static inline void attach_codebook(struct pith_model *m)
{
    struct pith_const *c = constant(m, "w1");
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    b->n_centroids = 4;
    b->n_groups = 1;
    b->group_elems = c->count;
    b->centroid = pith_model_alloc(m, 4, sizeof *b->centroid);
    b->index = pith_model_alloc(m, c->count, 1);
    for (uint32_t i = 0; i < 4; i++)
        b->centroid[i] = 0.001f * (float)i;
    for (uint64_t k = 0; k < c->count; k++) {
        b->index[k] = (uint8_t)(k * 7 % 4);
        ((float *)c->data)[k] = b->centroid[b->index[k]];
    }
    c->codebook = b;
}

/* A grid of levels -7..7 for each row of w1, as an earlier run leaves them. */
static inline void attach_row_grids(struct pith_model *m)
{
    struct pith_const *c = constant(m, "w1");
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    b->n_centroids = 15;
    b->n_groups = HIDDEN;
    b->group_elems = c->count / b->n_groups;
    b->centroid = pith_model_alloc(m, 15 * b->n_groups, sizeof *b->centroid);
    b->index = pith_model_alloc(m, c->count, 1);
    for (uint32_t i = 0; i < 15 * b->n_groups; i++) {
        const float step = 0.01f * (float)(1 + i / 15);
        b->centroid[i] = (float)((int32_t)(i % 15) - 7) * step;
    }
    for (uint64_t k = 0; k < c->count; k++) {
        b->index[k] = (uint8_t)(k * 7 % 15);
        ((float *)c->data)[k] = b->centroid[k / b->group_elems * 15 + b->index[k]];
    }
    c->codebook = b;
}

/* Grids of 4 bits for what the layers read - x keeps its own - and integers of 3 bits, a step a
 * row, and of 8 bits, one step, for the weights. Of a network without batch normalisation. */
static inline const struct pith_train_integers *attach_integers(struct pith_model *m)
{
    static struct pith_train_value values[2];
    static struct pith_train_weight weights[2];
    static const struct pith_train_integers integers = {
        .values = values, .weights = weights, .n_values = 2, .n_weights = 2};
    const uint32_t at[2] = {m->inputs[0], m->nodes[1].out[0]};
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
        *g = (struct pith_grid){.type = PITH_U8,
                                .bits = 4,
                                .method = PITH_RANGE_MSE,
                                .zero_point = i ? 0 : 5,
                                .n = 1,
                                .scale = pith_model_alloc(m, 1, sizeof *g->scale)};
        g->scale[0] = i ? 0.4f : 0.3f;
        m->values[at[i]].grid = g;
        values[i] = (struct pith_train_value){.value = at[i], .like = at[i], .learned = i > 0};
    }
    weights[0] = (struct pith_train_weight){
        .value = m->nodes[0].in[1], .lowest = -4, .highest = 3, .by_row = true};
    weights[1] =
        (struct pith_train_weight){.value = m->nodes[2].in[1], .lowest = -127, .highest = 127};
    return &integers;
}

/* m, trained on clouds(0), which also validate it where that is wanted. */
static inline struct pith_train_result trained_on(struct pith_model *m,
                                                  const struct pith_train_opts *o, bool validates)
{
    return train_with(m, o, clouds(0), validates ? clouds(0) : NULL);
}

#endif
