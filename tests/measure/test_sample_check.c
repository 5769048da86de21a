/* SPDX-License-Identifier: MIT */
/* test_sample_check.c - what is said of data before they are used: sums by hand, each finding at
 * the ends of what it takes, answers that are one class or no numbers. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "measure/sample_check.h"
#include "small_net.h"

enum { VARIES, RANGE, PIXELS };

static struct pith_error err;

TEST(findings_have_ends)
{
    static const struct {
        struct pith_input_look look;
        uint32_t kind;
        const char *text; /* NULL: there is none */
    } cases[] = {
        {{.samples = 2, .values = 8, .still = 8, .floats = true, .min = 3, .max = 3},
         VARIES,
         "input 'x' is 3 in all 2 samples"},
        {{.samples = 1, .values = 8, .still = 8, .floats = true, .min = 3, .max = 3}, VARIES, NULL},
        {{.samples = 2, .values = 7, .still = 7, .floats = true, .min = 3, .max = 3}, VARIES, NULL},
        {{.samples = 2, .values = 8, .still = 8, .min = 3, .max = 3}, VARIES, NULL}, /* integers */
        {{.samples = 3, .values = 8, .still = 8, .floats = true, .max = 1},
         VARIES,
         "all 3 samples of input 'x' are the same"},
        {{.samples = 16, .values = 300, .still = 297, .floats = true, .max = 1},
         VARIES,
         "297 of 300 values of input 'x' are the same in all 16 samples"},
        {{.samples = 15, .values = 300, .still = 297, .floats = true, .max = 1}, VARIES, NULL},
        {{.samples = 16, .values = 300, .still = 296, .floats = true, .max = 1}, VARIES, NULL},
        {{.samples = 16, .values = 800, .still = 792, .floats = true, .max = 1}, VARIES, NULL},
        {{.samples = 17, .values = 800, .still = 792, .floats = true, .max = 1},
         VARIES,
         "792 of 800 values of input 'x' are the same in all 17 samples"},
        {{.samples = 1,
          .floats = true,
          .ranged = true,
          .min = 1,
          .max = 2,
          .low = 3,
          .high = 4,
          .beyond = 0.011},
         RANGE,
         "input 'x' is 1 to 2, the network was calibrated for 3 to 4: is the preprocessing the "
         "same?"},
        {{.samples = 1, .floats = true, .ranged = true, .beyond = 0.01}, RANGE, NULL},
        {{.samples = 1, .floats = true, .beyond = 0.5}, RANGE, NULL},
        {{.samples = 1, .ranged = true, .beyond = 0.5}, RANGE, NULL},
        {{.samples = 1, .pixels = true, .max = 127.5}, PIXELS, PITH_LOOK_RAW_PIXELS},
        {{.samples = 1, .pixels = true, .max = 127}, PIXELS, NULL},
        {{.samples = 1, .pixels = true, .ranged = true, .max = 255}, PIXELS, NULL},
        {{.samples = 1, .max = 255}, PIXELS, NULL},
        {{.samples = 0, .pixels = true, .max = 255}, PIXELS, NULL}, /* without data */
        {{.samples = 1, .pixels = true, .max = 255}, PITH_LOOK_KINDS, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_input_look look = cases[i].look;
        char text[PITH_LOOK_TEXT_BYTES] = "";
        look.name = "x";
        if (pith_look_finding(&look, cases[i].kind, text) != (cases[i].text != NULL) ||
            (cases[i].text && strcmp(text, cases[i].text) != 0))
            fail_msg("case %zu: '%s'", i, text);
    }
}

static struct pith_input_look look_at(const struct pith_model *m, struct pith_data *data,
                                      uint64_t max_values)
{
    struct pith_input_look look;
    struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .input = &input, .n_inputs = 1};
    SUCCEEDS(pith_check_data(m, &feed, max_values, false, &look, &err));
    return look;
}

TEST(sums_are_those_of_the_samples)
{
    static const float x[] = {1, 0, 5, /**/ 1, 0, -2, /**/ 1, 3, 5, /**/ 1, 0, 0};
    const float w[6] = {0};
    struct pith_model *m = small_net(3, 2, w, false);
    struct pith_data *data = rows_of(x, 4, 3, NULL);
    struct pith_value *in = &m->values[m->inputs[0]];
    struct pith_input_look l = look_at(m, data, 1 << 20);
    assert_string_equal(l.name, "x");
    assert_true(l.samples == 4 && l.of == 4 && l.values == 3 && l.still == 1);
    assert_true(l.min == -2 && l.max == 5 && fabs(l.mean - 15.0 / 12) < 1e-12);
    assert_true(fabs(l.zeros - 4.0 / 12) < 1e-12 && l.floats && !l.pixels && !l.ranged);
    assert_true(l.beyond == 0);
    /* A range of 0 to 2 was calibrated: beyond -1 and 3 lie 5, -2, 5. */
    in->min = 0;
    in->max = 2;
    in->n_observed = 255;
    l = look_at(m, data, 1 << 20);
    assert_false(l.ranged);
    in->n_observed = 256;
    l = look_at(m, data, 1 << 20);
    assert_true(l.ranged && l.low == 0 && l.high == 2);
    assert_true(fabs(l.beyond - 3.0 / 12) < 1e-12);
    in->max = 0; /* of one number nothing is beyond */
    l = look_at(m, data, 1 << 20);
    assert_true(!l.ranged && l.beyond == 0);
    in->name = pith_model_strdup(m, "");
    l = look_at(m, data, 1 << 20);
    assert_string_equal(l.name, "(no name)");
    l = look_at(m, NULL, 1 << 20);
    assert_true(l.samples == 0 && l.of == 0);
    pith_data_free(data);
    pith_model_free(m);
}

/* Of 40 samples of 3 values: all of them, every second, every third; 16 at least. */
TEST(samples_are_spread)
{
    static const struct {
        uint64_t max_values, samples;
    } cases[] = {{120, 40}, {119, 20}, {60, 20}, {59, 14}, {0, 14}};
    float x[120];
    const float w[6] = {0};
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i / 3);
    struct pith_model *m = small_net(3, 2, w, false);
    struct pith_data *data = rows_of(x, 40, 3, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pith_input_look l = look_at(m, data, cases[i].max_values);
        assert_int_equal(l.samples, cases[i].samples);
        assert_true(l.min == 0 &&
                    l.max == (double)((l.samples - 1) * (40 / l.samples + (40 % l.samples != 0))));
    }
    pith_data_free(data);
    pith_model_free(m);
}

static struct pith_answer_look answers_of(const struct pith_model *m, const float *x, uint32_t n,
                                          const char *labels)
{
    struct pith_engine *e = engine_of(m);
    struct pith_data *data = rows_of(x, n, 3, labels);
    struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .input = &input, .n_inputs = 1};
    struct pith_answer_look look;
    SUCCEEDS(pith_check_outputs(e, m, &feed, &look, &err));
    pith_data_free(data);
    pith_engine_close(e);
    return look;
}

/* Logits are the first two of three numbers: class 0 is certain from a distance of log 999 on. */
TEST(answers_of_one_class_are_noticed)
{
    const float w[6] = {1, 0, 0, 0, 1, 0};
    struct pith_model *m = small_net(3, 2, w, false);
    float x[60] = {0};
    char labels[64] = "", *path;
    for (int i = 0; i < 20; i++) {
        x[3 * i] = 6.91f; /* log 999 is 6.907 */
        strcat(labels, i == 19 ? "1\n" : "0\n");
    }
    struct pith_answer_look l = answers_of(m, x, 16, NULL);
    assert_true(l.samples == 16 && l.one_class && l.which == 0 && !l.nan && !l.infinite);
    l = answers_of(m, x, 15, NULL);
    assert_true(l.samples == 15 && !l.one_class && l.same_class);
    path = text_file(labels);
    l = answers_of(m, x, 20, path);
    assert_true(l.one_class && !l.same_label);
    remove(path);
    labels[38] = '0'; /* all samples are of that class */
    path = text_file(labels);
    l = answers_of(m, x, 20, path);
    assert_true(!l.one_class && l.same_class && l.same_label && l.first_label == 0);
    remove(path);
    x[30] = 6.9f;
    l = answers_of(m, x, 20, NULL);
    assert_true(!l.one_class && !l.same_class);
    x[30] = 0;
    x[31] = 7;
    l = answers_of(m, x, 20, NULL);
    assert_true(!l.one_class && !l.same_class);
    pith_model_free(m);
}

/* The first NaN, or, where there is none, the first infinity. */
TEST(answers_that_are_no_numbers_are_noticed)
{
    const float w[6] = {3e38f, 0, 0, 3e38f, -3e38f, 0};
    struct pith_model *m = small_net(3, 2, w, false);
    float x[12] = {0};
    struct pith_answer_look l = answers_of(m, x, 4, NULL);
    assert_true(!l.nan && !l.infinite);
    x[3] = x[6] = 3;
    l = answers_of(m, x, 4, NULL);
    assert_true(!l.nan && l.infinite && l.output == 0 && l.sample == 1);
    x[9] = x[10] = 3; /* infinity less infinity */
    l = answers_of(m, x, 4, NULL);
    assert_true(l.nan && l.infinite && l.sample == 3);
    pith_model_free(m);
}

RUN_TESTS
