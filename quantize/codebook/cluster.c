/* SPDX-License-Identifier: MIT */
/* cluster.c - the stage: trained quantization by k-means codebooks (Han et al., "Deep Compression",
 * 2016). Codebooks and indices are made beside the model, layer by layer, and enter it together
 * when nothing can fail any more. */
#include "pith_quantize.h"

#include <math.h>
#include <stdlib.h>

#include "codebook_build.h"
#include "base/error_fill.h"
#include "base/in_parallel.h"
#include "base/snr.h"

struct cluster_job {
    struct pith_weight_ref ref;
    struct pith_const *constant;
    uint32_t n_centroids; /* 0: layer left alone */
    uint64_t group_elems;
    struct pith_codebook *codebook; /* made; in the model's arena */
};

struct cluster_run {
    struct pith_model *m;
    const struct pith_cluster_opts *opts;
    struct pith_error *err;
    struct pith_weight_ref *refs;
    struct cluster_job *jobs;
    uint32_t n_jobs;
};

static enum pith_status bad_option(struct cluster_run *run, const char *why)
{
    return pith_error_fill(run->err, PITH_ERR_ARGUMENT, "cannot cluster: %s", why);
}

static enum pith_status check_options(struct cluster_run *run)
{
    const struct pith_cluster_opts *o = run->opts;
    if (o->size_bytes != sizeof *o)
        return bad_option(run, "option struct of another version");
    if ((unsigned)o->init > PITH_CLUSTER_EXACT || (unsigned)o->per > PITH_CLUSTER_PER_GROUP ||
        (unsigned)o->values > PITH_CLUSTER_F16)
        return bad_option(run, "unknown option value");
    if (o->n_centroids == 1 || o->n_centroids > KMEANS_MAX)
        return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                               "cannot cluster: %u centroids, allowed are 2 to 256",
                               o->n_centroids);
    if (o->per == PITH_CLUSTER_PER_GROUP && o->group_elems == 0)
        return bad_option(run, "a group has at least 1 element");
    for (uint32_t i = 0; i < o->n_layers; i++) {
        uint32_t n = o->layers[i].n_centroids;
        if (n == 1 || n > KMEANS_MAX)
            return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                                   "cannot cluster: %u centroids for '%s', allowed are 2 to 256", n,
                                   o->layers[i].pattern);
    }
    return PITH_OK;
}

/* ---- the layers that take part --------------------------------------------------------------- */

static enum pith_status apply_own_sizes(struct cluster_run *run)
{
    for (uint32_t k = 0; k < run->opts->n_layers; k++) {
        const struct pith_cluster_size *own = &run->opts->layers[k];
        bool used = false;
        for (uint32_t j = 0; j < run->n_jobs; j++) {
            if (!pith_weight_matches(&run->jobs[j].ref, own->pattern))
                continue;
            run->jobs[j].n_centroids = own->n_centroids;
            used = true;
        }
        if (!used)
            return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                                   "cannot cluster: no layer matches '%s'", own->pattern);
    }
    return PITH_OK;
}

static enum pith_status set_group(struct cluster_run *run, struct cluster_job *job)
{
    uint64_t count = job->constant->count;
    switch (run->opts->per) {
    case PITH_CLUSTER_PER_TENSOR:
        job->group_elems = count;
        break;
    case PITH_CLUSTER_PER_CHANNEL:
        job->group_elems = job->ref.cols;
        break;
    case PITH_CLUSTER_PER_GROUP:
        job->group_elems = run->opts->group_elems;
        if (count % job->group_elems != 0)
            return pith_error_fill(run->err, PITH_ERR_ARGUMENT,
                                   "cannot cluster '%s': group %llu does not divide %llu elements",
                                   job->ref.layer, (unsigned long long)job->group_elems,
                                   (unsigned long long)count);
        break;
    }
    return PITH_OK;
}

/* Up to 2^126, sums of two centroids and the fillers behind the last one stay finite; f16 has room
 * for 255 fillers above 32,768. */
static enum pith_status check_range(struct cluster_run *run, const struct cluster_job *job)
{
    const float *w = job->constant->data;
    float most = run->opts->values == PITH_CLUSTER_F16 ? 32768.0f : 0x1p126f;
    for (uint64_t i = 0; i < job->constant->count; i++) {
        if (isnan(w[i]))
            return pith_error_fill(run->err, PITH_ERR_UNSUPPORTED,
                                   "cannot cluster '%s': element %llu of '%s' is NaN",
                                   job->ref.layer, (unsigned long long)i, job->ref.tensor);
        if (!(fabsf(w[i]) <= most))
            return pith_error_fill(run->err, PITH_ERR_UNSUPPORTED,
                                   "cannot cluster '%s': element %llu of '%s' is %g, beyond %g",
                                   job->ref.layer, (unsigned long long)i, job->ref.tensor,
                                   (double)w[i], (double)most);
    }
    return PITH_OK;
}

static enum pith_status begin_jobs(struct cluster_run *run)
{
    run->refs = calloc(run->m->n_nodes + (size_t)1, sizeof *run->refs);
    run->jobs = calloc(run->m->n_nodes + (size_t)1, sizeof *run->jobs);
    if (!run->refs || !run->jobs)
        return pith_error_no_memory(run->err);
    run->n_jobs = pith_model_weights(run->m, run->refs);
    uint32_t all = run->opts->n_centroids ? run->opts->n_centroids : 16;
    for (uint32_t j = 0; j < run->n_jobs; j++)
        run->jobs[j] = (struct cluster_job){
            run->refs[j], run->m->values[run->refs[j].value].constant, all, 0, NULL};
    enum pith_status st = apply_own_sizes(run);
    for (uint32_t j = 0; st == PITH_OK && j < run->n_jobs; j++) {
        if (run->jobs[j].n_centroids == 0)
            continue;
        st = set_group(run, &run->jobs[j]);
        if (st == PITH_OK)
            st = check_range(run, &run->jobs[j]);
    }
    return st;
}

/* ---- making codebooks ------------------------------------------------------------------------ */

static enum pith_status make_codebook(struct cluster_run *run, uint32_t j)
{
    struct cluster_job *job = &run->jobs[j];
    struct codebook_build b = {
        .group_elems = job->group_elems,
        .wanted = job->n_centroids,
        .init = run->opts->init,
        .half = run->opts->values == PITH_CLUSTER_F16,
        .runtime = run->opts->runtime,
    };
    enum pith_status st = pith_codebook_make(&b, run->m, job->constant, &job->codebook);
    return st ? pith_error_no_memory(run->err) : PITH_OK;
}

/* ---- into the model -------------------------------------------------------------------------- */

/* What clustering changes, of one piece of the elements. */
struct change_sums {
    double change, power;
    uint64_t n;
};

struct commit {
    struct pith_const *c;
    const struct pith_codebook *cb;
    uint32_t n_pieces;
    struct change_sums of[PITH_PIECES];
};

static void commit_piece(void *arg, uint32_t piece)
{
    struct commit *t = arg;
    struct pith_const *c = t->c;
    struct change_sums sums = {0, 0, 0};
    float *w = c->data;
    uint64_t i = pith_piece_start(c->count, t->n_pieces, piece);
    uint64_t end = pith_piece_start(c->count, t->n_pieces, piece + 1);
    while (i < end) {
        uint64_t group = i / t->cb->group_elems, last = (group + 1) * t->cb->group_elems;
        const float *centroid = t->cb->centroid + group * t->cb->n_centroids;
        for (; i < end && i < last; i++) {
            if (c->mask && !c->mask[i])
                continue;
            double was = (double)w[i], change = was - (double)centroid[t->cb->index[i]];
            sums.change += change * change;
            sums.power += was * was;
            sums.n++;
            w[i] = centroid[t->cb->index[i]];
        }
    }
    t->of[piece] = sums;
}

static void commit(const struct cluster_run *run, struct cluster_job *job,
                   struct pith_cluster_layer *layer)
{
    struct pith_const *c = job->constant;
    struct pith_codebook *cb = job->codebook;
    struct commit t = {.c = c, .cb = cb, .n_pieces = pith_pieces_of(c->count)};
    pith_in_parallel(run->opts->runtime, t.n_pieces, commit_piece, &t);
    double change = 0, power = 0;
    uint64_t n = 0;
    for (uint32_t k = 0; k < t.n_pieces; k++) {
        change += t.of[k].change;
        power += t.of[k].power;
        n += t.of[k].n;
    }
    c->codebook = cb;
    layer->n_weights = n;
    layer->n_groups = cb->n_groups;
    layer->n_centroids = cb->n_centroids;
    layer->mse = n ? change / (double)n : 0;
    layer->snr_db = pith_snr_db(power, change);
}

static void commit_all(struct cluster_run *run, struct pith_cluster_layer *layers)
{
    for (uint32_t j = 0; j < run->n_jobs; j++) {
        struct cluster_job *job = &run->jobs[j];
        struct pith_cluster_layer layer = {.layer = job->ref.layer,
                                           .tensor = job->ref.tensor,
                                           .value = job->ref.value,
                                           .snr_db = HUGE_VAL};
        if (job->codebook)
            commit(run, job, &layer);
        if (layers)
            layers[j] = layer;
    }
}

enum pith_status pith_cluster(struct pith_model *m, const struct pith_cluster_opts *opts,
                              struct pith_cluster_layer *layers, uint32_t *n_layers,
                              struct pith_error *err)
{
    if (!m || !opts)
        return PITH_ERR_ARGUMENT;
    struct cluster_run run = {.m = m, .opts = opts, .err = err};
    enum pith_status st = check_options(&run);
    if (st == PITH_OK)
        st = begin_jobs(&run);
    for (uint32_t j = 0; st == PITH_OK && j < run.n_jobs; j++) {
        if (run.jobs[j].n_centroids)
            st = make_codebook(&run, j);
    }
    if (st == PITH_OK) {
        commit_all(&run, layers);
        if (n_layers)
            *n_layers = run.n_jobs;
    }
    free(run.jobs);
    free(run.refs);
    return st;
}
