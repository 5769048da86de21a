/* SPDX-License-Identifier: MIT */
/* select_largest.h - exactly the k largest of n keys, of equal ones those that come first. */
#ifndef PITH_SELECT_LARGEST_H
#define PITH_SELECT_LARGEST_H

#include <stdint.h>

/* The k largest as a rule that can be applied to the keys in pieces, in order: a key stays when it
 * is above `threshold`, or equal to it while fewer than n_ties equal ones have stayed. */
struct largest_rule {
    uint32_t threshold;
    uint64_t n_ties;
};

enum { LARGEST_ROUNDS = 4 };

/* A histogram to find the rule over keys that come in several arrays: four rounds (LARGEST_ROUNDS),
 * each over all arrays, each fixing 8 more bits of the threshold. */
struct largest_search {
    uint64_t histogram[256];
    uint64_t wanted; /* keys still to be found inside the prefix */
    uint32_t prefix;
    uint32_t round;
};

/* k <= number of all keys, k >= 1. */
void pith_largest_begin(struct largest_search *s, uint64_t k);
void pith_largest_count(struct largest_search *s, const uint32_t *keys, uint64_t n);
void pith_largest_next(struct largest_search *s); /* ends a round */
struct largest_rule pith_largest_end(const struct largest_search *s);

/* keep[i] = 1 for those the rule keeps, else 0; uses up rule->n_ties. */
void pith_largest_apply(struct largest_rule *rule, const uint32_t *keys, uint64_t n, uint8_t *keep);

/* All of it for one array; k = 0 keeps none. */
void pith_largest(const uint32_t *keys, uint64_t n, uint64_t k, uint8_t *keep);

/* The k-th largest of n floats, none NaN, 1 <= k <= n. */
float pith_kth_largest(const float *v, uint64_t n, uint64_t k);

#endif
