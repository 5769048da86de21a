/* SPDX-License-Identifier: MIT */
/* quantize.c - the stage: folds what can be folded, plans, rewrites, improves, and puts the network
 * of integers into the place of the float one when nothing can fail any more. */
#include "pith_quantize.h"

#include <math.h>
#include <stdlib.h>

#include "bias_correct.h"
#include "error_fill.h"
#include "feedback_round.h"
#include "fold_affine.h"
#include "integer_rewrite.h"

static enum pith_status bad_option(struct pith_error *err, const char *why)
{
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: %s", why);
}

static enum pith_status check_options(const struct pith_quantize_opts *o, struct pith_error *err)
{
    if (o->size_bytes != sizeof *o)
        return bad_option(err, "option struct of another version");
    if (o->weight_bits == 1 || o->weight_bits > 8)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot quantize: weights of %u bits, allowed are 2 to 8",
                               o->weight_bits);
    if ((unsigned)o->rounding > PITH_ROUND_FEEDBACK)
        return bad_option(err, "unknown option value");
    if (!o->data && (o->rounding == PITH_ROUND_FEEDBACK || o->bias_correct))
        return bad_option(err, "feedback rounding and bias correction need data");
    if (o->bias_correct && o->keep_biases)
        return bad_option(err, "biases cannot be both corrected and kept");
    return PITH_OK;
}

static bool is_calibrated(const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].grid || m->values[v].n_observed > 0)
            return true;
    return false;
}

static enum pith_status check_network(const struct pith_model *m, struct pith_error *err)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_has_weight(m, &m->nodes[i]))
            return is_calibrated(m)
                       ? PITH_OK
                       : bad_option(err,
                                    "no ranges of activations: calibrate it first, or give data");
    return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                           "cannot quantize: no layer has float weights");
}

/* The first layer that stayed float tells why, when all did. */
static enum pith_status check_plan(const struct integer_plan *p, struct pith_error *err)
{
    for (uint32_t i = 0; i < p->m->n_nodes && p->n_layers == 0; i++)
        if (p->node[i].why)
            return pith_error_fill(
                err, PITH_ERR_UNSUPPORTED,
                "cannot quantize: no layer can compute with integers; '%.200s': %s",
                p->m->nodes[i].name, p->node[i].why);
    return PITH_OK;
}

/* ---- report
 * ---------------------------------------------------------------------------------------- */

static const struct integer_layer *layer_of(const struct integer_network *net, uint32_t node)
{
    for (uint32_t i = 0; i < net->n_layers; i++)
        if (net->layers[i].node == node)
            return &net->layers[i];
    return NULL;
}

static void fill_report(const struct integer_plan *p, const struct integer_network *net,
                        struct pith_quantize_layer *layers, uint32_t *n_layers)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (!pith_has_weight(p->m, node))
            continue;
        const struct integer_layer *l = layer_of(net, i);
        struct pith_quantize_layer r = {.layer = node->name[0] ? node->name
                                                               : p->m->values[node->out[0]].name,
                                        .tensor = p->m->values[node->in[1]].name,
                                        .why = p->node[i].why,
                                        .n_weights = p->m->values[node->in[1]].constant->count,
                                        .snr_db = l ? pith_layer_snr_db(l) : HUGE_VAL,
                                        .n_corrected = l ? l->n_corrected : 0};
        if (layers)
            layers[n] = r;
        n++;
    }
    if (n_layers)
        *n_layers = n;
}

/* ---- layer by layer
 * --------------------------------------------------------------------------------- */

struct improver {
    const struct pith_quantize_opts *opts;
    struct integer_network *net;
};

static enum pith_status improve_layer(void *user, const struct layer_inputs *in,
                                      struct pith_error *err)
{
    struct improver *i = user;
    struct integer_layer *l = &i->net->layers[in->layer];
    enum pith_status st = PITH_OK;
    if (i->opts->rounding != PITH_ROUND_NEAREST)
        st = pith_feedback_round(in, l);
    if (!st && !i->opts->keep_biases)
        st = pith_bias_correct(in, l);
    return st ? pith_error_no_memory(err) : PITH_OK;
}

static enum pith_status improve(const struct pith_quantize_opts *opts, struct integer_network *net,
                                struct pith_error *err)
{
    struct improver i = {.opts = opts, .net = net};
    const struct layer_walk walk = {.net = net, .opts = opts, .improve = improve_layer, .user = &i};
    if (!opts->data || (opts->keep_biases && opts->rounding == PITH_ROUND_NEAREST))
        return PITH_OK;
    return pith_walk_layers(&walk, err);
}

/* ---- the stage
 * ------------------------------------------------------------------------------------- */

/* What was observed has served its purpose; only extremes stay. */
static void commit(struct pith_model *m, const struct integer_network *net)
{
    for (uint32_t v = 0; v < net->m.n_values; v++) {
        net->m.values[v].stats = NULL;
        net->m.values[v].grid = NULL;
    }
    m->nodes = net->m.nodes;
    m->n_nodes = net->m.n_nodes;
    m->values = net->m.values;
    m->n_values = net->m.n_values;
    m->inputs = net->m.inputs;
    m->outputs = net->m.outputs;
}

enum pith_status pith_quantize(struct pith_model *m, const struct pith_quantize_opts *opts,
                               struct pith_quantize_layer *layers, uint32_t *n_layers,
                               struct pith_error *err)
{
    struct integer_plan plan = {.m = m, .opts = opts};
    struct integer_network net;
    enum pith_status st = check_options(opts, err);
    if (!st)
        st = check_network(m, err);
    if (!st)
        st = pith_model_fold_batch_norm(m, NULL, err);
    if (!st)
        st = pith_fold_affine(m, err);
    if (!st)
        st = pith_integer_plan(&plan, err);
    if (!st)
        st = check_plan(&plan, err);
    if (!st)
        st = pith_integer_rewrite(&plan, &net, err);
    if (!st)
        st = improve(opts, &net, err);
    if (!st) {
        fill_report(&plan, &net, layers, n_layers);
        commit(m, &net);
    }
    pith_integer_plan_end(&plan);
    return st;
}
