/* SPDX-License-Identifier: MIT */
/* integer_product.cu - products of matrices and convolutions of 8-bit integers. A block has a tile of
 * 64 x 64 outputs, a thread 4 x 4 of them; four terms are a word. From compute capability 8.0 on
 * warps multiply by tensor cores (mma), before by dp4a: sums are exact modulo 2^32, so both give the
 * same bits. Unsigned elements go 128 down, and their zero points with them:
 *
 *     sum (a - za)(b - zb) = sum a b - zb sum a - za sum b + K za zb      modulo 2^32 */
#include "device_map.cuh"
#include "pith_integer_range.h"

#define TILE GEMM_TILE
#define WORDS 16u /* of four terms: of a slice */
#define EACH 4u
#define ONES 0x01010101
#define LINE (TILE + 8u) /* words of a row in shared memory: what a warp's mma reads is in 32 banks */

struct tile_i8 {
    int32_t a[WORDS][LINE], b[WORDS][LINE];
    int32_t sum_a[TILE], sum_b[TILE]; /* of the terms of each line */
};

#if HAS_MMA
DEVICE uint32_t own_row(uint32_t i, uint32_t j)
{
    (void)i;
    return mma_row(j);
}

DEVICE uint32_t own_column(uint32_t i, uint32_t j)
{
    return mma_column(i, j);
}

/* 32 terms at a time: words t and t + 4 of eight. */
DEVICE void add_words(const struct tile_i8 *t, int32_t sum[EACH][EACH])
{
    const uint32_t row = mma_warp_row(), line = THREAD % 32u / 4u, word = THREAD % 4u;
    for (uint32_t k = word; k < WORDS; k += 8) {
        const int32_t a[4] = {t->a[k][row], t->a[k][row + 8], t->a[k + 4][row],
                              t->a[k + 4][row + 8]};
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t column = mma_warp_column() + 8u * i + line;
            const int32_t b[2] = {t->b[k][column], t->b[k + 4][column]};
            mma_i8(sum[i], a, b);
        }
    }
}
#else
DEVICE uint32_t own_row(uint32_t i, uint32_t j)
{
    (void)j;
    return THREAD / WORDS + WORDS * i;
}

DEVICE uint32_t own_column(uint32_t i, uint32_t j)
{
    (void)i;
    return THREAD % WORDS + WORDS * j;
}

DEVICE void add_words(const struct tile_i8 *t, int32_t sum[EACH][EACH])
{
    for (uint32_t k = 0; k < WORDS; k++) {
        int32_t a[EACH], b[EACH];
        for (uint32_t i = 0; i < EACH; i++) {
            a[i] = t->a[k][own_row(i, 0)];
            b[i] = t->b[k][own_column(0, i)];
        }
        for (uint32_t i = 0; i < EACH; i++)
            for (uint32_t j = 0; j < EACH; j++)
                sum[i][j] = dot_i8(a[i], b[j], sum[i][j]);
    }
}
#endif

/* The sums of single lines: half of the threads have one each. */
DEVICE int32_t add_line(const struct tile_i8 *t, int32_t sum)
{
    if (THREAD < 2 * TILE)
        for (uint32_t k = 0; k < WORDS; k++)
            sum = dot_i8(THREAD < TILE ? t->a[k][THREAD] : t->b[k][THREAD - TILE], ONES, sum);
    return sum;
}

DEVICE void put_line(struct tile_i8 *t, int32_t sum)
{
    if (THREAD < TILE)
        t->sum_a[THREAD] = sum;
    else if (THREAD < 2 * TILE)
        t->sum_b[THREAD - TILE] = sum;
    barrier();
}

/* An element as a signed byte. */
DEVICE uint32_t signed_byte(const void *p, size_t i, uint32_t is_signed)
{
    return ((const uint8_t *)p)[i] ^ (is_signed ? 0u : 0x80u);
}

/* Its zero point, likewise; 0: of none. */
DEVICE int32_t signed_zero(const void *p, uint32_t i, uint32_t is_signed)
{
    if (!p)
        return is_signed ? 0 : -128;
    return (int8_t)signed_byte(p, i, is_signed);
}

DEVICE int32_t corrected(int32_t product, int32_t sum_a, int32_t sum_b, int32_t za, int32_t zb,
                         uint32_t terms)
{
    uint32_t y = (uint32_t)product;
    y -= (uint32_t)zb * (uint32_t)sum_a;
    y -= (uint32_t)za * (uint32_t)sum_b;
    return (int32_t)(y + terms * (uint32_t)za * (uint32_t)zb);
}

/* NULL: 0. */
DEVICE int32_t byte_of(const void *p, uint32_t i, uint32_t is_signed)
{
    if (!p)
        return 0;
    return is_signed ? ((const int8_t *)p)[i] : (int32_t)((const uint8_t *)p)[i];
}

DEVICE uint8_t with_residual(const struct residual_tail *t, uint32_t i, int32_t own,
                             uint32_t own_signed)
{
    const float a = (float)(own - byte_of(t->own_zero, 0, own_signed)) * *t->own_scale;
    const float b =
        (float)(byte_of(t->x, i, t->x_signed) - byte_of(t->zero, 0, t->x_signed)) * *t->scale;
    struct integer_range r =
        range_of(t->y_signed ? PITH_I8 : PITH_U8, byte_of(t->y_zero, 0, t->y_signed));
    return (uint8_t)quantized(&r, activated_short(t->act, t->act_a, t->act_b, a + b) / *t->y_scale);
}

/* The sum, or the integer of 8 bits that the steps behind the product make of it. */
DEVICE void put_sum(int32_t *y, const struct requantize_tail *q, uint32_t i, int32_t sum)
{
    if (!q->factor) {
        y[i] = sum;
        return;
    }
    struct integer_range r =
        range_of(q->is_signed ? PITH_I8 : PITH_U8, byte_of(q->zero, 0, q->is_signed));
    const int32_t own = quantized(&r, (float)sum * q->factor[i / q->inner % q->factors]);
    q->y[i] = q->residual.x ? with_residual(&q->residual, i, own, q->is_signed) : (uint8_t)own;
}

/* Words of terms [k0, k0 + 64) of rows from row0 on; what is not there is 0 and adds nothing. */
DEVICE void load_words(int32_t slice[WORDS][LINE], const void *x, uint32_t is_signed,
                       uint32_t row0, uint32_t rows, uint32_t row_step, uint32_t k0, uint32_t ks,
                       uint32_t k_step)
{
    for (uint32_t i = THREAD; i < WORDS * TILE; i += LAUNCH_THREADS) {
        uint32_t row = k_step == 1 ? i / WORDS : i % TILE, word = k_step == 1 ? i % WORDS : i / TILE;
        uint32_t v = 0;
        for (uint32_t b = 0; b < 4 && row0 + row < rows; b++) {
            uint32_t k = k0 + 4 * word + b;
            if (k < ks)
                v |= signed_byte(x, (size_t)(row0 + row) * row_step + (size_t)k * k_step, is_signed)
                     << 8 * b;
        }
        slice[word][row] = (int32_t)v;
    }
}

KERNEL(gemm_i8, gemm_i8_args)
{
    SHARED struct tile_i8 t;
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    uint32_t at_a = 0, at_b = 0, item = BLOCK_Z;
    for (uint32_t i = arg->batch_rank; i-- > 0;) {
        uint32_t at = item % arg->batch_dim[i];
        item /= arg->batch_dim[i];
        at_a += at * arg->a_batch[i];
        at_b += at * arg->b_batch[i];
    }
    for (uint32_t k0 = 0; k0 < arg->k; k0 += 4 * WORDS) {
        load_words(t.a, (const uint8_t *)arg->a + at_a, arg->a_signed, row0, arg->m, arg->a_row, k0,
                   arg->k, arg->a_col);
        load_words(t.b, (const uint8_t *)arg->b + at_b, arg->b_signed, column0, arg->n, arg->b_col,
                   k0, arg->k, arg->b_row);
        barrier();
        add_words(&t, sum);
        line = add_line(&t, line);
        barrier();
    }
    put_line(&t, line);
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        UNROLLED
        for (uint32_t j = 0; j < EACH; j++) {
            const uint32_t own_a = own_row(i, j), own_b = own_column(i, j);
            const uint32_t row = row0 + own_a, column = column0 + own_b;
            if (row >= arg->m || column >= arg->n)
                continue;
            int32_t za = signed_zero(arg->zero_a, row * arg->zero_a_step, arg->a_signed);
            int32_t zb = signed_zero(arg->zero_b, column * arg->zero_b_step, arg->b_signed);
            put_sum(arg->y, &arg->q, (BLOCK_Z * arg->m + row) * arg->n + column,
                    corrected(sum[i][j], t.sum_a[own_a], t.sum_b[own_b], za, zb, arg->k));
        }
    }
}

/* Where x lies under tap (kh, kw) of output pixel (oh, ow); below 0: outside. */
DEVICE int64_t place_under(const struct conv_i8_args *arg, int32_t oh, int32_t ow, int32_t kh,
                           int32_t kw)
{
    int32_t ih = oh * arg->stride_h + kh * arg->dil_h - arg->pad_top;
    int32_t iw = ow * arg->stride_w + kw * arg->dil_w - arg->pad_left;
    bool inside = ih >= 0 && ih < arg->h && iw >= 0 && iw < arg->width;
    return inside ? (int64_t)ih * arg->width + iw : -1;
}

/* Term k of output pixel p, as a signed byte; outside it is the zero point. */
DEVICE uint32_t window_byte(const struct conv_i8_args *arg, const uint8_t *x, uint32_t p, uint32_t k,
                            int32_t zero)
{
    const uint32_t taps = (uint32_t)(arg->kh * arg->kw), tap = k % taps;
    int64_t at = place_under(arg, (int32_t)p / arg->ow, (int32_t)p % arg->ow,
                             (int32_t)tap / arg->kw, (int32_t)tap % arg->kw);
    if (at < 0)
        return (uint32_t)zero & 0xffu;
    return signed_byte(x, (size_t)(k / taps) * (size_t)arg->h * (size_t)arg->width + (size_t)at,
                       arg->x_signed);
}

DEVICE void load_window_words(int32_t slice[WORDS][LINE], const struct conv_i8_args *arg,
                              const uint8_t *x, uint32_t p0, uint32_t k0, uint32_t terms,
                              int32_t zero)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow);
    for (uint32_t i = THREAD; i < WORDS * TILE; i += LAUNCH_THREADS) {
        uint32_t p = p0 + i % TILE, v = 0;
        for (uint32_t b = 0; b < 4 && p < pixels; b++) {
            uint32_t k = k0 + 4 * (i / TILE) + b;
            if (k < terms)
                v |= window_byte(arg, x, p, k, zero) << 8 * b;
        }
        slice[i / TILE][i % TILE] = (int32_t)v;
    }
}

KERNEL(conv_i8, conv_i8_args)
{
    SHARED struct tile_i8 t;
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE, group = BLOCK_Z % arg->groups;
    const uint32_t terms = arg->channels * (uint32_t)(arg->kh * arg->kw);
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow);
    const uint8_t *x = (const uint8_t *)arg->x +
                       (size_t)BLOCK_Z * arg->channels * (size_t)arg->h * (size_t)arg->width;
    const uint8_t *w = (const uint8_t *)arg->w + (size_t)group * arg->outputs * terms;
    const int32_t zx = signed_zero(arg->zero_x, 0, arg->x_signed);
    for (uint32_t k0 = 0; k0 < terms; k0 += 4 * WORDS) {
        load_words(t.a, w, arg->w_signed, o0, arg->outputs, terms, k0, terms, 1);
        load_window_words(t.b, arg, x, p0, k0, terms, zx);
        barrier();
        add_words(&t, sum);
        line = add_line(&t, line);
        barrier();
    }
    put_line(&t, line);
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        UNROLLED
        for (uint32_t j = 0; j < EACH; j++) {
            const uint32_t own_a = own_row(i, j), own_b = own_column(i, j);
            const uint32_t o = o0 + own_a, p = p0 + own_b;
            if (o >= arg->outputs || p >= pixels)
                continue;
            uint32_t channel = group * arg->outputs + o;
            int32_t zw = signed_zero(arg->zero_w, channel * arg->zero_w_step, arg->w_signed);
            int32_t y = corrected(sum[i][j], t.sum_a[own_a], t.sum_b[own_b], zw, zx, terms);
            uint32_t bias = arg->bias ? (uint32_t)arg->bias[channel] : 0;
            put_sum(arg->y, &arg->q, (BLOCK_Z * arg->outputs + o) * pixels + p,
                    (int32_t)((uint32_t)y + bias));
        }
    }
}

DEVICE uint32_t direct_sum(const struct conv_i8_args *arg, const uint8_t *x, const uint8_t *w,
                           int32_t zx, int32_t zw, int32_t oh, int32_t ow)
{
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    uint32_t sum = 0;
    for (uint32_t c = 0; c < arg->channels; c++, x += plane)
        for (int32_t kh = 0; kh < arg->kh; kh++)
            for (int32_t kw = 0; kw < arg->kw; kw++, w++) {
                int64_t at = place_under(arg, oh, ow, kh, kw);
                if (at < 0)
                    continue;
                int32_t v = (int8_t)signed_byte(x, (size_t)at, arg->x_signed) - zx;
                sum += (uint32_t)(v * ((int8_t)signed_byte(w, 0, arg->w_signed) - zw));
            }
    return sum;
}

KERNEL(conv_direct_i8, conv_i8_args)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), all = arg->groups * arg->outputs;
    const uint32_t terms = arg->channels * (uint32_t)(arg->kh * arg->kw);
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    const int32_t zx = signed_zero(arg->zero_x, 0, arg->x_signed);
    FOR_EACH(i, arg->n)
    {
        const uint32_t pixel = i % pixels, o = i / pixels % all, image = i / pixels / all;
        const size_t group = (size_t)image * arg->groups + o / arg->outputs;
        uint32_t sum = direct_sum(arg, (const uint8_t *)arg->x + group * arg->channels * plane,
                                  (const uint8_t *)arg->w + (size_t)o * terms, zx,
                                  signed_zero(arg->zero_w, o * arg->zero_w_step, arg->w_signed),
                                  (int32_t)pixel / arg->ow, (int32_t)pixel % arg->ow);
        put_sum(arg->y, &arg->q, i, (int32_t)(sum + (arg->bias ? (uint32_t)arg->bias[o] : 0)));
    }
}
