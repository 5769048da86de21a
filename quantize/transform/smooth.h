/* SPDX-License-Identifier: MIT */
/* smooth.h - factors move from the inputs of matrix products to their weights. */
#ifndef PITH_SMOOTH_H
#define PITH_SMOOTH_H

#include "pith_model.h"

/* m: calibrated, so that values have statistics by channel; where something moves, these are no
 * longer true. What products (MatMul, Gemm) with constant weights of their own read is divided
 * channel by channel, and the rows of the weights are multiplied: in the scale and bias of a
 * LayerNormalization whose output nothing else reads, else by a Mul for the products alone, where
 * rounding to integers then does them a quarter of the harm. m computes the same to the bit
 * (factors are powers of two). least: values stay of which no channel would move by a factor of
 * 2^least or more; 0: a Mul also where it gains little. *n_values (may be NULL): values of which
 * some channel moved. PITH_ERR_MEMORY. */
enum pith_status pith_smooth(struct pith_model *m, uint32_t least, uint32_t *n_values,
                             struct pith_error *err);

/* Is there anything to look at? False: pith_smooth would move nothing, whatever was observed. */
bool pith_may_smooth(const struct pith_model *m);

#endif
