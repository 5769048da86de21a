/* SPDX-License-Identifier: MIT */
/* gemv_codebook_impl.h - dense products from 4-bit and 5-bit indices, written once for both vector
 * widths. A block is 16 words and the field at bit b of word i belongs to column 16 (b / bits) + i,
 * so shifting all words together yields neighbouring columns field after field.
 *
 * The includer defines LANES (8 or 16), VEC, the operations below, NAME(bits), and the tables
 * TABLE4, TABLE5 with LOAD_TABLE4/5(t, codebook) and LOOK_UP4/5(t, words), which read nothing
 * above the lowest 4 or 5 bits of a word. Columns past a row's end meet zeros in a copy of x.
 *
 * Weights stay indices in memory, so a row of 4-bit weights is an eighth of its floats: these
 * products wait for memory, and looking up is free meanwhile. */
#define BLOCK_BYTES 64u
#define BLOCK_WORDS 16u
#define UNIT_ROWS 4u
#define COLS4 128u
#define COLS5 96u

/* The block's own sum is added to the row's: chains of at most eight multiply-adds. */
#define ROW(bits, fields)                                                                          \
    static inline VEC NAME(block##bits)(const uint8_t *block, const float *x, const TABLE##bits t, \
                                        VEC sum)                                                   \
    {                                                                                              \
        for (uint32_t half = 0; half < BLOCK_WORDS; half += LANES) {                               \
            IVEC words = LOAD_WORDS(block + half * 4);                                             \
            VEC s = ZERO();                                                                        \
            for (uint32_t j = 0; j < (fields); j++) {                                              \
                s = MULTIPLY_ADD(LOOK_UP##bits(t, words), LOAD(x + j * BLOCK_WORDS + half), s);    \
                words = SHIFT_RIGHT(words, bits);                                                  \
            }                                                                                      \
            sum = ADD(sum, s);                                                                     \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    void NAME(pith_gemv_codebook##bits)(const struct run_form *f, const float *x, float *y,        \
                                        uint32_t unit_begin, uint32_t unit_end)                    \
    {                                                                                              \
        uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;                     \
        uint32_t whole = f->cols / COLS##bits, tail = f->cols % COLS##bits;                        \
        float x_tail[COLS##bits];                                                                  \
        memset(x_tail, 0, sizeof x_tail);                                                          \
        memcpy(x_tail, x + (size_t)whole * COLS##bits, tail * sizeof *x);                          \
        for (uint32_t r = unit_begin * UNIT_ROWS; r < end; r++) {                                  \
            const float *codebook = form_at(f, f->codebook);                                       \
            const uint8_t *row = form_at(f, f->index + (uint64_t)r * f->row_bytes);                \
            TABLE##bits t;                                                                         \
            LOAD_TABLE##bits(t, codebook + (size_t)r * f->codebook_stride);                        \
            VEC sum = ZERO();                                                                      \
            for (uint32_t b = 0; b < whole; b++)                                                   \
                sum = NAME(block##bits)(row + (size_t)b * BLOCK_BYTES, x + (size_t)b * COLS##bits, \
                                        t, sum);                                                   \
            if (tail)                                                                              \
                sum = NAME(block##bits)(row + (size_t)whole * BLOCK_BYTES, x_tail, t, sum);        \
            y[r] = SUM(sum);                                                                       \
        }                                                                                          \
    }

ROW(4, 8)
ROW(5, 6)

#ifdef SEVERAL_ROWS
/* Several rows of x: indices are looked up once for up to SEVERAL_ROWS of them, whose columns come
 * from a panel that stays in the first-level cache. In it each step, a field of half a block, has
 * one vector of every row: [step][n][LANES]. Rows that are not there, and columns, are zeros.
 * So n is rounded up to one of a few instances, and time never falls with a row more. */
#define PANEL_COLS 384u /* whole blocks of either kind */
#define ROWS_AHEAD 4u   /* of the weight, that are prefetched: each panel reads a part of a row */

/* Rows of x, `step` apart. */
struct x_rows {
    const float *x;
    size_t step;
    uint32_t n;
};

/* `cols` columns of n rows, of which from->n are there. */
static void fill_panel(const struct x_rows *from, uint32_t n, uint32_t cols, uint32_t fields,
                       float *panel)
{
    const uint32_t blocks = (cols + fields * BLOCK_WORDS - 1) / (fields * BLOCK_WORDS);
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t half = 0; half < BLOCK_WORDS; half += LANES)
            for (uint32_t j = 0; j < fields; j++) {
                const uint32_t c = (b * fields + j) * BLOCK_WORDS + half;
                const float *x = from->x + c;
                for (uint32_t i = 0; i < n; i++, x += from->step, panel += LANES) {
                    memset(panel, 0, LANES * sizeof *panel);
                    if (i < from->n && c + LANES <= cols)
                        memcpy(panel, x, LANES * sizeof *panel);
                    else if (i < from->n && c < cols)
                        memcpy(panel, x, (cols - c) * sizeof *panel);
                }
            }
}

/* y [n][ldy] of one row of the weight: what `blocks` add to it. n is a constant. */
#define PART(bits, fields)                                                                         \
    static inline __attribute__((always_inline)) void NAME(part##bits)(                            \
        const uint8_t *block, uint32_t blocks, const float *panel, const TABLE##bits t, float *y,  \
        const uint32_t n)                                                                          \
    {                                                                                              \
        VEC sum[SEVERAL_ROWS];                                                                     \
        _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++) sum[i] = ZERO();                  \
        for (uint32_t half = 0; half < blocks * (BLOCK_WORDS / LANES);                             \
             half++, block += 4 * LANES) {                                                         \
            IVEC words = LOAD_WORDS(block);                                                        \
            for (uint32_t j = 0; j < (fields); j++, panel += n * LANES) {                          \
                const VEC w = LOOK_UP##bits(t, words);                                             \
                _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++) sum[i] =                  \
                    MULTIPLY_ADD(w, LOAD(panel + i * LANES), sum[i]);                              \
                words = SHIFT_RIGHT(words, bits);                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++) y[i] = SUM(sum[i]);               \
    }                                                                                              \
                                                                                                   \
    /* Up to SEVERAL_ROWS rows of x. */                                                            \
    static void NAME(rows##bits)(const struct run_form *f, const float *x, float *y, uint32_t m,   \
                                 uint32_t begin, uint32_t end)                                     \
    {                                                                                              \
        const uint32_t n = m <= 2 ? 2 : m <= 4 ? 4 : m <= 6 ? 6 : 8;                               \
        float panel[PANEL_COLS * SEVERAL_ROWS];                                                    \
        for (uint32_t c0 = 0; c0 < f->cols; c0 += PANEL_COLS) {                                    \
            const uint32_t cols = f->cols - c0 < PANEL_COLS ? f->cols - c0 : PANEL_COLS;           \
            const uint32_t blocks = (cols + COLS##bits - 1) / COLS##bits;                          \
            fill_panel(&(struct x_rows){x + c0, f->cols, m}, n, cols, fields, panel);              \
            for (uint32_t r = begin; r < end; r++) {                                               \
                const float *codebook = form_at(f, f->codebook);                                   \
                const uint8_t *block = form_at(f, f->index + (uint64_t)r * f->row_bytes +          \
                                                      c0 / COLS##bits * BLOCK_BYTES);              \
                for (uint32_t b = 0; b < blocks; b++)                                              \
                    _mm_prefetch((const char *)(block + (size_t)ROWS_AHEAD * f->row_bytes +        \
                                                b * BLOCK_BYTES),                                  \
                                 _MM_HINT_T0);                                                     \
                TABLE##bits t;                                                                     \
                LOAD_TABLE##bits(t, codebook + (size_t)r * f->codebook_stride);                    \
                float part[SEVERAL_ROWS];                                                          \
                if (n == 2)                                                                        \
                    NAME(part##bits)(block, blocks, panel, t, part, 2);                            \
                else if (n == 4)                                                                   \
                    NAME(part##bits)(block, blocks, panel, t, part, 4);                            \
                else if (n == 6)                                                                   \
                    NAME(part##bits)(block, blocks, panel, t, part, 6);                            \
                else                                                                               \
                    NAME(part##bits)(block, blocks, panel, t, part, 8);                            \
                for (uint32_t i = 0; i < m; i++) {                                                 \
                    float *to = y + (size_t)i * f->rows + r;                                       \
                    *to = c0 ? *to + part[i] : part[i];                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void NAME(pith_gemm_codebook##bits)(const struct run_form *f, const float *x, float *y,        \
                                        uint32_t m, uint32_t unit_begin, uint32_t unit_end)        \
    {                                                                                              \
        uint32_t begin = unit_begin * UNIT_ROWS, n;                                                \
        uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;                     \
        for (uint32_t i = 0; i < m; i += n) {                                                      \
            n = m - i < SEVERAL_ROWS ? m - i : SEVERAL_ROWS;                                       \
            NAME(rows##bits)(f, x + (size_t)i * f->cols, y + (size_t)i * f->rows, n, begin, end);  \
        }                                                                                          \
    }

PART(4, 8)
PART(5, 6)
#endif
