/* SPDX-License-Identifier: MIT */
/* optimizer.h - from gradients to new parameters, under masks and codebooks. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "pith_train.h"
#include "tape.h"

struct optimizer;

/* Parameters of t start at the model's values. m: masks and codebooks of the parameters. */
enum pith_status pith_optimizer_new(const struct pith_model *m, struct tape *t,
                                    const struct pith_train_opts *opts, struct optimizer **o,
                                    struct pith_error *err);
void pith_optimizer_free(struct optimizer *o); /* accepts NULL */
/* One step with the gradients that the tape holds, divided by n_samples. Returns the norm of the
 * gradient before clipping; not finite: nothing was changed. */
double pith_optimizer_step(struct optimizer *o, double rate, uint32_t n_samples);
/* The effective values - the moving average if there is one, else the parameters - into m, which
 * must be the model it was made from. Codebooks get their centroids, ascending. */
void pith_optimizer_store(struct optimizer *o, struct pith_model *m);

#endif
