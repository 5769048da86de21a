/* SPDX-License-Identifier: MIT */
/* coarse_weight.c - weights rounded or pruned as a trial needs them: quickly, and without data. */
#include "coarse_weight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINEST 0.5f
#define SCALE_STEPS 25u

static double round_row(const float *w, uint64_t n, float scale, float most, float *to)
{
    double error = 0;
    for (uint64_t i = 0; i < n; i++) {
        float q = rintf(w[i] / scale);
        q = q > most ? most : q < -most ? -most : q;
        float y = q * scale, d = w[i] - y;
        error += (double)d * (double)d;
        if (to)
            to[i] = y;
    }
    return error;
}

void pith_coarse_round(const float *w, uint64_t rows, uint64_t cols, uint32_t bits, float *to)
{
    float most = (float)((1 << (bits - 1)) - 1);
    for (uint64_t o = 0; o < rows; o++, w += cols, to += cols) {
        float largest = 0, best = 0;
        double least = HUGE_VAL;
        for (uint64_t i = 0; i < cols; i++)
            largest = fmaxf(largest, fabsf(w[i]));
        for (uint32_t k = 0; k <= SCALE_STEPS; k++) {
            float part = 1 - (1 - FINEST) * (float)k / SCALE_STEPS;
            float scale = largest / most * part;
            double error = scale > 0 ? round_row(w, cols, scale, most, NULL) : HUGE_VAL;
            best = error < least ? scale : best;
            least = error < least ? error : least;
        }
        if (best > 0)
            round_row(w, cols, best, most, to);
        else
            memcpy(to, w, cols * sizeof *to); /* zeros, or what no float scale can divide */
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Of equal ones at the limit the first go, so that the share is met. */
bool pith_coarse_prune(const float *w, uint64_t n, double share, float *to)
{
    uint64_t gone = (uint64_t)(share * (double)n + 0.5), below = 0;
    float *sorted = malloc((size_t)n * sizeof *sorted + 1);
    if (!sorted)
        return false;
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = fabsf(w[i]);
    qsort(sorted, n, sizeof *sorted, by_value);
    float limit = gone < n ? sorted[gone] : HUGE_VALF;
    free(sorted);
    for (uint64_t i = 0; i < n; i++)
        below += fabsf(w[i]) < limit;
    uint64_t at_limit = gone - below;
    for (uint64_t i = 0; i < n; i++) {
        bool goes = fabsf(w[i]) < limit || (fabsf(w[i]) == limit && at_limit > 0);
        at_limit -= goes && fabsf(w[i]) == limit;
        to[i] = goes ? 0 : w[i];
    }
    return true;
}
