/* SPDX-License-Identifier: MIT */
/* value_observer.c - a sample's sums are made in one order in double and then added exactly, so
 * the result depends neither on the order of the samples nor on how they were dealt out to several
 * runs. Memory: a window of bins and a few numbers a channel, whatever the number of samples. */
#include "value_observer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate_kernels.h"
#include "base/cpu_allowed.h"

/* A value without channels is summed in so many pieces, by however many threads. */
#define PIECES 8u

void pith_observer_shape(struct value_observer *o, const uint32_t *dim, uint32_t rank)
{
    o->outer = o->inner = 1;
    for (uint32_t i = 0; i < o->sum.channel_axis; i++)
        o->outer *= dim[i];
    for (uint32_t i = o->sum.channel_axis + 1; i < rank; i++)
        o->inner *= dim[i];
}

static enum pith_status start_channels(struct value_observer *o, const struct pith_value *v,
                                       uint32_t axis)
{
    o->sum.n_channels = v->dim[axis];
    o->sum.channel_axis = axis;
    o->sum.channel = calloc(o->sum.n_channels, sizeof *o->sum.channel);
    pith_observer_shape(o, v->dim, v->rank);
    o->part = calloc(o->sum.n_channels, sizeof *o->part);
    return o->sum.channel && o->part ? PITH_OK : PITH_ERR_MEMORY;
}

enum pith_status pith_observer_start(struct value_observer *o, const struct pith_value *v,
                                     enum observed_detail detail, uint32_t axis)
{
    *o = (struct value_observer){.detail = detail, .run_sums = pith_run_sums};
    o->window.count_numbers = pith_histogram_count;
    if (detail == OBSERVE_HISTOGRAM) {
        o->count = calloc(PITH_HISTOGRAM_BINS, sizeof *o->count);
        if (!o->count)
            return PITH_ERR_MEMORY;
    }
    if (detail != OBSERVE_NOTHING && axis < v->rank)
        return start_channels(o, v, axis);
    o->part = calloc(PIECES, sizeof *o->part);
    return o->part ? PITH_OK : PITH_ERR_MEMORY;
}

void pith_observer_clear(struct value_observer *o)
{
    free(o->count);
    free(o->part);
    free(o->sum.channel);
}

void pith_observer_use_cpu(struct value_observer *o, uint32_t cpu_mask)
{
    struct calibrate_kernels k;
    uint32_t requested = cpu_mask & PITH_CPU_REF ? 0 : cpu_mask ? cpu_mask : UINT32_MAX;
    pith_calibrate_kernels_fill(&k, requested & pith_cpu_allowed());
    o->run_sums = k.run_sums;
    o->window.count_numbers = k.histogram_count;
}

/* ---- channels -------------------------------------------------------------------------------- */

static void widen_channel(struct pith_channel_stats *c, bool first, float min, float max)
{
    c->min = first || min < c->min ? min : c->min;
    c->max = first || max > c->max ? max : c->max;
}

static void join(struct run_sums *to, const struct run_sums *r, bool first)
{
    to->min = first || r->min < to->min ? r->min : to->min;
    to->max = first || r->max > to->max ? r->max : to->max;
    to->sum = first ? r->sum : to->sum + r->sum;
    to->squares = first ? r->squares : to->squares + r->squares;
    to->n_zero = first ? r->n_zero : to->n_zero + r->n_zero;
}

/* Numbers for which a second thread is not worth its while. */
#define SUM_ALONE 16384

struct sum_job {
    struct value_observer *o;
    const float *x; /* [outer, n_channels, inner] */
    uint32_t each;  /* share i: channels i * each .. */
};

/* Every channel is summed by one thread, in one order. */
static void sum_share(void *arg, uint32_t share)
{
    const struct sum_job *job = arg;
    struct value_observer *o = job->o;
    const float *x = job->x;
    uint32_t n = o->sum.n_channels, from = share * job->each;
    uint32_t to = n - from < job->each ? n : from + job->each;
    for (size_t i = 0; i < o->outer; i++)
        for (uint32_t c = from; c < to; c++) {
            struct run_sums r;
            if (o->inner > 1) {
                o->run_sums(x + (i * n + c) * o->inner, o->inner, &r);
            } else {
                float y = x[i * n + c] + 0.0f; /* -0 becomes 0 */
                r = (struct run_sums){y, y, y, (double)y * y, y == 0};
            }
            join(&o->part[c], &r, i == 0);
        }
}

/* x: [outer, n_channels, inner], into o->part and *all. */
static void sum_channels(struct value_observer *o, const float *x, const struct count_team *team,
                         struct run_sums *all)
{
    uint32_t n = o->sum.n_channels;
    uint32_t shares = o->outer * o->inner * n > SUM_ALONE ? team->n : 1;
    struct sum_job job = {o, x, n / shares + (n % shares != 0)};
    pith_team_do(team, n / job.each + (n % job.each != 0), sum_share, &job);
    for (uint32_t c = 0; c < n; c++)
        join(all, &o->part[c], c == 0);
}

struct piece_job {
    struct value_observer *o;
    const float *x;
    size_t n, each; /* piece i: x[i * each ..] */
};

static void sum_piece(void *arg, uint32_t i)
{
    const struct piece_job *job = arg;
    size_t from = i * job->each, rest = job->n - from;
    job->o->run_sums(job->x + from, rest < job->each ? rest : job->each, &job->o->part[i]);
}

/* x: [n], into o->part and *all. */
static void sum_pieces(struct value_observer *o, const float *x, size_t n,
                       const struct count_team *team, struct run_sums *all)
{
    struct piece_job job = {o, x, n, n > SUM_ALONE ? (n + PIECES - 1) / PIECES : n};
    uint32_t pieces = (uint32_t)((n + job.each - 1) / job.each);
    pith_team_do(team, pieces, sum_piece, &job);
    for (uint32_t i = 0; i < pieces; i++)
        join(all, &o->part[i], i == 0);
}

static void see_channels(struct value_observer *o)
{
    for (uint32_t c = 0; c < o->sum.n_channels; c++) {
        const struct run_sums *r = &o->part[c];
        widen_channel(&o->sum.channel[c], o->sum.n_samples == 0, r->min, r->max);
        pith_exact_sum_add(&o->sum.channel[c].sum, r->sum);
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

static void widen(struct value_observer *o, float min, float max)
{
    bool first = o->sum.n == 0;
    o->min = first || min < o->min ? min : o->min;
    o->max = first || max > o->max ? max : o->max;
    if (o->detail != OBSERVE_HISTOGRAM || o->lost)
        return;
    if (first)
        pith_window_start(&o->window, o->count, o->min, o->max);
    else
        pith_window_widen(&o->window, o->min, o->max);
}

/* Infinite numbers have no place in sums and bins; a NaN has none anywhere. */
static void see_infinite(struct value_observer *o, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->has_nan |= isnan(x[i]) != 0;
    if (o->has_nan)
        return;
    o->lost = true;
    for (size_t i = 0; i < n; i++) {
        widen(o, x[i] + 0.0f, x[i] + 0.0f);
        o->sum.n++;
    }
}

static void see_statistics(struct value_observer *o, const float *x, size_t n,
                           const struct run_sums *r, const struct count_team *team)
{
    if (o->detail == OBSERVE_HISTOGRAM)
        pith_window_count(&o->window, x, n, team);
    see_channels(o);
    pith_exact_sum_add(&o->sum.sum, r->sum);
    pith_exact_sum_add(&o->sum.sum_squares, r->squares);
    o->sum.n_zero += r->n_zero;
}

void pith_observer_see(struct value_observer *o, const float *x, size_t n,
                       const struct count_team *team)
{
    struct run_sums r = {0};
    if (o->detail == OBSERVE_NOTHING || n == 0) /* such as an empty cache */
        return;
    if (o->sum.channel)
        sum_channels(o, x, team, &r);
    else
        sum_pieces(o, x, n, team, &r);
    if (!isfinite(r.squares)) {
        see_infinite(o, x, n);
        return;
    }
    widen(o, r.min, r.max);
    if (!o->lost)
        see_statistics(o, x, n, &r, team);
    o->sum.n += n;
    o->sum.n_samples++;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool has_histogram(const struct pith_value_stats *s)
{
    return s->histogram.n_bins > 0 || s->n_zero == s->n;
}

static bool can_merge(const struct value_observer *o, const struct pith_value_stats *s)
{
    return s && !o->lost && s->n_channels == o->sum.n_channels &&
           (s->n_channels == 0 || s->channel_axis == o->sum.channel_axis) &&
           (has_histogram(s) || o->detail != OBSERVE_HISTOGRAM);
}

/* Its channels are those from channel[0] on; first: they were not observed yet. */
static void merge_statistics(struct value_observer *o, const struct pith_value_stats *s,
                             struct pith_channel_stats *channel, bool first)
{
    if (o->detail == OBSERVE_HISTOGRAM)
        pith_window_merge(&o->window, &s->histogram);
    for (uint32_t c = 0; channel && c < s->n_channels; c++) {
        widen_channel(&channel[c], first, s->channel[c].min, s->channel[c].max);
        pith_exact_sum_merge(&channel[c].sum, &s->channel[c].sum);
    }
    pith_exact_sum_merge(&o->sum.sum, &s->sum);
    pith_exact_sum_merge(&o->sum.sum_squares, &s->sum_squares);
    o->sum.n_zero += s->n_zero;
}

void pith_observer_merge(struct value_observer *o, const struct pith_value *v)
{
    if (v->n_observed == 0 || o->detail == OBSERVE_NOTHING)
        return;
    o->lost = !can_merge(o, v->stats);
    widen(o, v->min, v->max);
    if (!o->lost) {
        merge_statistics(o, v->stats, o->sum.channel, o->sum.n_samples == 0);
        o->sum.n_samples += v->stats->n_samples;
    }
    o->sum.n += v->n_observed;
}

void pith_observer_join(struct value_observer *o, const struct value_observer *part,
                        const struct pith_value_stats *s, uint32_t channel)
{
    if (part->sum.n == 0)
        return;
    o->lost |= !s;
    widen(o, part->min, part->max);
    if (!o->lost) {
        merge_statistics(o, s, o->sum.channel ? o->sum.channel + channel : NULL, true);
        o->sum.n_samples = s->n_samples;
    }
    o->sum.n += part->sum.n;
}

static enum pith_status copy_histogram(const struct value_observer *o, struct pith_model *m,
                                       struct pith_histogram *h)
{
    uint32_t at = pith_window_trim(&o->window, &h->n_bins);
    if (h->n_bins == 0)
        return PITH_OK;
    h->exponent = o->window.exponent;
    h->first = o->window.low + (int32_t)at;
    h->count = pith_model_alloc(m, h->n_bins, sizeof *h->count);
    if (!h->count)
        return PITH_ERR_MEMORY;
    memcpy(h->count, o->window.count + at, h->n_bins * sizeof *h->count);
    return PITH_OK;
}

enum pith_status pith_observer_result(const struct value_observer *o, struct pith_model *m,
                                      struct pith_value_stats **stats)
{
    if (o->detail == OBSERVE_NOTHING || o->sum.n == 0 || o->lost) {
        *stats = NULL;
        return PITH_OK;
    }
    struct pith_value_stats *s = pith_model_alloc(m, 1, sizeof *s);
    if (!s)
        return PITH_ERR_MEMORY;
    *s = o->sum;
    s->channel = NULL;
    pith_exact_sum_carry(&s->sum);
    pith_exact_sum_carry(&s->sum_squares);
    if (o->detail == OBSERVE_HISTOGRAM && copy_histogram(o, m, &s->histogram))
        return PITH_ERR_MEMORY;
    if (s->n_channels > 0) {
        s->channel = pith_model_alloc(m, s->n_channels, sizeof *s->channel);
        if (!s->channel)
            return PITH_ERR_MEMORY;
        for (uint32_t c = 0; c < s->n_channels; c++) {
            s->channel[c] = o->sum.channel[c];
            pith_exact_sum_carry(&s->channel[c].sum);
        }
    }
    *stats = s;
    return PITH_OK;
}
