/* SPDX-License-Identifier: MIT */
/* conv_window.h - what convolutions over three and more spatial axes do in place of the kernels for
 * images: columns for the packed product, and the direct form. */
#ifndef CONV_WINDOW_H
#define CONV_WINDOW_H

#include "kernels/kernel_dense.h"
#include "op_interface/window.h"

/* Some columns of one group of one image: as struct im2col_f32_job. */
struct window_columns {
    const struct window *v;
    size_t channels;
    const float *x; /* [channels, in] */
    float *b;       /* [k1 - k0, n], row stride ldb */
    size_t ldb, p0, n, k0, k1;
};
void pith_window_columns(const struct window_columns *job);

/* One output plane. */
struct window_plane {
    const struct window *v;
    size_t channels;
    const float *x;        /* [channels, in] */
    const float *w;        /* [channels, taps] */
    float *y;              /* [out] */
    const float *residual; /* [out] or NULL */
    float bias;
    struct dense_act act;
};
void pith_window_plane(const struct window_plane *job);

#endif
