/* SPDX-License-Identifier: MIT */
/* radix.h - scales that are powers of two: 2^-fraction_bits. */
#ifndef RADIX_H
#define RADIX_H

#include "numeric/error_feedback.h" /* pith_radix_above() */
#include "integer_plan.h"

bool pith_is_radix(double scale);

/* What pith_activation_grid finds for v, made to fit: of the activations' bits and, in fixed point,
 * with zero point 0 and a scale that is a power of two; then of one scale, but with
 * opts->per_channel. A grid that fits already is taken as it is. PITH_ERR_MEMORY. */
enum pith_status pith_fitting_grid(struct pith_model *m, const struct pith_quantize_opts *opts,
                                   const struct pith_value *v, const struct pith_grid **grid);

#endif
