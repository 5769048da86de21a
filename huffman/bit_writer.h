/* SPDX-License-Identifier: MIT */
/* bit_writer.h - bit strings, LSB first (docs/format-streams.md section 1). Never writes past its
 * end: what does not fit sets `full`, tested once when the string is closed. */
#ifndef BIT_WRITER_H
#define BIT_WRITER_H

#include "core/bytes.h"

struct bit_writer {
    uint8_t *at, *end;
    uint64_t acc; /* bits not yet in memory, n of them */
    uint32_t n;
    bool full;
};

static inline struct bit_writer bit_writer_to(uint8_t *dst, size_t cap)
{
    return (struct bit_writer){dst, dst + cap, 0, 0, false};
}

/* Moves whole bytes of acc to memory; n < 8 afterwards. */
static inline void bw_flush(struct bit_writer *w)
{
    uint32_t bytes = w->n >> 3;
    if ((size_t)(w->end - w->at) >= 8) {
        store_le64(w->at, w->acc);
        w->at += bytes;
        w->acc = bytes < 8 ? w->acc >> (8 * bytes) : 0;
        w->n &= 7;
        return;
    }
    for (; w->n >= 8; w->n -= 8, w->acc >>= 8) {
        if (w->at == w->end)
            w->full = true;
        else
            *w->at++ = (uint8_t)w->acc;
    }
}

/* u(n), n <= 32, v < 2^n */
static inline void bw_bits(struct bit_writer *w, uint32_t v, uint32_t n)
{
    w->acc |= (uint64_t)v << w->n;
    w->n += n;
    bw_flush(w);
}

/* q ones and a zero */
static inline void bw_unary(struct bit_writer *w, uint32_t q)
{
    for (; q >= 31; q -= 31)
        bw_bits(w, 0x7fffffffu, 31);
    bw_bits(w, (1u << q) - 1, q + 1);
}

/* v >= 1 */
static inline void bw_gamma(struct bit_writer *w, uint32_t v)
{
    uint32_t nb = 31 - (uint32_t)__builtin_clz(v);
    bw_unary(w, nb);
    bw_bits(w, v - (1u << nb), nb);
}

/* Pads to a byte; returns where the next byte goes. */
static inline uint8_t *bw_close(struct bit_writer *w)
{
    w->n = (w->n + 7) & ~7u;
    bw_flush(w);
    return w->at;
}

#endif
