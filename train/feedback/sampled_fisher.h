/* SPDX-License-Identifier: MIT */
/* sampled_fisher.h - sampled-label Fisher gradients: the loss's sensitivity to a change, without
 * labels.
 *
 * Classes are drawn from what the network itself answers (Kunstner et al., 2019), softened where
 * there is a teacher; with squared error, each number of an output gets 1 or -1. Draws of samples
 * are independent and their gradients 0 on the mean, so that the square of a batch's gradient is
 * the sum of the squares of its samples', on the mean: the Fisher information. */
#ifndef SAMPLED_FISHER_H
#define SAMPLED_FISHER_H

#include "pith_train.h"
#include "train/tape/tape.h"

struct sampled_fisher {
    struct tape *tape;
    const struct pith_train_opts *opts;
    uint32_t scores; /* value of the model */
    uint32_t per_slice, classes;
    const double *output_scale; /* of squared error, before open: [outputs] what the gradients of
                                   each are multiplied with, 0 for none; NULL: the first alone */
    float temperature; /* of the classes that are drawn: the teacher's, 1 without one; may be set */
    uint64_t first;    /* number of the batch's first sample: the same draws whenever it comes */
    bool by_gradient;  /* of one sample alone: classes are drawn the more often the longer the
                          gradient of their score is, and have all the same length. Squares are on
                          the mean what they were, but gradients are not 0 there any more */
};

/* A tape of m, as it is when it does not train, in PITH_TRAIN_SLICES slices; opts is borrowed.
 * PITH_ERR_UNSUPPORTED where no float weight leads to what the classes are drawn from;
 * PITH_ERR_MEMORY, and what pith_tape_new returns. */
enum pith_status pith_sampled_fisher_open(const struct pith_model *m,
                                          const struct pith_train_opts *opts, uint32_t per_slice,
                                          struct sampled_fisher *d, struct pith_error *err);
/* The same of one sample, by_gradient, with as little memory as may be: gradients are there when
 * `after` is called, behind each step (tape.h). m is borrowed and may not change. */
enum pith_status pith_sampled_fisher_open_lean(const struct pith_model *m,
                                               const struct pith_train_opts *opts,
                                               void (*after)(void *user, uint32_t step), void *user,
                                               struct sampled_fisher *d, struct pith_error *err);
void pith_sampled_fisher_close(struct sampled_fisher *d); /* accepts zeros */
/* Behind the tape's forward: all gradients. */
void pith_sampled_fisher_backward(struct sampled_fisher *d, uint64_t first);

#endif
