/* SPDX-License-Identifier: MIT */
/* simd_act.h - activations in vector epilogues. Included after the vector
 * operations of a level.
 *
 * None, relu and clip are one clamp between bounds known beforehand, so kernels apply it without
 * a test. The others are a second pass over what the kernel has just stored (still in cache). */
#ifndef SIMD_ACT_H
#define SIMD_ACT_H

#include "kernels/kernel_dense.h"

/* lo1, hi1 are for elements that are handled one by one. */
struct clamp {
    vec lo, hi;
    float lo1, hi1;
    bool second_pass;
};

/* No activation is a clamp between infinities, which changes nothing. */
static inline struct clamp clamp_of(const struct dense_act *act)
{
    struct clamp c = {.lo1 = -__builtin_inff(), .hi1 = __builtin_inff()};
    if (act->kind == ACT_RELU) {
        c.lo1 = 0.0f;
    } else if (act->kind == ACT_CLIP) {
        c.lo1 = act->a;
        c.hi1 = act->b;
    } else {
        c.second_pass = act->kind != ACT_NONE;
    }
    c.lo = vec_set1(c.lo1);
    c.hi = vec_set1(c.hi1);
    return c;
}

static inline float clamp_apply1(const struct clamp *c, float x)
{
    x = x < c->lo1 ? c->lo1 : x;
    return x > c->hi1 ? c->hi1 : x;
}

/* Lower bound first; a NaN passes through both (see vec_max). */
static inline vec clamp_apply(const struct clamp *c, vec x)
{
    return vec_min(c->hi, vec_max(c->lo, x));
}

/* y[0 .. n) = act(y), for the activations that are no clamp: act_row_f32_impl.h. */
void ISA(pith_act_row_f32)(const struct dense_act *act, float *y, size_t n);
/* The same of `rows` rows, ld floats apart. */
void ISA(pith_act_rows_f32)(const struct dense_act *act, float *y, size_t ld, size_t rows,
                            size_t n);

#endif
