/* SPDX-License-Identifier: MIT */
/* gemv_codebook_neon.c - dense products from indices of 4, 5 and 8 bits (kernel_sparse.h).
 *
 * Field j of the 16 words of a block belongs to 16 neighbouring columns. A load that takes every
 * fourth byte gives byte b of all words, from which a shift or two make the 16 indices of a field:
 * as many as a look-up takes. */
#include "kernels/arm/look_up_f32.h"

#define BLOCK_BYTES 64u
#define UNIT_ROWS 4u
#define COLS4 128u
#define COLS5 96u
#define COLS8 64u

static inline __attribute__((always_inline)) void x_load(float32x4_t v[4], const float *x)
{
    for (int q = 0; q < 4; q++)
        v[q] = vld1q_f32(x + 4 * q);
}

/* sum += 16 columns of a field times x; index: below 16 */
static inline __attribute__((always_inline)) void
add16(float32x4_t sum[4], const struct planes16 *p, uint8x16_t index, const float *x)
{
    float32x4_t v[4];
    x_load(v, x);
    add_products(sum, look_up16(p, index), v);
}

/* As add16(), with indices in the lowest five bits. */
static inline __attribute__((always_inline)) void
add32(float32x4_t sum[4], const struct planes32 *p, uint8x16_t bits, const float *x)
{
    float32x4_t v[4];
    x_load(v, x);
    add_products(sum, look_up32(p, vandq_u8(bits, vdupq_n_u8(31))), v);
}

/* Byte b has the fields 2 b and 2 b + 1. */
static inline __attribute__((always_inline)) void
block4(float32x4_t sum[4], const struct planes16 *p, const uint8_t *index, const float *x)
{
    const uint8x16x4_t word = vld4q_u8(index);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        add16(sum, p, vandq_u8(word.val[i], vdupq_n_u8(15)), x + 32 * i);
        add16(sum, p, vshrq_n_u8(word.val[i], 4), x + 32 * i + 16);
    }
}

/* Fields 1, 3 and 4 begin in one byte and end in the next: SRI puts them together. */
static inline __attribute__((always_inline)) void
block5(float32x4_t sum[4], const struct planes32 *p, const uint8_t *index, const float *x)
{
    const uint8x16x4_t word = vld4q_u8(index);
    const uint8x16_t *w = word.val;
    add32(sum, p, w[0], x);
    add32(sum, p, vsriq_n_u8(vshlq_n_u8(w[1], 3), w[0], 5), x + 16);
    add32(sum, p, vshrq_n_u8(w[1], 2), x + 32);
    add32(sum, p, vsriq_n_u8(vshlq_n_u8(w[2], 1), w[1], 7), x + 48);
    add32(sum, p, vsriq_n_u8(vshlq_n_u8(w[3], 4), w[2], 4), x + 64);
    add32(sum, p, vshrq_n_u8(w[3], 1), x + 80);
}

/* Four neighbouring bytes are the indices of four neighbouring columns. */
static inline __attribute__((always_inline)) void block8(float32x4_t sum[4], const float *codebook,
                                                         const uint8_t *index, const float *x)
{
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
#pragma GCC unroll 4
        for (int l = 0; l < 4; l++)
            sum[l] = vfmaq_f32(sum[l], collect(codebook, load_le32(index + 16 * l + 4 * q), 8),
                               vld1q_f32(x + 16 * q + 4 * l));
}

/* Columns past a row's end meet zeros in a copy of x. */
#define ROWS(bits, table, table_of)                                                                \
    void pith_gemv_codebook##bits##_neon(const struct run_form *f, const float *x, float *y,       \
                                         uint32_t unit_begin, uint32_t unit_end)                   \
    {                                                                                              \
        const uint32_t end = unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows;               \
        const uint32_t whole = f->cols / COLS##bits, tail = f->cols % COLS##bits;                  \
        const float *codebook = form_at(f, f->codebook);                                           \
        float x_tail[COLS##bits] = {0};                                                            \
        memcpy(x_tail, x + (size_t)whole * COLS##bits, tail * sizeof *x);                          \
        for (uint32_t r = unit_begin * UNIT_ROWS; r < end; r++) {                                  \
            const float *own = codebook + (size_t)r * f->codebook_stride;                          \
            table t = table_of(own);                                                               \
            const uint8_t *index = form_at(f, f->index + (uint64_t)r * f->row_bytes);              \
            float32x4_t sum[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)}; \
            for (uint32_t i = 0; i < whole; i++, index += BLOCK_BYTES)                             \
                block##bits(sum, TABLE(t), index, x + (size_t)i * COLS##bits);                     \
            if (tail)                                                                              \
                block##bits(sum, TABLE(t), index, x_tail);                                         \
            y[r] = sum_of(sum);                                                                    \
        }                                                                                          \
    }

#define TABLE(t) &(t)
ROWS(4, const struct planes16, planes16_of)
ROWS(5, const struct planes32, planes32_of)
#undef TABLE
#define TABLE(t) (t)
ROWS(8, const float *const, )
