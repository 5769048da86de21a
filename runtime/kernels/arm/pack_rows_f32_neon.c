/* SPDX-License-Identifier: MIT */
/* pack_rows_f32_neon.c - see pack_rows_f32_impl.h. */
#include <stddef.h>
#include "kernels/arm/neon.h"

#define PACK(name) name##_neon
typedef float32x4_t four;

static inline four four_zero(void)
{
    return vdupq_n_f32(0.0f);
}

static inline four four_load(const float *p)
{
    return vld1q_f32(p);
}

static inline void four_store(float *p, four v)
{
    vst1q_f32(p, v);
}

/* Pairs of rows, then pairs of pairs. */
static inline void four_turn(four v[4])
{
    const four a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]);
    const four c = vtrn1q_f32(v[2], v[3]), d = vtrn2q_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    v[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    v[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    v[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
}

#include "kernels/ref/pack_rows_f32_impl.h"
