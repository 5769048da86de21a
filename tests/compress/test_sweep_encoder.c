/* SPDX-License-Identifier: MIT */
/* Which samples the sweep calibrates by: few pictures of three channels with their mirror images;
 * many, and numbers, as they are. What chooses is not mirrored. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "test_run.h"
#include "gemm_model.h"
#include "compress/goal/sample_split.h"
#include "compress/goal/sweep_encoder.h"
#include "pith_runtime.h"
#include "op_interface/op_attr.h"

enum { SIDE = 6, RECORD = 3073, CLASSES = 5 };

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

static uint32_t filled(struct pith_model *m, struct test_random *r, const char *name, uint32_t rank,
                       const uint32_t *dim)
{
    uint32_t v = add_weight(m, name, rank, dim);
    for (uint64_t i = 0; i < m->values[v].constant->count; i++)
        ((float *)m->values[v].constant->data)[i] = test_gauss(r);
    return v;
}

/* x [1, 3, 6, 6] -> flatten -> gemm */
static struct pith_model *new_net(void)
{
    struct test_random r = {3};
    struct pith_model *m = NULL;
    check(pith_model_new(NULL, &m));
    m->values = pith_model_alloc(m, 8, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 4, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    m->n_inputs = m->n_outputs = 1;
    m->inputs[0] = add_value(m, "x", 4, (uint32_t[]){1, 3, SIDE, SIDE});
    uint32_t flat = add_value(m, "flat", 2, (uint32_t[]){1, 3 * SIDE * SIDE});
    add_node(m, "flat", PITH_OP_FLATTEN, 1, m->inputs, flat);
    uint32_t w = filled(m, &r, "w", 2, (uint32_t[]){CLASSES, 3 * SIDE * SIDE}),
             b = filled(m, &r, "b", 1, (uint32_t[]){CLASSES});
    m->outputs[0] = add_value(m, "y", 2, (uint32_t[]){1, CLASSES});
    add_node(m, "fc", PITH_OP_GEMM, 3, (uint32_t[]){flat, w, b}, m->outputs[0]);
    m->nodes[m->n_nodes - 1].attr[ATTR_GEMM_TRANS_B] = 1;
    return m;
}

static struct pith_data *pictures(uint32_t n)
{
    char path[] = "/tmp/pith-pictures-XXXXXX.bin";
    const struct pith_data_opts o = {.size_bytes = sizeof o,
                                     .path = path,
                                     .preprocess = "crop=6,scale=1/255",
                                     .rank = 4,
                                     .dim = {1, 3, SIDE, SIDE}};
    struct pith_data *d = NULL;
    uint8_t *b = malloc((size_t)n * RECORD);
    for (size_t i = 0; i < (size_t)n * RECORD; i++)
        b[i] = i % RECORD ? (uint8_t)(i * 2654435761u >> 13) : 1;
    const int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b, (size_t)n * RECORD), (ssize_t)n * RECORD);
    close(fd);
    free(b);
    check(pith_data_open(&o, &d, &err));
    unlink(path);
    return d;
}

static struct pith_data *numbers(uint32_t n)
{
    const uint32_t elems = 3 * SIDE * SIDE;
    struct test_random r = {5};
    struct pith_data *d = NULL;
    float *x = malloc((size_t)n * elems * sizeof *x);
    for (size_t i = 0; i < (size_t)n * elems; i++)
        x[i] = test_gauss(&r);
    check(pith_data_of_numbers(
        &(struct pith_numbers){.rank = 4, .dim = (uint32_t[]){1, 3, SIDE, SIDE}, .n = n, .x = x},
        &d, &err));
    return d;
}

static void note(void *watcher, const char *part, uint64_t done, uint64_t all)
{
    (void)done;
    if (strcmp(part, "sensitivity") == 0)
        *(uint64_t *)watcher = all;
}

/* times: of the samples that calibrate. The data is freed. */
static void expect_samples(struct pith_data *data, uint64_t calibrating, uint64_t times)
{
    struct pith_model *m = new_net();
    const struct pith_feed_input x = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &x};
    const struct pith_goal_eval_opts j = {.size_bytes = sizeof j, .seed = 1};
    const struct pith_goal goal = {.max_drop = 0.005};
    const struct pith_goal_compress_opts opts = {.size_bytes = sizeof opts, .feed = &feed};
    struct sweep_encoder s = {0};
    uint64_t n_reports = 0;
    struct goal_encoders e = {
        .m = m, .goal = &goal, .opts = &opts, .progress = note, .watcher = &n_reports};
    check(pith_goal_eval_new(m, &feed, &j, &e.eval, &err));
    assert_int_equal(pith_goal_eval_count(e.eval, PITH_GOAL_CALIBRATE), calibrating);
    check(pith_sweep_encoder_prepare(&s, &e, &err));
    assert_int_equal(n_reports, times * calibrating);
    assert_int_equal(s.sensitivity.n_samples, times * calibrating);
    struct pith_model *out = NULL;
    check(pith_sweep_encode(&s, &e, 1, &out, &err));
    assert_int_equal(pith_data_count(data), times * calibrating);
    check(pith_goal_eval_pick(e.eval, PITH_GOAL_VALIDATE, &err));
    assert_int_equal(pith_data_count(data), pith_goal_eval_count(e.eval, PITH_GOAL_VALIDATE));
    pith_model_free(out);
    pith_sweep_encoder_free(&s);
    pith_goal_eval_free(e.eval);
    pith_model_free(m);
    pith_data_free(data);
}

TEST(few_pictures_have_mirror_images)
{
    expect_samples(pictures(64), 40, 2);
}

TEST(many_pictures_are_as_they_are)
{
    expect_samples(pictures(832), 520, 1);
}

TEST(numbers_are_as_they_are)
{
    expect_samples(numbers(64), 40, 1);
}

RUN_TESTS
