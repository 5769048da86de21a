/* SPDX-License-Identifier: MIT */
/* normal_scale.h - scales as files hold them: finite, not 0, not subnormal. A channel that is
 * dead, or a tensor that calibration observed as zeros only, has no scale of its own: any scale
 * gives 0. */
#ifndef PITH_NORMAL_SCALE_H
#define PITH_NORMAL_SCALE_H

#include <float.h>

/* What is no number becomes the least. */
static inline float pith_normal_scale(double scale)
{
    if (!(scale > (double)FLT_MIN))
        return FLT_MIN;
    return scale < (double)FLT_MAX ? (float)scale : FLT_MAX;
}

/* Of a channel of a tensor with the scale `whole`: so little less that quotients of two channels'
 * scales, times one of weights, stay within f32. */
static inline float pith_channel_scale(double scale, float whole)
{
    const double least = (double)whole * 0x1p-60;
    return scale < (double)whole ? pith_normal_scale(scale > least ? scale : least) : whole;
}

#endif
