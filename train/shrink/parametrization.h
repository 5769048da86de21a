/* SPDX-License-Identifier: MIT */
/* parametrization.h - the parametrization of one tensor under its support and grid: what the
 * optimizer moves are elements, centroids or latent weights.
 *
 * Plain: its elements. With a mask: its elements too, and those that are pruned get no gradient and
 * stay 0. With a codebook: its centroids, whose gradient is the sum over their members (Han, Mao,
 * Dally, 2016, section 3.3). On a uniform grid: latent weights, which forward sees rounded while
 * the gradient goes straight through (straight-through estimator, Bengio et al., 2013), and the
 * step (grid.h); where rows have steps of their own, a row's numbers are its weights divided by its
 * factor, so that one grid does for all of them. Where it shall be integers: the same, and steps
 * that learn with them (fake_weight.h). */
#ifndef PARAMETRIZATION_H
#define PARAMETRIZATION_H

#include "fake_weight.h"
#include "grid.h"
#include "gradual_pruning.h"

struct parametrization {
    struct tape_parameter *p;
    struct pith_const *c; /* of the model */
    bool given; /* to a convolution when the run ends: a step or a bias there, about a byte each */
    uint64_t n;
    bool own;                     /* value and grad: else the parameter's */
    float *value, *grad;          /* [n] */
    float *first, *second;        /* moments [n]; NULL where the method has none */
    struct pruned_tensor *pruned; /* NULL: nothing is removed */
    struct grid *grid;            /* NULL: none */
    float *factor;                /* [n / cols] a row's step in those of the grid; NULL: 1 */
    uint64_t cols;                /* of factor */
    struct fake_weight *fake;     /* NULL: no integers */
    float magnitude[129];         /* bits of level k > 0, sign included */
};

/* f->p and f->pruned are set. A grid and a support that is to shrink are put into f->c, in m's
 * memory. False: out of memory. */
bool pith_latent_open(struct pith_model *m, const struct pith_train_opts *opts,
                      struct parametrization *f);
void pith_latent_close(struct parametrization *f);
/* What outlives a step, into a checkpoint, under this number. */
void pith_latent_state(struct parametrization *f, uint32_t number, struct checkpoint *c);
/* Whether each number is one element: then its gradient can be taken in ranges, on several threads.
 */
bool pith_latent_each_alone(const struct parametrization *f);
/* The gradient of the tensor, times scale, to that of what is free; the second one of a range,
 * where each is alone. */
void pith_latent_gather(struct parametrization *f, float scale);
void pith_latent_gather_range(struct parametrization *f, float scale, uint64_t begin, uint64_t end);
/* What makes element k of its number on the grid. */
static inline float pith_latent_factor(const struct parametrization *f, uint64_t k)
{
    return f->factor ? f->factor[k / f->cols] : 1.0f;
}
/* The tensor that value [n] makes. */
void pith_latent_spread(const struct parametrization *f, const float *value, float *to);
/* On a grid, numbers begin .. end go this share of their way to the middle of their level. */
void pith_latent_damp(struct parametrization *f, float share, uint64_t begin, uint64_t end);
/* Fits the step to the numbers as they are now, the less the lower the learning rate (0..1 of the
 * run's highest), and counts how often each level stands: what one costs. */
void pith_latent_fit_grid(struct parametrization *f, double rate);
/* Estimated bytes of the tensor in a file. */
double pith_latent_bytes(const struct parametrization *f);
/* Values, mask, codebook into the model. Centroids are sorted, what the optimizer knows of each
 * with them. */
void pith_latent_store(struct parametrization *f);

#endif
