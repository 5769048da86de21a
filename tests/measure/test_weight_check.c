/* SPDX-License-Identifier: MIT */
/* test_weight_check.c - each suspicion raised by a weight made for it, and by no other. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "small_net.h"

enum { ROWS = 20, COLS = 100, COUNT = ROWS * COLS };

/* Values 1, 2, ... 10 in turn, times 0.01. */
static void even_weights(float *w)
{
    for (int i = 0; i < COUNT; i++)
        w[i] = 0.01f * (float)(1 + i % 10);
}

static struct pith_weight_finding only_finding(const float *w)
{
    struct pith_model *m = small_net(COLS, ROWS, w, false);
    struct pith_weight_finding *list = NULL, one = {0};
    uint32_t n = 77;
    struct pith_error err = {0};
    assert_int_equal(pith_weight_check(m, &list, &n, &err), PITH_OK);
    assert_true(n <= 1);
    if (n) {
        one = list[0];
        assert_string_equal(one.layer, "fc");
        assert_string_equal(one.tensor, "w");
    }
    free(list);
    pith_model_free(m);
    return one;
}

TEST(sound_weights_raise_nothing)
{
    float w[COUNT];
    even_weights(w);
    assert_int_equal(only_finding(w).kind, 0);
}

TEST(not_finite)
{
    float w[COUNT];
    even_weights(w);
    w[17] = NAN;
    w[18] = -INFINITY;
    struct pith_weight_finding f = only_finding(w);
    assert_int_equal(f.kind, PITH_WEIGHT_NONFINITE);
    assert_true(f.count == 2 && f.of == COUNT && f.first == 17);
}

TEST(denormal)
{
    float w[COUNT];
    even_weights(w);
    w[5] = 0x1p-126f; /* the smallest normal number */
    w[6] = 0;
    w[7] = -0x1p-127f;
    struct pith_weight_finding f = only_finding(w);
    assert_int_equal(f.kind, PITH_WEIGHT_DENORMAL);
    assert_true(f.count == 1 && f.of == COUNT && f.first == 7);
}

TEST(dead_channels)
{
    float w[COUNT];
    even_weights(w);
    memset(w + 3 * COLS, 0, COLS * sizeof *w);
    memset(w + 9 * COLS, 0, COLS * sizeof *w);
    memset(w + 11 * COLS, 0, (COLS - 1) * sizeof *w);
    struct pith_weight_finding f = only_finding(w);
    assert_int_equal(f.kind, PITH_WEIGHT_DEAD);
    assert_true(f.count == 2 && f.of == ROWS && f.first == 3);
}

/* 2,000 weights: two lie above the 99.9 % mark, the third is what they are measured against. */
TEST(an_outlier_rules_the_range)
{
    float w[COUNT];
    even_weights(w);
    w[1234] = -1.001f;
    struct pith_weight_finding f = only_finding(w);
    assert_int_equal(f.kind, PITH_WEIGHT_OUTLIER);
    assert_true(f.count == 1 && f.first == 1234);
    assert_true(f.largest == (double)1.001f && fabs(f.rest - 0.1) < 1e-6);
    w[1234] = 0.999f; /* not ten times */
    assert_int_equal(only_finding(w).kind, 0);
    w[0] = w[1] = w[2] = 5; /* three are no outliers among 2,000 */
    assert_int_equal(only_finding(w).kind, 0);
}

/* The zeros of pruning are not counted: 999 weights are too few. */
TEST(few_weights_have_no_outliers)
{
    float w[COUNT];
    even_weights(w);
    for (int i = 0; i < COUNT; i += 2) /* every row keeps some */
        w[i] = 0;
    w[1] = 900;
    w[3] = 0;
    assert_int_equal(only_finding(w).kind, 0);
    w[3] = 0.01f;
    assert_int_equal(only_finding(w).kind, PITH_WEIGHT_OUTLIER);
}

RUN_TESTS
