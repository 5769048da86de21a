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
