/* SPDX-License-Identifier: MIT */
/* channel_reestimate.h - the statistics of normalizations, estimated anew behind integers. */
#ifndef CHANNEL_REESTIMATE_H
#define CHANNEL_REESTIMATE_H

#include "integer_layers.h"

/* Scales and biases of l's rows so that sums over the samples have the mean and the variance that
 * the float network's have (in->goal, which is there), where samples that were not counted agree.
 * Fixed point and layers of one scale keep theirs and get biases. PITH_ERR_MEMORY. */
enum pith_status pith_reestimate_channels(const struct layer_inputs *in, struct integer_layer *l);

#endif
