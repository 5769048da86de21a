/* SPDX-License-Identifier: MIT */
/* byte_rows_avx512.c - see byte_rows_impl.h; the sums and products of two rows stay in registers.
 */
#include <immintrin.h>
#include "pith_kernel_integer.h"

/* as to_real of the template flip turns the sign bit of i8, so that both types are unsigned
 * bytes from there on; zero moves by 128 with it. */
static inline __m512 reals(const struct byte_grid *g, __m128i x)
{
    __m128i plain = _mm_xor_si128(x, _mm_set1_epi8((char)g->flip));
    __m512i q = _mm512_sub_epi32(_mm512_cvtepu8_epi32(plain), _mm512_set1_epi32(g->zero));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(g->scale));
}

/* as to_bytes; of the two operands of max and min, NaN gives the second The bounds are cut
 * before the conversion, where they are small numbers and exact; a NaN fails both comparisons
 * and ends at the low one, as docs/arithmetic.md says. */
static inline __m128i bytes(const struct byte_grid *g, __m512 v)
{
    __m512 w = _mm512_div_ps(v, _mm512_set1_ps(g->scale));
    w = _mm512_max_ps(w, _mm512_set1_ps((float)-g->zero));
    w = _mm512_min_ps(w, _mm512_set1_ps((float)(255 - g->zero)));
    __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(w), _mm512_set1_epi32(g->zero));
    return _mm_xor_si128(_mm512_cvtepi32_epi8(q), _mm_set1_epi8((char)g->flip));
}

/* The tail is a mask: bytes behind the row are neither read nor written. max with 0 first keeps
 * a NaN. */
void pith_combine_bytes_avx512(const struct combine_bytes *c, const uint8_t *a, const uint8_t *b,
                               uint8_t *y, size_t n)
{
    for (size_t at = 0; at < n; at += 16) {
        __mmask16 some = (__mmask16)(n - at < 16 ? (1u << (n - at)) - 1 : 0xffffu);
        __m512 v = reals(&c->a, _mm_maskz_loadu_epi8(some, a + at));
        __m512 w = reals(&c->b, _mm_maskz_loadu_epi8(some, b + at));
        v = c->multiply ? _mm512_mul_ps(v, w) : _mm512_add_ps(v, w);
        if (c->relu)
            v = _mm512_max_ps(_mm512_setzero_ps(), v);
        _mm_mask_storeu_epi8(y + at, some, bytes(&c->y, v));
    }
}

/* Everything but combine is the template's, which compilers vectorize well. */
#define OWN_COMBINE
#define ROW(name) name##_avx512
#include "byte_rows_impl.h"
