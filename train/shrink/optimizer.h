/* SPDX-License-Identifier: MIT */
/* optimizer.h - from gradients to new parameters, under masks and codebooks. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "train/state/checkpoint.h"
#include "pith_train.h"
#include "train/tape/tape.h"

struct optimizer;
struct parametrization;

/* Parameters of t start at the model's values. m gets a grid and a support of its own where opts
 * request them: pith_snapshot_restore undoes it. */
enum pith_status pith_optimizer_new(struct pith_model *m, struct tape *t,
                                    const struct pith_train_opts *opts, uint64_t n_steps,
                                    struct optimizer **o, struct pith_error *err);
void pith_optimizer_free(struct optimizer *o); /* accepts NULL */
/* One step with the gradients that the tape holds, divided by n_samples. Returns the norm of the
 * gradient before clipping; not finite: nothing was changed. */
double pith_optimizer_step(struct optimizer *o, double rate, uint32_t n_samples);
/* The effective values - the moving average if there is one, else the parameters - into the model,
 * with masks and codebooks; centroids ascend. */
void pith_optimizer_store(struct optimizer *o);
/* Weights that are not zero now; estimated bytes of the model in a file, NAN without a grid. */
uint64_t pith_optimizer_kept(const struct optimizer *o);
double pith_optimizer_bytes(const struct optimizer *o);
/* Everything here that outlives a step - numbers, moments, steps, what is alive - into a
 * checkpoint. It must lie where it is until the optimizer is freed. */
void pith_optimizer_state(struct optimizer *o, struct checkpoint *c);
/* After a checkpoint of this step was read: what follows from it is not stored. */
void pith_optimizer_resumed(struct optimizer *o, uint64_t step);

#endif
