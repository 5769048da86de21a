/* SPDX-License-Identifier: MIT */
/* histogram_window.c - counting into bins that double their width when the range outgrows them.
 *
 * Number x falls into bin trunc(x / w), one less for negative x. Halving that number, rounded down,
 * gives the bin at twice the width, so counts that were made with narrow bins become, by adding
 * pairs, those that wide bins would have given. The width follows from the observed extremes alone:
 * the result depends neither on the order of the samples nor on how runs were merged.
 *
 * Scaling by a power of two is exact, and what becomes subnormal still truncates to 0; so single
 * precision is enough. */
#include "histogram_window.h"

#include <math.h>
#include <string.h>

#include "core/bytes.h"

#define BINS ((int32_t)PITH_HISTOGRAM_BINS)
#define BITS 12 /* log2 of more bins than there are: the first width tried */
#define LOWEST_EXPONENT (-126)
#define FEW 1024   /* numbers for which tables are not worth their while */
#define SHARE 8192 /* numbers for which another thread is not, at least */

double pith_bin_of(double x, int32_t exponent)
{
    return trunc(ldexp(x, -exponent)) - (x < 0);
}

static float below_zero(float min)
{
    return min < 0 ? min : 0;
}

static float above_zero(float max)
{
    return max > 0 ? max : 0;
}

/* 2^p > m >= 2^(p-1), m the larger magnitude: at exponent p - 12, m has bin 2^11 or more. Of zeros
 * alone p would be 0, too wide for the small numbers that may follow, for widths only grow. */
static int32_t histogram_exponent(float min, float max)
{
    double low = below_zero(min), high = above_zero(max);
    int p;
    if (low == high)
        return LOWEST_EXPONENT;
    frexp(high > -low ? high : -low, &p);
    int32_t e = p - BITS > LOWEST_EXPONENT ? p - BITS : LOWEST_EXPONENT;
    while (pith_bin_of(high, e) - pith_bin_of(low, e) >= BINS)
        e++;
    return e;
}

void pith_window_start(struct histogram_window *w, uint64_t *count, float min, float max)
{
    w->count = count;
    w->exponent = histogram_exponent(min, max);
    w->low = (int32_t)pith_bin_of(below_zero(min), w->exponent);
}

/* Bin k becomes bin k >> by, whose place is never behind it. */
static void coarsen(struct histogram_window *w, int32_t by)
{
    if (by > 30)
        by = 30; /* all that was is then in bins -1 and 0 */
    int32_t low = w->low >> by;
    for (int32_t i = 0; i < BINS; i++) {
        uint64_t n = w->count[i];
        w->count[i] = 0;
        w->count[((w->low + i) >> by) - low] += n;
    }
    w->low = low;
}

void pith_window_widen(struct histogram_window *w, float min, float max)
{
    int32_t e = histogram_exponent(min, max);
    if (e > w->exponent) {
        coarsen(w, e - w->exponent);
        w->exponent = e;
    }
    int32_t low = (int32_t)pith_bin_of(below_zero(min), w->exponent), by = w->low - low;
    if (by <= 0)
        return;
    /* the bins that the move drops are empty, since every observed number fits */
    memmove(w->count + by, w->count, (size_t)(BINS - by) * sizeof *w->count);
    memset(w->count, 0, (size_t)by * sizeof *w->count);
    w->low = low;
}

static void count_few(struct histogram_window *w, const float *x, size_t n, float per_width)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            w->count[(int32_t)(x[i] * per_width) - (x[i] < 0 ? 1 : 0) - w->low]++;
}

void pith_team_do(const struct count_team *team, uint32_t n, void (*body)(void *arg, uint32_t i),
                  void *arg)
{
    if (team->parallel_for && team->n > 1 && n > 1) {
        team->parallel_for(team->user, n, body, arg);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

struct count_job {
    const struct histogram_window *w;
    const float *x;
    size_t n, each; /* share i: x[i * each ..] */
    float per_width;
    struct histogram_scratch *scratch; /* [shares] */
};

/* Parts count in 32 bits, which tensors that fit into memory do not overflow: 2^34 numbers. */
static void count_share(void *arg, uint32_t i)
{
    const struct count_job *job = arg;
    size_t from = i * job->each, rest = job->n - from;
    memset(&job->scratch[i], 0, sizeof job->scratch[i]);
    job->w->count_numbers(job->x + from, rest < job->each ? rest : job->each, job->per_width,
                          job->w->low, &job->scratch[i]);
}

void pith_window_count(struct histogram_window *w, const float *x, size_t n,
                       const struct count_team *team)
{
    float per_width = ldexpf(1.0f, -w->exponent);
    if (n <= FEW) {
        count_few(w, x, n, per_width);
        return;
    }
    size_t each = (n + team->n - 1) / team->n;
    each = each > SHARE ? each : SHARE;
    struct count_job job = {w, x, n, each, per_width, team->scratch};
    uint32_t shares = (uint32_t)((n + each - 1) / each); /* at most team->n */
    pith_team_do(team, shares, count_share, &job);
    for (uint32_t i = 0; i < shares; i++) {
        const struct histogram_scratch *s = &team->scratch[i];
        for (int32_t k = 0; k < BINS; k++)
            w->count[k] += (uint64_t)s->part[0][k] + s->part[1][k] + s->part[2][k] + s->part[3][k];
    }
}

void pith_window_merge(struct histogram_window *w, const struct pith_histogram *h)
{
    int32_t by = w->exponent - h->exponent; /* >= 0: its extremes are among those of the window */
    for (uint32_t i = 0; i < h->n_bins; i++)
        w->count[((h->first + (int32_t)i) >> (by > 31 ? 31 : by)) - w->low] += h->count[i];
}

uint32_t pith_window_trim(const struct histogram_window *w, uint32_t *n_bins)
{
    uint32_t first = 0, end = PITH_HISTOGRAM_BINS;
    while (first < end && w->count[first] == 0)
        first++;
    while (end > first && w->count[end - 1] == 0)
        end--;
    *n_bins = end - first;
    return first;
}
