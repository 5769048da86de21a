/* SPDX-License-Identifier: MIT */
/* Training a small network on four clouds of points: it learns, by every method; masks and
 * codebooks hold; threads do not matter; what goes wrong leaves the model as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "model/sample_models.h"
#include "pith_train.h"

enum { INPUTS = 6, HIDDEN = 12, CLASSES = 4, SAMPLES = 512 };

static float noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

static void points(float *x, int64_t *label, int64_t wrong)
{
    uint32_t state = 7;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        label[i] = i % CLASSES;
        for (uint32_t k = 0; k < INPUTS; k++)
            x[i * INPUTS + k] = noise(&state) + (k == i % CLASSES ? 2.0f : 0.0f);
    }
    if (wrong)
        label[SAMPLES / 2] = wrong;
}

/* Class `wrong` for one of the samples, unless it is 0. */
static struct pith_data *clouds(int64_t wrong)
{
    static float x[SAMPLES * INPUTS];
    static int64_t label[SAMPLES];
    struct pith_buffer npy, labels;
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    char path[] = "/tmp/pith-train-XXXXXX";
    points(x, label, wrong);
    assert_int_equal(
        pith_npy_write(PITH_F32, 2, (const uint32_t[]){SAMPLES, INPUTS}, x, &npy, &err), PITH_OK);
    assert_int_equal(pith_npy_write(PITH_I64, 1, (const uint32_t[]){SAMPLES}, label, &labels, &err),
                     PITH_OK);
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
    if (pith_data_open(&o, &data, &err))
        fail_msg("%s", err.text);
    unlink(path);
    pith_buffer_free(&npy);
    pith_buffer_free(&labels);
    return data;
}

static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(3);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, INPUTS});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    uint32_t w1 = add_constant(m, &r, "w1", 2, (const uint32_t[]){HIDDEN, INPUTS});
    uint32_t b1 = add_constant(m, &r, "b1", 1, (const uint32_t[]){HIDDEN});
    uint32_t h = add_node(m, PITH_OP_GEMM, "fc1", "h", 3, (const uint32_t[]){x, w1, b1})->out[0];
    h = add_node(m, PITH_OP_RELU, "act", "a", 1, &h)->out[0];
    uint32_t w2 = add_constant(m, &r, "w2", 2, (const uint32_t[]){CLASSES, HIDDEN});
    uint32_t b2 = add_constant(m, &r, "b2", 1, (const uint32_t[]){CLASSES});
    m->outputs[m->n_outputs++] =
        add_node(m, PITH_OP_GEMM, "fc2", "y", 3, (const uint32_t[]){h, w2, b2})->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

static struct pith_train_opts options(void)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 6;
    o.batch = 32;
    o.rate = 0.02f;
    o.threads = 1;
    return o;
}

static struct pith_const *constant(struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return m->values[i].constant;
    fail_msg("no constant %s", name);
    return NULL;
}

static struct pith_train_result trained(struct pith_model *m, const struct pith_train_opts *o)
{
    struct pith_data *data = clouds(0), *val = clouds(0);
    struct pith_train_result r;
    struct pith_error err = {0};
    if (pith_train(m, data, val, o, &r, &err))
        fail_msg("%s", err.text);
    pith_data_free(data);
    pith_data_free(val);
    return r;
}

static void test_learns(void **state)
{
    (void)state;
    static const struct {
        enum pith_optimizer optimizer;
        enum pith_schedule schedule;
        float rate;
    } ways[] = {{PITH_ADAM, PITH_COSINE, 0.02f},
                {PITH_ADAMW, PITH_CONSTANT, 0.02f},
                {PITH_SGD, PITH_STEPS, 0.1f},
                {PITH_NESTEROV, PITH_ONE_CYCLE, 0.2f}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct pith_model *m = network();
        struct pith_train_opts o = options();
        o.optimizer = ways[i].optimizer;
        o.schedule = ways[i].schedule;
        o.rate = ways[i].rate;
        o.weight_decay = 1e-4f;
        struct pith_train_result r = trained(m, &o);
        if (!(r.val_accuracy > 0.85 && r.accuracy > 0.8 && r.val_loss < 0.5))
            fail_msg("way %zu: %g %g %g", i, r.val_accuracy, r.accuracy, r.val_loss);
        assert_int_equal(r.epochs, 6);
        assert_int_equal(r.n_trained, HIDDEN * INPUTS + HIDDEN + CLASSES * HIDDEN + CLASSES);
        pith_model_free(m);
    }
}

static void test_mask_holds(void **state)
{
    (void)state;
    struct pith_model *m = network();
    struct pith_const *c = constant(m, "w1");
    c->mask = pith_model_alloc(m, c->count, 1);
    float *w = c->data, before[HIDDEN * INPUTS];
    for (uint64_t k = 0; k < c->count; k++) {
        c->mask[k] = k % 3 != 0;
        w[k] = c->mask[k] ? w[k] : 0;
        before[k] = w[k];
    }
    struct pith_train_opts o = options();
    o.average = 0.9f;
    trained(m, &o);
    uint32_t moved = 0;
    for (uint64_t k = 0; k < c->count; k++) {
        if (!c->mask[k])
            assert_true(w[k] == 0);
        moved += w[k] != before[k];
    }
    assert_true(moved > HIDDEN * INPUTS / 2); /* units that are never active do not move */
    pith_model_free(m);
}

static void attach_codebook(struct pith_model *m, struct pith_const *c)
{
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    b->n_centroids = 4;
    b->n_groups = 1;
    b->group_elems = c->count;
    b->centroid = pith_model_alloc(m, 4, sizeof *b->centroid);
    b->index = pith_model_alloc(m, c->count, 1);
    for (uint32_t i = 0; i < 4; i++)
        b->centroid[i] = 0.001f * (float)i; /* so close that they pass each other */
    for (uint64_t k = 0; k < c->count; k++) {
        b->index[k] = (uint8_t)(k * 7 % 4);
        ((float *)c->data)[k] = b->centroid[b->index[k]];
    }
    c->codebook = b;
}

static void test_codebook_holds(void **state)
{
    (void)state;
    struct pith_model *m = network();
    struct pith_const *c = constant(m, "w1");
    attach_codebook(m, c);
    struct pith_train_opts o = options();
    struct pith_train_result r = trained(m, &o);
    const struct pith_codebook *b = c->codebook;
    uint64_t members[4] = {0};
    for (uint32_t i = 1; i < 4; i++)
        assert_true(b->centroid[i] > b->centroid[i - 1]);
    assert_true(b->centroid[3] - b->centroid[0] > 0.1f);
    for (uint64_t k = 0; k < c->count; k++) {
        assert_true(((float *)c->data)[k] == b->centroid[b->index[k]]);
        members[b->index[k]]++;
        if (k >= 4) /* those that shared a centroid still do */
            assert_int_equal(b->index[k], b->index[k - 4]);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(members[i], HIDDEN * INPUTS / 4);
    assert_true(r.loss < 1.3);
    pith_model_free(m);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    float first[HIDDEN * INPUTS];
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        struct pith_model *m = network();
        struct pith_train_opts o = options();
        o.threads = threads;
        trained(m, &o);
        const float *w = constant(m, "w1")->data;
        if (threads == 1)
            memcpy(first, w, sizeof first);
        assert_memory_equal(first, w, sizeof first);
        pith_model_free(m);
    }
}

static bool at_once(void *user)
{
    return ++*(int *)user == 3;
}

static void test_stop_and_best(void **state)
{
    (void)state;
    struct pith_model *m = network();
    struct pith_train_opts o = options();
    int steps = 0;
    o.stop = at_once;
    o.user = &steps;
    assert_int_equal(trained(m, &o).epochs, 1);
    assert_int_equal(steps, 3);
    pith_model_free(m);
    m = network();
    o = options();
    o.rate = 3.0f; /* too much: later epochs are worse than some earlier one */
    o.schedule = PITH_CONSTANT;
    o.keep_best = true;
    o.epochs = 40;
    o.patience = 3;
    struct pith_train_result r = trained(m, &o);
    assert_true(r.epochs < 40);
    assert_int_equal(r.best_epoch, r.epochs - 3);
    pith_model_free(m);
}

static void test_teacher(void **state)
{
    (void)state;
    struct pith_model *teacher = network(), *m = network();
    struct pith_train_opts o = options();
    trained(teacher, &o);
    float *w = constant(m, "w2")->data;
    for (uint32_t k = 0; k < CLASSES * HIDDEN; k++)
        w[k] *= -1;
    o.teacher = teacher;
    o.loss = PITH_DISTILL;
    struct pith_train_result r = trained(m, &o);
    assert_true(r.val_accuracy > 0.85);
    assert_true(isnan(r.accuracy));
    pith_model_free(teacher);
    pith_model_free(m);
}

static void refuse(const struct pith_train_opts *o, int64_t wrong, enum pith_status status,
                   const char *words)
{
    struct pith_model *m = network();
    struct pith_data *data = clouds(wrong);
    struct pith_train_result r;
    struct pith_error err = {0};
    float before[HIDDEN * INPUTS];
    const float *w = constant(m, "w1")->data;
    memcpy(before, w, sizeof before);
    assert_int_equal(pith_train(m, data, NULL, o, &r, &err), status);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_memory_equal(before, w, sizeof before);
    pith_data_free(data);
    pith_model_free(m);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pith_train_opts o = options();
    refuse(&o, CLASSES, PITH_ERR_CORRUPT, "label 4, the network has classes 0..3");
    o.batch = 12;
    refuse(&o, 0, PITH_ERR_ARGUMENT, "multiple of 8");
    o = options();
    o.batch = 1024;
    refuse(&o, 0, PITH_ERR_ARGUMENT, "512 samples are less than one batch of 1024");
    o = options();
    o.keep_best = true;
    refuse(&o, 0, PITH_ERR_ARGUMENT, "validation data");
    o = options();
    o.loss = PITH_DISTILL;
    refuse(&o, 0, PITH_ERR_ARGUMENT, "teacher");
    o = options();
    o.optimizer = PITH_SGD;
    o.rate = 1e30f;
    refuse(&o, 0, PITH_ERR_GOAL, "not finite at step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),         cmocka_unit_test(test_mask_holds),
        cmocka_unit_test(test_codebook_holds), cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_stop_and_best),  cmocka_unit_test(test_teacher),
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
