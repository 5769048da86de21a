/* SPDX-License-Identifier: MIT */
/* depthwise_i8_bytes.h - depthwise_i8_impl.h of four taps, whose bytes are multiplied as they
 * are. Parameter: ISA(name).
 *
 * vpdpbusd multiplies u8 by i8 and adds four products without saturation. Interleaving twice, by
 * bytes and then by words, brings the four taps of a channel side by side. */
#define GROUP 4u
#include "kernels/x86/integer/depthwise_i8_impl.h"

static inline __m256i dot(__m256i acc, __m256i x, const uint8_t *w)
{
    return i32_dot_bytes(acc, x, _mm256_loadu_si256((const void *)w));
}

/* Four bytes of taps side by side for each of 8 channels a vector. */
static inline __attribute__((always_inline)) void interleave(const __m256i t[4], __m256i v[4])
{
    __m256i a = _mm256_unpacklo_epi8(t[0], t[1]), b = _mm256_unpacklo_epi8(t[2], t[3]);
    __m256i c = _mm256_unpackhi_epi8(t[0], t[1]), d = _mm256_unpackhi_epi8(t[2], t[3]);
    v[0] = _mm256_unpacklo_epi16(a, b);
    v[1] = _mm256_unpackhi_epi16(a, b);
    v[2] = _mm256_unpacklo_epi16(c, d);
    v[3] = _mm256_unpackhi_epi16(c, d);
}

static inline __attribute__((always_inline)) void dot_four(struct sums *acc, const __m256i v[4],
                                                           const uint8_t *w)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        acc->v[i] = dot(acc->v[i], v[i], w + (size_t)32 * i);
}

static inline void dot_group(struct sums *acc, const __m256i t[4], const uint8_t *w)
{
    __m256i v[4];
    interleave(t, v);
    dot_four(acc, v, w);
}

/* The three taps of a column, interleaved. */
struct column3 {
    __m256i v[4];
};

static inline __attribute__((always_inline)) struct column3
column_at(const struct depthwise_i8_job *job, const uint8_t *x)
{
    struct column3 c;
    const __m256i t[4] = {_mm256_loadu_si256((const void *)(x + job->tap[0])),
                          _mm256_loadu_si256((const void *)(x + job->tap[1])),
                          _mm256_loadu_si256((const void *)(x + job->tap[2])),
                          _mm256_setzero_si256()};
    interleave(t, c.v);
    return c;
}

/* Interleaving takes most of the time, so each column is interleaved once for the three pixels it
 * is under. */
static bool block_by_columns(const struct depthwise_i8_job *job, const uint8_t *x, const uint8_t *w,
                             size_t at, uint8_t *y)
{
    if (!job->columns)
        return false;
    struct column3 left = column_at(job, x), here = column_at(job, x + job->x_step);
    x += 2 * job->x_step;
    for (uint32_t i = 0; i < job->m; i++, x += job->x_step, y += job->y_step) {
        const struct column3 right = column_at(job, x);
        struct sums acc;
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 4; v++)
            acc.v[v] = _mm256_loadu_si256((const void *)(job->to.offset + at + v * (size_t)8));
        dot_four(&acc, left.v, w);
        dot_four(&acc, here.v, w + 128);
        dot_four(&acc, right.v, w + 256);
        put(job, &acc, at, y, 32);
        left = here;
        here = right;
    }
    return true;
}
