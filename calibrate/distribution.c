/* SPDX-License-Identifier: MIT */
/* distribution.c - what the methods share: bins, magnitudes, and ranges cut at the extremes. */
#include <math.h>
#include <string.h>

#include "range.h"

bool pith_one_sided(const struct distribution *d)
{
    return d->min >= 0;
}

void pith_bin_edges(const struct distribution *d, uint32_t i, double *from, double *to)
{
    double at = (double)(d->s->histogram.first + (int32_t)i) * d->width;
    *from = at > d->min ? at : d->min;
    *to = at + d->width < d->max ? at + d->width : d->max;
}

/* Bin k < 0 mirrors bin -1 - k. */
void pith_magnitudes(const struct distribution *d, double magnitude[PITH_HISTOGRAM_BINS],
                     uint32_t *n)
{
    const struct pith_histogram *h = &d->s->histogram;
    memset(magnitude, 0, PITH_HISTOGRAM_BINS * sizeof *magnitude);
    *n = 0;
    for (uint32_t i = 0; i < h->n_bins; i++) {
        int32_t k = h->first + (int32_t)i;
        uint32_t m = (uint32_t)(k < 0 ? -1 - k : k);
        magnitude[m] += (double)h->count[i];
        *n = m + 1 > *n ? m + 1 : *n;
    }
}

struct range pith_range_within(const struct distribution *d, double t)
{
    struct range all = pith_range_max(d);
    return (struct range){fmax(all.low, -t), fmin(all.high, t)};
}

struct range pith_range_max(const struct distribution *d)
{
    return (struct range){fmin(d->min, 0), fmax(d->max, 0)};
}
