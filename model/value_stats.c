/* SPDX-License-Identifier: MIT */
/* value_stats.c - exact sums, and what follows from sums.
 *
 * An exact sum is a number in base 2^32 whose digits are wide and signed: 32 bits are added into
 * 64, and carries wait until there could be too many of them. Adding is then associative, which
 * doubles are not, so shards merge in any order to the same bits. 20 digits from 2^-320 on reach to
 * 2^320: the squares of all f32 numbers, 2^40 times. */
#include "pith_value_stats.h"

#include <assert.h>
#include <math.h>

#define LOWEST_BIT (-320)
#define DIGIT_BITS 32
#define DIGIT (INT64_C(1) << DIGIT_BITS)
#define CARRY_AT (INT64_C(1) << 62)

void pith_exact_sum_carry(struct pith_exact_sum *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i + 1 < PITH_SUM_DIGITS; i++) {
        int64_t low = s->digit[i] & (DIGIT - 1);
        s->digit[i + 1] += (s->digit[i] - low) / DIGIT;
        s->digit[i] = low;
    }
}

/* The 53 bits of x, shifted to a digit's edge, touch three digits: the last of 20 for |x| < 2^300.
 * Each grows by less than 2^32, so carries may wait until one passes 2^62. */
void pith_exact_sum_add(struct pith_exact_sum *s, double x)
{
    if (!s)
        return;
    int exponent;
    double mantissa = ldexp(frexp(x, &exponent), 53);
    int shift = exponent - 53 - LOWEST_BIT;
    if (mantissa == 0)
        return;
    if (shift < 0) {
        mantissa = trunc(ldexp(mantissa, shift));
        shift = 0;
    }
    uint32_t at = (uint32_t)shift / DIGIT_BITS, by = (uint32_t)shift % DIGIT_BITS;
    uint64_t magnitude = (uint64_t)fabs(mantissa);
    uint64_t low = (magnitude << by) & (uint64_t)(DIGIT - 1);
    uint64_t rest = magnitude >> (DIGIT_BITS - by);
    int64_t sign = mantissa < 0 ? -1 : 1;
    assert(at + 2 < PITH_SUM_DIGITS);
    s->digit[at] += sign * (int64_t)low;
    s->digit[at + 1] += sign * (int64_t)(rest & (uint64_t)(DIGIT - 1));
    s->digit[at + 2] += sign * (int64_t)(rest >> DIGIT_BITS);
    for (uint32_t i = at; i < at + 3; i++)
        if (s->digit[i] > CARRY_AT || s->digit[i] < -CARRY_AT)
            pith_exact_sum_carry(s);
}

void pith_exact_sum_merge(struct pith_exact_sum *s, const struct pith_exact_sum *other)
{
    if (!s || !other)
        return;
    for (uint32_t i = 0; i < PITH_SUM_DIGITS; i++)
        s->digit[i] += other->digit[i];
    pith_exact_sum_carry(s);
}

/* From the highest digit down: what is below the 53 bits of the sum so far no longer moves it by
 * more than its last bit. */
double pith_exact_sum_value(const struct pith_exact_sum *s)
{
    if (!s)
        return 0;
    struct pith_exact_sum t = *s;
    pith_exact_sum_carry(&t);
    double x = 0;
    for (uint32_t i = PITH_SUM_DIGITS; i-- > 0;)
        x += ldexp((double)t.digit[i], (int)(DIGIT_BITS * i) + LOWEST_BIT);
    return x;
}

double pith_stats_mean(const struct pith_value_stats *s)
{
    if (!s)
        return 0;
    return s->n ? pith_exact_sum_value(&s->sum) / (double)s->n : 0;
}

double pith_stats_variance(const struct pith_value_stats *s)
{
    if (!s)
        return 0;
    double mean = pith_stats_mean(s);
    double v = s->n ? pith_exact_sum_value(&s->sum_squares) / (double)s->n - mean * mean : 0;
    return v > 0 ? v : 0;
}

double pith_stats_channel_mean(const struct pith_value_stats *s, uint32_t c)
{
    if (!s)
        return 0;
    uint64_t each = s->n / s->n_channels;
    return each ? pith_exact_sum_value(&s->channel[c].sum) / (double)each : 0;
}
