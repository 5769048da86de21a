/* SPDX-License-Identifier: MIT */
/* fake_rows_impl.h - the loops behind fake_rows.h, included once for each instruction set with
 * ROWS, the name of the table, defined. Plain C that the compiler makes vectors of: WIDE elements
 * side by side, whose number it knows. Sums are kept in float over RUN blocks, then in double. */
#include "train_kernels.h"

enum { WIDE = 16, RUN = 32 };

/* 1.5 * 2^23: added to a number below 2^22 in size it leaves no bits behind the point, so what
 * comes back is rounded to even, by two additions that every instruction set has. */
#define NO_FRACTION 12582912.0f

/* Cut first: low and high are integers, so rounding afterwards changes nothing about it. */
static inline float nearest(const struct fake_step *g, float x)
{
    float k = x / g->step;
    k = k > g->low ? k : g->low; /* what is no number, too */
    k = k < g->high ? k : g->high;
    return (k + NO_FRACTION - NO_FRACTION) * g->step;
}

static void round_all(const struct fake_step *g, const float *x, size_t n, float *y)
{
    const struct fake_step grid = *g;
    for (size_t i = 0; i < n; i++)
        y[i] = nearest(&grid, x[i]);
}

struct sums {
    float by_step[WIDE], outside[WIDE];
};

/* `width` elements from element i on; lies in: between least and most. */
static inline __attribute__((always_inline)) void
some(const struct fake_gradient *d, float least, float most, size_t i, size_t width, struct sums *s)
{
    const float *x = d->x + i, *y = d->y + i, *dy = d->dy + i;
    float *dx = d->dx ? d->dx + i : NULL;
    for (size_t k = 0; k < width; k++) {
        bool in = x[k] >= least && x[k] <= most;
        float through = in ? dy[k] : 0.0f;
        s->by_step[k] += dy[k] * (in ? y[k] - x[k] : y[k]);
        s->outside[k] += in ? 0.0f : dy[k];
        if (dx)
            dx[k] = d->set ? through : dx[k] + through;
    }
}

static inline __attribute__((always_inline)) void
blocks(const struct fake_step *g, struct fake_gradient d, double *by_step, double *outside)
{
    const float least = g->low * g->step, most = g->high * g->step;
    double step_sum = 0, outside_sum = 0;
    for (size_t run = 0; run < d.n; run += WIDE * RUN) {
        size_t end = d.n - run < WIDE * RUN ? d.n : run + WIDE * RUN, i = run;
        struct sums s = {{0}, {0}};
        for (; i + WIDE <= end; i += WIDE)
            some(&d, least, most, i, WIDE, &s);
        some(&d, least, most, i, end - i, &s);
        for (size_t k = 0; k < WIDE; k++) {
            step_sum += (double)s.by_step[k];
            outside_sum += (double)s.outside[k];
        }
    }
    *by_step += step_sum / (double)g->step;
    *outside += outside_sum;
}

static void back(const struct fake_step *g, struct fake_gradient *d)
{
    struct fake_gradient of = *d;
    if (!of.dx) {
        of.set = false, of.dx = NULL;
        blocks(g, of, &d->by_step, &d->outside);
    } else if (of.set) {
        of.set = true;
        blocks(g, of, &d->by_step, &d->outside);
    } else {
        of.set = false;
        blocks(g, of, &d->by_step, &d->outside);
    }
}

const struct fake_rows ROWS = {.round = round_all, .back = back};
