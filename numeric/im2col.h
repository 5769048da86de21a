/* SPDX-License-Identifier: MIT */
/* im2col.h - where the patches lie that a convolution multiplies its weights with. */
#ifndef PITH_IM2COL_H
#define PITH_IM2COL_H

#include "op_interface/window.h"

/* place: [out, taps] the same of all; -1: outside. */
void pith_im2col_places(const struct window *v, int64_t *place);

struct im2col_input {
    const float *data;           /* the first channel's */
    size_t by_place, by_channel; /* how far apart neighbours lie */
};

/* The patch at one position, place: its [taps], as a row [channels, taps] of a weight lies. */
void pith_im2col_row(const struct im2col_input *x, const int64_t *place, size_t taps,
                     size_t channels, float *row);

#endif
