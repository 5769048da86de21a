/* SPDX-License-Identifier: MIT */
/* weight_noise.h - weights that are drawn anew at each step: how much noise the loss lets a weight
 * have tells whether it is needed. Each weight t has one number r more, which learns with it.
 *
 *     gates (L0, Louizos, Welling, Kingma, 2018): w = t z, z in 0..1 hard concrete with
 *         log alpha = r; costs P(z > 0)
 *     variational dropout (Molchanov, Ashukha, Vetrov, 2017): w = t + exp(r / 2) e, e Gaussian;
 *         costs KL(q || log-uniform prior), by their approximation of it
 *
 * The draw is one for the whole batch: what is drawn depends on seed, tensor and step alone. */
#ifndef WEIGHT_NOISE_H
#define WEIGHT_NOISE_H

#include "pith_train.h"

struct weight_noise {
    enum pith_score kind; /* PITH_SCORE_GATES, PITH_SCORE_VARIATIONAL */
    uint64_t count, seed;
    bool quiet;      /* nothing is drawn: w is the mean, z what it is without noise */
    float cost;      /* of the sum of what the weights cost, in the loss */
    float *draw;     /* [count] */
    float *saliency; /* [count] > 0, as of pith_noise_judge: P(z > 0); t^2 / variance */
};

/* r [count]: set, so that there is little noise at first. False: no memory. */
bool pith_noise_new(enum pith_score kind, uint64_t count, uint64_t seed, float *r,
                    struct weight_noise **n);
void pith_noise_free(struct weight_noise *n); /* accepts NULL */
void pith_noise_draw(struct weight_noise *n, uint64_t step);
/* t, r [count] to w; 0 where alive (NULL: everywhere) is 0. */
void pith_noise_values(const struct weight_noise *n, const float *t, const float *r,
                       const uint8_t *alive, float *w);
/* The same without noise, whatever is drawn. */
void pith_noise_means(const struct weight_noise *n, const float *t, const float *r,
                      const uint8_t *alive, float *w);
/* From the gradient by w those by t and r, cost included; set. */
void pith_noise_gradient(const struct weight_noise *n, const float *t, const float *r,
                         const uint8_t *alive, const float *grad, float *dt, float *dr);
/* What one weight costs. */
double pith_noise_cost(enum pith_score kind, float t, float r);
void pith_noise_judge(struct weight_noise *n, const float *t, const float *r);

#endif
