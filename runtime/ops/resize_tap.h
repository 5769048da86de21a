/* SPDX-License-Identifier: MIT */
/* resize_tap.h - which elements of an axis Resize reads; for those that write its code. */
#ifndef RESIZE_TAP_H
#define RESIZE_TAP_H

#include "op_interface/op_exec.h"

/* An output reads input low with weight 1 - w and high with weight w; nearest has low alone. 12
 * bytes; one table an axis, read once for each output. */
struct resize_tap {
    uint32_t low, high;
    float w;
};

/* Fills taps[size of the output along axis], of nearest and linear. false: the axis is not sampled,
 * and taps are the identity. */
bool pith_resize_taps(const struct op_args *args, uint32_t axis, struct resize_tap *taps);

#endif
