/* SPDX-License-Identifier: MIT */
/* One stage: run it, and write what was done into the model's history. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "validate/format.h"
#include "pith_host.h"
#include "base/narrow_float.h"
#include "pith_pack.h"
#include "base/snr.h"
#include "quantize_stage.h"
#include "pith_stage_options.h"
#include "compress/recipe/stage_json.h"
#include "stage_run.h"

void pith_stage_report_free(struct pith_stage_report *r)
{
    if (!r)
        return;
    free(r->prune);
    free(r->cluster);
    free(r->quantize);
    memset(r, 0, sizeof *r);
}

static enum pith_status run_prune(struct pith_model *m, const struct pith_stage *s,
                                  const struct pith_stage_context *context, uint64_t seed,
                                  struct pith_stage_report *r, struct pith_error *err)
{
    r->prune = calloc(m->n_nodes + 1u, sizeof *r->prune);
    if (!r->prune)
        return pith_error_fill(err, PITH_ERR_MEMORY, "cannot prune: out of memory");
    return s->trains ? pith_stage_prune_gradually(m, s, context, seed, r, err)
                     : pith_prune(m, &s->prune, r->prune, &r->n_layers, err);
}

/* Batch normalisation is folded before, not after: folded later, it would turn a layer's codebook
 * into one per channel, which can outweigh the indices. */
static enum pith_status run_cluster(struct pith_model *m, const struct pith_stage *s,
                                    uint32_t threads, struct pith_stage_report *r,
                                    struct pith_error *err)
{
    struct pith_cluster_opts opts = s->cluster;
    struct pith_opts runtime;
    double noise = 0, signal = 0;
    enum pith_status st;
    r->cluster = calloc(m->n_nodes + 1u, sizeof *r->cluster);
    if (!r->cluster)
        return pith_error_fill(err, PITH_ERR_MEMORY, "cannot cluster: out of memory");
    st = pith_model_merge_convs(m, err);
    pith_opts_init(&runtime, sizeof runtime);
    if (!st && threads > 1 && pith_threads_start(&runtime, threads))
        st = pith_error_no_memory(err);
    opts.runtime = &runtime;
    if (!st)
        st = pith_cluster(m, &opts, r->cluster, &r->n_layers, err);
    pith_threads_stop(&runtime);
    for (uint32_t i = 0; !st && i < r->n_layers; i++) {
        double n = r->cluster[i].mse * (double)r->cluster[i].n_weights;
        noise += n;
        if (n > 0)
            signal += n * pow(10, r->cluster[i].snr_db / 10);
    }
    r->snr_db = pith_snr_db(signal, noise);
    return st;
}

/* Folded, a weight of f16 numbers would take 32 bits. */
static bool has_narrow_weight(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        if (c && c->stored && !c->codebook && m->values[i].rank >= 2 &&
            pith_narrow_holds(c->stored, c->data, c->count))
            return true;
    }
    return false;
}

static enum pith_status run_encode(struct pith_model *m, const struct pith_stage *s,
                                   struct pith_error *err)
{
    struct pith_pack_opts pack = pith_stage_pack_opts(s);
    enum pith_status st = s->encode.lossless     ? pith_find_exact(m, err)
                          : has_narrow_weight(m) ? PITH_OK
                                                 : pith_model_merge_convs(m, err);
    if (st)
        return st;
    if (pith_encode_chooses(&s->encode))
        return pith_choose_coder(
            m, s->encode.goal, s->encode.lossless ? PITH_ADAPTIVE_SAVES_EXACT : PITH_ADAPTIVE_SAVES,
            &pack, err);
    pith_set_coder(m, pith_encode_code(&s->encode));
    return PITH_OK;
}

static enum pith_status count_kept(const struct pith_model *m, struct pith_stage_report *r,
                                   struct pith_error *err)
{
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    uint32_t n;
    if (!refs)
        return pith_error_no_memory(err);
    n = pith_model_all_weights(m, refs);
    r->weights = r->kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pith_const *c = m->values[refs[i].value].constant;
        r->weights += c->count;
        for (uint64_t k = 0; k < c->count; k++)
            r->kept += !c->mask || c->mask[k];
    }
    free(refs);
    return PITH_OK;
}

uint32_t pith_stage_count_past(const struct pith_model *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_history; i++)
        n += strncmp(m->history[i].text, "{\"do\":", 6) == 0;
    return n;
}

/* The coder that ENCODE chose; of several for Huffman codes the better one. */
static void name_coder(const struct pith_model *m, struct pith_encode_opts *o)
{
    if (!pith_encode_chooses(o))
        return;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        o->adaptive = o->adaptive || (c && c->code == PITH_CODE_ADAPTIVE);
        o->rans = o->rans || (c && c->code == PITH_CODE_RANS);
    }
    o->huffman = !o->adaptive && !o->rans;
}

/* The stage as the history keeps it: with its seed, with the coder it chose, with what it looks
 * back at, and of a teacher's file the name alone, for where it lay is no part of how the model
 * came about. */
static json_t *past_stage(const struct pith_model *m, const struct pith_stage *s, uint64_t seed,
                          uint32_t start_stages)
{
    struct pith_stage past = *s;
    const char *slash = s->teacher ? strrchr(s->teacher, '/') : NULL;
    if (slash)
        past.teacher = slash + 1;
    if (pith_stage_trains(s)) /* another seed makes another model */
        past.seed = seed;
    name_coder(m, &past.encode);
    if (!s->ranges.method)
        past.ranges.method = s->with_data ? PITH_RANGE_AUTO : PITH_RANGE_MSE;
    past.start = pith_stage_needs_original(s) ? start_stages : 0;
    return pith_stage_to_json(&past);
}

static json_t *result_to_json(const struct pith_stage *s, const struct pith_stage_report *r)
{
    if (s->kind == PITH_STAGE_CALIBRATE)
        return json_pack("{sI}", "samples", (json_int_t)r->n_samples);
    json_t *j =
        json_pack("{sI,sI}", "weights", (json_int_t)r->weights, "kept", (json_int_t)r->kept);
    if (!pith_stage_trains(s))
        return j;
    pith_json_put(&j, "epochs", json_integer(r->train.epochs));
    pith_json_put(&j, "best_epoch", json_integer(r->train.best_epoch));
    pith_json_put(&j, "loss", json_real(round(r->train.loss * 1e9) / 1e9));
    return j;
}

/* What a calibration forgets, or puts together of several models, the history does not keep. */
static void drop_calibrations(struct pith_model *m)
{
    while (m->n_history > 0 && strcmp(m->history[m->n_history - 1].key, "calibrate") == 0)
        m->n_history--;
}

static enum pith_status add_history(struct pith_model *m, const struct pith_stage *s, uint64_t seed,
                                    uint32_t start_stages, const struct pith_stage_report *r,
                                    struct pith_error *err)
{
    json_t *j = past_stage(m, s, seed, start_stages);
    char *text;
    enum pith_status st = PITH_ERR_MEMORY;
    if (s->kind == PITH_STAGE_CALIBRATE && (s->merge || (s->with_data && !s->add)))
        drop_calibrations(m);
    if (j) {
        if (s->merge) /* no recipe makes it again */
            json_object_del(j, "do");
        pith_json_put(&j, "result", result_to_json(s, r));
        text = pith_json_text(j, JSON_COMPACT);
        if (text)
            st = pith_model_add_history(m, pith_stage_name(s->kind), text);
        free(text);
    }
    json_decref(j);
    return st ? pith_error_fill(err, st, "cannot write the history: out of memory") : PITH_OK;
}

static enum pith_status check_text(const char *what, const char *text, struct pith_error *err)
{
    if (!text || pith_utf8_ok((const uint8_t *)text, strlen(text)))
        return PITH_OK;
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s is not UTF-8, as the history must be", what);
}

/* What the history cannot hold is refused before the stage runs, not after hours. */
static enum pith_status check_texts(const struct pith_stage *s, struct pith_error *err)
{
    enum pith_status st = check_text("the name of the teacher", s->teacher, err);
    if (!st)
        st = check_text("augment", s->train.augment, err);
    for (uint32_t i = 0; i < s->prune.n_layers && !st; i++)
        st = check_text("the pattern of a layer", s->prune.layers[i].pattern, err);
    for (uint32_t i = 0; i < s->cluster.n_layers && !st; i++)
        st = check_text("the pattern of a layer", s->cluster.layers[i].pattern, err);
    for (uint32_t i = 0; i < s->quantize.n_keep && !st; i++)
        st = check_text("the pattern of a layer", s->keep[i], err);
    return st;
}

static enum pith_status run_kind(struct pith_model *m, const struct pith_stage *s,
                                 const struct pith_stage_context *context, uint64_t seed,
                                 struct pith_stage_report *r, struct pith_error *err)
{
    switch (s->kind) {
    case PITH_STAGE_PRUNE:
        return run_prune(m, s, context, seed, r, err);
    case PITH_STAGE_CLUSTER:
        return run_cluster(m, s, context ? context->threads : 1, r, err);
    case PITH_STAGE_ENCODE:
        return run_encode(m, s, err);
    case PITH_STAGE_TRAIN:
        return pith_stage_train(m, s, context, seed, &r->train, err);
    case PITH_STAGE_QUANTIZE:
        return pith_stage_quantize(m, s, context, r, err);
    case PITH_STAGE_CALIBRATE:
        return pith_stage_calibrate(m, s, context, r, err);
    case PITH_STAGE_COMPRESS: /* joins stages: pith_compress */
        break;
    }
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "unknown kind of stage");
}

/* A stage that finds nothing to work on fails, as pith_quantize() and pith_sense() do. */
static enum pith_status check_work(const struct pith_stage_report *r, struct pith_error *err)
{
    const char *verb = r->prune ? "prune" : r->cluster ? "cluster" : NULL;
    bool any = verb == NULL;
    for (uint32_t i = 0; i < r->n_layers && !any; i++)
        any = !r->prune || r->prune[i].left == PITH_PRUNE_TAKEN;
    if (any)
        return PITH_OK;
    if (r->n_layers == 0)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "cannot %s: no layer has float weights",
                               verb);
    return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                           "cannot prune: each layer is depthwise or does not fit the pattern, "
                           "the first is '%.200s'",
                           r->prune[0].layer);
}

enum pith_status pith_stage_run_with(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     struct pith_stage_report *report, struct pith_error *err)
{
    if (!m || !s || !context || context->size_bytes != sizeof *context)
        return PITH_ERR_ARGUMENT;
    struct pith_stage_report r = {0};
    uint64_t seed = s->seed ? s->seed : context->seed;
    enum pith_status st = check_texts(s, err);
    if (!st)
        st = run_kind(m, s, context, seed, &r, err);
    if (!st)
        st = check_work(&r, err);
    if (!st && s->kind != PITH_STAGE_QUANTIZE) /* whose weights are no floats any more */
        st = count_kept(m, &r, err);
    if (!st)
        st = add_history(
            m, s, seed, context->start ? context->start_stages : pith_stage_count_past(m), &r, err);
    if (st || !report)
        pith_stage_report_free(&r);
    else
        *report = r;
    return st;
}

enum pith_status pith_stage_run(struct pith_model *m, const struct pith_stage *s, uint64_t seed,
                                struct pith_stage_report *report, struct pith_error *err)
{
    if (!m || !s)
        return PITH_ERR_ARGUMENT;
    const struct pith_stage_context context = {.size_bytes = sizeof context, .seed = seed};
    return pith_stage_run_with(m, s, &context, report, err);
}
