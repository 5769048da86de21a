/* SPDX-License-Identifier: MIT */
#include "kernels/ref/sum_f32.h"
#include "kernels/ref/math_f32.h"
#include "core/bytes.h"

#define LANES 16u

#ifdef __OPTIMIZE_SIZE__
float pith_sum_f32(const float *x, size_t n)
{
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += x[i + k];
    for (size_t k = 0; i + k < n; k++)
        lane[k] += x[i + k];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}
#else
/* A vector wherever it lies, so that the lanes stay in registers. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* Lanes past the last add 0, which changes no sum that began with 0. */
float pith_sum_f32(const float *x, size_t n)
{
    four a = {0}, b = {0}, c = {0}, d = {0}, last[LANES / 4] = {{0}};
    for (; n >= LANES; n -= LANES, x += LANES) {
        const four *v = (const four *)(const void *)x;
        a += v[0], b += v[1], c += v[2], d += v[3];
    }
    memcpy(last, x, n * sizeof *x);
    a = (a + last[0]) + (c + last[2]);
    b = (b + last[1]) + (d + last[3]);
    a += b;
    return (a[0] + a[2]) + (a[1] + a[3]);
}
#endif

#define PIECE LONG_SUM_PIECE

/* The sum of `value`, an expression of x[at + i], over x[0..n-1]. */
#define LONG_SUM(value)                                                                            \
    double sum = 0;                                                                                \
    for (size_t at = 0; at < n; at += PIECE) {                                                     \
        size_t length = n - at < PIECE ? n - at : PIECE;                                           \
        float piece[PIECE];                                                                        \
        for (size_t i = 0; i < length; i++)                                                        \
            piece[i] = (value);                                                                    \
        sum += (double)pith_sum_f32(piece, length);                                                \
    }                                                                                              \
    return sum

double pith_long_sum_f32(const float *x, size_t n)
{
    double sum = 0;
    for (size_t at = 0; at < n; at += PIECE)
        sum += (double)pith_sum_f32(x + at, n - at < PIECE ? n - at : PIECE);
    return sum;
}

double pith_long_sum_abs_f32(const float *x, size_t n)
{
    LONG_SUM(x[at + i] < 0.0f ? -x[at + i] : x[at + i]);
}

double pith_long_sum_square_f32(const float *x, float minus, size_t n)
{
    LONG_SUM((x[at + i] - minus) * (x[at + i] - minus));
}
