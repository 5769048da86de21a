/* SPDX-License-Identifier: MIT */
/* simd_act.h - activations in vector epilogues. Included after the vector
 * operations of a level.
 *
 * None, relu and clip are one clamp between bounds known beforehand, so kernels apply it without
 * asking. The others are a second pass over what the kernel has just stored (still in cache). */
#ifndef SIMD_ACT_H
#define SIMD_ACT_H

#include "pith_kernel_dense.h"
#include "pith_kernel_row.h"

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

/* Row kernels of the same level: the same functions as Sigmoid and kin of their own. */
static inline row_f32_fn *row_of(enum act_kind kind)
{
    switch (kind) {
    case ACT_SIGMOID:
        return ISA(pith_sigmoid_row_f32);
    case ACT_TANH:
        return ISA(pith_tanh_row_f32);
    case ACT_GELU:
        return ISA(pith_gelu_row_f32);
    case ACT_GELU_TANH:
        return ISA(pith_gelu_tanh_row_f32);
    default:
        return NULL;
    }
}

/* y[0 .. n) = act(y), for the activations that are no clamp HardSwish is x * clamp(x / 6 + 1/2);
 * HardSigmoid the clamp of a x + b. */
static inline void act_row(const struct dense_act *act, float *y, size_t n)
{
    row_f32_fn *row = row_of(act->kind);
    if (row) {
        row(y, y, n);
        return;
    }
    bool swish = act->kind == ACT_HARD_SWISH;
    vec a = vec_set1(swish ? 1.0f / 6.0f : act->a), b = vec_set1(swish ? 0.5f : act->b);
    for (size_t i = 0; i < n; i += LANES) {
        vmask m = vmask_range(0, n - i < LANES ? (int)(n - i) : LANES);
        vec x = vec_load_some(y + i, m);
        vec gate = vec_min(vec_set1(1.0f), vec_max(vec_zero(), vec_add(vec_mul(a, x), b)));
        vec v = swish ? vec_mul(x, gate) : gate;
        if (act->kind == ACT_LEAKY)
            v = vec_below_zero(x, vec_mul(a, x), x);
        vec_store_some(y + i, m, v);
    }
}

#endif
