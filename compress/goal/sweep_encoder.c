/* SPDX-License-Identifier: MIT */
#include "sweep_encoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "train/feedback/fisher_rows.h"
#include "pith_host.h"
#include "rd/weight_sweep.h"

#define RATE_SHARE 0.5
#define PLACE_SHARE 0.3
#define STATES 8u /* of the trellis, which adaptive streams alone have in fewer bytes */
/* Scores are divided by what makes their standard deviation this, if they spread further: a network
 * that is certain of nearly all its answers has next to no Fisher information, and what little
 * there is comes from one or two samples. (LeNet-5 on MNIST: 15 % fewer bytes at equal KL.) */
#define SPREAD 2.0
/* Of values between layers, in memory; others are in files. */
#define BETWEEN_LAYERS (UINT64_C(8) << 20)
/* Pictures, up to which each calibrates by its mirror image, too: another sample at no
 * cost. (ResNet-20: 257 and their mirror images have 4.3 % fewer bytes, 516 pictures 5.3 %.) */
#define MIRRORED 512u

/* ---- stopping -------------------------------------------------------------------------------- */

/* A sweep under way. */
struct watch {
    struct sweep_encoder *s;
    const struct goal_encoders *e;
    double loss; /* of the layers done, nats */
};

static bool is_stopped(const struct goal_encoders *e)
{
    return e->opts->stop && e->opts->stop(e->opts->user);
}

static int stop(void *user)
{
    const struct watch *w = user;
    return is_stopped(w->e);
}

/* An interrupted sweep says PITH_ERR_ARGUMENT. */
static enum pith_status explain(const struct goal_encoders *e, enum pith_status status,
                                struct pith_error *err)
{
    return status && is_stopped(e) ? pith_error_fill(err, PITH_ERR_STOPPED, "interrupted") : status;
}

/* The samples that calibrate are those of the feed from now on. */
static enum pith_status pick(const struct goal_encoders *e, struct pith_error *err)
{
    struct pith_data *data = pith_goal_only_data(e);
    enum pith_status status = pith_goal_eval_pick(e->eval, PITH_GOAL_CALIBRATE, err);
    if (!status && data && pith_data_count(data) <= MIRRORED)
        pith_data_mirror(data);
    return status;
}

static bool count_weights(struct sweep_encoder *s, const struct pith_model *m)
{
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    const uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    for (uint32_t i = 0; i < n; i++)
        s->weights += refs[i].rows * refs[i].cols;
    free(refs);
    return refs != NULL;
}

/* ---- once ------------------------------------------------------------------------------------ */

/* What the loss may become, in the unit of the sensitivities. */
static double allowed_of(const struct goal_encoders *e)
{
    const struct pith_goal *g = e->goal;
    const double drop = g->max_drop > 0 ? g->max_drop : PITH_GOAL_DEFAULT_DROP;
    if (pith_goal_eval_classes(e->eval))
        return pith_goal_kl(drop);
    double snr = g->min_snr > 0 ? g->min_snr : pith_goal_snr(drop);
    return pow(10, -snr / 10);
}

static bool report_sample(void *user, uint64_t done, uint64_t all)
{
    const struct goal_encoders *e = user;
    if (e->progress)
        e->progress(e->watcher, "sensitivity", done, all);
    return !is_stopped(e);
}

static enum pith_status find_sensitivity(struct sweep_encoder *s, const struct goal_encoders *e,
                                         struct pith_error *err)
{
    double *scale = calloc(e->m->n_outputs + (size_t)1, sizeof *scale);
    if (!scale)
        return pith_error_no_memory(err);
    pith_goal_eval_scales(e->eval, scale);
    const struct pith_fisher_opts o = {.size_bytes = sizeof o,
                                       .seed = e->opts->seed,
                                       .squares = pith_goal_eval_classes(e->eval) == 0,
                                       .output_scale = e->m->n_outputs > 1 ? scale : NULL,
                                       .temperature =
                                           fmax(1, pith_goal_eval_spread(e->eval) / SPREAD),
                                       .progress = report_sample,
                                       .user = (void *)(uintptr_t)e,
                                       .feed = e->opts->feed};
    enum pith_status status =
        explain(e, pith_fisher_rows(e->m, NULL, &o, &s->sensitivity, err), err);
    free(scale);
    return status == PITH_ERR_UNSUPPORTED || status == PITH_ERR_ARGUMENT ? PITH_OK : status;
}

enum pith_status pith_sweep_encoder_prepare(struct sweep_encoder *s, const struct goal_encoders *e,
                                            struct pith_error *err)
{
    s->allowed = allowed_of(e);
    enum pith_status status = pick(e, err);
    if (!status && !count_weights(s, e->m))
        status = pith_error_no_memory(err);
    return status ? status : find_sensitivity(s, e, err);
}

void pith_sweep_encoder_free(struct sweep_encoder *s)
{
    pith_fisher_rows_free(&s->sensitivity);
    *s = (struct sweep_encoder){0};
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Into the list of those that cost most, by falling loss. */
static void note_loss(struct sweep_encoder *s, const struct pith_swept_layer *layer)
{
    uint32_t at = PITH_GOAL_COSTLY;
    while (at > 0 && layer->loss > s->costly[at - 1].share)
        at--;
    if (at == PITH_GOAL_COSTLY)
        return;
    memmove(&s->costly[at + 1], &s->costly[at], (PITH_GOAL_COSTLY - 1 - at) * sizeof *s->costly);
    snprintf(s->costly[at].layer, sizeof s->costly[at].layer, "%s", layer->layer);
    s->costly[at].share = layer->loss;
}

static bool report_layer(void *user, const struct pith_swept_layer *layer)
{
    struct watch *w = user;
    w->loss += layer->loss;
    note_loss(w->s, layer);
    if (w->e->progress)
        w->e->progress(w->e->watcher, "layer", layer->number + 1, layer->n_layers);
    return !is_stopped(w->e);
}

static enum pith_status sweep(struct sweep_encoder *s, const struct goal_encoders *e,
                              double quality, const struct pith_opts *runtime,
                              struct pith_model **out, struct pith_error *err)
{
    struct watch w = {.s = s, .e = e};
    const struct pith_weight_sweep_opts o = {
        .size_bytes = sizeof o,
        .lambda = quality * quality * s->allowed / (double)s->weights,
        .rate_share = RATE_SHARE,
        .place_share = PLACE_SHARE,
        .sensitivity = s->sensitivity.of ? &s->sensitivity : NULL,
        .runtime = runtime,
        .memory_bytes = BETWEEN_LAYERS,
        .on_layer = report_layer,
        .stop = stop,
        .user = &w,
        .feed = e->opts->feed,
        .states = e->opts->for_speed ? 0 : STATES,
        .pattern = e->goal->pattern,
        .levels = e->goal->levels};
    memset(s->costly, 0, sizeof s->costly);
    enum pith_status status = explain(e, pith_weight_sweep(e->m, NULL, &o, out, NULL, err), err);
    for (uint32_t i = 0; i < PITH_GOAL_COSTLY && w.loss > 0; i++)
        s->costly[i].share /= w.loss;
    return status;
}

enum pith_status pith_sweep_encode(struct sweep_encoder *s, const struct goal_encoders *e,
                                   double quality, struct pith_model **out, struct pith_error *err)
{
    struct pith_opts runtime;
    enum pith_status status = pick(e, err);
    if (status)
        return status;
    pith_opts_init(&runtime, sizeof runtime);
    runtime.cpu_mask = e->opts->cpu_mask;
    if (e->opts->threads > 1 && pith_threads_start(&runtime, e->opts->threads))
        return pith_error_no_memory(err);
    status = sweep(s, e, quality, &runtime, out, err);
    pith_threads_stop(&runtime);
    return status;
}
