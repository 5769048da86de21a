/* SPDX-License-Identifier: MIT */
/* onnx_fit.c - how a number follows the sizes, from its values:
 *
 *     each size alone   a straight line through three values: its slope, p / q
 *     all at once       what the lines do not explain is a product of two sizes
 *     rounded down      where one size alone gives no line: (c S + d) / q, the smallest such q
 *     padded            what goes up to the next multiple: c ((S + d) / q) + a S + b, also halved
 *     counted           products of two such quotients, as windows of a picture */
#include "onnx/onnx_fit.h"

#include <math.h>
#include <stdlib.h>

#define MOST_DIVISOR 4096     /* resampling from 44.1 to 16 kHz has 441 */
#define MOST_COMMON (1 << 20) /* of all divisors */
#define MOST_OF_PRODUCT 64
#define MOST_STEP 256 /* of quotients: windows of 7 after a stride of 32 have 224 */
#define MOST_PARTS 512

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

/* Of low to high: rounded down, up, to the nearest, or up what was rounded down before; else the
 * number next to these. */
static int64_t likely_rest(int64_t q, int64_t low, int64_t high)
{
    if (low <= 0 && high >= 0)
        return 0;
    if (low <= q - 1 && high >= q - 1)
        return q - 1;
    if (low <= q / 2 && high >= q / 2)
        return q / 2;
    for (int64_t r = q - 1; r > 1; r--)
        if (q % r == 0 && q - r >= low && q - r <= high)
            return q - r;
    return low > 0 ? low : high;
}

/* The first S from `base` on that q divides with d: where (S + d) / q steps up, and with a smaller
 * d does not yet. */
static uint32_t step_at(uint32_t base, int64_t q, int64_t d)
{
    const int64_t sum = (int64_t)base + d, rest = (sum % q + q) % q;
    return (uint32_t)(rest ? base + (q - rest) : base);
}

/* (c S + d) / q of size i. The slopes that values leave must be so few that a fraction with such a
 * divisor is hardly among them by chance: resampling by 640 / 441 looks like 16 / 11 for long. */
static bool rounded(struct onnx_fit *f, uint32_t i, struct size_expression *e)
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
            const int64_t d = likely_rest(q, low, high);
            *e = (struct size_expression){.divisor = (uint32_t)q};
            add_term(e, c, 1, i, 0);
            add_term(e, d, 0, 0, 0);
            if (low > high || !pith_onnx_fits(f, e))
                continue;
            f->undecided = c == 1 && low < high;
            f->next_size = i;
            f->next_value = step_at(f->size[0][i], q, low + (high - low + 1) / 2);
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

/* ---- with quotients as factors ----------------------------------------------------------------
 */

/* (S + d) / q of a size S. Strides and windows round down, up, or up what was rounded down before:
 * d is q - r where r divides q. */
struct part {
    uint32_t q;
    int32_t d;
};

static int64_t value_of(const struct onnx_fit *f, uint32_t k, uint32_t i, struct part p)
{
    return ((int64_t)f->size[k][i] + p.d) / p.q;
}

/* p of size i becomes a factor of term t. */
static void add_part(struct size_expression *e, uint32_t t, uint32_t i, struct part p)
{
    uint8_t *factor = &e->term[t].factor[e->term[t].n_factors++];
    *factor = (uint8_t)i;
    if (p.q == 1)
        return;
    *factor = (uint8_t)(SIZE_NAMES + e->n_quotients);
    e->quotient[e->n_quotients++] = (struct size_quotient){(uint8_t)i, 1, p.d, p.q};
}

/* (c p + a r + b) / by, p and r of one size. */
struct sum_of_parts {
    struct part p, r;
    int64_t c, a, b;
    uint32_t by;
};

static bool fits_sum(const struct onnx_fit *f, uint32_t i, struct sum_of_parts s,
                     struct size_expression *e)
{
    *e = (struct size_expression){.divisor = s.by, .n_terms = 1 + (s.a != 0)};
    e->term[0].times = (int32_t)s.c;
    e->term[1].times = (int32_t)s.a;
    add_part(e, 0, i, s.p);
    if (s.a)
        add_part(e, 1, i, s.r);
    add_term(e, s.b, 0, 0, 0);
    return pith_onnx_fits(f, e);
}

/* c p + b */
static bool multiple_of(const struct onnx_fit *f, uint32_t i, struct part p,
                        struct size_expression *e)
{
    const int64_t at = value_of(f, 0, i, p);
    for (uint32_t k = 1; k < f->n_passes; k++) {
        const int64_t step = value_of(f, k, i, p) - at, rise = (int64_t)f->number[k] - f->number[0];
        if (step == 0)
            continue;
        return rise % step == 0 && rise && rise / step <= INT32_MAX && rise / step >= -INT32_MAX &&
               fits_sum(
                   f, i,
                   (struct sum_of_parts){
                       .p = p, .c = rise / step, .b = f->number[0] - rise / step * at, .by = 1},
                   e);
    }
    return false;
}

/* What is missing from r to the next multiple of q / r.q, or goes beyond the last one; all of it,
 * or half. */
static bool missing_to(const struct onnx_fit *f, uint32_t i, struct part p, struct part r,
                       struct size_expression *e)
{
    const int64_t m = p.q / r.q;
    for (int64_t a = -1; a <= 1; a += 2) {
        const int64_t rest = f->number[0] - a * (value_of(f, 0, i, r) - m * value_of(f, 0, i, p));
        struct sum_of_parts s = {.p = p, .r = r, .c = -a * m, .a = a, .b = rest, .by = 1};
        if (fits_sum(f, i, s, e))
            return true;
        for (s.by = 2, s.b = 0; s.b < 2; s.b++)
            if (fits_sum(f, i, s, e))
                return true;
    }
    return false;
}

static bool padded(const struct onnx_fit *f, uint32_t i, struct size_expression *e)
{
    for (uint32_t other = 0; other < 2; other++) /* first what strides and windows give */
        for (uint32_t q = 2; q <= MOST_STEP; q++)
            for (uint32_t d = 0; d < q; d++)
                if ((q % (q - d) != 0) == other &&
                    multiple_of(f, i, (struct part){q, (int32_t)d}, e))
                    return true;
    for (uint32_t q = 2; q <= MOST_STEP; q++)
        for (uint32_t r = 1; r <= q; r++)
            for (uint32_t of = 1; of < q && q % r == 0; of++) {
                const struct part p = {q, (int32_t)(q - r)};
                if (q % of == 0 && (missing_to(f, i, p, (struct part){of, 0}, e) ||
                                    missing_to(f, i, p, (struct part){of, (int32_t)of - 1}, e)))
                    return true;
            }
    return false;
}

/* Parts of size i that change where the numbers do, when it alone is another; returns how many. */
static uint32_t likely_parts(const struct onnx_fit *f, uint32_t i, struct part *list)
{
    uint32_t n = 0;
    for (uint32_t q = 1; q <= MOST_STEP; q++)
        for (uint32_t r = 1; r <= q && n < MOST_PARTS; r++) {
            const struct part p = {q, (int32_t)(q - r)};
            bool likely = q % r == 0;
            for (uint32_t k = 1 + 2 * i; k < 3 + 2 * i && likely; k++)
                likely = (value_of(f, k, i, p) == value_of(f, 0, i, p)) ==
                         (f->number[k] == f->number[0]);
            if (likely)
                list[n++] = p;
        }
    return n;
}

/* A number times a part of size a times one of size b, plus what is left. */
static bool counted_of(const struct onnx_fit *f, uint32_t a, uint32_t b, struct size_expression *e)
{
    struct part of_a[MOST_PARTS], of_b[MOST_PARTS];
    const uint32_t n_a = likely_parts(f, a, of_a), n_b = likely_parts(f, b, of_b);
    const uint32_t last = f->n_passes - 1;
    const int64_t rise = (int64_t)f->number[last] - f->number[0];
    for (uint32_t i = 0; i < n_a; i++)
        for (uint32_t k = 0; k < n_b; k++) {
            const int64_t first = value_of(f, 0, a, of_a[i]) * value_of(f, 0, b, of_b[k]);
            const int64_t step =
                value_of(f, last, a, of_a[i]) * value_of(f, last, b, of_b[k]) - first;
            if (step == 0 || rise == 0 || rise % step != 0 || rise / step > INT32_MAX ||
                rise / step < -INT32_MAX)
                continue;
            *e = (struct size_expression){.divisor = 1, .n_terms = 1};
            e->term[0].times = (int32_t)(rise / step);
            add_part(e, 0, a, of_a[i]);
            add_part(e, 0, b, of_b[k]);
            add_term(e, f->number[0] - rise / step * first, 0, 0, 0);
            if (pith_onnx_fits(f, e))
                return true;
        }
    return false;
}

/* All numbers divided by size i; false: they are no multiples. */
static bool divide(struct onnx_fit *f, uint32_t i)
{
    for (uint32_t k = 0; k < f->n_passes; k++) {
        const int32_t size = (int32_t)f->size[k][i];
        if (size == 0 || f->number[k] % size != 0)
            return false;
        f->number[k] /= size;
    }
    return true;
}

static bool counted(const struct onnx_fit *f, struct size_expression *e)
{
    for (uint32_t a = 0; a < f->n_sizes; a++)
        for (uint32_t b = a + 1; b < f->n_sizes; b++)
            if (!f->skipped[a] && !f->skipped[b] && counted_of(f, a, b, e))
                return true;
    for (uint32_t by = 0; by < f->n_sizes; by++) {
        struct onnx_fit divided = *f;
        if (f->skipped[by] || !divide(&divided, by))
            continue;
        for (uint32_t a = 0; a < f->n_sizes; a++)
            for (uint32_t b = a + 1; b < f->n_sizes; b++)
                if (a != by && b != by && !f->skipped[a] && !f->skipped[b] &&
                    counted_of(&divided, a, b, e)) {
                    e->term[0].factor[e->term[0].n_factors++] = (uint8_t)by;
                    if (e->n_terms == 1 && pith_onnx_fits(f, e))
                        return true;
                }
    }
    return false;
}

bool pith_onnx_fit(struct onnx_fit *f, struct size_expression *e)
{
    f->undecided = false;
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
        if (!f->skipped[i] && (squared(f, i, e) || rounded(f, i, e) || padded(f, i, e)))
            return true;
    return counted(f, e);
}
