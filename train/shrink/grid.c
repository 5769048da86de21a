/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <math.h>
#include <string.h>

#define GRID_HALFWAY 0.5f
#define LEAST_STEP 1e-30f
#define MOST_STEP 1e30f

/* To 8 bits of mantissa, the implied one among them; half to even. */
static float round_short(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1);
    bits &= 0xffff0000u;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* So that k * step and x / step are numbers, whatever the weights became. */
static float usable(float step)
{
    return step < LEAST_STEP ? LEAST_STEP : step > MOST_STEP ? MOST_STEP : step;
}

void pith_grid_init(struct grid *g, uint32_t levels, float step)
{
    step = usable(step);
    *g = (struct grid){.levels = (int32_t)levels, .step = round_short(step), .exact = step};
}

int32_t pith_grid_level(const struct grid *g, float x)
{
    float k = rintf(x / g->step), most = (float)g->levels;
    if (!(fabsf(x) >= GRID_HALFWAY * g->step)) /* what is no number is 0, too */
        return 0;
    if (k == 0)
        k = copysignf(1, x);
    return (int32_t)(k < -most ? -most : k > most ? most : k);
}

void pith_grid_gradient(const struct grid *g, uint64_t n, const float *x, const uint8_t *alive,
                        float *grad)
{
    float most = ((float)g->levels + GRID_HALFWAY) * g->step;
    for (uint64_t i = 0; i < n; i++)
        if ((!alive || alive[i]) && fabsf(x[i]) >= most && grad[i] * x[i] < 0)
            grad[i] = 0; /* would push it further out */
}

void pith_grid_learn(struct grid *g, const struct grid_fit *fit, double rate)
{
    double best = fit->kk > 0 ? fit->xk / fit->kk : 0;
    if (!(best > 0) || !isfinite(best))
        return;
    g->exact =
        usable(g->exact + 0.5f * (float)rate * ((float)fmin(best, (double)MOST_STEP) - g->exact));
    g->step = round_short(g->exact);
}
