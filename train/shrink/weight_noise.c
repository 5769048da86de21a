/* SPDX-License-Identifier: MIT */
#include "weight_noise.h"
#include "shuffle.h"

#include <math.h>
#include <stdlib.h>

/* Hard concrete: a sigmoid stretched to LOW..HIGH, then bounded to 0..1. */
#define LOW (-0.1)
#define HIGH 1.1
#define SHARPNESS (2.0 / 3)  /* beta */
#define FIRST_GATE 3.0f      /* P(z > 0) is 0.99 */
#define FIRST_VARIANCE -8.0f /* its logarithm */

/* Of the KL (Molchanov et al., equation 14). */
#define K1 0.63576
#define K2 1.87320
#define K3 1.48695

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- opening --------------------------------------------------------------------------------- */

bool pith_noise_new(enum pith_score kind, uint64_t count, uint64_t seed, float *r,
                    struct weight_noise **n)
{
    struct weight_noise *made = calloc(1, sizeof *made);
    if (!made)
        return false;
    *made = (struct weight_noise){.kind = kind, .count = count, .seed = seed};
    made->draw = malloc((size_t)(count + 1) * sizeof(float));
    made->saliency = malloc((size_t)(count + 1) * sizeof(float));
    if (!made->draw || !made->saliency) {
        pith_noise_free(made);
        return false;
    }
    for (uint64_t k = 0; k < count; k++) {
        r[k] = kind == PITH_SCORE_GATES ? FIRST_GATE : FIRST_VARIANCE;
        made->saliency[k] = 1;
    }
    pith_noise_draw(made, 0);
    *n = made;
    return true;
}

void pith_noise_free(struct weight_noise *n)
{
    if (!n)
        return;
    free(n->draw);
    free(n->saliency);
    free(n);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static double share(uint64_t *state)
{
    return ((double)(next_random(state) >> 11) + 0.5) * 0x1p-53;
}

/* Gates: log u - log(1 - u). Gaussians: in pairs (Box and Muller). */
void pith_noise_draw(struct weight_noise *n, uint64_t step)
{
    uint64_t state = n->seed ^ (step * UINT64_C(0xd1342543de82ef95));
    for (uint64_t k = 0; k < n->count; k++) {
        double u = share(&state);
        if (n->kind == PITH_SCORE_GATES) {
            n->draw[k] = (float)(log(u) - log1p(-u));
            continue;
        }
        double size = sqrt(-2 * log(u)), angle = 6.283185307179586 * share(&state);
        n->draw[k] = (float)(size * cos(angle));
        if (++k < n->count)
            n->draw[k] = (float)(size * sin(angle));
    }
}

/* ---- one weight ------------------------------------------------------------------------------ */

/* z, and dz/dr. */
static double gate(const struct weight_noise *n, uint64_t k, float r, bool quiet, double *slope)
{
    double beta = quiet ? 1 : SHARPNESS,
           s = sigmoid(((quiet ? 0 : (double)n->draw[k]) + (double)r) / beta);
    double z = s * (HIGH - LOW) + LOW;
    *slope = z > 0 && z < 1 ? (HIGH - LOW) * s * (1 - s) / beta : 0;
    return z < 0 ? 0 : z > 1 ? 1 : z;
}

static double log_alpha(float t, float r)
{
    return (double)r - log((double)t * (double)t + 1e-8);
}

static double p_open(float r)
{
    return sigmoid((double)r - SHARPNESS * log(-LOW / HIGH));
}

double pith_noise_cost(enum pith_score kind, float t, float r)
{
    if (kind == PITH_SCORE_GATES)
        return p_open(r);
    double a = log_alpha(t, r);
    return K1 - K1 * sigmoid(K2 + K3 * a) + 0.5 * log1p(exp(-a));
}

static double value(const struct weight_noise *n, uint64_t k, float t, float r, bool quiet)
{
    double slope;
    if (n->kind == PITH_SCORE_GATES)
        return (double)t * gate(n, k, r, quiet, &slope);
    return (double)t + (quiet ? 0 : exp((double)r / 2) * (double)n->draw[k]);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void values(const struct weight_noise *n, const float *t, const float *r,
                   const uint8_t *alive, bool quiet, float *w)
{
    for (uint64_t k = 0; k < n->count; k++)
        w[k] = alive && !alive[k] ? 0.0f : (float)value(n, k, t[k], r[k], quiet);
}

void pith_noise_values(const struct weight_noise *n, const float *t, const float *r,
                       const uint8_t *alive, float *w)
{
    values(n, t, r, alive, n->quiet, w);
}

void pith_noise_means(const struct weight_noise *n, const float *t, const float *r,
                      const uint8_t *alive, float *w)
{
    values(n, t, r, alive, true, w);
}

static void gate_back(const struct weight_noise *n, uint64_t k, float t, float r, double g,
                      float *dt, float *dr)
{
    double slope, z = gate(n, k, r, n->quiet, &slope), p = p_open(r);
    *dt = (float)(g * z);
    *dr = (float)(g * (double)t * slope + (n->quiet ? 0 : (double)n->cost * p * (1 - p)));
}

static void variance_back(const struct weight_noise *n, uint64_t k, float t, float r, double g,
                          float *dt, float *dr)
{
    *dt = (float)g;
    *dr = 0;
    if (n->quiet)
        return;
    double a = log_alpha(t, r), s = sigmoid(K2 + K3 * a);
    double by_a = (double)n->cost * (-K1 * K3 * s * (1 - s) - 0.5 * sigmoid(-a));
    double square = (double)t * (double)t + 1e-8;
    *dr = (float)(g * 0.5 * exp((double)r / 2) * (double)n->draw[k] + by_a);
    *dt -= (float)(by_a * 2 * (double)t / square);
}

void pith_noise_gradient(const struct weight_noise *n, const float *t, const float *r,
                         const uint8_t *alive, const float *grad, float *dt, float *dr)
{
    for (uint64_t k = 0; k < n->count; k++) {
        dt[k] = dr[k] = 0;
        if (alive && !alive[k])
            continue;
        if (n->kind == PITH_SCORE_GATES)
            gate_back(n, k, t[k], r[k], (double)grad[k], &dt[k], &dr[k]);
        else
            variance_back(n, k, t[k], r[k], (double)grad[k], &dt[k], &dr[k]);
    }
}

/* Gates that are equally open: the smaller weight goes first. */
void pith_noise_judge(struct weight_noise *n, const float *t, const float *r)
{
    for (uint64_t k = 0; k < n->count; k++) {
        double a = fabs((double)t[k]), score;
        if (n->kind == PITH_SCORE_GATES)
            score = p_open(r[k]) * (1 + 1e-3 * a / (1 + a));
        else
            score = exp(fmin(-log_alpha(t[k], r[k]), 80));
        n->saliency[k] = (float)fmax(score, 1e-30);
    }
}
