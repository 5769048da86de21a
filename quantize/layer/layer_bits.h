/* SPDX-License-Identifier: MIT */
/* layer_bits.h - layers of few weights get more bits than those of many. */
#ifndef LAYER_BITS_H
#define LAYER_BITS_H

#include "integer_plan.h"

/* Sets weight_bits of all nodes. */
void pith_choose_layer_bits(struct integer_plan *p);

#endif
