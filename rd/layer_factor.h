/* SPDX-License-Identifier: MIT */
/* layer_factor.h - a layer's statistics as what its rows are rounded with: the Cholesky factors of
 * its damped Hessians, weights in the order of OBS (pith_error_feedback.h) or as they are stored,
 * and goals. */
#ifndef LAYER_FACTOR_H
#define LAYER_FACTOR_H

#include "layer_statistics.h"
#include "pith_sweep_ranks.h"

struct layer_factor {
    size_t n;
    uint32_t groups;
    double *u;        /* [groups, n, n] by place; below the diagonal H as it came. NULL: data-free,
                         the identity */
    double *diagonal; /* [groups, n] of H as it came, by place */
    double *ridge;    /* [groups] that was added to it */
    size_t *order;    /* [groups, n] the weight at each place; the last is rounded first */
    double *crossed;  /* [groups, n, n] as it came; NULL: goals are the weights, or known */
    const float *w;   /* [rows, n] whose goals are known, borrowed; NULL: none */
    double *goal;     /* [rows, n] by place */
    double *trace;    /* [groups] of H, undamped: the squares of a row's inputs */
    double *noise;    /* [groups] mean U[j, j]^2: what rounding by 1 costs a weight, on the mean */
};

/* Takes the statistics' matrices; their means stay. centre: share of what the means make of
 * H and of the crossed products that is taken off, because a bias makes up for it. damping: of the
 * mean of H's diagonal. window: so many neighbours stay together, ordered by the sums of their
 * diagonals, and each by its own inside; 1: each for itself; 0: as stored, the first weight of a
 * row being rounded first. PITH_ERR_MEMORY. */
enum pith_status pith_layer_factor(struct layer_statistics *s, double centre, double damping,
                                   size_t window, struct layer_factor *f, struct pith_error *err);
/* What pith_layer_factor does first: the means' share is taken off the statistics' matrices. */
void pith_layer_centre(struct layer_statistics *s, double share);
/* With another damping, in its place. False: there is none, f is as it was or data-free. */
bool pith_layer_factor_again(struct layer_factor *f, double damping);
void pith_layer_factor_end(struct layer_factor *f); /* accepts zeros */
/* How much to damp: 1 %, and so many times what samples leave in doubt. */
double pith_layer_damping(const struct layer_statistics *s, double doubts);

/* The goals of all rows of w [rows, n], so many for each group; crossed is not needed any more. The
 * same bits for any number of threads and ranks. PITH_ERR_MEMORY. */
enum pith_status pith_layer_goals(struct layer_factor *f, const float *w, uint64_t rows,
                                  const struct pith_opts *runtime,
                                  const struct pith_sweep_ranks *ranks, struct pith_error *err);
/* goal [n], by place: the row of floats whose results from the inputs as they are now come closest
 * to those of the row w [n] from the inputs as they were. w: a row of f->w, where goals are known.
 * room: [n] */
void pith_layer_row_goal(const struct layer_factor *f, uint32_t group, const float *w, double *goal,
                         double *room);

#endif
