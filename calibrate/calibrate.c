/* SPDX-License-Identifier: MIT */
/* calibrate.c - the stage: runs samples with the runtime's observer and keeps statistics.
 *
 * The observer is called after every node, once per output; each node is a step then, and packing
 * keeps the order of m->nodes. So step i speaks of m->nodes[i]; what runs in a loop is heard more
 * than once, or never. The operator, the type and the shape must agree each time: a runtime that
 * merged or reordered steps would be noticed, not misread. */
#include "pith_calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "measure/engine.h"
#include "base/error_fill.h"
#include "observed_detail.h"
#include "observed_run.h"
#include "op_interface/op_info.h"
#include "pith_host.h"
#include "pith_value_stats.h"

struct calibration {
    struct pith_model *m;
    const struct pith_calibrate_opts *opts;
    struct pith_error *err;
    struct observed_plan *plan;      /* owns: [n_values] */
    struct value_observer *observer; /* owns: [n_values] */
    struct pith_value_stats **stats; /* owns: [n_values], results */
    struct count_team team;          /* owns its scratch */
    const struct observed_run *run;  /* while samples run */
};

/* ---- running --------------------------------------------------------------------------------- */

static void see(void *user, uint32_t value, float *x, size_t n)
{
    struct calibration *c = user;
    if (c->plan[value].joins)
        return;
    pith_observer_shape(&c->observer[value], c->run->shown, c->m->values[value].rank);
    pith_observer_see(&c->observer[value], x, n, &c->team);
}

static enum pith_status check_sample(struct calibration *c, uint64_t i)
{
    for (uint32_t v = 0; v < c->m->n_values; v++)
        if (c->observer[v].has_nan)
            return pith_error_fill(c->err, PITH_ERR_UNSUPPORTED,
                                   "cannot calibrate: '%s' is NaN for %s",
                                   c->m->values[v].name ? c->m->values[v].name : "",
                                   pith_calibrate_sample_name(c->opts, i));
    return PITH_OK;
}

/* Counting takes the threads that the network has, between its nodes. */
static enum pith_status start_team(struct calibration *c, const struct observed_run *run)
{
    const struct pith_opts *o = &run->engine->opts;
    c->team = (struct count_team){
        .n = pith_threads_count(o), .parallel_for = o->parallel_for, .user = o->parallel_user};
    c->team.scratch = calloc(c->team.n, sizeof *c->team.scratch);
    return c->team.scratch ? PITH_OK : pith_error_no_memory(c->err);
}

static enum pith_status run_samples(struct calibration *c, uint64_t *n_samples)
{
    struct observed_run run = {.see = see, .user = c, .own_sizes = true};
    c->run = &run;
    enum pith_status st = pith_observed_run_open(&run, c->m, c->opts, c->err);
    if (!st)
        st = start_team(c, &run);
    uint64_t done = 0, total = st ? 0 : pith_observed_run_samples(&run);
    bool on = true;
    while (!st && on && done < total) {
        st = pith_observed_run_sample(&run, done, c->err);
        if (!st)
            st = check_sample(c, done);
        done++;
        on = !st && (!c->opts->progress || c->opts->progress(c->opts->user, done, total));
    }
    pith_observed_run_close(&run);
    if (!st && n_samples)
        *n_samples = done;
    return st;
}

/* ---- the observers --------------------------------------------------------------------------- */

/* Merges the statistics that a model's values hold; where the parts of a Concat suffice, theirs. */
static void add_observed(struct calibration *c, const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (!c->plan[v].joins)
            pith_observer_merge(&c->observer[v], &m->values[v]);
}

static enum pith_status start(struct calibration *c)
{
    uint32_t n = c->m->n_values;
    c->plan = calloc(n + (size_t)1, sizeof *c->plan);
    c->observer = calloc(n + (size_t)1, sizeof *c->observer);
    c->stats = calloc(n + (size_t)1, sizeof *c->stats);
    enum pith_status st = c->plan && c->observer && c->stats ? PITH_OK : PITH_ERR_MEMORY;
    if (!st)
        st = pith_observed_plan(c->m, c->plan);
    for (uint32_t v = 0; v < n && !st; v++) {
        st = pith_observer_start(&c->observer[v], &c->m->values[v], c->plan[v].detail,
                                 c->plan[v].axis);
        if (c->opts)
            pith_observer_use_cpu(&c->observer[v], c->opts->cpu_mask);
    }
    if (!st)
        add_observed(c, c->m);
    return st ? pith_error_no_memory(c->err) : PITH_OK;
}

/* Nodes stand behind those that they read, so the parts are whole. */
static enum pith_status join_parts(struct calibration *c)
{
    for (uint32_t i = 0; i < c->m->n_nodes; i++) {
        const struct pith_node *node = &c->m->nodes[i];
        uint32_t whole = node->n_out > 0 ? node->out[0] : 0, channel = 0;
        if (node->n_out == 0 || c->plan[whole].joins != node)
            continue;
        for (uint32_t k = 0; k < node->n_in; k++) {
            uint32_t part = node->in[k];
            pith_observer_join(&c->observer[whole], &c->observer[part], c->stats[part], channel);
            channel += c->stats[part] ? c->stats[part]->n_channels : 0;
        }
        if (pith_observer_result(&c->observer[whole], c->m, &c->stats[whole]))
            return pith_error_no_memory(c->err);
    }
    return PITH_OK;
}

/* All statistics are made before the first value changes. */
static enum pith_status install(struct calibration *c)
{
    for (uint32_t v = 0; v < c->m->n_values; v++)
        if (pith_observer_result(&c->observer[v], c->m, &c->stats[v]))
            return pith_error_no_memory(c->err);
    enum pith_status st = join_parts(c);
    if (st)
        return st;
    for (uint32_t v = 0; v < c->m->n_values; v++) {
        struct pith_value *value = &c->m->values[v];
        const struct value_observer *o = &c->observer[v];
        if (o->detail == OBSERVE_NOTHING || o->sum.n == 0)
            continue;
        value->min = o->min;
        value->max = o->max;
        value->n_observed = o->sum.n;
        value->stats = c->stats[v];
        value->grid = NULL;
    }
    return PITH_OK;
}

static void release(struct calibration *c)
{
    for (uint32_t v = 0; c->observer && v < c->m->n_values; v++)
        pith_observer_clear(&c->observer[v]);
    free(c->plan);
    free(c->observer);
    free(c->stats);
    free(c->team.scratch);
}

enum pith_status pith_calibrate(struct pith_model *m, const struct pith_calibrate_opts *opts,
                                uint64_t *n_samples, struct pith_error *err)
{
    if (!m || !opts || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct calibration c = {.m = m, .opts = opts, .err = err};
    enum pith_status st = pith_calibrate_check(m, opts, err);
    if (!st)
        st = start(&c);
    if (!st)
        st = run_samples(&c, n_samples);
    if (!st)
        st = install(&c);
    release(&c);
    return st;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool same_numbers(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof *a) == 0);
}

static bool same_node(const struct pith_node *a, const struct pith_node *b)
{
    size_t n_slots = a->op == b->op ? pith_op_get(a->op)->n_slots : 0;
    return a->op == b->op && same_numbers(a->in, a->n_in, b->in, b->n_in) &&
           same_numbers(a->out, a->n_out, b->out, b->n_out) &&
           (n_slots == 0 || memcmp(a->attr, b->attr, n_slots * sizeof *a->attr) == 0);
}

/* Of constants the effective values: how they are coded does not change what the network gives. */
static bool same_value(const struct pith_value *a, const struct pith_value *b)
{
    const struct pith_const *x = a->constant, *y = b->constant;
    if (a->type != b->type || !same_numbers(a->dim, a->rank, b->dim, b->rank) || !x != !y)
        return false;
    return !x || (x->count == y->count &&
                  memcmp(x->data, y->data, (size_t)x->count * pith_type_bytes(a->type)) == 0);
}

/* Ranges of other weights would be those of another network. */
static bool same_network(const struct pith_model *a, const struct pith_model *b)
{
    if (a->n_values != b->n_values || a->n_nodes != b->n_nodes ||
        !same_numbers(a->inputs, a->n_inputs, b->inputs, b->n_inputs) ||
        !same_numbers(a->outputs, a->n_outputs, b->outputs, b->n_outputs))
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return false;
    for (uint32_t v = 0; v < a->n_values; v++)
        if (!same_value(&a->values[v], &b->values[v]))
            return false;
    return true;
}

enum pith_status pith_calibrate_merge(struct pith_model *m, const struct pith_model *other,
                                      struct pith_error *err)
{
    if (!m || !other)
        return PITH_ERR_ARGUMENT;
    struct calibration c = {.m = m, .err = err};
    if (!same_network(m, other))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot merge ranges: the two models are not the same network");
    enum pith_status st = start(&c);
    if (!st) {
        add_observed(&c, other);
        st = install(&c);
    }
    release(&c);
    return st;
}

void pith_calibrate_reset(struct pith_model *m)
{
    if (!m)
        return;
    for (uint32_t v = 0; v < m->n_values; v++) {
        m->values[v].min = 1;
        m->values[v].max = 0;
        m->values[v].n_observed = 0;
        m->values[v].stats = NULL;
        m->values[v].grid = NULL;
    }
}
