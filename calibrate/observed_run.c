/* SPDX-License-Identifier: MIT */
/* observed_run.c - a plan without fusion, a feed, and the way from steps to values. An input's
 * memory is reused once no step reads it any more, so inputs are observed before a run.
 * An observed plan fuses nothing: a value lies where the steps behind it read it, so what is
 * changed in it counts. */
#include "observed_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "pith_host.h"

static bool same_shape(const struct observed_run *run, const struct pith_value *v,
                       const struct pith_tensor *t)
{
    return v->type == t->type && v->rank == t->rank &&
           (run->feeder.uneven || memcmp(v->dim, t->dim, v->rank * sizeof v->dim[0]) == 0);
}

static void show(struct observed_run *run, uint32_t value, const struct pith_tensor *t, void *x)
{
    run->shown = t->dim;
    if (t->type == PITH_F32)
        run->see(run->user, value, x, (size_t)(t->bytes / sizeof(float)));
    else if (run->see_other)
        run->see_other(run->user, value, x, (size_t)t->bytes);
}

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct observed_run *run = user;
    const struct pith_node *node = &run->m->nodes[layer->step]; /* open counted */
    uint32_t value = node->out[layer->output];
    if (node->op != layer->op || !same_shape(run, &run->m->values[value], out))
        run->mismatch = true;
    else
        show(run, value, out, (void *)(uintptr_t)out->data);
}

/* Among the first n. */
static bool is_listed(const struct observed_run *run, uint32_t value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (run->answer[i] == value)
            return true;
    return false;
}

/* Outputs, by whose numbers the feed takes states, and behind them what else is an answer. */
static bool list_answers(struct observed_run *run)
{
    const struct pith_model *m = run->m;
    run->answer = calloc(2 * (size_t)m->n_outputs + 1, sizeof *run->answer);
    for (uint32_t i = 0; i < m->n_outputs && run->answer; i++)
        run->answer[run->n_answers++] = m->outputs[i];
    for (uint32_t i = 0; i < m->n_outputs && run->answer; i++) {
        const uint32_t value = pith_answer_value(m, i);
        if (!is_listed(run, value, run->n_answers))
            run->answer[run->n_answers++] = value;
    }
    return run->answer != NULL;
}

/* Each once. */
static void show_answers(struct observed_run *run)
{
    struct pith_plan *plan = pith_engine_plan(run->engine);
    for (uint32_t i = 0; i < run->n_answers; i++) {
        struct pith_tensor t;
        const void *x = pith_plan_output_data(plan, i);
        if (x && !is_listed(run, run->answer[i], i) && !pith_plan_output(plan, i, &t))
            show(run, run->answer[i], &t, (void *)(uintptr_t)x);
    }
}

void pith_observed_run_inputs(struct observed_run *run)
{
    struct pith_plan *plan = pith_engine_plan(run->engine);
    for (uint32_t i = 0; i < run->m->n_inputs; i++) {
        struct pith_tensor t;
        void *x = pith_plan_input_data(plan, i);
        if (x && !pith_plan_input(plan, i, &t))
            show(run, run->m->inputs[i], &t, x);
    }
}

enum pith_status pith_calibrate_check(const struct pith_model *m,
                                      const struct pith_calibrate_opts *opts,
                                      struct pith_error *err)
{
    if (opts->size_bytes != sizeof *opts || (!opts->data && !opts->feed))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot calibrate: no data given");
    if (opts->feed)
        return PITH_OK;
    if (m->n_inputs != 1)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot calibrate: the model has %u inputs, data is for one",
                               m->n_inputs);
    const struct pith_value *in = &m->values[m->inputs[0]];
    uint64_t elems = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        elems *= in->dim[i];
    if (elems != pith_data_elems(opts->data))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot calibrate: input '%s' takes %llu values, a sample has %llu",
                               in->name, (unsigned long long)elems,
                               (unsigned long long)pith_data_elems(opts->data));
    return PITH_OK;
}

const char *pith_calibrate_sample_name(const struct pith_calibrate_opts *opts, uint64_t i)
{
    struct pith_data *data = opts->data;
    for (uint32_t k = 0; opts->feed && !data && k < opts->feed->n_inputs; k++)
        data = opts->feed->input[k].data;
    return data ? pith_data_sample_name(data, i) : "the inputs given";
}

enum pith_status pith_observed_run_open(struct observed_run *run, const struct pith_model *m,
                                        const struct pith_calibrate_opts *opts,
                                        struct pith_error *err)
{
    struct pith_engine_opts e = {.size_bytes = sizeof e,
                                 .threads = opts->threads,
                                 .cpu_mask = opts->cpu_mask,
                                 .ordered = true, /* ranges are alike on every CPU */
                                 .weights_of = run->weights_of,
                                 .user = run,
                                 .observe = run->answers_only ? NULL : observe};
    struct pith_model ends = *m;
    run->m = m;
    run->opts = opts;
    run->one.data = opts->data;
    run->feed = opts->feed ? *opts->feed
                           : (struct pith_feed){.size_bytes = sizeof run->feed,
                                                .n_inputs = 1,
                                                .input = &run->one,
                                                .own_sizes = pith_data_uneven(opts->data) &&
                                                             pith_data_pictures(opts->data)};
    run->feed.own_sizes = run->feed.own_sizes && run->own_sizes;
    if (run->answers_only && !list_answers(run))
        return pith_error_no_memory(err);
    if (run->answers_only) {
        ends.outputs = run->answer;
        ends.n_outputs = run->n_answers;
    }
    enum pith_status st = pith_engine_open(&ends, &e, &run->engine, err);
    if (st)
        return st;
    struct pith_plan *plan = pith_engine_plan(run->engine);
    if (!run->answers_only && pith_plan_layer_count(plan) != m->n_nodes)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "cannot calibrate: the runtime has %u steps, the model has %u nodes",
                               pith_plan_layer_count(plan), m->n_nodes);
    st = pith_feeder_open(&run->feeder, plan, &run->feed, false, err);
    if (run->feeder.uneven)
        run->feeder.engine = run->engine; /* which plans for each size */
    return st;
}

void pith_observed_run_close(struct observed_run *run)
{
    pith_feeder_close(&run->feeder);
    pith_engine_close(run->engine);
    free(run->answer);
}

uint64_t pith_observed_run_samples(const struct observed_run *run)
{
    uint64_t n = run->feeder.n_samples, wanted = run->opts->n_samples;
    return wanted && wanted < n ? wanted : n;
}

enum pith_status pith_observed_run_sample(struct observed_run *run, uint64_t i,
                                          struct pith_error *err)
{
    enum pith_status st = pith_feeder_sample(&run->feeder, i, err);
    for (uint64_t step = 0; step < run->feeder.steps && !st; step++) {
        st = pith_feeder_step(&run->feeder, step, 0, err);
        if (st)
            break;
        if (!run->answers_only)
            pith_observed_run_inputs(run);
        st = pith_plan_run(pith_engine_plan(run->engine));
        if (st)
            return pith_error_fill(err, st, "cannot calibrate: running %s failed: %s",
                                   pith_calibrate_sample_name(run->opts, i), pith_status_text(st));
        show_answers(run);
        pith_feeder_keep(&run->feeder);
    }
    if (!st && run->mismatch)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "cannot calibrate: the runtime's steps are not the model's nodes");
    return st;
}

/* Probabilities hide how far apart the answers were. */
uint32_t pith_answer_value(const struct pith_model *m, uint32_t output)
{
    uint32_t v = m->outputs[output];
    const struct pith_node *node = pith_model_producer(m, v);
    bool softmax = node && (node->op == PITH_OP_SOFTMAX || node->op == PITH_OP_LOG_SOFTMAX);
    return softmax ? node->in[0] : v;
}
