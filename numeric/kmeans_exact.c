/* SPDX-License-Identifier: MIT */
/* kmeans_exact.c - optimal one-dimensional k-means by dynamic programming (Wang and Song,
 * "Ckmeans.1d.dp", 2011; divide and conquer as in Gronlund et al., "Fast exact k-means, k-medians
 * and Bregman divergence clustering in 1D", 2017): O(K R log R) for R runs of equal values.
 *
 *     A[k][i] = least error of the first i runs in k clusters
 *             = min over j < i of A[k-1][j] + error(j, i)
 *
 * error() obeys the quadrangle inequality, so the best j never falls as i grows: the middle i is
 * searched in full, the left half only up to its j, the right half only from there. With a pinned
 * centroid there is a second table
 *
 *     B[k][i] = the same with k free clusters and one whose centroid is 0
 *             = min(min over j of B[k-1][j] + error(j, i),  min over j of A[k][j] + zero(j, i))
 *
 * where zero(j, i) is a plain sum of squares, so that its minimum is a running one.
 *
 * Above MAX_RUNS distinct values, neighbours are joined into runs that break at 32,768 even steps
 * of rank and as many of value: no run holds more than 1/32,768 of the values or of their range. */
#include "kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RUNS 65536u
#define ZERO_LAST 0x80000000u /* in a choice: the last cluster is the pinned one */

struct dp {
    const struct sorted_values *s;
    uint32_t n_runs;
    uint64_t *edge;            /* [n_runs + 1]: run r holds values [edge[r], edge[r + 1]) */
    double *n, *sum, *squares; /* [n_runs + 1]: prefix sums of (v - shift) */
    double *zero;              /* [n_runs + 1]: prefix sums of v^2 */
    double *a[2], *b[2];       /* [n_runs + 1]: rows k - 1 and k */
    uint32_t *from_a, *from_b; /* [(free + 1) * (n_runs + 1)]: the best j */
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* Where a run may end: a new value, and not inside a step. step: 0 breaks at each new value. */
struct run_break {
    uint64_t n;
    double low, width; /* of one value step; 0: every new value */
};

static bool breaks(const struct run_break *b, const float *v, uint64_t i)
{
    if (v[i] == v[i - 1])
        return false;
    if (b->width == 0)
        return true;
    const uint64_t steps = MAX_RUNS / 2 - 1;
    uint64_t rank_before = (i - 1) * steps / b->n, rank = i * steps / b->n;
    double value_before = floor(((double)v[i - 1] - b->low) / b->width);
    double value = floor(((double)v[i] - b->low) / b->width);
    return rank != rank_before || value != value_before;
}

static bool make_runs(struct dp *d)
{
    const struct sorted_values *s = d->s;
    double range = (double)s->v[s->n - 1] - (double)s->v[0];
    uint64_t distinct = pith_sorted_distinct(s, MAX_RUNS + 1);
    struct run_break rule = {s->n, (double)s->v[0],
                             distinct > MAX_RUNS ? range / (MAX_RUNS / 2 - 1) : 0};
    uint64_t room = (distinct < MAX_RUNS ? distinct : MAX_RUNS) + 1;
    d->edge = malloc(room * sizeof *d->edge);
    if (!d->edge)
        return false;
    d->edge[0] = 0;
    d->n_runs = 1;
    for (uint64_t i = 1; i < s->n; i++) {
        if (breaks(&rule, s->v, i))
            d->edge[d->n_runs++] = i;
    }
    d->edge[d->n_runs] = s->n;
    return true;
}

/* Sums are of v - shift, the middle value: those of v alone would cancel in run_error where all
 * values are far from 0. The pinned centroid is 0 itself, so its squares are of v. */
static bool sum_runs(struct dp *d, bool pinned)
{
    size_t rows = d->n_runs + (size_t)1;
    d->n = malloc(rows * sizeof *d->n);
    d->sum = malloc(rows * sizeof *d->sum);
    d->squares = malloc(rows * sizeof *d->squares);
    d->zero = pinned ? calloc(rows, sizeof *d->zero) : NULL;
    if (!d->n || !d->sum || !d->squares || (pinned && !d->zero))
        return false;
    double sum = 0, squares = 0, zero = 0;
    for (uint32_t r = 0;; r++) {
        d->n[r] = (double)d->edge[r];
        d->sum[r] = sum;
        d->squares[r] = squares;
        if (pinned)
            d->zero[r] = zero;
        if (r == d->n_runs)
            return true;
        for (uint64_t i = d->edge[r]; i < d->edge[r + 1]; i++) {
            double v = (double)d->s->v[i], e = v - d->s->shift;
            sum += e;
            squares += e * e;
            zero += v * v;
        }
    }
}

/* ---- the two tables -------------------------------------------------------------------------- */

/* The sum of (v - mean)^2 is squares - sum^2 / n, which rounding may leave below 0. */
static double run_error(const struct dp *d, uint32_t from, uint32_t to)
{
    double n = d->n[to] - d->n[from], sum = d->sum[to] - d->sum[from];
    double e = d->squares[to] - d->squares[from] - sum * sum / n;
    return e > 0 ? e : 0;
}

/* Ends i in [low, high) of a cluster that begins at j in [j_low, j_high]. */
struct span {
    uint32_t low, high, j_low, j_high;
};

/* The best j < i of s. *least: its error. */
static uint32_t best_for(const struct dp *d, const double *before, const struct span *s, uint32_t i,
                         double *least)
{
    uint32_t last = s->j_high < i ? s->j_high : i - 1, best = s->j_low;
    *least = before[best] + run_error(d, best, i);
    for (uint32_t j = s->j_low + 1; j <= last; j++) {
        double e = before[j] + run_error(d, j, i);
        if (e < *least) {
            *least = e;
            best = j;
        }
    }
    return best;
}

/* row[i] for i in [k, n_runs]. The stack holds at most one waiting span per halving. */
static void free_cluster_row(const struct dp *d, uint32_t k, const double *before, double *row,
                             uint32_t *choice)
{
    struct span stack[40] = {{k, d->n_runs + 1, k - 1, d->n_runs - 1}};
    uint32_t depth = 1;
    while (depth > 0) {
        struct span s = stack[--depth];
        if (s.low >= s.high)
            continue;
        uint32_t mid = s.low + (s.high - s.low) / 2;
        choice[mid] = best_for(d, before, &s, mid, &row[mid]);
        stack[depth++] = (struct span){s.low, mid, s.j_low, choice[mid]};
        stack[depth++] = (struct span){mid + 1, s.high, choice[mid], s.j_high};
    }
}

/* Lets the pinned cluster be the last: row[i] = min(row[i], min_j a[j] + zero(j, i)), j in [k, i].
 */
static void zero_cluster_row(const struct dp *d, uint32_t k, const double *a, double *row,
                             uint32_t *choice)
{
    double least = INFINITY;
    uint32_t best = k;
    for (uint32_t i = k; i <= d->n_runs; i++) {
        if (a[i] - d->zero[i] < least) {
            least = a[i] - d->zero[i];
            best = i;
        }
        double e = a[best] + (d->zero[i] - d->zero[best]);
        if (e < row[i]) {
            row[i] = e;
            choice[i] = best | ZERO_LAST;
        }
    }
}

static void fill(double *row, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        row[i] = x;
}

/* Row 0: no free cluster. */
static void first_rows(struct dp *d, bool pinned)
{
    size_t rows = d->n_runs + (size_t)1;
    fill(d->a[0], rows, INFINITY);
    d->a[0][0] = 0;
    if (pinned) {
        fill(d->b[0], rows, INFINITY);
        zero_cluster_row(d, 0, d->a[0], d->b[0], d->from_b);
    }
}

static void all_rows(struct dp *d, uint32_t free_clusters, bool pinned)
{
    size_t rows = d->n_runs + (size_t)1;
    first_rows(d, pinned);
    for (uint32_t k = 1; k <= free_clusters; k++) {
        const uint32_t now = k & 1, before = now ^ 1;
        fill(d->a[now], rows, INFINITY);
        free_cluster_row(d, k, d->a[before], d->a[now], d->from_a + k * rows);
        if (!pinned)
            continue;
        fill(d->b[now], rows, INFINITY);
        free_cluster_row(d, k, d->b[before], d->b[now], d->from_b + k * rows);
        zero_cluster_row(d, k, d->a[now], d->b[now], d->from_b + k * rows);
    }
}

/* Walks the choices from the end: i runs and k free clusters are still to be given out, and the
 * pinned one while zero_ahead. */
static void trace_back(const struct dp *d, uint32_t free_clusters, struct centroids *c)
{
    size_t rows = d->n_runs + (size_t)1;
    bool zero_ahead = c->pin_zero;
    uint32_t i = d->n_runs, k = free_clusters;
    c->n = 0;
    while (i > 0 || zero_ahead) {
        uint32_t choice = (zero_ahead ? d->from_b : d->from_a)[k * rows + i];
        uint32_t j = choice & ~ZERO_LAST;
        if (zero_ahead && choice & ZERO_LAST) {
            zero_ahead = false;
            c->at[c->n++] = 0;
        } else {
            c->at[c->n++] = pith_sorted_mean(d->s, d->edge[j], d->edge[i]);
            k--;
        }
        i = j;
    }
    pith_kmeans_sort(c);
}

/* Choices are kept for all k, for trace_back, 4 bytes a cell: 64 MiB of 65,536 runs and 256
 * clusters. Errors are only of rows k - 1 and k. */
static bool make_rows(struct dp *d, uint32_t free_clusters, bool pinned)
{
    size_t rows = d->n_runs + (size_t)1, table = rows * (free_clusters + (size_t)1);
    d->from_a = calloc(table, sizeof *d->from_a);
    d->from_b = pinned ? calloc(table, sizeof *d->from_b) : NULL;
    bool ok = d->from_a && (!pinned || d->from_b);
    for (int r = 0; r < 2; r++) {
        d->a[r] = malloc(rows * sizeof *d->a[r]);
        d->b[r] = pinned ? malloc(rows * sizeof *d->b[r]) : NULL;
        ok = ok && d->a[r] && (!pinned || d->b[r]);
    }
    return ok;
}

static void end_dp(struct dp *d)
{
    void *all[] = {d->edge, d->n,    d->sum,  d->squares, d->zero,  d->a[0],
                   d->a[1], d->b[0], d->b[1], d->from_a,  d->from_b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

bool pith_kmeans_exact(const struct sorted_values *s, struct centroids *c)
{
    struct dp d = {.s = s};
    uint32_t free_clusters = c->wanted - (c->pin_zero ? 1 : 0);
    bool ok =
        make_runs(&d) && sum_runs(&d, c->pin_zero) && make_rows(&d, free_clusters, c->pin_zero);
    if (ok) {
        all_rows(&d, free_clusters, c->pin_zero);
        trace_back(&d, free_clusters, c);
    }
    end_dp(&d);
    return ok;
}
