/* SPDX-License-Identifier: MIT */
/* tape_build.c - building a tape: what moves, shapes at the slice's batch, memory. */
#include "check_batch.h"
#include "base/cpu_allowed.h"
#include "kernels/kernel_ordered.h"
#include "model/operator_kind.h"
#include "train/state/ranks.h"
#include "tape_state.h"
#include "train/kernels/train_kernels.h"
#include "training_graph.h"
#include "core/op_number.h"

#include <stdlib.h>
#include <string.h>

void pith_tape_free(struct tape *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->n_steps; i++)
        for (uint32_t s = 0; s < t->n_slices && t->step[i].node; s++)
            if (t->step[i].node[s].state && t->step[i].op->release)
                t->step[i].op->release(&t->step[i].node[s]);
    for (uint32_t s = 0; s < t->n_slices && t->prim; s++)
        pith_prim_free(t->prim[s]);
    pith_threads_stop(&t->pool);
    for (uint32_t i = 0; i < t->memory.n; i++)
        free(t->memory.of[i]);
    free(t->memory.of);
    pith_model_free(t->graph);
    free(t);
}

/* ---- what moves ------------------------------------------------------------------------------ */

/* Whether a constant moves as input i of the operator. A single number that is added or multiplied
 * stands in a formula. An Identity that rounds has its grid in input 1. */
static bool moves(const struct pith_node *node, uint32_t i, uint64_t count)
{
    if (node->op == PITH_OP_IDENTITY)
        return i == 1;
    if (pith_op_is(node->op, TRAIT_ARITHMETIC) && count == 1)
        return false;
    return i < 8 && (pith_op_traits(node->op).parameters >> i & 1u);
}

/* The running mean and variance of a batch normalisation. */
static void find_statistic(struct tape *t, const struct pith_node *node, uint32_t v)
{
    const struct pith_const *constant = t->m->values[v].constant;
    if (!constant || t->statistic_of[v] != UINT32_MAX ||
        (node->in[BN_MEAN] != v && node->in[BN_VAR] != v))
        return;
    t->statistic_of[v] = t->n_statistics;
    t->statistic[t->n_statistics++] = (struct tape_parameter){.value = v, .count = constant->count};
}

static void find_parameters(struct tape *t)
{
    const struct pith_model *m = t->m;
    for (uint32_t v = 0; v < t->n_values; v++)
        t->parameter_of[v] = t->statistic_of[v] = UINT32_MAX;
    for (uint32_t n = 0; n < m->n_nodes; n++)
        for (uint32_t i = 0; i < m->nodes[n].n_in; i++) {
            uint32_t v = m->nodes[n].in[i];
            if (v == PITH_VALUE_NONE)
                continue;
            if (m->nodes[n].op == PITH_OP_BATCH_NORM)
                find_statistic(t, &m->nodes[n], v);
            const struct pith_value *value = &m->values[v];
            if (!value->constant || value->type != PITH_F32 ||
                !moves(&m->nodes[n], i, value->constant->count))
                continue;
            if (t->parameter_of[v] == UINT32_MAX) {
                t->parameter_of[v] = t->n_parameters;
                t->parameter[t->n_parameters++] =
                    (struct tape_parameter){.value = v, .count = value->constant->count};
                t->wants_grad[v] = true;
            }
            if (i == 1 && pith_op_has_weight(m->nodes[n].op))
                t->parameter[t->parameter_of[v]].is_weight = true;
        }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool is_real(enum pith_type type)
{
    return type == PITH_F32 || type == PITH_F16 || type == PITH_BF16 || type == PITH_F64;
}

static enum pith_status shape_node(struct tape *t, struct tape_shapes *s,
                                   const struct pith_node *node, struct pith_error *err)
{
    const struct op_info *info = pith_op_get(node->op);
    bool wants = false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        s->in[i] = node->in[i] == PITH_VALUE_NONE ? NULL : &s->view[node->in[i]];
        wants = wants || (s->in[i] && t->wants_grad[node->in[i]]);
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        s->out[i] = &s->view[node->out[i]];
    struct op_args args = {.info = info,
                           .attr = node->attr,
                           .n_in = node->n_in,
                           .n_out = node->n_out,
                           .in = s->in,
                           .out = s->out};
    if (info->flags & OP_CONTROL)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "node '%.100s' (%s): branches cannot be trained", node->name,
                              pith_node_text(node));
    if (info->shape(&args))
        return pith_error_set(
            err, PITH_ERR_UNSUPPORTED,
            "node '%.100s' (%s) does not follow a batch of %u: import the network "
            "with its batch open",
            node->name, pith_node_text(node), t->opts.batch / t->n_slices);
    bool needs = false; /* indices and conditions do not move */
    for (uint32_t i = 0; i < node->n_out; i++) {
        t->wants_grad[node->out[i]] = wants && s->out[i]->type == PITH_F32;
        needs = needs || (wants && is_real(s->out[i]->type));
    }
    if (needs && (!pith_grad_of(node) || s->out[0]->type != PITH_F32))
        return pith_error_set(err, PITH_ERR_UNSUPPORTED, "node '%.100s' (%s) has no gradient",
                              node->name, pith_node_text(node));
    return PITH_OK;
}

static enum pith_status shape_all(struct tape *t, struct tape_shapes *s, struct pith_error *err)
{
    const struct pith_model *m = t->m;
    for (uint32_t v = 0; v < m->n_values; v++) {
        s->view[v].type = m->values[v].type;
        s->view[v].shape.rank = m->values[v].rank;
        memcpy(s->view[v].shape.dim, m->values[v].dim, sizeof s->view[v].shape.dim);
    }
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        struct shape *x = &s->view[m->inputs[i]].shape;
        if (m->batch_open)
            x->dim[0] = t->opts.batch / t->n_slices;
    }
    enum pith_status status = PITH_OK;
    for (uint32_t n = 0; n < m->n_nodes && !status; n++)
        status = shape_node(t, s, &m->nodes[n], err);
    return status;
}

static enum pith_status find_shapes(struct tape *t, struct tape_shapes *s, struct pith_error *err)
{
    size_t in = 1, out = 1;
    for (uint32_t n = 0; n < t->m->n_nodes; n++) {
        in = t->m->nodes[n].n_in > in ? t->m->nodes[n].n_in : in;
        out = t->m->nodes[n].n_out > out ? t->m->nodes[n].n_out : out;
    }
    s->view = pith_tape_take(t, t->n_values + 1u, sizeof *s->view);
    s->in = pith_tape_take(t, in, sizeof *s->in);
    s->out = pith_tape_take(t, out, sizeof *s->out);
    if (!s->view || !s->in || !s->out)
        return pith_tape_no_memory(err);
    return shape_all(t, s, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status find_graph(struct tape *t, struct pith_error *err)
{
    const struct pith_model *m = t->m;
    uint32_t samples = t->opts.batch / t->n_slices;
    if (!pith_training_graph_wanted(m, samples))
        return PITH_OK;
    enum pith_status status = pith_training_graph(m, samples, &t->graph, err);
    if (!status)
        t->m = t->graph;
    if (!status && !m->batch_open && samples > 1 && !t->opts.unchecked)
        status = pith_check_batch(m, t->opts.threads, err);
    return status;
}

static enum pith_status start(struct tape *t, struct pith_error *err)
{
    const struct pith_model *m = t->m;
    t->parameter = pith_tape_take(t, m->n_values + 1u, sizeof *t->parameter);
    t->parameter_of = pith_tape_take(t, m->n_values + 1u, sizeof *t->parameter_of);
    t->statistic = pith_tape_take(t, m->n_values + 1u, sizeof *t->statistic);
    t->statistic_of = pith_tape_take(t, m->n_values + 1u, sizeof *t->statistic_of);
    t->wants_grad = pith_tape_take(t, m->n_values + 1u, sizeof *t->wants_grad);
    t->primary = pith_tape_take(t, m->n_values + 1u, sizeof *t->primary);
    t->tensor = pith_tape_take(t, (uint64_t)t->n_slices * m->n_values * TAPE_LAYOUTS + 1,
                               sizeof *t->tensor);
    t->prim = pith_tape_take(t, t->n_slices, sizeof *t->prim);
    if (!t->parameter || !t->parameter_of || !t->statistic || !t->statistic_of || !t->wants_grad ||
        !t->primary || !t->tensor || !t->prim)
        return pith_tape_no_memory(err);
    for (uint32_t s = 0; s < t->n_slices; s++)
        if (pith_prim_new(pith_cpu_allowed(), t->opts.ordered, &t->prim[s]))
            return pith_tape_no_memory(err);
    t->n_own = t->opts.slices ? t->n_slices : pith_ranks_slices(t->opts.ranks, &t->first);
    if (t->n_own < t->n_slices) {
        t->ranks_scratch = pith_tape_take(t, RANKS_SCRATCH_BYTES, 1);
        if (!t->ranks_scratch)
            return pith_tape_no_memory(err);
    }
    pith_kernels_fill(&t->kernels, pith_cpu_allowed());
    t->rows = pith_train_kernels().rows;
    if (t->opts.ordered) {
        pith_ordered_kernels_fill(&t->kernels.dense, pith_cpu_allowed());
        t->rows = &pith_channel_rows_base;
    }
    pith_opts_init(&t->pool, sizeof t->pool);
    enum pith_status status = pith_threads_start(&t->pool, t->opts.threads);
    return status ? pith_error_set(err, status, "cannot start threads") : PITH_OK;
}

enum pith_status pith_tape_new(const struct pith_model *m, const struct tape_opts *opts,
                               struct tape **t, struct pith_error *err)
{
    const uint32_t n_slices = opts->slices ? opts->slices : PITH_TRAIN_SLICES;
    if (opts->batch == 0 || opts->batch % n_slices)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "a batch of %u is not a multiple of %u",
                              opts->batch, n_slices);
    struct tape *made = calloc(1, sizeof *made);
    struct tape_shapes shapes;
    if (!made)
        return pith_tape_no_memory(err);
    made->m = m;
    made->opts = *opts;
    made->n_slices = n_slices;
    enum pith_status status = find_graph(made, err);
    made->n_values = made->m->n_values;
    if (!status)
        status = start(made, err);
    if (!status) {
        find_parameters(made);
        status = find_shapes(made, &shapes, err);
    }
    if (!status)
        status = pith_tape_make_steps(made, &shapes, err);
    if (status)
        pith_tape_free(made);
    else
        *t = made;
    return status;
}
