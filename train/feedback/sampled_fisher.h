/* SPDX-License-Identifier: MIT */
/* sampled_fisher.h - sampled-label Fisher gradients: the loss's sensitivity to a change, without
 * labels.
 *
 * Classes are drawn from what the network itself answers (Kunstner et al., 2019): the more often
 * the longer the gradient of their score is, and then all have the same length, so that squares are
 * on the mean what plain draws would give. With squared error, each number of an output gets 1 or
 * -1. One sample at a time. */
#ifndef SAMPLED_FISHER_H
#define SAMPLED_FISHER_H

#include "train/tape/tape.h"

struct sampled_fisher {
    struct tape *tape;
    uint64_t seed;     /* of the draws; this and what follows are set before it is opened */
    bool squares;      /* squared error instead of classes */
    float temperature; /* of the classes that are drawn: 1 */
    const double *output_scale; /* of squares: [outputs] what the gradients of each are multiplied
                                   with, 0 for none; NULL: the first alone, with 1 */
    uint32_t scores, classes;
};

/* A tape of m, as it is when it does not train, for one sample. m is borrowed and may not change.
 * PITH_ERR_UNSUPPORTED where no float weight leads to what the classes are drawn from;
 * PITH_ERR_MEMORY, and what pith_tape_new returns. */
enum pith_status pith_sampled_fisher_open(const struct pith_model *m, struct sampled_fisher *d,
                                          struct pith_error *err);
void pith_sampled_fisher_close(struct sampled_fisher *d); /* accepts zeros */
/* Behind the tape's forward: all gradients. The same draws whenever this sample comes. */
void pith_sampled_fisher_backward(struct sampled_fisher *d, uint64_t sample);

#endif
