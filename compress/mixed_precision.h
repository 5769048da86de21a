/* SPDX-License-Identifier: MIT */
/* mixed_precision.h - 8-bit integers for all layers but those that would lose too much: these stay
 * float. */
#ifndef MIXED_PRECISION_H
#define MIXED_PRECISION_H

#include "held_out.h"
#include "pith_calibrate.h"
#include "pith_compress.h"

struct mixed_request {
    const struct pith_calibrate_opts *samples; /* all that the data sets have at the time */
    const struct held_out *held; /* the data sets have PART_FITTED now, and afterwards */
    const struct pith_stage_context *context;
    bool may_keep;         /* layers float that lose too much */
    bool may_buy;          /* finer layers while outputs are good but not far above their error */
    enum pith_type floats; /* that what stays float is stored as; 0: where layers stay float for
                              their loss, as f16, and weights with codebooks where the outputs
                              allow it */
};

/* pith_quantize with opts, which have data; where the outputs lose too much on the held-out
 * samples, some layers stay float. Where no samples are held out, all of them decide and
 * report. r: quantize, n_layers, what was measured; where layers stay float, n_kept_float, floats,
 * n_narrow, n_beyond, integer_bytes and the results of pith_keep_in_codebooks. */
enum pith_status pith_quantize_mixed(struct pith_model *m, const struct pith_quantize_opts *opts,
                                     const struct mixed_request *request,
                                     struct pith_stage_report *r, struct pith_error *err);

#endif
