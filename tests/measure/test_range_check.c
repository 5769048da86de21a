/* SPDX-License-Identifier: MIT */
/* test_range_check.c - a value whose range a few numbers rule is found, others are not. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "pith_value_stats.h"
#include "measure/range_check.h"
#include "small_net.h"

static const float weights[1] = {1};

/* "x" was observed: zeros, 4,000 numbers over four bins of width 1/4 from -1/2 up, and `odd` in the
 * bin that begins at 10. */
static struct pith_model *observed(uint64_t odd)
{
    struct pith_model *m = small_net(1, 1, weights, false);
    struct pith_value *v = &m->values[m->inputs[0]];
    v->stats = pith_model_alloc(m, 1, sizeof *v->stats);
    struct pith_histogram *h = &v->stats->histogram;
    *h = (struct pith_histogram){.exponent = -2, .first = -2, .n_bins = 43};
    h->count = pith_model_alloc(m, h->n_bins, sizeof *h->count);
    for (uint32_t i = 0; i < 4; i++)
        h->count[i] = 1000;
    h->count[42] = odd;
    v->stats->n_zero = 100000;
    v->stats->n = 100000 + 4000 + odd;
    v->min = -0.5f;
    v->max = odd ? 10.125f : 0.5f;
    return m;
}

static uint32_t check(const struct pith_model *m, struct pith_range_finding *f)
{
    struct pith_range_finding *list = NULL;
    uint32_t n = 9;
    assert_int_equal(pith_range_check(m, &list, &n, NULL), PITH_OK);
    if (n)
        *f = list[0];
    free(list);
    return n;
}

TEST(a_few_large_numbers_rule_a_range)
{
    struct pith_range_finding f;
    struct pith_model *m = observed(3);
    assert_int_equal(check(m, &f), 1);
    assert_string_equal(f.value, "x");
    assert_true(f.largest == 10.125 && f.rest == 0.5);
    assert_int_equal(f.count, 3);
    assert_int_equal(f.of, 4003);
    pith_model_free(m);
}

TEST(many_large_numbers_are_no_outliers)
{
    struct pith_range_finding f;
    struct pith_model *none = observed(0), *many = observed(50);
    assert_int_equal(check(none, &f), 0);
    assert_int_equal(check(many, &f), 0);
    pith_model_free(none);
    pith_model_free(many);
}

/* A grid that cuts them off wastes nothing; one that reaches them does. */
TEST(a_grid_that_cuts_is_not_ruled)
{
    struct pith_range_finding f;
    float scale = 0.5f / 127;
    struct pith_grid g = {.type = PITH_I8, .bits = 8, .n = 1, .scale = &scale};
    struct pith_model *m = observed(3);
    m->values[m->inputs[0]].grid = &g;
    assert_int_equal(check(m, &f), 0);
    scale = 10.125f / 127;
    assert_int_equal(check(m, &f), 1);
    pith_model_free(m);
}

RUN_TESTS
