/* SPDX-License-Identifier: MIT */
/* fine_input.h - layers that read each number of their input as two bytes. */
#ifndef FINE_INPUT_H
#define FINE_INPUT_H

#include "pith_quantize.h"

/* Inputs of the layers that opts->fine names are taken apart (see fine_input.c). The network
 * computes what it did, up to rounding. PITH_ERR_ARGUMENT (no layer of that name; one that cannot),
 * PITH_ERR_MEMORY. */
enum pith_status pith_expand_fine_inputs(struct pith_model *m,
                                         const struct pith_quantize_opts *opts,
                                         struct pith_error *err);

#endif
