/* SPDX-License-Identifier: MIT */
/* pith_adaptive_mix.h - counters and their mixing: the part of pith_adaptive_impl.h that knows
 * nothing of weights. Included by it, behind code_bit and quantizer(). */
#ifndef PITH_ADAPTIVE_MIX_H
#define PITH_ADAPTIVE_MIX_H

#include "pith_adaptive_model.h"

/* ---- probabilities --------------------------------------------------------------------------- */

/* 65536 / (1 + exp(-x / 256)) at x = 128 * (i - 16) Linear between 33 points is within the noise
 * of what is learned. */
static const uint16_t squash_at[33] = {
    22,    36,    60,    98,    162,   267,   439,   720,   1179,  1921,  3108,
    4971,  7812,  11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724, 60565,
    62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514};

/* Logarithm of odds, 8 fraction bits, to a probability in 1/65536. */
static inline uint32_t squash(int32_t x)
{
    x = x > 2047 ? 2047 : x < -2047 ? -2047 : x;
    uint32_t u = (uint32_t)(x + 2048), i = u >> 7, f = u & 127;
    return (squash_at[i] * (128 - f) + squash_at[i + 1] * f) >> 7;
}

#define RATE_START 45u /* of a new counter: it moves by 32 / this to what it sees first */

/* stretch is squash's inverse by table; rate[n] is 1 / (n + 1.4) in 1/2^19. */
static ONCE void build_tables(struct adaptive *a)
{
    uint32_t next = 0;
    for (int32_t x = -2047; x <= 2047; x++)
        for (uint32_t p = squash(x) >> 4; next <= p; next++)
            a->stretch[next] = (int16_t)x;
    for (; next < 4096; next++)
        a->stretch[next] = 2047;
    for (uint32_t n = 0; n < 256; n++)
        a->rate[n] = (uint16_t)(524288 / (32 * n + RATE_START));
}

/* p: in 1/2^20 At least 1000 / 2^20, so that no counter says never. */
static inline uint32_t counter_of(uint32_t p, uint32_t seen)
{
    return (p < 1000 ? 1000 : p) << 12 | seen;
}

static inline int32_t stretch_of(const struct adaptive *a, uint32_t counter)
{
    return a->stretch[counter >> 20];
}

#define LIMIT 210u /* the count stops there: from then on a counter forgets */
#define COUNTER_BITS 22u

/* What becomes of a counter. Quotients are rounded toward zero, so it moves as far up on a 1 as
 * it would move down from the other end on a 0: by unsigned numbers alone, without a branch.
 * Fixed point: 22 bits of probability are enough for rates of 1/211. */
static inline uint32_t learned(const struct adaptive *a, uint32_t counter, uint32_t bit)
{
    uint32_t seen = counter & COUNTER_SEEN, p = counter >> 10, down = bit - 1; /* 0 or all ones */
    uint32_t way = (p ^ ~down) & ((1u << COUNTER_BITS) - 1);
    uint32_t step = (way >> 5) * a->rate[seen] >> 9;
    return (p + ((step ^ down) - down)) << 10 | (seen + (seen < LIMIT));
}

/* What a counter says counts less while it has seen little. What to count it for, in 64ths, by
 * the number of looks. */
#define YOUNG 8u
static const uint8_t young[YOUNG] = {80, 40, 45, 48, 55, 54, 54, 58}; /* 1/64 */
#define MIX_RATE 512

/* So a decision costs 11.4 bits at most, and 0.0005 at least. */
static inline uint32_t bound(uint32_t p)
{
    return p < 24 ? 24 : p > 65536 - 24 ? 65536 - 24 : p;
}

/* One counter alone. Where mixing gains nothing: signs of life, exponents. */
static inline uint32_t code_single(struct adaptive *a, uint32_t *counter, uint32_t bit)
{
    bit = code_bit(a, bound(*counter >> 16), bit);
    *counter = learned(a, *counter, bit);
    return bit;
}

#ifdef __OPTIMIZE_SIZE__
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

/* What a decision taught. Written out for each bit, so that a processor which foresees the bit
 * goes on before it is decoded. Online gradient descent of coding cost (Mahoney 2005, PAQ8):
 * weight += rate * error * input. */
static inline void learn_mixed(const struct adaptive *a, int32_t *weight, const int32_t *input,
                               uint32_t *const *counter, uint32_t n, uint32_t p, uint32_t bit)
{
    int32_t error = ((int32_t)(bit << 16) - (int32_t)p) * MIX_RATE >> 10;
    UNROLLED
    for (uint32_t i = 0; i < n; i++) {
        int32_t w = weight[i] + ((input[i] * error + 0x2000) >> 14);
        weight[i] = w > MIX_LIMIT ? MIX_LIMIT : w < -MIX_LIMIT ? -MIX_LIMIT : w;
        *counter[i] = learned(a, *counter[i], bit);
    }
}

/* counter[n] and a constant, mixed by the weights of a set. The set of weights says what kind of
 * decision it is; each has learned how far its counters can be trusted. */
static inline uint32_t code_mixed(struct adaptive *a, enum adaptive_set set,
                                  uint32_t *const *counter, uint32_t n, uint32_t bit)
{
    int32_t *weight = a->weight[quantizer(a)][set], input[ADAPTIVE_INPUTS] = {0};
    int64_t sum = 0;
    UNROLLED
    for (uint32_t i = 0; i < n; i++) {
        uint32_t seen = *counter[i] & COUNTER_SEEN;
        input[i] = stretch_of(a, *counter[i]);
        if (seen < YOUNG)
            input[i] = input[i] * young[seen] / 64;
        sum += (int64_t)weight[i] * input[i];
    }
    uint32_t p = bound(squash((int32_t)(sum >> 16)));
    bit = code_bit(a, p, bit);
    if (bit)
        learn_mixed(a, weight, input, counter, n, p, 1);
    else
        learn_mixed(a, weight, input, counter, n, p, 0);
    return bit;
}

#endif
