/* SPDX-License-Identifier: MIT */
#include "fake_quant.h"

#include <float.h>
#include <math.h>

/* A step may become this much smaller than it was; nothing on the way through zero makes sense. */
#define LEAST_SHARE 0.015625f
#define TRIES 24 /* steps tried at first, each this much smaller than the one before: */
#define SHRINK 0.92

/* 2^e with the least |log2(x) - e|: x = f * 2^e, f in 0.5 .. 1, goes down below the root of a half.
 */
static float nearest_power(float x)
{
    int e;
    double f = frexp((double)x, &e);
    return (float)ldexp(1, f * f < 0.5 ? e - 1 : e);
}

static float usable(float step)
{
    return step < FLT_MIN ? FLT_MIN : step;
}

float pith_fake_step(const struct fake_grid *g, float v)
{
    float step = usable(g->first * (v > LEAST_SHARE ? v : LEAST_SHARE));
    return g->radix ? nearest_power(step) : step;
}

float pith_fake_zero(const struct fake_grid *g, float zero)
{
    float z = nearbyintf(zero * (g->highest - g->lowest));
    z = z > g->lowest ? z : g->lowest; /* what is no number, too */
    return z < g->highest ? z : g->highest;
}

double pith_fake_gain(const struct fake_grid *g, double n)
{
    return 1 / (sqrt(fmax(n, 1) * fmax((double)g->highest, 1)) * (double)g->first);
}

static double squares(const struct fake_grid *g, const float *x, const unsigned char *alive,
                      size_t n, double step)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double k = nearbyint((double)x[i] / step);
        k = fmin(fmax(k, (double)g->lowest), (double)g->highest);
        double d = alive && !alive[i] ? 0 : (double)x[i] - k * step;
        sum += d * d;
    }
    return sum;
}

float pith_fake_first_step(const struct fake_grid *g, const float *x, const unsigned char *alive,
                           size_t n)
{
    double most = 0, least = INFINITY, best = 0;
    for (size_t i = 0; i < n; i++)
        if (!alive || alive[i])
            most = fmax(most, fabs((double)x[i]));
    double step = most / (double)g->highest;
    if (!(step >= (double)FLT_MIN && isfinite(step)))
        return 1;
    for (int i = 0; i < TRIES; i++, step *= g->radix ? 0.5 : SHRINK) {
        double s = g->radix ? (double)nearest_power((float)step) : step;
        double loss = squares(g, x, alive, n, s);
        if (loss < least) {
            least = loss;
            best = s;
        }
    }
    return usable((float)best);
}
