/* SPDX-License-Identifier: MIT */
/* gemv_codebook_impl.h - dense products from indices, whose centroids are looked up once for up to
 * ROWS rows of x. Columns of x come from a panel that stays in the first-level cache. Rows that are
 * not there, and columns past a row's end, are zeros: n, the rows of the panel, is one of a few
 * constants, so time never falls with a row more.
 *
 * A level defines, before it includes this: struct table; load_table(codebook, t, bits);
 * fill_block(x, i, n, panel, bits), which puts the block x of row i where part_of expects it; and
 * part_of(block, blocks, panel, t, sum, n, bits): for each row eight lanes whose sum is what these
 * blocks add to it. */
#ifndef GEMV_CODEBOOK_IMPL_H
#define GEMV_CODEBOOK_IMPL_H

#define UNIT_ROWS 4u
#define BLOCK_BYTES 64u
#define MOST_BLOCK_COLS 128u
#define PANEL_FLOATS (ROWS * 768)
#define ROWS_AHEAD 4u /* of the weight, that are prefetched: each panel reads a part of a row */
#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t block_cols(const uint32_t bits)
{
    return bits == 4 ? 128 : bits == 5 ? 96 : 64;
}

/* y [n]: the lanes of each sum added, pairs first, then quarters, then halves. n is a constant. */
INLINE void add_lanes(const __m256 *sum, float *y, const uint32_t n)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 four[2];
    _Pragma("GCC unroll 2") for (uint32_t i = 0; i < n; i += 4) four[i / 4] =
        _mm256_hadd_ps(_mm256_hadd_ps(sum[i], n > 1 ? sum[i + 1] : zero),
                       n > 2 ? _mm256_hadd_ps(sum[i + 2], sum[i + 3]) : zero);
    if (n > 4)
        _mm256_storeu_ps(y, _mm256_add_ps(_mm256_permute2f128_ps(four[0], four[1], 0x20),
                                          _mm256_permute2f128_ps(four[0], four[1], 0x31)));
    else
        _mm_storeu_ps(
            y, _mm_add_ps(_mm256_castps256_ps128(four[0]), _mm256_extractf128_ps(four[0], 1)));
}

/* m rows of x, of which the panel takes `cols` columns. */
INLINE void fill_panel(const float *x, size_t x_step, uint32_t m, uint32_t n, uint32_t cols,
                       float *panel, const uint32_t bits)
{
    float buffer[MOST_BLOCK_COLS];
    for (uint32_t c = 0; c < cols; c += block_cols(bits), panel += (size_t)n * block_cols(bits))
        for (uint32_t i = 0; i < n; i++) {
            const float *from = x + i * x_step + c;
            if (i >= m || cols - c < block_cols(bits)) {
                memset(buffer, 0, sizeof buffer);
                if (i < m)
                    memcpy(buffer, from, (cols - c) * sizeof *buffer);
                from = buffer;
            }
            fill_block(from, i, n, panel, bits);
        }
}

/* Up to ROWS rows of x. */
INLINE void rows_of(const struct run_form *f, const float *x, float *y, uint32_t m, uint32_t begin,
                    uint32_t end, const uint32_t bits)
{
    const uint32_t n = m <= 2 ? m : m <= 4 ? 4 : ROWS;
    const uint32_t panel_cols = PANEL_FLOATS / n / block_cols(bits) * block_cols(bits);
    const float *codebook = form_at(f, f->codebook);
    _Alignas(64) float panel[PANEL_FLOATS];
    float sums[ROWS];
    __m256 lanes[ROWS];
    struct table t;
    for (uint32_t c0 = 0; c0 < f->cols; c0 += panel_cols) {
        const uint32_t cols = f->cols - c0 < panel_cols ? f->cols - c0 : panel_cols;
        const uint32_t blocks = (cols + block_cols(bits) - 1) / block_cols(bits);
        fill_panel(x + c0, f->cols, m, n, cols, panel, bits);
        load_table(codebook, &t, bits);
        for (uint32_t r = begin; r < end; r++) {
            const uint8_t *block = form_at(f, f->index + (uint64_t)r * f->row_bytes +
                                                  (uint64_t)c0 / block_cols(bits) * BLOCK_BYTES);
            for (uint32_t b = 0; b < blocks; b++)
                _mm_prefetch((const char *)(block + (size_t)ROWS_AHEAD * f->row_bytes +
                                            (size_t)b * BLOCK_BYTES),
                             _MM_HINT_T0);
            if (f->codebook_stride)
                load_table(codebook + (size_t)r * f->codebook_stride, &t, bits);
            if (n == 1)
                part_of(block, blocks, panel, &t, lanes, 1, bits);
            else if (n == 2)
                part_of(block, blocks, panel, &t, lanes, 2, bits);
            else if (n == 4)
                part_of(block, blocks, panel, &t, lanes, 4, bits);
            else
                part_of(block, blocks, panel, &t, lanes, ROWS, bits);
            add_lanes(lanes, sums, n);
            for (uint32_t i = 0; i < m; i++) {
                float *to = y + (size_t)i * f->rows + r;
                *to = c0 ? *to + sums[i] : sums[i];
            }
        }
    }
}

/* The two kernels of a form: one row of x, and several. */
#define CODEBOOK_KERNELS(bits, level)                                                              \
    void pith_gemm_codebook##bits##_##level(const struct run_form *f, const float *x, float *y,    \
                                            uint32_t m, uint32_t unit_begin, uint32_t unit_end)    \
    {                                                                                              \
        uint32_t begin = unit_begin * UNIT_ROWS, n;                                                \
        uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;                     \
        for (; m; m -= n, x += (size_t)n * f->cols, y += (size_t)n * f->rows) {                    \
            n = m < ROWS ? m : ROWS;                                                               \
            rows_of(f, x, y, n, begin, end, bits);                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void pith_gemv_codebook##bits##_##level(const struct run_form *f, const float *x, float *y,    \
                                            uint32_t unit_begin, uint32_t unit_end)                \
    {                                                                                              \
        pith_gemm_codebook##bits##_##level(f, x, y, 1, unit_begin, unit_end);                      \
    }

#endif
