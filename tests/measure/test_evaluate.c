/* SPDX-License-Identifier: MIT */
/* test_evaluate.c - accuracy of a network that gives back its input, so that every figure can be
 * worked out by hand. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "test_run.h"
#include "small_net.h"

enum { CLASSES = 6 };

struct fixture {
    struct pith_model *model;
    struct pith_engine *engine;
    struct pith_data *data;
    struct pith_feed_input *input; /* owns */
    struct pith_feed feed;
};

static struct fixture open_rows(const float *x, uint32_t n, const char *labels)
{
    struct fixture f = {.model = identity_net(CLASSES)};
    char *path = labels ? text_file(labels) : NULL;
    f.engine = engine_of(f.model);
    f.data = rows_of(x, n, CLASSES, path);
    f.input = calloc(1, sizeof *f.input);
    f.input->data = f.data;
    f.feed = (struct pith_feed){.size_bytes = sizeof f.feed, .n_inputs = 1, .input = f.input};
    if (path)
        unlink(path);
    return f;
}

static void close_rows(struct fixture *f)
{
    pith_data_free(f->data);
    free(f->input);
    pith_engine_close(f->engine);
    pith_model_free(f->model);
}

static const float scores[3][CLASSES] = {
    {0, 9, 1, 2, 3, 4},    /* label 1: first */
    {5, 4, 3, 2, 1, 0},    /* label 4: fifth */
    {7, 7, 1, 2, 3, 7.5f}, /* label 2: last of six */
};

TEST(counts_top_1_and_top_5)
{
    struct fixture f = open_rows(scores[0], 3, "1\n4\n2\n");
    struct pith_accuracy a;
    struct pith_error err = {0};
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_OK);
    assert_int_equal(a.samples, 3);
    assert_int_equal(a.correct1, 1);
    assert_int_equal(a.correct5, 2);
    assert_false(a.regression);
    close_rows(&f);
}

/* Of equal scores the lower class counts as the answer. */
TEST(ties_go_to_the_lower_class)
{
    const float tie[2][CLASSES] = {{1, 1, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}};
    struct fixture f = open_rows(tie[0], 2, "0\n1\n");
    struct pith_accuracy a;
    struct pith_error err = {0};
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_OK);
    assert_int_equal(a.correct1, 1);
    close_rows(&f);
}

TEST(loss_of_scores_and_of_probabilities)
{
    /* six equal scores: -log(1/6); a probability of 1/4: -log(1/4) */
    const float x[2][CLASSES] = {{2, 2, 2, 2, 2, 2}, {0.25f, 0.75f, 0, 0, 0, 0}};
    struct fixture f = open_rows(x[0], 2, "3\n0\n");
    struct pith_accuracy a;
    struct pith_error err = {0};
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_OK);
    assert_true(fabs(a.loss - (log(6) + log(4)) / 2) < 1e-6);
    close_rows(&f);
}

TEST(fills_the_confusion_table)
{
    struct fixture f = open_rows(scores[0], 3, "1\n4\n2\n");
    struct pith_error err = {0};
    uint64_t table[CLASSES * CLASSES] = {0}, sum = 0;
    assert_int_equal(pith_confusion(f.engine, &f.feed, NULL, table, CLASSES, &err), PITH_OK);
    for (int i = 0; i < CLASSES * CLASSES; i++)
        sum += table[i];
    assert_int_equal(sum, 3);
    assert_int_equal(table[1 * CLASSES + 1], 1);
    assert_int_equal(table[4 * CLASSES + 0], 1);
    assert_int_equal(table[2 * CLASSES + 5], 1);
    close_rows(&f);
}

TEST(refuses_missing_and_impossible_labels)
{
    struct pith_accuracy a = {.samples = 77};
    struct pith_error err = {0};
    struct fixture f = open_rows(scores[0], 3, NULL);
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "labels"));
    close_rows(&f);
    f = open_rows(scores[0], 3, "1\n6\n2\n");
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "sample 1 has label 6, the model's classes are 0 to 5"));
    assert_int_equal(a.samples, 77);
    close_rows(&f);
}

/* Two samples of three positions with two classes each; the negative labels are of none. */
static struct fixture open_positions(const float *x, const int64_t *labels)
{
    struct fixture f = {.model = identity_net(CLASSES)};
    struct pith_buffer rows = {0}, y = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (const uint32_t[]){2, CLASSES}, x, &rows, &err),
                     PITH_OK);
    assert_int_equal(pith_npy_write(PITH_I64, 2, (const uint32_t[]){2, 3}, labels, &y, &err),
                     PITH_OK);
    char *path = text_file("");
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(y.data, 1, y.bytes, out), y.bytes);
    fclose(out);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "rows.npy",
                               .content = rows.data,
                               .content_bytes = rows.bytes,
                               .labels = path,
                               .rank = 2,
                               .dim = {1, CLASSES},
                               .output_rank = 3,
                               .output_dim = {1, 3, 2}};
    if (pith_data_open(&o, &f.data, &err))
        print_error("%s\n", err.text);
    assert_non_null(f.data);
    unlink(path);
    pith_buffer_free(&rows);
    pith_buffer_free(&y);
    f.engine = engine_of(f.model);
    f.input = calloc(1, sizeof *f.input);
    f.input->data = f.data;
    f.feed = (struct pith_feed){.size_bytes = sizeof f.feed, .n_inputs = 1, .input = f.input};
    return f;
}

TEST(counts_positions_that_have_a_label)
{
    const float x[] = {1, 2, 2, 0, 5, 5, 0, 0, 3, 0, 9, 1};
    const int64_t label[] = {1, 1, -100, -1, 0, 0};
    /* losses of two scores that are d apart: log(1 + e^-d) for the larger, d more for the other */
    const double loss = log1p(exp(-1)) + 2 + log1p(exp(-2)) + log1p(exp(-3)) + log1p(exp(-8));
    struct fixture f = open_positions(x, label);
    struct pith_accuracy a;
    struct pith_error err = {0};
    uint64_t table[4] = {0};
    assert_int_equal(pith_data_label_count(f.data), 3);
    assert_int_equal(pith_data_label(f.data, 0), PITH_NO_LABEL);
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_OK);
    assert_true(a.positions);
    assert_int_equal(a.samples, 2);
    assert_int_equal(a.predictions, 4);
    assert_int_equal(a.correct1, 3);
    assert_true(fabs(a.loss - loss / 4) < 1e-6);
    assert_true(fabs(a.perplexity - exp(loss / 4)) < 1e-5);
    assert_int_equal(pith_confusion(f.engine, &f.feed, NULL, table, 2, &err), PITH_OK);
    assert_true(table[0] == 2 && table[1] == 0 && table[2] == 1 && table[3] == 1);
    close_rows(&f);
}

TEST(refuses_positions_without_a_label_that_counts)
{
    const float x[2 * CLASSES] = {0};
    const int64_t none[] = {-1, -1, -1, -1, -1, -1}, two[] = {0, 0, 0, 0, 2, 0};
    struct pith_accuracy a;
    struct pith_error err = {0};
    struct fixture f = open_positions(x, none);
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "no position has a label that counts");
    close_rows(&f);
    f = open_positions(x, two);
    assert_int_equal(pith_evaluate(f.engine, &f.feed, NULL, &a, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "sample 1 has label 2, the model's classes are 0 to 1"));
    close_rows(&f);
}

static bool stop_at_32(void *user, uint64_t done)
{
    *(uint64_t *)user = done;
    return done < 32;
}

TEST(stops_when_the_watch_says_so)
{
    float x[40][CLASSES] = {{0}};
    char labels[81] = "";
    for (int i = 0; i < 40; i++)
        strcat(labels, "0\n");
    struct fixture f = open_rows(x[0], 40, labels);
    struct pith_accuracy a;
    struct pith_error err = {0};
    uint64_t n_samples = 0;
    struct pith_watch watch = {stop_at_32, &n_samples};
    assert_int_equal(pith_evaluate(f.engine, &f.feed, &watch, &a, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(n_samples, 32);
    close_rows(&f);
}

RUN_TESTS
