/* SPDX-License-Identifier: MIT */
/* adaptive_mix.h - counters and their mixing: the part of adaptive_impl.h that does not
 * depend on weights. Included by it, behind code_bit and quantizer(). */
#ifndef PITH_ADAPTIVE_MIX_H
#define PITH_ADAPTIVE_MIX_H

#include "decode/adaptive_model.h"

/* Runs once a tensor: small code rather than fast. */
#define ONCE __attribute__((cold))
/* What is called from several places is there once: inlined, it would be some 9 KB more. */
#define NOT_INLINE __attribute__((noinline))

/* ---- probabilities --------------------------------------------------------------------------- */

/* 65536 / (1 + exp(-x / 256)) at x = 128 * (i - 16). Linear between 33 points is within the noise
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

#define RATE_START 45u /* of a new counter: its first decision moves it by 32 / this */

/* stretch is the inverse of squash by table; rate[n] is 1 / (n + 1.4) in 1/2^19. */
static ONCE void build_tables(struct adaptive *a)
{
    uint32_t next = 0;
    for (int32_t x = -2047; x <= 2047; x++)
        for (uint32_t p = squash(x) >> 4; next <= p; next++)
            a->mix.stretch[next] = (int16_t)x;
    for (; next < 4096; next++)
        a->mix.stretch[next] = 2047;
    for (uint32_t n = 0; n < 256; n++)
        a->mix.rate[n] = (uint16_t)(524288 / (32 * n + RATE_START));
}

/* p: in 1/2^20. At least 1000 / 2^20, so that no counter is certain. */
static inline uint32_t counter_of(uint32_t p, uint32_t count)
{
    return (p < 1000 ? 1000 : p) << 12 | count;
}

static inline int32_t stretch_of(const struct adaptive *a, uint32_t counter)
{
    return a->mix.stretch[counter >> 20];
}

/* All counters of an array alike. */
static void fill(uint32_t *counter, size_t bytes, uint32_t value)
{
    for (size_t i = 0; i < bytes / sizeof *counter; i++)
        counter[i] = value;
}

#define FILL(array, value) fill((uint32_t *)(array), sizeof(array), value)
#define START(sixty_fourths, count) ((uint32_t)(sixty_fourths) << 26 | (count))

#define LIMIT 210u /* the count stops there: from then on a counter forgets */
#define COUNTER_BITS 22u

/* A counter behind a decision. Quotients are rounded toward zero, so it moves as far up on a 1 as
 * it would move down from the other end on a 0: by unsigned numbers alone, without a branch.
 * Fixed point: 22 bits of probability are enough for rates of 1/211. */
static inline uint32_t learned(const struct adaptive *a, uint32_t counter, uint32_t bit)
{
    uint32_t count = counter & COUNTER_COUNT, p = counter >> 10, down = bit - 1; /* 0 or all ones */
    uint32_t way = (p ^ ~down) & ((1u << COUNTER_BITS) - 1);
    uint32_t step = (way >> 5) * a->mix.rate[count] >> 9;
    return (p + ((step ^ down) - down)) << 10 | (count + (count < LIMIT));
}

/* So a decision costs 11.4 bits at most, and 0.0005 at least. */
static inline uint32_t bound(uint32_t p)
{
    return p < 24 ? 24 : p > 65536 - 24 ? 65536 - 24 : p;
}

/* One counter alone. Where mixing gains nothing: flags of rows, exponents. */
static inline uint32_t code_single(struct adaptive *a, uint32_t *counter, uint32_t bit)
{
    bit = code_bit(a, bound(*counter >> 16), bit);
    *counter = learned(a, *counter, bit);
    return bit;
}

/* At even odds: noise. */
static uint32_t code_raw(struct adaptive *a, uint32_t v, uint32_t n_bits)
{
    uint32_t r = 0;
    while (n_bits-- > 0)
        r = r * 2 + code_bit(a, 32768, v >> n_bits & 1);
    return r;
}

/* ---- mixing ---------------------------------------------------------------------------------- */

struct decision {
    uint32_t *counter[ADAPTIVE_INPUTS];
    uint32_t n;
};

static inline void add_counter(struct decision *d, uint32_t *counter)
{
    d->counter[d->n++] = counter;
}

/* A counter counts less while it is young: in 64ths, by the number of its decisions. */
#define YOUNG 8u
static const uint8_t young[YOUNG] = {80, 40, 45, 48, 55, 54, 54, 58}; /* 1/64 */
#define MIX_RATE 512
#define BIAS 256 /* the last input, which is no counter */

static inline void find_inputs(const struct adaptive *a, const struct decision *d,
                               int32_t input[ADAPTIVE_INPUTS])
{
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t count = *d->counter[i] & COUNTER_COUNT;
        input[i] = stretch_of(a, *d->counter[i]);
        if (count < YOUNG)
            input[i] = input[i] * young[count] / 64;
    }
    input[d->n] = BIAS;
}

static inline int32_t weighted_sum(const int32_t *weight, const int32_t *input, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (int64_t)weight[i] * input[i];
    sum >>= 16;
    return sum > 2047 ? 2047 : sum < -2047 ? -2047 : (int32_t)sum;
}

/* Online gradient descent of coding cost (Mahoney 2005, PAQ8): weight += rate * error * input.
 * x: the sum by these weights. */
static inline void learn_weights(int32_t *weight, const int32_t *input, uint32_t n, int32_t x,
                                 uint32_t bit)
{
    int32_t error =
        ((int32_t)(bit << 16) - (int32_t)bound(squash(x))) * MIX_RATE >> 10; /* < 2^26 */
    for (uint32_t i = 0; i < n; i++) {
        int32_t w = weight[i] + ((input[i] * error + 0x2000) >> 14);
        weight[i] = w > MIX_LIMIT ? MIX_LIMIT : w < -MIX_LIMIT ? -MIX_LIMIT : w;
    }
}

/* map: probabilities of 26 bits, of which the one closer to x learns. Coded is the mean of what x
 * predicts and what it was worth so far. */
static inline uint32_t code_refined(struct adaptive *a, uint32_t map[REFINED], int32_t x,
                                    uint32_t bit)
{
    uint32_t u = (uint32_t)(x + 2048), i = u >> 7, f = u & 127;
    uint64_t mapped = ((uint64_t)map[i] * (128 - f) + (uint64_t)map[i + 1] * f) >> 17;
    bit = code_bit(a, bound((bound(squash(x)) + (uint32_t)mapped) / 2), bit);
    uint32_t *p = &map[i + (f >= 64)];
    *p = bit ? *p + (((1u << 26) - *p) >> 6) : *p - (*p >> 6);
    return bit;
}

/* Where the sets of weights of a kind begin. */
static inline uint32_t first_choice(enum decision_kind kind)
{
    return kind <= KIND_SIGN ? kind * SIZE_CHOICES : 3 * SIZE_CHOICES + SIGN_CHOICES;
}

static NOT_INLINE uint32_t code_decision(struct adaptive *a, enum decision_kind kind,
                                         uint32_t choice, const struct decision *d, uint32_t bit)
{
    int32_t *all = a->mix.weight[quantizer(a)][kind],
            *one = a->mix.chosen[quantizer(a)][first_choice(kind) + choice];
    int32_t input[ADAPTIVE_INPUTS];
    uint32_t n = d->n + 1;
    find_inputs(a, d, input);
    int32_t x = weighted_sum(all, input, n), y = weighted_sum(one, input, n);
    bit = code_refined(a, a->mix.refined[kind], (x + y) >> 1, bit);
    learn_weights(all, input, n, x, bit);
    learn_weights(one, input, n, y, bit);
    for (uint32_t i = 0; i < d->n; i++)
        *d->counter[i] = learned(a, *d->counter[i], bit);
    return bit;
}

static const int32_t first_weight[DECISION_KINDS][ADAPTIVE_INPUTS] = {
    [KIND_STORED] = {27, 27, 33, 61, 35, 18, 13, 30, 15, 15, 15},
    [KIND_RANK] = {85, -1, -15, 76, 79, 15, 15, 15},
    [KIND_RANK_MORE] = {113, 64, 62, 34, -4, 15, 15, 15},
    [KIND_SIGN] = {-54, 155, 50, 33, 25, 25, 25, 25},
    [KIND_FLAG] = {79, 65, 73, 78},
}; /* 1/256 */

static uint32_t choices(enum decision_kind kind)
{
    return kind < KIND_SIGN ? SIZE_CHOICES : kind == KIND_SIGN ? SIGN_CHOICES : FLAG_CHOICES;
}

static ONCE void start_mixing(struct adaptive *a, uint32_t quantizers)
{
    for (uint32_t z = 0; z < quantizers; z++)
        for (uint32_t k = 0; k < DECISION_KINDS; k++)
            for (uint32_t i = 0; i < ADAPTIVE_INPUTS; i++) {
                int32_t w = first_weight[k][i] * 256;
                a->mix.weight[z][k][i] = w;
                for (uint32_t c = 0; c < choices((enum decision_kind)k); c++)
                    a->mix.chosen[z][first_choice((enum decision_kind)k) + c][i] = w;
            }
    for (uint32_t k = 0; k < DECISION_KINDS; k++)
        for (int32_t i = 0; i < (int32_t)REFINED; i++)
            a->mix.refined[k][i] = squash((i - 16) * 128) << 10;
}

#endif
