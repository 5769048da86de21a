/* SPDX-License-Identifier: MIT */
/* elementary_f32.h - the rest of the elementwise functions, in the manner of math_f32.h: IEEE
 * operations alone, the same bits everywhere, every float accepted, NaN gives NaN. Bounds in units
 * in the last place of the result, unless stated otherwise (tests/runtime/test_elementary_f32.c).
 */
#ifndef ELEMENTARY_F32_H
#define ELEMENTARY_F32_H

#include <stddef.h>

float pith_sin_f32(float x);  /* <= 0.6 ulp for every finite x; NaN for infinities */
float pith_cos_f32(float x);  /* likewise */
float pith_atan_f32(float x); /* <= 0.6 ulp */

/* C's powf, <= 0.6 ulp (1 ulp for y == 3): negative x with whole y, signed zeros, infinities. */
float pith_power_f32(float x, float y);

/* y[i] = f(x[i]) for i < n; y may be x. */
void pith_sqrt_row_f32(const float *x, float *y, size_t n); /* correctly rounded */
void pith_erf_row_f32(const float *x, float *y, size_t n);  /* <= 2.5 ulp */
/* log(1 + exp(x)), <= 3 ulp */
void pith_softplus_row_f32(const float *x, float *y, size_t n);
/* x sigmoid(x), <= 4 ulp or 2^-121 */
void pith_swish_row_f32(const float *x, float *y, size_t n);
/* x / 2 (1 + erf(x / sqrt 2)), within 2^-22 max(|x|, 1) / 2: where x is negative, the sum cancels
 */
void pith_gelu_row_f32(const float *x, float *y, size_t n);
/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), within 2^-22 max(|x|, 1) */
void pith_gelu_tanh_row_f32(const float *x, float *y, size_t n);
/* x > 0: above * x, else below * (exp(x / width) - 1), the latter <= 3 ulp for width 1: Elu, Selu
 * and Celu. width > 0 */
void pith_elu_row_f32(float above, float below, float width, const float *x, float *y, size_t n);

#endif
