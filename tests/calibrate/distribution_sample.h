/* SPDX-License-Identifier: MIT */
/* distribution_sample.h - statistics of numbers given one by one. */
#ifndef DISTRIBUTION_SAMPLE_H
#define DISTRIBUTION_SAMPLE_H

#include "calibrate/range.h"
#include "calibrate/calibrate_kernels.h"
#include "calibrate/value_observer.h"

/* The statistics live in m. */
static inline struct distribution distribution_of(struct pith_model *m, const float *x, uint32_t n)
{
    static struct histogram_scratch scratch;
    const struct count_team alone = {.n = 1, .scratch = &scratch};
    struct value_observer o;
    struct pith_value v = {.name = "v", .type = PITH_F32, .rank = 1, .dim = {n}};
    struct pith_value_stats *s = NULL;
    assert_int_equal(pith_observer_start(&o, &v, OBSERVE_HISTOGRAM, PITH_MAX_RANK), PITH_OK);
    pith_observer_see(&o, x, n, &alone);
    assert_int_equal(pith_observer_result(&o, m, &s), PITH_OK);
    struct distribution d = {s, (double)o.min, (double)o.max, ldexp(1, s->histogram.exponent)};
    pith_observer_clear(&o);
    return d;
}

#endif
