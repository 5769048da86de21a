/* SPDX-License-Identifier: MIT */
/* conv_pair.h - a convolution of f32 and the depthwise one that alone reads it, a band of rows of
 * an image at a time: of what is between them there is a band, which stays in a core's cache
 * (Alwani et al. 2016, Fused-Layer CNN Accelerators; what an inverted residual expands is never
 * there whole). Rows that two bands share are computed twice. Each element is the sum that it is
 * when one convolution runs behind the other, so no bit depends on the bands. */
#ifndef CONV_PAIR_H
#define CONV_PAIR_H

#include "op_interface/op_exec.h"

/* Bands of `rows` rows of output of the second convolution, the last one of what is left. */
struct conv_bands {
    uint32_t rows;
    uint32_t x_rows; /* rows between the convolutions that a band has at most */
};

/* Whether two Conv, which need() has chosen the kernels of, run so on `lanes` threads. `depth`
 * reads the output of `first`. false: a cache holds what is between them, or too many rows would be
 * computed twice, or kernels do not allow it. */
bool pith_conv_bands(const struct op_args *first, const struct op_args *depth,
                     const struct op_env *env, uint32_t lanes, struct conv_bands *bands);

/* Both, in bands by conv_bands. env: of one thread, with the first one's scratch, for all lanes;
 * the second one needs none. */
struct conv_pair {
    const struct op_args *first, *depth;
    const struct op_env *env;
    uint32_t rows;
};

/* Runs band i of the first (second: false) or of the second convolution on the caller's thread.
 * between: [channels][x_rows][W], of this lane. */
void pith_conv_band_run(const struct conv_pair *pair, bool second, uint32_t i, uint32_t lane,
                        float *between);

#endif
