/* SPDX-License-Identifier: MIT */
#include "goal_retrain.h"

#include <math.h>
#include <stdlib.h>

#include "compress/output/choose_coder.h"
#include "numeric/entropy.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "compress/recipe/preset.h"

#define NETWORKS 6u      /* at most */
#define STEP_DOWN 0.5    /* bytes of the next network, while they keep the goal */
#define NARROW 0.85      /* nothing between two sizes that are this near is worth a training */
#define MOST_EPOCHS 40.0 /* of one network, but where these are few steps: */
#define MOST_STEPS 6000.0
#define LEAST_EPOCHS 4.0  /* with fewer little is regained */
#define TIMED_SAMPLES 512 /* an epoch of these is timed */
#define LEAST_WEIGHTS 16.0
#define FIRST_SHARE                                                                                \
    0.5 /* of that estimate, before one was made: whole channels leave, and their places cost      \
           little */

static const char retrained[] = "retrained";

struct ladder {
    const struct goal_retraining *r;
    struct pith_recipe *recipe; /* owns */
    struct pith_model *base;    /* owns: where the next one begins */
    double weights;             /* of the original */
    double epoch_seconds, most_epochs;
    uint32_t epochs;
    double good, bad; /* bytes: the smallest within the goal, the largest of these that is not */
    double share;     /* of what a file was estimated at, the last one had */
};

/* ---- how many weights a size has ------------------------------------------------------------- */

/* Of a file with so many of all weights: their places, as the entropy of a mask, and their values.
 */
static double bytes_of(double kept, double all)
{
    const double most = 1 - 1e-9; /* the entropy of a mask with p = 1 is not defined */
    double p = fmin(kept / all, most);
    return (all * pith_place_entropy(p) + kept * (double)PITH_VALUE_BITS) / 8;
}

static double weights_for(double bytes, double all)
{
    double low = log(LEAST_WEIGHTS), high = log(all);
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        if (bytes_of(exp(mid), all) < bytes)
            low = mid;
        else
            high = mid;
    }
    return exp(low);
}

static double count_weights(const struct pith_model *m)
{
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    double all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += (double)refs[i].rows * (double)refs[i].cols;
    free(refs);
    return all;
}

/* ---- training -------------------------------------------------------------------------------- */

static void report_epoch(void *user, const struct pith_train_progress *p)
{
    struct ladder *l = user;
    const struct goal_encoders *e = l->r->encoders;
    l->epoch_seconds = p->seconds;
    if (e->progress && l->epochs > 0)
        e->progress(e->watcher, "epoch", p->epoch, l->epochs);
}

static bool should_stop_training(void *user)
{
    const struct ladder *l = user;
    return l->r->should_stop(l->r->user);
}

static struct pith_train_opts opts_of(struct ladder *l, uint32_t epochs)
{
    const struct goal_encoders *e = l->r->encoders;
    struct pith_train_opts o = l->recipe->stages[0].train;
    o.size_bytes = sizeof o;
    o.epochs = epochs;
    o.threads = e->opts->threads;
    o.seed = e->opts->seed ? e->opts->seed : 1;
    o.teacher = l->r->original;
    o.sparsity = 0;
    o.keep_best = false;
    if (pith_goal_eval_metric(e->eval) == PITH_METRIC_NONE)
        o.loss = PITH_DISTILL;
    else if (pith_goal_eval_metric(e->eval) == PITH_METRIC_PSNR)
        o.loss = PITH_SQUARED_ERROR, o.teacher = NULL;
    o.progress = report_epoch;
    o.stop = should_stop_training;
    o.user = l;
    return o;
}

/* quality: how often the number of weights that stay goes into all. */
static enum pith_status encode_retrained(void *user, double quality, struct pith_buffer *file,
                                         struct pith_error *err)
{
    struct ladder *l = user;
    struct pith_train_opts o = opts_of(l, l->epochs);
    struct pith_train_result result;
    struct pith_model *made = NULL;
    o.keep_weights = (uint32_t)fmax(LEAST_WEIGHTS, floor(l->weights / quality));
    enum pith_status st = pith_goal_eval_pick_training(l->r->encoders->eval, err);
    if (!st)
        st = pith_model_copy(l->base, &made, err);
    if (!st)
        st = pith_train(made, pith_goal_only_data(l->r->encoders), NULL, &o, &result, err);
    if (!st && l->r->interrupted(l->r->user)) /* a resumed search trains this network in full */
        st = pith_error_fill(err, PITH_ERR_STOPPED, "interrupted");
    pith_buffer_free(l->r->state);
    if (!st)
        st = pith_model_pack(made, NULL, l->r->state, err);
    if (!st)
        st = pith_goal_pack(made, l->r->encoders, file, err);
    pith_model_free(made);
    return st;
}

/* As it is kept, whether this process has trained it or one before: the next ones are the same. */
static enum pith_status begin_from(struct ladder *l, double quality, struct pith_error *err)
{
    const struct pith_buffer *state = l->r->state;
    struct pith_model *base = NULL;
    enum pith_status st = PITH_OK;
    if (l->r->checkpoint)
        st = pith_goal_checkpoint_state(l->r->checkpoint, retrained, quality, &state, err);
    if (!st)
        st = pith_model_read(state->data, state->bytes, retrained, NULL, &base, err);
    if (st)
        return st;
    pith_model_free(l->base);
    l->base = base;
    return PITH_OK;
}

/* What an epoch takes, from one over a few samples. */
static enum pith_status time_epoch(struct ladder *l, struct pith_error *err)
{
    struct pith_data *data = pith_goal_only_data(l->r->encoders);
    struct pith_model *copy = NULL;
    struct pith_train_result result;
    enum pith_status st = pith_goal_eval_pick_training(l->r->encoders->eval, err);
    const uint64_t all = pith_data_count(data);
    if (!st && all > TIMED_SAMPLES)
        st = pith_goal_eval_pick(l->r->encoders->eval, PITH_GOAL_CALIBRATE, err);
    if (!st)
        st = pith_model_copy(l->base, &copy, err);
    const struct pith_train_opts o = opts_of(l, 1);
    if (!st)
        st = pith_train(copy, data, NULL, &o, &result, err);
    pith_model_free(copy);
    l->epoch_seconds *= (double)all / (double)pith_data_count(data);
    l->most_epochs = fmax(MOST_EPOCHS, ceil(MOST_STEPS * o.batch / (double)all));
    return st;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* Bytes of the next network; 0: there is nothing to be had. */
static double next_bytes(const struct ladder *l)
{
    if (!isfinite(l->bad) || l->bad >= l->good)
        return l->good * STEP_DOWN;
    return l->bad / l->good < NARROW ? sqrt(l->good * l->bad) : 0;
}

/* Of the time left, the part of this network and as many more as may follow; 0: not enough. */
static uint32_t epochs_for(const struct ladder *l, uint32_t networks)
{
    double all = l->r->seconds_left(l->r->user) / fmax(l->epoch_seconds, 1e-6);
    double n = fmin(l->most_epochs, fmax(LEAST_EPOCHS, floor(all / (double)networks)));
    return n <= all ? (uint32_t)n : 0;
}

/* The checkpoint has the network of that quality: it needs no training. */
static bool is_known(const struct ladder *l, double quality)
{
    return l->r->checkpoint && pith_goal_checkpoint_has(l->r->checkpoint, retrained, quality);
}

/* Whether the time left does for a training; sets its epochs. */
static bool has_time(struct ladder *l, uint32_t networks, struct pith_error *err,
                     enum pith_status *st)
{
    if (l->r->should_stop(l->r->user))
        return false;
    if (!(l->epoch_seconds > 0))
        *st = time_epoch(l, err);
    l->epochs = *st ? 0 : epochs_for(l, networks);
    return l->epochs > 0;
}

static enum pith_status climb(struct ladder *l, struct pith_goal_found *f, struct pith_error *err)
{
    const struct pith_goal_encoder e = {.name = retrained,
                                        .finest = 1,
                                        .first = 1,
                                        .coarsest = l->weights,
                                        .encode = encode_retrained,
                                        .user = l};
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < NETWORKS && !st; i++) {
        double bytes = next_bytes(l);
        if (!(bytes > 0) || f->n == PITH_GOAL_POINTS)
            break;
        double kept = weights_for(bytes / l->share, l->weights), quality = l->weights / kept;
        if (!is_known(l, quality) && !has_time(l, NETWORKS - i, err, &st))
            break;
        st = pith_goal_search_try(l->r->search, &e, quality, f, err);
        if (st)
            break;
        const struct pith_goal_point *p = &f->point[f->n - 1];
        l->share = fmin(2, (double)p->bytes / bytes_of(kept, l->weights));
        if (!pith_goal_fits(p)) {
            l->bad = fmin((double)p->bytes, bytes);
            continue;
        }
        if ((double)p->bytes > NARROW * l->good && i > 0)
            break; /* fewer weights make no smaller file: it is all head */
        l->good = fmin((double)p->bytes, bytes);
        st = begin_from(l, p->quality, err);
    }
    return st;
}

static bool can_train(const struct goal_retraining *r)
{
    const enum pith_goal_metric metric = pith_goal_eval_metric(r->encoders->eval);
    return pith_goal_only_data(r->encoders) &&
           (metric != PITH_METRIC_NONE || pith_goal_eval_classes(r->encoders->eval) > 0);
}

enum pith_status pith_goal_retrain(const struct goal_retraining *r, struct pith_goal_found *f,
                                   struct pith_error *err)
{
    struct ladder l = {.r = r,
                       .weights = count_weights(r->original),
                       .good = (double)f->point[f->best].bytes,
                       .bad = HUGE_VAL,
                       .share = FIRST_SHARE};
    const struct pith_requested_options nothing = {0};
    if (!can_train(r) || l.weights < LEAST_WEIGHTS)
        return PITH_OK;
    enum pith_status st = pith_recipe_make("small", &nothing, &l.recipe, err);
    if (!st)
        st = pith_model_copy(r->original, &l.base, err);
    if (!st)
        st = climb(&l, f, err);
    pith_recipe_free(l.recipe);
    pith_model_free(l.base);
    /* A network that cannot be trained, or whose training diverges, has what the search found. */
    return st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_ARGUMENT || st == PITH_ERR_GOAL ? PITH_OK
                                                                                        : st;
}
