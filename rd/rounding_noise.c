/* SPDX-License-Identifier: MIT */
/* rounding_noise.c - the Cholesky factor of H tells both: rounding to the nearest costs a weight
 * the mean of H's diagonal, rounding that feeds errors forward the mean of U_jj^2. */
#include "pith_rounding_noise.h"

#include <math.h>
#include <stdlib.h>

#include "layer_factor.h"
#include "low_rank_noise.h"
#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "pith_layer_walk.h"

#define MEMORY_BYTES (UINT64_C(64) << 20)
#define ROWS_PER_COLUMN 4u
#define BIAS_SHARE 0.95 /* as in the sweep */
#define FEW_ROWS 3u     /* columns for each: then the matrix is factored by its rank */

struct noise {
    const struct pith_model *m;
    struct rounding_noise_opts opts;
    struct recorded_feed *feed;
    struct layer_walk *walk;
    struct pith_error *err;
};

static double share_of(double fed, double nearest)
{
    const double share = nearest > 0 ? fed / nearest : 1;
    return share > 0 && share < 1 ? share : 1;
}

/* All groups together. */
static double share_of_groups(const struct layer_factor *f)
{
    double fed = 0, nearest = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        fed += f->noise[g];
        nearest += f->trace[g] / (double)f->n + f->ridge[g];
    }
    return share_of(fed, nearest);
}

static double mean_of_diagonal(const struct layer_statistics *s)
{
    double sum = 0;
    for (size_t k = 0; k < s->n; k++)
        sum += s->h[k * s->n + k];
    return sum / (double)s->n;
}

static bool has_few_rows(const struct layer_statistics *s)
{
    return s->groups == 1 && s->h && s->rows * FEW_ROWS <= s->n;
}

/* Of few rows, by their number: taking the mean off makes no more of them. */
static enum pith_status of_few_rows(struct layer_statistics *s, double centre, double damping,
                                    double *share)
{
    const double nearest = mean_of_diagonal(s);
    double fed;
    pith_layer_centre(s, centre);
    const double ridge = damping * mean_of_diagonal(s);
    if (!(ridge > 0))
        return PITH_OK;
    enum pith_status status = pith_low_rank_noise(s->h, s->n, (size_t)s->rows, ridge, &fed);
    if (!status)
        *share = share_of(fed, nearest + ridge);
    return status == PITH_ERR_ARGUMENT ? PITH_OK : status;
}

static enum pith_status of_many_rows(struct layer_statistics *s, double centre, double damping,
                                     double *share, struct pith_error *err)
{
    struct layer_factor factor = {0};
    enum pith_status status = pith_layer_factor(s, centre, damping, 1, &factor, err);
    if (!status && factor.u)
        *share = share_of_groups(&factor);
    pith_layer_factor_end(&factor);
    return status;
}

/* Doubts are of a mean, so they fall with the number of samples less one. Where rows are few beside
 * columns H has not its rank yet, which is no matter of scatter alone: then they stay. */
static double less_doubt(const struct noise *w, const struct layer_statistics *s)
{
    const double samples = (double)s->samples, all = (double)w->opts.all_samples;
    return s->rows >= ROWS_PER_COLUMN * s->n && samples > 1 && all > samples
               ? (samples - 1) / (all - 1)
               : 1;
}

static enum pith_status of_layer(const struct noise *w, uint32_t node, double *share)
{
    const double centre = pith_node_bias(&w->m->nodes[node]) == PITH_VALUE_NONE ? 0 : BIAS_SHARE;
    const struct statistics_opts o = {.samples = pith_recorded_feed_calls(w->feed),
                                      .per_column = ROWS_PER_COLUMN,
                                      .few_rows = true,
                                      .centre = centre,
                                      .runtime = w->opts.runtime};
    struct layer_input reader = {0};
    struct layer_statistics stats = {0};
    enum pith_status status = pith_layer_walk_to(w->walk, node, w->err);
    if (!status)
        status = pith_layer_input_open(w->walk, node, (struct body_span){0}, &reader, w->err);
    if (!status && reader.elems > 0) {
        status = pith_layer_statistics(&reader, NULL, &o, &stats, w->err);
        stats.doubt *= less_doubt(w, &stats);
        const double damping = pith_layer_damping(&stats, 1);
        if (!status && has_few_rows(&stats))
            status = of_few_rows(&stats, centre, damping, share);
        else if (!status)
            status = of_many_rows(&stats, centre, damping, share, w->err);
    }
    pith_layer_statistics_end(&stats);
    pith_layer_input_close(&reader);
    return status == PITH_ERR_MEMORY ? pith_error_no_memory(w->err) : status;
}

static enum pith_status of_layers(const struct noise *w, double *share)
{
    struct pith_weight_ref *refs = malloc((w->m->n_nodes + (size_t)1) * sizeof *refs);
    const uint32_t n = refs ? pith_model_weights(w->m, refs) : 0;
    uint32_t depth = 0, node = 0;
    enum pith_status status = refs ? PITH_OK : pith_error_no_memory(w->err);
    for (uint32_t i = 0; i < n && !status; i++) {
        share[i] = 1;
        for (; node < refs[i].node; node++) {
            depth += pith_opens_body(w->m->nodes[node].op);
            depth -= pith_closes_body(w->m->nodes[node].op);
        }
        if (depth == 0 && pith_layer_statistics_blocks(w->m, &w->m->nodes[node]) > 0)
            status = of_layer(w, node, &share[i]);
    }
    free(refs);
    return status;
}

enum pith_status pith_rounding_noise(const struct pith_model *m,
                                     const struct rounding_noise_opts *opts, double *share,
                                     struct pith_error *err)
{
    struct noise w = {.m = m, .opts = *opts, .err = err};
    enum pith_status status = pith_recorded_feed_open(m, opts->feed, opts->samples, &w.feed, err);
    const struct layer_walk_opts o = {
        .feed = w.feed, .runtime = opts->runtime, .memory_bytes = MEMORY_BYTES};
    if (!status)
        status = pith_layer_walk_open(m, &o, &w.walk, err);
    if (!status)
        status = of_layers(&w, share);
    pith_layer_walk_close(w.walk);
    pith_recorded_feed_close(w.feed);
    return status;
}
