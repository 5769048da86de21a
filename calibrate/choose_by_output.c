/* SPDX-License-Identifier: MIT */
/* choose_by_output.c - auto: of the ranges that the methods propose, the one whose rounding changes
 * the network's outputs least.
 *
 * A few samples are run once as they are. Then one value at a time is put on a candidate's grid
 * while all else stays float, and the squared difference of the outputs (of what a final Softmax
 * gets) is summed. Over values these sums add up, as errors of roundings that know nothing of each
 * other do, so each value can be decided alone.
 *
 * Runs are what this costs, so few are made. Candidates whose step differs by less than ALIKE are
 * one; values that no layer with weights follows, and which therefore stay float, are left to the
 * least squared error, as are those with one candidate. The others are put on that candidate for
 * one sample, and are visited from the largest effect on the outputs down: those that together make
 * up less than REST of it keep it. The best other candidate must be better by GAIN on that sample
 * to be tried on all, and by as much on all to be taken: what is better by less on so few is
 * chance. */
#include "grid_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error_fill.h"
#include "observed_run.h"
#include "op.h"
#include "pith_host.h"

#define SAMPLES 4u
#define REST 0.1
#define GAIN 0.1
#define ALIKE 0.03

/* Numbers of the outputs over all steps of a sample. */
struct outputs {
    float *x; /* owns */
    size_t n, room;
};

struct trial {
    struct pith_model *m;
    struct observed_run run;
    const struct grid_choice *choice; /* whose value is put on `grid`; NULL: none */
    const struct pith_grid *grid;
    bool *is_output; /* owns: [n_values] compared */
    uint32_t n_samples, current;
    uint64_t sample[SAMPLES];
    bool apart;              /* samples do not depend on each other: inputs are kept */
    uint8_t *input[SAMPLES]; /* owns: the inputs of each sample, one behind the other */
    struct outputs output[SAMPLES];
    size_t at;    /* of the current sample's outputs seen so far */
    double error; /* against them */
    bool no_memory, stopped; /* stopped: by whoever watches the progress */
    uint64_t n_runs;
    struct pith_error *err;
};

/* ---- watching
 * ------------------------------------------------------------------------------------ */

static void keep_output(struct trial *t, const float *x, size_t n)
{
    struct outputs *o = &t->output[t->current];
    if (o->n + n > o->room) {
        size_t room = 2 * (o->n + n);
        float *more = realloc(o->x, room * sizeof *more);
        t->no_memory |= !more;
        if (!more)
            return;
        o->x = more;
        o->room = room;
    }
    memcpy(o->x + o->n, x, n * sizeof *x);
    o->n += n;
}

/* A grid may make a loop run longer than it did: what was not there before is not compared. The
 * error is never NaN, so that values can be put in order by it: an output that stays infinite has
 * not changed, one that becomes NaN has as much as can be. */
static void compare_output(struct trial *t, const float *x, size_t n)
{
    const struct outputs *o = &t->output[t->current];
    for (size_t i = 0; i < n && t->at < o->n; i++, t->at++) {
        double d = x[i] == o->x[t->at] ? 0 : (double)x[i] - (double)o->x[t->at];
        t->error += isnan(d) ? HUGE_VAL : d * d;
    }
}

static void see(void *user, uint32_t value, float *x, size_t n)
{
    struct trial *t = user;
    if (t->choice && t->choice->value == value)
        pith_choice_apply(t->m, t->choice, t->grid, x, n);
    if (t->is_output[value] && t->choice)
        compare_output(t, x, n);
    else if (t->is_output[value])
        keep_output(t, x, n);
}

/* ---- running
 * ------------------------------------------------------------------------------------- */

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

static enum pith_status run_kept(struct trial *t, uint32_t s)
{
    struct pith_plan *plan = pith_engine_plan(t->run.engine);
    copy_inputs(plan, t->input[s], true);
    pith_observed_run_inputs(&t->run);
    enum pith_status st = pith_plan_run(plan);
    return st ? pith_error_fill(t->err, st, "cannot calibrate: running %s failed: %s",
                                pith_calibrate_sample_name(t->run.opts, t->sample[s]),
                                pith_status_text(st))
              : PITH_OK;
}

/* Samples from..to-1 of those kept; of a stream, all up to there. */
static enum pith_status run_samples(struct trial *t, uint32_t from, uint32_t to)
{
    const struct pith_calibrate_opts *o = t->run.opts;
    enum pith_status st = PITH_OK;
    t->error = 0;
    for (t->current = t->apart ? from : 0; t->current < to && !st; t->current++) {
        t->at = 0;
        st = t->apart ? run_kept(t, t->current)
                      : pith_observed_run_sample(&t->run, t->sample[t->current], t->err);
        t->n_runs++;
        t->stopped |= !st && o->progress && !o->progress(o->user, t->n_runs, 0);
    }
    return t->no_memory ? pith_error_no_memory(t->err) : st;
}

/* Samples of a stream are its first ones, others lie evenly. */
static enum pith_status keep_samples(struct trial *t)
{
    struct pith_plan *plan = pith_engine_plan(t->run.engine);
    uint64_t total = pith_observed_run_samples(&t->run);
    enum pith_status st = PITH_OK;
    t->apart = t->run.feeder.steps == 1 && t->run.feeder.feed->n_states == 0;
    t->n_samples = total < SAMPLES ? (uint32_t)total : SAMPLES;
    for (uint32_t s = 0; s < t->n_samples && !st; s++) {
        t->sample[s] = t->apart ? total * (2 * s + 1) / (2 * (uint64_t)t->n_samples) : s;
        if (!t->apart)
            continue;
        t->input[s] = malloc(copy_inputs(plan, NULL, false) + 1);
        if (!t->input[s])
            return pith_error_no_memory(t->err);
        st = pith_feeder_sample(&t->run.feeder, t->sample[s], NULL, t->err);
        if (!st)
            st = pith_feeder_step(&t->run.feeder, 0, 0, t->err);
        copy_inputs(plan, t->input[s], false);
    }
    return st ? st : run_samples(t, 0, t->n_samples);
}

/* ---- which values matter
 * ------------------------------------------------------------------------- */

static bool is_layer(uint32_t op)
{
    return op == PITH_OP_CONV || op == PITH_OP_CONV_TRANSPOSE || op == PITH_OP_GEMM ||
           op == PITH_OP_MATMUL || op == PITH_OP_RECURRENT;
}

/* leads: [n_values], those that some layer with weights depends on. Nodes are in an order of
 * execution; what a loop brings back may be read by any layer in it. */
static void mark_before_layers(const struct pith_model *m, bool *leads)
{
    for (uint32_t i = m->n_nodes; i-- > 0;) {
        const struct pith_node *node = &m->nodes[i];
        bool on = is_layer(node->op) || node->op == PITH_OP_LOOP_END;
        for (uint32_t k = 0; k < node->n_out; k++)
            on |= leads[node->out[k]];
        for (uint32_t k = 0; k < node->n_in && on; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                leads[node->in[k]] = true;
    }
}

/* ---- the choice
 * ---------------------------------------------------------------------------------- */

/* The first sample, or all. */
static enum pith_status measure(struct trial *t, struct grid_choice *c, uint32_t k, bool all,
                                const struct grid_kind *kind)
{
    struct candidate *candidate = &c->candidate[k];
    if (candidate->n_samples == t->n_samples)
        return PITH_OK;
    struct pith_grid *g = pith_choice_grid(t->m, c, k, kind);
    if (!g)
        return pith_error_no_memory(t->err);
    t->choice = c;
    t->grid = g;
    uint32_t to = all ? t->n_samples : 1;
    enum pith_status st = run_samples(t, candidate->n_samples, to);
    candidate->error = t->apart ? candidate->error + t->error : t->error;
    candidate->n_samples = to;
    t->choice = NULL;
    return st;
}

static bool alike(const struct simple_grid *a, const struct simple_grid *b)
{
    return fabs((double)a->scale / (double)b->scale - 1) < ALIKE &&
           abs(a->zero_point - b->zero_point) <= (int)(ALIKE * (a->highest - a->lowest));
}

/* The first is the one with the least squared error of the value; of several alike one stays. */
static void order_candidates(struct grid_choice *c)
{
    struct candidate kept[METHODS];
    uint32_t n = 0, first = 0;
    for (uint32_t k = 0; k < c->n; k++)
        if (c->candidate[k].method == PITH_RANGE_MSE)
            first = k;
    kept[n++] = c->candidate[first];
    for (uint32_t k = 0; k < c->n; k++) {
        bool known = false;
        for (uint32_t i = 0; i < n; i++)
            known |= alike(&c->candidate[k].grid, &kept[i].grid);
        if (!known)
            kept[n++] = c->candidate[k];
    }
    memcpy(c->candidate, kept, n * sizeof *kept);
    c->n = n;
}

static int by_effect(const void *a, const void *b)
{
    const struct grid_choice *x = *(struct grid_choice *const *)a,
                             *y = *(struct grid_choice *const *)b;
    if (x->candidate[0].error != y->candidate[0].error)
        return x->candidate[0].error > y->candidate[0].error ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

/* The best on the first sample, if by GAIN, is tried on all. */
static enum pith_status take_best(struct trial *t, struct grid_choice *c,
                                  const struct grid_kind *kind)
{
    enum pith_status st = PITH_OK;
    uint32_t best = 0;
    for (uint32_t k = 1; k < c->n && !st && !t->stopped; k++) {
        st = measure(t, c, k, false, kind);
        if (c->candidate[k].error < c->candidate[best].error)
            best = k;
    }
    if (st || t->stopped || c->candidate[best].error >= (1 - GAIN) * c->candidate[0].error)
        return st;
    st = measure(t, c, best, true, kind);
    if (!st)
        st = measure(t, c, 0, true, kind);
    if (c->candidate[best].error < (1 - GAIN) * c->candidate[0].error)
        c->taken = best;
    return st;
}

static enum pith_status choose(struct trial *t, struct grid_choice **order, uint32_t n,
                               const struct grid_kind *kind)
{
    enum pith_status st = PITH_OK;
    double total = 0, done = 0;
    for (uint32_t i = 0; i < n && !st && !t->stopped; i++) {
        st = measure(t, order[i], 0, false, kind);
        total += order[i]->candidate[0].error;
    }
    qsort(order, n, sizeof *order, by_effect);
    for (uint32_t i = 0; i < n && !st && !t->stopped && total - done > REST * total; i++) {
        done += order[i]->candidate[0].error; /* before it grows with more samples */
        st = take_best(t, order[i], kind);
    }
    return st;
}

/* order: those with something to choose; returns how many. */
static uint32_t collect(const struct pith_model *m, struct grid_choice *choices, uint32_t n,
                        struct grid_choice **order, bool *leads)
{
    uint32_t found = 0;
    mark_before_layers(m, leads);
    for (uint32_t i = 0; i < n; i++) {
        order_candidates(&choices[i]);
        if (choices[i].n > 1 && leads[choices[i].value])
            order[found++] = &choices[i];
    }
    return found;
}

static enum pith_status choose_among(struct trial *t, struct grid_choice *choices, uint32_t n,
                                     const struct grid_kind *kind,
                                     const struct pith_calibrate_opts *samples)
{
    struct grid_choice **order = calloc(n + (size_t)1, sizeof *order);
    bool *leads = calloc(t->m->n_values + (size_t)1, sizeof *leads);
    t->is_output = calloc(t->m->n_values + (size_t)1, sizeof *t->is_output);
    enum pith_status st = PITH_OK;
    if (!order || !leads || !t->is_output)
        st = pith_error_no_memory(t->err);
    if (!st) {
        for (uint32_t i = 0; i < t->m->n_outputs; i++)
            t->is_output[pith_answer_value(t->m, i)] = true;
        n = collect(t->m, choices, n, order, leads);
        st = pith_observed_run_open(&t->run, t->m, samples, t->err);
    }
    if (!st)
        st = keep_samples(t);
    if (!st)
        st = choose(t, order, n, kind);
    free(order);
    free(leads);
    return st;
}

enum pith_status pith_choose_by_output(struct pith_model *m, struct grid_choice *choices,
                                       uint32_t n, const struct grid_kind *kind,
                                       const struct pith_calibrate_opts *samples, uint64_t *n_runs,
                                       struct pith_error *err)
{
    struct trial t = {.m = m, .run = {.see = see}, .err = err};
    t.run.user = &t;
    enum pith_status st = pith_calibrate_check(m, samples, err);
    if (!st)
        st = choose_among(&t, choices, n, kind, samples);
    *n_runs = t.n_runs;
    for (uint32_t s = 0; s < SAMPLES; s++) {
        free(t.input[s]);
        free(t.output[s].x);
    }
    free(t.is_output);
    pith_observed_run_close(&t.run);
    return st;
}
