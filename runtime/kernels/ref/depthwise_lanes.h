/* SPDX-License-Identifier: MIT */
/* depthwise_lanes.h - shapes of depthwise_f32, and what is found out once for all planes of a job
 * where a vector holds the same pixel of several planes (depthwise_lanes_impl.h). */
#ifndef DEPTHWISE_LANES_H
#define DEPTHWISE_LANES_H

#include "kernels/kernel_dense.h"

/* Whether columns of pixels take the job. */
static inline bool columns_fit(const struct conv_geom *g)
{
    return g->kh == 3 && g->kw == 3 && g->stride_h == g->stride_w && g->stride_h <= 2 &&
           g->dil_h == 1 && g->dil_w == 1;
}

#define SLIDING_REACH 64u /* columns of a window that slides: its rows fit several times */

/* Whether a window of rows in registers slides down its plane. */
static inline bool window_slides(const struct conv_geom *g)
{
    return g->dil_h == 1 && g->stride_w <= 2 && (g->kw - 1) * g->dil_w <= SLIDING_REACH &&
           ((g->kh == 5 && g->stride_h <= 2) || (g->kh == 7 && g->stride_h == 1));
}

#define LANES_ABREAST 8u /* pixels, to hide the latency of a multiply-add */
/* Of an output, with 4 lanes, and as many of a residual. */
#define MOST_PIXELS (DEPTHWISE_SUMS / 2 / 4)

struct depthwise_lanes {
    uint32_t rows, columns, taps, pixels; /* of the copy, of the window, of the output */
    uint32_t offset[DEPTHWISE_MAX_TAPS];  /* floats to what lies under a tap */
    uint32_t under[MOST_PIXELS];          /* under the first of an output; the last is repeated */
};

/* false: the job does not fit, or is faster otherwise. */
bool pith_depthwise_lanes(struct depthwise_lanes *l, const struct depthwise_f32_job *job,
                          uint32_t lanes);

#endif
