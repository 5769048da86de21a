/* SPDX-License-Identifier: MIT */
/* sorted_values.h - one group's values in ascending order with sums of any range at hand.
 *
 * In one dimension a cluster is an interval of the sorted values, so k-means needs no pass over the
 * data: a boundary is a binary search, a mean or a squared error is a difference of prefix sums.
 * The sums run in value order, so they do not depend on how elements were arranged or on threads.
 * Prefix sums are stored every SORTED_BLOCK values; the few between are added on the way. */
#ifndef PITH_SORTED_VALUES_H
#define PITH_SORTED_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "pith_types.h"

enum { SORTED_BLOCK = 64 };

struct sorted_values {
    float *v; /* [n] ascending, finite; -0 is stored as +0 */
    uint64_t n, capacity;
    double shift;          /* a middle value, taken off before summing so that little cancels */
    double *sum, *squares; /* [capacity / SORTED_BLOCK + 1], of (v - shift) */
    float *scratch;        /* [capacity] */
    uint64_t *digits;      /* of the pieces that are sorted side by side */
    const struct pith_opts *runtime; /* parallel_for; NULL, as begin leaves it: one thread */
};

struct range_sums {
    double n, sum, squares; /* of (v - shift) */
};

/* Room for `capacity` values; false without memory (end is safe then). */
bool pith_sorted_begin(struct sorted_values *s, uint64_t capacity);
void pith_sorted_end(struct sorted_values *s);

/* Sorts what the caller put into v[0..n) and builds the sums. */
void pith_sorted_build(struct sorted_values *s, uint64_t n);

/* Mean of [from, to), from < to. */
double pith_sorted_mean(const struct sorted_values *s, uint64_t from, uint64_t to);

/* Sum of (v - centre)^2 over [from, to). */
double pith_sorted_error(const struct sorted_values *s, uint64_t from, uint64_t to, double centre);

/* Number of values <= x. */
uint64_t pith_sorted_count_to(const struct sorted_values *s, double x);

/* Number of distinct values, or `limit` when there are at least that many. */
uint64_t pith_sorted_distinct(const struct sorted_values *s, uint64_t limit);

#endif
