/* SPDX-License-Identifier: MIT */
/* simd_neon.h - simd_avx512.h for NEON: four lanes, and 32 registers, or 16 (neon.h).
 *
 * NEON has no masks. One is a number with a bit for each lane here, and a load or store of some
 * lanes goes lane by lane: only the edges of tiles need it, with the same mask each time, so that
 * its branches are predicted. */
#ifndef SIMD_NEON_H
#define SIMD_NEON_H

#include <stddef.h>
#include <stdint.h>
#include "kernels/arm/neon.h"
#include "kernels/kernel_dense.h"

#define LANES 4
#define ISA(name) name##_neon

/* Loads are instructions of their own here, but the compiler may still move them behind uses. */
#ifdef __wasm__
#define IN_REGISTER(v)
#else
#define IN_REGISTER(v) __asm__("" : "+w"(v))
#endif

typedef float32x4_t vec;
typedef uint32_t vmask;
typedef int32_t vint __attribute__((vector_size(16)));

#define ALL_LANES 15u

/* lanes [from, to), clamped to 0..LANES; none when to <= from */
static inline vmask vmask_range(int from, int to)
{
    from = from < 0 ? 0 : from > LANES ? LANES : from;
    to = to < from ? from : to > LANES ? LANES : to;
    return (1u << to) - (1u << from);
}

/* nonzero lanes, which a gather loads: they need not be neighbours */
static inline vmask vmask_of(vint nonzero)
{
    vmask m = 0;
    for (int i = 0; i < LANES; i++)
        m |= nonzero[i] ? 1u << i : 0;
    return m;
}

static inline vec vec_zero(void)
{
    return vdupq_n_f32(0.0f);
}

static inline vec vec_set1(float f)
{
    return vdupq_n_f32(f);
}

static inline vec vec_load(const float *p)
{
    return vld1q_f32(p);
}

static inline vec vec_load_into(vec v, const float *p, vmask m)
{
    if (m == ALL_LANES)
        return vld1q_f32(p);
    if (m & 1)
        v = vld1q_lane_f32(p, v, 0);
    if (m & 2)
        v = vld1q_lane_f32(p + 1, v, 1);
    if (m & 4)
        v = vld1q_lane_f32(p + 2, v, 2);
    if (m & 8)
        v = vld1q_lane_f32(p + 3, v, 3);
    return v;
}

static inline vec vec_load_some(const float *p, vmask m)
{
    return vec_load_into(vec_zero(), p, m);
}

static inline void vec_store(float *p, vec v)
{
    vst1q_f32(p, v);
}

static inline void vec_store_some(float *p, vmask m, vec v)
{
    if (m == ALL_LANES) {
        vst1q_f32(p, v);
        return;
    }
    if (m & 1)
        vst1q_lane_f32(p, v, 0);
    if (m & 2)
        vst1q_lane_f32(p + 1, v, 1);
    if (m & 4)
        vst1q_lane_f32(p + 2, v, 2);
    if (m & 8)
        vst1q_lane_f32(p + 3, v, 3);
}

/* NEON has no gather: a load for each lane that the mask has, and none for the others. */
static inline vec vec_gather(const float *p, vint idx, vmask m)
{
    vec v = vec_zero();
    if (m & 1)
        v = vld1q_lane_f32(p + idx[0], v, 0);
    if (m & 2)
        v = vld1q_lane_f32(p + idx[1], v, 1);
    if (m & 4)
        v = vld1q_lane_f32(p + idx[2], v, 2);
    if (m & 8)
        v = vld1q_lane_f32(p + idx[3], v, 3);
    return v;
}

/* elements 1 ... of a, then the first of b */
static inline vec vec_next(vec a, vec b)
{
    return vextq_f32(a, b, 1);
}

/* of the eight elements in lo and hi: those at even places, those at odd ones */
static inline vec vec_even(vec lo, vec hi)
{
    return vuzp1q_f32(lo, hi);
}

static inline vec vec_odd(vec lo, vec hi)
{
    return vuzp2q_f32(lo, hi);
}

/* e, then v but for its last lane */
static inline vec vec_behind(float e, vec v)
{
    return vextq_f32(vdupq_n_f32(e), v, 3);
}

/* a0 b0 a1 b1 ... at p */
static inline void vec_store_zipped(float *p, vec a, vec b)
{
    vst2q_f32(p, (float32x4x2_t){{a, b}});
}

/* a b + c, rounded once; on 32-bit machines twice */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

static inline vec vec_add(vec a, vec b)
{
    return vaddq_f32(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return vmulq_f32(a, b);
}

/* The second operand where one is NaN, as on x86: FMAX would give NaN for either, and FMAXNM would
 * hide x's. */
static inline vec vec_max(vec lo, vec x)
{
    return vbslq_f32(vcgtq_f32(lo, x), lo, x);
}

static inline vec vec_min(vec hi, vec x)
{
    return vbslq_f32(vcgtq_f32(x, hi), hi, x);
}

/* a where x is below zero, else b, also where it is NaN */
static inline vec vec_below_zero(vec x, vec a, vec b)
{
    return vbslq_f32(vcltzq_f32(x), a, b);
}

/* Halves, then the pair. */
static inline float vec_sum(vec v)
{
    float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}

/* One k of a panel of NEON_MR rows. */
#define RVECS (NEON_MR / 4)
typedef struct {
    vec val[RVECS];
} rvec;

static inline rvec rvec_load(const float *p)
{
    rvec v;
    for (int i = 0; i < RVECS; i++)
        v.val[i] = vld1q_f32(p + 4 * i);
    return v;
}

static inline void rvec_store(float *p, rvec v)
{
    for (int i = 0; i < RVECS; i++)
        vst1q_f32(p + 4 * i, v.val[i]);
}

static inline rvec rvec_set1(float f)
{
    rvec v;
    for (int i = 0; i < RVECS; i++)
        v.val[i] = vdupq_n_f32(f);
    return v;
}

static inline rvec rvec_fma(rvec a, rvec b, rvec c)
{
    for (int i = 0; i < RVECS; i++)
        c.val[i] = vfmaq_f32(c.val[i], a.val[i], b.val[i]);
    return c;
}

/* One k of a panel of weights: a multiply-add takes one lane of a register as its factor, so four
 * weights are one load. */
typedef rvec vweights;
#define WEIGHTS_STRIDED 0

static inline vweights vweights_at(const float *a)
{
    return rvec_load(a);
}

/* at: in bytes. Compilers for AArch64 take the lane by themselves. */
#ifdef __arm__
typedef struct {
    float32x2_t pair;
    bool second;
} vweight;

static inline vweight vweights_set1(vweights w, size_t at)
{
    const vec four = w.val[at / 16];
    return (vweight){at % 16 < 8 ? vget_low_f32(four) : vget_high_f32(four), at / 4 % 2};
}

static inline vec vweight_fma(vweight w, vec b, vec c)
{
    return w.second ? vmlaq_lane_f32(c, b, w.pair, 1) : vmlaq_lane_f32(c, b, w.pair, 0);
}
#else
typedef vec vweight;
#define vweight_fma vec_fma

static inline vweight vweights_set1(vweights w, size_t at)
{
    return vdupq_n_f32(w.val[at / 16][at / 4 % 4]);
}
#endif

#endif
