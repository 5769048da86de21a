/* SPDX-License-Identifier: MIT */
/* half_tile.cuh - tiles of products by tensor cores: factors of 16 bits, sums in f32. A block has a
 * tile of 64 x 64 outputs, and is eight warps, or, where tiles are many, four whose outputs are
 * twice as many: so more blocks fit a multiprocessor, and less is read of shared memory for a
 * product. A row of a slice in shared memory has 64 terms, two a word. There are two slices: while
 * warps multiply one, what threads load of the next is on its way. Nothing is rounded before that is
 * done: a load is waited for where its number is used first.
 *
 * Weights are packed for this (pack_rows.c), with zeros to the end of MMA_SLICE terms; activations
 * are rounded as they are put into a slice. The order in which hardware adds the terms of a product
 * is not documented. */
#ifndef HALF_TILE_H
#define HALF_TILE_H

#include "device_map.cuh"

#define TILE GEMM_TILE
#define EACH 4u
#define SLICE_TERMS MMA_TERMS
#define PART_WORDS 4u /* 8 terms of a row */
#define PART_TERMS (2u * PART_WORDS)
#define BANDS_MOST 2u
/* What is compiled for values of f32, and for those of 16 bits. */
#define BY_VALUES(call, type, ...)                                                                 \
    if ((type) == VALUE_F32)                                                                       \
        call(__VA_ARGS__, false);                                                                  \
    else                                                                                           \
        call(__VA_ARGS__, true);
#define LOADS(bands) (2u * (bands)) /* that a thread loads of either side of a slice */
#define ROW_WORDS (SLICE_TERMS / 2u)
#define ROW_PARTS (ROW_WORDS / PART_WORDS)
#define ROW_STEP (ROW_WORDS + 4u) /* the eight rows that a warp reads at once are in 32 banks */

struct half_side {
    uint32_t row[TILE][ROW_STEP];
};

/* Rows of a lie along rows of y. */
struct half_tile {
    struct half_side a, b;
};

/* ---- tiles -------------------------------------------------------------------------------------
 */

/* Which part of which row is the thread's part i: neighbours have parts of a row, or the same of
 * rows. */
struct half_place {
    uint32_t row, part;
};

DEVICE struct half_place place_along(uint32_t bands, uint32_t i)
{
    struct half_place p = {THREAD / ROW_PARTS + TILE / LOADS(bands) * i, THREAD % ROW_PARTS};
    return p;
}

DEVICE struct half_place place_across(uint32_t bands, uint32_t i)
{
    struct half_place p = {THREAD % TILE, THREAD / TILE + ROW_PARTS / LOADS(bands) * i};
    return p;
}

DEVICE struct half_place place_of_part(uint32_t bands, bool along, uint32_t i)
{
    return along ? place_along(bands, i) : place_across(bands, i);
}

DEVICE void put_part(struct half_side *s, struct half_place at, struct words p)
{
    *(struct words *)(void *)(s->row[at.row] + PART_WORDS * at.part) = p;
}

DEVICE struct words rounded(const float x[PART_TERMS], uint32_t is_bf16)
{
    struct words p;
    for (uint32_t i = 0; i < PART_WORDS; i++)
        p.word[i] = pair_of(x[2u * i], x[2u * i + 1u], is_bf16);
    return p;
}

/* What a thread has of a slice, on its way to shared memory: of the weight, and of activations - of
 * f32, or, where they are of 16 bits, of the weight's type: then nothing is rounded. */
struct half_loaded {
    struct words w[LOADS(BANDS_MOST)];
    float x[LOADS(BANDS_MOST)][PART_TERMS];
    struct words h[LOADS(BANDS_MOST)];
};

/* Rows [row0, rows) of the weight's from row `first` on, terms from k0 on; offsets in bytes. */
DEVICE void load_weight(struct half_loaded *to, uint32_t bands, const uint16_t *w, uint32_t first,
                        uint32_t row0, uint32_t rows, uint32_t row_step, uint32_t k0)
{
    const struct words none = {{0}};
    UNROLLED
    for (uint32_t i = 0; i < LOADS(bands); i++) {
        const struct half_place at = place_along(bands, i);
        const uint32_t row = row0 + at.row, k = k0 + PART_TERMS * at.part;
        const uint32_t bytes = 2u * ((first + row) * row_step + k);
        to->w[i] = none;
        if (row < rows && k < row_step)
            to->w[i] = *(const struct words *)(const void *)((const char *)w + bytes);
    }
}

DEVICE void put_slice(struct half_side *w, struct half_side *x, uint32_t bands,
                      const struct half_loaded *from, bool halves, bool x_along,
                      uint32_t is_bf16)
{
    UNROLLED
    for (uint32_t i = 0; i < LOADS(bands); i++) {
        put_part(w, place_along(bands, i), from->w[i]);
        put_part(x, place_of_part(bands, x_along, i),
                 halves ? from->h[i] : rounded(from->x[i], is_bf16));
    }
}

#if HAS_MMA
#define MMA_BF16(sum, a, b) mma_bf16(sum, a, b)
#else
#define MMA_BF16(sum, a, b) (void)0
#endif

/* Of a lane, four products of 8 columns for each of a warp's bands of 16 rows. */
struct half_sums {
    float of[BANDS_MOST][EACH][EACH];
};

/* 16 terms at a time: words t and t + 4 of eight. */
DEVICE void multiply_tile(const struct half_tile *t, uint32_t bands, struct half_sums *sum,
                          bool is_bf16)
{
    const uint32_t row = mma_warp_row(bands), line = THREAD % 32u / 4u;
    for (uint32_t k = THREAD % 4u; k < ROW_WORDS; k += 8u) {
        uint32_t a[BANDS_MOST][4];
        UNROLLED
        for (uint32_t h = 0; h < bands; h++)
            UNROLLED
            for (uint32_t i = 0; i < 4u; i++)
                a[h][i] = t->a.row[row + 16u * h + i % 2u * 8u][k + i / 2u * 4u];
        UNROLLED
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t *column = t->b.row[mma_warp_column(bands) + 8u * i + line];
            const uint32_t b[2] = {column[k], column[k + 4u]};
            UNROLLED
            for (uint32_t h = 0; h < bands; h++)
                if (is_bf16)
                    MMA_BF16(sum->of[h][i], a[h], b);
                else
                    mma_f16(sum->of[h][i], a[h], b);
        }
    }
}

#if !HAS_MMA
/* What mma of bf16 would do. */
DEVICE void multiply_bf16(const struct half_tile *t, uint32_t bands, struct half_sums *sum)
{
    for (uint32_t k = 0; k < ROW_WORDS; k++)
        for (uint32_t e = 0; e < bands * EACH * EACH; e++) {
            const uint32_t h = e / (EACH * EACH), i = e / EACH % EACH, j = e % EACH;
            const uint32_t a = t->a.row[mma_row(bands, j) + 16u * h][k];
            const uint32_t b = t->b.row[mma_column(bands, i, j)][k];
            float *s = &sum->of[h][i][j];
            *s = fmaf(f32_from_bits(a << 16), f32_from_bits(b << 16), *s);
            *s = fmaf(f32_from_bits(a & 0xffff0000u), f32_from_bits(b & 0xffff0000u), *s);
        }
}
#endif

DEVICE void add_half(const struct half_tile *t, uint32_t bands, struct half_sums *sum,
                     uint32_t is_bf16)
{
    if (!is_bf16)
        multiply_tile(t, bands, sum, false);
#if HAS_MMA
    else
        multiply_tile(t, bands, sum, true);
#else
    else
        multiply_bf16(t, bands, sum);
#endif
}

#endif
