/* SPDX-License-Identifier: MIT */
/* onnx_fit.c - how a number follows the sizes, from its values:
 *
 *     each size alone   a straight line through three values: its slope, p / q
 *     all at once       what the lines do not explain is a product of two sizes
 *     rounded down      where one size alone gives no line: (c S + d) / q, the smallest such q */
#include "onnx/onnx_fit.h"

#include <math.h>
#include <stdlib.h>

#define MOST_DIVISOR 4096     /* resampling from 44.1 to 16 kHz has 441 */
#define MOST_COMMON (1 << 20) /* of all divisors */
#define MOST_OF_PRODUCT 64

static int64_t common(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    for (b = b < 0 ? -b : b; b;) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a ? a : 1;
}

struct lines {
    int64_t p[SIZE_NAMES]; /* slopes times q */
    int64_t q;
};

bool pith_onnx_fits(const struct onnx_fit *f, const struct size_expression *e)
{
    int32_t v;
    for (uint32_t k = 0; k < f->n_passes; k++)
        if (!pith_size_value(e, f->size[k], &v) || v != f->number[k])
            return false;
    return true;
}

/* false: size i alone is no line. */
static bool slope_of(const struct onnx_fit *f, uint32_t i, int64_t *p, int64_t *q)
{
    const uint32_t one = 1 + 2 * i, two = 2 + 2 * i;
    int64_t dx1 = (int64_t)f->size[one][i] - f->size[0][i];
    int64_t dx2 = (int64_t)f->size[two][i] - f->size[0][i];
    int64_t dy1 = (int64_t)f->number[one] - f->number[0];
    int64_t dy2 = (int64_t)f->number[two] - f->number[0];
    if (dx1 == 0 || dy1 * dx2 != dy2 * dx1)
        return false;
    int64_t by = common(dy1, dx1) * (dx1 < 0 ? -1 : 1);
    *p = dy1 / by;
    *q = dx1 / by;
    return true;
}

static void add_term(struct size_expression *e, int64_t times, uint32_t n, uint32_t a, uint32_t b)
{
    if (times == 0 || times > INT32_MAX || times < -INT32_MAX || e->n_terms == SIZE_TERMS)
        return;
    e->term[e->n_terms++] = (struct size_term){(int32_t)times, n, {(uint8_t)a, (uint8_t)b, 0}};
}

/* The lines, and cross * a * b moved to the base. */
static bool sum_of(const struct onnx_fit *f, const struct lines *l, int64_t cross, uint32_t a,
                   uint32_t b, struct size_expression *e)
{
    int64_t rest = (int64_t)f->number[0] * l->q;
    *e = (struct size_expression){.divisor = (uint32_t)l->q};
    if (cross) {
        add_term(e, cross, 2, a, b);
        rest += cross * f->size[0][a] * f->size[0][b];
    }
    for (uint32_t i = 0; i < f->n_sizes; i++) {
        if (f->skipped[i])
            continue;
        int64_t times = l->p[i];
        if (cross && (i == a || i == b))
            times -= cross * f->size[0][i == a ? b : a];
        rest -= l->p[i] * f->size[0][i];
        add_term(e, times, 1, i, 0);
    }
    add_term(e, rest, 0, 0, 0);
    return pith_onnx_fits(f, e);
}

static bool with_product(const struct onnx_fit *f, const struct lines *l, struct size_expression *e)
{
    const uint32_t last = f->n_passes - 1;
    int64_t missing = ((int64_t)f->number[last] - f->number[0]) * l->q;
    for (uint32_t i = 0; i < f->n_sizes; i++)
        missing -= l->p[i] * ((int64_t)f->size[last][i] - f->size[0][i]);
    for (uint32_t a = 0; a < f->n_sizes; a++)
        for (uint32_t b = a + 1; b < f->n_sizes; b++) {
            int64_t step = ((int64_t)f->size[last][a] - f->size[0][a]) *
                           ((int64_t)f->size[last][b] - f->size[0][b]);
            if (f->skipped[a] || f->skipped[b] || step == 0)
                continue;
            int64_t by = step / common(missing, step); /* a broken number of products */
            struct lines scaled = {.q = l->q * by};
            if (scaled.q > MOST_OF_PRODUCT)
                continue;
            for (uint32_t i = 0; i < f->n_sizes; i++)
                scaled.p[i] = l->p[i] * by;
            if (sum_of(f, &scaled, missing * by / step, a, b, e))
                return true;
        }
    return false;
}

/* Between which slopes all values are on a line of size i that is rounded down. */
static void slopes(const struct onnx_fit *f, uint32_t i, double *least, double *most)
{
    *least = 0;
    *most = 1e6;
    for (uint32_t k = 1; k < f->n_passes; k++)
        for (uint32_t j = 0; j < k; j++) {
            double dx = (double)f->size[k][i] - f->size[j][i];
            double dy = (double)f->number[k] - f->number[j];
            if (dx == 0)
                continue;
            double a = (dy - 1) / dx, b = (dy + 1) / dx;
            *least = fmax(*least, fmin(a, b));
            *most = fmin(*most, fmax(a, b));
        }
}

/* (c S + d) / q of size i. The slopes that values leave must be so few that a fraction with such a
 * divisor is hardly among them by chance: resampling by 640 / 441 looks like 16 / 11 for long. */
static bool rounded(const struct onnx_fit *f, uint32_t i, struct size_expression *e)
{
    double least, most;
    slopes(f, i, &least, &most);
    for (int64_t q = 2; q <= MOST_DIVISOR && (most - least) * (double)(q * q) < 1; q++)
        for (int64_t c = (int64_t)(least * (double)q) + 1; (double)c < most * (double)q; c++) {
            int64_t low = -(INT64_C(1) << 40), high = -low;
            for (uint32_t k = 0; k < f->n_passes; k++) {
                int64_t from = (int64_t)f->number[k] * q - c * f->size[k][i];
                low = from > low ? from : low;
                high = from + q - 1 < high ? from + q - 1 : high;
            }
            /* rounded down, up, to the nearest, or the number next to these */
            int64_t d = low <= 0 && high >= 0           ? 0
                        : low <= q - 1 && high >= q - 1 ? q - 1
                        : low <= q / 2 && high >= q / 2 ? q / 2
                        : low > 0                       ? low
                                                        : high;
            *e = (struct size_expression){.divisor = (uint32_t)q};
            add_term(e, c, 1, i, 0);
            add_term(e, d, 0, 0, 0);
            if (low <= high && pith_onnx_fits(f, e))
                return true;
        }
    return false;
}

/* c S^2 + b S + a of size i, which is a product of it with itself. */
static bool squared(const struct onnx_fit *f, uint32_t i, struct size_expression *e)
{
    const uint32_t one = 1 + 2 * i, two = 2 + 2 * i;
    int64_t x0 = f->size[0][i], x1 = f->size[one][i], x2 = f->size[two][i];
    int64_t y0 = f->number[0], y1 = f->number[one], y2 = f->number[two];
    if (x1 == x0 || x2 == x0 || x1 == x2)
        return false;
    /* second divided difference */
    int64_t above = (y2 - y0) * (x1 - x0) - (y1 - y0) * (x2 - x0);
    int64_t below = (x2 - x0) * (x1 - x0) * (x2 - x1);
    if (above % below != 0)
        return false;
    int64_t c = above / below, rest = y1 - y0 - c * (x1 * x1 - x0 * x0);
    if (rest % (x1 - x0) != 0)
        return false;
    int64_t b = rest / (x1 - x0);
    *e = (struct size_expression){.divisor = 1};
    add_term(e, c, 2, i, i);
    add_term(e, b, 1, i, 0);
    add_term(e, y0 - c * x0 * x0 - b * x0, 0, 0, 0);
    return pith_onnx_fits(f, e);
}

bool pith_onnx_fit(const struct onnx_fit *f, struct size_expression *e)
{
    struct lines l = {.q = 1};
    int64_t p[SIZE_NAMES] = {0}, q[SIZE_NAMES];
    bool all_lines = true;
    for (uint32_t i = 0; i < f->n_sizes; i++) {
        q[i] = 1;
        if (f->skipped[i])
            continue;
        if (slope_of(f, i, &p[i], &q[i]))
            l.q = l.q / common(l.q, q[i]) * q[i];
        else
            all_lines = false;
    }
    for (uint32_t i = 0; i < f->n_sizes; i++)
        l.p[i] = p[i] * (l.q / q[i]);
    if (all_lines && l.q <= MOST_COMMON && (sum_of(f, &l, 0, 0, 0, e) || with_product(f, &l, e)))
        return true;
    for (uint32_t i = 0; i < f->n_sizes; i++)
        if (!f->skipped[i] && (squared(f, i, e) || rounded(f, i, e)))
            return true;
    return false;
}
