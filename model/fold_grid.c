/* SPDX-License-Identifier: MIT */
#include "fold_grid.h"

#include <math.h>
#include <string.h>

#include "core/bytes.h"

#define LEAST_NORMAL 1.17549435e-38f

static float multiple(const struct uniform_grid *grid, uint32_t i)
{
    return (float)((int32_t)i - (int32_t)grid->zero) * grid->step;
}

bool pith_grid_find(const float *centroid, uint32_t n, struct uniform_grid *grid)
{
    struct uniform_grid g = {0, 0};
    while (g.zero < n && centroid[g.zero] < 0)
        g.zero++;
    if (n < 2 || g.zero == n || centroid[g.zero] != 0)
        return false;
    g.step = g.zero + 1 < n ? centroid[g.zero + 1] : -centroid[g.zero - 1];
    if (!(g.step >= LEAST_NORMAL))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (centroid[i] != multiple(&g, i))
            return false;
    *grid = g;
    return true;
}

float pith_grid_symmetric_step(const float *centroid, uint32_t n)
{
    struct uniform_grid g;
    return n % 2 == 1 && pith_grid_find(centroid, n, &g) && g.zero == n / 2 ? g.step : 0;
}

void pith_grid_write(const struct uniform_grid *grid, uint32_t n, float *centroid)
{
    for (uint32_t i = 0; i < n; i++)
        centroid[i] = multiple(grid, i);
}

float pith_grid_round(double step, uint32_t bits)
{
    int exponent;
    double unit = ldexp(1, (int)(bits < 23 ? bits : 23) + 1);
    double part = rint(frexp(step, &exponent) * unit) / unit; /* 0.5 .. 1 */
    float rounded = (float)ldexp(part, exponent);
    return rounded >= LEAST_NORMAL ? rounded : 0;
}

struct pith_codebook *pith_grid_lay(struct pith_model *m, float *value, uint64_t n, uint32_t levels)
{
    uint32_t n_centroids = 2 * levels + 1;
    double most = 0;
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    float *centroid = pith_model_alloc(m, n_centroids, sizeof *centroid);
    uint8_t *index = pith_model_alloc(m, n, 1);
    if (!b || !centroid || !index)
        return NULL;
    for (uint64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)value[i]));
    struct uniform_grid g = {pith_grid_round(most / levels, 7), levels};
    if (!(g.step > 0) || !isfinite(g.step * (float)levels))
        g.step = 1;
    pith_grid_write(&g, n_centroids, centroid);
    for (uint64_t i = 0; i < n; i++) {
        float k = rintf(value[i] / g.step);
        k = fmaxf(-(float)levels, fminf((float)levels, k));
        index[i] = (uint8_t)((int32_t)k + (int32_t)levels);
        value[i] = centroid[index[i]];
    }
    *b = (struct pith_codebook){.n_centroids = n_centroids,
                                .group_elems = n,
                                .n_groups = 1,
                                .centroid = centroid,
                                .index = index};
    return b;
}
