/* SPDX-License-Identifier: MIT */
/* keep_float.h - integers for all layers but those that would cost too much; of the ways to get
 * there the one that the outputs like. */
#ifndef KEEP_FLOAT_H
#define KEEP_FLOAT_H

#include "held_out.h"
#include "pith_calibrate.h"
#include "pith_compress.h"

struct keep_request {
    const struct pith_calibrate_opts *samples; /* all that the data sets have at the time */
    const struct held_out *held; /* the data sets have PART_BESIDE now, and afterwards */
    const struct pith_stage_means *means;
    bool may_keep;    /* layers float that cost too much */
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
 * PITH_KEEP_FLOOR_DB on the held-out samples, layers that cost most stay float. Where none are held
 * out, all samples decide and report.
 * r: quantize, n_layers, what was measured; where layers do, floats, n_narrow, n_beyond,
 * integer_bytes and what pith_keep_in_codebooks tells. */
enum pith_status pith_quantize_and_keep(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        const struct keep_request *request,
                                        struct pith_stage_report *r, struct pith_error *err);

#endif
