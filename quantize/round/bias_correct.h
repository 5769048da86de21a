/* SPDX-License-Identifier: MIT */
/* bias_correct.h - biases that make up for what rounding the weights changes in the mean of an
 * output channel. */
#ifndef BIAS_CORRECT_H
#define BIAS_CORRECT_H

#include "integer_layers.h"

/* Shifts the biases of the layer that `in` is for, and stores it. runtime: parallel_for; NULL: one
 * thread. PITH_ERR_MEMORY. */
enum pith_status pith_bias_correct(const struct layer_inputs *in, const struct pith_opts *runtime,
                                   struct integer_layer *l);

#endif
