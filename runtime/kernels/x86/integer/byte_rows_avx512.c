/* SPDX-License-Identifier: MIT */
/* byte_rows_avx512.c - see byte_rows_impl.h; sums and products of two rows, and the sums of means,
 * stay in registers. */
#include <immintrin.h>
#include <math.h>
#include "kernels/kernel_integer.h"

#define BLOCK 64u /* elements: a register of bytes, four of numbers */

/* A grid, spread over registers. */
struct lanes {
    __m512 scale;
    __m512i zero;   /* of the bytes as they are, i8 or u8 */
    bool is_signed; /* i8 */
};

static inline struct lanes lanes_of(const struct byte_grid *g)
{
    const int32_t zero = g->zero - (g->flip ? 128 : 0);
    return (struct lanes){_mm512_set1_ps(g->scale), _mm512_set1_epi32(zero), g->flip != 0};
}

/* as to_real of the template */
static inline __m512 reals(const struct lanes *g, __m128i x)
{
    __m512i q = g->is_signed ? _mm512_cvtepi8_epi32(x) : _mm512_cvtepu8_epi32(x);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(q, g->zero)), g->scale);
}

/* The grid of y. Dividing by the scale takes as long as all else together, so numbers are
 * multiplied by its reciprocal, and where one of a block then lies so near the middle between two
 * integers that this could matter, all are divided: of numbers up to 512 the two differ by less
 * than 2^-13, and larger ones are cut either way. */
struct to_bytes {
    __m512 scale, inverse, low, high;
    __m512i zero, flip;
    bool inverts; /* by it */
};

/* Neither a multiple of the scale up to 512 times nor its reciprocal is 0, infinite or subnormal.
 */
static inline bool is_moderate(float scale)
{
    return scale > 0x1p-100f && scale < 0x1p100f;
}

static inline struct to_bytes to_bytes_of(const struct byte_grid *g)
{
    return (struct to_bytes){.scale = _mm512_set1_ps(g->scale),
                             .inverse = _mm512_set1_ps(1.0f / g->scale),
                             .low = _mm512_set1_ps((float)-g->zero),
                             .high = _mm512_set1_ps((float)(255 - g->zero)),
                             .zero = _mm512_set1_epi16((int16_t)g->zero),
                             .flip = _mm512_set1_epi8((char)g->flip),
                             .inverts = is_moderate(g->scale)};
}

/* Of the two operands of max and min, NaN gives the second. The bounds are cut before the
 * conversion, where they are small numbers and exact; a NaN fails both comparisons and ends at the
 * low one, as docs/arithmetic.md says. */
static inline __m512 cut(const struct to_bytes *t, __m512 w)
{
    return _mm512_min_ps(_mm512_max_ps(w, t->low), t->high);
}

/* What packing leaves: 4 numbers of each of 4 registers in a lane. */
static inline __m512i packed(const struct to_bytes *t, const __m512i q[4])
{
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512i low = _mm512_add_epi16(_mm512_packs_epi32(q[0], q[1]), t->zero);
    __m512i up = _mm512_add_epi16(_mm512_packs_epi32(q[2], q[3]), t->zero);
    return _mm512_xor_si512(_mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, up)), t->flip);
}

/* as to_bytes of the template */
static inline __m512i bytes(const struct to_bytes *t, const __m512 v[4])
{
    const __m512 near = _mm512_set1_ps(0.5f - 0x1p-13f);
    __m512 off = _mm512_setzero_ps();
    __m512i q[4];
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        __m512 w = cut(t, _mm512_mul_ps(v[k], t->inverse));
        q[k] = _mm512_cvtps_epi32(w);
        w = _mm512_sub_ps(w, _mm512_cvtepi32_ps(q[k]));
        off = _mm512_range_ps(off, w, 0x0b); /* the larger of both without their signs */
    }
    if (!t->inverts || _mm512_cmp_ps_mask(off, near, _CMP_GT_OQ))
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; k++)
            q[k] = _mm512_cvtps_epi32(cut(t, _mm512_div_ps(v[k], t->scale)));
    return packed(t, q);
}

/* Two rows, of which the second are bytes (b) or real numbers (r). */
struct joining {
    struct lanes a, b;
    struct to_bytes to;
    bool multiply, relu;
};

/* A block is a function of its own, for its code is long and three callers have it. Real numbers
 * are r's where there are no bytes b. */
static __attribute__((noinline)) void join_block(const struct joining *j, const uint8_t *a,
                                                 const uint8_t *b, const float *r, uint8_t *y)
{
    __m512 v[4];
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 4; k++) {
        __m512 w = b ? reals(&j->b, _mm_loadu_si128((const void *)(b + 16 * k)))
                     : _mm512_loadu_ps(r + 16 * k);
        v[k] = reals(&j->a, _mm_loadu_si128((const void *)(a + 16 * k)));
        v[k] = j->multiply ? _mm512_mul_ps(v[k], w) : _mm512_add_ps(v[k], w);
        if (j->relu) /* 0 first keeps a NaN */
            v[k] = _mm512_max_ps(_mm512_setzero_ps(), v[k]);
    }
    _mm512_storeu_si512(y, bytes(&j->to, v));
}

/* The last block is one of copies: bytes behind the row are neither read nor written. */
static void join_rows(const struct combine_bytes *c, const uint8_t *a, const uint8_t *b,
                      const float *r, uint8_t *y, size_t n)
{
    const struct joining j = {lanes_of(&c->a), lanes_of(&c->b), to_bytes_of(&c->y), c->multiply,
                              c->relu};
    for (; n >= BLOCK; n -= BLOCK, a += BLOCK, y += BLOCK) {
        join_block(&j, a, b, r, y);
        b = b ? b + BLOCK : NULL;
        r = r ? r + BLOCK : NULL;
    }
    if (n == 0)
        return;
    const __mmask64 some = (UINT64_C(1) << n) - 1;
    uint8_t last[2][BLOCK];
    float real[BLOCK];
    _mm512_storeu_si512(last[0], _mm512_maskz_loadu_epi8(some, a));
    if (b)
        _mm512_storeu_si512(last[1], _mm512_maskz_loadu_epi8(some, b));
    for (uint32_t k = 0; k < 4 && r; k++)
        _mm512_storeu_ps(real + 16 * k,
                         _mm512_maskz_loadu_ps((__mmask16)(some >> 16 * k), r + 16 * k));
    join_block(&j, last[0], b ? last[1] : NULL, real, last[0]);
    _mm512_mask_storeu_epi8(y, some, _mm512_loadu_si512(last[0]));
}

/* ---- sums of 64 at a time ------------------------------------------------------------------- */

/* A sum's quotient (q_a - zero_a) * scale_a / scale + (q_b - zero_b) * scale_b / scale, with `bits`
 * bits behind the point. The ratios are split in two, `SPLIT` bits of a part, as pairs of 16 bits
 * are what is multiplied. `margin` units are more than what it is wrong by: 255 times what the
 * ratios are, a unit for the constant, and three roundings of floats that are no larger than the
 * sum of both parts. Where the quotient is farther than that from the middle between two integers,
 * both become the same; else all 64 are divided. */
#define SPLIT 10
struct fixed_sum {
    __m512i high, low;     /* of both ratios */
    __m512i start;         /* zero points, that of y, half a step and the margin */
    __m512i shift, behind; /* of each lane: shifts by one number take an instruction more */
    __m512i flip_a, flip_b, flip, least, margin;
};

/* Two numbers of 16 bits as one of 32, in the order in which interleaved bytes become words. */
static int32_t pair_of(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a & 0xffff) | (int32_t)((uint32_t)b << 16);
}

/* false: quotients are too large, or a sum is no number. */
static bool fixed_sum_of(const struct combine_bytes *c, struct fixed_sum *f)
{
    const double a = (double)c->a.scale / c->y.scale, b = (double)c->b.scale / c->y.scale;
    const double span = (a + b) * 255, most = span + 256;
    if (c->multiply || !(most < 2048) || !is_moderate(c->a.scale) || !is_moderate(c->b.scale) ||
        !is_moderate(c->y.scale))
        return false;
    const int bits = most < 512 ? 22 : most < 1024 ? 21 : 20;
    const double unit = 1 << bits, half = 1 << (SPLIT - 1);
    const int32_t all_a = (int32_t)(a * unit + 0.5), all_b = (int32_t)(b * unit + 0.5);
    const int32_t high_a = (int32_t)((all_a + half) / (1 << SPLIT));
    const int32_t high_b = (int32_t)((all_b + half) / (1 << SPLIT));
    const double off = fabs(all_a - a * unit) + fabs(all_b - b * unit);
    const int32_t margin = (int32_t)(255 * off + span * unit * 0x1.9p-23) + 4;
    const double zero = c->y.zero - c->a.zero * a - c->b.zero * b;
    f->high = _mm512_set1_epi32(pair_of(high_a, high_b));
    f->low = _mm512_set1_epi32(pair_of(all_a - (high_a << SPLIT), all_b - (high_b << SPLIT)));
    f->start = _mm512_set1_epi32((int32_t)((zero + 0.5) * unit) + margin);
    f->shift = _mm512_set1_epi32(bits);
    f->behind = _mm512_set1_epi32(32 - bits);
    f->margin = _mm512_sllv_epi32(_mm512_set1_epi32(2 * margin), f->behind);
    f->flip_a = _mm512_set1_epi8((char)c->a.flip);
    f->flip_b = _mm512_set1_epi8((char)c->b.flip);
    f->flip = _mm512_set1_epi8((char)c->y.flip);
    f->least = _mm512_set1_epi16((int16_t)(c->relu ? c->y.zero : INT16_MIN));
    return true;
}

/* Of 16 pairs; *behind: the least of what is behind the points, at the highest bits. */
static inline __m512i fixed_values(const struct fixed_sum *f, __m512i pairs, __m512i *behind)
{
    const __m512i high = _mm512_slli_epi32(_mm512_madd_epi16(pairs, f->high), SPLIT);
    const __m512i low = _mm512_add_epi32(_mm512_madd_epi16(pairs, f->low), f->start);
    const __m512i sum = _mm512_add_epi32(high, low);
    *behind = _mm512_min_epu32(*behind, _mm512_sllv_epi32(sum, f->behind));
    return _mm512_srav_epi32(sum, f->shift);
}

/* Interleaving leaves bytes where packing takes them from. */
static inline bool sum_block(const struct fixed_sum *f, const uint8_t *a, const uint8_t *b,
                             uint8_t *y)
{
    const __m512i none = _mm512_setzero_si512();
    const __m512i left = _mm512_xor_si512(_mm512_loadu_si512(a), f->flip_a);
    const __m512i right = _mm512_xor_si512(_mm512_loadu_si512(b), f->flip_b);
    __m512i behind = _mm512_set1_epi32(-1), words[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m512i pairs =
            i ? _mm512_unpackhi_epi8(left, right) : _mm512_unpacklo_epi8(left, right);
        const __m512i low = fixed_values(f, _mm512_unpacklo_epi8(pairs, none), &behind);
        const __m512i up = fixed_values(f, _mm512_unpackhi_epi8(pairs, none), &behind);
        words[i] = _mm512_max_epi16(f->least, _mm512_packs_epi32(low, up));
    }
    if (_mm512_cmplt_epu32_mask(behind, f->margin))
        return false;
    const __m512i all = _mm512_packus_epi16(words[0], words[1]);
    _mm512_storeu_si512(y, _mm512_xor_si512(all, f->flip));
    return true;
}

void pith_combine_bytes_avx512(const struct combine_bytes *c, const struct combined_rows *r)
{
    struct fixed_sum f = {.high = _mm512_setzero_si512()};
    const bool fits = r->n >= BLOCK && fixed_sum_of(c, &f);
    for (size_t i = 0; i < r->rows; i++) {
        const uint8_t *a = r->a + i * r->step, *b = r->b + i * r->b_step;
        uint8_t *y = r->y + i * r->step;
        for (size_t at = 0, some; at < r->n; at += some) {
            some = fits && r->n - at >= BLOCK ? BLOCK : r->n - at;
            if (!fits || some < BLOCK || !sum_block(&f, a + at, b + at, y + at))
                join_rows(c, a + at, b + at, NULL, y + at, some);
        }
    }
}

void pith_combine_reals_avx512(const struct combine_bytes *c, const uint8_t *a, const float *b,
                               uint8_t *y, size_t n)
{
    join_rows(c, a, NULL, b, y, n);
}

/* A row of real numbers; what is behind its end is read as 0 and not written. */
void pith_quantize_bytes_avx512(const struct byte_grid *g, const float *x, uint8_t *y, size_t n)
{
    const struct to_bytes to = to_bytes_of(g);
    for (size_t at = 0; at < n; at += BLOCK) {
        const __mmask64 some = n - at < BLOCK ? (UINT64_C(1) << (n - at)) - 1 : UINT64_MAX;
        __m512 v[4];
#pragma GCC unroll 4
        for (uint32_t k = 0; k < 4; k++)
            v[k] = _mm512_maskz_loadu_ps((__mmask16)(some >> 16 * k), x + at + 16 * k);
        _mm512_mask_storeu_epi8(y + at, some, bytes(&to, v));
    }
}

/* In place: a sum takes as many bytes as the real number that it stands for. */
void pith_real_sums_avx512(const float *factor, uint8_t *y, size_t n)
{
    for (size_t at = 0; at < n; at += 16, y += sizeof(__m512)) {
        const __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        __m512 v = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(some, y));
        v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(some, factor + at));
        _mm512_mask_storeu_ps(y, some, v);
    }
}

/* `some` of 64 bytes of the window at x. */
static inline __m512i largest_of(const struct largest_bytes *l, const uint8_t *x, __mmask64 some)
{
    const __m512i flip = _mm512_set1_epi8((char)l->flip);
    __m512i most = _mm512_setzero_si512();
    for (size_t r = 0; r < l->rows; r++, x += l->row)
        for (size_t k = 0; k < l->columns; k++) {
            const __m512i v = _mm512_maskz_loadu_epi8(some, x + k * l->column);
            most = _mm512_max_epu8(most, _mm512_xor_si512(flip, v));
        }
    return _mm512_xor_si512(flip, most);
}

static inline __m512i larger(__m512i a, __m512i b, const bool is_signed)
{
    return is_signed ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
}

/* The same bytes of three rows of a column. */
static inline __m512i largest_of_three(const struct largest_bytes *l, const uint8_t *x,
                                       __mmask64 some, const bool is_signed)
{
    const __m512i a = _mm512_maskz_loadu_epi8(some, x);
    const __m512i b = _mm512_maskz_loadu_epi8(some, x + l->row);
    const __m512i c = _mm512_maskz_loadu_epi8(some, x + 2 * l->row);
    return larger(larger(a, b, is_signed), c, is_signed);
}

/* Windows of three rows and columns that move by two, of which networks are full: the third column
 * is the first one of the next window, and is read once. */
static inline __attribute__((always_inline)) void largest_by_two(const struct largest_bytes *l,
                                                                 const uint8_t *x, uint8_t *y,
                                                                 size_t n, __mmask64 some,
                                                                 const bool is_signed)
{
    __m512i first = largest_of_three(l, x, some, is_signed);
    for (size_t i = 0; i < l->windows; i++, y += n) {
        const __m512i second = largest_of_three(l, x + l->column, some, is_signed);
        x += l->step;
        const __m512i third = largest_of_three(l, x, some, is_signed);
        _mm512_mask_storeu_epi8(y, some,
                                larger(larger(first, second, is_signed), third, is_signed));
        first = third;
    }
}

void pith_largest_bytes_avx512(const struct largest_bytes *l, uint8_t *y, size_t n)
{
    const bool by_two = l->rows == 3 && l->columns == 3 && l->step == 2 * l->column;
    for (size_t at = 0; at < n; at += BLOCK) {
        const __mmask64 some = n - at < BLOCK ? (UINT64_C(1) << (n - at)) - 1 : UINT64_MAX;
        if (by_two && l->flip == 0)
            largest_by_two(l, l->x + at, y + at, n, some, false);
        else if (by_two && l->flip == 0x80)
            largest_by_two(l, l->x + at, y + at, n, some, true);
        else
            for (size_t i = 0; i < l->windows; i++)
                _mm512_mask_storeu_epi8(y + at + i * n, some,
                                        largest_of(l, l->x + at + i * l->step, some));
    }
}

/* A grid of u8, or of i8 as u8: a test of the type for each pixel would double the code below. */
struct u8_lanes {
    __m512 scale;
    __m512i zero;
    __m128i flip;
};

static inline __m512 reals_of_u8(const struct u8_lanes *g, __m128i x)
{
    __m512i q = _mm512_sub_epi32(_mm512_cvtepu8_epi32(_mm_xor_si128(x, g->flip)), g->zero);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(q), g->scale);
}

/* The sixteen sums of sum_f32.h of sixteen channels: in registers up to the last whole sixteen
 * pixels. */
static inline __m512 sums_of_pixels(const struct mean_bytes *m, const uint8_t *x, __mmask16 some)
{
    const struct u8_lanes from = {_mm512_set1_ps(m->from.scale), _mm512_set1_epi32(m->from.zero),
                                  _mm_set1_epi8((char)m->from.flip)};
    __m512 sum[16], all[16];
#pragma GCC unroll 16
    for (uint32_t k = 0; k < 16; k++)
        sum[k] = _mm512_setzero_ps();
    size_t p = 0;
    for (; p + 16 <= m->pixels; p += 16)
#pragma GCC unroll 16
        for (uint32_t k = 0; k < 16; k++, x += m->step)
            sum[k] = _mm512_add_ps(sum[k], reals_of_u8(&from, _mm_maskz_loadu_epi8(some, x)));
#pragma GCC unroll 16
    for (uint32_t k = 0; k < 16; k++)
        all[k] = sum[k];
    for (uint32_t k = 0; p < m->pixels; p++, k++, x += m->step)
        all[k] = _mm512_add_ps(all[k], reals_of_u8(&from, _mm_maskz_loadu_epi8(some, x)));
    for (uint32_t half = 8; half > 0; half /= 2)
        for (uint32_t k = 0; k < half; k++)
            all[k] = _mm512_add_ps(all[k], all[k + half]);
    return all[0];
}

/* Up to 32 channels, as the template's, which end in one block. */
static void mean_block(const struct mean_bytes *m, const uint8_t *x, size_t n, uint8_t *y)
{
    const struct to_bytes to = to_bytes_of(&m->to);
    const __m512 pixels = _mm512_set1_ps((float)m->pixels);
    __m512 v[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                   _mm512_setzero_ps()};
    for (size_t at = 0; at < n; at += 16) {
        __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        v[at / 16] = _mm512_div_ps(sums_of_pixels(m, x + at, some), pixels);
    }
    _mm512_mask_storeu_epi8(y, (UINT64_C(1) << n) - 1, bytes(&to, v));
}

/* The rest is the template's, which compilers vectorize well. */
#define OWN_ROWS
#define ROW(name) name##_avx512
#include "kernels/ref/byte_rows_impl.h"
