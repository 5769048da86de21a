/* SPDX-License-Identifier: MIT */
/* range_aciq.c - the clip in closed form (Banner, Nahshan, Hoffer, Soudry, "Post training 4-bit
 * quantization of convolutional networks for rapid-deployment", 2019): for numbers of Laplace's law
 * with parameter b, or Gauss's with sigma, the squared error of M bits is smallest at a clip that
 * is a known multiple of b or sigma. The law is that whose kurtosis is nearer (6 and 3). What is
 * negative nowhere is taken as half of a symmetric law, whose other half has a bit of its own. */
#include <math.h>

#include "range.h"

#define FIRST_BITS 2u
#define GAUSS_KURTOSIS 3
#define LAPLACE_KURTOSIS 6.0

/* Roots of e^-a = a / (3 4^M), and of sqrt(2/pi) e^(-a^2/2) - a erfc(a/sqrt 2) = a / (3 4^M), for M
 * = 2 .. 17. */
static const double laplace_clip[] = {
    2.830683,  3.897229,  5.028640,  6.204766,  7.413126,  8.645620,  9.896760,  11.162685,
    12.440591, 13.728385, 15.024465, 16.327583, 17.636749, 18.951162, 20.270172, 21.593236};
static const double gauss_clip[] = {1.710635, 2.151593, 2.559136, 2.936201, 3.286914, 3.615114,
                                    3.924035, 4.216330, 4.494161, 4.759300, 5.013210, 5.257111,
                                    5.492026, 5.718824, 5.938248, 6.150938};

/* Central moments from the histogram, zeros included where `zeros`. */
struct moments {
    double mean, deviation, variance, kurtosis;
};

static double middle(const struct distribution *d, uint32_t i)
{
    double from, to;
    pith_bin_edges(d, i, &from, &to);
    return (from + to) / 2;
}

static struct moments moments_about(const struct distribution *d, double mean, double zeros)
{
    const struct pith_histogram *h = &d->s->histogram;
    double n = zeros, m1 = zeros * fabs(mean), m2 = zeros * mean * mean;
    double m4 = m2 * mean * mean;
    for (uint32_t i = 0; i < h->n_bins; i++) {
        double c = (double)h->count[i], x = middle(d, i) - mean;
        n += c;
        m1 += c * fabs(x);
        m2 += c * x * x;
        m4 += c * x * x * x * x;
    }
    return (struct moments){mean, m1 / n, m2 / n, m2 > 0 ? m4 * n / (m2 * m2) : 3};
}

struct range pith_range_aciq(const struct distribution *d, const struct grid_kind *kind)
{
    bool one_sided = pith_one_sided(d), about_zero = one_sided || kind->symmetric || kind->radix;
    double mean = about_zero ? 0 : pith_stats_mean(d->s);
    struct moments m = moments_about(d, mean, one_sided ? 0 : (double)d->s->n_zero);
    uint32_t bits = kind->bits + one_sided - FIRST_BITS;
    double clip = m.kurtosis > (GAUSS_KURTOSIS + LAPLACE_KURTOSIS) / 2
                      ? laplace_clip[bits] * m.deviation
                      : gauss_clip[bits] * sqrt(m.variance);
    struct range all = pith_range_max(d);
    struct range r = {fmin(fmax(mean - clip, all.low), 0), fmax(fmin(mean + clip, all.high), 0)};
    return r.high > r.low ? r : all;
}
