/* SPDX-License-Identifier: MIT */
/* quantize.c - the stage: folds what can be folded, plans, rewrites, improves, and puts the network
 * of integers into the place of the float one when nothing can fail any more. */
#include "pith_quantize.h"
#include "core/op_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize/round/bias_correct.h"
#include "base/error_fill.h"
#include "quantize/transform/expand_recurrent.h"
#include "quantize/round/gptq_round.h"
#include "quantize/round/rounded_layers.h"
#include "quantize/transform/fold_affine.h"
#include "quantize/transform/integer_rewrite.h"
#include "quantize/layer/layer_bits.h"
#include "quantize/round/shared_round.h"
#include "quantize/layer/shared_weight.h"
#include "quantize/transform/split_product.h"
#include "quantize/transform/table_grid.h"
#include "quantize/layer/trained_grid.h"
#include "quantize/transform/transpose_weight.h"

static enum pith_status bad_option(struct pith_error *err, const char *why)
{
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: %s", why);
}

static enum pith_status check_options(const struct pith_quantize_opts *o, struct pith_error *err)
{
    if (o->size_bytes != sizeof *o)
        return bad_option(err, "option struct of another version");
    uint32_t bits = pith_activation_bits(o), most = bits == 16 ? 16 : 8;
    if (bits != 16 && (bits < 2 || bits > 8))
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "cannot quantize: activations of %u bits, supported are 2 to 8, and 16", bits);
    if (pith_weight_bits(o) < 2 || pith_weight_bits(o) > most)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot quantize: weights of %u bits, supported are 2 to %u",
                               pith_weight_bits(o), most);
    if ((unsigned)o->rounding > PITH_ROUND_ADAPTIVE)
        return bad_option(err, "unknown option value");
    if (!pith_quantize_has_data(o) && (o->rounding >= PITH_ROUND_GPTQ || o->bias_correct))
        return bad_option(err, "GPTQ rounding and bias correction need data");
    if (pith_quantize_has_data(o) && o->as_trained)
        return bad_option(err, "quantization-aware training sets the integers: give no data");
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

/* Where all layers stayed float, the message gives the first one's reason. */
static enum pith_status check_plan(const struct integer_plan *p, struct pith_error *err)
{
    for (uint32_t i = 0; i < p->m->n_nodes && p->n_layers + p->n_tables == 0; i++)
        if (p->node[i].why && pith_has_weight(p->m, &p->m->nodes[i]))
            return pith_error_fill(
                err, PITH_ERR_UNSUPPORTED,
                "cannot quantize: no layer can compute with integers; '%.200s': %s",
                p->m->nodes[i].name, p->node[i].why);
    return PITH_OK;
}

/* ---- report ---------------------------------------------------------------------------------- */

static const struct integer_layer *layer_of(const struct integer_network *net, uint32_t node)
{
    for (uint32_t i = 0; i < net->n_layers; i++)
        if (net->layers[i].node == node)
            return &net->layers[i];
    return NULL;
}

static struct pith_quantize_layer of_layer(const struct integer_plan *p,
                                           const struct integer_network *net, uint32_t i)
{
    const struct pith_node *node = &p->m->nodes[i];
    const struct integer_layer *l = layer_of(net, i);
    return (struct pith_quantize_layer){.tensor = p->m->values[node->in[1]].name,
                                        .n_weights = p->m->values[node->in[1]].constant->count,
                                        .weight_bits = l ? p->node[i].weight_bits : 0,
                                        .snr_db = l ? pith_layer_snr_db(l) : HUGE_VAL,
                                        .n_corrected = l ? l->n_corrected : 0,
                                        .sum_bits = !l        ? 0
                                                    : l->wide ? 64
                                                              : 32,
                                        .most_sum = l ? pith_layer_most_sum(l) : 0};
}

static struct pith_quantize_layer of_table(const struct integer_plan *p,
                                           const struct integer_table *t, uint32_t i)
{
    const struct pith_value *v = &p->m->values[p->m->nodes[i].in[0]];
    return (struct pith_quantize_layer){.tensor = v->name,
                                        .table = true,
                                        .n_weights = v->constant->count,
                                        .weight_bits = p->node[i].table ? t->bits : 0,
                                        .snr_db = p->node[i].table ? t->snr_db : HUGE_VAL};
}

/* tables: [the plan's n_nodes] */
static void fill_report(const struct integer_plan *p, const struct integer_network *net,
                        const struct integer_table *tables, struct pith_quantize_layer *layers,
                        uint32_t *n_layers)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        bool table = pith_is_table(p->m, node);
        if (!table && !pith_has_weight(p->m, node))
            continue;
        struct pith_quantize_layer r = table ? of_table(p, &tables[i], i) : of_layer(p, net, i);
        r.layer = node->name[0] ? node->name : p->m->values[node->out[0]].name;
        r.why = p->node[i].why;
        if (layers)
            layers[n] = r;
        n++;
    }
    if (n_layers)
        *n_layers = n;
}

/* ---- layer by layer -------------------------------------------------------------------------- */

struct improver {
    const struct pith_quantize_opts *opts;
    struct integer_network *net;
};

/* Where weights or what they read lose much, layers behind can make up for much. */
static bool has_goals(const struct pith_quantize_opts *o)
{
    bool few_bits = (pith_weight_bits(o) < 8 || pith_activation_bits(o) < 8) && !o->fixed_bits;
    return o->rounding == PITH_ROUND_ADAPTIVE || (o->rounding == PITH_ROUND_DEFAULT && few_bits);
}

/* The standard error of the correction needs independent samples. What is apart has the float
 * network's bias. */
static bool shifts_biases(const struct improver *i, const struct layer_inputs *in,
                          const struct integer_layer *l)
{
    return !l->apart && !i->opts->keep_biases && !in->in_loop;
}

static enum pith_status improve_layer(void *user, const struct layer_inputs *in,
                                      struct pith_error *err)
{
    const struct improver *i = user;
    struct integer_layer *l = &i->net->layers[in->layer];
    const bool shifts = shifts_biases(i, in, l),
               rounds = !pith_layer_is_shared(l) && !l->shared.both_ways;
    const size_t bytes = (size_t)l->shape.rows * sizeof *l->scale;
    double *step = malloc(bytes);
    enum pith_status st = step ? PITH_OK : PITH_ERR_MEMORY;
    if (!st)
        memcpy(step, l->scale, bytes);
    if (!st && i->opts->rounding != PITH_ROUND_NEAREST && rounds)
        st = pith_gptq_round(in, shifts, i->opts->runtime, l);
    if (!st && shifts)
        st = pith_bias_correct(in, i->opts->runtime, l);
    if (!st && rounds && i->opts->rounded && !has_goals(i->opts))
        pith_rounded_keep(i->opts->rounded, in->product->name, step, l);
    free(step);
    return st ? pith_error_no_memory(err) : PITH_OK;
}

static enum pith_status improve(const struct integer_plan *plan, struct integer_network *net,
                                struct pith_error *err)
{
    const struct pith_quantize_opts *opts = plan->opts;
    struct improver i = {.opts = opts, .net = net};
    const struct integer_walk walk = {
        .net = net, .plan = plan, .goals = has_goals(opts), .improve = improve_layer, .user = &i};
    if (!pith_quantize_has_data(opts) || net->n_layers == 0 ||
        (opts->keep_biases && opts->rounding == PITH_ROUND_NEAREST) ||
        (opts->rounded && !has_goals(opts) && pith_rounded_take(opts->rounded, net)))
        return PITH_OK;
    enum pith_status st =
        opts->rounding == PITH_ROUND_NEAREST ? PITH_OK : pith_round_shared(&walk, err);
    return st ? st : pith_walk_integers(&walk, err);
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* Drops grids that a QuantizeLinear or DequantizeLinear holds; not those of fewer integers than
 * their type. */
static void drop_redundant_grids(struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (node->op != PITH_OP_QUANTIZE && node->op != PITH_OP_DEQUANTIZE)
            continue;
        struct pith_value *v =
            &m->values[node->op == PITH_OP_QUANTIZE ? node->out[0] : node->in[0]];
        if (v->grid && v->grid->bits == 8 * pith_type_bytes(v->type))
            v->grid = NULL;
    }
}

/* What was observed has served its purpose; extremes stay, and the grids of values that are
 * integers. */
static void commit(struct pith_model *m, const struct integer_network *net)
{
    for (uint32_t v = 0; v < net->m.n_values; v++) {
        net->m.values[v].stats = NULL;
        if (net->m.values[v].type == PITH_F32)
            net->m.values[v].grid = NULL;
    }
    m->nodes = net->m.nodes;
    m->n_nodes = net->m.n_nodes;
    m->values = net->m.values;
    m->n_values = net->m.n_values;
    m->inputs = net->m.inputs;
    m->outputs = net->m.outputs;
    drop_redundant_grids(m);
}

/* Folds and plans. */
static enum pith_status begin(struct integer_plan *plan, struct pith_error *err)
{
    enum pith_status st = check_options(plan->opts, err);
    if (!st)
        st = check_network(plan->m, err);
    if (!st)
        st = pith_model_fold_batch_norm(plan->m, NULL, err);
    if (!st)
        st = pith_fold_affine(plan->m, err);
    if (!st)
        st = pith_transpose_weights(plan->m, plan->opts, err);
    if (!st && !plan->opts->as_trained)
        st = pith_expand_recurrent(plan->m, plan->opts, err);
    if (!st && !plan->opts->as_trained)
        st = pith_split_products(plan->m, plan->opts, &plan->few, err);
    if (!st)
        st = pith_integer_plan(plan, err);
    if (!st)
        st = pith_share_weights(plan, err);
    if (!st)
        pith_choose_layer_bits(plan);
    if (!st)
        pith_share_widths(plan);
    if (!st)
        st = pith_set_scales_apart(plan, err);
    if (!st)
        st = pith_share_both_ways(plan, err);
    return st ? st : check_plan(plan, err);
}

enum pith_status pith_quantize_find_places(struct pith_model *m,
                                           const struct pith_quantize_opts *opts,
                                           struct pith_quantize_places *places,
                                           struct pith_error *err)
{
    if (!m || !opts || !places || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct integer_plan plan = {.m = m, .opts = opts};
    enum pith_status st = begin(&plan, err);
    if (!st)
        st = pith_integer_places(&plan, places, err);
    pith_integer_plan_end(&plan);
    return st;
}

enum pith_status pith_quantize(struct pith_model *m, const struct pith_quantize_opts *opts,
                               struct pith_quantize_layer *layers, uint32_t *n_layers,
                               struct pith_error *err)
{
    if (!m || !opts)
        return PITH_ERR_ARGUMENT;
    struct integer_plan plan = {.m = m, .opts = opts};
    struct integer_network net;
    struct integer_table *tables = NULL;
    enum pith_status st = begin(&plan, err);
    if (!st)
        st = pith_integer_rewrite(&plan, &net, err);
    if (!st)
        st = improve(&plan, &net, err);
    if (!st)
        st = pith_write_tables(&plan, &net, &tables, err);
    if (!st) {
        fill_report(&plan, &net, tables, layers, n_layers);
        commit(m, &net);
    }
    free(tables);
    pith_integer_plan_end(&plan);
    return st;
}
