/* SPDX-License-Identifier: MIT */
/* value_range.h - running extremes of one value. */
#ifndef VALUE_RANGE_H
#define VALUE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n_observed 0: nothing seen, min and max mean nothing. */
struct value_range {
    float min, max;
    uint64_t n_observed; /* elements */
};

/* x: [n] f32, n >= 1. false when one of them is NaN; the range is then untouched. */
bool pith_range_add(struct value_range *r, const float *x, size_t n);
void pith_range_merge(struct value_range *r, const struct value_range *other);

#endif
