/* SPDX-License-Identifier: MIT */
/* range.h - from statistics to a range, one method a file, and from a range to a grid. */
#ifndef PITH_RANGE_H
#define PITH_RANGE_H

#include "pith_value_stats.h"

/* The numbers of a value, zeros apart; with a histogram. */
struct distribution {
    const struct pith_value_stats *s; /* borrows; n > n_zero */
    double min, max;                  /* finite; not both 0 */
    double width;                     /* of a bin */
};

/* What the grid shall be. */
struct grid_kind {
    uint32_t bits;  /* 2..16 */
    bool symmetric; /* zero point 0; the numbers of values with both signs are signed */
    bool radix;     /* scales are powers of two; symmetric, too */
};

struct range {
    double low, high; /* low <= 0 <= high, not both 0 */
};

/* One that is negative nowhere. */
bool pith_one_sided(const struct distribution *d);
/* Numbers in [0, edge) of bin i counted from the histogram's first, cut at the extremes. */
void pith_bin_edges(const struct distribution *d, uint32_t i, double *from, double *to);
/* Of count numbers at magnitudes in [m width, (m + 1) width): magnitude[m]; [*n], n <= 2048. */
void pith_magnitudes(const struct distribution *d, double magnitude[PITH_HISTOGRAM_BINS],
                     uint32_t *n);
/* [-t, t] cut at the extremes. */
struct range pith_range_within(const struct distribution *d, double t);

/* Everything. */
struct range pith_range_max(const struct distribution *d);
/* All but (100 - percentile) percent of the observations, zeros included: of magnitudes where the
 * grid is symmetric, else half of the rest at each end where there are numbers of both signs. */
struct range pith_range_percentile(const struct distribution *d, const struct grid_kind *kind,
                                   double percentile);
/* The least relative entropy of the magnitudes to what the grid makes of them. */
struct range pith_range_kl(const struct distribution *d, const struct grid_kind *kind);
/* The least squared error. */
struct range pith_range_mse(const struct distribution *d, const struct grid_kind *kind);
/* The least squared error, were the numbers distributed as Laplace's or Gauss's law says. */
struct range pith_range_aciq(const struct distribution *d, const struct grid_kind *kind);

/* A grid of one scale. */
struct simple_grid {
    enum pith_type type;
    int32_t lowest, highest, zero_point;
    float scale;
};

/* Covers r; with a radix the smallest power of two that does. A scale below the smallest normal
 * number becomes that number. */
struct simple_grid pith_grid_of_range(const struct range *r, const struct grid_kind *kind);
/* Sum of squared differences of all numbers to their images on g: numbers of a bin as evenly
 * spread. HUGE_VAL: it is more than `most`. */
double pith_grid_error(const struct distribution *d, const struct simple_grid *g, double most);

#endif
