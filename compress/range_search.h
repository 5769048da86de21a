/* SPDX-License-Identifier: MIT */
/* range_search.h - ranges of activations, each where the outputs change least. */
#ifndef RANGE_SEARCH_H
#define RANGE_SEARCH_H

#include "mixed_precision.h"
#include "pith_calibrate.h"

/* What is asked for beside ranges: layers whose inputs are worth more than one byte this way. */
struct finer_search {
    const struct finer_way *way;
    struct wider_layers *layers;
};

/* m has grids and what was observed. Folds what can be folded into its layers, and gives values
 * that pith_quantize with these opts will store as integers better grids, if some of the samples
 * show any. In fixed point, above 8 bits, on streams, and where layers are taken apart first
 * (recurrent ones), nothing is tried. finer: NULL: nothing. What running returns; PITH_ERR_MEMORY.
 */
enum pith_status pith_search_ranges(struct pith_model *m, const struct pith_quantize_opts *opts,
                                    const struct pith_calibrate_opts *samples,
                                    const struct finer_search *finer, struct pith_error *err);

#endif
