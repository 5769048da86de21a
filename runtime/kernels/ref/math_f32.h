/* SPDX-License-Identifier: MIT */
/* math_f32.h - the transcendental functions operators need, without libm.
 *
 * Written in IEEE operations alone (no fused multiply-add, no table, no libm), so that every CPU
 * and compiler gives the same bits. Each accepts every float: NaN gives NaN, infinities give the
 * limit, denormals are computed, nothing traps. Bounds against the exact result, in units in the
 * last place of the result (tests/runtime/test_math_f32.c measures them over the whole range): */
#ifndef MATH_F32_H
#define MATH_F32_H

#include <stddef.h>

float pith_exp_f32(float x);     /* <= 1.1 ulp; +inf above 88.73, 0 below -103.98 */
float pith_log_f32(float x);     /* <= 1.1 ulp; -inf for 0, NaN below 0 */
float pith_tanh_f32(float x);    /* <= 2.5 ulp */
float pith_sigmoid_f32(float x); /* <= 2.5 ulp or 2^-127: 1 / (1 + exp(-x)) */
float pith_sqrt_f32(float x);    /* correctly rounded; NaN below 0, -0 for -0 */
float pith_asinh_f32(float x);   /* <= 0.6 ulp */
float pith_atanh_f32(float x);   /* <= 0.6 ulp; +-inf for +-1, NaN beyond */

/* x to the power y, <= 0.6 ulp, for x >= 0; x < 0 gives NaN (this is the root and scale function
 * of normalisations, not C's pow: no odd-integer cases). y == 0 gives 1, also for NaN x. */
float pith_pow_f32(float x, float y);

/* The same functions, bit for bit, over n elements; y may be x. exp of x[i] - minus. */
void pith_exp_row_f32(const float *x, float minus, float *y, size_t n);
void pith_tanh_row_f32(const float *x, float *y, size_t n);
void pith_sigmoid_row_f32(const float *x, float *y, size_t n);

#endif
