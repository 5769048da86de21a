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

#define CLIPS 256u  /* about so many are tried */
#define EQUAL 1e-12 /* of two clips the wider one is taken */

/* Of the bins below each, so that a clip takes its groups alone. */
struct totals {
    double count[PITH_HISTOGRAM_BINS + 1], count_log[PITH_HISTOGRAM_BINS + 1];
    uint32_t full[PITH_HISTOGRAM_BINS + 1]; /* bins that are not empty */
};

static double times_log(double x)
{
    return x > 0 ? x * log(x) : 0;
}

static void add_up(struct totals *t, const double *count, uint32_t n)
{
    t->count[0] = t->count_log[0] = t->full[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        t->count[i + 1] = t->count[i] + count[i];
        t->count_log[i + 1] = t->count_log[i] + times_log(count[i]);
        t->full[i + 1] = t->full[i] + (count[i] > 0);
    }
}

/* total * (sum of P log P - sum of P log Q). Group g of `steps` over i bins begins at bin g * i /
 * steps. */
static double divergence(const struct totals *t, uint32_t i, double beyond, uint32_t steps)
{
    const double inside = t->count[i], total = inside + beyond, last = inside - t->count[i - 1];
    if (inside == 0 || (beyond > 0 && t->full[i] == t->full[i - 1]))
        return HUGE_VAL; /* P has what Q has not: the clip falls on an empty bin */
    double sum = t->count_log[i - 1] + times_log(last + beyond) - times_log(total);
    for (uint32_t g = 0; g < steps; g++) {
        const uint32_t from = (uint32_t)((uint64_t)g * i / steps),
                       to = (uint32_t)((uint64_t)(g + 1) * i / steps);
        const double in_group = t->count[to] - t->count[from];
        if (in_group > 0)
            sum -= (in_group + (to == i ? beyond : 0)) *
                   log(in_group / (t->full[to] - t->full[from]) / inside);
    }
    return sum / total;
}

struct range pith_range_kl(const struct distribution *d, const struct grid_kind *kind)
{
    double count[PITH_HISTOGRAM_BINS], least = HUGE_VAL, beyond = 0;
    struct totals t;
    uint32_t n, best, steps = 1u << (pith_one_sided(d) ? kind->bits : kind->bits - 1);
    pith_magnitudes(d, count, &n);
    best = n;
    add_up(&t, count, n);
    uint32_t by = n > CLIPS ? n / CLIPS : 1;
    for (uint32_t i = n; i >= steps && i > 0; i--) {
        if ((n - i) % by == 0) {
            double k = divergence(&t, i, beyond, steps);
            if (k < least - EQUAL) {
                least = k;
                best = i;
            }
        }
        beyond += count[i - 1];
    }
    return best == n ? pith_range_max(d) : pith_range_within(d, (double)best * d->width);
}
