/* SPDX-License-Identifier: MIT */
/* byte_rows_avx512.c - see byte_rows_impl.h; sums and products of two rows, and the sums of means,
 * stay in registers. */
#include <immintrin.h>
#include <math.h>
#include "pith_kernel_integer.h"

/* A grid in registers: rows may be anywhere, so what is read from the job would be read again
 * behind each store. */
struct lanes {
    __m512 scale;
    __m512i zero;
    __m128i flip;
};

static inline struct lanes lanes_of(const struct byte_grid *g)
{
    return (struct lanes){_mm512_set1_ps(g->scale), _mm512_set1_epi32(g->zero),
                          _mm_set1_epi8((char)g->flip)};
}

/* as to_real of the template: flip turns the sign bit of i8, so that both types are unsigned
 * bytes from there on; zero moves by 128 with it. */
static inline __m512 reals(const struct lanes *g, __m128i x)
{
    __m512i q = _mm512_sub_epi32(_mm512_cvtepu8_epi32(_mm_xor_si128(x, g->flip)), g->zero);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(q), g->scale);
}

/* The grid of y. Dividing by the scale takes as long as all else together, so numbers are
 * multiplied by its reciprocal, and where one then lies so near the middle between two integers
 * that this could matter, all are divided: of numbers up to 512 the two differ by less than 2^-13,
 * and larger ones are cut either way. */
struct to_bytes {
    struct lanes grid;
    __m512 inverse, low, high;
    bool inverts; /* neither scale nor reciprocal is 0, infinite or subnormal */
};

static inline struct to_bytes to_bytes_of(const struct byte_grid *g)
{
    const float inverse = 1.0f / g->scale;
    return (struct to_bytes){lanes_of(g), _mm512_set1_ps(inverse), _mm512_set1_ps((float)-g->zero),
                             _mm512_set1_ps((float)(255 - g->zero)),
                             g->scale > 0x1p-100f && g->scale < 0x1p100f};
}

static inline __m512 divided(const struct to_bytes *t, __m512 v)
{
    const __m512 near = _mm512_set1_ps(0.5f - 0x1p-13f);
    __m512 w = _mm512_mul_ps(v, t->inverse);
    __m512 off = _mm512_sub_ps(w, _mm512_roundscale_ps(w, 0));
    if (t->inverts && !_mm512_cmp_ps_mask(_mm512_abs_ps(off), near, _CMP_GT_OQ))
        return w;
    return _mm512_div_ps(v, t->grid.scale);
}

/* as to_bytes; of the two operands of max and min, NaN gives the second. The bounds are cut
 * before the conversion, where they are small numbers and exact; a NaN fails both comparisons
 * and ends at the low one, as docs/arithmetic.md says. */
static inline __m128i bytes(const struct to_bytes *t, __m512 v)
{
    __m512 w = _mm512_min_ps(_mm512_max_ps(divided(t, v), t->low), t->high);
    __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(w), t->grid.zero);
    return _mm_xor_si128(_mm512_cvtepi32_epi8(q), t->grid.flip);
}

/* The tail is a mask: bytes behind the row are neither read nor written. max with 0 first keeps
 * a NaN. */
void pith_combine_bytes_avx512(const struct combine_bytes *c, const uint8_t *a, const uint8_t *b,
                               uint8_t *y, size_t n)
{
    const struct lanes grid_a = lanes_of(&c->a), grid_b = lanes_of(&c->b);
    const struct to_bytes to = to_bytes_of(&c->y);
    const bool multiply = c->multiply;
    const __m512 least = _mm512_set1_ps(c->relu ? 0.0f : -INFINITY);
    for (size_t at = 0; at < n; at += 16) {
        __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        __m512 v = reals(&grid_a, _mm_maskz_loadu_epi8(some, a + at));
        __m512 w = reals(&grid_b, _mm_maskz_loadu_epi8(some, b + at));
        v = multiply ? _mm512_mul_ps(v, w) : _mm512_add_ps(v, w);
        _mm_mask_storeu_epi8(y + at, some, bytes(&to, _mm512_max_ps(least, v)));
    }
}

void pith_quantize_bytes_avx512(const struct byte_grid *g, const float *x, uint8_t *y, size_t n)
{
    const struct to_bytes to = to_bytes_of(g);
    for (size_t at = 0; at < n; at += 16) {
        __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        _mm_mask_storeu_epi8(y + at, some, bytes(&to, _mm512_maskz_loadu_ps(some, x + at)));
    }
}

/* The sixteen sums of sum_f32.h of sixteen channels, in registers. */
static inline __m512 sums_of_pixels(const struct mean_bytes *m, const uint8_t *x, __mmask16 some)
{
    const struct lanes from = lanes_of(&m->from);
    __m512 sum[16];
    for (uint32_t k = 0; k < 16; k++)
        sum[k] = _mm512_setzero_ps();
    size_t p = 0;
    for (; p + 16 <= m->pixels; p += 16)
#pragma GCC unroll 16
        for (uint32_t k = 0; k < 16; k++, x += m->step)
            sum[k] = _mm512_add_ps(sum[k], reals(&from, _mm_maskz_loadu_epi8(some, x)));
#pragma GCC unroll 16
    for (uint32_t k = 0; k < 16; k++)
        if (p + k < m->pixels) {
            sum[k] = _mm512_add_ps(sum[k], reals(&from, _mm_maskz_loadu_epi8(some, x)));
            x += m->step;
        }
#pragma GCC unroll 4
    for (uint32_t half = 8; half > 0; half /= 2)
#pragma GCC unroll 8
        for (uint32_t k = 0; k < half; k++)
            sum[k] = _mm512_add_ps(sum[k], sum[k + half]);
    return sum[0];
}

/* Up to 32 channels, as the template's. */
static void mean_block(const struct mean_bytes *m, const uint8_t *x, size_t n, uint8_t *y)
{
    const struct to_bytes to = to_bytes_of(&m->to);
    const __m512 pixels = _mm512_set1_ps((float)m->pixels);
    for (size_t at = 0; at < n; at += 16) {
        __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        __m512 v = _mm512_div_ps(sums_of_pixels(m, x + at, some), pixels);
        _mm_mask_storeu_epi8(y + at, some, bytes(&to, v));
    }
}

/* The rest is the template's, which compilers vectorize well. */
#define OWN_ROWS
#define ROW(name) name##_avx512
#include "byte_rows_impl.h"
