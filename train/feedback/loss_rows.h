/* SPDX-License-Identifier: MIT */
/* loss_rows.h - how much the loss minds an error in each row of a layer's results: the sum of the
 * row's squared gradients (sampled_fisher.h), as a share of what is usual. One pass over all
 * samples, before anything is changed. */
#ifndef LOSS_ROWS_H
#define LOSS_ROWS_H

#include "feedback_sweep.h"

struct loss_rows;

/* Of the samples and units that the sweep, at its beginning, will go through, and of all products
 * by parameters (layer_inputs.h) of the model that it was opened with; opts->gptq_fisher_share > 0.
 * batch: samples, from the first such with any gradient comes what is usual. PITH_ERR_MEMORY, _IO,
 * what pith_tape_new and pith_sweep_read return. */
enum pith_status pith_loss_rows_new(const struct pith_model *m, const struct feedback_sweep *sweep,
                                    uint64_t batch, struct loss_rows **l);
void pith_loss_rows_free(struct loss_rows *l); /* accepts NULL */
/* Rows of a step in a unit; 0: it is no such product. */
uint64_t pith_loss_rows_count(const struct loss_rows *l, uint32_t step);
/* Their weights, in the order of layer_inputs.h. weight: [pith_loss_rows_count], above 0, the mean
 * of all samples is near 1. PITH_ERR_IO. */
enum pith_status pith_loss_rows_read(const struct loss_rows *l, uint32_t step, uint64_t unit,
                                     float *weight);

#endif
