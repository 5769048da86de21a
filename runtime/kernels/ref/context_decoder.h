/* SPDX-License-Identifier: MIT */
/* context_decoder.h - what decoders of pith_kernel_context.h share beside the walk: the window. */
#ifndef CONTEXT_DECODER_H
#define CONTEXT_DECODER_H

#include "pith_bytes.h"
#include "pith_kernel_context.h"

/* The window's top 16 bits are what is compared with bounds. */
#define WINDOW_TOP 48u /* bits below the 16 that are compared */

/* Bytes at the end of the stream, zeros behind them. Zeros stand for bytes that the writer left
 * out. */
static inline void fill_last(struct context_walk *t)
{
    for (; t->have <= 56; t->have += 8)
        if (t->at < t->end)
            t->window |= (uint64_t)*t->at++ << (56 - t->have);
}

/* At least 16 bits. A look of eight bytes may bring some bits of the next one, too: the same
 * bits come again with it. An unaligned load of eight bytes; bits beyond the whole bytes taken
 * are or-ed in again later, which changes nothing. */
static inline void fill_window(struct context_walk *t)
{
    if (t->have >= 16)
        return;
    if (t->end - t->at < 8) {
        fill_last(t);
        return;
    }
    uint32_t bytes = (63 - t->have) >> 3;
    t->window |= __builtin_bswap64(load_le64(t->at)) >> t->have;
    t->at += bytes;
    t->have += 8 * bytes;
}

/* The part low .. high of the range, high > low, was the one. The range is brought back above
 * 2^15, by as many bits as it lost. */
static inline void narrow(struct context_walk *t, uint32_t low, uint32_t high)
{
    uint32_t range = high - low, shift = (uint32_t)__builtin_clz(range) - 16;
    t->window = (t->window - ((uint64_t)low << WINDOW_TOP)) << shift;
    t->range = range << shift;
    t->have -= shift;
}

static inline uint32_t code_decision(struct context_walk *t, uint32_t bound, uint32_t bit)
{
    fill_window(t);
    bit = (uint32_t)(t->window >> WINDOW_TOP) < bound;
    uint32_t one = 0 - bit; /* whether is hard to foresee: no branch */
    narrow(t, bound & ~one, (bound & one) | (t->range & ~one));
    return bit;
}

/* A quotient in the place of a search: the part above v, counted from the range's lower end; at
 * most all, where v is above the range, as in no right stream. */
static inline uint32_t code_even(struct context_walk *t, uint32_t bits, uint32_t symbol)
{
    fill_window(t);
    const uint32_t n = 1u << bits, v = (uint32_t)(t->window >> WINDOW_TOP);
    uint32_t above = (((v + 1) << bits) + t->range - 1) / t->range;
    above = above < n ? above : n;
    symbol = n - above;
    narrow(t, (above - 1) * t->range >> bits, above * t->range >> bits);
    return symbol;
}

#endif
