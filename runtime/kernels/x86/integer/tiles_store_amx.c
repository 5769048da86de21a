/* SPDX-License-Identifier: MIT */
/* tiles_store_amx.c - see tiles_amx.h: sums of 16 pixels by 32 outputs become values, 64 at a time.
 */
#include "kernels/x86/integer/tiles_amx.h"

/* What the sums of up to 32 outputs become, of which `some` are stored. */
struct outputs {
    __m512 factor[2];
    __m512i zero;
    __m256i flip;
    __mmask32 some;
    bool small; /* factors are below 1/2: no real number leaves i32 */
};

/* With one panel its sums are loaded twice; some leaves out the second ones. */
static inline struct outputs outputs_of(const struct gemm_i8_job *job, uint32_t first, uint32_t n,
                                        uint32_t panels)
{
    const float *factor = job->to.factor + first;
    const __m512 a = _mm512_loadu_ps(factor), b = _mm512_loadu_ps(factor + (panels - 1) * LANES);
    const __m512 most = _mm512_max_ps(_mm512_abs_ps(a), _mm512_abs_ps(b));
    return (struct outputs){.factor = {a, b},
                            .small = _mm512_cmp_ps_mask(most, _mm512_set1_ps(0.5f), _CMP_LT_OQ) ==
                                     0xffff,
                            .zero = _mm512_set1_epi16((int16_t)unsigned_zero(&job->to)),
                            .flip = _mm256_set1_epi8((char)sign_flip(&job->to)),
                            .some = n < 32 ? (1u << n) - 1 : UINT32_MAX};
}

/* As store_values (gemm_i8_zmm.h), of two pixels at once. */
static inline __m512i words_of(const struct outputs *to, const int32_t *first,
                               const int32_t *second, const bool small)
{
    const __m512 high = _mm512_set1_ps(65536.0f);
    __m512 a = _mm512_mul_ps(_mm512_cvtepi32_ps(ivec_load(first)), to->factor[0]);
    __m512 b = _mm512_mul_ps(_mm512_cvtepi32_ps(ivec_load(second)), to->factor[1]);
    if (!small) {
        a = _mm512_min_ps(high, a);
        b = _mm512_min_ps(high, b);
    }
    return _mm512_adds_epi16(_mm512_packs_epi32(_mm512_cvtps_epi32(a), _mm512_cvtps_epi32(b)),
                             to->zero);
}

/* Sums of `count` pixels that lie side by side. */
static inline void store_pixels(const struct outputs *to, uint8_t *y, size_t y_step,
                                const int32_t (*first)[LANES], const int32_t (*second)[LANES],
                                uint32_t count, const bool small)
{
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    for (uint32_t i = 0; i < count; i += 2) {
        const uint32_t next = i + 1 < count ? i + 1 : i;
        const __m512i all = _mm512_permutexvar_epi32(
            order, _mm512_packus_epi16(words_of(to, first[i], second[i], small),
                                       words_of(to, first[next], second[next], small)));
        const __m256i low = _mm512_castsi512_si256(all), up = _mm512_extracti64x4_epi64(all, 1);
        _mm256_mask_storeu_epi8(y + i * y_step, to->some, _mm256_xor_si256(low, to->flip));
        _mm256_mask_storeu_epi8(y + next * y_step, to->some, _mm256_xor_si256(up, to->flip));
    }
}

/* The sums as they are, n of two panels. */
static void keep_pixels(uint8_t *y, size_t y_step, const int32_t (*first)[LANES],
                        const int32_t (*second)[LANES], uint32_t count, uint32_t n)
{
    const __mmask16 low = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffff);
    const __mmask16 up = (__mmask16)(n > LANES ? 0xffffu >> (2 * LANES - n) : 0);
    for (uint32_t i = 0; i < count; i++, y += y_step) {
        _mm512_mask_storeu_epi32(y, low, ivec_load(first[i]));
        if (up)
            _mm512_mask_storeu_epi32(y + LANES * sizeof(int32_t), up, ivec_load(second[i]));
    }
}

void pith_tiles_store(const struct gemm_i8_job *job, const int32_t sums[2][GROUP][LANES],
                      uint32_t place, uint32_t rows, uint32_t first, uint32_t panels)
{
    const uint32_t left = job->n - first, n = left < panels * LANES ? left : panels * LANES;
    const size_t each = job->to.factor ? 1 : sizeof(int32_t);
    struct outputs to = {.some = 0};
    uint32_t column = place % job->pitch;
    uint8_t *y = job->y + (size_t)(place / job->pitch) * job->row * job->y_step + first * each;
    if (job->to.factor)
        to = outputs_of(job, first, n, panels);
    for (uint32_t i = 0, count; i < rows; i += count, column += count) {
        if (column >= job->pitch) {
            column -= job->pitch;
            y += job->row * job->y_step;
        }
        const bool is_pixel = column < job->row;
        const uint32_t end = is_pixel ? job->row : job->pitch;
        count = end - column < rows - i ? end - column : rows - i;
        uint8_t *at = y + column * job->y_step;
        const int32_t(*low)[LANES] = sums[0] + i, (*up)[LANES] = sums[panels - 1] + i;
        if (!is_pixel)
            continue;
        if (!job->to.factor)
            keep_pixels(at, job->y_step, low, up, count, n);
        else if (to.small)
            store_pixels(&to, at, job->y_step, low, up, count, true);
        else
            store_pixels(&to, at, job->y_step, low, up, count, false);
    }
}
