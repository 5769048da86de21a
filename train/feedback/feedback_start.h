/* SPDX-License-Identifier: MIT */
/* feedback_start.h - weights put onto their grids so that the layers' answers change least.
 *
 * Rounding each weight for itself adds up errors that inputs have in common: a network of many
 * weights and few levels is lost before training begins. Here each layer gets the V on its grid
 * with
 *
 *     sum over samples |W x - V x'|^2  least,
 *
 * x: its inputs in the network as it came; x': as they are now, behind layers that were rounded
 * already; a row's roundings make up for each other (error_feedback.h). Pruned ones are
 * levels of 0 like others. The mean of what is left goes into the bias, where one is trained, and
 * hardly counts then. */
#ifndef FEEDBACK_START_H
#define FEEDBACK_START_H

#include "train/shrink/optimizer.h"
#include "pith_train.h"

/* Of the first opts->gptq_samples samples of data. Weights whose rows read more than
 * PITH_LAYER_MOST_COLUMNS inputs (layer_moments.h), or stand elsewhere than in a convolution
 * or product, stay as they are. Each process does all of it. PITH_ERR_MEMORY, and what reading data
 * returns. */
enum pith_status pith_feedback_start(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct optimizer *o,
                                     struct pith_error *err);

#endif
