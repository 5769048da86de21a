/* SPDX-License-Identifier: MIT */
/* test_compress.c - a recipe held against a limit. The data's labels are the network's own answers,
 * so the accuracy before is 1 and every change of mind counts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test_run.h"
#include "pith_compress.h"
#include "pith_load.h"
#include "measure/small_net.h"

enum { ROWS = 64, WIDTH = 16, CLASSES = 10 };

struct fixture {
    struct pith_model *model;
    struct pith_data *data;
};

static uint32_t answer(const float *w, const float *x)
{
    uint32_t best = 0;
    float best_score = -INFINITY;
    for (uint32_t o = 0; o < CLASSES; o++) {
        float score = 0;
        for (uint32_t i = 0; i < WIDTH; i++)
            score += w[o * WIDTH + i] * x[i];
        if (score > best_score) {
            best_score = score;
            best = o;
        }
    }
    return best;
}

static struct fixture make(void)
{
    struct sample_random r = sample_random_of(9);
    struct fixture f;
    float w[CLASSES * WIDTH], x[ROWS * WIDTH];
    char labels[ROWS * 12 + 1] = "", line[12];
    for (int i = 0; i < CLASSES * WIDTH; i++)
        w[i] = sample_gauss(&r);
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = sample_gauss(&r);
    for (int i = 0; i < ROWS; i++) {
        snprintf(line, sizeof line, "%u\n", answer(w, x + i * WIDTH));
        strcat(labels, line);
    }
    f.model = small_net(WIDTH, CLASSES, w, false);
    char *path = text_file(labels);
    f.data = rows_of(x, ROWS, WIDTH, path);
    unlink(path);
    return f;
}

static void release(struct fixture *f, struct pith_compress_result *r)
{
    pith_compress_result_free(r);
    pith_data_free(f->data);
    pith_model_free(f->model);
}

static struct pith_recipe *classic(uint32_t bits)
{
    struct pith_recipe *r;
    struct pith_error err;
    assert_int_equal(pith_recipe_classic(0, bits, PITH_FOR_SPEED, &r, &err), PITH_OK);
    return r;
}

TEST(eight_bits_meet_the_limit)
{
    struct fixture f = make();
    struct pith_recipe *r = classic(8);
    struct pith_compress_opts o = {
        .size_bytes = sizeof o, .data = f.data, .max_drop = 0, .seed = 1};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_OK);
    assert_true(result.met && result.has_accuracy);
    assert_int_equal(result.before.correct1, ROWS);
    assert_int_equal(result.after.correct1, ROWS);
    assert_true(result.drop == 0);
    pith_recipe_free(r);
    release(&f, &result);
}

/* The result is kept all the same: it is the best there is. */
TEST(one_bit_fails_it_and_is_kept)
{
    struct fixture f = make();
    struct pith_recipe *r = classic(1);
    struct pith_compress_opts o = {
        .size_bytes = sizeof o, .data = f.data, .max_drop = 0.05, .seed = 1};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    struct pith_model *back = NULL;
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_ERR_GOAL);
    assert_false(result.met);
    assert_true(result.drop > 0.05);
    assert_true(fabs(result.drop - (double)(ROWS - result.after.correct1) / ROWS) < 1e-12);
    assert_non_null(strstr(err.text, "allowed 5.00%"));
    assert_int_equal(
        pith_model_read(result.file.data, result.file.bytes, "result", NULL, &back, &err), PITH_OK);
    assert_int_equal(back->n_history, 2);
    pith_model_free(back);
    pith_recipe_free(r);
    release(&f, &result);
}

TEST(the_recipes_limit_counts_without_another)
{
    struct fixture f = make();
    struct pith_recipe *r = classic(1);
    struct pith_compress_opts o = {
        .size_bytes = sizeof o, .data = f.data, .max_drop = -1, .seed = 1};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    r->goal.max_drop = 0.05;
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_ERR_GOAL);
    pith_recipe_free(r);
    release(&f, &result);
}

TEST(a_limit_needs_data)
{
    struct fixture f = make();
    struct pith_recipe *r = classic(4);
    struct pith_compress_opts o = {.size_bytes = sizeof o, .max_drop = 0.1, .seed = 1};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_ERR_ARGUMENT);
    assert_null(result.file.data);
    assert_int_equal(f.model->n_history, 0);
    o.max_drop = -1;
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_OK);
    assert_true(result.met && !result.has_accuracy && result.file.bytes > 0);
    pith_recipe_free(r);
    release(&f, &result);
}

static void note(void *user, const char *what, uint64_t total)
{
    char *parts = user;
    snprintf(parts + strlen(parts), 200 - strlen(parts), "%s%llu ", what,
             (unsigned long long)total);
}

TEST(steps_are_announced)
{
    struct fixture f = make();
    struct pith_recipe *r = classic(4);
    char parts[200] = "";
    struct pith_compress_opts o = {.size_bytes = sizeof o,
                                   .data = f.data,
                                   .max_drop = -1,
                                   .seed = 1,
                                   .progress = note,
                                   .user = parts};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_compress(f.model, r, &o, &result, &err), PITH_OK);
    assert_string_equal(parts, "baseline64 cluster0 encode0 evaluate64 ");
    pith_recipe_free(r);
    release(&f, &result);
}

RUN_TESTS
