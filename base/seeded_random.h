/* SPDX-License-Identifier: MIT */
/* seeded_random.h - seeded numbers, the same on every machine: splitmix64 (Steele, Lea, Flood,
 * 2014). */
#ifndef PITH_SEEDED_RANDOM_H
#define PITH_SEEDED_RANDOM_H

#include <stdint.h>

/* 2^64 over the golden ratio: multiples of it are far apart, for states of numbered streams. */
#define RANDOM_STRIDE UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += RANDOM_STRIDE;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* [0, 1), uniform: the 53 bits of a double, the 24 bits of a float. */
static inline double random_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static inline float random_unit_f32(uint64_t *state)
{
    return (float)(next_random(state) >> 40) * 0x1p-24f;
}

#endif
