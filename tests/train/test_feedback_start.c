/* SPDX-License-Identifier: MIT */
/* Weights put onto grids so that layers' answers change least: networks that answer much nearer to
 * what they did than with each weight rounded for itself. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <string.h>
#include "train/feedback/row_steps.h"
#include "sample_models.h"
#include "pith_train.h"
#include "train/train_with.h"

/* ---- networks -------------------------------------------------------------------------------- */

enum { SAMPLES = 192, CHANNELS = 4, SIDE = 9, ELEMS = CHANNELS * SIDE * SIDE, CLASSES = 5 };

/* Neighbours are alike, and the first channel is far from 0: what makes rounding errors add up. */
static struct pith_data *some_pictures(uint32_t n)
{
    static float x[SAMPLES * ELEMS];
    struct sample_random r = sample_random_of(11);
    struct pith_buffer npy;
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    for (int s = 0; s < SAMPLES; s++)
        for (int k = 0; k < ELEMS; k++) {
            float was = k % (SIDE * SIDE) ? x[s * ELEMS + k - 1] : sample_gauss(&r);
            x[s * ELEMS + k] = 0.9f * was + 0.4f * sample_gauss(&r);
        }
    for (int s = 0; s < SAMPLES; s++)
        for (int k = 0; k < SIDE * SIDE; k++)
            x[s * ELEMS + k] += 5;
    const uint32_t dim[] = {n, CHANNELS, SIDE, SIDE};
    assert_int_equal(pith_npy_write(PITH_F32, 4, dim, x, &npy, &err), PITH_OK);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "pictures.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 4,
                               .dim = {1, CHANNELS, SIDE, SIDE}};
    if (pith_data_open(&o, &data, &err))
        fail_msg("%s", err.text);
    pith_buffer_free(&npy);
    return data;
}

static uint32_t conv(struct pith_model *m, struct sample_random *r, const char *name, uint32_t x,
                     const uint32_t *dim, int32_t group, int32_t stride)
{
    x = add_layer(m, r, PITH_OP_CONV, name, x, 4, dim);
    struct pith_node *node = &m->nodes[m->n_nodes - 1];
    node->attr[ATTR_CONV_GROUP] = group;
    set_pair(node->attr + ATTR_CONV_STRIDES, stride);
    node->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 4; i++)
        node->attr[ATTR_CONV_PADS + i] = i == 4 ? 0 : 1;
    return add_node(m, PITH_OP_RELU, "", "", 1, &x)->out[0];
}

static struct pith_data *pictures(void)
{
    return some_pictures(SAMPLES);
}

/* All kinds of convolutions: with groups, depthwise, dense; then products. summed: the first one's
 * bias is a sum of two constants, and so none that can be moved. */
static struct pith_model *network_of(bool summed)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "image", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    uint32_t sum = PITH_VALUE_NONE;
    if (summed) {
        const uint32_t part[] = {add_constant(m, &r, "a", 1, (const uint32_t[]){12}),
                                 add_constant(m, &r, "b", 1, (const uint32_t[]){12})};
        sum = add_node(m, PITH_OP_ADD, "sum", "a + b", 2, part)->out[0];
    }
    x = conv(m, &r, "grouped", x, (const uint32_t[]){12, 2, 3, 3}, 2, 1);
    if (summed)
        m->nodes[1].in[2] = sum;
    x = conv(m, &r, "depthwise", x, (const uint32_t[]){12, 1, 3, 3}, 12, 2);
    x = conv(m, &r, "dense", x, (const uint32_t[]){8, 12, 2, 3}, 1, 1);
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    uint32_t flat = m->values[x].dim[1];
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){CLASSES, flat});
    m->outputs[m->n_outputs++] = x;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    for (uint32_t i = 0; i < m->n_values; i++) /* so that answers stay of a size */
        for (uint64_t k = 0; m->values[i].constant && k < m->values[i].constant->count; k++)
            ((float *)m->values[i].constant->data)[k] *= 0.3f;
    return m;
}

static struct pith_model *network(void)
{
    return network_of(false);
}

static struct pith_train_opts options(uint32_t feedback, const struct pith_model *teacher)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 1;
    o.batch = 32;
    o.threads = 1;
    o.rate = 1e-20f; /* nothing moves: what is measured is the beginning */
    o.loss = PITH_DISTILL;
    o.teacher = teacher;
    o.levels = 15;
    o.first_step = 0.5f;
    o.gptq_samples = feedback;
    return o;
}

/* The KL of the network so rounded to the one that it was. */
static double loss_of(struct pith_model *m, const struct pith_train_opts *o, uint32_t samples)
{
    return train_with(m, o, some_pictures(samples), NULL).loss;
}

static double loss_with(struct pith_model *m, const struct pith_train_opts *o)
{
    return loss_of(m, o, SAMPLES);
}

static void expect_nearer(bool summed)
{
    struct pith_model *teacher = network_of(summed), *alone = network_of(summed),
                      *together = network_of(summed);
    struct pith_train_opts o = options(0, teacher);
    double before = loss_with(alone, &o);
    o = options(SAMPLES, teacher);
    double after = loss_with(together, &o);
    assert_true(before > 1e-3);
    if (!(after < 0.25 * before))
        fail_msg("loss %g after %g", after, before);
    pith_model_free(teacher);
    pith_model_free(alone);
    pith_model_free(together);
}

TEST(test_answers_stay_nearer)
{
    expect_nearer(false);
}

/* The mean of what comes in is far from 0, and here no bias makes up for what rounding makes of it.
 */
TEST(test_without_a_bias_to_move)
{
    expect_nearer(true);
}

static struct pith_const *weight(struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return m->values[i].constant;
    fail_msg("no %s", name);
    return NULL;
}

static void prune_half(struct pith_model *m, const char *name)
{
    struct pith_const *c = weight(m, name);
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t k = 0; k < c->count; k++) {
        c->mask[k] = k % 2 == 0;
        if (!c->mask[k])
            ((float *)c->data)[k] = 0;
    }
}

/* What is pruned stays 0, everything else is k * step. */
TEST(test_masks_and_grids_hold)
{
    struct pith_model *teacher = network(), *m = network();
    struct pith_train_opts o = options(64, teacher);
    prune_half(m, "dense.weight");
    loss_with(m, &o);
    const struct pith_const *c = weight(m, "dense.weight");
    const float *data = c->data, *centroid = c->codebook->centroid;
    uint64_t kept = 0;
    for (uint64_t k = 0; k < c->count; k++) {
        assert_true(k % 2 == 0 || data[k] == 0);
        assert_true(data[k] == centroid[c->codebook->index[k]]);
        kept += data[k] != 0;
    }
    assert_true(kept > c->count / 4);
    pith_model_free(teacher);
    pith_model_free(m);
}

static void expect_same_on_threads(struct pith_train_opts o)
{
    struct pith_model *teacher = network(), *one = network(), *two = network();
    o.teacher = teacher;
    loss_with(one, &o);
    o.threads = 2;
    loss_with(two, &o);
    const char *difference = sample_difference(one, two);
    if (difference)
        fail_msg("%s", difference);
    pith_model_free(teacher);
    pith_model_free(one);
    pith_model_free(two);
}

TEST(test_threads_give_the_same)
{
    struct pith_train_opts o = options(100, NULL);
    expect_same_on_threads(o);
    o.step_init = PITH_STEP_INIT_FISHER_ROW;
    o.rate = 1e-3f;
    expect_same_on_threads(o);
}

/* As few as a small batch needs. */
TEST(test_few_samples)
{
    struct pith_model *teacher = network(), *alone = network(), *together = network();
    struct pith_train_opts o = options(0, teacher);
    o.batch = 16;
    double before = loss_of(alone, &o, 20);
    o.gptq_samples = 1000;
    assert_true(loss_of(together, &o, 20) < 0.5 * before);
    pith_model_free(teacher);
    pith_model_free(alone);
    pith_model_free(together);
}

/* One weight in a convolution of one group and in one of two, which reads twice the channels. */
static struct pith_model *of_two_groupings(void)
{
    struct sample_random r = sample_random_of(8);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "image", PITH_F32, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    x = conv(m, &r, "wide", x, (const uint32_t[]){8, CHANNELS, 3, 3}, 1, 1);
    x = conv(m, &r, "grouped", x, (const uint32_t[]){4, 4, 3, 3}, 2, 1);
    uint32_t shared = m->nodes[m->n_nodes - 2].in[1];
    x = conv(m, &r, "again", x, (const uint32_t[]){4, 4, 3, 3}, 1, 1);
    m->nodes[m->n_nodes - 2].in[1] = shared;
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    uint32_t flat = m->values[x].dim[1];
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){CLASSES, flat});
    m->outputs[m->n_outputs++] = x;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

TEST(test_shared_by_groupings)
{
    struct pith_model *teacher = of_two_groupings(), *alone = of_two_groupings(),
                      *together = of_two_groupings();
    struct pith_train_opts o = options(0, teacher);
    loss_with(alone, &o);
    o.gptq_samples = 64;
    loss_with(together, &o);
    const struct pith_const *a = weight(alone, "grouped.weight"),
                            *b = weight(together, "grouped.weight");
    assert_memory_equal(a->data, b->data, a->count * sizeof(float));
    pith_model_free(teacher);
    pith_model_free(alone);
    pith_model_free(together);
}

TEST(test_feedback_needs_levels)
{
    struct pith_model *m = network();
    struct pith_train_opts o = options(10, m);
    struct pith_train_result result;
    struct pith_error err = {0};
    struct pith_data *data = pictures();
    o.levels = 0;
    assert_int_equal(pith_train(m, data, NULL, &o, &result, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "levels"));
    pith_data_free(data);
    pith_model_free(m);
}

/* With a power of 1 the small convolution's step is finer by how much smaller it is. */
TEST(test_step_power)
{
    struct pith_model *teacher = network(), *even = network(), *finer = network();
    struct pith_train_opts o = options(0, teacher);
    loss_with(even, &o);
    o.step_power = 1;
    loss_with(finer, &o);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "dense.weight" : "depthwise.weight";
        const struct pith_const *a = weight(even, name), *b = weight(finer, name);
        float steps[2] = {a->codebook->centroid[16], b->codebook->centroid[16]};
        double share = (double)a->count / (double)weight(even, "fc.weight")->count;
        assert_true(fabs((double)(steps[1] / steps[0]) / share - 1) < 0.02);
    }
    pith_model_free(teacher);
    pith_model_free(even);
    pith_model_free(finer);
}

/* ---- steps by what rounding costs ------------------------------------------------------------ */

/* The second half of the dense convolution's rows is hardly read, a tenth as strong. */
static struct pith_model *half_read(void)
{
    struct pith_model *m = network();
    struct pith_const *fc = weight(m, "fc.weight");
    uint64_t cols = fc->count / CLASSES;
    for (uint64_t k = 0; k < fc->count; k++)
        if (k % cols >= cols / 2)
            ((float *)fc->data)[k] *= 0.1f;
    return m;
}

static float step_of_group(const struct pith_const *c, uint64_t g)
{
    const struct pith_codebook *b = c->codebook;
    return b->centroid[g * b->n_centroids + b->n_centroids / 2 + 1];
}

/* Mean log2 of the steps of all weights. */
static double mean_step(struct pith_model *m)
{
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        const struct pith_codebook *b = c ? c->codebook : NULL;
        for (uint64_t g = 0; b && m->values[i].rank > 1 && g < b->n_groups; g++) {
            sum += (double)b->group_elems * log2((double)step_of_group(c, g));
            n += (double)b->group_elems;
        }
    }
    return sum / n;
}

TEST(test_rows_have_steps)
{
    for (uint32_t feedback = 0; feedback <= SAMPLES; feedback += SAMPLES) {
        struct pith_model *teacher = half_read(), *even = half_read(), *rows = half_read();
        struct pith_train_opts o = options(feedback, teacher);
        loss_with(even, &o);
        o.step_init = PITH_STEP_INIT_FISHER_ROW;
        loss_with(rows, &o);
        const struct pith_const *c = weight(rows, "dense.weight");
        const float *data = c->data;
        assert_int_equal(c->codebook->n_groups, 8);
        for (uint64_t k = 0; k < c->count; k++) {
            uint64_t g = k / c->codebook->group_elems;
            assert_true(data[k] == c->codebook->centroid[g * 31 + c->codebook->index[k]]);
            assert_true(pith_row_step_round((double)step_of_group(c, g)) == step_of_group(c, g));
        }
        for (uint64_t g = 1; g < 8; g++) /* those with coarse steps come first */
            assert_true(step_of_group(c, g) <= step_of_group(c, g - 1));
        double coarser = 0; /* octaves, on the mean of the four rows; ten times, to the power of
                               0.85, would be 2.8 */
        for (uint64_t g = 0; g < 4; g++)
            coarser += log2((double)step_of_group(c, g) / (double)step_of_group(c, g + 4)) / 4;
        if (!(coarser > 1.5 && coarser < 4.5))
            fail_msg("feedback %u: %g octaves", feedback, coarser);
        /* as many bits: but for the rounding of steps, and of one of the whole tensor before */
        assert_true(fabs(mean_step(rows) - mean_step(even)) < 0.15);
        pith_model_free(teacher);
        pith_model_free(even);
        pith_model_free(rows);
    }
}

static double loss_by(enum pith_step_init by)
{
    struct pith_model *teacher = half_read(), *m = half_read();
    struct pith_train_opts o = options(SAMPLES, teacher);
    o.levels = 63;
    o.first_step = 0.7f;
    o.step_init = by;
    double loss = loss_with(m, &o);
    pith_model_free(teacher);
    pith_model_free(m);
    return loss;
}

TEST(test_steps_by_loss_cost_less)
{
    double mean = loss_by(PITH_STEP_INIT_MEAN), row = loss_by(PITH_STEP_INIT_FISHER_ROW);
    if (!(row < 0.7 * mean))
        fail_msg("loss %g by row, %g by mean", row, mean);
}

/* A run that goes on where another ended keeps its rows' steps. */
TEST(test_rows_keep_steps)
{
    struct pith_model *teacher = half_read(), *m = half_read();
    struct pith_train_opts o = options(0, teacher);
    o.step_init = PITH_STEP_INIT_FISHER_ROW;
    loss_with(m, &o);
    const struct pith_const *c = weight(m, "dense.weight");
    float was[8], data[8 * 12 * 6];
    assert_int_equal(c->count, sizeof data / sizeof *data);
    for (uint64_t g = 0; g < 8; g++)
        was[g] = step_of_group(c, g);
    memcpy(data, c->data, sizeof data);
    o.first_step = 3;
    loss_with(m, &o);
    c = weight(m, "dense.weight");
    for (uint64_t g = 0; g < 8; g++)
        assert_true(step_of_group(c, g) == was[g]);
    assert_memory_equal(c->data, data, sizeof data);
    pith_model_free(teacher);
    pith_model_free(m);
}

static void expect_refused(struct pith_train_opts *o, struct pith_model *m, const char *words)
{
    struct pith_train_result result;
    struct pith_error err = {0};
    struct pith_data *data = pictures();
    assert_int_equal(pith_train(m, data, NULL, o, &result, &err), PITH_ERR_ARGUMENT);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    pith_data_free(data);
}

TEST(test_what_does_not_go_together)
{
    struct pith_model *m = network();
    struct pith_train_opts o = options(0, m);
    o.step_init = PITH_STEP_INIT_FISHER_ROW;
    o.norms = PITH_NORMS_FOLD;
    expect_refused(&o, m, "fold");
    o.norms = PITH_NORMS_STAY;
    o.levels = 0;
    expect_refused(&o, m, "levels");
    o = options(10, m);
    o.step_init = (enum pith_step_init)3;
    expect_refused(&o, m, "not known");
    pith_model_free(m);
}

RUN_TESTS
