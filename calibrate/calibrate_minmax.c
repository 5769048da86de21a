/* SPDX-License-Identifier: MIT */
/* calibrate_minmax.c - the stage: packs the model, plans it with the runtime's observer and collects
 * extremes.
 *
 * The observer is called after every node, once per output; each node is a step then, and packing
 * keeps the order of m->nodes. So step i speaks of m->nodes[i]; what runs in a loop is heard more
 * than once, or never. The operator, the type and the shape must agree each time: a runtime that
 * merged or reordered steps would be noticed, not misread. */
#include "pith_calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "error_fill.h"
#include "value_range.h"

struct calibration {
    struct pith_model *m;
    const struct pith_calibrate_opts *opts;
    struct pith_error *err;
    struct value_range *ranges; /* [n_values], of this run */
    bool mismatch;
    uint32_t nan_value; /* PITH_VALUE_NONE: none */
    struct pith_buffer file;
    void *memory;
    struct pith_plan *plan;
};

static bool same_shape(const struct pith_value *v, const struct pith_tensor *t)
{
    return v->type == t->type && v->rank == t->rank &&
           memcmp(v->dim, t->dim, v->rank * sizeof v->dim[0]) == 0;
}

static size_t tensor_elems(const struct pith_tensor *t)
{
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

static void add_values(struct calibration *c, uint32_t value, const float *x, size_t n)
{
    if (!pith_range_add(&c->ranges[value], x, n) && c->nan_value == PITH_VALUE_NONE)
        c->nan_value = value;
}

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct calibration *c = user;
    const struct pith_node *node = &c->m->nodes[layer->step]; /* make_plan counted */
    uint32_t value = node->out[layer->output];
    if (node->op != layer->op || !same_shape(&c->m->values[value], out)) {
        c->mismatch = true;
        return;
    }
    if (out->type == PITH_F32)
        add_values(c, value, out->data, tensor_elems(out));
}

/* The plan's user pointer is the calibration; the caller's thread pool has its own. */
static void run_parallel(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    const struct calibration *c = user;
    c->opts->runtime->parallel_for(c->opts->runtime->user, n, body, arg);
}

/* ---- setting up ---------------------------------------------------------------------------------- */

static enum pith_status check_input(struct calibration *c)
{
    const struct pith_model *m = c->m;
    if (c->opts->size_bytes != sizeof *c->opts || !c->opts->data)
        return pith_error_fill(c->err, PITH_ERR_ARGUMENT, "cannot calibrate: no data given");
    if (m->n_inputs != 1)
        return pith_error_fill(c->err, PITH_ERR_ARGUMENT,
                               "cannot calibrate: the model has %u inputs, data is for one",
                               m->n_inputs);
    const struct pith_value *in = &m->values[m->inputs[0]];
    uint64_t elems = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        elems *= in->dim[i];
    if (in->type != PITH_F32)
        return pith_error_fill(c->err, PITH_ERR_ARGUMENT, "cannot calibrate: input '%s' is not f32",
                               in->name);
    if (elems != pith_data_elems(c->opts->data))
        return pith_error_fill(c->err, PITH_ERR_ARGUMENT,
                               "cannot calibrate: input '%s' takes %llu values, a sample has %llu",
                               in->name, (unsigned long long)elems,
                               (unsigned long long)pith_data_elems(c->opts->data));
    return PITH_OK;
}

static enum pith_status make_plan(struct calibration *c)
{
    enum pith_status st = pith_model_pack(c->m, NULL, &c->file, c->err);
    if (st != PITH_OK)
        return st;
    struct pith_opts o;
    pith_opts_init(&o, sizeof o);
    if (c->opts->runtime) {
        o.cpu_mask = c->opts->runtime->cpu_mask;
        o.max_bytes = c->opts->runtime->max_bytes;
        if (c->opts->runtime->parallel_for)
            o.parallel_for = run_parallel;
    }
    o.user = c;
    o.observe = observe;
    struct pith_need need;
    st = pith_plan_size(c->file.data, c->file.bytes, &o, &need);
    if (st != PITH_OK)
        return pith_error_fill(c->err, st, "cannot calibrate: the model cannot be planned (status %d)",
                               (int)st);
    /* aligned_alloc wants a multiple of the alignment */
    c->memory = aligned_alloc(need.align, (need.bytes + need.align - 1) & ~(need.align - 1));
    if (!c->memory)
        return pith_error_no_memory(c->err);
    st = pith_plan_init(c->memory, need.bytes, c->file.data, c->file.bytes, &o, &c->plan);
    if (st != PITH_OK)
        return pith_error_fill(c->err, st, "cannot calibrate: the model cannot be planned (status %d)",
                               (int)st);
    if (pith_plan_layer_count(c->plan) != c->m->n_nodes)
        return pith_error_fill(c->err, PITH_ERR_UNSUPPORTED,
                               "cannot calibrate: the runtime has %u steps, the model has %u nodes",
                               pith_plan_layer_count(c->plan), c->m->n_nodes);
    return PITH_OK;
}

/* ---- running ------------------------------------------------------------------------------------- */

static enum pith_status check_sample(struct calibration *c, uint64_t i)
{
    if (c->mismatch)
        return pith_error_fill(c->err, PITH_ERR_UNSUPPORTED,
                               "cannot calibrate: the runtime's steps are not the model's nodes");
    if (c->nan_value != PITH_VALUE_NONE)
        return pith_error_fill(c->err, PITH_ERR_UNSUPPORTED,
                               "cannot calibrate: '%s' is NaN for %s",
                               c->m->values[c->nan_value].name,
                               pith_data_sample_name(c->opts->data, i));
    return PITH_OK;
}

static enum pith_status run_sample(struct calibration *c, uint64_t i)
{
    float *x = pith_plan_input_data(c->plan, 0);
    enum pith_status st = pith_data_read(c->opts->data, i, x, NULL, c->err);
    if (st != PITH_OK)
        return st;
    add_values(c, c->m->inputs[0], x, (size_t)pith_data_elems(c->opts->data));
    st = pith_plan_run(c->plan);
    if (st != PITH_OK)
        return pith_error_fill(c->err, st, "cannot calibrate: running %s failed (status %d)",
                               pith_data_sample_name(c->opts->data, i), (int)st);
    return check_sample(c, i);
}

static enum pith_status run_samples(struct calibration *c, uint64_t *n_seen)
{
    uint64_t total = pith_data_count(c->opts->data), done = 0;
    if (c->opts->n_samples && c->opts->n_samples < total)
        total = c->opts->n_samples;
    bool on = true;
    while (on && done < total) {
        enum pith_status st = run_sample(c, done);
        if (st != PITH_OK)
            return st;
        done++;
        on = !c->opts->progress || c->opts->progress(c->opts->user, done, total);
    }
    if (n_seen)
        *n_seen = done;
    return PITH_OK;
}

static struct value_range range_of(const struct pith_value *v)
{
    return (struct value_range){v->min, v->max, v->n_observed};
}

static void widen(struct pith_value *v, const struct value_range *by)
{
    struct value_range r = range_of(v);
    pith_range_merge(&r, by);
    if (r.n_observed == 0)
        return;
    v->min = r.min;
    v->max = r.max;
    v->n_observed = r.n_observed;
}

enum pith_status pith_calibrate(struct pith_model *m, const struct pith_calibrate_opts *opts,
                                uint64_t *n_seen, struct pith_error *err)
{
    struct calibration c = {.m = m, .opts = opts, .err = err, .nan_value = PITH_VALUE_NONE};
    enum pith_status st = check_input(&c);
    if (st == PITH_OK) {
        c.ranges = calloc(m->n_values + (size_t)1, sizeof *c.ranges);
        st = c.ranges ? make_plan(&c) : pith_error_no_memory(err);
    }
    if (st == PITH_OK)
        st = run_samples(&c, n_seen);
    for (uint32_t v = 0; st == PITH_OK && v < m->n_values; v++)
        widen(&m->values[v], &c.ranges[v]);
    pith_buffer_free(&c.file);
    free(c.memory);
    free(c.ranges);
    return st;
}

/* ---- merging ------------------------------------------------------------------------------------- */

static bool same_network(const struct pith_model *a, const struct pith_model *b)
{
    if (a->n_values != b->n_values || a->n_nodes != b->n_nodes)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        if (a->nodes[i].op != b->nodes[i].op || a->nodes[i].n_out != b->nodes[i].n_out)
            return false;
    }
    for (uint32_t v = 0; v < a->n_values; v++) {
        const struct pith_value *x = &a->values[v], *y = &b->values[v];
        if (x->type != y->type || x->rank != y->rank ||
            memcmp(x->dim, y->dim, x->rank * sizeof x->dim[0]) != 0)
            return false;
    }
    return true;
}

enum pith_status pith_calibrate_merge(struct pith_model *m, const struct pith_model *other,
                                      struct pith_error *err)
{
    if (!same_network(m, other))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot merge ranges: the two models are not the same network");
    for (uint32_t v = 0; v < m->n_values; v++) {
        struct value_range r = range_of(&other->values[v]);
        widen(&m->values[v], &r);
    }
    return PITH_OK;
}

void pith_calibrate_reset(struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++) {
        m->values[v].min = 1;
        m->values[v].max = 0;
        m->values[v].n_observed = 0;
    }
}
