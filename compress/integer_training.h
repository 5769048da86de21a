/* SPDX-License-Identifier: MIT */
/* integer_training.h - training with integers in the loop, as a stage. */
#ifndef INTEGER_TRAINING_H
#define INTEGER_TRAINING_H

#include "pith_compress.h"

/* As pith_train with `opts`, under s->integers; m ends as a network of integers, and *result's
 * val_loss and val_accuracy are that network's. On failure m computes what it did, with layers
 * folded. */
enum pith_status pith_train_integers(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     const struct pith_train_opts *opts,
                                     struct pith_train_result *result, struct pith_error *err);

#endif
