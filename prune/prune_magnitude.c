/* SPDX-License-Identifier: MIT */
/* prune_magnitude.c - the stage: smallest weights go (Han et al., "Learning both Weights and
 * Connections for Efficient Neural Networks", 2015; N:M: Mishra et al., 2021; balanced: Cao et al.,
 * "Efficient and Effective Sparse LSTM on FPGA with Bank-Balanced Sparsity", 2019).
 *
 * All new masks are made beside the model first; only when nothing can fail any more are they
 * written into it. */
#include "pith_prune.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "base/error_fill.h"
#include "numeric/select_largest.h"
#include "unit_score.h"

struct prune_job {
    struct pith_weight_ref ref;
    const float *w;            /* [rows, cols] */
    const uint8_t *old;        /* mask before, or NULL */
    uint8_t *mask;             /* mask after; NULL: layer left alone */
    double amount;             /* 0: layer left alone */
    bool own_amount;           /* set by opts->layers: not part of the global scope */
    enum pith_prune_left left; /* why mask is NULL where the amount is not 0 */
    struct unit_grid grid;
};

struct prune_run {
    struct pith_model *m;
    const struct pith_prune_opts *opts;
    struct pith_error *err;
    struct prune_job *jobs;
    struct pith_weight_ref *refs;
    uint32_t n_jobs, n_misfits; /* of the jobs: those that the pattern does not divide */
    struct pith_error misfit;   /* what is wrong with the first of them */
    uint32_t *keys;             /* room for the most units of any job */
    uint8_t *keep;
};

/* ---- options --------------------------------------------------------------------------------- */

static bool pattern_fixes_sparsity(const struct pith_pattern *p)
{
    return p->kind == PITH_PATTERN_N_OF_M || p->kind == PITH_PATTERN_BALANCED;
}

static enum pith_status bad_option(struct prune_run *run, const char *why)
{
    return pith_error_fill(run->err, PITH_ERR_ARGUMENT, "cannot prune: %s", why);
}

static enum pith_status check_pattern(struct prune_run *run)
{
    const struct pith_pattern *p = &run->opts->pattern;
    bool pair = pattern_fixes_sparsity(p) || p->kind == PITH_PATTERN_BLOCK;
    if (pair && (p->a < 1 || p->a > PITH_PATTERN_MAX || p->b < 1 || p->b > PITH_PATTERN_MAX))
        return bad_option(run, "pattern numbers must be 1 to 4096");
    if (pattern_fixes_sparsity(p) && p->a > p->b)
        return bad_option(run, "pattern keeps more than it has");
    if (pattern_fixes_sparsity(p) && run->opts->by != PITH_PRUNE_BY_SPARSITY)
        return bad_option(run, "N:M and balanced patterns fix the sparsity; sigma and zeros do not "
                               "go with them");
    if (pattern_fixes_sparsity(p) && run->opts->scope == PITH_PRUNE_GLOBAL)
        return bad_option(run, "N:M and balanced patterns fix the sparsity of each layer; there is "
                               "no global scope");
    return PITH_OK;
}

static double fixed_sparsity(const struct pith_pattern *p)
{
    return 1.0 - (double)p->a / (double)p->b;
}

/* What one amount must look like; amounts come from opts and from opts->layers. */
static enum pith_status check_amount(struct prune_run *run, double v, const char *whose)
{
    const struct pith_prune_opts *o = run->opts;
    if (o->by == PITH_PRUNE_BY_SPARSITY && !(v >= 0 && v < 1))
        return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                               "cannot prune: sparsity %g%s is not between 0 and 1", v, whose);
    if (o->by == PITH_PRUNE_BY_SIGMA && !(v >= 0 && v <= 1e6))
        return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                               "cannot prune: sigma %g%s is not between 0 and 1e6", v, whose);
    if (o->by == PITH_PRUNE_BY_ZERO && v != 0)
        return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                               "cannot prune: pruning what is zero takes no amount but 0, got %g%s",
                               v, whose);
    if (pattern_fixes_sparsity(&o->pattern) && v != 0 &&
        fabs(v - fixed_sparsity(&o->pattern)) > 1e-9)
        return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                               "cannot prune: the pattern fixes the sparsity at %g, got %g%s",
                               fixed_sparsity(&o->pattern), v, whose);
    return PITH_OK;
}

static double default_amount(const struct pith_prune_opts *o)
{
    if (o->by == PITH_PRUNE_BY_SIGMA)
        return o->sigma;
    if (o->by == PITH_PRUNE_BY_ZERO)
        return 1; /* any number but 0: the layer takes part */
    return pattern_fixes_sparsity(&o->pattern) ? fixed_sparsity(&o->pattern) : o->sparsity;
}

static enum pith_status check_options(struct prune_run *run)
{
    const struct pith_prune_opts *o = run->opts;
    if (o->size_bytes != sizeof *o)
        return bad_option(run, "option struct of another version");
    if ((unsigned)o->by > PITH_PRUNE_BY_ZERO || (unsigned)o->scope > PITH_PRUNE_GLOBAL ||
        (unsigned)o->pattern.kind > PITH_PATTERN_CHANNEL)
        return bad_option(run, "unknown option value");
    if (o->scope == PITH_PRUNE_GLOBAL && o->by != PITH_PRUNE_BY_SPARSITY)
        return bad_option(run, "global scope needs a sparsity");
    enum pith_status st = check_pattern(run);
    if (st == PITH_OK)
        st = check_amount(run, o->by == PITH_PRUNE_BY_SIGMA ? o->sigma : o->sparsity, "");
    for (uint32_t i = 0; st == PITH_OK && i < o->n_layers; i++) {
        char whose[160] = " for ";
        strncat(whose, o->layers[i].pattern, sizeof whose - sizeof " for ");
        st = check_amount(run, o->layers[i].value, whose);
    }
    return st;
}

/* ---- the layers that take part --------------------------------------------------------------- */

/* A row of it is one small filter of one channel: no other weight can make up for what goes. Of
 * MobileNet-v2's weights such layers hold 2 %; without 30 % of those it answers at random. */
static bool is_depthwise(const struct pith_model *m, const struct pith_weight_ref *ref)
{
    return pith_node_is_depthwise(m, &m->nodes[ref->node]);
}

enum pith_prune_left pith_prune_leaves(const struct pith_model *m,
                                       const struct pith_weight_ref *ref,
                                       const struct pith_pattern *pattern, struct pith_error *err)
{
    if (!m || !ref || !pattern)
        return PITH_PRUNE_LEFT_PATTERN;
    struct unit_grid grid;
    if (is_depthwise(m, ref))
        return PITH_PRUNE_LEFT_DEPTHWISE;
    return pith_unit_grid(m, ref, pattern, &grid, err) ? PITH_PRUNE_LEFT_PATTERN : PITH_PRUNE_TAKEN;
}

/* What all layers get, but depthwise ones only what is lossless. */
static void apply_common_amount(struct prune_run *run, struct prune_job *job)
{
    if (run->opts->by != PITH_PRUNE_BY_ZERO && is_depthwise(run->m, &job->ref))
        job->left = PITH_PRUNE_LEFT_DEPTHWISE;
    else
        job->amount = default_amount(run->opts);
}

static enum pith_status apply_own_amounts(struct prune_run *run)
{
    for (uint32_t k = 0; k < run->opts->n_layers; k++) {
        const struct pith_prune_amount *own = &run->opts->layers[k];
        bool used = false;
        for (uint32_t j = 0; j < run->n_jobs; j++) {
            struct prune_job *job = &run->jobs[j];
            if (!pith_weight_matches(&job->ref, own->pattern))
                continue;
            job->amount = run->opts->by == PITH_PRUNE_BY_ZERO ? 0 : own->value;
            job->own_amount = true;
            used = true;
        }
        if (!used)
            return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                                   "cannot prune: no layer matches '%s'", own->pattern);
    }
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        if (!run->jobs[j].own_amount)
            apply_common_amount(run, &run->jobs[j]);
    }
    return PITH_OK;
}

static enum pith_status check_finite(struct prune_run *run, const struct prune_job *job)
{
    uint64_t n = job->ref.rows * job->ref.cols;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(job->w[i]))
            return pith_error_fill(run->err, PITH_ERR_UNSUPPORTED,
                                   "cannot prune '%s': element %llu of '%s' is %s", job->ref.layer,
                                   (unsigned long long)i, job->ref.tensor,
                                   isnan(job->w[i]) ? "NaN" : "infinite");
    }
    return PITH_OK;
}

static enum pith_status begin_job(struct prune_run *run, struct prune_job *job)
{
    if (job->amount == 0)
        return PITH_OK;
    struct pith_error misfit = {0};
    if (pith_unit_grid(run->m, &job->ref, &run->opts->pattern, &job->grid, &misfit)) {
        if (run->n_misfits++ == 0)
            run->misfit = misfit;
        job->left = PITH_PRUNE_LEFT_PATTERN;
        return PITH_OK;
    }
    enum pith_status st = check_finite(run, job);
    if (st != PITH_OK)
        return st;
    uint64_t n = job->ref.rows * job->ref.cols;
    job->mask = malloc(n);
    if (!job->mask)
        return pith_error_no_memory(run->err);
    if (job->old)
        memcpy(job->mask, job->old, n);
    else
        memset(job->mask, 1, n);
    return PITH_OK;
}

/* A pattern that divides no layer is a mistake, not a network's one odd layer. */
static enum pith_status check_misfits(struct prune_run *run)
{
    if (run->n_misfits == 0)
        return PITH_OK;
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        if (run->jobs[j].mask)
            return PITH_OK;
    }
    return pith_error_fill(run->err, run->misfit.status, "%s", run->misfit.text);
}

static enum pith_status begin_jobs(struct prune_run *run)
{
    run->refs = calloc(run->m->n_nodes + (size_t)1, sizeof *run->refs);
    run->jobs = calloc(run->m->n_nodes + (size_t)1, sizeof *run->jobs);
    if (!run->refs || !run->jobs)
        return pith_error_no_memory(run->err);
    run->n_jobs = pith_model_weights(run->m, run->refs);
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        const struct pith_const *c = run->m->values[run->refs[j].value].constant;
        run->jobs[j].ref = run->refs[j];
        run->jobs[j].w = c->data;
        run->jobs[j].old = c->mask;
    }
    enum pith_status st = apply_own_amounts(run);
    uint64_t most = 1;
    for (uint32_t j = 0; st == PITH_OK && j < run->n_jobs; j++) {
        st = begin_job(run, &run->jobs[j]);
        if (run->jobs[j].grid.n_units > most)
            most = run->jobs[j].grid.n_units;
    }
    if (st == PITH_OK)
        st = check_misfits(run);
    if (st != PITH_OK)
        return st;
    run->keys = malloc(most * sizeof *run->keys);
    run->keep = malloc(most);
    return run->keys && run->keep ? PITH_OK : pith_error_no_memory(run->err);
}

/* ---- which units stay ------------------------------------------------------------------------ */

/* How many of n units a sparsity leaves; at least one. */
static uint64_t kept_units(uint64_t n, double sparsity)
{
    uint64_t gone = (uint64_t)floor(sparsity * (double)n + 0.5);
    return gone >= n ? 1 : n - gone;
}

static void select_in_windows(struct prune_run *run, const struct prune_job *job)
{
    const struct pith_pattern *p = &run->opts->pattern;
    for (uint64_t row = 0; row < job->grid.rows; row++) {
        for (uint64_t c = 0; c < job->grid.cols; c += p->b) {
            uint64_t at = row * job->grid.cols + c;
            uint64_t n = job->grid.cols - c < p->b ? job->grid.cols - c : p->b;
            pith_largest(run->keys + at, n, pith_pattern_kept(p, n), run->keep + at);
        }
    }
}

/* Standard deviation of the kept weights, in double, element order. */
static double kept_sigma(const struct prune_job *job)
{
    uint64_t n = job->ref.rows * job->ref.cols, kept = 0;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!job->old || job->old[i]) {
            sum += (double)job->w[i];
            kept++;
        }
    }
    double mean = kept ? sum / (double)kept : 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!job->old || job->old[i])
            squares += ((double)job->w[i] - mean) * ((double)job->w[i] - mean);
    }
    return kept ? sqrt(squares / (double)kept) : 0;
}

/* Keys of scores below `threshold`; a score equal to it stays. */
static uint32_t key_bound(double threshold)
{
    if (threshold >= (double)FLT_MAX)
        return UINT32_MAX;
    float t = (float)threshold;
    if ((double)t < threshold)
        t = nextafterf(t, FLT_MAX);
    return pith_unit_key(t);
}

static void select_above(struct prune_run *run, const struct prune_job *job, uint32_t bound)
{
    for (uint64_t u = 0; u < job->grid.n_units; u++)
        run->keep[u] = run->keys[u] >= bound;
}

static void select_in_layer(struct prune_run *run, struct prune_job *job)
{
    const struct pith_prune_opts *o = run->opts;
    pith_unit_keys(&job->grid, job->w, job->old, run->keys);
    if (o->by == PITH_PRUNE_BY_ZERO)
        select_above(run, job, pith_unit_key(0) + 1);
    else if (o->by == PITH_PRUNE_BY_SIGMA)
        select_above(run, job, key_bound(job->amount * kept_sigma(job)));
    else if (pattern_fixes_sparsity(&o->pattern))
        select_in_windows(run, job);
    else
        pith_largest(run->keys, job->grid.n_units, kept_units(job->grid.n_units, job->amount),
                     run->keep);
    pith_unit_drop(&job->grid, run->keep, job->mask);
}

static bool in_global_scope(const struct prune_run *run, const struct prune_job *job)
{
    return run->opts->scope == PITH_PRUNE_GLOBAL && job->mask && !job->own_amount;
}

/* Keys are made anew in each round: five cheap passes instead of memory for the whole model. */
static void select_globally(struct prune_run *run)
{
    uint64_t n_units = 0;
    for (uint32_t j = 0; j < run->n_jobs; j++)
        n_units += in_global_scope(run, &run->jobs[j]) ? run->jobs[j].grid.n_units : 0;
    if (n_units == 0)
        return;
    struct largest_search s;
    pith_largest_begin(&s, kept_units(n_units, run->opts->sparsity));
    while (s.round < LARGEST_ROUNDS) {
        for (uint32_t j = 0; j < run->n_jobs; j++) {
            const struct prune_job *job = &run->jobs[j];
            if (!in_global_scope(run, job))
                continue;
            pith_unit_keys(&job->grid, job->w, job->old, run->keys);
            pith_largest_count(&s, run->keys, job->grid.n_units);
        }
        pith_largest_next(&s);
    }
    struct largest_rule rule = pith_largest_end(&s);
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        struct prune_job *job = &run->jobs[j];
        if (!in_global_scope(run, job))
            continue;
        pith_unit_keys(&job->grid, job->w, job->old, run->keys);
        pith_largest_apply(&rule, run->keys, job->grid.n_units, run->keep);
        pith_unit_drop(&job->grid, run->keep, job->mask);
    }
}

/* ---- into the model -------------------------------------------------------------------------- */

static uint64_t count_kept(const uint8_t *mask, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; mask && i < n; i++)
        kept += mask[i];
    return mask ? kept : n;
}

/* Where masks will lie; a layer that loses nothing gets none. The last step that can fail. */
static enum pith_status reserve_masks(struct prune_run *run, uint8_t **room)
{
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        struct prune_job *job = &run->jobs[j];
        uint64_t n = job->ref.rows * job->ref.cols;
        struct pith_const *c = run->m->values[job->ref.value].constant;
        room[j] = c->mask;
        if (c->mask || !job->mask || count_kept(job->mask, n) == n)
            continue;
        room[j] = pith_model_alloc(run->m, n, 1);
        if (!room[j])
            return pith_error_no_memory(run->err);
    }
    return PITH_OK;
}

static void commit(struct prune_run *run, const struct prune_job *job, uint8_t *room,
                   struct pith_prune_layer *layer)
{
    struct pith_const *c = run->m->values[job->ref.value].constant;
    uint64_t n = job->ref.rows * job->ref.cols;
    uint64_t before = count_kept(c->mask, n), kept = before;
    if (room && job->mask) {
        kept = count_kept(job->mask, n);
        memcpy(room, job->mask, n);
        c->mask = room;
        float *w = c->data;
        for (uint64_t i = 0; i < n; i++) {
            if (room[i])
                continue;
            w[i] = 0;
            if (c->codebook)
                c->codebook->index[i] = 0;
        }
    }
    if (layer)
        *layer = (struct pith_prune_layer){
            job->ref.layer, job->ref.tensor, job->ref.value, n, before, kept, job->left};
}

static enum pith_status commit_all(struct prune_run *run, struct pith_prune_layer *layers,
                                   uint32_t *n_layers)
{
    uint8_t **room = calloc(run->n_jobs + (size_t)1, sizeof *room);
    if (!room)
        return pith_error_no_memory(run->err);
    enum pith_status st = reserve_masks(run, room);
    for (uint32_t j = 0; st == PITH_OK && j < run->n_jobs; j++)
        commit(run, &run->jobs[j], room[j], layers ? &layers[j] : NULL);
    if (st == PITH_OK && n_layers)
        *n_layers = run->n_jobs;
    free(room);
    return st;
}

static void end_run(struct prune_run *run)
{
    for (uint32_t j = 0; run->jobs && j < run->n_jobs; j++)
        free(run->jobs[j].mask);
    free(run->jobs);
    free(run->refs);
    free(run->keys);
    free(run->keep);
}

enum pith_status pith_prune(struct pith_model *m, const struct pith_prune_opts *opts,
                            struct pith_prune_layer *layers, uint32_t *n_layers,
                            struct pith_error *err)
{
    if (!m || !opts)
        return PITH_ERR_ARGUMENT;
    struct prune_run run = {.m = m, .opts = opts, .err = err};
    enum pith_status st = check_options(&run);
    if (st == PITH_OK)
        st = begin_jobs(&run);
    if (st == PITH_OK) {
        for (uint32_t j = 0; j < run.n_jobs; j++) {
            if (run.jobs[j].mask && !in_global_scope(&run, &run.jobs[j]))
                select_in_layer(&run, &run.jobs[j]);
        }
        select_globally(&run);
        st = commit_all(&run, layers, n_layers);
    }
    end_run(&run);
    return st;
}
