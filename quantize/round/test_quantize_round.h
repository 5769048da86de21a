/* SPDX-License-Identifier: MIT */
/* test_quantize_round.h - what tests look at inside of quantize/round/, beside its interface, and
 * why:
 *
 *     bias_correct.h: means and their errors by hand
 *     channel_reestimate.h: means and variances of one layer */
#ifndef TEST_QUANTIZE_WALK_H
#define TEST_QUANTIZE_WALK_H

#include "bias_correct.h"
#include "channel_reestimate.h"

#endif
