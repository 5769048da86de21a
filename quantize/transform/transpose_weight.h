/* SPDX-License-Identifier: MIT */
/* transpose_weight.h - a weight that is multiplied with both ways round, once for each way. */
#ifndef PITH_TURN_WEIGHT_H
#define PITH_TURN_WEIGHT_H

#include "pith_quantize.h"

/* Integers have a scale for each output channel, so a product needs its weight by rows of these.
 * Import sees to that, but where one matrix is read as it is by some layers and transposed by
 * others it is stored once, and some find it by columns. These get a transposed matrix here, one
 * for all of them: two matrices of bytes take half of one of floats. Not where layers are kept
 * (opts), nor where weights have a codebook, nor what was trained. The network computes the same.
 * PITH_ERR_MEMORY. */
enum pith_status pith_transpose_weights(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        struct pith_error *err);

#endif
