/* SPDX-License-Identifier: MIT */
/* value_range.c - see value_range.h. */
#include "value_range.h"

/* Extremes do not depend on the order of comparison, so the result is the same for any threads. */
bool pith_range_add(struct value_range *r, const float *x, size_t n)
{
    float min = x[0], max = x[0];
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        good &= x[i] == x[i];
    }
    if (good)
        pith_range_merge(r, &(struct value_range){min, max, n});
    return good;
}

void pith_range_merge(struct value_range *r, const struct value_range *other)
{
    if (other->n_observed == 0)
        return;
    if (r->n_observed == 0 || other->min < r->min)
        r->min = other->min;
    if (r->n_observed == 0 || other->max > r->max)
        r->max = other->max;
    r->n_observed += other->n_observed;
}
