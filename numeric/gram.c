/* SPDX-License-Identifier: MIT */
/* gram.c - the sum in tiles; what does not fill one is copied beside zeros first. */
#include "gram.h"

#include <string.h>

#include "gram_tile.h"
#include "base/cpu_allowed.h"
#include "pith_runtime.h"

void pith_gram_kernels_fill(struct gram_kernels *k, uint32_t features){GRAM_KERNELS(KERNEL_TAKE)}

gram_tile *pith_gram_tile(void)
{
    struct gram_kernels k;
    pith_gram_kernels_fill(&k, pith_cpu_allowed());
    return k.tile;
}

/* Columns of a part that a tile reads: x itself, or where there are fewer than `width`, a copy in
 * room [PITH_GRAM_PART, width] beside zeros. */
struct columns {
    const float *x;
    size_t stride;
};

static struct columns columns_of(const float *x, size_t n, size_t first, size_t width, size_t count,
                                 float *room)
{
    if (first + width <= n)
        return (struct columns){x + first, n};
    memset(room, 0, count * width * sizeof *room);
    for (size_t row = 0; row < count; row++)
        memcpy(room + row * width, x + row * n + first, (n - first) * sizeof *room);
    return (struct columns){room, width};
}

struct part {
    const struct gram_piece *p;
    size_t begin, count; /* rows of the piece */
};

/* Elements [i.., k..] of the tile that lie in the sum, above row `last`. */
static void add_tile(const struct part *part, size_t i, size_t last, size_t k, const float *tile,
                     double *sum)
{
    const struct gram_piece *p = part->p;
    size_t rows = last - i < GRAM_TILE_ROWS ? last - i : GRAM_TILE_ROWS;
    size_t cols = p->n_b - k < GRAM_TILE_COLS ? p->n_b - k : GRAM_TILE_COLS;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            sum[(i + r) * p->n_b + k + c] += (double)tile[r * GRAM_TILE_COLS + c];
}

static void add_part(const struct part *part, size_t first, size_t last, double *sum)
{
    const struct gram_piece *p = part->p;
    float room_a[PITH_GRAM_PART * GRAM_TILE_ROWS], room_b[PITH_GRAM_PART * GRAM_TILE_COLS];
    float tile[GRAM_TILE_ROWS * GRAM_TILE_COLS];
    const float *a = p->a + part->begin * p->n_a, *b = p->b + part->begin * p->n_b;
    for (size_t k = 0; k < p->n_b; k += GRAM_TILE_COLS) {
        struct columns right = columns_of(b, p->n_b, k, GRAM_TILE_COLS, part->count, room_b);
        for (size_t i = first; i < last; i += GRAM_TILE_ROWS) {
            if (p->triangle && k + GRAM_TILE_COLS <= i)
                break;
            struct columns left = columns_of(a, p->n_a, i, GRAM_TILE_ROWS, part->count, room_a);
            p->tile(left.x, left.stride, right.x, right.stride, part->count, tile);
            add_tile(part, i, last, k, tile, sum);
        }
    }
}

void pith_gram_add(const struct gram_piece *p, size_t first, size_t last, double *sum)
{
    struct part part = {.p = p};
    for (; part.begin < p->count; part.begin += part.count) {
        part.count = p->count - part.begin;
        part.count = part.count < PITH_GRAM_PART ? part.count : PITH_GRAM_PART;
        add_part(&part, first, last, sum);
    }
}

void pith_gram_mirror(double *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            h[i * n + k] = h[k * n + i];
}
