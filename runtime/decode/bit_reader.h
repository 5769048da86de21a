/* SPDX-License-Identifier: MIT */
/* bit_reader.h - the careful way to read a bit string, LSB first (docs/format-streams.md
 * section 1): headers, tables, codebooks, extra bits and the tails of coded streams. It never
 * touches a byte outside the string; reading past the end sets `bad` and yields zeros, so a parser
 * may read a whole record and test once, before it uses any of it as a size or an index.
 *
 * Positions are bits in 64-bit counters: a string of up to 2^60 bytes cannot overflow them. */
#ifndef PITH_BIT_READER_H
#define PITH_BIT_READER_H

#include "core/bytes.h"

struct bit_reader {
    const uint8_t *bytes;
    uint64_t end; /* bits in the string */
    uint64_t pos; /* bits read, <= end */
    bool bad;
};

static inline struct bit_reader bit_reader_of(const uint8_t *bytes, size_t n_bytes)
{
    return (struct bit_reader){bytes, (uint64_t)n_bytes * 8, 0, false};
}

/* The next bits, at least 25 of them counted, without consuming; bits past the end are 0. */
static inline uint32_t br_peek(const struct bit_reader *r)
{
    size_t at = (size_t)(r->pos >> 3), n = (size_t)(r->end >> 3);
    uint32_t shift = (uint32_t)r->pos & 7, v = 0;
    if (n - at >= 4)
        return load_le32(r->bytes + at) >> shift;
    for (size_t i = 0; i < n - at; i++)
        v |= (uint32_t)r->bytes[at + i] << (8 * i);
    return v >> shift;
}

static inline void br_skip(struct bit_reader *r, uint32_t n)
{
    if (n > r->end - r->pos) {
        r->bad = true;
        r->pos = r->end;
    } else {
        r->pos += n;
    }
}

/* u(n), n <= 32 */
static inline uint32_t br_bits(struct bit_reader *r, uint32_t n)
{
    uint32_t low = n > 16 ? 16 : n, v, high;
    v = br_peek(r) & ((1u << low) - 1);
    br_skip(r, low);
    if (n == low)
        return r->bad ? 0 : v;
    n -= low;
    high = br_peek(r) & ((1u << n) - 1);
    br_skip(r, n);
    return r->bad ? 0 : v | high << low;
}

/* One-bits before the next zero-bit; more than max is bad. A look counts up to 16 of them. */
static inline uint32_t br_unary(struct bit_reader *r, uint32_t max)
{
    uint32_t q = 0, ones;
    do {
        ones = (uint32_t)__builtin_ctz(~br_peek(r) | 1u << 16);
        br_skip(r, ones < 16 ? ones + 1 : 16);
        q += ones;
        if (q > max)
            r->bad = true;
    } while (ones == 16 && !r->bad);
    return r->bad ? 0 : q;
}

static inline uint32_t br_gamma(struct bit_reader *r)
{
    uint32_t nb = br_unary(r, 31);
    uint32_t low = br_bits(r, nb);
    return r->bad ? 0 : (1u << nb) | low;
}

/* True when nothing but proper padding is left: fewer than 8 bits, all zero. */
static inline bool br_at_end(const struct bit_reader *r)
{
    return !r->bad && r->end - r->pos < 8 && br_peek(r) == 0;
}

#endif
