/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <math.h>
#include <string.h>

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

static void use(struct grid *g)
{
    g->step = round_short(expf(g->log_step));
}

void pith_grid_init(struct grid *g, uint32_t levels, float step)
{
    *g = (struct grid){.levels = (int32_t)levels, .log_step = logf(step)};
    use(g);
}

int32_t pith_grid_level(const struct grid *g, float x, float zero)
{
    float k = rintf(x / g->step), most = (float)g->levels;
    if (fabsf(x) < zero * g->step)
        return 0;
    if (k == 0)
        k = copysignf(1, x);
    return (int32_t)(k < -most ? -most : k > most ? most : k);
}

double pith_grid_gradient(const struct grid *g, uint64_t n, const float *x, const uint8_t *alive,
                          const float *zero, float *grad)
{
    float most = ((float)g->levels + GRID_HALFWAY) * g->step;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (alive && !alive[i])
            continue;
        float k = (float)pith_grid_level(g, x[i], zero ? zero[i] : GRID_HALFWAY);
        if (fabsf(x[i]) >= most) {
            sum += (double)grad[i] * (double)k * (double)g->step;
            if (grad[i] * x[i] < 0) /* would push it further out */
                grad[i] = 0;
        } else {
            sum += (double)grad[i] * (double)(k * g->step - x[i]);
        }
    }
    return sum;
}

void pith_grid_learn(struct grid *g, double gradient, double rate)
{
    const double b1 = 0.9, b2 = 0.999;
    g->n_steps++;
    g->first = (float)(b1 * (double)g->first + (1 - b1) * gradient);
    g->second = (float)(b2 * (double)g->second + (1 - b2) * gradient * gradient);
    double m = (double)g->first / (1 - pow(b1, (double)g->n_steps));
    double v = (double)g->second / (1 - pow(b2, (double)g->n_steps));
    g->log_step -= (float)(rate * m / (sqrt(v) + 1e-12));
    use(g);
}
