/* SPDX-License-Identifier: MIT */
/* test_train_stage.c - stages that train: data, teachers and goals find their way, and a gradual
 * prune reaches its share of each step. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test_run.h"
#include "pith_compress.h"
#include "pith_pack.h"
#include "measure/small_net.h"

enum { ROWS = 256, WIDTH = 16, CLASSES = 4, WEIGHTS = CLASSES * WIDTH };

struct fixture {
    struct pith_model *model;
    struct pith_data *data;
    float w[WEIGHTS];
};

/* Classes that the network of `w` answers; the model starts from w and some noise. */
static struct fixture make(float noise)
{
    struct sample_random r = sample_random_of(5);
    struct fixture f;
    float x[ROWS * WIDTH], start[WEIGHTS];
    char labels[2 * ROWS + 1] = "";
    for (int i = 0; i < WEIGHTS; i++) {
        f.w[i] = sample_gauss(&r);
        start[i] = f.w[i] + noise * sample_gauss(&r);
    }
    for (int row = 0; row < ROWS; row++) {
        int best = 0;
        float most = -INFINITY;
        for (int i = 0; i < WIDTH; i++)
            x[row * WIDTH + i] = sample_gauss(&r);
        for (int o = 0; o < CLASSES; o++) {
            float sum = 0;
            for (int i = 0; i < WIDTH; i++)
                sum += f.w[o * WIDTH + i] * x[row * WIDTH + i];
            if (sum > most) {
                most = sum;
                best = o;
            }
        }
        labels[2 * row] = (char)('0' + best);
        labels[2 * row + 1] = '\n';
    }
    f.model = small_net(WIDTH, CLASSES, start, false);
    char *path = text_file(labels);
    f.data = rows_of(x, ROWS, WIDTH, path);
    unlink(path);
    return f;
}

static void release(struct fixture *f)
{
    pith_data_free(f->data);
    pith_model_free(f->model);
}

static struct pith_stage training(uint32_t epochs)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_TRAIN);
    s.train.epochs = epochs;
    s.train.batch = 32;
    s.train.rate = 0.02f;
    return s;
}

static uint64_t kept_of(const struct pith_model *m)
{
    struct pith_weight_ref refs[16];
    uint64_t kept = 0;
    assert_int_equal(pith_model_weights(m, refs), 1);
    const struct pith_const *c = m->values[refs[0].value].constant;
    for (uint64_t i = 0; i < c->count; i++)
        kept += !c->mask || c->mask[i];
    return kept;
}

TEST(training_without_data_is_refused)
{
    struct fixture f = make(1);
    struct pith_stage s = training(1);
    struct pith_error err = {0};
    assert_int_equal(pith_stage_run(f.model, &s, 1, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "training needs data");
    assert_int_equal(f.model->n_history, 0);
    release(&f);
}

TEST(the_history_says_what_was_trained)
{
    struct fixture f = make(1);
    struct pith_stage s = training(3);
    struct pith_stage_context context = {
        .size_bytes = sizeof context, .seed = 8, .train = f.data, .val = f.data};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    s.teacher = "some/folder/net.pith";
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, &r, &err), PITH_ERR_IO);
    s.teacher = "start";
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, &r, &err), PITH_OK);
    assert_int_equal(r.train.epochs, 3);
    assert_int_equal(r.weights, WEIGHTS);
    assert_int_equal(f.model->n_history, 1);
    const char *text = f.model->history[0].text;
    assert_non_null(strstr(text, "{\"do\":\"train\",\"epochs\":3,\"batch\":32,\"lr\":0.02,"));
    assert_non_null(strstr(text, "\"teacher\":\"start\""));
    assert_non_null(strstr(text, "\"seed\":8"));
    release(&f);
}

TEST(a_teachers_folder_is_not_recorded)
{
    char path[] = "/tmp/pith-teacher-XXXXXX";
    struct fixture f = make(1);
    struct pith_stage s = training(1);
    struct pith_stage_context context = {.size_bytes = sizeof context, .seed = 1, .train = f.data};
    struct pith_buffer file;
    struct pith_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(pith_model_pack(f.model, NULL, &file, &err), PITH_OK);
    assert_int_equal(pith_file_write(path, file.data, file.bytes, &err), PITH_OK);
    s.teacher = path;
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, NULL, &err), PITH_OK);
    assert_null(strstr(f.model->history[0].text, "/tmp"));
    assert_non_null(strstr(f.model->history[0].text, "\"teacher\":\"pith-teacher-"));
    unlink(path);
    pith_buffer_free(&file);
    release(&f);
}

static bool never_reached(void *user)
{
    *(bool *)user = true;
    return true;
}

/* JSON holds UTF-8 alone: what the history could not hold is refused before a step is done. */
TEST(names_that_the_history_cannot_hold_are_refused_first)
{
    static const char latin[] = "caf\xe9";
    struct fixture f = make(1);
    bool began = false;
    struct pith_stage_context context = {
        .size_bytes = sizeof context, .train = f.data, .stop = never_reached, .user = &began};
    struct pith_error err = {0};
    for (int i = 0; i < 2; i++) {
        struct pith_stage s = training(1);
        const struct pith_prune_amount half = {latin, 0.5};
        s.teacher = i == 0 ? latin : "start";
        if (i == 1) {
            pith_stage_init(&s, PITH_STAGE_PRUNE);
            s.prune.sparsity = 0.5;
            s.prune.layers = &half;
            s.prune.n_layers = 1;
        }
        assert_int_equal(pith_stage_run_with(f.model, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "is not UTF-8"));
        assert_false(began);
    }
    assert_int_equal(f.model->n_history, 0);
    assert_int_equal(kept_of(f.model), WEIGHTS);
    release(&f);
}

/* The same options as a recipe, printed from the trained model, make the same file. */
TEST(the_recipe_of_a_trained_model_repeats_it)
{
    struct pith_buffer file[2];
    char *recipe = NULL;
    struct pith_error err = {0};
    for (int i = 0; i < 2; i++) {
        struct fixture f = make(1);
        struct pith_stage_context context = {.size_bytes = sizeof context,
                                             .seed = 5 + 100 * (uint64_t)i,
                                             .train = f.data,
                                             .val = f.data};
        struct pith_recipe *r = NULL;
        struct pith_stage s[2] = {training(2), training(1)};
        s[0].teacher = "start";
        pith_stage_init(&s[1], PITH_STAGE_PRUNE);
        s[1].prune.sparsity = 0.6;
        s[1].trains = true;
        s[1].steps = 2;
        s[1].train = s[0].train;
        s[1].train.epochs = 1;
        if (i == 1)
            assert_int_equal(pith_recipe_parse(recipe, strlen(recipe), "r", &r, &err), PITH_OK);
        for (uint32_t k = 0; k < 2; k++)
            assert_int_equal(
                pith_stage_run_with(f.model, i ? &r->stages[k] : &s[k], &context, NULL, &err),
                PITH_OK);
        assert_int_equal(pith_model_pack(f.model, NULL, &file[i], &err), PITH_OK);
        if (i == 0)
            assert_int_equal(pith_recipe_of_model(f.model, &recipe, &err), PITH_OK);
        pith_recipe_free(r);
        release(&f);
    }
    assert_int_equal(file[0].bytes, file[1].bytes);
    assert_memory_equal(file[0].data, file[1].data, file[0].bytes);
    pith_buffer_free(&file[0]);
    pith_buffer_free(&file[1]);
    free(recipe);
}

struct watched {
    const struct pith_model *m;
    uint32_t n;
    uint64_t kept[16];
    bool stop;
};

static void note_kept(void *user, const struct pith_train_progress *p)
{
    struct watched *w = user;
    (void)p;
    w->kept[w->n++] = kept_of(w->m);
}

static void gradually(struct pith_stage *s, const uint64_t *kept, uint32_t n)
{
    struct fixture f = make(1);
    struct watched w = {.m = f.model};
    struct pith_stage_context context = {.size_bytes = sizeof context,
                                         .seed = 1,
                                         .train = f.data,
                                         .progress = note_kept,
                                         .user = &w};
    struct pith_error err = {0};
    s->trains = true;
    s->steps = n;
    s->train = training(1).train;
    SUCCEEDS(pith_stage_run_with(f.model, s, &context, NULL, &err));
    assert_int_equal(w.n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(w.kept[i], kept[i]);
    release(&f);
}

/* Of 64 weights; by hand: 1 - (1 - t/4)^3 = 37/64, 56/64, 63/64, 1. */
TEST(steps_reach_their_share)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    s.prune.sparsity = 0.75; /* 48 go: 27.75, 42, 47.25, 48 */
    gradually(&s, (const uint64_t[]){36, 22, 17, 16}, 4);
    const struct pith_prune_amount half = {"fc", 0.5};
    s.prune.layers = &half;
    s.prune.n_layers = 1;
    gradually(&s, (const uint64_t[]){36, 32}, 2);
}

TEST(patterns_go_gradually_too)
{
    struct pith_stage s;
    struct pith_error err;
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    assert_int_equal(pith_pattern_parse("1:4", &s.prune.pattern, &err), PITH_OK);
    gradually(&s, (const uint64_t[]){32, 16, 16}, 3);             /* 2.1, 2.9, 3 of 4 go */
    gradually(&s, (const uint64_t[]){48, 32, 16, 16, 16, 16}, 6); /* 1.3, 2.1, 2.6, 2.9, 3, 3 */
    assert_int_equal(pith_pattern_parse("1x4", &s.prune.pattern, &err), PITH_OK);
    s.prune.sparsity = 0.5; /* of 16 blocks: 7, 8 */
    gradually(&s, (const uint64_t[]){36, 32}, 2);
    assert_int_equal(pith_pattern_parse("row", &s.prune.pattern, &err), PITH_OK);
    gradually(&s, (const uint64_t[]){32, 32}, 2); /* 3.5 of 8 */
    assert_int_equal(pith_pattern_parse("channel", &s.prune.pattern, &err), PITH_OK);
    gradually(&s, (const uint64_t[]){36, 32}, 2);
}

TEST(zeros_have_no_steps)
{
    struct fixture f = make(1);
    struct pith_stage_context context = {.size_bytes = sizeof context, .train = f.data};
    struct pith_stage s;
    struct pith_error err = {0};
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    s.prune.by = PITH_PRUNE_BY_ZERO;
    s.trains = true;
    s.steps = 2;
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
    release(&f);
}

static bool stop_after_one(void *user)
{
    struct watched *w = user;
    return w->n > 0;
}

TEST(stopping_ends_the_work)
{
    struct fixture f = make(1);
    struct watched w = {.m = f.model};
    struct pith_stage s;
    struct pith_stage_context context = {.size_bytes = sizeof context,
                                         .train = f.data,
                                         .progress = note_kept,
                                         .stop = stop_after_one,
                                         .user = &w};
    struct pith_error err = {0};
    pith_stage_init(&s, PITH_STAGE_PRUNE);
    s.prune.sparsity = 0.5;
    s.trains = true;
    s.steps = 9;
    s.train = training(1).train;
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, NULL, &err), PITH_ERR_STOPPED);
    assert_non_null(strstr(err.text, "stopped"));
    assert_int_equal(f.model->n_history, 0);
    release(&f);
}

TEST(a_limit_on_the_drop_needs_a_validation_set)
{
    struct fixture f = make(1);
    struct pith_stage s = training(1);
    struct pith_stage_context context = {.size_bytes = sizeof context, .train = f.data};
    struct pith_error err = {0};
    s.until_drop = 0.01;
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "validation split"));
    release(&f);
}

/* What is as good as the start from the first epoch on needs no second one. */
TEST(training_ends_where_it_is_good_enough)
{
    struct fixture f = make(0);
    struct pith_stage s = training(20);
    struct pith_stage_context context = {
        .size_bytes = sizeof context, .seed = 1, .train = f.data, .val = f.data};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    s.until_drop = 0.5;
    assert_int_equal(pith_stage_run_with(f.model, &s, &context, &r, &err), PITH_OK);
    assert_int_equal(r.train.epochs, 1);
    release(&f);
}

RUN_TESTS
