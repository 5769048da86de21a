/* SPDX-License-Identifier: MIT */
/* integer_plan.c - decides, before anything is rewritten, what computes with integers.
 *
 * Layers with constant weights whose input has a grid become integer. Between two of them a value
 * is kept as integers when it comes from a layer and leads to one through operators that may stand
 * between a DequantizeLinear and a QuantizeLinear without harm (`is_carried`): adding, pooling,
 * moving, activations. What comes before the first layer and behind the last one stays float.
 *
 * Two values are never rounded, for nothing else reads them: a layer's sums before the Relu or Clip
 * that its saturation does, and what an operator in floats gives to an activation.
 *
 * In the bodies of loops and branches layers alone compute with integers. What a recurrent network
 * remembers is read again in the next step, so its gates and states stay float: on bytes, errors of
 * all steps would add up. */
#include "integer_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "radix.h"
#include "table_choice.h"

/* |x - zero| <= 255, |w| <= 127, and the bias takes at most half of what 31 bits hold. */
#define MOST_SUMMED ((1u << 30) / (255u * 127u))
/* Of 16 bits each, in 52 bits (integer_layer.h). */
#define MOST_SUMMED_WIDE (1u << 20)

bool pith_has_weight(const struct pith_model *m, const struct pith_node *node)
{
    return pith_node_weight(m, node) != PITH_VALUE_NONE;
}

struct layer_shape pith_layer_shape(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *w = &m->values[node->in[1]];
    uint64_t groups = pith_op_groups(node->op, node->attr);
    return (struct layer_shape){w->dim[0], w->constant->count / w->dim[0], groups};
}

static uint64_t channels_read(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *w = &m->values[node->in[1]];
    return (uint64_t)w->dim[1] * pith_op_groups(node->op, node->attr);
}

/* Does it read values on such a grid: one scale, or one for each of its channels? (One that mixes
 * channels has their scales in its weights.) */
static bool layer_takes_scales(const struct pith_model *m, const struct pith_node *node,
                               const struct pith_grid *g)
{
    const struct pith_value *x = &m->values[node->in[0]];
    bool by_channel = pith_op_is(node->op, TRAIT_CHANNELS_FIRST) || x->rank == 2;
    return g->n == 1 || (by_channel && g->axis == 1 && g->n == channels_read(m, node));
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* Sums, products and means of what is rounded are off by about as much as it is, functions of one
 * input by as much as they are steep; a quotient (Div) is off by any amount. A PRelu is a product
 * with slopes. */
static bool is_carried(uint32_t op)
{
    if (op == PITH_OP_DIV)
        return false;
    return op == PITH_OP_PRELU ||
           pith_op_is(op, TRAIT_ARITHMETIC | TRAIT_AVERAGES | TRAIT_UNARY | TRAIT_MOVES);
}

/* What a Pad of a constant writes is the integer 0, so that has to mean 0. */
bool pith_moves_elements(const struct pith_node *node, int32_t zero_point)
{
    bool constant_pad = node->op == PITH_OP_PAD && node->attr[ATTR_PAD_MODE] == 0;
    return pith_op_moves(node->op) &&
           (!constant_pad || (zero_point == 0 && node->attr[ATTR_PAD_VALUE] == 0));
}

/* Is a grid one that the options request? */
static bool grid_is_requested(const struct integer_plan *p, const struct pith_grid *g)
{
    return p->opts->as_trained ? g->bits <= 8 : g->bits == pith_activation_bits(p->opts);
}

bool pith_takes_grid(const struct pith_node *node)
{
    return pith_op_is(node->op, TRAIT_MOVES | TRAIT_SELECTS) ||
           (node->op == PITH_OP_RESIZE && node->attr[ATTR_RESIZE_MODE] == 0);
}

/* A bias of one number, or one for each row of the weight. */
static bool bias_fits(const struct pith_model *m, const struct pith_node *node, uint64_t rows)
{
    uint32_t bias = pith_node_bias(node);
    if (bias == PITH_VALUE_NONE)
        return true;
    const struct pith_value *b = &m->values[bias];
    if (!b->constant || b->type != PITH_F32)
        return false;
    return b->constant->count == 1 || (b->constant->count == rows && b->dim[b->rank - 1] == rows);
}

static bool weight_is_by_row(const struct pith_model *m, const struct pith_node *node)
{
    bool matrix = m->values[node->in[1]].rank == 2;
    return pith_node_by_rows(node) && (matrix || pith_op_is(node->op, TRAIT_CHANNELS_FIRST));
}

/* INT8 is as fast as it is because of its 32 bits. */
static uint32_t most_summed(const struct pith_quantize_opts *o)
{
    return o->fixed_bits || pith_activation_bits(o) > 8 ? MOST_SUMMED_WIDE : MOST_SUMMED;
}

/* Why the node cannot be a layer of integers; NULL: it can. */
static const char *obstacle(const struct integer_plan *p, const struct pith_node *node)
{
    const struct pith_model *m = p->m;
    if (pith_op_is(node->op, TRAIT_RECURS))
        return "it has an open length, sequence lengths, other activations, one step without a "
               "state, or no ranges";
    if (!pith_op_traits(node->op).integer_op)
        return "the operator has no integer form";
    if (!weight_is_by_row(m, node))
        return "its weight is not stored by output channel";
    struct layer_shape s = pith_layer_shape(m, node);
    if (!bias_fits(m, node, s.rows))
        return "its bias does not have one value per output channel";
    if (s.cols > most_summed(p->opts))
        return "its sums may exceed 32 bits";
    const struct pith_value *x = &m->values[node->in[0]];
    if (x->constant || x->rank < 2)
        return "its input is constant, or has fewer than 2 axes";
    const struct pith_grid *g = p->value[node->in[0]].grid;
    if (!g)
        return x->n_observed > 0 && (isinf(x->min) || isinf(x->max))
                   ? "its input was infinite for some sample"
                   : "its input was not calibrated";
    if (!grid_is_requested(p, g))
        return "its input was calibrated for other bits";
    if (!layer_takes_scales(m, node, g))
        return "its input has several scales, and not one per channel";
    return NULL;
}

bool pith_is_kept(const struct pith_model *m, const struct pith_quantize_opts *opts,
                  const struct pith_node *node, bool *used)
{
    uint32_t weight = node->in[pith_op_traits(node->op).weight_input]; /* a table's is input 0 */
    const struct pith_weight_ref ref = {.layer = node->name[0] ? node->name
                                                               : m->values[node->out[0]].name,
                                        .tensor = m->values[weight].name};
    bool kept = false;
    for (uint32_t i = 0; i < opts->n_keep; i++) {
        bool hit = pith_weight_matches(&ref, opts->keep[i]);
        if (used)
            used[i] |= hit;
        kept |= hit;
    }
    return kept;
}

/* By powers of two along the last axis, as pith_smooth has it for the products behind: what comes
 * in would be on one grid with its large channels. */
static bool is_divided(const struct pith_model *m, const struct pith_node *node)
{
    if (node->op != PITH_OP_MUL || m->values[node->in[1]].rank != 1)
        return false;
    const struct pith_value *by = &m->values[node->in[1]];
    if (!by->constant || by->type != PITH_F32 || by->constant->count < 2)
        return false;
    int e;
    for (uint64_t j = 0; j < by->constant->count; j++)
        if (frexpf(((const float *)by->constant->data)[j], &e) != 0.5f)
            return false;
    return true;
}

static void choose_roles(struct integer_plan *p, bool *used)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        struct node_plan *n = &p->node[i];
        n->swallowed = n->add = NODE_NONE;
        depth += pith_opens_body(node->op);
        depth -= pith_closes_body(node->op);
        if (pith_has_weight(p->m, node)) {
            bool kept = pith_is_kept(p->m, p->opts, node, used);
            bool few = p->few && p->few[i];
            n->why = kept ? "kept" : few ? "it has few columns, in a loop" : obstacle(p, node);
            n->role = n->why ? ROLE_FLOAT : ROLE_LAYER;
            p->n_layers += n->role == ROLE_LAYER;
        } else if (pith_is_table(p->m, node)) {
            n->why = pith_is_kept(p->m, p->opts, node, used) ? "kept" : NULL;
        } else if (!depth && is_carried(node->op) && !is_divided(p->m, node)) {
            n->role = ROLE_CARRIED;
        }
    }
}

/* What was trained has the grids that it was trained with. */
static void choose_tables(struct integer_plan *p)
{
    for (uint32_t i = 0; i < p->m->n_nodes && !p->opts->as_trained; i++) {
        struct node_plan *n = &p->node[i];
        if (!pith_is_table(p->m, &p->m->nodes[i]) || n->why)
            continue;
        n->why = pith_table_obstacle(p, i);
        n->table = !n->why;
        p->n_tables += n->table;
    }
}

static enum pith_status choose_layers(struct integer_plan *p, struct pith_error *err)
{
    bool *used = calloc(p->opts->n_keep + (size_t)1, sizeof *used);
    if (!used)
        return pith_error_no_memory(err);
    choose_roles(p, used);
    choose_tables(p);
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < p->opts->n_keep && !st; i++)
        if (!used[i])
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: no layer matches '%s'",
                                 p->opts->keep[i]);
    free(used);
    return st;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool computed(const struct integer_plan *p, uint32_t v)
{
    return v != PITH_VALUE_NONE && !p->m->values[v].constant && p->m->values[v].type == PITH_F32;
}

static void count_uses(struct integer_plan *p)
{
    const struct pith_model *m = p->m;
    for (uint32_t v = 0; v < m->n_values; v++) {
        p->value[v].producer = p->value[v].reader = NODE_NONE;
        p->value[v].sharer = v;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            p->value[m->nodes[i].out[k]].producer = i;
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++) {
            if (m->nodes[i].in[k] == PITH_VALUE_NONE)
                continue;
            struct value_plan *v = &p->value[m->nodes[i].in[k]];
            v->n_uses++;
            v->reader = i;
        }
    }
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        p->value[m->outputs[i]].n_uses++;
        p->value[m->outputs[i]].reader = NODE_NONE;
    }
}

static void mark_from_layers(struct integer_plan *p)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        bool from = p->node[i].role == ROLE_LAYER;
        for (uint32_t k = 0; k < node->n_in && p->node[i].role == ROLE_CARRIED; k++)
            from |= computed(p, node->in[k]) && p->value[node->in[k]].from_layer;
        for (uint32_t k = 0; k < node->n_out; k++)
            p->value[node->out[k]].from_layer = from && computed(p, node->out[k]);
    }
}

static void mark_to_layers(struct integer_plan *p)
{
    for (uint32_t i = p->m->n_nodes; i-- > 0;) {
        const struct pith_node *node = &p->m->nodes[i];
        bool to = false;
        for (uint32_t k = 0; k < node->n_out; k++)
            to |= p->value[node->out[k]].to_layer;
        if (p->node[i].role == ROLE_LAYER) {
            p->value[node->in[0]].layer_input = true;
            p->value[node->in[0]].to_layer = true;
        }
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                p->value[node->in[k]].mixed |=
                    k > 0 || p->node[i].role != ROLE_LAYER || !pith_node_is_depthwise(p->m, node);
        for (uint32_t k = 0; k < node->n_in && to && p->node[i].role == ROLE_CARRIED; k++)
            if (computed(p, node->in[k]))
                p->value[node->in[k]].to_layer = true;
    }
}

/* ---- biases behind layers -------------------------------------------------------------------- */

uint32_t pith_layer_end(const struct integer_plan *p, uint32_t layer)
{
    return p->node[layer].add == NODE_NONE ? layer : p->node[layer].add;
}

/* The operand of an Add that is a constant; PITH_VALUE_NONE: neither is. */
static uint32_t constant_added(const struct pith_model *m, const struct pith_node *add)
{
    for (uint32_t k = 0; k < 2; k++) {
        const struct pith_value *v = &m->values[add->in[k]];
        if (v->constant && v->type == PITH_F32)
            return add->in[k];
    }
    return PITH_VALUE_NONE;
}

uint32_t pith_layer_bias_value(const struct integer_plan *p, uint32_t layer)
{
    const uint32_t add = p->node[layer].add;
    return add == NODE_NONE ? pith_node_bias(&p->m->nodes[layer])
                            : constant_added(p->m, &p->m->nodes[add]);
}

/* One number, or one for each of `rows` places of the last axis, for a result of so many axes. */
static bool is_bias(const struct pith_value *v, uint64_t rows, uint32_t rank)
{
    return v->rank <= rank &&
           (v->constant->count == 1 || (v->constant->count == rows && v->dim[v->rank - 1] == rows));
}

/* A MatMul of more axes than two has no bias of its own, as a Gemm has (fold_affine.c): what is
 * added to its sums, and to those alone, joins them as integers. A weight that others read has
 * none, whose biases may be floats; and what was trained has its own places of rounding. */
static void swallow_biases(struct integer_plan *p)
{
    const struct pith_model *m = p->m;
    for (uint32_t i = 0; i < m->n_nodes && !p->opts->as_trained; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (p->node[i].role != ROLE_LAYER || node->op != PITH_OP_MATMUL ||
            p->value[node->in[1]].n_uses != 1 || p->value[node->out[0]].n_uses != 1)
            continue;
        const uint32_t v = node->out[0], n = p->value[v].reader;
        const struct pith_node *add = n == NODE_NONE ? NULL : &m->nodes[n];
        if (!add || add->op != PITH_OP_ADD || p->node[n].role != ROLE_CARRIED)
            continue;
        const uint32_t bias = constant_added(m, add);
        if (bias == PITH_VALUE_NONE ||
            !is_bias(&m->values[bias], pith_layer_shape(m, node).rows, m->values[v].rank))
            continue;
        p->node[i].add = n;
        p->node[n].role = ROLE_SWALLOWED;
        p->value[v].from_layer = p->value[v].to_layer = false; /* it is never there */
        p->value[add->out[0]].producer = i;
    }
}

/* The activation that alone reads v; NODE_NONE: there is none. */
static uint32_t only_activation(const struct integer_plan *p, uint32_t v)
{
    uint32_t reader = p->value[v].n_uses == 1 ? p->value[v].reader : NODE_NONE;
    return reader != NODE_NONE && p->node[reader].role == ROLE_CARRIED &&
                   pith_op_is(p->m->nodes[reader].op, TRAIT_UNARY)
               ? reader
               : NODE_NONE;
}

/* A layer's results have channels of their own; integers have scales along axis 1. Of a MatMul of
 * more than 2 axes these are not the same. */
static bool scales_by_axis_1(const struct integer_plan *p, uint32_t layer, uint32_t v)
{
    return pith_op_is(p->m->nodes[layer].op, TRAIT_CHANNELS_FIRST) || p->m->values[v].rank == 2;
}

static bool may_have_scales(const struct integer_plan *p, uint32_t v)
{
    uint32_t producer = p->value[v].producer;
    return producer == NODE_NONE || p->node[producer].role != ROLE_LAYER ||
           scales_by_axis_1(p, producer, v);
}

static void choose_values(struct integer_plan *p)
{
    for (uint32_t v = 0; v < p->m->n_values; v++) {
        struct value_plan *plan = &p->value[v];
        if (!computed(p, v) || !plan->grid || !grid_is_requested(p, plan->grid))
            continue;
        if (plan->grid->n > 1 && (plan->grid->axis != 1 || !may_have_scales(p, v)))
            continue;
        bool between = plan->from_layer && plan->to_layer;
        uint32_t act = only_activation(p, v);
        if (between && act != NODE_NONE && !plan->layer_input) {
            bool of_layer = p->node[plan->producer].role == ROLE_LAYER;
            if (!of_layer || pith_op_is(p->m->nodes[act].op, TRAIT_CLAMPS))
                between = false;
        }
        plan->whole = plan->layer_input || between;
    }
}

/* ---- grids that values share ----------------------------------------------------------------- */

static enum pith_status share(struct integer_plan *p, uint32_t a, uint32_t b)
{
    a = pith_plan_owner(p, a);
    b = pith_plan_owner(p, b);
    const struct pith_grid *ga = p->value[a].grid, *gb = p->value[b].grid;
    if (a == b || ga->n > 1 || gb->n > 1 || ga->type != gb->type)
        return PITH_OK;
    p->value[b].sharer = a;
    p->value[a].shared = true;
    return pith_grid_union(p->m, ga, gb, &p->value[a].grid);
}

/* What several readers need fine is not made coarse for the sake of one Concat. */
static bool joins(const struct integer_plan *p, const struct pith_node *node, uint32_t v)
{
    return computed(p, v) && p->value[v].whole &&
           (node->op != PITH_OP_CONCAT || p->value[v].n_uses == 1);
}

static enum pith_status share_grids(struct integer_plan *p)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < p->m->n_nodes && !st; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (p->node[i].role != ROLE_CARRIED || !pith_takes_grid(node))
            continue;
        uint32_t n_in = node->op == PITH_OP_CONCAT ? node->n_in : 1;
        for (uint32_t k = 0; k < n_in; k++)
            for (uint32_t o = 0; o < node->n_out && joins(p, node, node->in[k]) && !st; o++)
                if (p->value[node->out[o]].whole)
                    st = share(p, node->in[k], node->out[o]);
    }
    return st;
}

static bool has_sharers(const struct integer_plan *p, uint32_t v)
{
    return p->value[v].shared || p->value[v].sharer != v;
}

static bool none_below_zero(const struct pith_value *v)
{
    const struct pith_value_stats *s = v->stats;
    if (!s || v->rank < 2 || s->n_channels != v->dim[1] || s->channel_axis != 1)
        return false;
    for (uint32_t c = 0; c < s->n_channels; c++)
        if (!(s->channel[c].min >= 0))
            return false;
    return true;
}

static bool one_scale(const struct pith_quantize_opts *o)
{
    return o->per_tensor_activations || (o->fixed_bits && !o->per_channel) ||
           pith_activation_bits(o) != 8; /* fewer: one Clip cuts them all; more: steps are fine */
}

static enum pith_status scale_depthwise_inputs(struct integer_plan *p)
{
    enum pith_status st = PITH_OK;
    for (uint32_t v = 0; v < p->m->n_values && !st && !one_scale(p->opts); v++) {
        struct value_plan *plan = &p->value[v];
        if (!plan->layer_input || !plan->whole || plan->grid->n > 1 ||
            plan->grid->zero_point != pith_grid_lowest(plan->grid))
            continue;
        if (may_have_scales(p, v) && none_below_zero(&p->m->values[v]) && !plan->mixed &&
            !has_sharers(p, v))
            st = pith_grid_by_channel(p->m, plan->grid, p->m->values[v].stats,
                                      p->opts->fixed_bits != 0, &plan->grid);
    }
    return st;
}

/* ---- activations that saturation does -------------------------------------------------------- */

static bool cuts_alike(const struct pith_grid *g, const struct pith_node *act)
{
    if (act->op == PITH_OP_RELU)
        return g->zero_point == pith_grid_lowest(g);
    float low = attr_f32(act->attr, ATTR_CLIP_MIN), high = attr_f32(act->attr, ATTR_CLIP_MAX);
    return pith_grid_cuts(g, low, high);
}

static void swallow(struct integer_plan *p)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        if (p->node[i].role != ROLE_LAYER)
            continue;
        uint32_t v = p->m->nodes[pith_layer_end(p, i)].out[0], act = only_activation(p, v);
        if (act == NODE_NONE || p->value[v].whole || !pith_op_is(p->m->nodes[act].op, TRAIT_CLAMPS))
            continue;
        uint32_t out = p->m->nodes[act].out[0];
        const struct pith_grid *g = pith_plan_grid(p, out);
        if (p->value[out].whole && (g->n == 1 || scales_by_axis_1(p, i, out)) &&
            cuts_alike(g, &p->m->nodes[act])) {
            p->node[i].swallowed = act;
            p->node[act].role = ROLE_SWALLOWED;
        }
    }
}

/* --------------------------------------------------------------------------------------------------
 */

static enum pith_status find_grids(struct integer_plan *p)
{
    enum pith_status st = PITH_OK;
    for (uint32_t v = 0; v < p->m->n_values && !st; v++)
        if (computed(p, v))
            st = pith_fitting_grid(p->m, p->opts, &p->m->values[v], &p->value[v].grid);
    return st;
}

enum pith_status pith_integer_plan(struct integer_plan *p, struct pith_error *err)
{
    p->node = calloc(p->m->n_nodes + (size_t)1, sizeof *p->node);
    p->value = calloc(p->m->n_values + (size_t)1, sizeof *p->value);
    if (!p->node || !p->value)
        return pith_error_no_memory(err);
    count_uses(p);
    enum pith_status st = find_grids(p);
    if (st)
        return pith_error_no_memory(err);
    st = choose_layers(p, err);
    if (st)
        return st;
    mark_from_layers(p);
    mark_to_layers(p);
    swallow_biases(p);
    choose_values(p);
    st = share_grids(p);
    if (!st)
        st = scale_depthwise_inputs(p);
    if (st)
        return pith_error_no_memory(err);
    swallow(p);
    return PITH_OK;
}

void pith_integer_plan_end(struct integer_plan *p)
{
    free(p->node);
    free(p->value);
}
