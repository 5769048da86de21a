/* SPDX-License-Identifier: MIT */
/* shared_weight.h - layers that read one weight have one set of integers, and scales, for it. */
#ifndef SHARED_WEIGHT_H
#define SHARED_WEIGHT_H

#include "integer_plan.h"

/* Finds weight_of of every layer of integers. PITH_ERR_MEMORY. */
enum pith_status pith_share_weights(struct integer_plan *p, struct pith_error *err);

/* Then `wide` of layers whose weight others read as well; bits are chosen by then. */
void pith_share_widths(struct integer_plan *p);

/* Then `apart` of layers whose weight others read as well. PITH_ERR_MEMORY. */
enum pith_status pith_set_scales_apart(struct integer_plan *p, struct pith_error *err);

/* Then turned_of and one_scale of layers whose weight others read the other way round, which become
 * apart. PITH_ERR_MEMORY. */
enum pith_status pith_share_both_ways(struct integer_plan *p, struct pith_error *err);

#endif
