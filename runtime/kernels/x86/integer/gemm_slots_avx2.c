/* SPDX-License-Identifier: MIT */
/* gemm_slots_avx2.c - a sparse matrix of i8 in spans (struct spans) times rows of u8.
 *
 * PSHUFB reaches 16 columns. With t the places of slots in their span, d_0 its first 16 columns and
 * d_l = columns of lane l - columns of lane l - 1, what a slot finds is
 *
 *     sum over l of d_l[t - 16 l], where that is no negative number
 *
 * modulo 256: and a negative number is one that PSHUFB makes 0 of. So a lane costs a shuffle and
 * two additions, and no masks. x enters as x - 128, so that a pair of products, |x| by w with x's
 * sign, is at most 2 * 128 * 127 and fits 16 bits. */
#include "kernels/x86/integer/simd_i32_avx2.h"

#define ROWS 2 /* of x at once: they share slots and places */
#define LANES 8u
#define CACHED_BYTES 24576u /* of x, beside a panel */

static __attribute__((noinline)) void begin_sums(const struct gemm_i8_job *job,
                                                 const struct slots_panel *p, const uint8_t *x,
                                                 uint32_t first, __m256i sum[2])
{
    uint32_t sums[SLOTS_NR];
    slots_outside(p, job->to.offset + first, x, SLOTS_MIDDLE, sums);
    sum[0] = _mm256_loadu_si256((const void *)sums);
    sum[1] = _mm256_loadu_si256((const void *)(sums + LANES));
}

/* n outputs of a row, as store_values() of gemm_i8_ymm.h. */
static __attribute__((noinline)) void store(const struct requantize *to, const __m256i sum[2],
                                            uint32_t first, uint32_t n, uint8_t *y)
{
    int32_t sums[SLOTS_NR];
    n = n < SLOTS_NR ? n : SLOTS_NR;
    if (!to->factor) {
        _mm256_storeu_si256((void *)sums, sum[0]);
        _mm256_storeu_si256((void *)(sums + LANES), sum[1]);
        memcpy(y + first * sizeof *sums, sums, n * sizeof *sums);
        return;
    }
    __m256i words = _mm256_packs_epi32(i32_scaled(sum[0], to->factor + first),
                                       i32_scaled(sum[1], to->factor + first + LANES));
    words = _mm256_adds_epi16(words, _mm256_set1_epi16((int16_t)unsigned_zero(to)));
    words = _mm256_permute4x64_epi64(words, 0xd8);
    __m256i bytes = _mm256_packus_epi16(words, _mm256_permute2x128_si256(words, words, 1));
    store_some(y + first, _mm256_xor_si256(bytes, _mm256_set1_epi8((char)sign_flip(to))), n);
}

/* 16 columns, in both halves: each half permutes its own. */
static inline __m256i lane_at(const uint8_t *x)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)x));
}

/* sum + the products of 8 outputs' four values and weights. */
static inline __m256i add_products(__m256i sum, __m256i v, const uint8_t *w)
{
    const __m256i signed_w = _mm256_sign_epi8(_mm256_load_si256((const void *)w), v);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), signed_w);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* One group of `lanes`; x: under its first lane, of each row. */
static inline __attribute__((always_inline)) void add_group(const uint8_t *at,
                                                            const uint8_t *const *x, size_t begin,
                                                            uint32_t lanes, __m256i sum[ROWS][2],
                                                            const int rows)
{
    const __m256i sixteen = _mm256_set1_epi8(SLOTS_LANE);
    __m256i t[2] = {_mm256_load_si256((const void *)at),
                    _mm256_load_si256((const void *)(at + 32))};
    __m256i before[ROWS], v[ROWS][2];
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++) {
        before[r] = lane_at(x[r] + begin);
        const __m256i d = _mm256_xor_si256(before[r], _mm256_set1_epi8((char)SLOTS_MIDDLE));
        v[r][0] = _mm256_shuffle_epi8(d, t[0]);
        v[r][1] = _mm256_shuffle_epi8(d, t[1]);
    }
    for (uint32_t l = 1; l < lanes; l++) {
        begin += SLOTS_LANE;
        t[0] = _mm256_sub_epi8(t[0], sixteen);
        t[1] = _mm256_sub_epi8(t[1], sixteen);
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++) {
            const __m256i lane = lane_at(x[r] + begin), d = _mm256_sub_epi8(lane, before[r]);
            before[r] = lane;
            v[r][0] = _mm256_add_epi8(v[r][0], _mm256_shuffle_epi8(d, t[0]));
            v[r][1] = _mm256_add_epi8(v[r][1], _mm256_shuffle_epi8(d, t[1]));
        }
    }
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++) {
        sum[r][0] = add_products(sum[r][0], v[r][0], at + 64);
        sum[r][1] = add_products(sum[r][1], v[r][1], at + 96);
    }
}

/* Groups of as many lanes stand together, so the end of the loop over lanes is foreseen. */
static inline __attribute__((always_inline)) void
panel_run(const struct gemm_i8_job *job, uint32_t i, uint32_t panel, const int rows)
{
    const struct slots_panel *p = slots_panel(job->w, panel);
    const struct spans *spans = slots_spans(p);
    const uint16_t *lane = spans->lane;
    const uint8_t *x[ROWS];
    __m256i sum[ROWS][2];
    uint32_t all = 0;
    for (uint32_t n = 0; n < SLOTS_LANES; n++)
        all += spans->groups[n];
    const uint8_t *at = (const uint8_t *)spans + spans_bytes(all);
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++) {
        x[r] = job->x[i + (uint32_t)r] + job->segment[0];
        begin_sums(job, p, x[r], panel * SLOTS_NR, sum[r]);
    }
    for (uint32_t n = 0; n < SLOTS_LANES; n++)
        for (uint32_t left = spans->groups[n]; left > 0; left--, at += SLOTS_BYTES)
            add_group(at, x, (size_t)*lane++ * SLOTS_LANE, n + 1, sum, rows);
    const uint32_t first = panel * SLOTS_NR;
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
        store(&job->to, sum[r], first, job->n - first, job->y + (i + (uint32_t)r) * job->y_step);
}

#include "kernels/x86/integer/gemm_slots_rows.h"

void pith_gemm_slots_avx2(const struct gemm_i8_job *job)
{
    slots_rows(job);
}
