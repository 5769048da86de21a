/* SPDX-License-Identifier: MIT */
/* adaptive_targets.h - adaptive rounding, with the idea of AdaRound (Nagel et al., 2020) and solved
 * by ridge regression: rows that make of inputs which are rounded already the sums that the float
 * network has. GPTQ then rounds towards these rows. */
#ifndef ADAPTIVE_TARGETS_H
#define ADAPTIVE_TARGETS_H

#include "quantize/layer/integer_layer.h"
#include "layers/layer_moments.h"

/* half: moments of every second sample and of the others, with the float network's sums beside
 * them, in units of the input's scale; what the means make is taken off. target: [rows, cols];
 * *share: how far it is gone to what least squares asks for, 0 to 1, the mean of groups.
 * PITH_ERR_MEMORY. */
enum pith_status pith_adaptive_targets(const struct layer_moments half[2],
                                       const struct integer_layer *l, double *target,
                                       double *share);

#endif
