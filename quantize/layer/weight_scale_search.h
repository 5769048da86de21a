/* SPDX-License-Identifier: MIT */
/* weight_scale_search.h - the scale with which a row, rounded by GPTQ, has the least error.
 */
#ifndef WEIGHT_SCALE_SEARCH_H
#define WEIGHT_SCALE_SEARCH_H

#include "integer_layer.h"
#include "numeric/error_feedback.h"

/* Not below what the layer allows. q: [n] room. In fixed point a power of two. */
double pith_search_weight_scale(const struct error_feedback *r, const struct integer_layer *l,
                                uint64_t row, int16_t *q);

/* Where that search begins, and the least that the layer allows; 0: all of the row is 0, and its
 * scale stays. */
double pith_widest_weight_scale(const struct error_feedback *r, const struct integer_layer *l,
                                uint64_t row, double *least);

#endif
