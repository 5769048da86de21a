/* SPDX-License-Identifier: MIT */
/* Losses against their definitions and finite differences; the rates of every schedule. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include "train/batch/augment.h"
#include "train/batch/loss.h"
#include "train/schedule.h"

enum { SAMPLES = 3, CLASSES = 5 };

static const float logits[SAMPLES * CLASSES] = {0.5f, -1, 2,  0.25f, -3, 4, 4, -2,
                                                1,    0,  -1, 0,     1,  2, 3};
static const float teacher[SAMPLES * CLASSES] = {1, 0, 0, -1, 2, 3, -3, 1, 0.5f, 1, 2, 0, -1, 0, 1};
static const int64_t labels[SAMPLES] = {2, 0, 1};

static void check_gradient(const int64_t *label, float kl, float t)
{
    float x[SAMPLES * CLASSES], d[SAMPLES * CLASSES], unused[SAMPLES * CLASSES];
    for (int i = 0; i < SAMPLES * CLASSES; i++)
        x[i] = logits[i];
    pith_loss_classes(&(struct class_rows){SAMPLES, CLASSES, x, label, 1, kl, t, teacher}, d);
    for (int i = 0; i < SAMPLES * CLASSES; i++) {
        const float h = 1.0f / 256;
        x[i] = logits[i] + h;
        double up = pith_loss_classes(
                        &(struct class_rows){SAMPLES, CLASSES, x, label, 1, kl, t, teacher}, unused)
                        .loss;
        x[i] = logits[i] - h;
        double down =
            pith_loss_classes(&(struct class_rows){SAMPLES, CLASSES, x, label, 1, kl, t, teacher},
                              unused)
                .loss;
        x[i] = logits[i];
        if (fabs((up - down) / (2 * (double)h) - (double)d[i]) > 2e-4)
            fail_msg("element %d: %g, by differences %g", i, (double)d[i],
                     (up - down) / (2 * (double)h));
    }
}

TEST(test_classes)
{
    float d[SAMPLES * CLASSES];
    struct loss_part p =
        pith_loss_classes(&(struct class_rows){SAMPLES, CLASSES, logits, labels, 1, 0, 1, NULL}, d);
    double expected = 0;
    for (int s = 0; s < SAMPLES; s++) {
        double sum = 0;
        for (int i = 0; i < CLASSES; i++)
            sum += exp((double)logits[s * CLASSES + i]);
        expected += log(sum) - (double)logits[s * CLASSES + labels[s]];
    }
    assert_true(fabs(p.loss - expected) < 1e-9);
    assert_int_equal(p.right, 2); /* of two equal scores the first counts */
    check_gradient(labels, 0, 1);
    check_gradient(labels, 0.7f, 2);
    check_gradient(NULL, 1, 4);
}

/* The loss of a target that is written out, and its gradient p - target. Sample 2 has no pair. */
TEST(test_mixed_labels)
{
    const float share[SAMPLES] = {0.75f, 0.75f, 1}, kl = 0.25f;
    float d[SAMPLES * CLASSES], part[SAMPLES * CLASSES];
    double loss = pith_loss_classes(
                      &(struct class_rows){SAMPLES, CLASSES, logits, labels, 1, kl, 2, teacher}, d)
                      .loss;
    double by_teacher =
        kl * pith_loss_classes(
                 &(struct class_rows){SAMPLES, CLASSES, logits, NULL, 1, 1, 2, teacher}, part)
                 .loss;
    loss += pith_loss_mixed(&(struct class_rows){SAMPLES, CLASSES, logits, labels, 1, kl, 1, NULL},
                            share, d);
    double expected = by_teacher;
    for (int s = 0; s < SAMPLES; s++) {
        double sum = 0;
        for (int i = 0; i < CLASSES; i++)
            sum += exp((double)logits[s * CLASSES + i]);
        for (int i = 0; i < CLASSES; i++) {
            double target = i == labels[s] ? (double)share[s] : 0;
            target += s < 2 && i == labels[1 - s] ? 0.25 : 0;
            double log_p = (double)logits[s * CLASSES + i] - log(sum);
            expected -= 0.75 * target * log_p;
            double slope = 0.75 * (exp(log_p) - target) + 0.25 * (double)part[s * CLASSES + i];
            assert_true(fabs(slope - (double)d[s * CLASSES + i]) < 1e-6);
        }
    }
    assert_true(fabs(loss - expected) < 1e-6);
}

TEST(test_large_scores)
{
    const float x[2] = {1000, -1000};
    float d[2];
    const int64_t label = 1;
    struct loss_part p = pith_loss_classes(&(struct class_rows){1, 2, x, &label, 1, 0, 1, NULL}, d);
    assert_true(p.loss == 2000 && d[0] == 1 && d[1] == -1);
}

/* Two scores d apart: the larger has p = 1 / (1 + e^-d). */
TEST(test_rows_of_no_class)
{
    const float x[6] = {4, 2, 1, 3, 5, 5};
    const int64_t label[3] = {-100, 0, -1};
    float d[6] = {9, 9, 9, 9, 9, 9};
    const double p = 1 / (1 + exp(2));
    struct loss_part part =
        pith_loss_classes(&(struct class_rows){3, 2, x, label, 1.5, 0, 1, NULL}, d);
    assert_true(fabs(part.loss + 1.5 * log(p)) < 1e-6 && part.right == 0);
    assert_true(d[0] == 0 && d[1] == 0 && d[4] == 0 && d[5] == 0);
    assert_true(fabs((double)d[2] - 1.5 * (p - 1)) < 1e-6);
    assert_true(fabs((double)d[3] - 1.5 * (1 - p)) < 1e-6);
    part = pith_loss_classes(
        &(struct class_rows){3, 2, x, label, 0.5, 1, 1, (const float[]){0, 0, 0, 0, 0, 0}}, d);
    assert_true(fabs(part.loss + 0.5 * (log(2) + log(p * (1 - p)) / 2)) < 1e-6);
    assert_true(d[0] == 0 && fabs((double)d[2] - 0.5 * (p - 0.5)) < 1e-6);
}

TEST(test_teacher_alike)
{
    float d[SAMPLES * CLASSES];
    struct loss_part p =
        pith_loss_classes(&(struct class_rows){SAMPLES, CLASSES, logits, NULL, 1, 1, 3, logits}, d);
    assert_true(fabs(p.loss) < 1e-9);
    for (int i = 0; i < SAMPLES * CLASSES; i++)
        assert_true(fabsf(d[i]) < 1e-6f);
}

TEST(test_squares)
{
    const float y[4] = {1, 2, 3, 4}, target[4] = {1, 0, 3, 7};
    float d[4];
    struct loss_part p = pith_loss_squares(2, 2, y, target, d);
    assert_true(p.loss == (4 + 9) / 2.0);
    assert_true(d[0] == 0 && d[1] == 2 && d[2] == 0 && d[3] == -3);
}

TEST(test_schedules)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.rate = 1;
    assert_true(pith_schedule_rate(&o, 0, 100) == 1);
    assert_true(fabs(pith_schedule_rate(&o, 50, 100) - 0.5) < 1e-12);
    assert_true(pith_schedule_rate(&o, 99, 100) < 0.001);
    o.warm_up = 0.1f;
    assert_true(pith_schedule_rate(&o, 0, 100) < 0.1);
    assert_true(fabs(pith_schedule_rate(&o, 10, 100) - 1) < 1e-6);
    for (uint64_t i = 1; i < 10; i++)
        assert_true(pith_schedule_rate(&o, i, 100) > pith_schedule_rate(&o, i - 1, 100));
    assert_true(fabs(pith_schedule_rate(&o, 55, 100) - 0.5) < 1e-6); /* half of what is left */
    o.warm_up = 0;
    o.schedule = PITH_CONSTANT;
    assert_true(pith_schedule_rate(&o, 99, 100) == 1);
    o.schedule = PITH_STEPS;
    assert_true(pith_schedule_rate(&o, 33, 100) == 1);
    assert_true(fabs(pith_schedule_rate(&o, 34, 100) - 0.1) < 1e-7);
    assert_true(fabs(pith_schedule_rate(&o, 67, 100) - 0.01) < 1e-7);
    o.schedule = PITH_ONE_CYCLE;
    assert_true(fabs(pith_schedule_rate(&o, 0, 100) - 0.04) < 1e-9);
    assert_true(fabs(pith_schedule_rate(&o, 30, 100) - 1) < 1e-9);
    assert_true(fabs(pith_schedule_rate(&o, 15, 100) - 0.52) < 1e-9);
    assert_true(fabs(pith_schedule_rate(&o, 40, 100) - 0.9505) < 1e-4);
    assert_true(pith_schedule_rate(&o, 99, 100) < 0.01);
}

RUN_TESTS
