/* SPDX-License-Identifier: MIT */
/* gptq_round.h - GPTQ (Frantar et al., 2023), error-feedback rounding: weights rounded one after
 * the other, each making up for those before it, by the Hessian of the layer's squared error over
 * the calibration set (numeric/error_feedback.h). */
#ifndef GPTQ_ROUND_H
#define GPTQ_ROUND_H

#include "integer_rows.h"

/* Rounds l's weights anew, with scales chosen for the samples, and stores it; what was pruned stays
 * 0. Rows are rounded through opts' parallel_for (opts may be NULL); the result does not depend on
 * it. Rows of more than 8,192 weights stay rounded to nearest: the work grows with their third
 * power. shifts_bias: what is left on the mean goes into the bias, so it hardly counts.
 * PITH_ERR_MEMORY. */
enum pith_status pith_gptq_round(const struct layer_inputs *in, bool shifts_bias,
                                 const struct pith_opts *opts, struct integer_layer *l);

/* Moments of what a layer reads, x - zero point. PITH_ERR_MEMORY. */
enum pith_status pith_gptq_moments(const struct integer_rows *rows, const struct pith_opts *opts,
                                   struct layer_moments *m);

/* The same where moments are known, whose matrices are taken. q and scale alone are set;
 * pith_layer_store_all is the caller's. pith_gptq_applies(l) must be true. */
enum pith_status pith_gptq_round_moments(struct layer_moments *m, const struct pith_opts *opts,
                                         struct integer_layer *l);

/* Would pith_gptq_round change anything? */
bool pith_gptq_applies(const struct integer_layer *l);

#endif
