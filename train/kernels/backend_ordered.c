/* SPDX-License-Identifier: MIT */
/* backend_ordered.c - the primitives in sums of one written order: what decides a byte is computed
 * with these. No library is needed. Pools are here, convolutions in ordered_conv.c. */
#include "ordered_conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ordered_window.h"
#include "pith_kernels.h"

/* ---- pools ----------------------------------------------------------------------------------- */

struct pool {
    struct prim_pool head;
    struct prim_conv_shape s;
    enum prim_pool_kind kind;
    int64_t rows, taps;
    int64_t *place;   /* [taps] of a row */
    int64_t *largest; /* [rows, c] pixels that a maximum came from, -1: none */
};

static struct pool *pool_of(struct prim_pool *head)
{
    return (struct pool *)(void *)head;
}

void pith_ordered_pool_free(struct prim_pool *head)
{
    struct pool *pool = pool_of(head);
    free(pool->place);
    free(pool->largest);
    free(pool);
}

enum pith_status pith_ordered_pool_new(struct prim *p, const struct prim_conv_shape *s,
                                       enum prim_pool_kind kind, struct prim_pool **pool)
{
    (void)p;
    struct pool *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    made->s = *s;
    made->kind = kind;
    made->rows = pith_window_rows(s);
    made->taps = pith_window_taps(s);
    made->place = malloc((size_t)made->taps * sizeof *made->place);
    if (kind == PRIM_POOL_MAX)
        made->largest = malloc((size_t)(made->rows * s->c) * sizeof *made->largest);
    if (!made->place || (kind == PRIM_POOL_MAX && !made->largest)) {
        pith_ordered_pool_free(&made->head);
        return PITH_ERR_MEMORY;
    }
    *pool = &made->head;
    return PITH_OK;
}

/* Of equal values the first. */
static void take_largest(const struct pool *pool, int64_t row, const float *x, float *y)
{
    const int64_t c = pool->s.c;
    int64_t *from = pool->largest + row * c;
    for (int64_t i = 0; i < c; i++) {
        y[i] = -INFINITY;
        from[i] = -1;
    }
    for (int64_t k = 0; k < pool->taps; k++)
        for (int64_t i = 0; i < c && pool->place[k] >= 0; i++) {
            const float v = x[pool->place[k] * c + i];
            if (from[i] < 0 || v > y[i]) {
                y[i] = v;
                from[i] = pool->place[k];
            }
        }
}

/* Values that a mean is of. */
static float counted(const struct pool *pool)
{
    int64_t n = 0;
    for (int64_t k = 0; k < pool->taps; k++)
        n += pool->kind == PRIM_POOL_AVERAGE_WITH_PADS || pool->place[k] >= 0;
    return (float)n;
}

static void take_mean(const struct pool *pool, const float *x, float *y)
{
    const int64_t c = pool->s.c;
    const float n = counted(pool);
    memset(y, 0, (size_t)c * sizeof *y);
    for (int64_t k = 0; k < pool->taps; k++)
        for (int64_t i = 0; i < c && pool->place[k] >= 0; i++)
            y[i] += x[pool->place[k] * c + i];
    for (int64_t i = 0; i < c; i++)
        y[i] /= n;
}

void pith_ordered_pool_forward(struct prim_pool *head, const float *x, float *y)
{
    const struct pool *pool = pool_of(head);
    for (int64_t row = 0; row < pool->rows; row++, y += pool->s.c) {
        pith_window_places(&pool->s, row, pool->place);
        if (pool->kind == PRIM_POOL_MAX)
            take_largest(pool, row, x, y);
        else
            take_mean(pool, x, y);
    }
}

static void spread_mean(const struct pool *pool, const float *dy, float *dx)
{
    const int64_t c = pool->s.c;
    const float n = counted(pool);
    for (int64_t k = 0; k < pool->taps; k++)
        for (int64_t i = 0; i < c && pool->place[k] >= 0; i++)
            dx[pool->place[k] * c + i] += dy[i] / n;
}

void pith_ordered_pool_backward(struct prim_pool *head, const float *dy, float *dx)
{
    const struct pool *pool = pool_of(head);
    const int64_t c = pool->s.c;
    int64_t pixels = pool->s.n;
    for (uint32_t i = 0; i < pool->s.axes; i++)
        pixels *= pool->s.in[i];
    memset(dx, 0, (size_t)(pixels * c) * sizeof *dx);
    for (int64_t row = 0; row < pool->rows; row++, dy += c) {
        if (pool->kind != PRIM_POOL_MAX) {
            pith_window_places(&pool->s, row, pool->place);
            spread_mean(pool, dy, dx);
            continue;
        }
        const int64_t *from = pool->largest + row * c;
        for (int64_t i = 0; i < c; i++)
            if (from[i] >= 0)
                dx[from[i] * c + i] += dy[i];
    }
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void gemm(struct prim *head, const struct prim_product *g)
{
    struct ordered_prim *p = (struct ordered_prim *)(void *)head;
    pith_ordered_product(p->kernel, &p->room, g);
}

static void ordered_free(struct prim *head)
{
    struct ordered_prim *p = (struct ordered_prim *)(void *)head;
    free(p->shared);
    free(p);
}

static const struct prim_backend backend = {
    .ordered = true,
    .free = ordered_free,
    .gemm = gemm,
    .conv_new = pith_ordered_conv_new,
    .conv_free = pith_ordered_conv_free,
    .conv_forward = pith_ordered_conv_forward,
    .conv_backward = pith_ordered_conv_backward,
    .pool_new = pith_ordered_pool_new,
    .pool_free = pith_ordered_pool_free,
    .pool_forward = pith_ordered_pool_forward,
    .pool_backward = pith_ordered_pool_backward,
};

enum pith_status pith_prim_new_ordered(uint32_t features, struct prim **p)
{
    struct dense_kernels k;
    struct ordered_prim *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    memset(&k, 0, sizeof k);
    pith_ordered_kernels_fill(&k, features);
    made->head.backend = &backend;
    made->kernel = k.gemm_f32;
    *p = &made->head;
    return PITH_OK;
}
