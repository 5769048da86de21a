/* SPDX-License-Identifier: MIT */
/* feature_distillation.h - values inside of a network drawn towards those of its teacher (FitNets,
 * Romero et al., 2015): weight * mean squared difference of each pair joins the loss. */
#ifndef FEATURE_DISTILLATION_H
#define FEATURE_DISTILLATION_H

#include "pith_train.h"
#include "tape.h"

struct feature_loss;

/* Names to values. PITH_ERR_ARGUMENT: one is not there, or no teacher, or no weight above 0. The
 * scores go with them: *h lists all values whose gradient a loss adds to. opts is borrowed. */
enum pith_status pith_features_new(const struct pith_model *m, const struct pith_train_opts *opts,
                                   const uint32_t *scores, struct feature_loss **h,
                                   struct pith_error *err);
void pith_features_free(struct feature_loss *h); /* accepts NULL */
/* For tape_opts. */
const uint32_t *pith_features_values(const struct feature_loss *h, uint32_t *n);
/* PITH_ERR_ARGUMENT: shapes differ, or nothing that is trained moves the student's value. */
enum pith_status pith_features_check(const struct feature_loss *h, struct tape *student,
                                     struct tape *teacher, struct pith_error *err);
/* Summed over the slice's samples, of which there are n; its gradient is added to the values'. */
double pith_feature_loss(const struct feature_loss *h, struct tape *student, struct tape *teacher,
                         uint32_t slice, uint32_t n);

#endif
