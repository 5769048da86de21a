/* SPDX-License-Identifier: MIT */
/* depthwise_f32_avx2.c - see depthwise_f32_impl.h. */
#include "pith_simd_avx2.h"
#include "simd_act.h"

/* A vector of 8 lanes wastes less of a narrow plane, and shifts across its halves cost more. */
static inline bool flat_run(const struct depthwise_f32_job *job, const struct clamp *clamp)
{
    (void)job, (void)clamp;
    return false;
}
#include "depthwise_f32_impl.h"
