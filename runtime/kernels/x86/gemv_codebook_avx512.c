/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx512.c - dense products from 4-bit and 5-bit indices. A block is 16 words and the
 * field at bit b of word i belongs to column 16 (b / bits) + i, so shifting all words together
 * yields neighbouring columns field after field; a look-up is one VPERMPS or VPERMT2PS. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define LANES 16u
#define ROWS                                                                                       \
    8u /* of x, each with a sum of its own: as long as a multiply-add takes on two ports           \
        */
struct table {
    __m512 half[2]; /* of 16 centroids each; 4 bits look into the first */
};

static inline void load_table(const float *codebook, struct table *t, const uint32_t bits)
{
    t->half[0] = _mm512_loadu_ps(codebook);
    t->half[1] = bits == 4 ? t->half[0] : _mm512_loadu_ps(codebook + LANES);
}

/* Panel: [block][n][field][16]. */
static inline void fill_block(const float *x, uint32_t i, uint32_t n, float *panel,
                              const uint32_t bits)
{
    const uint32_t cols = 32 / bits * LANES;
    (void)n;
    for (uint32_t c = 0; c < cols; c += LANES)
        _mm512_store_ps(panel + i * cols + c, _mm512_loadu_ps(x + c));
}

/* Nothing above the lowest 4 or 5 bits of a word is read. */
static inline __m512 look_up(const struct table *t, __m512i words, const uint32_t bits)
{
    return bits == 4 ? _mm512_permutexvar_ps(words, t->half[0])
                     : _mm512_permutex2var_ps(t->half[0], words, t->half[1]);
}

/* Few rows have several sums each, so that one need not wait for the one before it. */
static inline __attribute__((always_inline)) void part_of(const uint8_t *block, uint32_t blocks,
                                                          const float *panel, const struct table *t,
                                                          __m256 *sum_of, const uint32_t n,
                                                          const uint32_t bits)
{
    const uint32_t chains = n <= 2 ? 4 : n <= 4 ? 2 : 1, fields = 32 / bits;
    __m512 sum[ROWS];
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n * chains; i++) sum[i] = _mm512_setzero_ps();
    for (; blocks; blocks--, block += 4 * LANES, panel += n * fields * LANES) {
        __m512i words = _mm512_loadu_si512(block);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < fields; j++)
        {
            __m512 w = look_up(t, words, bits);
            words = _mm512_srli_epi32(words, bits);
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++)
            {
                __m512 *s = sum + i * chains + j % chains;
                *s = _mm512_fmadd_ps(w, _mm512_load_ps(panel + (i * fields + j) * LANES), *s);
            }
        }
    }
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++)
    {
        __m512 s = sum[i * chains];
        for (uint32_t k = 1; k < chains; k++)
            s = _mm512_add_ps(s, sum[i * chains + k]);
        sum_of[i] = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
    }
}

#include "kernels/x86/gemv_codebook_impl.h"

CODEBOOK_KERNELS(4, avx512)
CODEBOOK_KERNELS(5, avx512)
