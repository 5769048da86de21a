/* SPDX-License-Identifier: MIT */
#include "pith_goal_compress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "goal_checkpoint.h"
#include "goal_encoders.h"
#include "goal_retrain.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "compress/input_checksum.h"
#include "rd/weight_sweep.h"
#include "sweep_encoder.h"

/* Finer files, where none that was made is within the goal on the test samples; by how much of the
 * excess each is finer than the one before. */
#define TRIES 4u
#define FINER 0.2

struct job {
    const struct pith_goal *goal;
    const struct pith_goal_compress_opts *opts;
    struct pith_goal_compress_opts encoder_opts; /* whose `stop` is should_stop */
    struct pith_goal_eval *eval;
    struct goal_encoders encoders;
    struct pith_goal_search search;
    struct goal_checkpoint *checkpoint; /* owns; NULL: none is kept */
    enum pith_status status;            /* of writing it */
    struct pith_buffer state;           /* owns: what it keeps with the next point */
    struct pith_error *err;
    uint64_t begun_ns;
    double before; /* seconds, in processes before this one */
    uint32_t files;
    bool recalled; /* the file that is measured comes from the checkpoint */
    bool ended;    /* interrupted */
    struct pith_goal_progress progress;
    double file_began, file_seconds; /* the file under way; the last one took. 0: none */
};

static double seconds_of(const struct job *j)
{
    return j->before + 1e-9 * (double)(pith_clock_ns(NULL) - j->begun_ns);
}

/* By the caller, or unable to go on. */
static bool is_interrupted(void *user)
{
    struct job *j = user;
    j->ended = j->ended || j->status || (j->opts->stop && j->opts->stop(j->opts->user));
    return j->ended;
}

/* However short the time is, a search ends with a file. */
static bool is_time_up(const struct job *j)
{
    return j->goal->time > 0 && j->files > 0 && seconds_of(j) > j->goal->time;
}

static bool should_stop(void *user)
{
    return is_interrupted(user) || is_time_up(user);
}

/* Of the runtime, between layers. */
static int stop_run(void *user)
{
    const struct job *j = user;
    return j->opts->stop && j->opts->stop(j->opts->user);
}

/* ---- how far it is --------------------------------------------------------------------------- */

/* Of the file under way as long as the last one took, or as its layers do; at most PITH_GOAL_CALLS
 * files, and with a time that is given no more than that. */
static void find_left(struct job *j)
{
    struct pith_goal_progress *p = &j->progress;
    const double now = seconds_of(j), spent = now - j->file_began;
    double file = j->file_seconds;
    if (!(file > 0) && strcmp(p->part, "layer") == 0)
        file = spent * (double)p->all / (double)p->done;
    p->left_low = p->left_high = NAN;
    if (!(file > 0) || p->file == 0 || strcmp(p->part, "test") == 0)
        return;
    p->left_low = fmax(0, file - spent);
    p->left_high = p->left_low + file * fmax(0, PITH_GOAL_CALLS - (double)p->file);
    if (j->goal->time > 0) { /* all of it: what the search leaves is retrained in */
        p->left_high = fmax(0, j->goal->time - now);
        p->left_low = fmin(p->left_low, p->left_high);
    }
}

static void report_progress(void *user, const char *part, uint64_t done, uint64_t all)
{
    struct job *j = user;
    if (strcmp(part, "sensitivity") == 0) /* once: no part of what another file will take */
        j->file_began = seconds_of(j);
    j->progress.part = part;
    j->progress.done = done;
    j->progress.all = all;
    find_left(j);
    if (j->opts->progress)
        j->opts->progress(j->opts->user, &j->progress);
}

static void ran(void *user, uint64_t calls, uint64_t all)
{
    struct job *j = user;
    report_progress(j, j->progress.part, calls, all);
}

static void warn(void *user, const char *text)
{
    const struct job *j = user;
    if (j->opts->warn)
        j->opts->warn(j->opts->user, text);
}

/* ---- callbacks of the search ------------------------------------------------------------------
 */

static enum pith_status measure_ram(struct job *j, struct pith_goal_point *p,
                                    struct pith_error *err)
{
    return j->goal->target ? pith_goal_eval_target_ram(&p->file, j->goal->target, &p->ram, err)
                           : pith_goal_eval_ram(j->eval, &p->file, &p->ram, err);
}

/* A copy: the message that it becomes part of is written over it. */
static enum pith_status refuse_recalled(const struct job *j, const struct pith_goal_point *p,
                                        struct pith_error *err)
{
    char reason[200] = "";
    if (err)
        snprintf(reason, sizeof reason, ": %.190s", err->text);
    return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: damaged: file '%s' %.4g cannot be run%s",
                           j->opts->checkpoint, p->encoder, p->quality, reason);
}

static enum pith_status measure(void *user, struct pith_goal_point *p, struct pith_error *err)
{
    struct job *j = user;
    report_progress(j, "measure", 0, 0);
    enum pith_status st =
        pith_goal_eval_measure(j->eval, PITH_GOAL_VALIDATE, &p->file, &p->loss, err);
    if (!st && j->goal->max_ram > 0)
        st = measure_ram(j, p, err);
    if (!st && j->goal->max_latency > 0)
        st = pith_goal_eval_latency(j->eval, &p->file, &p->latency, err);
    if (j->recalled && (st == PITH_ERR_CORRUPT || st == PITH_ERR_UNSUPPORTED ||
                        st == PITH_ERR_ARGUMENT || st == PITH_ERR_VERSION))
        st = refuse_recalled(j, p, err);
    j->recalled = false;
    return st;
}

static void started(void *watcher, const struct pith_goal_encoder *e, uint32_t call)
{
    struct job *j = watcher;
    j->progress.encoder = e->name;
    j->progress.file = call;
    j->file_began = seconds_of(j);
    report_progress(j, "encode", 0, 0);
}

static bool recall(void *watcher, struct pith_goal_point *point)
{
    struct job *j = watcher;
    j->recalled = j->checkpoint && pith_goal_checkpoint_recall(j->checkpoint, point);
    if (j->recalled)
        j->file_began = NAN; /* it takes less than others */
    return j->recalled;
}

static void made(void *watcher, const struct pith_goal_point *p, bool best)
{
    struct job *j = watcher;
    j->files++;
    j->file_seconds = p->early ? 0 : seconds_of(j) - j->file_began;
    if (j->checkpoint && !j->status)
        j->status = pith_goal_checkpoint_add(j->checkpoint, p, &j->state, seconds_of(j), j->err);
    if (j->opts->made)
        j->opts->made(j->opts->user, p, best);
}

/* ---- the test set --------------------------------------------------------------------------- */

/* The smallest file within the goal that is larger than `above` bytes, the early one or another; n:
 * none. */
static uint32_t next_larger(const struct pith_goal_found *f, uint64_t above, bool early)
{
    uint32_t best = f->n;
    for (uint32_t i = 0; i < f->n; i++)
        if (pith_goal_fits(&f->point[i]) && f->point[i].bytes > above &&
            f->point[i].early == early &&
            (best == f->n || f->point[i].bytes < f->point[best].bytes))
            best = i;
    return best;
}

static const struct pith_goal_encoder *encoder_of(const struct job *j,
                                                  const struct pith_goal_point *p)
{
    for (uint32_t i = 0; i < j->encoders.n; i++)
        if (j->encoders.list[i].name == p->encoder)
            return &j->encoders.list[i];
    return NULL;
}

/* One more, finer by what the best one missed, and each time by more. *i: where it is; untouched:
 * there is none. */
static enum pith_status make_finer(struct job *j, struct pith_goal_found *f, double excess,
                                   uint32_t tries, uint32_t *i, struct pith_error *err)
{
    const struct pith_goal_point *last = &f->point[f->best];
    const struct pith_goal_encoder *e = encoder_of(j, last);
    double quality = last->quality * exp(-(fmin(excess, 2) + FINER * tries) / 2);
    if (!e || quality < e->finest || f->n == PITH_GOAL_POINTS)
        return PITH_OK;
    enum pith_status st = pith_goal_search_try(&j->search, e, quality, f, err);
    if (st == PITH_ERR_STOPPED)
        return PITH_OK;
    if (!st)
        *i = f->n - 1;
    return st;
}

static enum pith_status report_on(struct job *j, struct pith_goal_result *r, uint32_t i,
                                  double *excess, struct pith_error *err)
{
    report_progress(j, "test", 0, 0);
    enum pith_status st =
        pith_goal_eval_measure(j->eval, PITH_GOAL_TEST, &r->found.point[i].file, &r->loss, err);
    r->loss.kl_high = r->loss.kl; /* what is reported was measured */
    if (!st)
        *excess = pith_goal_excess(j->goal, &r->loss, 0);
    return st;
}

/* The best, unless its loss on the test samples is above the limit: then the next larger file, or
 * one that is made finer. */
static enum pith_status report(struct job *j, struct pith_goal_result *r, struct pith_error *err)
{
    struct pith_goal_found *f = &r->found;
    double excess = 0;
    enum pith_status st = report_on(j, r, f->best, &excess, err);
    const bool may_turn_down = f->met && !r->shared;
    for (uint32_t tries = 0; !st && may_turn_down && excess > 0;) {
        uint32_t next = next_larger(f, f->point[f->best].bytes, false);
        if (next == f->n && tries++ < TRIES)
            st = make_finer(j, f, excess, tries, &next, err);
        if (next == f->n)
            next = next_larger(f, f->point[f->best].bytes, true);
        r->gated = true;
        if (st || next >= f->n)
            break;
        f->best = next;
        st = report_on(j, r, next, &excess, err);
    }
    r->met = excess <= 0 && pith_goal_meets(j->goal, &f->point[f->best]);
    return st;
}

/* ---- a checkpoint ---------------------------------------------------------------------------- */

static uint32_t mark_float(uint32_t crc, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return pith_checksum_number(crc, bits);
}

/* All that files depend on, and what is measured of them. The time may be another. */
static uint32_t mark_options(const struct job *j, const struct pith_model *m)
{
    const struct pith_goal *g = j->goal;
    const double limits[] = {g->max_drop, g->min_agreement, g->min_snr,
                             g->max_size, g->max_ram,       g->max_latency};
    uint32_t crc = pith_checksum_number(0, j->opts->seed);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        crc = mark_float(crc, limits[i]);
    crc = pith_checksum_number(crc, (uint64_t)g->run);
    if (g->target)
        crc = pith_checksum_number(crc, (uint64_t)g->target);
    if (pith_goal_shapes(g)) {
        crc = pith_checksum_number(crc, (uint64_t)g->pattern.kind);
        crc = pith_checksum_number(crc, (uint64_t)g->pattern.a << 32 | g->pattern.b);
        crc = pith_checksum_number(crc, g->levels);
    }
    for (uint32_t i = 0; i < m->n_outputs && j->opts->output_weight; i++)
        crc = mark_float(crc, j->opts->output_weight[i]);
    return pith_checksum_number(crc, j->opts->for_speed);
}

static enum pith_status open_checkpoint(struct job *j, const struct pith_model *m,
                                        struct pith_error *err)
{
    const struct pith_feed *feed = j->opts->feed;
    struct goal_mark mark = {.options = mark_options(j, m)};
    enum pith_status st = PITH_OK;
    if (!j->opts->checkpoint)
        return PITH_OK;
    st = pith_checksum_model(m, &mark.network, err);
    for (uint32_t i = 0; i < feed->n_inputs && !st; i++) {
        uint32_t crc = 0;
        if (feed->input[i].data)
            st = pith_checksum_data(feed->input[i].data, &crc, err);
        mark.data = pith_checksum_number(mark.data, crc);
    }
    if (!st)
        st = pith_goal_checkpoint_open(j->opts->checkpoint, &mark, j->opts->resume, &j->checkpoint,
                                       err);
    if (!st)
        j->before = pith_goal_checkpoint_seconds(j->checkpoint);
    return st;
}

static bool is_done(const struct job *j)
{
    const struct pith_goal_compress_opts *o = j->opts;
    return j->checkpoint && o->resume && o->output &&
           pith_goal_compress_is_done(o->checkpoint, o->output);
}

/* ---- all ------------------------------------------------------------------------------------- */

static enum pith_status open_eval(struct job *j, struct pith_model *m, struct pith_error *err)
{
    struct pith_goal_eval_opts o = {.size_bytes = sizeof o,
                                    .seed = j->opts->seed,
                                    .weight = j->opts->output_weight,
                                    .ran = ran,
                                    .warn = warn,
                                    .user = j};
    o.engine = (struct pith_engine_opts){.size_bytes = sizeof o.engine,
                                         .threads = j->opts->threads,
                                         .cpu_mask = j->opts->cpu_mask,
                                         .stop = stop_run,
                                         .stop_user = j};
    report_progress(j, "baseline", 0, 0);
    enum pith_status st = pith_goal_eval_new(m, j->opts->feed, &o, &j->eval, err);
    if (!st && j->opts->begun) {
        const struct pith_goal_samples samples = {
            .calibrate = pith_goal_eval_count(j->eval, PITH_GOAL_CALIBRATE),
            .select = pith_goal_eval_count(j->eval, PITH_GOAL_VALIDATE),
            .test = pith_goal_eval_count(j->eval, PITH_GOAL_TEST),
            .shared = pith_goal_eval_shares(j->eval),
            .labels = pith_goal_eval_metric(j->eval) == PITH_METRIC_TOP1};
        j->opts->begun(j->opts->user, &samples);
    }
    return st;
}

static double seconds_left(void *user)
{
    const struct job *j = user;
    return j->goal->time - seconds_of(j);
}

/* What is left of the time that was given. */
static enum pith_status retrain(struct job *j, const struct pith_model *original,
                                struct pith_goal_found *f, struct pith_error *err)
{
    const struct goal_retraining r = {.encoders = &j->encoders,
                                      .original = original,
                                      .search = &j->search,
                                      .checkpoint = j->checkpoint,
                                      .state = &j->state,
                                      .seconds_left = seconds_left,
                                      .should_stop = should_stop,
                                      .interrupted = is_interrupted,
                                      .user = j};
    const bool can = j->goal->run != PITH_GOAL_RUN_INT8 && !pith_goal_shapes(j->goal);
    enum pith_status st = original && can ? pith_goal_retrain(&r, f, err) : PITH_OK;
    f->stopped = f->stopped || st == PITH_ERR_STOPPED;
    return st == PITH_ERR_STOPPED ? PITH_OK : st;
}

static enum pith_status search(struct job *j, const struct pith_model *m,
                               const struct pith_model *original, struct pith_goal_result *r,
                               struct pith_error *err)
{
    struct goal_encoders *e = &j->encoders;
    *e = (struct goal_encoders){.m = m,
                                .eval = j->eval,
                                .goal = j->goal,
                                .opts = &j->encoder_opts,
                                .progress = report_progress,
                                .watcher = j};
    j->encoder_opts = *j->opts;
    j->encoder_opts.stop = should_stop;
    j->encoder_opts.user = j;
    enum pith_status st = pith_goal_encoders_fill(e, err);
    if (st)
        return st;
    j->search = (struct pith_goal_search){.size_bytes = sizeof j->search,
                                          .goal = j->goal,
                                          .encoder = e->list,
                                          .n = e->n,
                                          .measure = measure,
                                          .user = j,
                                          .started = started,
                                          .made = made,
                                          .stop = should_stop,
                                          .recall = recall,
                                          .watcher = j};
    st = pith_goal_search(&j->search, &r->found, err);
    r->timed_out = !st && r->found.stopped && is_time_up(j);
    return st || is_interrupted(j) ? st : retrain(j, original, &r->found, err);
}

static enum pith_status search_and_report(struct job *j, struct pith_model *m,
                                          struct pith_goal_result *r, struct pith_error *err)
{
    struct pith_model *original = NULL; /* that is retrained, given the time */
    enum pith_status st = open_eval(j, m, err);
    if (!st && j->goal->time > 0)
        st = pith_model_copy(m, &original, err);
    if (!st)
        st = pith_model_merge_convs(m, err);
    if (!st)
        st = search(j, m, original, r, err);
    st = j->status ? j->status : st;
    if (!st) {
        r->shared = pith_goal_eval_shares(j->eval);
        st = report(j, r, err);
    }
    pith_model_free(original);
    return st;
}

/* Before samples are run. */
static enum pith_status check_shape(const struct pith_model *m, const struct pith_goal *g,
                                    bool estimate, struct pith_error *err)
{
    if (estimate && (pith_goal_shapes(g) || g->run == PITH_GOAL_RUN_INT8))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "files with a pattern, few levels or integers cannot be estimated");
    if (!pith_goal_shapes(g))
        return PITH_OK;
    if (g->run == PITH_GOAL_RUN_INT8)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "integer layers keep no pattern or levels");
    return g->pattern.kind == PITH_PATTERN_ANY ? PITH_OK
                                               : pith_weight_sweep_takes(m, &g->pattern, err);
}

enum pith_status pith_goal_compress(struct pith_model *m, const struct pith_goal *goal,
                                    const struct pith_goal_compress_opts *opts,
                                    struct pith_goal_result *result, struct pith_error *err)
{
    if (!m || !goal || !opts || !result || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct job j = {.goal = goal, .opts = opts, .err = err, .begun_ns = pith_clock_ns(NULL)};
    struct pith_goal_result r = {.met = false};
    if (!opts->feed)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "a goal needs samples to measure a loss on");
    if (!pith_goal_limits_loss(goal) && !(goal->max_size > 0) && !(goal->max_ram > 0) &&
        !(goal->max_latency > 0))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "the goal limits nothing");
    enum pith_status st = check_shape(m, goal, opts->estimate, err);
    if (!st)
        st = open_checkpoint(&j, m, err);
    r.done = !st && is_done(&j);
    if (!st && !r.done)
        st = search_and_report(&j, m, &r, err);
    pith_goal_encoders_free(&j.encoders);
    pith_goal_eval_free(j.eval);
    pith_goal_checkpoint_free(j.checkpoint);
    pith_buffer_free(&j.state);
    r.seconds = seconds_of(&j);
    if (st)
        pith_goal_result_free(&r);
    else
        *result = r;
    return st;
}

void pith_goal_result_free(struct pith_goal_result *r)
{
    if (!r)
        return;
    pith_goal_found_free(&r->found);
}
