/* SPDX-License-Identifier: MIT */
/* prim_product.c - products of matrices by the runtime's gemm_f32, part by part. An element's sum
 * goes on where it was left (resume), so the parts change no bit. */
#include "prim.h"

#include <string.h>

/* A part of the product: rows i .., depth k .., columns j .. */
struct part {
    const struct prim_product *g;
    int64_t i, j, k, rows, columns, depth;
};

/* Fewer rows than these read b where it lies, in steps of b.step; more are worth a copy of it. */
enum { ROWS_WORTH_A_COPY = 33, VECTOR = 16 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const float *a_of(const struct part *p, size_t *row, size_t *step)
{
    const struct prim_product *g = p->g;
    *row = (size_t)(g->a.turned ? 1 : g->a.step);
    *step = (size_t)(g->a.turned ? g->a.step : 1);
    return g->a.x + p->i * (int64_t)*row + p->k * (int64_t)*step;
}

/* alpha times op(a), in panels of mr rows side by side; rows that are not there are 0. */
static void pack_a(struct prim *prim, const struct part *p)
{
    const uint32_t mr = prim->dense.mr;
    const size_t panels = ((size_t)p->rows + mr - 1) / mr, panel = (size_t)p->depth * mr;
    size_t row, step;
    const float *a = a_of(p, &row, &step);
    prim->dense.pack_rows_f32(&(struct pack_rows_job){a, prim->a, row, step, (size_t)p->rows,
                                                      (size_t)p->depth, mr, panel});
    for (size_t i = 0; i < panels * panel && p->g->alpha != 1.0f; i++)
        prim->a[i] *= p->g->alpha;
}

/* op(b), `width` columns a row; those that are not there are 0. */
static void pack_b(struct prim *prim, const struct part *p, size_t width)
{
    const struct prim_product *g = p->g;
    const size_t columns = (size_t)p->columns, depth = (size_t)p->depth;
    if (g->b.turned) {
        prim->dense.pack_rows_f32(&(struct pack_rows_job){g->b.x + p->j * g->b.step + p->k, prim->b,
                                                          (size_t)g->b.step, 1, columns, depth,
                                                          (uint32_t)width, 0});
        return;
    }
    for (size_t k = 0; k < depth; k++) {
        float *to = prim->b + k * width;
        memcpy(to, g->b.x + (p->k + (int64_t)k) * g->b.step + p->j, columns * sizeof *to);
        memset(to + columns, 0, (width - columns) * sizeof *to);
    }
}

/* Tiles of the ordered kernel are whole vectors: what does not fill them is computed beside. */
static void multiply(struct prim *prim, const struct part *p, size_t width, bool packed_a,
                     bool packed_b)
{
    const struct prim_product *g = p->g;
    float *c = g->c.x + p->i * g->c.step + p->j;
    const bool beside = prim->ordered && (size_t)p->columns != width;
    const bool resume = g->c.add || p->k > 0;
    for (size_t i = 0; i < (size_t)p->rows && beside && resume; i++)
        memcpy(prim->c + i * width, c + i * (size_t)g->c.step, (size_t)p->columns * sizeof *c);
    struct gemm_f32_job job = {
        .a = prim->a,
        .a_step = (size_t)p->depth * prim->dense.mr,
        .b = packed_b ? prim->b : g->b.x + p->k * g->b.step + p->j,
        .ldb = packed_b ? width : (size_t)g->b.step,
        .c = beside ? prim->c : c,
        .ldc = beside ? width : (size_t)g->c.step,
        .m = (uint32_t)p->rows,
        .n = (uint32_t)(beside ? width : (size_t)p->columns),
        .k = (uint32_t)p->depth,
        .resume = resume,
    };
    if (!packed_a) {
        job.a = a_of(p, &job.a_row, &job.a_col);
        job.a_step = job.a_row * prim->dense.mr;
    }
    prim->dense.gemm_f32(&job);
    for (size_t i = 0; i < (size_t)p->rows && beside; i++)
        memcpy(c + i * (size_t)g->c.step, prim->c + i * width, (size_t)p->columns * sizeof *c);
}

/* Columns of a part: tiles of the same width, of whole vectors. */
static int64_t columns_of_part(const struct prim *prim, int64_t n)
{
    const int64_t most = prim->dense.nr, parts = (n + most - 1) / most;
    const int64_t even = (n + parts - 1) / parts;
    return least(most, (even + VECTOR - 1) / VECTOR * VECTOR);
}

void pith_prim_multiply(struct prim *prim, const struct prim_product *g)
{
    struct part p = {.g = g};
    /* Where rows lie apart, the kernel takes those that fill no panel one by one. */
    const bool packs_a = !prim->dense.strided || g->alpha != 1.0f ||
                         (g->size.m % prim->dense.mr && g->size.m < PRODUCT_ROWS);
    const bool packs_b = prim->ordered || g->b.turned || g->size.m >= ROWS_WORTH_A_COPY;
    const int64_t rows = packs_a ? PRODUCT_ROWS : g->size.m,
                  columns = columns_of_part(prim, g->size.n);
    for (p.k = 0; p.k < g->size.k; p.k += PRODUCT_DEPTH) {
        p.depth = least(PRODUCT_DEPTH, g->size.k - p.k);
        for (p.i = 0; p.i < g->size.m; p.i += rows) {
            p.rows = least(rows, g->size.m - p.i);
            if (packs_a)
                pack_a(prim, &p);
            for (p.j = 0; p.j < g->size.n; p.j += columns) {
                p.columns = least(columns, g->size.n - p.j);
                const size_t width = (size_t)(p.columns + VECTOR - 1) / VECTOR * VECTOR;
                if (packs_b)
                    pack_b(prim, &p, width);
                multiply(prim, &p, width, packs_a, packs_b);
            }
        }
    }
}

void pith_prim_gemm(struct prim *p, struct prim_size size, float alpha, struct prim_matrix a,
                    struct prim_matrix b, struct prim_result c)
{
    pith_prim_multiply(p, &(struct prim_product){size, alpha, a, b, c});
}
