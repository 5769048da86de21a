/* SPDX-License-Identifier: MIT */
/* recorded_inputs.h - what a network of several inputs is given, call by call, kept in memory: for
 * what runs a network in pieces and cannot feed its states back. */
#ifndef RECORDED_INPUTS_H
#define RECORDED_INPUTS_H

#include "pith_observed_run.h"

struct recorded_inputs {
    uint8_t **input; /* owns, and each: [n_inputs][n_calls, bytes of the input] */
    uint32_t n_inputs;
    uint64_t n_calls;
};

/* Runs m, where states are to be fed back, on the samples of `samples` (a feed), every step of
 * each; of more than 256 MiB every second call is kept, or fourth, ... Clear in any case. go_on: as
 * the progress of pith_calibrate; false ends it with PITH_ERR_ARGUMENT. PITH_ERR_MEMORY, and what
 * feeding and running return. */
enum pith_status pith_record_inputs(const struct pith_model *m,
                                    const struct pith_calibrate_opts *samples,
                                    struct recorded_inputs *recorded, struct pith_error *err);
void pith_recorded_inputs_clear(struct recorded_inputs *recorded);

#endif
