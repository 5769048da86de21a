/* SPDX-License-Identifier: MIT */
/* output_trial.c - inputs and outputs of a few samples are kept, so that a trial is a run and
 * nothing else. */
#include "output_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_host.h"

/* ---- watching -------------------------------------------------------------------------------- */

/* A change may make a loop run longer than it did: what was not there before is not compared. The
 * error is never NaN, so that trials can be put in order by it: an output that stays infinite has
 * not changed, one that becomes NaN has as much as can be. */
static void compare_output(struct output_trial *t, const float *x, size_t n)
{
    const struct kept_floats *o = &t->output[t->current];
    if (t->centred && n <= o->n - t->at)
        pith_difference_add_centred(t->centred, o->x + t->at, x, n);
    for (size_t i = 0; i < n && t->at < o->n; i++, t->at++) {
        double d = x[i] == o->x[t->at] ? 0 : (double)x[i] - (double)o->x[t->at];
        t->error += isnan(d) ? HUGE_VAL : d * d;
    }
}

static void keep_output(struct output_trial *t, const float *x, size_t n)
{
    struct pith_difference_sums own = {0};
    pith_difference_add_centred(&own, x, x, n);
    t->signal[t->current] += own.signal;
    t->no_memory |= !pith_floats_keep(&t->output[t->current], x, n);
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

static void keep_middle(struct output_trial *t)
{
    pith_prefix_keep(&t->middle, t->current);
    t->middle_at[t->current] = t->at;
    t->behind = true;
}

/* Before the middle all is as it came. */
static void keep_starts(struct output_trial *t, uint32_t value)
{
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && t->middle.step != NO_STEP; k++) {
        struct prefix_reuse *w = &t->start[k];
        if (w->step >= t->middle.step || !gives(t, w, value))
            continue;
        pith_prefix_keep(w, t->current);
        t->start_at[k * t->n_samples + t->current] = t->at;
    }
}

/* Behind a node, before anything is done to its results. */
static void keep(struct output_trial *t, uint32_t value)
{
    if (!t->behind && !t->keeps)
        keep_starts(t, value);
    if (!t->behind && gives(t, &t->middle, value))
        keep_middle(t);
}

static void see_place(struct output_trial *t, uint32_t value, void *x, size_t bytes, bool is_f32)
{
    pith_prefix_see(&t->middle, value, x, bytes, is_f32);
    pith_prefix_see(&t->last, value, x, bytes, is_f32);
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS; k++)
        pith_prefix_see(&t->start[k], value, x, bytes, is_f32);
}

static void see(void *user, uint32_t value, float *x, size_t n)
{
    struct output_trial *t = user;
    if (t->keeps)
        see_place(t, value, x, n * sizeof *x, true);
    keep(t, value);
    if (!t->keeps)
        t->change(t->user, value, x, n);
    if (t->is_output[value] && !t->keeps)
        compare_output(t, x, n);
    else if (t->is_output[value])
        keep_output(t, x, n);
}

/* An attention mask, say: it never changes, but the middle has it. */
static void see_other(void *user, uint32_t value, void *x, size_t bytes)
{
    struct output_trial *t = user;
    if (t->keeps)
        see_place(t, value, x, bytes, false);
    keep(t, value);
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

/* Sample s goes on behind a node whose alive values were put back. at: its outputs observed so far.
 */
static enum pith_status run_behind(struct output_trial *t, const struct prefix_reuse *w, size_t at)
{
    const struct pith_node *node = &t->m->nodes[w->step];
    t->behind = w == &t->middle;
    t->at = at;
    for (uint32_t k = 0; k < node->n_out; k++) {
        size_t n;
        float *x = pith_prefix_place(w, node->out[k], &n);
        if (x)
            see(t, node->out[k], x, n);
    }
    return pith_plan_run_from(pith_engine_plan(t->run.engine), w->step + 1);
}

/* The last place on the way to the middle where sample s was; PITH_TRIAL_STARTS: none. */
static uint32_t start_of(const struct output_trial *t, uint32_t s)
{
    uint32_t best = PITH_TRIAL_STARTS;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && t->middle.step != NO_STEP; k++)
        if (t->start[k].step < t->middle.step && t->start[k].kept[s])
            best = k;
    return best;
}

/* Is the last middle on the way, behind start k? */
static bool is_nearer(const struct output_trial *t, uint32_t k)
{
    return t->last.step != NO_STEP && t->middle.step != NO_STEP && t->last.step < t->middle.step &&
           (k == PITH_TRIAL_STARTS || t->start[k].step < t->last.step);
}

static enum pith_status run_whole(struct output_trial *t, uint32_t s)
{
    struct pith_plan *plan = pith_engine_plan(t->run.engine);
    t->behind = false;
    copy_inputs(plan, t->input[s], true);
    pith_observed_run_inputs(&t->run);
    return pith_plan_run(plan);
}

static enum pith_status run_kept(struct output_trial *t, uint32_t s)
{
    const uint32_t k = start_of(t, s);
    enum pith_status st;
    if (pith_prefix_back(&t->middle, s))
        st = run_behind(t, &t->middle, t->middle_at[s]);
    else if (is_nearer(t, k) && pith_prefix_back(&t->last, s))
        st = run_behind(t, &t->last, t->last_at[s]);
    else if (k < PITH_TRIAL_STARTS && pith_prefix_back(&t->start[k], s))
        st = run_behind(t, &t->start[k], t->start_at[k * t->n_samples + s]);
    else
        st = run_whole(t, s);
    return st ? pith_error_fill(t->err, st, "cannot calibrate: running %s failed: %s",
                                pith_calibrate_sample_name(t->run.opts, t->sample[s]),
                                pith_status_text(st))
              : PITH_OK;
}

void pith_output_trial_behind(struct output_trial *t, uint32_t step)
{
    if (!t->apart || step == t->middle.step)
        return;
    if (step != NO_STEP && t->middle.step != NO_STEP && t->middle.step < step) {
        const struct prefix_reuse middle = t->middle;
        size_t *at = t->middle_at;
        t->middle = t->last;
        t->middle_at = t->last_at;
        t->last = middle;
        t->last_at = at;
    }
    pith_prefix_set(&t->middle, step);
}

enum pith_status pith_output_trial_run(struct output_trial *t, uint32_t from, uint32_t to,
                                       double most, double *error)
{
    const struct pith_calibrate_opts *o = t->run.opts;
    enum pith_status st = PITH_OK;
    t->error = 0;
    for (t->current = t->apart ? from : 0; t->current < to && t->error < most && !st;
         t->current++) {
        t->at = 0;
        st = t->apart ? run_kept(t, t->current)
                      : pith_observed_run_sample(&t->run, t->sample[t->current], t->err);
        t->n_runs++;
        t->stopped |= !st && o->progress && !o->progress(o->user, t->n_runs, 0);
    }
    *error = t->error;
    return t->no_memory ? pith_error_no_memory(t->err) : st;
}

static enum pith_status keep_samples(struct output_trial *t, uint32_t most)
{
    struct pith_plan *plan = pith_engine_plan(t->run.engine);
    uint64_t total = pith_observed_run_samples(&t->run);
    uint32_t n = total < most ? (uint32_t)total : most;
    enum pith_status st = PITH_OK;
    double none;
    t->apart = t->run.feeder.steps == 1 && t->run.feeder.feed->n_states == 0;
    t->sample = calloc(n + (size_t)1, sizeof *t->sample);
    t->input = calloc(n + (size_t)1, sizeof *t->input);
    t->output = calloc(n + (size_t)1, sizeof *t->output);
    t->signal = calloc(n + (size_t)1, sizeof *t->signal);
    t->middle_at = calloc(n + (size_t)1, sizeof *t->middle_at);
    t->last_at = calloc(n + (size_t)1, sizeof *t->last_at);
    t->start_at = calloc(PITH_TRIAL_STARTS * (n + (size_t)1), sizeof *t->start_at);
    bool room = t->sample && t->input && t->output && t->signal && t->middle_at && t->last_at &&
                t->start_at;
    room = !pith_prefix_open(&t->middle, t->m, n, t->most_bytes) && room;
    room = !pith_prefix_open(&t->last, t->m, n, t->most_bytes) && room;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && room; k++)
        room = !pith_prefix_open(&t->start[k], t->m, n, t->most_bytes / PITH_TRIAL_STARTS);
    if (!room)
        return pith_error_no_memory(t->err);
    t->n_samples = n;
    for (uint32_t s = 0; s < n && !st; s++) {
        t->sample[s] = t->apart ? total * (2 * s + 1) / (2 * (uint64_t)n) : s;
        if (!t->apart)
            continue;
        t->input[s] = malloc(copy_inputs(plan, NULL, false) + 1);
        if (!t->input[s])
            return pith_error_no_memory(t->err);
        st = pith_feeder_sample(&t->run.feeder, t->sample[s], t->err);
        if (!st)
            st = pith_feeder_step(&t->run.feeder, 0, 0, t->err);
        copy_inputs(plan, t->input[s], false);
    }
    t->keeps = true;
    if (!st)
        st = pith_output_trial_run(t, 0, n, HUGE_VAL, &none);
    t->keeps = false;
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS && t->apart && !st; k++)
        pith_prefix_set(&t->start[k],
                        (uint32_t)((k + 1) * (uint64_t)t->m->n_nodes / (PITH_TRIAL_STARTS + 1)));
    return st;
}

enum pith_status pith_output_trial_open(struct output_trial *t, struct pith_model *m,
                                        const struct pith_calibrate_opts *samples, uint32_t most,
                                        struct pith_error *err)
{
    t->m = m;
    t->err = err;
    t->run.see = see;
    t->run.see_other = see_other;
    t->run.user = t;
    enum pith_status st = pith_calibrate_check(m, samples, err);
    if (st)
        return st;
    t->is_output = calloc(m->n_values + (size_t)1, sizeof *t->is_output);
    if (!t->is_output)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_outputs; i++)
        t->is_output[pith_answer_value(m, i)] = true;
    st = pith_observed_run_open(&t->run, m, samples, err);
    return st ? st : keep_samples(t, most);
}

void pith_output_trial_close(struct output_trial *t)
{
    for (uint32_t s = 0; s < t->n_samples; s++) {
        free(t->input[s]);
        free(t->output[s].x);
    }
    pith_prefix_close(&t->middle);
    pith_prefix_close(&t->last);
    for (uint32_t k = 0; k < PITH_TRIAL_STARTS; k++)
        pith_prefix_close(&t->start[k]);
    free(t->start_at);
    free(t->middle_at);
    free(t->last_at);
    free(t->sample);
    free(t->input);
    free(t->output);
    free(t->signal);
    free(t->is_output);
    pith_observed_run_close(&t->run);
}
