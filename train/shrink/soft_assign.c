/* SPDX-License-Identifier: MIT */
#include "soft_assign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CENTROIDS = 256 };

#define NOTHING 30.0f /* exp(-30) of an attention does not show in f32 */

/* ---- opening --------------------------------------------------------------------------------- */

static float squared_distance(const float *c, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 1; i < n; i++)
        sum += ((double)c[i] - (double)c[i - 1]) * ((double)c[i] - (double)c[i - 1]);
    return n > 1 ? (float)(sum / (n - 1)) : 0.0f;
}

bool pith_soft_new(uint64_t count, uint64_t group_elems, uint32_t n_centroids,
                   const float *centroid, float temperature, struct soft_assign **s)
{
    uint64_t groups = count / group_elems;
    struct soft_assign *made = calloc(1, sizeof *made);
    if (!made)
        return false;
    *made = (struct soft_assign){
        .count = count, .group_elems = group_elems, .n_centroids = n_centroids, .share = 1};
    made->first_temperature = malloc((size_t)(groups + 1) * sizeof(float));
    if (!made->first_temperature) {
        free(made);
        return false;
    }
    for (uint64_t g = 0; g < groups; g++)
        made->first_temperature[g] =
            temperature * squared_distance(centroid + g * n_centroids, n_centroids);
    *s = made;
    return true;
}

void pith_soft_free(struct soft_assign *s)
{
    if (!s)
        return;
    free(s->first_temperature);
    free(s);
}

void pith_soft_cool(struct soft_assign *s, double part, double until)
{
    double left = part < until ? 1 - part / until : 0;
    s->share = (float)(left * left);
}

/* ---- attention ------------------------------------------------------------------------------- */

static uint32_t nearest(const float *c, uint32_t n, float x)
{
    uint32_t best = 0;
    for (uint32_t j = 1; j < n; j++)
        best = fabsf(x - c[j]) < fabsf(x - c[best]) ? j : best;
    return best;
}

/* a [n]; returns w. inverse: of the temperature. */
static float attend(const float *c, uint32_t n, float x, float inverse, float *a)
{
    float least = INFINITY, sum = 0, w = 0;
    for (uint32_t j = 0; j < n; j++) {
        a[j] = (x - c[j]) * (x - c[j]) * inverse;
        least = a[j] < least ? a[j] : least;
    }
    for (uint32_t j = 0; j < n; j++) {
        a[j] = a[j] - least < NOTHING ? expf(least - a[j]) : 0.0f;
        sum += a[j];
    }
    for (uint32_t j = 0; j < n; j++) {
        a[j] /= sum;
        w += a[j] * c[j];
    }
    return w;
}

/* Of a group; 0: settled. A group whose centroids are one has no way to be between. */
static float inverse_temperature(const struct soft_assign *s, uint64_t group)
{
    float t = s->share * s->first_temperature[group];
    return t > 0 ? 1 / t : 0;
}

void pith_soft_values(const struct soft_assign *s, const float *x, const float *c,
                      const uint8_t *alive, float *w)
{
    float a[MOST_CENTROIDS];
    for (uint64_t k = 0; k < s->count; k++) {
        uint64_t group = k / s->group_elems;
        const float *own = c + group * s->n_centroids;
        float inverse = inverse_temperature(s, group);
        if (alive && !alive[k])
            w[k] = 0;
        else if (inverse > 0 && inverse < INFINITY)
            w[k] = attend(own, s->n_centroids, x[k], inverse, a);
        else
            w[k] = own[nearest(own, s->n_centroids, x[k])];
    }
}

/* dw/dx = 2/t (sum a c^2 - w^2), dw/dc_j = a_j (1 + 2/t (c_j - w) (x - c_j)) */
static void attend_back(const float *c, uint32_t n, float x, float inverse, float grad, float *dx,
                        float *dc)
{
    float a[MOST_CENTROIDS], w = attend(c, n, x, inverse, a), spread = 0;
    for (uint32_t j = 0; j < n; j++)
        if (a[j] > 0) {
            spread += a[j] * (c[j] - w) * (c[j] - w);
            dc[j] += grad * a[j] * (1 + 2 * inverse * (c[j] - w) * (x - c[j]));
        }
    *dx = grad * 2 * inverse * spread;
}

void pith_soft_gradient(const struct soft_assign *s, const float *x, const float *c,
                        const uint8_t *alive, const float *grad, float *dx, float *dc)
{
    memset(dc, 0, (size_t)(s->count / s->group_elems * s->n_centroids) * sizeof *dc);
    for (uint64_t k = 0; k < s->count; k++) {
        uint64_t group = k / s->group_elems, at = group * s->n_centroids;
        float inverse = inverse_temperature(s, group);
        dx[k] = 0;
        if (alive && !alive[k])
            continue;
        if (inverse > 0 && inverse < INFINITY)
            attend_back(c + at, s->n_centroids, x[k], inverse, grad[k], &dx[k], dc + at);
        else
            dc[at + nearest(c + at, s->n_centroids, x[k])] += grad[k];
    }
}

void pith_soft_nearest(const struct soft_assign *s, const float *x, const float *c, uint8_t *index)
{
    for (uint64_t k = 0; k < s->count; k++)
        index[k] = (uint8_t)nearest(c + k / s->group_elems * s->n_centroids, s->n_centroids, x[k]);
}
