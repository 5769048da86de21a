/* SPDX-License-Identifier: MIT */
/* fine_input.h - layers that read each number of their input as two bytes. */
#ifndef FINE_INPUT_H
#define FINE_INPUT_H

#include "pith_quantize.h"

/* Can all layers that read value v, one at least, read it so? Those that mix its channels in one
 * group, outside of loops. */
bool pith_may_be_fine(const struct pith_model *m, uint32_t v);

/* Inputs of the layers that opts->fine names are taken apart (see fine_input.c). The network
 * computes what it did, up to rounding. PITH_ERR_ARGUMENT (no layer of that name; one that cannot),
 * PITH_ERR_MEMORY. */
enum pith_status pith_expand_fine_inputs(struct pith_model *m,
                                         const struct pith_quantize_opts *opts,
                                         struct pith_error *err);

/* Does this layer, after that? */
bool pith_reads_fine(const struct pith_model *m, const struct pith_node *node);

#endif
