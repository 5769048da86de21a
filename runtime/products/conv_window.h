/* SPDX-License-Identifier: MIT */
/* conv_window.h - the direct form of convolutions over three and more spatial axes. */
#ifndef CONV_WINDOW_H
#define CONV_WINDOW_H

#include "kernels/kernel_dense.h"
#include "op_interface/window.h"

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
