/* SPDX-License-Identifier: MIT */
/* row_windows.c - with H = U^T U, windows from the last place on and U_ww a window's own part of U,
 * errors e of the windows behind are compensated by U_ww c = sum of U_wi e_i: its weights become g
 * + c, and an error d of those costs |U_ww d|^2 with all places in front free. So its H^-1 is
 * U_ww^-1 U_ww^-T. */
#include "row_windows.h"

#include <stdlib.h>
#include <string.h>

#include "eliminate.h"
#include "numeric/cholesky.h"

/* Of the window that ends before place last; the one of a row's last columns may be narrower. */
static size_t width_before(const struct row_windows *c, uint32_t group, size_t last)
{
    const size_t n = c->factor->n, b = c->pattern.b,
                 first = c->factor->order[group * n + last - 1] / b * b;
    return n - first < b ? n - first : b;
}

static const double *factor_of(const struct row_windows *c, uint32_t group)
{
    return c->factor->u + group * c->factor->n * c->factor->n;
}

/* x [width] of U_ww x = y, in its place. u: the window's part of U, rows n numbers apart. */
static void solve_back(const double *u, size_t n, size_t width, double *x)
{
    for (size_t j = width; j-- > 0;) {
        for (size_t k = j + 1; k < width; k++)
            x[j] -= u[j * n + k] * x[k];
        x[j] /= u[j * n + j];
    }
}

/* Column by column of U_ww^-1, whose rows' products it is. */
static void invert_window(const double *u, size_t n, size_t width, double *v, double *inverse)
{
    for (size_t k = 0; k < width; k++) {
        for (size_t j = 0; j < width; j++)
            v[k * width + j] = j == k;
        solve_back(u, n, width, v + k * width);
    }
    for (size_t i = 0; i < width; i++)
        for (size_t j = i; j < width; j++) {
            double sum = 0;
            for (size_t k = j; k < width; k++)
                sum += v[k * width + i] * v[k * width + j];
            inverse[i * width + j] = sum;
        }
}

bool pith_row_windows_open(struct row_windows *c, const struct layer_factor *f,
                           const struct pith_pattern *pattern)
{
    const size_t n = f->n, b = pattern->b < n ? pattern->b : n;
    *c = (struct row_windows){.factor = f, .pattern = *pattern, .most = b};
    c->inverse = malloc(f->groups * n * b * sizeof *c->inverse);
    double *v = malloc(b * b * sizeof *v);
    for (uint32_t g = 0; g < f->groups && c->inverse && v; g++)
        for (size_t last = n, first; last > 0; last = first) {
            const size_t width = width_before(c, g, last);
            first = last - width;
            invert_window(factor_of(c, g) + first * n + first, n, width, v,
                          c->inverse + (g * n + first) * b);
        }
    const bool ok = c->inverse && v;
    free(v);
    return ok;
}

void pith_row_windows_close(struct row_windows *c)
{
    free(c->inverse);
    *c = (struct row_windows){.factor = NULL};
}

bool pith_row_windows_room(const struct row_windows *c, struct row_windows_room *r)
{
    const size_t n = c->factor->n, b = c->most;
    *r = (struct row_windows_room){.w = malloc(b * sizeof *r->w),
                                   .error = malloc(n * sizeof *r->error),
                                   .inverse = malloc(b * b * sizeof *r->inverse),
                                   .room = malloc((b + 2) * sizeof *r->room),
                                   .gone = malloc(b)};
    return r->w && r->error && r->inverse && r->room && r->gone;
}

void pith_row_windows_room_end(struct row_windows_room *r)
{
    free(r->w);
    free(r->error);
    free(r->inverse);
    free(r->room);
    free(r->gone);
    *r = (struct row_windows_room){.w = NULL};
}

/* Those that are to be 0 anyway first. */
static void choose_window(const struct row_windows *c, struct elimination *x, const uint8_t *kept)
{
    size_t go = x->n - (size_t)pith_pattern_kept(&c->pattern, x->n);
    for (size_t j = 0; j < x->n; j++)
        if (!kept[j]) {
            pith_eliminate(x, j);
            go -= go > 0;
        }
    for (; go > 0; go--) {
        double cost;
        pith_eliminate(x, pith_eliminate_cheapest(x, &cost));
    }
}

void pith_row_windows_choose(const struct row_windows *c, uint32_t group, const double *goal,
                             const struct row_windows_room *r, uint8_t *kept)
{
    static const double alike = 1; /* one row: what its loss is does not matter */
    const size_t n = c->factor->n, b = c->most;
    const double *u = factor_of(c, group);
    for (size_t last = n, first; last > 0; last = first) {
        const size_t width = width_before(c, group, last);
        first = last - width;
        struct elimination x = {.n = width,
                                .unit = 1,
                                .rows = 1,
                                .inverse = r->inverse,
                                .w = r->w,
                                .loss = &alike,
                                .gone = r->gone,
                                .room = r->room};
        memcpy(x.inverse, c->inverse + (group * n + first) * b, width * width * sizeof *x.inverse);
        memset(x.gone, 0, width);
        for (size_t j = 0; j < width; j++)
            x.w[j] = pith_dot(u + (first + j) * n + last, r->error + last, n - last);
        solve_back(u + first * n + first, n, width, x.w);
        for (size_t j = 0; j < width; j++)
            x.w[j] += goal[first + j];
        choose_window(c, &x, kept + first);
        for (size_t j = 0; j < width; j++) {
            kept[first + j] = !x.gone[j];
            r->error[first + j] = goal[first + j] - x.w[j];
        }
    }
}
