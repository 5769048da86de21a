/* SPDX-License-Identifier: MIT */
/* layer_factor.h - a layer's moments as what its rows are rounded with: the Cholesky factors
 * of its damped Hessians, weights in the order of their diagonals (OBQ: Frantar and Alistarh, 2022)
 * or as they are stored; and targets.
 *
 *     pith_layer_factor(&moments, 0.95, pith_layer_damping(&moments), 1, &f, err);
 *     pith_layer_targets(&f, w, rows, runtime, err);            with cross moments
 *     pith_layer_round(...)                                     layer_round.h
 *     pith_layer_factor_end(&f);
 */
#ifndef LAYER_FACTOR_H
#define LAYER_FACTOR_H

#include "layer_moments.h"
#include "numeric/low_rank.h"

/* Damping: of the mean of H's diagonal, that is added to the diagonal, beside shrinkage. 1 %
 * (Frantar et al., 2023): with 3 % pith compress --max-drop 0.5% makes files of mnist_cntk, DS-CNN
 * and AD01 that are 33, 7 and 5 % larger. */
#define PITH_LAYER_DAMPING 0.01

/* Share of what the means of inputs make of H that weights need not make up for: the bias does, but
 * for being rounded. */
#define PITH_BIAS_SHARE 0.95

struct layer_factor {
    size_t n;
    uint32_t groups;
    double *u; /* [groups, n, n] by place; below the diagonal H as it came. NULL: data-free,
                  the identity */
    struct low_rank low; /* of one group, instead of u, which is NULL; rank 0: none */
    double *diagonal;    /* [groups, n] of H as it came, by place */
    double *ridge;       /* [groups] that was added to it */
    size_t *order;       /* [groups, n] the weight at each place; the last is rounded first */
    double *cross;       /* [groups, n, n] as it came; NULL: targets are the weights, or known */
    bool of_results; /* [groups, n, rows of a group], of inputs with results; targets of all rows
                        at once alone */
    const float *w;  /* [rows, n] whose targets are known, borrowed; NULL: none */
    double *target;  /* [rows, n] by place */
    double *trace;   /* [groups] of H, undamped: the squares of a row's inputs */
    double damping, shrinkage; /* that u has; of the moments */
    double *noise; /* [groups] mean U[j, j]^2: what rounding by 1 costs a weight, on the mean */
    const struct pith_opts *runtime; /* of the moments */
};

/* Takes the moments' matrices; their means stay. centre: share of what the means make of them that
 * is taken off, because a bias makes up for it. damping: of the mean of H's diagonal. window: so
 * many neighbours stay together, ordered by the sums of their diagonals, and each by its own
 * inside; 1: each for itself; 0: as stored, the first weight of a row being rounded first.
 * PITH_ERR_MEMORY. */
enum pith_status pith_layer_factor(struct layer_moments *m, double centre, double damping,
                                   size_t window, struct layer_factor *f, struct pith_error *err);
/* Whether the rows that were summed up are so few for their length that the factor has a low rank:
 * there is one group. */
bool pith_layer_is_low_rank(const struct layer_moments *m);
/* The same, of each row by itself, and the targets of w [rows, n], for such moments whose others,
 * if there are any, are results. PITH_ERR_MEMORY. */
enum pith_status pith_layer_factor_low(struct layer_moments *m, double centre, const float *w,
                                       uint64_t rows, struct layer_factor *f,
                                       struct pith_error *err);
void pith_layer_factor_end(struct layer_factor *f); /* accepts zeros */
/* How much to damp: PITH_LAYER_DAMPING and the shrinkage; data-free 0. */
double pith_layer_damping(const struct layer_moments *m);

/* The targets of all rows of w [rows, n], so many for each group, with twice the shrinkage; cross
 * is not needed any more, u has its damping again. The same bits for any number of threads.
 * PITH_ERR_MEMORY. */
enum pith_status pith_layer_targets(struct layer_factor *f, const float *w, uint64_t rows,
                                    const struct pith_opts *runtime, struct pith_error *err);
/* target [n], by place: the row of floats whose results from the inputs as they are now come
 * closest to those of the row w [n] from the inputs as they were (GPTAQ: Li et al., 2025). w: a row
 * of f->w, where targets are known. room: [n] */
void pith_layer_row_target(const struct layer_factor *f, uint32_t group, const float *w,
                           double *target, double *room);

#endif
