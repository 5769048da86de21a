/* SPDX-License-Identifier: MIT */
/* keep_float.c - which layers stay float because they would cost too much.
 *
 * The network of integers runs a few of the samples. Where its outputs are PITH_KEEP_FLOOR_DB or
 * more above their error it stays as it is. Else each layer is tried alone: it in integers (rounded
 * to nearest, which takes no time), all others float. What layers cost alone adds up to about what
 * they cost together, so the gain of keeping one is known beforehand: where the costliest would
 * bring PITH_KEEP_GAIN_DB, the network is quantized again without it. It stays float if that gain
 * is there when measured; then the next, up to PITH_KEEP_MOST. A network whose error is spread over
 * all layers therefore keeps none: that would be slow without being good. Nor does one of more than
 * PITH_KEEP_TRIED layers. In fixed point, which is for machines without floats, none is kept.
 *
 * What stays float for what it costs is stored small: f16, and weights as codebooks where the
 * outputs do not mind (kept_codebooks.h).
 *
 * Before that, where outputs are not far above their error anyway, the network is also quantized
 * with its channels re-estimated, which helps some networks and harms others: the outputs tell
 * which. */
#include "keep_float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output_sqnr.h"
#include "pith_error_fill.h"
#include "pith_fold_affine.h"
#include "kept_codebooks.h"
#include "pith_pack.h"
#include "pith_store_floats.h"
#include "pith_turn_weight.h"

#define FEW 8u        /* samples that a trial of one layer runs */
#define FEW_STEPS 64u /* of a stream */

struct keeping {
    struct pith_model before; /* borrows m's arrays: the float network */
    struct pith_model *m;
    struct pith_quantize_opts opts;
    const struct keep_request *request;
    struct output_sqnr answers;
    const char **keep; /* owns: [n] patterns: those asked for, then those added; texts are m's */
    uint32_t n_asked, n;
    struct pith_quantize_layer *layer, *trial; /* [n_layers], [n_trial]; trial: owns */
    uint32_t n_layers, n_trial; /* what is kept is not taken apart, so it may be fewer */
    double *noise; /* owns: [n_layers] by each alone, in the scale of the outputs; 0: stays float,
                      or was counted with another layer of its name */
    struct pith_error *err;
};

/* ---- measuring ------------------------------------------------------------------------------- */

static void see(void *user, uint32_t value, float *x, size_t n)
{
    pith_sqnr_see(user, value, x, n);
}

/* The first n of the held-out samples. */
static enum pith_status run_samples(struct keeping *k, const struct pith_model *m, uint64_t n)
{
    struct observed_run run = {.see = see, .user = &k->answers};
    enum pith_status st = pith_observed_run_open(&run, m, k->request->samples, k->err);
    for (uint64_t i = 0; !st && i < n && i < pith_observed_run_samples(&run); i++)
        st = pith_observed_run_sample(&run, i, k->err);
    if (!st && k->answers.no_memory)
        st = pith_error_no_memory(k->err);
    pith_observed_run_close(&run);
    return st;
}

static enum pith_status measure(struct keeping *k, const struct pith_model *m, uint64_t n,
                                bool keeps)
{
    const struct pith_stage_means *means = k->request->means;
    enum pith_status st = pith_held_out_pick(k->request->held, PART_HELD, k->err), back;
    pith_sqnr_begin(&k->answers, m, keeps);
    if (!st)
        st = run_samples(k, m, n);
    back = pith_held_out_pick(k->request->held, PART_BESIDE, k->err);
    if (!st && !back && means->stop && means->stop(means->user))
        st = pith_error_fill(k->err, PITH_ERR_ARGUMENT, "interrupted");
    return st ? st : back;
}

/* The float network's answers: to the held-out samples, and to the fitted ones. */
static enum pith_status measure_float(struct keeping *k)
{
    enum pith_status st = measure(k, &k->before, UINT64_MAX, true);
    if (st || !k->request->held->n_held)
        return st;
    pith_sqnr_begin_more(&k->answers, &k->before);
    return run_samples(k, &k->before, k->request->held->n_fitted);
}

/* m becomes what opts make of the float network, and is measured on up to n samples. */
static enum pith_status quantize(struct keeping *k, const struct pith_quantize_opts *opts,
                                 uint64_t n)
{
    *k->m = k->before;
    enum pith_status st = pith_quantize(k->m, opts, k->trial, &k->n_trial, k->err);
    return st ? st : measure(k, k->m, n, false);
}

/* What is now in m goes into the report. */
static void take_measured(const struct keeping *k, struct pith_stage_report *r)
{
    r->output_db = pith_sqnr_db(&k->answers); /* which may be infinite */
    r->reported_db =
        pith_sqnr_reported_db(&k->answers, k->request->samples->feed, &r->reported_error_db);
    r->held_out = k->request->held->n_held;
    r->expected_changes = pith_sqnr_expected_changes(&k->answers);
    r->changed = k->answers.first.rows - k->answers.first.agree;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_float_layer(const struct keeping *k, const char *name, size_t length)
{
    const struct pith_model *m = &k->before;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        const char *own =
            node->name[0] || node->n_out == 0 ? node->name : m->values[node->out[0]].name;
        if (strncmp(own, name, length) == 0 && own[length] == 0)
            return true;
    }
    return false;
}

/* Plans are made of the float network, which knows a layer that was taken apart by its whole name
 * alone: of `name:first-last` that is `name`. In m's memory; NULL: no memory. */
static const char *float_name(const struct keeping *k, const char *name)
{
    const char *part = strrchr(name, ':');
    if (!part || is_float_layer(k, name, strlen(name)) ||
        !is_float_layer(k, name, (size_t)(part - name)))
        return name;
    char *whole = pith_model_strdup(k->m, name);
    if (whole)
        whole[part - name] = 0;
    return whole;
}

/* ---- what each layer costs ------------------------------------------------------------------- */

/* Rounded to nearest, which takes no time. */
static void take_no_data(struct pith_quantize_opts *o)
{
    o->data = NULL;
    o->feed = NULL;
    o->rounding = PITH_ROUND_NEAREST;
    o->bias_correct = o->reestimate = false;
    o->keep_biases = true;
    o->n_held_out = 0;
}

/* All float but layer i; noise relative to the outputs. */
static enum pith_status try_alone(struct keeping *k, const char *const *name, uint32_t i)
{
    struct pith_quantize_opts o = k->opts;
    const char **keep = malloc((k->n_layers + (size_t)1) * sizeof *keep);
    if (!keep)
        return pith_error_no_memory(k->err);
    o.n_keep = 0;
    for (uint32_t l = 0; l < k->n_layers; l++)
        if (strcmp(name[l], name[i]) != 0)
            keep[o.n_keep++] = name[l];
    o.keep = keep;
    take_no_data(&o);
    bool stream = k->request->samples->feed && k->request->samples->feed->n_states > 0;
    enum pith_status st = quantize(k, &o, stream ? FEW_STEPS : FEW);
    k->noise[i] = st ? 0 : fmin(pith_sqnr_noise(&k->answers) / k->answers.all.signal, 1);
    free(keep);
    return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st; /* alone it cannot be; so nothing is known */
}

static bool is_first_of_name(const char *const *name, uint32_t i)
{
    for (uint32_t l = 0; l < i; l++)
        if (strcmp(name[l], name[i]) == 0)
            return false;
    return true;
}

static enum pith_status try_each(struct keeping *k)
{
    const char **name = malloc((k->n_layers + (size_t)1) * sizeof *name);
    k->noise = calloc(k->n_layers + (size_t)1, sizeof *k->noise);
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < k->n_layers && name && !st; i++) {
        const char *whole = float_name(k, k->layer[i].layer);
        name[i] = whole ? pith_weight_pattern(k->m, whole) : NULL;
        st = name[i] ? PITH_OK : pith_error_no_memory(k->err);
    }
    if (!name || !k->noise)
        st = pith_error_no_memory(k->err);
    for (uint32_t i = 0; i < k->n_layers && !st; i++)
        if (!k->layer[i].why && is_first_of_name(name, i))
            st = try_alone(k, name, i);
    free(name);
    return st;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* The costliest, if without it the rest would cost that much less; else n_layers. */
static uint32_t costliest(const struct keeping *k)
{
    double total = 0;
    uint32_t worst = k->n_layers;
    for (uint32_t i = 0; i < k->n_layers; i++) {
        total += k->noise[i];
        if (k->noise[i] > 0 && (worst == k->n_layers || k->noise[i] > k->noise[worst]))
            worst = i;
    }
    bool enough =
        worst < k->n_layers && (total - k->noise[worst]) * pow(10, PITH_KEEP_GAIN_DB / 10) < total;
    return enough ? worst : k->n_layers;
}

/* The layers of the trial become those of the report. They are the same, in the same order, but for
 * the ones that what is kept had been taken apart into. */
static void take_trial(struct keeping *k, const char *kept)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < k->n_trial && i < k->n_layers; i++, from++) {
        const char *name = k->trial[i].layer;
        while (from < k->n_layers && strcmp(k->layer[from].layer, name) != 0)
            from++;
        k->noise[i] = from < k->n_layers && strcmp(name, kept) != 0 ? k->noise[from] : 0;
    }
    memcpy(k->layer, k->trial, k->n_trial * sizeof *k->layer);
    k->n_layers = k->n_trial;
}

/* Those kept at our own doing say so. */
static enum pith_status explain(struct keeping *k, const char *const *kept, const double *db,
                                uint32_t n)
{
    char text[96];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "kept: as integers the outputs had %.1f dB", db[i]);
        char *why = pith_model_strdup(k->m, text);
        if (!why)
            return pith_error_no_memory(k->err);
        for (uint32_t l = 0; l < k->n_layers; l++)
            if (strcmp(k->layer[l].layer, kept[i]) == 0)
                k->layer[l].why = why;
    }
    return PITH_OK;
}

static enum pith_status keep_costliest(struct keeping *k, struct pith_stage_report *r)
{
    struct pith_model best = *k->m;
    const char *kept[PITH_KEEP_MOST];
    uint32_t n = 0;
    double db[PITH_KEEP_MOST];
    struct pith_quantize_opts o = k->opts;
    enum pith_status st = try_each(k);
    o.keep = k->keep;
    while (!st && n < PITH_KEEP_MOST && r->output_db < PITH_KEEP_FLOOR_DB) {
        uint32_t i = costliest(k);
        if (i == k->n_layers)
            break;
        const char *whole = float_name(k, k->layer[i].layer);
        k->keep[k->n_asked + n] = whole ? pith_weight_pattern(k->m, whole) : NULL;
        o.n_keep = k->n_asked + n + 1;
        st = k->keep[o.n_keep - 1] ? quantize(k, &o, UINT64_MAX) : pith_error_no_memory(k->err);
        if (st || pith_sqnr_db(&k->answers) < r->output_db + PITH_KEEP_GAIN_DB)
            break;
        best = *k->m;
        kept[n] = whole;
        take_trial(k, kept[n]);
        db[n++] = r->output_db;
        take_measured(k, r);
    }
    if (st == PITH_ERR_UNSUPPORTED)
        st = PITH_OK; /* it was the last layer: with it float there is nothing to quantize */
    *k->m = st ? k->before : best;
    r->n_layers = k->n_layers;
    r->n_kept_float = n;
    return st ? st : explain(k, kept, db, n);
}

/* ---- other ways ------------------------------------------------------------------------------ */

static enum pith_status try_reestimated(struct keeping *k, struct pith_stage_report *r)
{
    struct pith_model best = *k->m;
    struct pith_quantize_opts o = k->opts;
    o.reestimate = true;
    enum pith_status st = quantize(k, &o, UINT64_MAX);
    double db = pith_sqnr_db(&k->answers);
    if (st || !(db > r->output_db && db >= r->output_db + PITH_REESTIMATE_GAIN_DB)) {
        *k->m = best;
        return st;
    }
    k->opts = o;
    memcpy(k->layer, k->trial, k->n_trial * sizeof *k->layer); /* the same layers */
    r->reestimated = true;
    take_measured(k, r);
    return PITH_OK;
}

static enum pith_status fold(struct keeping *k)
{
    enum pith_status st = pith_model_fold_batch_norm(k->m, NULL, k->err);
    if (!st)
        st = pith_fold_affine(k->m, k->err);
    if (!st)
        st = pith_turn_weights(k->m, &k->opts, k->err);
    k->before = *k->m;
    k->keep = calloc(k->opts.n_keep + (size_t)PITH_KEEP_MOST, sizeof *k->keep);
    k->trial = calloc(PITH_QUANTIZE_PARTS * (k->before.n_nodes + (size_t)1), sizeof *k->trial);
    if (!st && (!k->keep || !k->trial || pith_sqnr_open(&k->answers, k->m)))
        st = pith_error_no_memory(k->err);
    for (uint32_t i = 0; i < k->opts.n_keep && !st; i++)
        k->keep[i] = k->opts.keep[i];
    return st;
}

/* ---- storing what is kept -------------------------------------------------------------------- */

/* The file's bytes if nothing stayed float for what it costs; what stays for other reasons is
 * stored as it is now. Rounded to nearest, which takes as many, but for biases that correction
 * gives to layers without. */
static enum pith_status count_integer_bytes(struct keeping *k, const struct keep_request *request,
                                            struct pith_stage_report *r)
{
    struct pith_model m = k->before;
    struct pith_quantize_opts o = k->opts;
    struct pith_buffer file = {0};
    o.n_keep = request->n_asked;
    take_no_data(&o);
    enum pith_status st = pith_quantize(&m, &o, NULL, NULL, k->err);
    if (!st)
        st = pith_model_pack(&m, NULL, &file, k->err);
    r->integer_bytes = st ? 0 : file.bytes;
    pith_buffer_free(&file);
    return st == PITH_ERR_UNSUPPORTED ? PITH_OK
                                      : st; /* nobody knows what the file would have been */
}

static enum pith_status measure_outputs(void *user, const struct pith_model *m,
                                        struct output_error *e)
{
    struct keeping *k = user;
    enum pith_status st = measure(k, m, UINT64_MAX, false);
    *e = (struct output_error){k->answers.all.signal, pith_sqnr_noise(&k->answers),
                               k->answers.first.rows - k->answers.first.agree};
    return st;
}

static enum pith_status store_kept(struct keeping *k, const struct keep_request *request,
                                   struct pith_stage_report *r)
{
    const struct output_judge judge = {measure_outputs, k};
    struct pith_stored_floats stored = {0};
    enum pith_type type = request->floats ? request->floats : PITH_F16;
    if (type == PITH_F32)
        return PITH_OK;
    enum pith_status st = pith_store_floats(k->m, type, &stored, k->err);
    r->floats = type;
    r->n_narrow = stored.n_numbers;
    r->n_beyond = stored.n_beyond;
    if (!st && !request->floats)
        st = pith_keep_in_codebooks(k->m, &judge, r, k->err);
    if (!st)
        st = measure(k, k->m, UINT64_MAX, false);
    if (!st)
        take_measured(k, r);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Where all integers cannot be, it is said by pith_quantize, so that goes first. */
enum pith_status pith_quantize_and_keep(struct pith_model *m, const struct pith_quantize_opts *opts,
                                        const struct keep_request *request,
                                        struct pith_stage_report *r, struct pith_error *err)
{
    struct keeping k = {.m = m,
                        .opts = *opts,
                        .request = request,
                        .n_asked = opts->n_keep,
                        .layer = r->quantize,
                        .err = err};
    enum pith_status st = fold(&k);
    if (!st)
        st = pith_quantize(m, opts, r->quantize, &r->n_layers, err);
    k.n_layers = r->n_layers;
    if (!st)
        st = measure_float(&k);
    if (!st)
        st = measure(&k, m, UINT64_MAX, false);
    bool measured = !st;
    if (st == PITH_ERR_UNSUPPORTED && k.n_layers > 0)
        st = PITH_OK; /* quantized, and then no way to watch it */
    if (measured) {
        r->predictions = k.answers.first.rows;
        take_measured(&k, r);
        if (request->may_reestimate && r->output_db < PITH_REESTIMATE_BELOW_DB)
            st = try_reestimated(&k, r);
        if (!st && r->output_db < PITH_KEEP_FLOOR_DB && request->may_keep &&
            k.n_layers <= PITH_KEEP_TRIED)
            st = keep_costliest(&k, r);
    }
    bool kept = opts->n_keep > request->n_asked || r->n_kept_float > 0;
    if (!st && kept && measured)
        st = store_kept(&k, request, r);
    if (!st && kept && measured)
        st = count_integer_bytes(&k, request, r);
    if (st)
        *m = k.before;
    pith_sqnr_close(&k.answers);
    free(k.keep);
    free(k.noise);
    free(k.trial);
    return st;
}
