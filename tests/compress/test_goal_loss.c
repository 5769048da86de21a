/* SPDX-License-Identifier: MIT */
/* What a compressed network lost: the split of samples, what outputs are, figures known from a
 * hand's count, and limits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test_run.h"
#include <math.h>
#include "compress/goal/goal_figures.h"
#include "measure/class_output.h"
#include "compress/goal/sample_split.h"
#include "compress/goal/sweep_encoder.h"
#include "pith_goal_loss.h"
#include "pith_pack.h"
#include "measure/small_net.h"

/* ---- the split ------------------------------------------------------------------------------- */

static void expect_split(uint64_t n, bool stream, uint64_t calibrate, uint64_t choose,
                         uint64_t report)
{
    struct sample_split s;
    const uint64_t most[PITH_GOAL_PARTS] = {1000, 1000, 1000};
    uint8_t *taken = calloc(n, 1);
    assert_true(pith_sample_split(n, 1, stream, most, &s));
    assert_int_equal(s.n[0], calibrate);
    assert_int_equal(s.n[1], choose);
    assert_int_equal(s.n[2], report);
    assert_int_equal(s.shared, n < PITH_GOAL_THREE_PARTS);
    uint32_t last = 0;
    for (int part = 0; part < (s.shared ? 2 : 3); part++)
        for (uint64_t i = 0; i < s.n[part]; i++) {
            uint32_t k = s.numbers[part][i];
            assert_true(k < n && taken[k]++ == 0); /* no sample is in two parts */
            assert_true(!stream || k >= last);
            last = k;
        }
    pith_sample_split_free(&s);
    free(taken);
}

TEST(parts_are_apart)
{
    expect_split(2, false, 1, 1, 1);
    expect_split(32, false, 16, 16, 16);
    expect_split(47, false, 23, 24, 24);
    expect_split(48, false, 30, 9, 9);
    expect_split(256, false, 160, 48, 48);
    expect_split(256, true, 160, 48, 48);
    expect_split(1000, true, 620, 186, 194);
}

TEST(most_are_limits)
{
    struct sample_split s, other;
    const uint64_t most[PITH_GOAL_PARTS] = {10, 20, 5};
    assert_true(pith_sample_split(256, 1, false, most, &s));
    assert_true(s.n[0] == 10 && s.n[1] == 20 && s.n[2] == 5);
    assert_true(pith_sample_split(256, 2, false, most, &other));
    assert_true(memcmp(s.numbers[0], other.numbers[0], 10 * sizeof(uint32_t)) != 0);
    pith_sample_split_free(&other);
    assert_true(pith_sample_split(256, 1, false, most, &other));
    assert_memory_equal(s.numbers[0], other.numbers[0], 10 * sizeof(uint32_t));
    pith_sample_split_free(&other);
    pith_sample_split_free(&s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

enum { WIDTH = 3, CLASSES = 2 };

TEST(rows_of_a_product_are_classes)
{
    const float w[12] = {1, 0, 0, 0, 1, 0};
    struct pith_model *narrow = small_net(WIDTH, CLASSES, w, false),
                      *wide = small_net(WIDTH, 4, w, false), *same = identity_net(4),
                      *rectified = small_net(WIDTH, CLASSES, w, true),
                      *one = small_net(WIDTH, 1, w, false);
    struct output_kind k = pith_output_kind(narrow, 0);
    assert_true(k.classes == CLASSES && k.rows == 1 && k.inner == 1 && !k.softmax);
    assert_int_equal(pith_output_kind(wide, 0).classes, 0);
    assert_int_equal(pith_output_kind(same, 0).classes, 0); /* as an autoencoder's */
    assert_int_equal(pith_output_kind(rectified, 0).classes, 0);
    assert_int_equal(pith_output_kind(one, 0).classes, 0);
    pith_model_free(narrow);
    pith_model_free(wide);
    pith_model_free(same);
    pith_model_free(rectified);
    pith_model_free(one);
}

/* torch writes the bias of a product of positions as the first operand. */
TEST(bias_may_be_on_either_side)
{
    const float w[6] = {1, 0, 0, 0, 1, 0};
    for (uint32_t side = 0; side < 2; side++) {
        struct sample_random r = sample_random_of(1);
        struct pith_model *m = small_net(WIDTH, CLASSES, w, false);
        uint32_t in[2];
        in[side] = add_constant(m, &r, "b", 1, (const uint32_t[]){CLASSES});
        in[!side] = m->outputs[0];
        m->outputs[0] = add_node(m, PITH_OP_ADD, "add", "add.out", 2, in)->out[0];
        assert_int_equal(pith_model_infer_shapes(m, &(struct pith_error){0}), PITH_OK);
        assert_int_equal(pith_output_kind(m, 0).classes, CLASSES);
        pith_model_free(m);
    }
}

static struct pith_model *softmax_net(const uint32_t *dim, uint32_t rank, int32_t axis)
{
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", rank, dim);
    struct pith_node *n = add_node(m, PITH_OP_SOFTMAX, "p", "p.out", 1, &x);
    n->attr[ATTR_SOFTMAX_AXIS] = axis;
    return sample_done(m, n->out[0]);
}

TEST(softmax_gives_the_axis)
{
    static const struct {
        uint32_t dim[4], rank;
        int32_t axis;
        uint32_t classes;
        uint64_t rows, inner;
    } cases[] = {{{1, 10}, 2, 1, 10, 1, 1},
                 {{1, 10, 1, 1}, 4, 1, 10, 1, 1},
                 {{1, 7, 5}, 3, 2, 5, 7, 1},
                 {{1, 21, 4, 6}, 4, 1, 21, 24, 24}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_model *m = softmax_net(cases[i].dim, cases[i].rank, cases[i].axis);
        struct output_kind k = pith_output_kind(m, 0);
        assert_true(k.softmax);
        assert_int_equal(k.classes, cases[i].classes);
        assert_int_equal(k.rows, cases[i].rows);
        assert_int_equal(k.inner, cases[i].inner);
        pith_model_free(m);
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

enum { ROWS = 4 };

static struct pith_buffer packed(const float *w)
{
    struct pith_model *m = small_net(WIDTH, CLASSES, w, false);
    struct pith_buffer file;
    struct pith_error err = {0};
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_OK);
    pith_model_free(m);
    return file;
}

/* Logits (x0, x1) against (x0, x1 + x2 d): of samples x = (a, b, c) the divergence is known. */
TEST(losses_are_those_of_a_hand)
{
    const float was[6] = {1, 0, 0, 0, 1, 0}, now[6] = {1, 0, 0, 0, 1, 0.5f};
    /* two calibrate; which of them, the split says: all are alike in pairs */
    const float x[ROWS * WIDTH] = {1, 0, 4, 1, 0, 4, 1, 0, 4, 1, 0, 4};
    struct pith_model *m = small_net(WIDTH, CLASSES, was, false);
    char *labels = text_file("0\n0\n0\n0\n");
    struct pith_data *data = rows_of(x, ROWS, WIDTH, labels);
    unlink(labels);
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_goal_eval_opts o = {.size_bytes = sizeof o, .seed = 1};
    struct pith_goal_eval *j;
    struct pith_goal_loss l;
    struct pith_error err = {0};
    assert_int_equal(pith_goal_eval_new(m, &feed, &o, &j, &err), PITH_OK);
    assert_true(pith_goal_eval_shares(j));
    assert_int_equal(pith_goal_eval_count(j, PITH_GOAL_CALIBRATE), 2);
    assert_int_equal(pith_goal_eval_count(j, PITH_GOAL_TEST), 2);
    struct pith_buffer same = packed(was), other = packed(now);
    assert_int_equal(pith_goal_eval_measure(j, PITH_GOAL_VALIDATE, &same, &l, &err), PITH_OK);
    assert_true(l.kl == 0 && l.agreement == 1 && l.snr_db == HUGE_VAL && l.drop == 0);
    assert_int_equal(pith_goal_eval_measure(j, PITH_GOAL_TEST, &other, &l, &err), PITH_OK);
    /* p = softmax(1, 0) against softmax(1, 2) */
    double p = 1 / (1 + exp(-1)), q = 1 / (1 + exp(1));
    double kl = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q));
    assert_int_equal(l.samples, 2);
    assert_true(fabs(l.kl - kl) < 1e-6 && l.kl_error < 1e-9);
    assert_true(l.agreement == 0 && l.metric == PITH_METRIC_TOP1);
    assert_true(l.before == 1 && l.after == 0 && l.drop == 1);
    assert_true(fabs(l.drop_error - 0.5) < 1e-9);             /* sqrt(2 + 1 - 2) / 2 */
    assert_true(fabs(l.snr_db - 10 * log10(1.0 / 4)) < 1e-6); /* 1 + 0 against 2 squared */
    pith_goal_eval_free(j);
    assert_int_equal(pith_data_count(data), ROWS); /* all again */
    pith_buffer_free(&same);
    pith_buffer_free(&other);
    pith_data_free(data);
    pith_model_free(m);
}

/* Two calls: errors are those of means of 2 and of 1.5, one weighs twice; the other output is
 * numbers. */
TEST(figures_of_sums_are_those_of_a_hand)
{
    const struct eval_output out[2] = {
        {.output = 3, .weight = 2, .kind = {.classes = 4, .rows = 5, .inner = 1}},
        {.output = 1, .weight = 1}};
    const struct pith_difference_sums sums[2] = {
        {.calls = 2,
         .signal = 60,
         .noise = 4,
         .noise_squares = 10,
         .rows = 10,
         .agree = 9,
         .kl = 3,
         .kl_squares = 5},
        {.calls = 2, .signal = 1000, .noise = 1, .noise_squares = 0.5}};
    const struct goal_sums s = {
        .out = out, .n_out = 2, .metric = PITH_METRIC_NONE, .sums = sums, .calls = 2};
    struct pith_goal_loss l;
    assert_int_equal(pith_goal_figures(&s, &l, NULL), PITH_OK);
    assert_true(l.samples == 2 && l.classes && l.numbers && l.worst == 3 && l.nonfinite == 0);
    assert_true(fabs(l.kl - 3) < 1e-12 && fabs(l.kl_error - 1) < 1e-12 &&
                fabs(l.kl_high - 4) < 1e-12);
    assert_true(l.agreement == 0.9);
    assert_true(fabs(l.snr_db - 10 * log10(60.0 / 8)) < 1e-12);
    assert_true(fabs(l.snr_low_db - 10 * log10(60.0 / (8 + 4))) < 1e-12);
    assert_true(fabs(l.numbers_db - 30) < 1e-12 && fabs(l.numbers_low_db - 30) < 1e-12);
}

TEST(too_little_to_measure_is_refused)
{
    const float w[6] = {1, 0, 0, 0, 1, 0}, x[WIDTH] = {1, 2, 3};
    struct pith_model *m = small_net(WIDTH, CLASSES, w, false);
    struct pith_data *data = rows_of(x, 1, WIDTH, NULL);
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_goal_eval_opts o = {.size_bytes = sizeof o, .seed = 1};
    struct pith_goal_eval *j = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_goal_eval_new(m, &feed, &o, &j, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "at least 2"));
    assert_null(j);
    pith_data_free(data);
    data = rows_of((const float[]){1, 2, 3, 3, 2, 1}, 2, WIDTH, NULL); /* no output is finite */
    for (int i = 0; i < 6; i++)
        ((float *)m->values[1].constant->data)[i] = INFINITY;
    const struct pith_feed_input two = {.data = data};
    const struct pith_feed none = {.size_bytes = sizeof none, .n_inputs = 1, .input = &two};
    assert_int_equal(pith_goal_eval_new(m, &none, &o, &j, &err), PITH_ERR_ARGUMENT);
    SUCCEEDS(!strstr(err.text, "every output is NaN or infinite"));
    assert_null(j);
    pith_data_free(data);
    pith_model_free(m);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static struct pith_goal_loss classes_lost(double kl, double error)
{
    return (struct pith_goal_loss){.classes = true,
                                   .kl = kl,
                                   .kl_error = error,
                                   .agreement = 0.95,
                                   .snr_db = 40,
                                   .snr_low_db = 38,
                                   .numbers_db = HUGE_VAL,
                                   .numbers_low_db = HUGE_VAL};
}

TEST(limits)
{
    struct pith_goal g;
    struct pith_goal_loss l = classes_lost(0.02, 0.002);
    pith_goal_init(&g);
    assert_false(pith_goal_limits_loss(&g));
    assert_true(pith_goal_excess(&g, &l, 1) == -HUGE_VAL);
    g.max_drop = 0.005;
    assert_true(fabs(pith_goal_kl(0.005) - 0.02) < 1e-12 && pith_goal_snr(0.005) == 30);
    assert_true(fabs(pith_goal_snr(0.01) - 26.9897) < 1e-3 && pith_goal_snr(0) == HUGE_VAL);
    assert_true(fabs(pith_goal_excess(&g, &l, 0)) < 1e-9);
    assert_true(fabs(pith_goal_excess(&g, &l, 1) - log(1.1)) < 1e-9);
    g.min_agreement = 0.975;
    assert_true(fabs(pith_goal_excess(&g, &l, 0) - log(2)) < 1e-9);
    g.min_snr = 50;
    assert_true(fabs(pith_goal_excess(&g, &l, 0) - log(10)) < 1e-9);
    g = (struct pith_goal){.max_drop = 0.005};
    l.kl = 0, l.snr_db = 17; /* all are certain, and far off */
    assert_true(fabs(pith_goal_excess(&g, &l, 0) - 0.3 * log(10)) < 1e-9);
    l = classes_lost(0.02, 0.002);
    g = (struct pith_goal){.max_drop = 0};
    assert_true(pith_goal_excess(&g, &l, 0) == HUGE_VAL);
    l.kl = l.kl_error = 0;
    l.snr_db = l.snr_low_db = HUGE_VAL;
    assert_true(pith_goal_excess(&g, &l, 1) == -HUGE_VAL);
    l = (struct pith_goal_loss){
        .numbers = true, .snr_db = 33, .snr_low_db = 30, .numbers_db = 33, .numbers_low_db = 30};
    g.max_drop = 0.005;
    assert_true(fabs(pith_goal_excess(&g, &l, 1)) < 1e-9);
    assert_true(fabs(pith_goal_excess(&g, &l, 0) + log(2)) < 0.01);
}

/* Whatever the limits are, and none: NaN in the outputs is no loss that could be small. */
TEST(nan_in_the_outputs_meets_no_goal)
{
    struct pith_goal g;
    struct pith_goal_loss l = classes_lost(0, 0);
    char text[200];
    l.agreement = 1;
    l.nonfinite = 3;
    pith_goal_init(&g);
    assert_true(pith_goal_excess(&g, &l, 1) == HUGE_VAL);
    g.min_agreement = 0.5;
    assert_true(pith_goal_excess(&g, &l, 1) == HUGE_VAL);
    g = (struct pith_goal){.max_drop = -1, .min_snr = 1};
    assert_true(pith_goal_excess(&g, &l, 1) == HUGE_VAL);
    pith_goal_loss_text(&g, &l, NULL, PITH_TEXT_DECIDING, text, sizeof text);
    assert_non_null(strstr(text, "3 numbers of the outputs became NaN or infinite"));
    l.nonfinite = 0;
    assert_true(pith_goal_excess(&g, &l, 1) < 0);
}

static struct pith_goal_loss labels_lost(double drop, double error, double kl)
{
    struct pith_goal_loss l = classes_lost(kl, 0);
    l.metric = PITH_METRIC_TOP1;
    l.drop = drop, l.drop_error = error;
    return l;
}

/* Selection (one standard error more) and verdict (as measured), of a limit of 1 point or 0.04
 * nats. Where the samples do not resolve the limit, KL decides: a gain, or one sample that is lost,
 * counts neither way. */
TEST(drops_are_paired_differences)
{
    static const struct {
        double drop, error, kl;
        bool selected, met;
    } cases[] = {
        {0.004, 0.002, 0.2, true, true},     /* resolved */
        {0.0096, 0.002, 0.2, false, true},   /* not by one standard error */
        {0.0096, 0.002, 0.03, true, true},   /* ... but by KL */
        {0.0106, 0.002, 0.03, false, false}, /* above the limit, whatever KL is */
        {-0.02, 0.009, 0.2, true, true},
        {-0.0103, 0.0145, 0.0029, true, true}, /* not resolved: one gained of 97 */
        {0.0103, 0.0145, 0.0029, true, true},  /* one lost */
        {-0.0103, 0.0145, 0.05, false, false},
        {0.05, 0.03, 0.0029, false, false}, /* five lost of 97 are shown */
    };
    struct pith_goal g;
    pith_goal_init(&g);
    g.max_drop = 0.01;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pith_goal_loss l = labels_lost(cases[i].drop, cases[i].error, cases[i].kl);
        assert_int_equal(pith_goal_excess(&g, &l, 1) <= 0, cases[i].selected);
        assert_int_equal(pith_goal_excess(&g, &l, 0) <= 0, cases[i].met);
    }
    struct pith_goal_loss l = labels_lost(0.009, 0.002, 0.2);
    assert_true(fabs(pith_goal_excess(&g, &l, 1) - log(1.1)) < 1e-9);
    g.min_agreement = 0.99; /* has 0.95 */
    assert_true(pith_goal_excess(&g, &l, 0) > 0);
}

RUN_TESTS
