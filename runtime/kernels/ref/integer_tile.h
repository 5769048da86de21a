/* SPDX-License-Identifier: MIT */
/* integer_tile.h - sums of products of bytes for machines without vectors: loops of
 * integer_direct.c. Armv7E-M and its successors split words into pairs of 16 bits, of which SMLAD
 * multiplies and adds two at a time; others take byte by byte. Sums are modulo 2^32.
 *
 * x is u8. What is multiplied is x - zero, 9 bits, so that a window may leave out what lies outside
 * of x. An i8 x is the u8 of a zero point 128 higher with its highest bit turned. */
#ifndef INTEGER_TILE_H
#define INTEGER_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include "core/bytes.h"
#include "kernels/ref/integer_range.h"

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN)

static inline uint32_t tile_load(const void *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, sizeof v); /* a call of memcpy without a libc */
    return v;
}

/* Bytes 0 and 2 (even) or 1 and 3 as 16 bits, less the zero point or with their sign. */
struct tile_pairs {
    uint32_t even, odd;
};

/* -zero, as tile_x takes it. */
typedef uint32_t tile_zero;

static inline tile_zero tile_zero_of(int32_t zero)
{
    return ((uint32_t)-zero & 0xffff) * 0x10001u;
}

static inline struct tile_pairs tile_x(uint32_t x, tile_zero less)
{
    struct tile_pairs p;
    __asm__("uxtab16 %0, %1, %2" : "=r"(p.even) : "r"(less), "r"(x));
    __asm__("uxtab16 %0, %1, %2, ror #8" : "=r"(p.odd) : "r"(less), "r"(x));
    return p;
}

static inline struct tile_pairs tile_w(uint32_t w)
{
    struct tile_pairs p;
    __asm__("sxtb16 %0, %1" : "=r"(p.even) : "r"(w));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(p.odd) : "r"(w));
    return p;
}

static inline void tile_dot(uint32_t *sum, struct tile_pairs x, struct tile_pairs w)
{
    __asm__("smlad %0, %1, %2, %0" : "+r"(*sum) : "r"(x.even), "r"(w.even));
    __asm__("smlad %0, %1, %2, %0" : "+r"(*sum) : "r"(x.odd), "r"(w.odd));
}

/* sum += x * w of halves, b: bottom, t: top. */
#define TILE_MUL(HALVES, sum, x, w)                                                                \
    __asm__("smla" HALVES " %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w))

/* Row k of four outputs: HALF of x times each weight. */
#define TILE_ROW(HALF, x)                                                                          \
    {                                                                                              \
        const struct tile_pairs v = tile_w(tile_load(w));                                          \
        TILE_MUL(HALF "b", a, x, v.even);                                                          \
        TILE_MUL(HALF "b", b, x, v.odd);                                                           \
        TILE_MUL(HALF "t", c, x, v.even);                                                          \
        TILE_MUL(HALF "t", d, x, v.odd);                                                           \
        w += step;                                                                                 \
    }

/* Four at a time of k rows; returns how many there were. */
static inline uint32_t tile_rows(const uint8_t *x, const int8_t *w, size_t step, uint32_t k,
                                 uint32_t flip, int32_t zero, uint32_t *sum)
{
    const tile_zero less = tile_zero_of(zero);
    uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3], i = 0;
    for (; k - i >= 4; i += 4) {
        const struct tile_pairs u = tile_x(tile_load(x + i) ^ flip, less);
        TILE_ROW("b", u.even)
        TILE_ROW("b", u.odd)
        TILE_ROW("t", u.even)
        TILE_ROW("t", u.odd)
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
    return i;
}

/* The same of four rows, for n outputs at a time of four. x: four, flipped. */
static inline void tile_four_rows(uint32_t x, const int8_t *w, size_t step, uint32_t n,
                                  tile_zero less, uint32_t *sum)
{
    const struct tile_pairs u = tile_x(x, less);
    for (const uint32_t *end = sum + n; sum != end; sum += 4, w += 4 - 4 * step) {
        uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
        TILE_ROW("b", u.even)
        TILE_ROW("b", u.odd)
        TILE_ROW("t", u.even)
        TILE_ROW("t", u.odd)
        sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
    }
}

/* sum[j] += (x[t * step + j] - zero) * byte j of w[t], of four channels, t < taps. */
static inline void tile_channels(const uint8_t *x, size_t step, const uint32_t *w, uint32_t taps,
                                 tile_zero less, uint32_t *sum)
{
    uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (const uint32_t *end = w + taps; w != end; x += step) {
        const struct tile_pairs u = tile_x(tile_load(x), less), v = tile_w(*w++);
        TILE_MUL("bb", a, u.even, v.even);
        TILE_MUL("bb", b, u.odd, v.odd);
        TILE_MUL("tt", c, u.even, v.even);
        TILE_MUL("tt", d, u.odd, v.odd);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}

static inline void tile_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    for (; n >= 4; n -= 4, to += 4, from += 4) {
        const uint32_t v = tile_load(from);
        __builtin_memcpy(to, &v, 4);
    }
    for (; n > 0; n--)
        *to++ = *from++;
}

#else

static inline uint32_t tile_load(const void *p)
{
    return load_le32(p);
}

struct tile_pairs {
    int32_t v[4];
};

typedef int32_t tile_zero;

static inline tile_zero tile_zero_of(int32_t zero)
{
    return -zero;
}

static inline struct tile_pairs tile_x(uint32_t x, tile_zero less)
{
    struct tile_pairs p;
    for (uint32_t i = 0; i < 4; i++)
        p.v[i] = (int32_t)(x >> 8 * i & 0xff) + less;
    return p;
}

static inline struct tile_pairs tile_w(uint32_t w)
{
    struct tile_pairs p;
    for (uint32_t i = 0; i < 4; i++)
        p.v[i] = (int8_t)(w >> 8 * i);
    return p;
}

static inline void tile_dot(uint32_t *sum, struct tile_pairs x, struct tile_pairs w)
{
    for (uint32_t i = 0; i < 4; i++)
        *sum += (uint32_t)(x.v[i] * w.v[i]);
}

static inline uint32_t tile_rows(const uint8_t *x, const int8_t *w, size_t step, uint32_t k,
                                 uint32_t flip, int32_t zero, uint32_t *sum)
{
    uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (uint32_t i = 0; i < k; i++, w += step) {
        const int32_t v = (x[i] ^ (uint8_t)flip) - zero;
        a += (uint32_t)(v * w[0]);
        b += (uint32_t)(v * w[1]);
        c += (uint32_t)(v * w[2]);
        d += (uint32_t)(v * w[3]);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
    return k;
}

static inline void tile_four_rows(uint32_t x, const int8_t *w, size_t step, uint32_t n,
                                  tile_zero less, uint32_t *sum)
{
    const struct tile_pairs u = tile_x(x, less);
    for (uint32_t i = 0; i < 4; i++, w += step)
        for (uint32_t j = 0; j < n; j++)
            sum[j] += (uint32_t)(u.v[i] * w[j]);
}

static inline void tile_channels(const uint8_t *x, size_t step, const uint32_t *w, uint32_t taps,
                                 tile_zero less, uint32_t *sum)
{
    for (; taps > 0; taps--, w++, x += step)
        for (uint32_t j = 0; j < 4; j++)
            sum[j] += (uint32_t)((x[j] + less) * ((const int8_t *)w)[j]);
}

static inline void tile_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    memcpy(to, from, n);
}

#endif

/* sum[j] += (x[i] - zero) w[i * step + j], i < k, of n <= 4 outputs side by side. flip: of four x,
 * where they are i8. */
static inline void tile_matrix(const uint8_t *x, const int8_t *w, size_t step, uint32_t k,
                               uint32_t n, uint32_t flip, int32_t zero, uint32_t *sum)
{
    for (uint32_t i = n == 4 ? tile_rows(x, w, step, k, flip, zero, sum) : 0; i < k; i++)
        for (uint32_t j = 0; j < n; j++)
            sum[j] += (uint32_t)(((x[i] ^ (uint8_t)flip) - zero) * w[i * step + j]);
}

/* ---- windows -------------------------------------------------------------------------------- */

/* A window is `segments` runs of n neighbours, segment[s] bytes from its beginning. Weights of two
 * filters lie in words of four, one filter's beside the other's:
 *
 *     segment 0: | a0 a1 a2 a3 | b0 b1 b2 b3 | a4 ... | segment 1: ...
 *
 * What is left of a segment of more than four is the end of a word that is multiplied with the last
 * four x; its beginning is 0. So nothing is read beyond a segment. */
struct tile_window {
    uint32_t segments, n;
};

static inline uint32_t tile_window_bytes(const struct tile_window *t)
{
    return t->segments * ((t->n + 3) & ~3u) * 2;
}

/* Where weight e of a segment stands in it. */
static inline uint32_t tile_place(const struct tile_window *t, uint32_t e)
{
    const uint32_t left = t->n % 4;
    if (e >= t->n - left && t->n > 4)
        e += 4 - left;
    return e / 4 * 8 + e % 4;
}

static __attribute__((noinline)) uint32_t tile_last(const uint8_t *x, uint32_t n, uint32_t left)
{
    uint32_t v = 0;
    if (n > 4)
        return tile_load(x + left - 4);
    for (uint32_t i = 0; i < left; i++)
        v |= (uint32_t)x[i] << 8 * i;
    return v;
}

#define TILE_STEP(LOAD)                                                                            \
    {                                                                                              \
        const struct tile_pairs a = tile_w(tile_load(w)), b = tile_w(tile_load(w + 1)),            \
                                u = tile_x(LOAD(q), less);                                         \
        tile_dot(&s0, u, a);                                                                       \
        tile_dot(&s1, u, b);                                                                       \
        if (two) {                                                                                 \
            const struct tile_pairs v = tile_x(LOAD(q + step), less);                              \
            tile_dot(&s2, v, a);                                                                   \
            tile_dot(&s3, v, b);                                                                   \
        }                                                                                          \
        w += 2;                                                                                    \
    }
#define TILE_LAST(p) tile_last(p, t->n, left)

/* Two filters' sums of the window at x, and (two) of the one `step` bytes behind. */
static inline __attribute__((always_inline)) void
tile_sums(const struct tile_window *t, const uint32_t *segment, const uint8_t *x, size_t step,
          const uint32_t *w, const tile_zero less, const bool two, uint32_t *sum)
{
    const uint32_t left = t->n % 4, whole = t->n - left;
    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t s = 0; s < t->segments; s++) {
        const uint8_t *q = x + segment[s];
        for (const uint8_t *end = q + whole; q != end; q += 4)
            TILE_STEP(tile_load)
        if (left)
            TILE_STEP(TILE_LAST)
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* ---- values --------------------------------------------------------------------------------- */

/* saturate(round to even(v) + zero) of a u8; NaN gives 0. As `quantized` (integer_range.h). */
static inline uint8_t tile_value(float v, int32_t zero)
{
#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__ARM_FEATURE_QBIT) && defined(__arm__)
    int32_t q;
    if (!(v >= -512.0f)) /* NaN, too */
        return 0;
    __asm__("vcvtr.s32.f32 %0, %0" : "+t"(v));
    __builtin_memcpy(&q, &v, sizeof q);
    __asm__("qadd %0, %1, %2\n\tusat %0, #8, %0" : "=r"(q) : "r"(q), "r"(zero));
    return (uint8_t)q;
#else
    const struct integer_range range = {PITH_U8, zero, (float)-zero, (float)(255 - zero)};
    return (uint8_t)quantized(&range, v);
#endif
}

#endif
