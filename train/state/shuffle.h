/* SPDX-License-Identifier: MIT */
/* shuffle.h - seeded numbers below a bound, and orders. */
#ifndef SHUFFLE_H
#define SHUFFLE_H

#include "base/seeded_random.h"

/* 0 .. n-1; n < 2^32. The bias is below 2^-32. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return ((next_random(state) >> 32) * n) >> 32;
}

/* Fisher-Yates. */
static inline void shuffle(uint32_t *a, uint32_t n, uint64_t *state)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)random_below(state, i), t = a[i - 1];
        a[i - 1] = a[k];
        a[k] = t;
    }
}

#endif
