/* SPDX-License-Identifier: MIT */
/* row_steps.h - how fine the grid of each row of a weight shall be, by what rounding costs the
 * loss.
 *
 * Rounding a row to steps of s moves it by noise e, and the loss by 0.5 E (g e)^2 = s^2 / 24 * sum
 * F on the mean, g being the gradient of one sample (sampled_fisher.h). Where each weight is
 * rounded for itself, F is the square of its gradient, the diagonal Fisher information; with
 * feedback e follows from the roundings r by e = U^-1 D r (layer_factor.h), and the sum is |D
 * U^-T g|^2: a row whose errors make up for each other takes a coarser step. Each halving of s is a
 * bit a weight. Of all steps with as many bits together, those cost least with which every weight
 * costs the same,
 *
 *     step = d / sqrt(mean F),
 *
 * the rule of reverse water-filling (Cover and Thomas, 2006, section 10.3). F of held-out samples
 * lies nearer to the mean than that of the samples it is estimated on: here it counts with the
 * power of 0.85. d is such that the mean log2 of the step, over all weights, is what first_step and
 * step_power make it. */
#ifndef ROW_STEPS_H
#define ROW_STEPS_H

#include "pith_train.h"
#include "train/shrink/step_sizes.h"

#define ROW_STEPS_SAMPLES 2048u /* or as many as there are */

/* Steps of rows are 1 or 1.5 times a power of two, so that a file has few bits
 * of them, and at most 16 times the tensor's. Weights that the loss does not know have none. Steps
 * of rows move into depthwise weights where they can. Each process does all of it. PITH_ERR_MEMORY,
 * and what reading data returns.
 */
enum pith_status pith_row_steps_find(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct row_steps *steps,
                                     struct pith_error *err);
/* Whether rows of some weight have steps of their own. */
bool pith_row_steps_differ(const struct row_steps *steps);
void pith_row_steps_free(struct row_steps *steps); /* accepts zeros */

/* 1 or 1.5 times a power of two, the nearest one by its logarithm; s: > 0. */
float pith_row_step_round(double s);

#endif
