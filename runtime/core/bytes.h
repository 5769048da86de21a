/* SPDX-License-Identifier: MIT */
/* bytes.h - how bytes of unknown origin are read: little-endian assembly, one bounded reader,
 * checked arithmetic. No other file of the runtime casts a pointer onto file bytes, and no other
 * multiplies or adds numbers that came from a file. */
#ifndef PITH_BYTES_H
#define PITH_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "core/f32_bits.h"

/* Byte by byte: compilers make one load of it where the machine is little-endian and may read
 * unaligned, and the right bytes elsewhere. */
static inline uint16_t load_le16(const void *p)
{
    const uint8_t *b = p;
    return (uint16_t)(b[0] | (uint32_t)b[1] << 8);
}

static inline uint32_t load_le32(const void *p)
{
    const uint8_t *b = p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t load_le64(const void *p)
{
    return load_le32(p) | (uint64_t)load_le32((const uint8_t *)p + 4) << 32;
}

static inline void store_le16(void *p, uint16_t v)
{
    uint8_t *b = p;
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(void *p, uint32_t v)
{
    store_le16(p, (uint16_t)v);
    store_le16((uint8_t *)p + 2, (uint16_t)(v >> 16));
}

static inline void store_le64(void *p, uint64_t v)
{
    store_le32(p, (uint32_t)v);
    store_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

/* Whether numbers lie in memory as they do in a file. */
#define LITTLE_ENDIAN_HERE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* A number of `each` bytes as it lies in a file, to memory. */
static inline void copy_le(void *to, const void *from, size_t each)
{
    if (LITTLE_ENDIAN_HERE)
        memcpy(to, from, each);
    else
        for (size_t k = 0; k < each; k++)
            ((uint8_t *)to)[k] = ((const uint8_t *)from)[each - 1 - k];
}

/* false on overflow; *out is then unspecified. */
static inline bool mul_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool add_ok(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* a rounded up to a multiple of align (a power of two); false on overflow. */
static inline bool align_ok(uint64_t a, uint64_t align, uint64_t *out)
{
    if (!add_ok(a, align - 1, out))
        return false;
    *out &= ~(align - 1);
    return true;
}

/* Number of set bits; plain arithmetic, since without hardware support the compiler's builtin is a
 * call into its support library. */
static inline uint32_t count_ones64(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* A bounded reader. Reading past the end sets `bad` and yields zeros, so a parser may read a whole
 * record and test once - before it uses any of it as a size, a count or an index. */
struct reader {
    const uint8_t *p;
    size_t left;
    bool bad;
};

static inline struct reader reader_of(const void *p, size_t bytes)
{
    return (struct reader){p, bytes, false};
}

/* n is compared with what is left, never added to the place: no wrap. */
static inline const uint8_t *rd_bytes(struct reader *r, size_t n)
{
    if (r->bad || n > r->left) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    r->left -= n;
    return p;
}

static inline uint8_t rd_u8(struct reader *r)
{
    const uint8_t *p = rd_bytes(r, 1);
    return p ? *p : 0;
}

static inline uint32_t rd_le32(struct reader *r)
{
    const uint8_t *p = rd_bytes(r, 4);
    return p ? load_le32(p) : 0;
}

/* LEB128 varint, at most 10 bytes, shortest form only (canonical files), value <= max; 0 where
 * `bad`. Not inline: every file of the reader calls it, and a copy in each would be 100 bytes on an
 * MCU. */
uint64_t pith_rd_varint(struct reader *r, uint64_t max);

static inline uint64_t rd_varint(struct reader *r, uint64_t max)
{
    return pith_rd_varint(r, max);
}

/* Signed varint: zigzag of the above. */
int64_t pith_rd_svarint(struct reader *r, int64_t min, int64_t max);

static inline int64_t rd_svarint(struct reader *r, int64_t min, int64_t max)
{
    return pith_rd_svarint(r, min, max);
}

#endif
