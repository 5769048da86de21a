/* SPDX-License-Identifier: MIT */
#include "pith_gram.h"

#define LANES 16u

static int32_t dot(const int16_t *restrict a, const int16_t *restrict b, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double float_dot(const float *restrict a, const float *restrict b, size_t n)
{
    float sum[LANES] = {0}; /* the order is fixed, the additions overlap */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    double all = 0;
    for (size_t k = 0; k < LANES; k++)
        all += (double)sum[k];
    return all;
}

void pith_gram_add(const int16_t *x, size_t n, size_t stride, size_t count, double *h)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            h[i * n + k] += dot(x + i * stride, x + k * stride, count);
}

void pith_gram_add_cross(const float *y, size_t rows, const float *x, size_t n, size_t stride,
                         size_t count, double *c)
{
    for (size_t o = 0; o < rows; o++)
        for (size_t i = 0; i < n; i++)
            c[o * n + i] += float_dot(y + o * stride, x + i * stride, count);
}

void pith_gram_mirror(double *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            h[i * n + k] = h[k * n + i];
}
