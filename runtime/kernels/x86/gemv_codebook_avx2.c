/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx2.c - dense products from 4-bit indices: the four bytes of a centroid are looked
 * up one by one (VPSHUFB, 32 indices at once) and put together by unpacking.
 *
 * Indices are looked up once for up to ROWS rows of x. Their columns come from a panel that stays
 * in the first-level cache, in the order in which look-ups yield them: [step][n][8]. Rows that are
 * not there, and columns, are zeros: n is rounded up to one of a few instances, so time never falls
 * with a row more. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define LANES 8u
#define BLOCK_BYTES 64u
#define BLOCK_WORDS 16u
#define UNIT_ROWS 4u
#define BLOCK_COLS 128u
#define ROWS 8u /* of x: sums beside the table, in 16 registers */
#define PANEL_FLOATS                                                                               \
    (ROWS * 6 * BLOCK_COLS) /* six blocks of each, which leave room in the cache                   \
                             */
#define ROWS_AHEAD 4u /* of the weight, that are prefetched: each panel reads a part of a row */

struct x_rows {
    const float *x;
    size_t step; /* floats from one row to the next */
    uint32_t n;
};

struct table {
    __m256i plane[4]; /* byte p of 16 centroids, twice */
};

/* y [n]: the lanes of each sum added, pairs first, then quarters, then halves. n is a constant. */
static inline __attribute__((always_inline)) void add_lanes(const __m256 *sum, float *y,
                                                            const uint32_t n)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 four[2];
    for (uint32_t i = 0; i < n; i += 4)
        four[i / 4] = _mm256_hadd_ps(_mm256_hadd_ps(sum[i], n > 1 ? sum[i + 1] : zero),
                                     n > 2 ? _mm256_hadd_ps(sum[i + 2], sum[i + 3]) : zero);
    if (n > 4)
        _mm256_storeu_ps(y, _mm256_add_ps(_mm256_permute2f128_ps(four[0], four[1], 0x20),
                                          _mm256_permute2f128_ps(four[0], four[1], 0x31)));
    else
        _mm_storeu_ps(
            y, _mm_add_ps(_mm256_castps256_ps128(four[0]), _mm256_extractf128_ps(four[0], 1)));
}

/* Columns c .. c + 127 of row i, zeros past the last; buffer: [BLOCK_COLS], for those at the end.
 */
static const float *block_of(const struct x_rows *from, uint32_t i, uint32_t c, uint32_t cols,
                             float *buffer)
{
    const float *x = from->x + i * from->step + c;
    if (i < from->n && cols - c >= BLOCK_COLS)
        return x;
    memset(buffer, 0, BLOCK_COLS * sizeof *buffer);
    if (i < from->n)
        memcpy(buffer, x, (cols - c) * sizeof *buffer);
    return buffer;
}

/* Unpacking yields words a and 4 + a of a half block at step a, the fields of a word side by side,
 * the even ones before the odd ones. */
static __attribute__((noinline)) void fill_panel(const struct x_rows *from, uint32_t n,
                                                 uint32_t cols, float *panel)
{
    float buffer[BLOCK_COLS];
    for (uint32_t c = 0; c < cols; c += BLOCK_COLS, panel += (size_t)n * BLOCK_COLS)
        for (uint32_t i = 0; i < n; i++) {
            const float *x = block_of(from, i, c, cols, buffer);
            for (uint32_t quad = 0; quad < 8; quad++) { /* half, odd, words from 4 on */
                const float *field = x + quad / 4 * 8 + quad / 2 % 2 * BLOCK_WORDS + quad % 2 * 4;
                __m128 a = _mm_loadu_ps(field), b = _mm_loadu_ps(field + 2 * BLOCK_WORDS);
                __m128 d = _mm_loadu_ps(field + 4 * BLOCK_WORDS);
                __m128 e = _mm_loadu_ps(field + 6 * BLOCK_WORDS);
                _MM_TRANSPOSE4_PS(a, b, d, e);
                float *to = panel + ((size_t)quad / 2 * 4 * n + i) * LANES + quad % 2 * 4;
                _mm_storeu_ps(to, a), _mm_storeu_ps(to + (size_t)n * LANES, b);
                _mm_storeu_ps(to + (size_t)2 * n * LANES, d);
                _mm_storeu_ps(to + (size_t)3 * n * LANES, e);
            }
        }
}

static __attribute__((noinline)) void load_table(const float *codebook, struct table *t)
{
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128 of[4];
    for (uint32_t i = 0; i < 4; i++)
        of[i] = _mm_castsi128_ps(_mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *)(const void *)(codebook + 4 * (size_t)i)), order));
    _MM_TRANSPOSE4_PS(of[0], of[1], of[2], of[3]);
    for (uint32_t p = 0; p < 4; p++)
        t->plane[p] = _mm256_broadcastsi128_si256(_mm_castps_si128(of[p]));
}

static inline void look_up(const struct table *t, __m256i index, __m256 *w)
{
    __m256i a = _mm256_shuffle_epi8(t->plane[0], index);
    __m256i b = _mm256_shuffle_epi8(t->plane[1], index);
    __m256i c = _mm256_shuffle_epi8(t->plane[2], index);
    __m256i d = _mm256_shuffle_epi8(t->plane[3], index);
    __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpacklo_epi8(c, d);
    w[0] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low, high));
    w[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low, high));
    low = _mm256_unpackhi_epi8(a, b), high = _mm256_unpackhi_epi8(c, d);
    w[2] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low, high));
    w[3] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low, high));
}

static inline __m256i words_at(const uint8_t *block)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)block);
}

/* y [n]: what `blocks` add to it. Few rows have several sums each, so that one need not wait for
 * the one before it. n is a constant. */
static inline __attribute__((always_inline)) void part_of(const uint8_t *block, uint32_t blocks,
                                                          const float *panel, const struct table *t,
                                                          float *y, const uint32_t n)
{
    const uint32_t chains = n <= 2 ? 4 : n <= 4 ? 2 : 1;
    const __m256i low = _mm256_set1_epi8(15);
    __m256 sum[ROWS], w[4];
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n * chains; i++) sum[i] = _mm256_setzero_ps();
    for (uint32_t half = 0; half < 2 * blocks; half++, block += 4 * LANES) {
        __m256i words = words_at(block);
        _Pragma("GCC unroll 2") for (uint32_t odd = 0; odd < 2; odd++, panel += 4 * n * LANES)
        {
            look_up(t, _mm256_and_si256(odd ? _mm256_srli_epi16(words, 4) : words, low), w);
            _Pragma("GCC unroll 4") for (uint32_t a = 0; a < 4; a++)
                _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++)
            {
                __m256 *s = sum + i * chains + a % chains;
                *s = _mm256_fmadd_ps(w[a], _mm256_loadu_ps(panel + (a * n + i) * LANES), *s);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        __m256 s = sum[i * chains];
        for (uint32_t k = 1; k < chains; k++)
            s = _mm256_add_ps(s, sum[i * chains + k]);
        sum[i] = s;
    }
    add_lanes(sum, y, n);
}

/* Up to ROWS rows of x. */
static void rows_of(const struct run_form *f, const float *x, float *y, uint32_t m, uint32_t begin,
                    uint32_t end)
{
    const uint32_t n = m <= 2 ? m : m <= 4 ? 4 : ROWS;
    const uint32_t panel_cols = PANEL_FLOATS / n;
    const float *codebook = form_at(f, f->codebook);
    _Alignas(64) float panel[PANEL_FLOATS];
    float sums[ROWS];
    struct table t;
    for (uint32_t c0 = 0; c0 < f->cols; c0 += panel_cols) {
        const uint32_t cols = f->cols - c0 < panel_cols ? f->cols - c0 : panel_cols;
        const uint32_t blocks = (cols + BLOCK_COLS - 1) / BLOCK_COLS;
        fill_panel(&(struct x_rows){x + c0, f->cols, m}, n, cols, panel);
        load_table(codebook, &t);
        for (uint32_t r = begin; r < end; r++) {
            const uint8_t *block =
                form_at(f, f->index + (uint64_t)r * f->row_bytes + c0 / BLOCK_COLS * BLOCK_BYTES);
            for (uint32_t b = 0; b < blocks; b++)
                _mm_prefetch((const char *)(block + (size_t)ROWS_AHEAD * f->row_bytes +
                                            (size_t)b * BLOCK_BYTES),
                             _MM_HINT_T0);
            if (f->codebook_stride)
                load_table(codebook + (size_t)r * f->codebook_stride, &t);
            if (n == 1)
                part_of(block, blocks, panel, &t, sums, 1);
            else if (n == 2)
                part_of(block, blocks, panel, &t, sums, 2);
            else if (n == 4)
                part_of(block, blocks, panel, &t, sums, 4);
            else
                part_of(block, blocks, panel, &t, sums, ROWS);
            for (uint32_t i = 0; i < m; i++) {
                float *to = y + (size_t)i * f->rows + r;
                *to = c0 ? *to + sums[i] : sums[i];
            }
        }
    }
}

void pith_gemm_codebook4_avx2(const struct run_form *f, const float *x, float *y, uint32_t m,
                              uint32_t unit_begin, uint32_t unit_end)
{
    uint32_t begin = unit_begin * UNIT_ROWS, n;
    uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;
    for (; m; m -= n, x += (size_t)n * f->cols, y += (size_t)n * f->rows) {
        n = m < ROWS ? m : ROWS;
        rows_of(f, x, y, n, begin, end);
    }
}

void pith_gemv_codebook4_avx2(const struct run_form *f, const float *x, float *y,
                              uint32_t unit_begin, uint32_t unit_end)
{
    rows_of(f, x, y, 1, unit_begin * UNIT_ROWS,
            unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows);
}
