/* SPDX-License-Identifier: MIT */
/* keep_float.h - integers for all layers but those that would cost too much; of the ways to get there
 * the one that the outputs like. */
#ifndef KEEP_FLOAT_H
#define KEEP_FLOAT_H

#include "pith_calibrate.h"
#include "pith_compress.h"

/* pith_quantize with opts, which have data; where the outputs then are worse than
 * PITH_KEEP_FLOOR_DB on some of `samples` (the same; all of them, where they are steps of a stream), layers
 * that cost most stay float. may_reestimate: where they are below PITH_REESTIMATE_BELOW_DB, channels are
 * also re-estimated (opts->reestimate), and that stays if outputs are better by PITH_REESTIMATE_GAIN_DB.
 * r: quantize, n_layers, and what was measured. */
enum pith_status pith_quantize_and_keep(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        const struct pith_calibrate_opts *samples, bool may_reestimate,
                                        const struct pith_stage_means *means,
                                        struct pith_stage_report *r, struct pith_error *err);

#endif
