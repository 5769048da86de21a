/* SPDX-License-Identifier: MIT */
/* layer_moments.h - the Hessian of a layer's squared error over the calibration set, which is the
 * Gram matrix X X^T of its inputs, and the cross-covariance Y X^T with the float network's sums,
 * one group of rows at a time. */
#ifndef LAYER_MOMENTS_H
#define LAYER_MOMENTS_H

#include "layer_patches.h"
#include "pith_gram.h"

struct layer_moments {
    const struct layer_inputs *in;
    const struct integer_layer *l;
    struct layer_patches patches;
    size_t n, rows;      /* columns of a row, rows of a group */
    uint64_t per_sample; /* patches taken of each sample */
    /* Of every second sample and of the others, less what the means of x and y make: only [0], of
     * all, and with it, where the float network's sums y are not known. */
    double *h[2]; /* [n, n] sum of x x^T: the Hessian */
    double *c[2]; /* [rows, n] cross-covariance, sum of y x^T, y in units of the input's scale, less
                     the bias */
    double *sum_x[2], *sum_y[2]; /* [n], [rows] */
    uint64_t count[2];           /* patches */
    int16_t *patch;              /* [n] */
    gram_tile *tile;
    float *x, *y; /* [pieces of patches, n or rows] */
};

/* PITH_ERR_MEMORY; release with pith_layer_moments_end also then. */
enum pith_status pith_layer_moments(const struct layer_inputs *in, const struct integer_layer *l,
                                    struct layer_moments *m);
void pith_layer_moments_end(struct layer_moments *m);

/* h and c of one group of rows. h is the same on every machine; c as far as the float network is.
 */
void pith_layer_moments_sum(struct layer_moments *m, uint64_t group);

/* h[0] becomes that of all samples, with what the means make. */
void pith_layer_moments_join(struct layer_moments *m);

#endif
