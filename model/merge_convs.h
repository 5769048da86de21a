/* SPDX-License-Identifier: MIT */
/* merge_convs.h - sums of convolutions of one value become one convolution. */
#ifndef PITH_MERGE_CONVS_H
#define PITH_MERGE_CONVS_H

#include "pith_model.h"

/* *any: some were merged, and a normalization behind their sum may now be foldable.
 * PITH_ERR_MEMORY: some may be merged. */
enum pith_status pith_merge_convs(struct pith_model *m, bool *any, struct pith_error *err);

#endif
