/* SPDX-License-Identifier: MIT */
/* range_kl.c - the clip that loses the least information (Migacz, "8-bit inference with TensorRT",
 * GTC 2017): for each clip of i bins, P is the histogram with all beyond the clip counted in its
 * last bin, Q the same bins without it, averaged over as many groups as the grid has steps, each
 * average spread over the bins of its group that are not empty. The clip with the smallest sum of P
 * log(P / Q) wins.
 *
 * Unlike there, zeros are left out (the grid has them exactly, and they would outweigh all else
 * behind a Relu), and a grid of numbers without sign has twice the steps. Where the grid has no
 * fewer steps than there are bins, nothing is clipped. */
#include <math.h>

#include "range.h"

#define CLIPS 256u /* about so many are tried */

/* Group g of `steps` over i bins begins at bin g * i / steps. */
static double divergence(const double *count, uint32_t i, double beyond, uint32_t steps)
{
    double total = beyond, inside = 0, sum = 0;
    for (uint32_t m = 0; m < i; m++)
        inside += count[m];
    total += inside;
    if (inside == 0)
        return HUGE_VAL;
    for (uint32_t g = 0; g < steps; g++) {
        uint32_t from = (uint32_t)((uint64_t)g * i / steps),
                 to = (uint32_t)((uint64_t)(g + 1) * i / steps);
        double in_group = 0;
        uint32_t full = 0;
        for (uint32_t m = from; m < to; m++) {
            in_group += count[m];
            full += count[m] > 0;
        }
        for (uint32_t m = from; m < to; m++) {
            double p = (count[m] + (m + 1 == i ? beyond : 0)) / total;
            double q = in_group / (full ? full : 1) / inside;
            if (p > 0 && (count[m] == 0 || q == 0))
                return HUGE_VAL; /* P has what Q has not: the clip falls on an empty bin */
            if (p > 0)
                sum += p * log(p / q);
        }
    }
    return sum;
}

struct range pith_range_kl(const struct distribution *d, const struct grid_kind *kind)
{
    double count[PITH_HISTOGRAM_BINS], least = HUGE_VAL, beyond = 0;
    uint32_t n, best, steps = 1u << (pith_one_sided(d) ? kind->bits : kind->bits - 1);
    pith_magnitudes(d, count, &n);
    best = n;
    uint32_t by = n > CLIPS ? n / CLIPS : 1;
    for (uint32_t i = n; i >= steps && i > 0; i--) {
        if ((n - i) % by == 0) {
            double k = divergence(count, i, beyond, steps);
            if (k < least) {
                least = k;
                best = i;
            }
        }
        beyond += count[i - 1];
    }
    return best == n ? pith_range_max(d) : pith_range_within(d, (double)best * d->width);
}
