/* SPDX-License-Identifier: MIT */
/* pith_context_impl.h - the walk through the indices of a tensor (pith_kernel_context.h), included
 * by the encoder and by each decoder. Who includes it has defined 16 lanes of u16,
 *
 *     lanes                                         a type
 *     lanes lanes_load(const uint16_t *p)
 *     void lanes_store(uint16_t *p, lanes x)
 *     lanes lanes_average(lanes a, lanes b)         (a + b + 1) >> 1
 *     lanes lanes_bounds(lanes m, const struct context_alphabet *a, uint32_t range)
 *         ((m * keep >> 16) + least) * range >> 16
 *     lanes lanes_learned(lanes m, lanes above, uint32_t rate)
 *         where above is all ones m + d(65535 - m), elsewhere m - d(m), d(x) = (x * rate + 32768)
 * >> 16
 *
 * and
 *
 *     uint32_t code_symbol(struct context_walk *t, lanes bounds, uint32_t symbol, lanes *above)
 *
 * whose decoder ignores `symbol` and whose encoder returns it; the lanes below it are set in
 * *above. A symbol s has the part bounds[s] .. bounds[s - 1] of the range; bounds[-1] is the range.
 *
 *     uint32_t code_decision(struct context_walk *t, uint32_t bound, uint32_t bit)
 *
 * the same for two symbols: 1 has the part below the bound.
 *
 *     uint32_t code_even(struct context_walk *t, uint32_t bits, uint32_t symbol)
 *
 * one of 2^bits symbols that are equally likely: the part that begins at
 * range * (2^bits - 1 - symbol) >> bits. */
#ifndef PITH_CONTEXT_IMPL_H
#define PITH_CONTEXT_IMPL_H

#include "pith_kernel_context.h"

/* So that a context which adopts what is known of all still learns fast from its own first
 * elements. */
#define CONTEXT_ADOPTED 4u /* looks that a distribution begins with, at most */

/* A logarithm is enough of a magnitude for a context; integers give it the same value
 * everywhere. */
static inline uint32_t context_log2(uint32_t x)
{
    uint32_t k = 31 - (uint32_t)__builtin_clz(x | 1);
    return k << 3 | ((x << 3 >> k) & 7); /* eighths */
}

/* How large the neighbours are against the mean, row and column counting alike: one of `levels`,
 * the mean in their middle, of 2^(2^shift / 24) each. */
static inline uint32_t context_activity(const struct context_coder *c, uint32_t average,
                                        uint32_t column, uint32_t shift, uint32_t levels)
{
    int32_t sum = (int32_t)(context_log2(average) + context_log2(column));
    int32_t level = ((sum * 3 - (int32_t)c->middle) >> shift) + (int32_t)levels / 2;
    return level < 0 ? 0 : level < (int32_t)levels ? (uint32_t)level : levels - 1;
}

/* Moved to v by a rate in 1/65536. */
static inline uint32_t context_moved(uint32_t average, uint32_t v, uint32_t rate)
{
    return (uint32_t)((int32_t)average +
                      (int32_t)((((int64_t)v - (int64_t)average) * (int64_t)rate) >> 16));
}

/* What has seen nothing begins as what is known of all elements. */
static inline void context_adopt(struct context_coder *c, uint32_t d)
{
    if (c->seen[d])
        return;
    lanes_store(c->more[d], lanes_load(c->more[CONTEXT_ALL]));
    uint32_t seen = c->seen[CONTEXT_ALL];
    c->seen[d] = (uint8_t)(seen < CONTEXT_ADOPTED ? seen : CONTEXT_ADOPTED);
}

/* 1 / n at first, then constant: a counter that forgets. */
static inline void context_learn(struct context_coder *c, uint32_t d, lanes more, lanes above)
{
    uint32_t seen = c->seen[d];
    lanes_store(c->more[d], lanes_learned(more, above, c->rate[seen]));
    c->seen[d] = (uint8_t)(seen + (seen < CONTEXT_RATES - 1));
}

/* ---- decisions ------------------------------------------------------------------------------- */

#define DECISION_SEEN 1023u
#define DECISION_ADOPTED 2u
#define DECISION_LEAST 3u /* of 65536: so both have a part of any range */
#define NOT_ZERO (UINT32_C(1) << 31)

/* As context_adopt. */
static inline uint32_t decision_of(const struct context_coder *c, uint32_t counter)
{
    uint32_t seen = c->anywhere & DECISION_SEEN;
    if (counter & DECISION_SEEN)
        return counter;
    return (c->anywhere - seen) | (seen < DECISION_ADOPTED ? seen : DECISION_ADOPTED);
}

static inline uint32_t decision_learned(const struct context_coder *c, uint32_t counter,
                                        uint32_t bit)
{
    uint32_t seen = counter & DECISION_SEEN, p = counter >> 10;
    p = context_moved(p, bit << 22, c->rate[seen]);
    return p << 10 | (seen + (seen < CONTEXT_RATES - 1));
}

/* Which neighbours are not zero: two before, above, above the next one, of the line and of the
 * channel before. */
static inline uint32_t context_around(const struct context_coder *c, const struct context_walk *t)
{
    const uint32_t *column = &c->column[t->col];
    uint32_t r = t->run | column[0] >> 31 << 2;
    if (t->col + 1 < c->cols)
        r |= column[1] >> 31 << 3;
    if (c->place > 1 && t->col >= c->place)
        r |= *(column - c->place) >> 31 << 4;
    if (c->line > 0 && t->col >= c->line)
        r |= *(column - c->line) >> 31 << 5;
    return r;
}

static inline uint32_t context_not_zero(struct context_coder *c, struct context_walk *t,
                                        uint32_t bit)
{
    uint32_t *a = &c->by_density[t->activity], *b = &c->around[context_around(c, t)];
    uint32_t x = decision_of(c, *a), y = decision_of(c, *b);
    uint32_t p = ((x >> 10) + (y >> 10)) >> 7; /* the mean, in 1/65536 */
    p = p < DECISION_LEAST ? DECISION_LEAST : p;
    p = p > 65536 - DECISION_LEAST ? 65536 - DECISION_LEAST : p;
    bit = code_decision(t, p * t->range >> 16, bit);
    *a = decision_learned(c, x, bit);
    *b = decision_learned(c, y, bit);
    c->anywhere = decision_learned(c, c->anywhere, bit);
    return bit;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static inline uint32_t context_class(struct context_coder *c, struct context_walk *t, uint32_t a,
                                     uint32_t symbol)
{
    uint32_t b = CONTEXT_PLACE_FIRST + t->left * CONTEXT_PLACES + t->in_channel % CONTEXT_PLACES;
    lanes above;
    context_adopt(c, a);
    context_adopt(c, b);
    lanes x = lanes_load(c->more[a]), y = lanes_load(c->more[b]);
    lanes bounds = lanes_bounds(lanes_average(x, y), &c->classes, t->range);
    symbol = code_symbol(t, bounds, symbol, &above);
    context_learn(c, a, x, above);
    context_learn(c, b, y, above);
    context_learn(c, CONTEXT_ALL, lanes_load(c->more[CONTEXT_ALL]), above);
    return symbol;
}

/* Which index of a class of 2^bits; rest: for the encoder. Four bits are learned, more are even. */
static inline uint32_t context_rest(struct context_coder *c, struct context_walk *t,
                                    uint32_t symbol, uint32_t rest)
{
    uint32_t bits = c->bits[symbol], low = bits > 4 ? bits - 4 : 0, d = CONTEXT_REST_FIRST + symbol;
    lanes above, more = lanes_load(c->more[d]);
    lanes bounds = lanes_bounds(more, &c->rest[bits - low], t->range);
    uint32_t high = code_symbol(t, bounds, rest >> low, &above);
    context_learn(c, d, more, above);
    return low ? high << low | code_even(t, low, rest & ((1u << low) - 1)) : high;
}

static inline uint32_t context_told(const struct context_coder *c, bool apart, uint32_t average,
                                    uint32_t column)
{
    column &= ~NOT_ZERO;
    return apart ? context_activity(c, average, column, 4, CONTEXT_DENSITIES)
                 : context_activity(c, average, column, 3, CONTEXT_ACTIVITIES);
}

static inline void context_begin_row(const struct context_coder *c, struct context_walk *t,
                                     bool apart)
{
    t->col = t->in_channel = t->left = t->run = 0;
    t->average = c->mean;
    t->activity = context_told(c, apart, t->average, c->column[0]);
}

static inline uint32_t context_average_rate(const struct context_coder *c, uint32_t looks)
{
    return c->average_rate[looks < CONTEXT_AVERAGES ? looks : CONTEXT_AVERAGES - 1];
}

/* The activity of the element to come is what was known before this one: so it need not wait. */
static inline void context_step(const struct context_coder *c, struct context_walk *t, bool apart,
                                uint32_t magnitude, uint32_t left)
{
    uint32_t *column = &c->column[t->col], not_zero = apart && left > 0;
    *column = context_moved(*column & ~NOT_ZERO, magnitude, context_average_rate(c, t->row)) |
              not_zero << 31;
    if (t->col + 1 == c->cols) {
        t->row++;
        context_begin_row(c, t, apart);
        return;
    }
    t->left = left;
    t->run = (t->run << 1 & 2) | not_zero;
    t->in_channel = t->in_channel + 1 == c->place ? 0 : t->in_channel + 1;
    t->activity = context_told(c, apart, t->average, column[1]);
    t->average = context_moved(t->average, magnitude, context_average_rate(c, t->col));
    t->col++;
}

/* One of the levels that symbols tell; activity: 0 .. CONTEXT_ACTIVITIES - 1. symbol, index: for
 * the encoder. */
static inline uint32_t context_index(struct context_coder *c, struct context_walk *t,
                                     uint32_t activity, uint32_t *symbol, uint32_t index)
{
    uint32_t s = context_class(c, t, activity, *symbol), first = c->first[s];
    *symbol = s;
    return c->bits[s] ? first + context_rest(c, t, s, index - first) : first;
}

/* A level; symbol, level: for the encoder. Levels behind `zero` are one index lower. */
static inline uint32_t context_level(struct context_coder *c, struct context_walk *t, bool apart,
                                     uint32_t symbol, uint32_t level)
{
    uint32_t activity = t->activity, index = level;
    if (apart) {
        if (!context_not_zero(c, t, level != c->zero)) {
            context_step(c, t, apart, 0, 0);
            return c->zero;
        }
        activity /= 2;
        index -= level > c->zero;
    }
    index = context_index(c, t, activity, &symbol, index);
    c->bad |= index >= c->n_indices;
    context_step(c, t, apart, c->magnitude[symbol], c->before[symbol]);
    return index + (apart && index >= c->zero);
}

static inline void context_decode_levels(struct context_coder *c, uint8_t *level, size_t n,
                                         bool apart)
{
    struct context_walk t = c->walk;
    for (size_t i = 0; i < n; i++)
        level[i] = (uint8_t)context_level(c, &t, apart, 0, 0);
    c->walk = t;
}

/* What a decoder is: the next n levels. */
static inline void context_decode(struct context_coder *c, uint8_t *level, size_t n)
{
    if (c->apart)
        context_decode_levels(c, level, n, true);
    else
        context_decode_levels(c, level, n, false);
}

#endif
