/* SPDX-License-Identifier: MIT */
/* context_indices_avx2.c - pith_kernel_context.h with a distribution in a register.
 *
 * One register holds the 16 probabilities of a context, so that bounds, search and learning are
 * a few instructions each without a loop. The arithmetic is that of ref/pith_context_impl.h to
 * the bit: a stream has one meaning. */
#include <immintrin.h>
#include "context_decoder.h"
#include "pith_kernel_decode.h"

/* Sixteen lanes of 16 bits; all numbers are below 2^16. */
typedef __m256i lanes;

static inline lanes lanes_load(const uint16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline void lanes_store(uint16_t *p, lanes v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}

static inline lanes lanes_average(lanes a, lanes b)
{
    return _mm256_avg_epu16(a, b);
}

/* keep and least turn a probability into a bound that no symbol's interval is empty under; the
 * high half of the product is a division by 2^16. */
static inline lanes lanes_bounds(lanes m, const struct context_alphabet *a, uint32_t range)
{
    lanes kept = _mm256_mulhi_epu16(m, _mm256_set1_epi16((short)a->keep));
    lanes f = _mm256_add_epi16(kept, lanes_load(a->least));
    return _mm256_mulhi_epu16(f, _mm256_set1_epi16((short)range));
}

/* Two's complement complement and back (the xor with `above`) lets one unsigned multiplication
 * move bounds up and down alike; the low product's top bit rounds. */
static inline lanes lanes_learned(lanes m, lanes above, uint32_t rate)
{
    lanes x = _mm256_xor_si256(m, above), r = _mm256_set1_epi16((short)rate);
    lanes d =
        _mm256_add_epi16(_mm256_mulhi_epu16(x, r), _mm256_srli_epi16(_mm256_mullo_epi16(x, r), 15));
    return _mm256_sub_epi16(m, _mm256_sub_epi16(_mm256_xor_si256(d, above), above));
}

/* Of lanes of 16 bits there is a horizontal minimum, sooner than a load of what was just stored. */
static inline uint32_t least_lane(lanes x)
{
    __m128i l = _mm_min_epu16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(l)) & 65535;
}

/* bounds > v are those that do not change when they are raised to v + 1; v < 65535 while the
 * stream is one, and if it is not, nothing is above. Bounds fall with the symbol, so the first
 * one that is not above v ends the search: a count of trailing ones, in bytes, hence the half. Its
 * part of the range is between the least bound above v and the largest of the others. */
static inline uint32_t code_symbol(struct context_walk *t, lanes bounds, uint32_t symbol,
                                   lanes *above)
{
    fill_window(t);
    uint32_t v = (uint32_t)(t->window >> WINDOW_TOP);
    lanes raised = _mm256_max_epu16(bounds, _mm256_set1_epi16((short)(v + (v < 65535))));
    *above = _mm256_cmpeq_epi16(raised, bounds);
    symbol = (uint32_t)__builtin_ctz(~(uint32_t)_mm256_movemask_epi8(*above)) / 2;
    const lanes ones = _mm256_set1_epi16(-1);
    uint32_t high = least_lane(_mm256_or_si256(bounds, _mm256_xor_si256(*above, ones)));
    uint32_t low = 65535 - least_lane(_mm256_or_si256(_mm256_xor_si256(bounds, ones), *above));
    narrow(t, low, high < t->range ? high : t->range);
    return symbol;
}

#include "pith_context_impl.h"

/* Flat, so that the walk stays in registers: a sixth less time. */
__attribute__((flatten)) void pith_context_indices_avx2(struct context_coder *c, uint8_t *index,
                                                        size_t n)
{
    context_decode(c, index, n);
}
