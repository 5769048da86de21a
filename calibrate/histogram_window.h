/* SPDX-License-Identifier: MIT */
/* histogram_window.h - a histogram while it grows: bins low .. low + PITH_HISTOGRAM_BINS - 1. */
#ifndef HISTOGRAM_WINDOW_H
#define HISTOGRAM_WINDOW_H

#include "histogram_count.h"

/* Bins are numbered as in pith_histogram; low <= 0, and bin 0 is always inside. */
struct histogram_window {
    int32_t exponent, low;
    uint64_t *count; /* [PITH_HISTOGRAM_BINS], the creator owns it */
    histogram_count_fn *count_numbers;
};

/* Those who count, each with space of its own. */
struct count_team {
    uint32_t n;                        /* at least 1 */
    struct histogram_scratch *scratch; /* [n], the creator owns it */
    void (*parallel_for)(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg);
    void *user; /* as pith_opts; NULL: here, one after the other */
};

/* body(arg, i) for i < n. */
void pith_team_do(const struct count_team *team, uint32_t n, void (*body)(void *arg, uint32_t i),
                  void *arg);

/* The number of x's bin at a width of 2^exponent, not looking at how many there are. */
double pith_bin_of(double x, int32_t exponent);

/* An empty window for numbers of min..max. count: zeros. */
void pith_window_start(struct histogram_window *w, uint64_t *count, float min, float max);
/* min, max: the extremes of all numbers, counted ones and those to come. */
void pith_window_widen(struct histogram_window *w, float min, float max);
/* x: [n] f32, finite and inside the window; zeros are not counted. */
void pith_window_count(struct histogram_window *w, const float *x, size_t n,
                       const struct count_team *team);
/* Adds h, whose extremes are among those the window was made for. */
void pith_window_merge(struct histogram_window *w, const struct pith_histogram *h);
/* The bins from the first to the last that is not 0: the first one's index in count; *n_bins 0: all
 * are 0. */
uint32_t pith_window_trim(const struct histogram_window *w, uint32_t *n_bins);

#endif
