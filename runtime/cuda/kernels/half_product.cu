/* SPDX-License-Identifier: MIT */
/* half_product.cu - products of matrices and convolutions by tensor cores: factors of 16 bits, sums
 * in f32. A block has a tile of 64 x 64 outputs; a row of a slice in shared memory has MMA_SLICE
 * terms, two a word. There are two slices: while warps multiply one, threads load the next.
 *
 * Weights are packed for this (pack_half.c), with zeros to the end of each slice; activations are
 * rounded as they are loaded. Hardware adds the terms of a product in no order that is told. */
#include "device_map.cuh"

#define TILE GEMM_TILE
#define EACH 4u
#define PART_WORDS 4u /* what a thread loads of either side at once: 8 terms of a row */
#define PART_TERMS (2u * PART_WORDS)
#define ROW_WORDS (MMA_SLICE / 2u)
#define ROW_PARTS (ROW_WORDS / PART_WORDS)
#define ROW_STEP (ROW_WORDS + 4u) /* the eight rows that a warp reads at once are in 32 banks */

struct ALIGNED(16) part {
    uint32_t word[PART_WORDS];
};

struct ALIGNED(16) floats {
    float of[4];
};

struct half_side {
    uint32_t row[TILE][ROW_STEP];
};

struct half_tile {
    struct half_side a, b;
};

/* ---- tiles -------------------------------------------------------------------------------------
 */

/* Which part of which row a thread loads: neighbours have parts of a row, or the same of rows. */
struct half_place {
    uint32_t row, part;
};

DEVICE struct half_place along_rows(void)
{
    struct half_place p = {THREAD / ROW_PARTS, THREAD % ROW_PARTS};
    return p;
}

DEVICE struct half_place across_rows(void)
{
    struct half_place p = {THREAD % TILE, THREAD / TILE};
    return p;
}

DEVICE void put_part(struct half_side *s, struct half_place at, struct part p)
{
    *(struct part *)(void *)(s->row[at.row] + PART_WORDS * at.part) = p;
}

DEVICE struct part rounded(const float x[PART_TERMS], uint32_t is_bf16)
{
    struct part p;
    for (uint32_t i = 0; i < PART_WORDS; i++)
        p.word[i] =
            is_bf16 ? pair_bf16(x[2u * i], x[2u * i + 1u]) : pair_f16(x[2u * i], x[2u * i + 1u]);
    return p;
}

DEVICE struct part weight_part(const uint16_t *w, uint32_t row, uint32_t rows, uint32_t row_step,
                               uint32_t k)
{
    struct part none = {{0}};
    if (row >= rows)
        return none;
    return *(const struct part *)(const void *)(w + (size_t)row * row_step + k);
}

#if HAS_MMA
#define MMA_BF16(sum, a, b) mma_bf16(sum, a, b)
#else
#define MMA_BF16(sum, a, b) (void)0
#endif

/* 16 terms at a time: words t and t + 4 of eight. */
DEVICE void multiply_tile(const struct half_tile *t, float sum[EACH][EACH], bool is_bf16)
{
    const uint32_t row = mma_warp_row(), line = THREAD % 32u / 4u;
    for (uint32_t k = THREAD % 4u; k < ROW_WORDS; k += 8u) {
        const uint32_t *above = t->a.row[row], *below = t->a.row[row + 8u];
        const uint32_t a[4] = {above[k], below[k], above[k + 4u], below[k + 4u]};
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t *column = t->b.row[mma_warp_column() + 8u * i + line];
            const uint32_t b[2] = {column[k], column[k + 4u]};
            if (is_bf16)
                MMA_BF16(sum[i], a, b);
            else
                mma_f16(sum[i], a, b);
        }
    }
}

#if !HAS_MMA
/* What mma of bf16 would do. */
DEVICE void multiply_bf16(const struct half_tile *t, float sum[EACH][EACH])
{
    for (uint32_t k = 0; k < ROW_WORDS; k++)
        for (uint32_t i = 0; i < EACH; i++)
            for (uint32_t j = 0; j < EACH; j++) {
                const uint32_t a = t->a.row[mma_row(j)][k], b = t->b.row[mma_column(i, j)][k];
                float *s = &sum[i][j];
                *s = fmaf(f32_from_bits(a << 16), f32_from_bits(b << 16), *s);
                *s = fmaf(f32_from_bits(a & 0xffff0000u), f32_from_bits(b & 0xffff0000u), *s);
            }
}
#endif

DEVICE void add_half(const struct half_tile *t, float sum[EACH][EACH], uint32_t is_bf16)
{
    if (!is_bf16)
        multiply_tile(t, sum, false);
#if HAS_MMA
    else
        multiply_tile(t, sum, true);
#else
    else
        multiply_bf16(t, sum);
#endif
}

/* ---- matrices ----------------------------------------------------------------------------------
 */

DEVICE struct part row_part(const struct gemm_mma_args *arg, uint32_t row, uint32_t k)
{
    const struct gemm_args *g = &arg->g;
    float x[PART_TERMS] = {0.0f};
    if (row >= g->m)
        return rounded(x, arg->is_bf16);
    const float *at = g->a + (size_t)row * g->a_row;
    if (arg->whole && k + PART_TERMS <= g->k) {
        const struct floats *four = (const struct floats *)(const void *)(at + k);
        for (uint32_t i = 0; i < PART_TERMS / 4u; i++) {
            const struct floats v = four[i];
            for (uint32_t j = 0; j < 4u; j++)
                x[4u * i + j] = v.of[j];
        }
    } else {
        for (uint32_t i = 0; i < PART_TERMS; i++)
            if (k + i < g->k)
                x[i] = at[(size_t)(k + i) * g->a_col];
    }
    return rounded(x, arg->is_bf16);
}

KERNEL(gemm_mma, gemm_mma_args)
{
    SHARED struct half_tile tile[2];
    const struct gemm_args *g = &arg->g;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    const struct half_place at_a = g->a_col == 1u ? along_rows() : across_rows();
    const struct half_place at_b = along_rows();
    float sum[EACH][EACH] = {{0.0f}};
    struct part a = row_part(arg, row0 + at_a.row, PART_TERMS * at_a.part);
    struct part b = weight_part(arg->w, column0 + at_b.row, g->n, arg->row, PART_TERMS * at_b.part);
    for (uint32_t k0 = 0; k0 < arg->row; k0 += MMA_SLICE) {
        struct half_tile *t = &tile[k0 / MMA_SLICE % 2u];
        const uint32_t next = k0 + MMA_SLICE;
        put_part(&t->a, at_a, a);
        put_part(&t->b, at_b, b);
        barrier();
        if (next < arg->row) {
            a = row_part(arg, row0 + at_a.row, next + PART_TERMS * at_a.part);
            b = weight_part(arg->w, column0 + at_b.row, g->n, arg->row,
                            next + PART_TERMS * at_b.part);
        }
        add_half(t, sum, arg->is_bf16);
    }
    put_tile(g, 0, row0, column0, sum, true);
}

/* ---- convolutions ------------------------------------------------------------------------------
 */

/* An output pixel of an image, and x of its group. */
struct half_pixel {
    const float *x; /* NULL: there is none */
    int32_t oh, ow;
};

DEVICE struct half_pixel pixel_of(const struct conv_mma_args *arg, uint32_t p)
{
    const struct conv_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->oh * c->ow);
    const size_t plane = (size_t)c->h * (size_t)c->width;
    struct half_pixel at = {NULL, (int32_t)(p % pixels) / c->ow, (int32_t)(p % pixels) % c->ow};
    if (p / pixels < arg->images)
        at.x = c->x + ((size_t)(p / pixels) * c->groups + BLOCK_Z) * c->channels * plane;
    return at;
}

/* Eight channels under one tap: channel_step is a multiple of that. */
DEVICE struct part window_part(const struct conv_mma_args *arg, const struct half_pixel *at,
                               uint32_t k)
{
    const struct conv_args *c = &arg->c;
    const uint32_t tap = k / arg->channel_step, channel = k % arg->channel_step;
    const int32_t ih = at->oh * c->stride_h + (int32_t)tap / c->kw * c->dil_h - c->pad_top;
    const int32_t iw = at->ow * c->stride_w + (int32_t)tap % c->kw * c->dil_w - c->pad_left;
    const size_t plane = (size_t)c->h * (size_t)c->width;
    const bool inside =
        at->x && (int32_t)tap < c->kh * c->kw && ih >= 0 && ih < c->h && iw >= 0 && iw < c->width;
    float x[PART_TERMS];
    for (uint32_t i = 0; i < PART_TERMS; i++)
        x[i] = inside && channel + i < c->channels
                   ? at->x[(channel + i) * plane + (size_t)ih * (size_t)c->width + (size_t)iw]
                   : 0.0f;
    return rounded(x, arg->is_bf16);
}

KERNEL(conv_mma, conv_mma_args)
{
    SHARED struct half_tile tile[2];
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE;
    const struct half_place at_a = along_rows(), at_b = across_rows();
    const struct half_pixel pixel = pixel_of(arg, p0 + at_b.row);
    const uint16_t *w = arg->w + (size_t)BLOCK_Z * arg->c.outputs * arg->row;
    float sum[EACH][EACH] = {{0.0f}};
    struct part a = weight_part(w, o0 + at_a.row, arg->c.outputs, arg->row, PART_TERMS * at_a.part);
    struct part b = window_part(arg, &pixel, PART_TERMS * at_b.part);
    for (uint32_t k0 = 0; k0 < arg->row; k0 += MMA_SLICE) {
        struct half_tile *t = &tile[k0 / MMA_SLICE % 2u];
        const uint32_t next = k0 + MMA_SLICE;
        put_part(&t->a, at_a, a);
        put_part(&t->b, at_b, b);
        barrier();
        if (next < arg->row) {
            a = weight_part(w, o0 + at_a.row, arg->c.outputs, arg->row,
                            next + PART_TERMS * at_a.part);
            b = window_part(arg, &pixel, next + PART_TERMS * at_b.part);
        }
        add_half(t, sum, arg->is_bf16);
    }
    put_conv_tile(&arg->c, arg->images, o0, p0, sum, true);
}
