/* SPDX-License-Identifier: MIT */
/* int16_input.h - 16-bit activations: layers that read each number of their input as two bytes
 * (residual expansion, Yvinec et al., 2023). */
#ifndef INT16_INPUT_H
#define INT16_INPUT_H

#include "pith_quantize.h"

/* Inputs of the layers that opts->int16 names are taken apart (see int16_input.c). The network
 * computes what it did, up to rounding. PITH_ERR_ARGUMENT (no layer of that name; one that cannot),
 * PITH_ERR_MEMORY. */
enum pith_status pith_expand_int16_inputs(struct pith_model *m,
                                          const struct pith_quantize_opts *opts,
                                          struct pith_error *err);

#endif
