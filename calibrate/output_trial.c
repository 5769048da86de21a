/* SPDX-License-Identifier: MIT */
/* output_trial.c - inputs and outputs of a few samples are kept, so that a trial is a run and
 * nothing else. Where samples do not depend on each other they run side by side, each always by the
 * same plan; what they give is added up in their order, however many threads there are. */
#include "output_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "base/in_parallel.h"
#include "pith_host.h"

/* ---- watching -------------------------------------------------------------------------------- */

#define SUMS                                                                                       \
    4u /* of squares, number i in sum i % SUMS: additions that hide each other's latency           \
        */

/* A change may make a loop run longer than it did: what was not there before is not compared. The
 * error is never NaN, so that trials can be put in order by it: an output that stays infinite has
 * not changed, one that becomes NaN has as much as can be. */
static void compare_output(struct trial_lane *l, const float *x, size_t n)
{
    const struct kept_floats *o = &l->trial->output[l->current];
    const float *was = o->x + l->at;
    double sum[SUMS] = {0};
    if (l->trial->centred && n <= o->n - l->at)
        pith_difference_add_centred(&l->centred, was, x, n);
    n = n < o->n - l->at ? n : o->n - l->at;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] == was[i] ? 0 : (double)x[i] - (double)was[i];
        sum[i % SUMS] += isnan(d) ? HUGE_VAL : d * d;
    }
    for (uint32_t i = 0; i < SUMS; i++)
        l->error += sum[i];
    l->at += n;
}

static void keep_output(struct trial_lane *l, const float *x, size_t n)
{
    struct pith_difference_sums own = {0};
    pith_difference_add_centred(&own, x, x, n);
    l->trial->signal[l->current] += own.signal;
    l->no_memory |= !pith_floats_keep(&l->trial->output[l->current], x, n);
}

/* Does the node that w is behind give this value? */
static bool gives(const struct output_trial *t, const struct prefix_reuse *w, uint32_t value)
{
    const struct pith_node *node = w->step == NO_STEP ? NULL : &t->m->nodes[w->step];
    for (uint32_t k = 0; node && k < node->n_out; k++)
        if (node->out[k] == value)
            return true;
    return false;
}

static void keep_middle(struct trial_lane *l)
{
    pith_prefix_keep(&l->middle, l->current);
    l->middle_at[l->current] = l->at;
    l->behind = true;
}

/* Before the middle all is as it came. */
static void keep_starts(struct trial_lane *l, uint32_t value)
{
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && l->middle.step != NO_STEP; k++) {
        struct prefix_reuse *w = &l->start[k];
        if (w->step >= l->middle.step || !gives(l->trial, w, value))
            continue;
        pith_prefix_keep(w, l->current);
        l->start_at[k * l->trial->n_samples + l->current] = l->at;
    }
}

/* Behind a node, before anything is done to its results. */
static void keep(struct trial_lane *l, uint32_t value)
{
    if (!l->behind && !l->trial->keeps)
        keep_starts(l, value);
    if (!l->behind && gives(l->trial, &l->middle, value))
        keep_middle(l);
}

static void see_place(struct trial_lane *l, uint32_t value, void *x, size_t bytes, bool is_f32)
{
    pith_prefix_see(&l->middle, value, x, bytes, is_f32);
    pith_prefix_see(&l->last, value, x, bytes, is_f32);
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS; k++)
        pith_prefix_see(&l->start[k], value, x, bytes, is_f32);
}

static void see(void *user, uint32_t value, float *x, size_t n)
{
    struct trial_lane *l = user;
    struct output_trial *t = l->trial;
    if (t->keeps)
        see_place(l, value, x, n * sizeof *x, true);
    keep(l, value);
    if (!t->keeps)
        t->change(t->user, (uint32_t)(l - t->lane), value, x, n);
    if (t->is_output[value] && !t->keeps)
        compare_output(l, x, n);
    else if (t->is_output[value])
        keep_output(l, x, n);
}

/* An attention mask, say: it never changes, but the middle has it. */
static void see_other(void *user, uint32_t value, void *x, size_t bytes)
{
    struct trial_lane *l = user;
    if (l->trial->keeps)
        see_place(l, value, x, bytes, false);
    keep(l, value);
}

/* ---- running --------------------------------------------------------------------------------- */

static size_t copy_inputs(struct pith_plan *plan, uint8_t *kept, bool to_plan)
{
    size_t at = 0;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        void *x = pith_plan_input_data(plan, i);
        pith_plan_input(plan, i, &t);
        if (x && kept && to_plan)
            memcpy(x, kept + at, (size_t)t.bytes);
        else if (x && kept)
            memcpy(kept + at, x, (size_t)t.bytes);
        at += (size_t)t.bytes;
    }
    return at;
}

/* The current sample goes on behind a node whose alive values were put back. at: its outputs
 * observed so far. */
static enum pith_status run_behind(struct trial_lane *l, const struct prefix_reuse *w, size_t at)
{
    const struct pith_node *node = &l->trial->m->nodes[w->step];
    l->behind = w == &l->middle;
    l->at = at;
    for (uint32_t k = 0; k < node->n_out; k++) {
        size_t n;
        float *x = pith_prefix_place(w, node->out[k], &n);
        if (x)
            see(l, node->out[k], x, n);
    }
    return pith_plan_run_from(pith_engine_plan(l->run.engine), w->step + 1);
}

/* The last place on the way to the middle where sample s was; PITH_TRIAL_STARTS: none. */
static uint32_t start_of(const struct trial_lane *l, uint32_t s)
{
    uint32_t best = PITH_TRIAL_STARTS;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && l->middle.step != NO_STEP; k++)
        if (l->start[k].step < l->middle.step && l->start[k].kept[s])
            best = k;
    return best;
}

/* Is the last middle on the way, behind start k? */
static bool is_nearer(const struct trial_lane *l, uint32_t k)
{
    return l->last.step != NO_STEP && l->middle.step != NO_STEP && l->last.step < l->middle.step &&
           (k == PITH_TRIAL_STARTS || l->start[k].step < l->last.step);
}

static enum pith_status run_whole(struct trial_lane *l, uint32_t s)
{
    struct pith_plan *plan = pith_engine_plan(l->run.engine);
    l->behind = false;
    copy_inputs(plan, l->trial->input[s], true);
    pith_observed_run_inputs(&l->run);
    return pith_plan_run(plan);
}

static enum pith_status run_kept(struct trial_lane *l, uint32_t s)
{
    const uint32_t k = start_of(l, s);
    enum pith_status st;
    if (pith_prefix_back(&l->middle, s))
        st = run_behind(l, &l->middle, l->middle_at[s]);
    else if (is_nearer(l, k) && pith_prefix_back(&l->last, s))
        st = run_behind(l, &l->last, l->last_at[s]);
    else if (k < PITH_TRIAL_STARTS && pith_prefix_back(&l->start[k], s))
        st = run_behind(l, &l->start[k], l->start_at[k * l->trial->n_samples + s]);
    else
        st = run_whole(l, s);
    return st ? pith_error_fill(&l->err, st, "cannot calibrate: running %s failed: %s",
                                pith_calibrate_sample_name(l->run.opts, l->trial->sample[s]),
                                pith_status_text(st))
              : PITH_OK;
}

static void set_middle(struct trial_lane *l, uint32_t step)
{
    if (step == l->middle.step)
        return;
    if (step != NO_STEP && l->middle.step != NO_STEP && l->middle.step < step) {
        const struct prefix_reuse middle = l->middle;
        size_t *at = l->middle_at;
        l->middle = l->last;
        l->middle_at = l->last_at;
        l->last = middle;
        l->last_at = at;
    }
    pith_prefix_set(&l->middle, step);
}

void pith_output_trial_behind(struct output_trial *t, uint32_t step)
{
    for (uint32_t i = 0; i < t->n_lanes && t->apart; i++)
        set_middle(&t->lane[i], step);
}

/* The lane of a sample is always the same, so what it keeps of it is its own. */
static struct trial_lane *lane_of(struct output_trial *t, uint32_t sample)
{
    return &t->lane[sample % t->n_lanes];
}

static void run_in(struct trial_lane *l, uint32_t s)
{
    l->current = s;
    l->at = 0;
    l->error = 0;
    l->centred = (struct pith_difference_sums){0};
    l->status = l->trial->apart ? run_kept(l, s)
                                : pith_observed_run_sample(&l->run, l->trial->sample[s], &l->err);
}

static void run_sample(void *arg, uint32_t i)
{
    struct output_trial *t = arg;
    run_in(lane_of(t, t->from + i), t->from + i);
}

static void run_first(void *arg, uint32_t lane)
{
    struct output_trial *t = arg;
    run_in(&t->lane[lane], 0);
}

static enum pith_status add_sample(struct output_trial *t, const struct trial_lane *l,
                                   double *error)
{
    const struct pith_calibrate_opts *o = &t->opts;
    if (l->no_memory)
        return pith_error_no_memory(t->err);
    if (l->status && t->err)
        *t->err = l->err;
    if (t->centred)
        pith_difference_merge(t->centred, &l->centred);
    *error += l->error;
    t->n_runs++;
    t->stopped |= !l->status && o->progress && !o->progress(o->user, t->n_runs, 0);
    return l->status;
}

/* Those that ran beside the last one that was wanted do not count. */
enum pith_status pith_output_trial_run(struct output_trial *t, uint32_t from, uint32_t to,
                                       double most, double *error)
{
    enum pith_status st = PITH_OK;
    bool on = most > 0;
    *error = 0;
    for (uint32_t s = t->apart ? from : 0; s < to && on && !st;) {
        const uint32_t n = to - s < t->n_lanes ? to - s : t->n_lanes;
        t->from = s;
        pith_in_parallel(&t->runtime, n, run_sample, t);
        for (const uint32_t end = s + n; s < end && on && !st; s++) {
            st = add_sample(t, lane_of(t, s), error);
            on = *error < most && !(t->enough && !t->keeps && t->enough(t->user, s));
        }
    }
    return st;
}

enum pith_status pith_output_trial_each(struct output_trial *t, uint32_t n,
                                        uint32_t (*begin)(void *user, uint32_t lane, uint32_t i),
                                        double *error)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < n && !st && !t->stopped;) {
        const uint32_t lanes = n - i < t->n_lanes ? n - i : t->n_lanes;
        for (uint32_t k = 0; k < lanes; k++) {
            const uint32_t step = begin(t->user, k, i + k);
            if (t->apart)
                set_middle(&t->lane[k], step);
        }
        pith_in_parallel(&t->runtime, lanes, run_first, t);
        for (uint32_t k = 0; k < lanes && !st; k++, i++) {
            error[i] = 0;
            st = add_sample(t, &t->lane[k], &error[i]);
        }
    }
    return st;
}

static enum pith_status open_lane(struct output_trial *t, struct trial_lane *l)
{
    l->trial = t;
    l->run = (struct observed_run){
        .see = see, .see_other = see_other, .user = l, .weights_of = t->lane[0].run.engine};
    return pith_observed_run_open(&l->run, t->m, &t->opts, t->err);
}

static uint32_t count_samples(const struct output_trial *t, uint32_t most)
{
    const uint64_t all = pith_observed_run_samples(&t->lane[0].run);
    return all < most ? (uint32_t)all : most;
}

/* As many as there are samples, each with a plan of its own, which takes no other threads; one
 * sample has all of them. */
static enum pith_status open_lanes(struct output_trial *t, uint32_t most)
{
    const uint32_t threads = t->opts.threads;
    t->opts.threads = 1;
    t->n_lanes = 1;
    pith_opts_init(&t->runtime, sizeof t->runtime);
    enum pith_status st = open_lane(t, &t->lane[0]);
    const struct feeder *f = &t->lane[0].run.feeder;
    t->apart = !st && f->steps == 1 && f->feed->n_states == 0;
    if (st || threads <= 1)
        return st;
    const uint32_t samples = count_samples(t, most);
    if (!t->apart || samples <= 1) {
        pith_observed_run_close(&t->lane[0].run);
        t->lane[0].run = (struct observed_run){0};
        t->opts.threads = threads;
        return open_lane(t, &t->lane[0]);
    }
    st = pith_threads_start(&t->runtime, threads);
    if (st)
        return pith_error_fill(t->err, st, "cannot start threads");
    const uint32_t n = pith_threads_count(&t->runtime);
    while (t->n_lanes < n && t->n_lanes < samples && t->n_lanes < PITH_TRIAL_LANES && !st)
        st = open_lane(t, &t->lane[t->n_lanes++]);
    return st;
}

static enum pith_status open_prefixes(struct trial_lane *l, uint32_t n)
{
    struct output_trial *t = l->trial;
    const size_t bytes = t->most_bytes / t->n_lanes;
    l->middle_at = calloc(n + (size_t)1, sizeof *l->middle_at);
    l->last_at = calloc(n + (size_t)1, sizeof *l->last_at);
    l->start_at = calloc(PITH_TRIAL_STARTS * (n + (size_t)1), sizeof *l->start_at);
    bool room = l->middle_at && l->last_at && l->start_at;
    room = !pith_prefix_open(&l->middle, t->m, n, bytes) && room;
    room = !pith_prefix_open(&l->last, t->m, n, bytes) && room;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && room; k++)
        room = !pith_prefix_open(&l->start[k], t->m, n, bytes / PITH_TRIAL_STARTS);
    return room ? PITH_OK : pith_error_no_memory(t->err);
}

static enum pith_status keep_input(struct output_trial *t, uint32_t s)
{
    struct observed_run *run = &t->lane[0].run;
    struct pith_plan *plan = pith_engine_plan(run->engine);
    t->input[s] = malloc(copy_inputs(plan, NULL, false) + 1);
    if (!t->input[s])
        return pith_error_no_memory(t->err);
    enum pith_status st = pith_feeder_sample(&run->feeder, t->sample[s], t->err);
    if (!st)
        st = pith_feeder_step(&run->feeder, 0, 0, t->err);
    copy_inputs(plan, t->input[s], false);
    return st;
}

static void place_starts(struct trial_lane *l)
{
    const uint64_t n = l->trial->m->n_nodes;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && l->trial->apart; k++)
        pith_prefix_set(&l->start[k], (uint32_t)((k + 1) * n / (PITH_TRIAL_STARTS + 1)));
}

static enum pith_status keep_samples(struct output_trial *t, uint32_t most)
{
    const uint64_t total = pith_observed_run_samples(&t->lane[0].run);
    const uint32_t n = count_samples(t, most);
    enum pith_status st = PITH_OK;
    double none;
    t->sample = calloc(n + (size_t)1, sizeof *t->sample);
    t->input = calloc(n + (size_t)1, sizeof *t->input);
    t->output = calloc(n + (size_t)1, sizeof *t->output);
    t->signal = calloc(n + (size_t)1, sizeof *t->signal);
    if (!t->sample || !t->input || !t->output || !t->signal)
        return pith_error_no_memory(t->err);
    t->n_samples = n;
    for (uint32_t i = 0; i < t->n_lanes && !st; i++)
        st = open_prefixes(&t->lane[i], n);
    for (uint32_t s = 0; s < n && !st; s++) {
        t->sample[s] = t->apart ? total * (2 * s + 1) / (2 * (uint64_t)n) : s;
        if (t->apart)
            st = keep_input(t, s);
    }
    t->keeps = true;
    if (!st)
        st = pith_output_trial_run(t, 0, n, HUGE_VAL, &none);
    t->keeps = false;
    for (uint32_t i = 0; i < t->n_lanes && !st; i++)
        place_starts(&t->lane[i]);
    return st;
}

enum pith_status pith_output_trial_open(struct output_trial *t, struct pith_model *m,
                                        const struct pith_calibrate_opts *samples, uint32_t most,
                                        struct pith_error *err)
{
    t->m = m;
    t->err = err;
    enum pith_status st = pith_calibrate_check(m, samples, err);
    if (st)
        return st;
    t->opts = *samples;
    t->is_output = calloc(m->n_values + (size_t)1, sizeof *t->is_output);
    if (!t->is_output)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_outputs; i++)
        t->is_output[pith_answer_value(m, i)] = true;
    st = open_lanes(t, most);
    return st ? st : keep_samples(t, most);
}

static void close_lane(struct trial_lane *l)
{
    pith_prefix_close(&l->middle);
    pith_prefix_close(&l->last);
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS; k++)
        pith_prefix_close(&l->start[k]);
    free(l->start_at);
    free(l->middle_at);
    free(l->last_at);
    pith_observed_run_close(&l->run);
}

void pith_output_trial_close(struct output_trial *t)
{
    for (uint32_t s = 0; s < t->n_samples; s++) {
        free(t->input[s]);
        free(t->output[s].x);
    }
    for (uint32_t i = 0; i < PITH_TRIAL_LANES; i++)
        close_lane(&t->lane[i]);
    pith_threads_stop(&t->runtime);
    free(t->sample);
    free(t->input);
    free(t->output);
    free(t->signal);
    free(t->is_output);
}
