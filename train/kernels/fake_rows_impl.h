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

static inline __attribute__((always_inline)) void some(float least, float most, const float *x,
                                                       const float *y, const float *dy,
                                                       size_t width, bool set, float *dx,
                                                       struct sums *s)
{
    for (size_t i = 0; i < width; i++) {
        bool in = x[i] >= least && x[i] <= most;
        float through = in ? dy[i] : 0.0f;
        s->by_step[i] += dy[i] * (in ? y[i] - x[i] : y[i]);
        s->outside[i] += in ? 0.0f : dy[i];
        if (dx)
            dx[i] = set ? through : dx[i] + through;
    }
}

static inline __attribute__((always_inline)) void blocks(const struct fake_step *g, const float *x,
                                                         const float *y, const float *dy, size_t n,
                                                         bool set, float *dx, double *by_step,
                                                         double *outside)
{
    const float least = g->low * g->step, most = g->high * g->step;
    double step_sum = 0, outside_sum = 0;
    for (size_t run = 0; run < n; run += WIDE * RUN) {
        size_t end = n - run < WIDE * RUN ? n : run + WIDE * RUN, i = run;
        struct sums s = {{0}, {0}};
        for (; i + WIDE <= end; i += WIDE)
            some(least, most, x + i, y + i, dy + i, WIDE, set, dx ? dx + i : NULL, &s);
        some(least, most, x + i, y + i, dy + i, end - i, set, dx ? dx + i : NULL, &s);
        for (size_t k = 0; k < WIDE; k++) {
            step_sum += (double)s.by_step[k];
            outside_sum += (double)s.outside[k];
        }
    }
    *by_step += step_sum / (double)g->step;
    *outside += outside_sum;
}

static void back(const struct fake_step *g, const float *x, const float *y, const float *dy,
                 size_t n, bool set, float *dx, double *by_step, double *outside)
{
    if (!dx)
        blocks(g, x, y, dy, n, false, NULL, by_step, outside);
    else if (set)
        blocks(g, x, y, dy, n, true, dx, by_step, outside);
    else
        blocks(g, x, y, dy, n, false, dx, by_step, outside);
}

const struct fake_rows ROWS = {.round = round_all, .back = back};
