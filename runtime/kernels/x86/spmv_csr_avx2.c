/* SPDX-License-Identifier: MIT */
/* spmv_csr_avx2.c - the row-pointer products, eight nonzeros at a time.
 *
 * x is collected by eight scalar loads and seven inserts, not by VGATHERDPS: on Zen 4 the gather
 * takes some eleven cycles where these take eight, and on Intel cores with the microcode against
 * Gather Data Sampling it is slower still. Up to 32 centroids are looked up in four registers; with
 * larger codebooks, collected from memory like x, half the speed of stored values was left. The
 * last nonzeros of a row go one by one.
 *
 * Prefetch: three streams and the scattered reads of x are too much for the hardware alone (4096 x
 * 9216 at 9 %, 10 MB: 1480 us without, 1140 us with). */
#include <immintrin.h>
#include "kernels/ref/csr_rows.h"

#define PREFETCH 512u /* nonzeros ahead */

/* A macro for the immediate; load and insert become one INSERTPS from memory. */
#define INSERT(v, p, lane) _mm_insert_ps(v, _mm_load_ss(p), (lane) << 4)
#define COLLECT4(t, i)                                                                             \
    INSERT(INSERT(INSERT(_mm_load_ss((t) + (i)[0]), (t) + (i)[1], 1), (t) + (i)[2], 2),            \
           (t) + (i)[3], 3)
#define COLLECT8(t, i) _mm256_set_m128(COLLECT4(t, (i) + 4), COLLECT4(t, i))

static inline float sum_of(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Eight centroids of a codebook of 32. */
static inline __m256 look_up(const uint8_t *index, const __m256 c[4])
{
    __m256i i = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)index));
    __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28));
    __m256 bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(i, 27));
    __m256 low = _mm256_blendv_ps(_mm256_permutevar8x32_ps(c[0], i),
                                  _mm256_permutevar8x32_ps(c[1], i), bit3);
    __m256 high = _mm256_blendv_ps(_mm256_permutevar8x32_ps(c[2], i),
                                   _mm256_permutevar8x32_ps(c[3], i), bit3);
    return _mm256_blendv_ps(low, high, bit4);
}

static void load_codebook(__m256 c[4], const float *codebook, bool of_32)
{
    c[0] = _mm256_loadu_ps(codebook);
    c[1] = _mm256_loadu_ps(codebook + 8);
    c[2] = of_32 ? _mm256_loadu_ps(codebook + 16) : c[0];
    c[3] = of_32 ? _mm256_loadu_ps(codebook + 24) : c[1];
}

static float codebook_row(const struct rows *m, uint32_t r, const float *codebook,
                          const __m256 c[4], const float *x)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0;
    const uint16_t *col = m->col;
    uint32_t i = m->ptr[r], end = m->ptr[r + 1];
    for (; end - i >= 16; i += 16) {
        _mm_prefetch((const char *)(m->index + i + PREFETCH), _MM_HINT_T0);
        _mm_prefetch((const char *)(col + i + PREFETCH), _MM_HINT_T0);
        s0 = _mm256_fmadd_ps(look_up(m->index + i, c), COLLECT8(x, col + i), s0);
        s1 = _mm256_fmadd_ps(look_up(m->index + i + 8, c), COLLECT8(x, col + i + 8), s1);
    }
    float rest = 0;
    for (; i < end; i++)
        rest += codebook[m->index[i]] * x[col[i]];
    return sum_of(_mm256_add_ps(s0, s1)) + rest;
}

void pith_spmv_csr_codebook_avx2(const struct run_form *f, const float *x, float *y,
                                 uint32_t unit_begin, uint32_t unit_end)
{
    if (f->codebook_floats > 32) { /* not built at this level */
        pith_spmv_csr_codebook(f, x, y, unit_begin, unit_end);
        return;
    }
    const struct rows m = rows_of(f, unit_begin, unit_end);
    const float *codebook = form_at(f, f->codebook);
    for (uint32_t r = m.begin; r < m.end; r++) {
        const float *own = codebook + (size_t)r * f->codebook_stride;
        __m256 c[4];
        load_codebook(c, own, f->codebook_floats == 32);
        y[r] = codebook_row(&m, r, own, c, x);
    }
}

void pith_spmv_csr_value_avx2(const struct run_form *f, const float *x, float *y,
                              uint32_t unit_begin, uint32_t unit_end)
{
    const struct rows m = rows_of(f, unit_begin, unit_end);
    for (uint32_t r = m.begin; r < m.end; r++) {
        __m256 s0 = _mm256_setzero_ps(), s1 = s0;
        uint32_t i = m.ptr[r], end = m.ptr[r + 1];
        for (; end - i >= 16; i += 16) {
            _mm_prefetch((const char *)(m.value + i + PREFETCH), _MM_HINT_T0);
            _mm_prefetch((const char *)(m.col + i + PREFETCH), _MM_HINT_T0);
            s0 = _mm256_fmadd_ps(_mm256_loadu_ps(m.value + i), COLLECT8(x, m.col + i), s0);
            s1 = _mm256_fmadd_ps(_mm256_loadu_ps(m.value + i + 8), COLLECT8(x, m.col + i + 8), s1);
        }
        float rest = 0;
        for (; i < end; i++)
            rest += m.value[i] * x[m.col[i]];
        y[r] = sum_of(_mm256_add_ps(s0, s1)) + rest;
    }
}
