/* SPDX-License-Identifier: MIT */
/* uncertain_loss.h - a mean KL divergence from few samples, of networks whose loss comes from few
 * of them: those that were not certain.
 *
 * A network that answers 199 of 200 samples with certainty loses nothing on 48 of them, and 0.9
 * nats on the mean of 2,000: errors that move no certain answer change an uncertain one. How many
 * uncertain samples there are is estimated from those that are least certain, an eighth of all:
 * their scores could as well be nearer to one another by any factor from 0 to 1 (the density of the
 * margin is taken to be even, from there down to 0). And each could have had the error of another
 * of the least certain quarter. Their part of the mean is that of all these; the others count as
 * measured. */
#ifndef UNCERTAIN_LOSS_H
#define UNCERTAIN_LOSS_H

#include "measure/class_output.h"

/* was, now: [n, classes] answers of n >= 1 samples, of a kind with one row. *kl is untouched where
 * there is no memory (false). */
bool pith_uncertain_loss(const struct output_kind *kind, const float *was, const float *now,
                         uint64_t n, double *kl);
/* Of one row of scores (logarithms, where it is of probabilities). */
double pith_score_variance(const struct output_kind *kind, const float *y);

#endif
