/* SPDX-License-Identifier: MIT */
/* range_percentile.c - leave out the rare ones. Within the bin where the count is reached, numbers
 * are taken as evenly spread. Where all but the zeros were left out, everything is kept. */
#include "range.h"

/* Where the `wanted` largest of [n] bins begin, in bins; 0: there are no more than that. */
static double cut_from_above(const double *count, uint32_t n, double wanted)
{
    uint32_t m = n;
    while (m > 0 && count[m - 1] <= wanted)
        wanted -= count[--m];
    return m == 0 ? 0 : (double)m - wanted / count[m - 1];
}

/* Numbers of one sign by magnitude. */
static uint32_t one_sign(const struct pith_histogram *h, bool negative,
                         double count[PITH_HISTOGRAM_BINS])
{
    uint32_t n = 0;
    for (uint32_t m = 0; m < PITH_HISTOGRAM_BINS; m++) {
        int64_t i = (negative ? -1 - (int64_t)m : (int64_t)m) - h->first;
        bool inside = i >= 0 && i < (int64_t)h->n_bins;
        count[m] = inside ? (double)h->count[i] : 0;
        n = count[m] > 0 ? m + 1 : n;
    }
    return n;
}

struct range pith_range_percentile(const struct distribution *d, const struct grid_kind *kind,
                                   double percentile)
{
    double count[PITH_HISTOGRAM_BINS];
    double rest = (double)d->s->n * (100 - percentile) / 100;
    struct range all = pith_range_max(d), r = all;
    uint32_t n;
    if (kind->symmetric || kind->radix) {
        pith_magnitudes(d, count, &n);
        r = pith_range_within(d, cut_from_above(count, n, rest) * d->width);
        return r.high > r.low ? r : all;
    }
    if (all.low < 0 && all.high > 0)
        rest /= 2;
    n = one_sign(&d->s->histogram, false, count);
    r.high = cut_from_above(count, n, rest) * d->width;
    n = one_sign(&d->s->histogram, true, count);
    r.low = -cut_from_above(count, n, rest) * d->width;
    r.high = r.high < all.high ? r.high : all.high;
    r.low = r.low > all.low ? r.low : all.low;
    return r.high > r.low ? r : all;
}
