/* SPDX-License-Identifier: MIT */
/* feedback_start.h - weights put onto their grids so that the layers' answers change least.
 *
 * Rounding each weight for itself adds up errors that inputs have in common: a network of many
 * weights and few levels is lost before training begins. Here each layer is asked for V on its grid
 * with
 *
 *     sum over samples |W x - V x'|^2  least,
 *
 * x: its inputs in the network as it came; x': as they are now, behind layers that were rounded
 * already. First without a grid (least squares), then element after element of a row: what its
 * rounding adds to the sum is made up for by those not yet rounded (OBQ, Hassibi and Stork, 1993;
 * GPTQ, Frantar et al., 2023). With H + damping = R R^T, R upper triangular, the error of the first
 * j elements e_i adds (e_j R_jj + sum_{i<j} e_i R_ij)^2 when all later ones are at their best, so
 *
 *     V_j = the level next to W_j + sum_{i<j} e_i R_ij / R_jj,   e_i = W_i - V_i.
 *
 * Elements whose inputs are strongest go first. Pruned ones are levels of 0 like others. The mean
 * of what is left goes into the bias. */
#ifndef FEEDBACK_START_H
#define FEEDBACK_START_H

#include "optimizer.h"
#include "pith_train.h"

/* Of the first opts->feedback samples of data. Weights whose rows read more than FEEDBACK_MOST
 * inputs, or stand elsewhere than in a convolution or product, stay as they are. Each process does
 * all of it. PITH_ERR_MEMORY, and what reading data returns. */
#define FEEDBACK_MOST 2048u
enum pith_status pith_feedback_start(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct optimizer *o,
                                     struct pith_error *err);

#endif
