/* SPDX-License-Identifier: MIT */
/* shuffle.h - seeded numbers, the same on every machine: splitmix64 (Steele, Lea, Flood, 2014). */
#ifndef SHUFFLE_H
#define SHUFFLE_H

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

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
