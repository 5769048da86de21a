/* SPDX-License-Identifier: MIT */
/* byte_rows_impl.h - template of the rows of bytes of kernel_integer.h, which every level
 * compiles for vectors of its own. Parameters: ROW(name), the name with the level's suffix;
 * LANES where they are not 32; OWN_ROWS where the level has written combine, quantize, largest,
 * mean_block and real_sums itself.
 *
 * Rows go in blocks of LANES elements through local arrays: loops of known length over those become
 * vector code, and y may be an input. What is left of a row is copied out and back. The blocks are
 * calls, not copies of one another: a call costs little beside 32 divisions. */
#include <string.h>
#include "kernels/kernel_integer.h"

/* Two vectors of AVX2, half a one of AVX-512's bytes; a multiple of all. The reference has fewer,
 * as a microcontroller has little stack. */
#ifndef LANES
#define LANES 32u
#endif

/* flip turns i8 into u8, so that one loop serves both; differences fit 9 bits, which f32 holds
 * exactly. */
static __attribute__((noinline)) void to_real(const struct byte_grid *g, const uint8_t *x,
                                              float v[LANES])
{
    for (uint32_t i = 0; i < LANES; i++)
        v[i] = (float)((int32_t)(x[i] ^ g->flip) - g->zero) * g->scale;
}

#ifndef OWN_ROWS
/* as `quantized` of integer_element.h Adding 1.5 * 2^23 rounds to even under the default mode,
 * and after the clamp nothing is out of range. */
static __attribute__((noinline)) void to_bytes(const struct byte_grid *g, const float v[LANES],
                                               uint8_t *y)
{
    const float magic = 12582912.0f, low = (float)-g->zero, high = (float)(255 - g->zero);
    int32_t q[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        float w = v[i] / g->scale;
        w = w > low ? w : low;
        w = w < high ? w : high;
        q[i] = (int32_t)((w + magic) - magic) + g->zero;
    }
    for (uint32_t i = 0; i < LANES; i++)
        y[i] = (uint8_t)q[i] ^ g->flip;
}

/* The f32 operations of Dequantize, Add or Mul, Relu, Quantize, in their order and with their
 * roundings. */
static void combine_block(const struct combine_bytes *c, const uint8_t *a, const float w[LANES],
                          uint8_t *y)
{
    float v[LANES];
    to_real(&c->a, a, v);
    if (c->multiply)
        for (uint32_t i = 0; i < LANES; i++)
            v[i] *= w[i];
    else
        for (uint32_t i = 0; i < LANES; i++)
            v[i] += w[i];
    if (c->relu)
        for (uint32_t i = 0; i < LANES; i++)
            v[i] = v[i] < 0.0f ? 0.0f : v[i];
    to_bytes(&c->y, v, y);
}

/* The second row is one of bytes (b) or of real numbers (r). The last block is a block like others,
 * of copies: what is behind a row is not touched. */
static void join_rows(const struct combine_bytes *c, const uint8_t *a, const uint8_t *b,
                      const float *r, uint8_t *y, size_t n)
{
    float w[LANES] = {0};
    uint8_t last[3][LANES] = {{0}};
    for (size_t at = 0; at < n; at += LANES) {
        const size_t some = n - at < LANES ? n - at : LANES;
        const bool whole = some == LANES;
        if (!whole)
            memcpy(last[0], a + at, some);
        if (!whole && b)
            memcpy(last[1], b + at, some);
        if (b)
            to_real(&c->b, whole ? b + at : last[1], w);
        else if (!whole)
            memcpy(w, r + at, some * sizeof *w);
        combine_block(c, whole ? a + at : last[0], b || !whole ? w : r + at,
                      whole ? y + at : last[2]);
        if (!whole)
            memcpy(y + at, last[2], some);
    }
}

void ROW(pith_combine_bytes)(const struct combine_bytes *c, const struct combined_rows *r)
{
    for (size_t i = 0; i < r->rows; i++)
        join_rows(c, r->a + i * r->step, r->b + i * r->b_step, NULL, r->y + i * r->step, r->n);
}

void ROW(pith_combine_reals)(const struct combine_bytes *c, const uint8_t *a, const float *b,
                             uint8_t *y, size_t n)
{
    join_rows(c, a, NULL, b, y, n);
}

void ROW(pith_quantize_bytes)(const struct byte_grid *g, const float *x, uint8_t *y, size_t n)
{
    for (; n >= LANES; n -= LANES, x += LANES, y += LANES)
        to_bytes(g, x, y);
    if (n == 0)
        return;
    float last[LANES] = {0};
    uint8_t bytes[LANES];
    memcpy(last, x, n * sizeof *x);
    to_bytes(g, last, bytes);
    memcpy(y, bytes, n);
}

#endif

void ROW(pith_dequantize_bytes)(const struct byte_grid *g, const uint8_t *x, float *y, size_t n)
{
    for (; n >= LANES; n -= LANES, x += LANES, y += LANES)
        to_real(g, x, y);
    float last[LANES];
    uint8_t bytes[LANES] = {0};
    memcpy(bytes, x, n);
    to_real(g, bytes, last);
    memcpy(y, last, n * sizeof *y);
}

#ifndef OWN_ROWS
/* n bytes of the window at x. */
static inline void largest_of(const struct largest_bytes *l, const uint8_t *x, uint8_t *y,
                              const uint32_t n)
{
    uint8_t most[LANES] = {0};
    for (size_t r = 0; r < l->rows; r++, x += l->row)
        for (size_t k = 0; k < l->columns; k++)
            for (uint32_t i = 0; i < n; i++) {
                uint8_t u = x[k * l->column + i] ^ l->flip;
                most[i] = most[i] > u ? most[i] : u;
            }
    for (uint32_t i = 0; i < n; i++)
        y[i] = most[i] ^ l->flip;
}

/* As u8 the largest byte is the largest value, for either type. */
void ROW(pith_largest_bytes)(const struct largest_bytes *l, uint8_t *y, size_t n)
{
    const uint8_t *x = l->x;
    for (size_t i = 0; i < l->windows; i++, x += l->step, y += n) {
        size_t at = 0;
        for (; at + LANES <= n; at += LANES)
            largest_of(l, x + at, y + at, LANES);
        for (; at < n; at++)
            largest_of(l, x + at, y + at, 1);
    }
}
#endif

/* Each channel's sum has the sixteen partial sums and the tree of sum_f32.h, so it has that
 * function's bits. */
#define SUM_LANES 16u /* of sum_f32.h */

#ifndef OWN_ROWS
static __attribute__((noinline)) void mean_block(const struct mean_bytes *m, const uint8_t *x,
                                                 size_t n, uint8_t *y)
{
    float sum[SUM_LANES][LANES] = {{0}}, v[LANES];
    uint8_t some[LANES] = {0};
    for (size_t p = 0; p < m->pixels; p++, x += m->step) {
        if (n < LANES)
            memcpy(some, x, n);
        to_real(&m->from, n < LANES ? some : x, v);
        for (uint32_t i = 0; i < LANES; i++)
            sum[p % SUM_LANES][i] += v[i];
    }
    for (uint32_t half = SUM_LANES / 2; half > 0; half /= 2)
        for (uint32_t k = 0; k < half; k++)
            for (uint32_t i = 0; i < LANES; i++)
                sum[k][i] += sum[k + half][i];
    for (uint32_t i = 0; i < LANES; i++)
        v[i] = sum[0][i] / (float)m->pixels;
    to_bytes(&m->to, v, some);
    memcpy(y, some, n);
}
#endif

/* One channel whose pixels are neighbours. Then lanes are pixels and not channels, and the order
 * is again that of sum_f32.h. */
static __attribute__((noinline)) void mean_row(const struct mean_bytes *m, uint8_t *y)
{
    enum { SIDE_BY_SIDE = LANES < SUM_LANES ? LANES : SUM_LANES };
    float sum[SUM_LANES] = {0}, v[LANES];
    size_t p = 0;
    for (; p + LANES <= m->pixels; p += LANES) {
        float *const to = sum + p % SUM_LANES;
        to_real(&m->from, m->x + p, v);
        for (uint32_t k = 0; k < LANES; k += SIDE_BY_SIDE)
            for (uint32_t i = 0; i < SIDE_BY_SIDE; i++)
                to[i] += v[k + i];
    }
    ROW(pith_dequantize_bytes)(&m->from, m->x + p, v, m->pixels - p);
    for (size_t i = 0; p < m->pixels; i++, p++)
        sum[i % SUM_LANES] += v[i];
    for (uint32_t half = SUM_LANES / 2; half > 0; half /= 2)
        for (uint32_t k = 0; k < half; k++)
            sum[k] += sum[k + half];
    sum[0] /= (float)m->pixels;
    ROW(pith_quantize_bytes)(&m->to, sum, y, 1);
}

void ROW(pith_mean_bytes)(const struct mean_bytes *m, uint8_t *y, size_t n)
{
    if (m->step == 1) {
        mean_row(m, y);
        return;
    }
    for (size_t at = 0; at < n; at += LANES)
        mean_block(m, m->x + at, n - at < LANES ? n - at : LANES, y + at);
}

/* A loop of loads; only VBMI does better. */
void ROW(pith_look_up_bytes)(const uint8_t table[256], const uint8_t *x, uint8_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

#ifndef OWN_ROWS
/* A sum is read and a real number written as bytes, for one memory is of one type in C. */
static void sums_of(const float *factor, uint8_t *y, const uint32_t n)
{
    int32_t sum[LANES];
    float real[LANES];
    memcpy(sum, y, n * sizeof *sum);
    for (uint32_t i = 0; i < n; i++)
        real[i] = (float)sum[i] * factor[i];
    memcpy(y, real, n * sizeof *real);
}

void ROW(pith_real_sums)(const float *factor, uint8_t *y, size_t n)
{
    for (; n >= LANES; n -= LANES, factor += LANES, y += sizeof(float) * LANES)
        sums_of(factor, y, LANES);
    for (; n > 0; n--, factor++, y += sizeof(float))
        sums_of(factor, y, 1);
}
#endif
