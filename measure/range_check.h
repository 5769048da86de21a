/* SPDX-License-Identifier: MIT */
/* range_check.h - values whose range a few numbers rule, by what calibration saw of them. */
#ifndef PITH_RANGE_CHECK_H
#define PITH_RANGE_CHECK_H

#include "pith_model.h"

/* The largest number is more than 5 times what 99.9 % of those that are not 0 stay below (of 1,000
 * or more observed), and the value's grid, where it has one, reaches that far. */
struct pith_range_finding {
    const char *value;    /* name; borrowed from the model */
    double largest, rest; /* magnitudes: the largest, and what the others stay below */
    uint64_t count, of;   /* numbers beyond 5 times the rest; that are not 0 */
};

/* *list is malloc'ed (NULL where *n is 0), in the order of the values. PITH_ERR_MEMORY. */
enum pith_status pith_range_check(const struct pith_model *m, struct pith_range_finding **list,
                                  uint32_t *n, struct pith_error *err);

#endif
