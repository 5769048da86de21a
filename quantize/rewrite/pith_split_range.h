/* SPDX-License-Identifier: MIT */
/* pith_split_range.h - split-range quantization: layers that read each number as the sum of two
 * bytes, one for each half of its range. */
#ifndef PITH_SPLIT_RANGE_H
#define PITH_SPLIT_RANGE_H

#include "pith_quantize.h"

/* Can all layers that read value v read it so? It comes from a depthwise convolution through a Relu
 * or a Clip from 0, and layers that mix its channels alone read it, outside of loops. */
bool pith_may_be_split(const struct pith_model *m, uint32_t v);

/* Inputs of the layers that opts->split names are taken apart (see split_range.c). The network
 * computes what it did but for numbers beyond those ranges. PITH_ERR_ARGUMENT (no layer of that
 * name; one that cannot), PITH_ERR_MEMORY. */
enum pith_status pith_split_ranges(struct pith_model *m, const struct pith_quantize_opts *opts,
                                   struct pith_error *err);

#endif
