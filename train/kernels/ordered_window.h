/* SPDX-License-Identifier: MIT */
/* ordered_window.h - where the taps of a window of one to three axes lie, for the ordered backend:
 * channels last, rows being the pixels of the result. */
#ifndef ORDERED_WINDOW_H
#define ORDERED_WINDOW_H

#include "primitive.h"

/* Pixels of the result, and taps of the window. */
int64_t pith_window_rows(const struct prim_conv_shape *s);
int64_t pith_window_taps(const struct prim_conv_shape *s);

/* at [taps]: the pixel of x under each tap of the row, all images counted through; -1: outside. */
void pith_window_places(const struct prim_conv_shape *s, int64_t row, int64_t *at);

#endif
