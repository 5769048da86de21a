/* SPDX-License-Identifier: MIT */
/* split_product.h - in loops, W [x, h] becomes W_x x + W_h h, so that x and h have a grid each. */
#ifndef SPLIT_PRODUCT_H
#define SPLIT_PRODUCT_H

#include "pith_quantize.h"

/* The network computes the same up to the rounding of sums. *few (in m's memory, [n_nodes], or
 * NULL: none): products of few columns, which are better left float. PITH_ERR_MEMORY. */
enum pith_status pith_split_products(struct pith_model *m, const struct pith_quantize_opts *opts,
                                     const bool **few, struct pith_error *err);

#endif
