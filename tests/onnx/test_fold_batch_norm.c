/* SPDX-License-Identifier: MIT */
/* Folded batch normalization against the arithmetic done by hand, with masks, codebooks of every
 * grouping, shared tensors, and the cases that must stay as they are. */
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include "test_run.h"
#include "onnx_refusal.h"

/* x [N,2,4,4] -> Conv w [2,2,1,1] = {1, 2, -3, 0} -> BatchNormalization -> y
 * channel 0: scale 2, shift 10, mean 1, var 3, epsilon 1: factor 1;
 * channel 1: scale -2, shift 20, mean 2, var 0: factor -2. */
static struct proto tensor4(const char *name, float a, float b, float c, float d, size_t rank,
                            int64_t first, int64_t second)
{
    const float v[4] = {a, b, c, d};
    const int64_t dims[4] = {first, second, 1, 1};
    return build_tensor(name, BUILD_FLOAT, dims, rank, v, (size_t)(first * second) * sizeof *v);
}

static struct pith_model *normalized(bool shared, bool biased)
{
    struct proto g = {0};
    struct proto bn = build_node("BatchNormalization", "bn", "c scale shift mean var -> y");
    struct proto epsilon = {0};
    proto_text(&epsilon, 1, "epsilon");
    proto_float(&epsilon, 2, 1.0f);
    proto_int(&epsilon, 20, 1);
    proto_message(&bn, 5, epsilon);
    proto_message(&g, GRAPH_NODE, build_node("Conv", "conv", biased ? "x w b -> c" : "x w -> c"));
    proto_message(&g, GRAPH_NODE, bn);
    if (shared)
        proto_message(&g, GRAPH_NODE, build_node("Conv", "other", "x w -> z"));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("w", 1, 2, -3, 0, 4, 2, 2));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("b", 5, 7, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("scale", 2, -2, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("shift", 10, 20, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("mean", 1, 2, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("var", 3, 0, 0, 0, 1, 2, 1));
    build_input(&g, "x", 4, -1, 2, 4, 4);
    build_output(&g, "y");
    if (shared)
        build_output(&g, "z");
    return import_file(build_model(g, 13));
}

static struct pith_const *constant(const struct pith_model *m, uint32_t node, uint32_t i)
{
    return m->values[m->nodes[node].in[i]].constant;
}

static void fold(struct pith_model *m, uint32_t want)
{
    uint32_t n = 99;
    struct pith_error err = {0};
    assert_int_equal(pith_model_fold_batch_norm(m, &n, &err), PITH_OK);
    assert_int_equal(n, want);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
}

static void floats_are(const void *data, size_t n, const float *want)
{
    const float *v = data;
    for (size_t i = 0; i < n; i++)
        if (v[i] != want[i] || signbit(v[i]) != signbit(want[i]))
            fail_msg("element %zu is %g, expected %g", i, (double)v[i], (double)want[i]);
}

static const float folded_weight[4] = {1, 2, 6, 0};

TEST(test_values)
{
    static const float plain[2] = {9, 24}, with_bias[2] = {14, 10};
    for (int biased = 0; biased < 2; biased++) {
        struct pith_model *m = normalized(false, biased);
        fold(m, 1);
        assert_int_equal(m->n_nodes, 1);
        assert_int_equal(m->n_values, 4); /* x w bias y */
        assert_int_equal(m->nodes[0].n_in, 3);
        floats_are(constant(m, 0, 1)->data, 4, folded_weight);
        floats_are(constant(m, 0, 2)->data, 2, biased ? with_bias : plain);
        assert_int_equal(m->nodes[0].out[0], m->outputs[0]);
        assert_string_equal(m->values[m->outputs[0]].name, "y");
        assert_true(m->batch_open);
        fold(m, 0); /* nothing is left to fold */
        pith_model_free(m);
    }
}

TEST(mask_and_codebooks)
{
    /* one codebook {-3, 0, 1, 2} for the tensor, for each channel, for each weight */
    static const uint64_t group_elems[] = {4, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        struct pith_model *m = normalized(false, false);
        struct pith_const *w = constant(m, 0, 1);
        struct pith_codebook *cb = pith_model_alloc(m, 1, sizeof *cb);
        static const float centroid[4] = {-3, 0, 1, 2};
        static const uint8_t index[4] = {2, 3, 0, 1}, mask[4] = {1, 1, 1, 0};
        *cb = (struct pith_codebook){
            .n_centroids = 4, .group_elems = group_elems[i], .n_groups = 4 / group_elems[i]};
        cb->centroid = pith_model_alloc(m, cb->n_groups * 4, sizeof(float));
        for (uint64_t g = 0; g < cb->n_groups; g++)
            memcpy(cb->centroid + 4 * g, centroid, sizeof centroid);
        cb->index = pith_model_alloc(m, 4, 1);
        memcpy(cb->index, index, 4);
        w->mask = pith_model_alloc(m, 4, 1);
        memcpy(w->mask, mask, 4);
        w->codebook = cb;
        fold(m, 1);
        w = constant(m, 0, 1);
        cb = w->codebook;
        floats_are(w->data, 4, folded_weight);
        assert_memory_equal(w->mask, mask, 4);
        assert_int_equal(cb->group_elems, group_elems[i] < 2 ? 1 : 2);
        assert_int_equal(cb->n_groups * cb->group_elems, 4);
        for (uint64_t g = 0; g < cb->n_groups; g++)
            for (uint32_t k = 1; k < 4; k++)
                assert_true(cb->centroid[4 * g + k - 1] <= cb->centroid[4 * g + k]);
        for (uint64_t k = 0; k < 4; k++)
            assert_true(cb->centroid[k / cb->group_elems * 4 + cb->index[k]] == folded_weight[k]);
        pith_model_free(m);
    }
}

/* The other reader of a shared weight must keep what it reads, and a copy would be larger than the
 * normalization. */
TEST(test_shared)
{
    static const float original[4] = {1, 2, -3, 0};
    struct pith_model *m = normalized(true, false);
    bool foldable[3];
    assert_int_equal(pith_model_find_foldable(m, foldable, NULL), PITH_OK);
    assert_false(foldable[1]);
    fold(m, 0);
    assert_int_equal(m->n_nodes, 3);
    assert_int_equal(m->nodes[0].in[1], m->nodes[2].in[1]);
    floats_are(constant(m, 0, 1)->data, 4, original);
    pith_model_free(m);
}

/* x -> Conv w -> bn -> Relu -> Conv w -> bn -> y, the second with these constants. */
static struct pith_model *normalized_twice(const char *second, float shift1)
{
    char links[64];
    snprintf(links, sizeof links, "d %s -> y", second);
    struct proto g = {0};
    proto_message(&g, GRAPH_NODE, build_node("Conv", "conv", "x w -> c"));
    proto_message(&g, GRAPH_NODE,
                  build_node("BatchNormalization", "bn", "c scale shift mean var -> s"));
    proto_message(&g, GRAPH_NODE, build_node("Relu", "relu", "s -> t"));
    proto_message(&g, GRAPH_NODE, build_node("Conv", "again", "t w b -> d"));
    proto_message(&g, GRAPH_NODE, build_node("BatchNormalization", "bn2", links));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("w", 1, 2, -3, 0, 4, 2, 2));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("b", 0, shift1, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("scale", 2, -2, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("scale2", 2, -3, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("shift", 10, 20, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("shift2", 1, 2, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("mean", 1, 2, 0, 0, 1, 2, 1));
    proto_message(&g, GRAPH_INITIALIZER, tensor4("var", 4, 1, 0, 0, 1, 2, 1));
    build_input(&g, "x", 4, -1, 2, 4, 4);
    build_output(&g, "y");
    return import_file(build_model(g, 13));
}

/* Factors {1, -2} but for epsilon: the weight is scaled once, for all or for none. */
TEST(shared_by_normalized)
{
    struct pith_model *m = normalized_twice("scale shift mean var", 0);
    bool foldable[5];
    assert_int_equal(pith_model_find_foldable(m, foldable, NULL), PITH_OK);
    assert_true(foldable[1] && foldable[4]);
    fold(m, 2);
    assert_int_equal(m->n_nodes, 3);
    assert_int_equal(m->nodes[0].in[1], m->nodes[2].in[1]);
    assert_int_equal(m->nodes[0].in[2], m->nodes[2].in[2]); /* the biases are the same, too */
    const float *w = constant(m, 0, 1)->data;
    assert_true(fabsf(w[0] - 1) < 1e-4f && fabsf(w[2] - 6) < 1e-3f);
    assert_int_equal(m->n_values, 6); /* x w bias s t y */
    pith_model_free(m);
    m = normalized_twice("scale shift2 mean var", 0);
    fold(m, 2);
    assert_int_equal(m->nodes[0].in[1], m->nodes[2].in[1]);
    const float *b = constant(m, 0, 2)->data, *b2 = constant(m, 2, 2)->data;
    assert_true(fabsf(b[0] - 9) < 1e-4f && fabsf(b2[0] - 0) < 1e-4f);
    pith_model_free(m);
    m = normalized_twice("scale shift mean var", 5); /* another bias in front */
    fold(m, 2);
    b = constant(m, 0, 2)->data;
    b2 = constant(m, 2, 2)->data;
    assert_true(fabsf(b[1] - 24) < 1e-3f && fabsf(b2[1] - 14) < 1e-3f);
    for (uint32_t i = 0; i < m->n_values; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(m->values[i].name, m->values[k].name);
    pith_model_free(m);
    m = normalized_twice("scale2 shift mean var", 0);
    assert_int_equal(pith_model_find_foldable(m, foldable, NULL), PITH_OK);
    assert_false(foldable[1] || foldable[4]);
    fold(m, 0);
    assert_int_equal(m->n_nodes, 5);
    assert_true(((const float *)constant(m, 0, 1)->data)[2] == -3);
    pith_model_free(m);
}

TEST(left_alone)
{
    struct pith_model *m = normalized(false, false);
    ((float *)constant(m, 1, 4)->data)[1] = -2; /* var + epsilon < 0 */
    fold(m, 0);
    assert_int_equal(m->n_nodes, 2);
    pith_model_free(m);
    m = normalized(false, false);
    ((float *)constant(m, 1, 2)->data)[0] = NAN;
    fold(m, 0);
    pith_model_free(m);
    m = normalized(false, false);
    uint32_t *outputs = pith_model_alloc(m, 2, sizeof *outputs); /* the sum is an output as well */
    outputs[0] = m->outputs[0];
    outputs[1] = m->nodes[0].out[0];
    m->outputs = outputs;
    m->n_outputs = 2;
    fold(m, 0);
    pith_model_free(m);
}

/* w as k * 1, |k| <= 3. */
static void attach_grid(struct pith_model *m)
{
    struct pith_const *w = constant(m, 0, 1);
    struct pith_codebook *cb = pith_model_alloc(m, 1, sizeof *cb);
    *cb = (struct pith_codebook){.n_centroids = 7,
                                 .group_elems = 4,
                                 .n_groups = 1,
                                 .centroid = pith_model_alloc(m, 7, sizeof(float)),
                                 .index = pith_model_alloc(m, 4, 1)};
    for (uint32_t i = 0; i < 7; i++)
        cb->centroid[i] = (float)i - 3.0f;
    for (uint32_t i = 0; i < 4; i++)
        cb->index[i] = (uint8_t)(((const float *)w->data)[i] + 3.0f);
    w->codebook = cb;
}

static float step_of_row(const struct pith_codebook *cb, uint64_t row)
{
    return cb->centroid[7 * row + 4];
}

/* A grid stays one in each channel, to the bit; a negative factor mirrors it. Steps have the bits
 * requested, and the bias is made of the factor that this leaves. */
TEST(test_grid)
{
    static const uint32_t bits[] = {23, 7, 2, 0};
    static const float factor[4][2] = {
        {1.2345f, -1.987f}, {1.2343750f, -1.984375f}, {1.25f, -2}, {1, -2}};
    for (int i = 0; i < 4; i++) {
        struct pith_model *m = normalized(false, false);
        struct pith_error err;
        uint32_t n;
        attach_grid(m);
        ((float *)constant(m, 1, 1)->data)[0] = 2 * 1.2345f; /* over sqrt(3 + 1) */
        ((float *)constant(m, 1, 1)->data)[1] = -1.987f;
        assert_int_equal(pith_model_fold_onto_grids(m, bits[i], 0, &n, &err), PITH_OK);
        assert_int_equal(n, 1);
        const struct pith_const *w = constant(m, 0, 1);
        const struct pith_codebook *cb = w->codebook;
        const float want[4] = {factor[i][0], 2 * factor[i][0], -3 * factor[i][1], 0};
        const float bias[2] = {10 - factor[i][0], 20 - 2 * factor[i][1]};
        floats_are(w->data, 4, want);
        floats_are(constant(m, 0, 2)->data, 2, bias);
        assert_int_equal(cb->n_groups, 2);
        for (uint32_t k = 0; k < 14; k++) {
            float multiple = (float)((int)(k % 7) - 3) * step_of_row(cb, k / 7);
            assert_true(cb->centroid[k] == multiple &&
                        !(multiple == 0 && signbit(cb->centroid[k])));
        }
        for (uint32_t k = 0; k < 4; k++)
            assert_true(cb->centroid[7 * (k / 2) + cb->index[k]] == want[k]);
        pith_model_free(m);
    }
}

/* No weight of channel 1 is left: it takes the other's step, but its bias knows its own factor. */
TEST(dead_channel)
{
    static const float bias[2] = {9, 24};
    struct pith_model *m = normalized(false, false);
    struct pith_error err;
    struct pith_const *w = constant(m, 0, 1);
    ((float *)w->data)[2] = 0;
    attach_grid(m);
    assert_int_equal(pith_model_fold_onto_grids(m, 4, 0, NULL, &err), PITH_OK);
    w = constant(m, 0, 1);
    floats_are(w->data, 4, (const float[]){1, 2, 0, 0});
    floats_are(constant(m, 0, 2)->data, 2, bias);
    assert_true(step_of_row(w->codebook, 1) == step_of_row(w->codebook, 0));
    pith_model_free(m);
}

/* A scale of 0 leaves no weight: that channel takes the other's step too, or all would be written
 * one by one. */
TEST(scale_of_zero)
{
    struct pith_model *m = normalized(false, false);
    struct pith_error err;
    attach_grid(m);
    ((float *)constant(m, 1, 1)->data)[1] = 0;
    assert_int_equal(pith_model_fold_onto_grids(m, 4, 0, NULL, &err), PITH_OK);
    const struct pith_const *w = constant(m, 0, 1);
    floats_are(w->data, 4, (const float[]){1, 2, 0, 0});
    floats_are(constant(m, 0, 2)->data, 2, (const float[]){9, 20});
    assert_true(step_of_row(w->codebook, 1) == step_of_row(w->codebook, 0));
    for (uint32_t k = 2; k < 4; k++)
        assert_true(w->codebook->centroid[7 + w->codebook->index[k]] == 0);
    pith_model_free(m);
}

/* 9 and 24 on multiples of 24 / 7, which is 3.421875 with 8 bits: 3 and 7 of them. */
TEST(bias_grid)
{
    struct pith_model *m = normalized(false, false);
    struct pith_error err;
    bool foldable[2];
    assert_int_equal(pith_model_find_foldable(m, foldable, &err), PITH_OK);
    assert_true(!foldable[0] && foldable[1]);
    assert_int_equal(pith_model_fold_onto_grids(m, 23, 7, NULL, &err), PITH_OK);
    const struct pith_const *b = constant(m, 0, 2);
    floats_are(constant(m, 0, 1)->data, 4, folded_weight);
    assert_int_equal(b->codebook->n_centroids, 15);
    float step = b->codebook->centroid[8];
    assert_true(fabsf(step - 24.0f / 7) < 24.0f / 7 / 256 && fmodf(step, 1.0f / 64) == 0);
    floats_are(b->data, 2, (const float[]){3 * step, 7 * step});
    for (uint32_t i = 0; i < 2; i++)
        assert_true(b->codebook->centroid[b->codebook->index[i]] == ((const float *)b->data)[i]);
    assert_int_equal(pith_model_find_foldable(m, foldable, &err), PITH_OK);
    assert_false(foldable[0]);
    pith_model_free(m);
}

RUN_TESTS
