/* SPDX-License-Identifier: MIT */
/* ordered_product.c - however a product is cut into parts, an element's sum goes on where it was
 * left (resume), so the parts change no bit. */
#include "ordered_product.h"

#include <string.h>

/* A part of the product: rows i .., depth k .., columns j .. */
struct part {
    const struct prim_product *g;
    int64_t i, j, k, rows, columns, depth;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* alpha times op(a), in panels of ORDERED_MR rows side by side; rows that are not there are 0. */
static void pack_a(const struct part *p, float *to)
{
    const struct prim_product *g = p->g;
    const int64_t row = g->trans_a ? 1 : g->lda, step = g->trans_a ? g->lda : 1;
    const float *a = g->a + p->i * row + p->k * step;
    for (int64_t first = 0; first < p->rows; first += ORDERED_MR, to += ORDERED_MR * p->depth)
        for (int64_t r = 0; r < ORDERED_MR; r++)
            for (int64_t k = 0; k < p->depth; k++)
                to[k * ORDERED_MR + r] =
                    first + r < p->rows ? g->alpha * a[(first + r) * row + k * step] : 0;
}

/* op(b), ORDERED_NR columns a row; those that are not there are 0. */
static void pack_b(const struct part *p, float *to)
{
    const struct prim_product *g = p->g;
    const float *b = g->b + (g->trans_b ? p->j * g->ldb + p->k : p->k * g->ldb + p->j);
    if (p->columns < ORDERED_NR)
        memset(to, 0, (size_t)p->depth * ORDERED_NR * sizeof *to);
    if (g->trans_b)
        for (int64_t j = 0; j < p->columns; j++)
            for (int64_t k = 0; k < p->depth; k++)
                to[k * ORDERED_NR + j] = b[j * g->ldb + k];
    else
        for (int64_t k = 0; k < p->depth; k++)
            memcpy(to + k * ORDERED_NR, b + k * g->ldb, (size_t)p->columns * sizeof *to);
}

/* Tiles of the kernel are wide: what does not fill its vectors is computed beside. */
static void multiply(gemm_f32_fn *kernel, struct ordered_room *room, const struct part *p)
{
    const struct prim_product *g = p->g;
    float *c = g->c + p->i * g->ldc + p->j;
    const bool beside = p->columns % 16 != 0, resume = g->add || p->k > 0;
    for (int64_t i = 0; i < p->rows && beside && resume; i++)
        memcpy(room->c + i * ORDERED_NR, c + i * g->ldc, (size_t)p->columns * sizeof *c);
    const struct gemm_f32_job job = {
        .a = room->a,
        .a_step = (size_t)p->depth * ORDERED_MR,
        .b = room->b,
        .ldb = ORDERED_NR,
        .c = beside ? room->c : c,
        .ldc = beside ? ORDERED_NR : (size_t)g->ldc,
        .m = (uint32_t)p->rows,
        .n = (uint32_t)(beside ? (p->columns + 15) / 16 * 16 : p->columns),
        .k = (uint32_t)p->depth,
        .resume = resume,
    };
    kernel(&job);
    for (int64_t i = 0; i < p->rows && beside; i++)
        memcpy(c + i * g->ldc, room->c + i * ORDERED_NR, (size_t)p->columns * sizeof *c);
}

void pith_ordered_product(gemm_f32_fn *kernel, struct ordered_room *room,
                          const struct prim_product *g)
{
    struct part p = {.g = g};
    for (p.k = 0; p.k < g->k; p.k += ORDERED_DEPTH) {
        p.depth = least(ORDERED_DEPTH, g->k - p.k);
        for (p.i = 0; p.i < g->m; p.i += ORDERED_ROWS) {
            p.rows = least(ORDERED_ROWS, g->m - p.i);
            pack_a(&p, room->a);
            for (p.j = 0; p.j < g->n; p.j += ORDERED_NR) {
                p.columns = least(ORDERED_NR, g->n - p.j);
                pack_b(&p, room->b);
                multiply(kernel, room, &p);
            }
        }
    }
}
