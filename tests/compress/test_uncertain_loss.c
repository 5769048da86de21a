/* SPDX-License-Identifier: MIT */
/* A mean KL from few samples: of answers whose errors are alike, and of answers that are certain
 * but for a few. */
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include "test_run.h"
#include "base/seeded_random.h"
#include "measure/class_output.h"
#include "compress/goal/sample_split.h"
#include "compress/goal/sweep_encoder.h"
#include "compress/goal/uncertain_loss.h"

enum { FEW = 48, MANY = 20000, CLASSES = 2 };

static const struct output_kind scores = {.classes = CLASSES, .rows = 1, .inner = 1};

static double uniform(uint64_t *random)
{
    return (double)(next_random(random) >> 11) * 0x1p-53;
}

/* Nearly a normal deviate, of that deviation. */
static double normal(uint64_t *random, double deviation)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += uniform(random) - 0.5;
    return sum * deviation;
}

/* Two scores, margins evenly from -widest to widest; errors of such a deviation. */
static void fill(float *was, float *now, uint64_t n, double widest, double error, uint64_t *random)
{
    for (uint64_t i = 0; i < n; i++) {
        was[i * 2] = (float)(widest * (2 * uniform(random) - 1));
        was[i * 2 + 1] = 0;
        now[i * 2] = was[i * 2] + (float)normal(random, error);
        now[i * 2 + 1] = 0;
    }
}

static double mean_of(const float *was, const float *now, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += pith_class_divergence(&scores, was + i * CLASSES, now + i * CLASSES, NULL);
    return sum / (double)n;
}

/* How often, of 200 draws of 48 samples, the estimate is below a share of what 20,000 lose; and
 * their mean, in that. */
static uint32_t count_low(double widest, double error, double share, double *mean)
{
    float *was = malloc(sizeof(float) * CLASSES * MANY),
          *now = malloc(sizeof(float) * CLASSES * MANY);
    uint64_t random = 1;
    uint32_t low = 0;
    fill(was, now, MANY, widest, error, &random);
    const double all = mean_of(was, now, MANY);
    *mean = 0;
    for (int draw = 0; draw < 200; draw++) {
        double kl = 0;
        assert_true(pith_uncertain_loss(&scores, was + draw * FEW * CLASSES,
                                        now + draw * FEW * CLASSES, FEW, &kl));
        low += kl < share * all;
        *mean += kl / all / 200;
    }
    free(was);
    free(now);
    return low;
}

/* Where every sample counts, it is near to the mean. */
TEST(is_near_where_all_are_alike)
{
    double mean;
    assert_true(count_low(1, 0.2, 0.6, &mean) <= 10);
    assert_true(mean > 0.8 && mean < 1.4);
}

/* Margins up to 1,000 nats, errors of 20: one of 40 samples could be changed, and most draws of 48
 * lose nothing at all; the estimate still sees a third of the loss in 19 of 20 draws. */
TEST(sees_what_is_rare)
{
    double mean;
    assert_true(count_low(1000, 20, 0.33, &mean) <= 10);
    assert_true(mean > 0.8 && mean < 3);
}

TEST(nothing_changed_is_nothing_lost)
{
    const float y[] = {3, 1, -2, 5, 0, 0};
    double kl = 1;
    assert_true(pith_uncertain_loss(&scores, y, y, 3, &kl));
    assert_true(kl < 1e-12);
    assert_true(pith_uncertain_loss(&scores, y, y, 1, &kl));
    assert_true(kl < 1e-12);
}

/* Probabilities are taken by their logarithms. */
TEST(softmax_is_undone)
{
    const struct output_kind p = {.classes = CLASSES, .rows = 1, .inner = 1, .softmax = true};
    const float was[] = {0.9f, 0.1f, 0.4f, 0.6f}, now[] = {0.8f, 0.2f, 0.5f, 0.5f};
    float log_was[4], log_now[4];
    double a = 0, b = 1;
    for (int i = 0; i < 4; i++) {
        log_was[i] = logf(was[i]);
        log_now[i] = logf(now[i]);
    }
    assert_true(pith_uncertain_loss(&p, was, now, 2, &a));
    assert_true(pith_uncertain_loss(&scores, log_was, log_now, 2, &b));
    assert_true(fabs(a - b) < 1e-6 && a > 0.001);
    assert_true(fabs(pith_score_variance(&p, was) - pith_score_variance(&scores, log_was)) < 1e-6);
    assert_true(fabs(pith_score_variance(&scores, log_was) - 0.25 * log(9) * log(9)) < 1e-5);
}

RUN_TESTS
