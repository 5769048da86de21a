/* SPDX-License-Identifier: MIT */
/* pith_absorb_bias.h - what a channel always has at least moves from its bias into the next
 * layer's. */
#ifndef PITH_ABSORB_BIAS_H
#define PITH_ABSORB_BIAS_H

#include "pith_model.h"

/* m: folded, then calibrated, so that what layers give has statistics by channel; where something
 * is absorbed, these are no longer true. Layers: as of pith_equalize, the second without padding, a
 * Gemm's alpha and beta 1; a layer without a bias gets one where it needs one. m computes the same
 * up to rounding where channels are not below what was absorbed: the smallest number seen less a
 * tenth of the range seen. *n_channels (may be NULL): those absorbed from. PITH_ERR_MEMORY: some
 * layers may be done. */
enum pith_status pith_absorb_biases(struct pith_model *m, uint32_t *n_channels,
                                    struct pith_error *err);

#endif
