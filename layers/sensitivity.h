/* SPDX-License-Identifier: MIT */
/* sensitivity.h - how sensitive the loss is to changes of each row of a weight: the diagonal
 * of the Fisher information, summed up over the row. It is known before anything is changed and
 * serves any number of searches. */
#ifndef PITH_SENSITIVITY_H
#define PITH_SENSITIVITY_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kept_values;

/* Of one constant. */
struct pith_row_sensitivity {
    uint64_t rows; /* 0: not known; else the first of the constant's axes */
    uint64_t
        n_places; /* of a sample's results, where it is the weight of one layer; 0: not known */
    double place_mean; /* of all samples' places */
    uint64_t n_draws;  /* of each sample, see draw; 0: none */
    double *row; /* [rows] mean over samples of the squared gradient of the row, in nats^2; labels
                are drawn from what the network itself answers */
};

struct pith_sensitivity {
    uint32_t n;                      /* values of the model */
    uint64_t n_samples;              /* that it is the mean of */
    struct pith_row_sensitivity *of; /* [n] */
    /* Of value i, f32 [n_samples, n_places]: the squared gradient of the results at each place of a
     * convolution, or row of a product, all channels together (kept_values.h). NULL: none. */
    struct kept_values *place;
    /* Of value i, f32 [n_samples, n_draws, rows]: the gradient of the rows times random signs, one
     * for each column. The products of two rows' are on the mean those of their gradients: how far
     * the loss depends on both errors together. NULL: none. */
    struct kept_values *draw;
};

#ifdef __cplusplus
}
#endif
#endif
