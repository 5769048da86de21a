/* SPDX-License-Identifier: MIT */
/* equalize.h - channels of one size, by moving factors from a layer to the next. */
#ifndef PITH_EQUALIZE_H
#define PITH_EQUALIZE_H

#include "pith_model.h"

/* Layers: Conv and Gemm with constant weights that nothing else reads, behind which come only a
 * Relu or LeakyRelu and pools and then one layer alone; batch normalisation is folded. m computes
 * the same to the bit (factors are powers of two). *n_pairs (may be NULL): neighbours between which
 * something moved. PITH_ERR_MEMORY. */
enum pith_status pith_equalize(struct pith_model *m, uint32_t *n_pairs, struct pith_error *err);

#endif
