/* SPDX-License-Identifier: MIT */
/* integer_tile.cuh - tiles of products of 8-bit integers. A block has 64 x 64 outputs; a row of a
 * slice in shared memory has I8_SLICE terms, four a word. From compute capability 8.0 on warps
 * multiply by tensor cores (mma), before by dp4a: sums are exact modulo 2^32, so both give the same
 * bits. Unsigned elements go 128 down, and their zero points with them:
 *
 *     sum (v - zv)(w - zw) = sum v w - zw sum v - zv (sum w - K zw)      modulo 2^32
 *
 * of values v and weights w, either of which is the rows of the tile. */
#ifndef INTEGER_TILE_H
#define INTEGER_TILE_H

#include "device_map.cuh"
#include "kernels/ref/integer_range.h"

#define TILE GEMM_TILE
#define EACH 4u
#define ONES 0x01010101
#define I8_WORDS (I8_SLICE / 4u)
#define I8_PART 16u               /* terms that a thread loads at once, of one row */
#define I8_PARTS (I8_SLICE / I8_PART)
#define I8_STEP (I8_WORDS + 4u)   /* the eight rows that a warp reads at once are in 32 banks */
#define SUM_STEP (TILE + 8u)      /* so that a warp's sums of four rows are */
#define QUADS (TILE / 4u)         /* neighbours of a row that a thread writes */

struct side_i8 {
    uint32_t row[TILE][I8_STEP];
};

struct slice_i8 {
    struct side_i8 a, b;
};

/* Of a row or column of weights: added to its sums; sum w - K zw; zw; what makes bytes of them. */
struct weight_line {
    int32_t add, fixed, zero;
    float factor;
};

struct value_line {
    int32_t zero, sum; /* the sum of the values, for weights that have a zero point */
};

struct tile_i8 {
    union {
        struct slice_i8 slice[2];
        int32_t sum[TILE][SUM_STEP]; /* when the last slice was multiplied */
    } of;
    struct weight_line weight[TILE];
    struct value_line value[TILE];
};

/* ---- elements ----------------------------------------------------------------------------------
 */

DEVICE uint32_t flip_of(uint32_t is_signed)
{
    return is_signed ? 0u : 0x80u;
}

/* An element as a signed byte. */
DEVICE uint32_t signed_byte(const void *p, size_t i, uint32_t is_signed)
{
    return ((const uint8_t *)p)[i] ^ flip_of(is_signed);
}

/* Its zero point, likewise; NULL: of none. */
DEVICE int32_t signed_zero(const void *p, uint32_t i, uint32_t is_signed)
{
    if (!p)
        return is_signed ? 0 : -128;
    return (int8_t)signed_byte(p, i, is_signed);
}

/* NULL: 0. */
DEVICE int32_t byte_of(const void *p, uint32_t i, uint32_t is_signed)
{
    if (!p)
        return 0;
    return is_signed ? ((const int8_t *)p)[i] : (int32_t)((const uint8_t *)p)[i];
}

DEVICE int32_t corrected(int32_t product, const struct weight_line *w, const struct value_line *v)
{
    uint32_t y = (uint32_t)product + (uint32_t)w->add;
    y -= (uint32_t)v->zero * (uint32_t)w->fixed;
    return (int32_t)(y - (uint32_t)w->zero * (uint32_t)v->sum);
}

DEVICE int32_t without_zero(int32_t sum, uint32_t terms, int32_t zero)
{
    return (int32_t)((uint32_t)sum - terms * (uint32_t)zero);
}

/* ---- what is behind the product ----------------------------------------------------------------
 */

/* Numbers that all outputs of a launch share. Read once, ahead of the stores: behind a store of
 * bytes each of them would be read again. */
struct shared_tail {
    struct integer_range own, y;
    int32_t own_zero, zero;
    float own_scale, scale, y_scale;
};

DEVICE struct integer_range byte_range(const void *zero, uint32_t is_signed)
{
    return integer_range_of(is_signed ? PITH_I8 : PITH_U8, byte_of(zero, 0, is_signed));
}

DEVICE struct shared_tail tail_of(const struct requantize_tail *q)
{
    const struct residual_tail *r = &q->residual;
    struct shared_tail t;
    memset(&t, 0, sizeof t);
    if (!q->factor)
        return t;
    t.own = byte_range(q->zero, q->is_signed);
    if (!r->x)
        return t;
    t.y = byte_range(r->y_zero, r->y_signed);
    t.own_zero = byte_of(r->own_zero, 0, q->is_signed);
    t.zero = byte_of(r->zero, 0, r->x_signed);
    t.own_scale = *r->own_scale;
    t.scale = *r->scale;
    t.y_scale = *r->y_scale;
    return t;
}

DEVICE float factor_of(const struct requantize_tail *q, uint32_t line)
{
    return q->factor ? q->factor[q->factors == 1u ? 0u : line] : 0.0f;
}

/* The integer of 8 bits that the steps behind the product make of sum i. */
DEVICE uint8_t requantized(const struct requantize_tail *q, const struct shared_tail *t,
                           float factor, uint32_t i, int32_t sum)
{
    const struct residual_tail *r = &q->residual;
    const int32_t own = quantized(&t->own, (float)sum * factor);
    if (!r->x)
        return (uint8_t)own;
    const float a = (float)(own - t->own_zero) * t->own_scale;
    const float b = (float)(byte_of(r->x, i, r->x_signed) - t->zero) * t->scale;
    return (uint8_t)quantized(&t->y, activated_short(r->act, r->act_a, r->act_b, a + b) / t->y_scale);
}

DEVICE void put_sum(int32_t *y, const struct requantize_tail *q, const struct shared_tail *t,
                    float factor, uint32_t i, int32_t sum)
{
    if (q->factor)
        q->y[i] = requantized(q, t, factor, i, sum);
    else
        y[i] = sum;
}

/* ---- slices ------------------------------------------------------------------------------------
 */

DEVICE void put_part_i8(struct side_i8 *s, uint32_t row, uint32_t part, struct words p)
{
    *(struct words *)(void *)(s->row[row] + I8_PART / 4u * part) = p;
}

/* Of packed weights: a row ends with a slice. */
DEVICE struct words weight_part_i8(const struct packed_i8 *w, uint32_t row, uint32_t rows,
                                     uint32_t k)
{
    struct words none = {{0}};
    if (row >= rows)
        return none;
    return *(const struct words *)(const void *)((const uint8_t *)w->w + (size_t)row * w->row +
                                                   k);
}

#if HAS_MMA
#define OWN_ROW(i, j) mma_row(1u, j)
#define OWN_COLUMN(i, j) mma_column(1u, i, j)

/* 32 terms at a time: words t and t + 4 of eight. */
DEVICE void add_words(const struct slice_i8 *t, int32_t sum[EACH][EACH])
{
    const uint32_t row = mma_warp_row(1u), line = THREAD % 32u / 4u;
    UNROLLED
    for (uint32_t i8 = 0; i8 < I8_WORDS; i8 += 8u) {
        const uint32_t k = i8 + THREAD % 4u;
        const uint32_t *above = t->a.row[row], *below = t->a.row[row + 8u];
        const int32_t a[4] = {(int32_t)above[k], (int32_t)below[k], (int32_t)above[k + 4u],
                              (int32_t)below[k + 4u]};
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t *column = t->b.row[mma_warp_column(1u) + 8u * i + line];
            const int32_t b[2] = {(int32_t)column[k], (int32_t)column[k + 4u]};
            mma_i8(sum[i], a, b);
        }
    }
}
#else
#define OWN_ROW(i, j) (THREAD / 16u + 16u * (i))
#define OWN_COLUMN(i, j) (THREAD % 16u + 16u * (j))

DEVICE void add_words(const struct slice_i8 *t, int32_t sum[EACH][EACH])
{
    for (uint32_t k = 0; k < I8_WORDS; k++) {
        int32_t a[EACH], b[EACH];
        for (uint32_t i = 0; i < EACH; i++) {
            a[i] = (int32_t)t->a.row[OWN_ROW(i, 0)][k];
            b[i] = (int32_t)t->b.row[OWN_COLUMN(0, i)][k];
        }
        for (uint32_t i = 0; i < EACH; i++)
            for (uint32_t j = 0; j < EACH; j++)
                sum[i][j] = dot_i8(a[i], b[j], sum[i][j]);
    }
}
#endif

/* The sum of a row of a side, for those who need it: 64 threads of a block have a row each. */
DEVICE int32_t add_line(const struct side_i8 *s, int32_t sum)
{
    if (THREAD < TILE)
        for (uint32_t k = 0; k < I8_WORDS; k++)
            sum = dot_i8((int32_t)s->row[THREAD][k], ONES, sum);
    return sum;
}

/* ---- outputs -----------------------------------------------------------------------------------
 */

/* Where a tile goes: its row r, and of that the thread's neighbours at[], of which the first
 * `there` exist, to y[at + r * row_step]. raw: as sums, whatever q is. whole: the four neighbours
 * of a row are a word. */
struct tile_place {
    int32_t *y;
    uint32_t at[4];
    uint32_t there, rows, row_step;
    bool rows_are_weights, raw, whole;
};

DEVICE uint32_t own_quad(void)
{
    return 4u * (THREAD % QUADS);
}

DEVICE void put_bytes(const struct tile_place *p, uint8_t *y, uint32_t from, const uint8_t byte[4])
{
    if (p->whole) {
        *(uint32_t *)(void *)(y + p->at[0] + from) =
            byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
        return;
    }
    UNROLLED
    for (uint32_t j = 0; j < 4u; j++)
        if (j < p->there)
            y[p->at[j] + from] = byte[j];
}

/* Four sums, as sums or as bytes. */
DEVICE void put_four(const struct tile_place *p, const struct requantize_tail *q,
                     const struct shared_tail *t, uint32_t from, const int32_t sum[4],
                     const float factor[4])
{
    uint8_t byte[4] = {0};
    if (p->raw || !q->factor) {
        UNROLLED
        for (uint32_t j = 0; j < 4u; j++)
            if (j < p->there)
                p->y[p->at[j] + from] = sum[j];
        return;
    }
    UNROLLED
    for (uint32_t j = 0; j < 4u; j++)
        if (j < p->there)
            byte[j] = requantized(q, t, factor[j], p->at[j] + from, sum[j]);
    put_bytes(p, q->y, from, byte);
}

DEVICE void put_tile_row(const struct tile_i8 *s, const struct tile_place *p,
                         const struct requantize_tail *q, const struct shared_tail *t, uint32_t row)
{
    const uint32_t column = own_quad();
    float factor[4] = {0.0f};
    int32_t sum[4];
    UNROLLED
    for (uint32_t j = 0; j < 4u; j++) {
        const uint32_t c = column + j;
        const struct weight_line *w = &s->weight[p->rows_are_weights ? row : c];
        sum[j] = s->of.sum[row][c];
        if (j < p->there && !p->raw) {
            sum[j] = corrected(sum[j], w, &s->value[p->rows_are_weights ? c : row]);
            factor[j] = w->factor;
        }
    }
    put_four(p, q, t, row * p->row_step, sum, factor);
}

/* By way of shared memory: neighbours of a row are then one thread's, and what makes bytes of sums
 * is there four times, not sixteen. */
DEVICE void put_tile_i8(struct tile_i8 *s, const struct tile_place *p, int32_t sum[EACH][EACH],
                        const struct requantize_tail *q, const struct shared_tail *t)
{
    barrier();
    UNROLLED
    for (uint32_t i = 0; i < EACH; i++) {
        UNROLLED
        for (uint32_t j = 0; j < EACH; j++)
            s->of.sum[OWN_ROW(i, j)][OWN_COLUMN(i, j)] = sum[i][j];
    }
    barrier();
    NOT_UNROLLED
    for (uint32_t row = THREAD / QUADS; row < TILE; row += LAUNCH_THREADS / QUADS)
        if (row < p->rows && p->there)
            put_tile_row(s, p, q, t, row);
}

#endif
