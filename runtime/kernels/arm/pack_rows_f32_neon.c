/* SPDX-License-Identifier: MIT */
/* pack_rows_f32_neon.c - see pack_rows_f32_impl.h. */
#include <arm_neon.h>
#include <stddef.h>

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
    float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(v[0], v[1]));
    float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(v[0], v[1]));
    float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(v[2], v[3]));
    float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(v[2], v[3]));
    v[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
    v[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
    v[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
    v[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

#include "kernels/ref/pack_rows_f32_impl.h"
