/* SPDX-License-Identifier: MIT */
/* prim_pool.c - pools over windows, channels last. */
#include "prim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct prim_pool {
    struct window window;
    enum prim_pool_kind kind;
    int32_t *largest; /* [rows, c] taps that a maximum came from, -1: none */
};

void pith_prim_pool_free(struct prim_pool *pool)
{
    if (pool) {
        free(pool->window.inside);
        free(pool->largest);
    }
    free(pool);
}

enum pith_status pith_prim_pool_new(const struct prim_conv_shape *s, enum prim_pool_kind kind,
                                    struct prim_pool **pool)
{
    struct prim_pool *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    made->kind = kind;
    enum pith_status status = pith_window_new(s, &made->window);
    if (kind == PRIM_POOL_MAX && !status)
        made->largest = malloc((size_t)(made->window.rows * s->c) * sizeof *made->largest);
    if (status || (kind == PRIM_POOL_MAX && !made->largest)) {
        pith_prim_pool_free(made);
        return PITH_ERR_MEMORY;
    }
    *pool = made;
    return PITH_OK;
}

/* Of equal values the first; of a window that is outside, minus infinity. */
static void take_largest(const int64_t *at, int64_t taps, int64_t c, const float *x,
                         int32_t *restrict from, float *restrict y)
{
    int64_t k = 0;
    while (k < taps && at[k] < 0)
        k++;
    for (int64_t i = 0; i < c; i++) {
        y[i] = k < taps ? x[at[k] * c + i] : -INFINITY;
        from[i] = k < taps ? (int32_t)k : -1;
    }
    for (k++; k < taps; k++) {
        const float *under = x + at[k] * c;
        for (int64_t i = 0; i < c && at[k] >= 0; i++) {
            const bool more = under[i] > y[i];
            y[i] = more ? under[i] : y[i];
            from[i] = more ? (int32_t)k : from[i];
        }
    }
}

static void give_largest(const int64_t *at, int64_t c, const int32_t *from, const float *dy,
                         float *dx)
{
    for (int64_t i = 0; i < c; i++)
        if (from[i] >= 0)
            dx[at[from[i]] * c + i] += dy[i];
}

/* Values that a mean is of. */
static float counted(const struct prim_pool *pool, const int64_t *at)
{
    int64_t n = 0;
    for (int64_t k = 0; k < pool->window.taps; k++)
        n += pool->kind == PRIM_POOL_AVERAGE_WITH_PADS || at[k] >= 0;
    return (float)n;
}

static void take_mean(const int64_t *at, int64_t taps, float n, int64_t c, const float *x, float *y)
{
    memset(y, 0, (size_t)c * sizeof *y);
    for (int64_t k = 0; k < taps; k++)
        for (int64_t i = 0; i < c && at[k] >= 0; i++)
            y[i] += x[at[k] * c + i];
    for (int64_t i = 0; i < c; i++)
        y[i] /= n;
}

static void spread_mean(const int64_t *at, int64_t taps, float n, int64_t c, const float *dy,
                        float *dx)
{
    for (int64_t k = 0; k < taps; k++)
        for (int64_t i = 0; i < c && at[k] >= 0; i++)
            dx[at[k] * c + i] += dy[i] / n;
}

void pith_prim_pool_forward(struct prim_pool *pool, const float *x, float *y)
{
    const struct window *w = &pool->window;
    const int64_t c = w->s.c;
    for (int64_t row = 0, first; row < w->rows; row++, y += c) {
        const int64_t *at = pith_window_taps(w, row, &first);
        if (pool->kind == PRIM_POOL_MAX)
            take_largest(at, w->taps, c, x + first * c, pool->largest + row * c, y);
        else
            take_mean(at, w->taps, counted(pool, at), c, x + first * c, y);
    }
}

void pith_prim_pool_backward(struct prim_pool *pool, const float *dy, float *dx)
{
    const struct window *w = &pool->window;
    const int64_t c = w->s.c;
    int64_t pixels = w->s.n;
    for (uint32_t i = 0; i < w->s.axes; i++)
        pixels *= w->s.in[i];
    memset(dx, 0, (size_t)(pixels * c) * sizeof *dx);
    for (int64_t row = 0, first; row < w->rows; row++, dy += c) {
        const int64_t *at = pith_window_taps(w, row, &first);
        if (pool->kind == PRIM_POOL_MAX)
            give_largest(at, c, pool->largest + row * c, dy, dx + first * c);
        else
            spread_mean(at, w->taps, counted(pool, at), c, dy, dx + first * c);
    }
}
