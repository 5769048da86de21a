/* SPDX-License-Identifier: MIT */
/* keep_float.h - integers for all layers but those that would cost too much; of the ways to get
 * there the one that the outputs like. */
#ifndef KEEP_FLOAT_H
#define KEEP_FLOAT_H

#include "pith_calibrate.h"
#include "pith_compress.h"

struct keep_request {
    const struct pith_calibrate_opts *samples; /* those of the options; of a stream, all steps */
    const struct pith_stage_means *means;
    uint32_t n_asked; /* of the options' keep: the first so many somebody asked for, the others stay
                         float for what they cost */
    bool may_reestimate; /* where outputs are below PITH_REESTIMATE_BELOW_DB, channels are also
                            re-estimated (opts->reestimate); that stays if it brings
                            PITH_REESTIMATE_GAIN_DB */
    enum pith_type
        floats; /* that what stays float is stored as; 0: where layers do for what they cost, as
                   f16, and weights with codebooks where the outputs do not mind */
};

/* pith_quantize with opts, which have data; where the outputs then are worse than
 * PITH_KEEP_FLOOR_DB on some of the samples, layers that cost most stay float.
 * r: quantize, n_layers, what was measured; where layers do, floats, n_narrow, n_beyond,
 * integer_bytes and what pith_keep_in_codebooks tells. */
enum pith_status pith_quantize_and_keep(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        const struct keep_request *request,
                                        struct pith_stage_report *r, struct pith_error *err);

#endif
