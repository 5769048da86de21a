/* SPDX-License-Identifier: MIT */
#include "sum_f32.h"

#define LANES 16u

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
