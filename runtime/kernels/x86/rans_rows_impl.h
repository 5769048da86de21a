/* SPDX-License-Identifier: MIT */
/* rans_rows_impl.h - rows of kernel_decode.h by registers of eight lanes. Who includes it has
 * defined WIDTH, REGISTERS and two things of its instruction set:
 *
 *     __m256i take_words(__m256i x, const uint8_t **in): low states take their next words
 *     void put_symbols(uint8_t *out, const __m256i *e): the low bytes of 32 entries, in order
 *
 * rANS (Duda 2013) with 32-bit states and 16-bit words, interleaved as by Giesen 2014: each lane
 * is a coder of its own, and all read from one stream. See ref/rans_rows.c for the scalar form. */

/* x = f * (x >> n) + (x & mask) - c; the entry holds f, the difference and the symbol. */
static inline __m256i next_state(__m256i x, __m256i e, __m256i slots)
{
    __m256i product = _mm256_mullo_epi32(_mm256_srli_epi32(e, 20), _mm256_srli_epi32(x, RANS_BITS));
    return _mm256_add_epi32(product, _mm256_and_si256(_mm256_srli_epi32(e, 8), slots));
}

/* Bounds are tested once a row: RANS_ROW_BYTES covers the most that all lanes may take. What is
 * left is done by the scalar form. */
static inline __attribute__((always_inline)) size_t
rans_rows(uint32_t *state, const uint32_t *entries, const uint8_t **in, const uint8_t *in_end,
          uint8_t *out, size_t rows)
{
    const __m256i slots = _mm256_set1_epi32((1 << RANS_BITS) - 1);
    const uint8_t *at = *in;
    __m256i x[REGISTERS], e[REGISTERS];
    size_t row = 0;
    for (uint32_t i = 0; i < REGISTERS; i++)
        x[i] = _mm256_loadu_si256((const __m256i *)(const void *)(state + WIDTH * i));
    for (; row < rows && (size_t)(in_end - at) >= RANS_ROW_BYTES; row++, out += RANS_LANES) {
/* Gathers first, for all registers: their latency is what a row costs. */
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            e[i] = _mm256_i32gather_epi32((const int *)(const void *)entries,
                                          _mm256_and_si256(x[i], slots), 4);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            x[i] = next_state(x[i], e[i], slots);
        put_symbols(out, e);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < REGISTERS; i++)
            x[i] = take_words(x[i], &at);
    }
    for (uint32_t i = 0; i < REGISTERS; i++)
        _mm256_storeu_si256((__m256i *)(void *)(state + WIDTH * i), x[i]);
    *in = at;
    return row;
}
