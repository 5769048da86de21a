/* SPDX-License-Identifier: MIT */
/* range_search.h - ranges of activations, each where the outputs change least. */
#ifndef RANGE_SEARCH_H
#define RANGE_SEARCH_H

#include "pith_calibrate.h"
#include "pith_quantize.h"

/* m has grids and what was observed. Folds what can be folded into its layers, and gives values
 * that pith_quantize with these opts will store as integers better grids, if some of the samples
 * show any. In fixed point, above 8 bits, on streams, and where layers are taken apart first
 * (recurrent ones), nothing is tried. What running returns; PITH_ERR_MEMORY. */
enum pith_status pith_search_ranges(struct pith_model *m, const struct pith_quantize_opts *opts,
                                    const struct pith_calibrate_opts *samples,
                                    struct pith_error *err);

#endif
