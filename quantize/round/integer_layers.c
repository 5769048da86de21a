/* SPDX-License-Identifier: MIT */
#include "integer_layers.h"

#include "base/error_fill.h"
#include "layers/network_pair.h"
#include "core/tensor.h"

#define MEMORY_BYTES (UINT64_C(256) << 20) /* of each walk's values; the others are in files */

struct walk_state {
    const struct integer_walk *walk;
    const struct pith_model *net, *original;
    struct recorded_feed *own; /* owns, made of opts->data; NULL: opts->feed */
    struct network_pair pair;  /* of the integers; of the original, where there are goals */
    uint32_t done;             /* nodes of the original that were run */
    struct pith_error *err;
};

/* ---- the float network ----------------------------------------------------------------------- */

static void cut(float *x, uint64_t n, float low, float high)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

/* To what the integers that stand for the value can be; scales are of axis 1. */
static enum pith_status cut_value(void *user, uint32_t v, uint64_t sample, void *data,
                                  struct pith_error *err)
{
    const struct integer_plan *plan = user;
    const struct pith_value *value = &plan->m->values[v];
    const struct pith_grid *g = pith_plan_grid(plan, v);
    const uint64_t all = pith_value_elems(value);
    (void)sample, (void)err;
    if (!plan->value[v].whole || all == 0)
        return PITH_OK;
    const uint64_t block = g->n > 1 ? all / value->dim[0] / value->dim[1] : all;
    for (uint64_t i = 0; i < all; i += block) {
        const float scale = g->scale[g->n > 1 ? i / block % g->n : 0];
        cut((float *)data + i, block, (float)(pith_grid_lowest(g) - g->zero_point) * scale,
            (float)(pith_grid_highest(g) - g->zero_point) * scale);
    }
    return PITH_OK;
}

/* Node after node, for each reads what was cut; a loop or branch as one. */
static enum pith_status find_goal(struct walk_state *s, uint32_t node, struct layer_inputs *in)
{
    const uint32_t y = s->original->nodes[node].out[0];
    struct layer_walk *original = s->pair.walk[1];
    const void *goal = NULL;
    enum pith_status st = PITH_OK;
    while (s->done <= node && !st) {
        const struct body_span body = pith_layer_walk_body(original, s->done);
        s->done = body.end ? body.end : s->done + 1;
        st = pith_layer_walk_to(original, s->done, s->err);
    }
    if (!st)
        st = pith_layer_walk_map(original, y, &goal, s->err);
    in->goal = goal;
    in->n_goals = pith_value_elems(&s->original->values[y]);
    return st;
}

/* Outputs of layers stay at least until they were goals, which the network may be ahead of: an Add
 * that has the bias of one may stand behind other layers. */
static void hold_goals(const struct walk_state *s)
{
    const struct integer_network *net = s->walk->net;
    for (uint32_t i = 0, reached = 0; i < net->n_layers; i++) {
        const uint32_t end = net->layers[i].end;
        reached = end + 1 > reached ? end + 1 : reached;
        pith_layer_walk_hold(s->pair.walk[1], s->original->nodes[end].out[0], reached);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* A layer of a body: what it reads at each iteration of each sample counts as a sample, and there
 * is no goal. */
static enum pith_status improve(struct walk_state *s, uint32_t layer)
{
    const struct integer_walk *w = s->walk;
    const uint32_t node = w->net->product[layer];
    const struct body_span body = pith_layer_walk_body(s->pair.walk[0], node);
    const struct pith_node *product = &s->net->nodes[node];
    const struct pith_value *x = &s->net->values[product->in[0]];
    struct layer_inputs in = {.layer = layer,
                              .product = product,
                              .x = x,
                              .w = &s->net->values[product->in[1]],
                              .y = &s->net->values[product->out[0]],
                              .bytes = pith_value_elems(x) * pith_type_bytes(x->type),
                              .in_loop = body.end > 0};
    struct layer_input from = {0};
    const void *data = NULL;
    uint64_t n = 0;
    enum pith_status st = pith_layer_walk_to(s->pair.walk[0], node, s->err);
    if (!st)
        st = pith_layer_input_open(s->pair.walk[0], node, body, &from, s->err);
    if (!st)
        st = pith_layer_input_map(&from, &data, &n, s->err);
    n = n < UINT32_MAX ? n : UINT32_MAX;
    in.data = data;
    in.n_samples = (uint32_t)n;
    if (!st && w->goals && !in.in_loop)
        st = find_goal(s, w->net->layers[layer].end, &in);
    if (!st && n > 0)
        st = w->improve(w->user, &in, s->err);
    pith_layer_input_close(&from);
    return st;
}

/* What only the outputs of the network need is not computed. */
static enum pith_status improve_layers(struct walk_state *s)
{
    const struct pith_quantize_opts *o = s->walk->plan->opts;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->walk->net->n_layers && !st; i++) {
        st = improve(s, i);
        if (!st && o->progress &&
            !o->progress(o->user, s->walk->net->product[i] + 1, s->net->n_nodes))
            st = pith_error_fill(s->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return st;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static enum pith_status start(struct walk_state *s)
{
    const struct pith_quantize_opts *o = s->walk->plan->opts;
    enum pith_status st = PITH_OK;
    if (!o->feed)
        st = pith_recorded_feed_open(s->original, NULL, o->data, o->n_samples, &s->own, s->err);
    const struct layer_walk_opts walks = {.feed = o->feed ? o->feed : s->own,
                                          .runtime = o->runtime,
                                          .memory_bytes = MEMORY_BYTES,
                                          .change = cut_value,
                                          .user = (void *)(uintptr_t)s->walk->plan};
    if (!st)
        st = pith_network_pair_open(s->original, s->net, &walks, &s->pair, s->err);
    if (!st && s->walk->goals)
        hold_goals(s);
    return st;
}

enum pith_status pith_walk_integers(const struct integer_walk *walk, struct pith_error *err)
{
    struct walk_state s = {
        .walk = walk, .net = &walk->net->m, .original = walk->plan->m, .err = err};
    enum pith_status st = start(&s);
    if (!st)
        st = improve_layers(&s);
    pith_network_pair_close(&s.pair);
    pith_recorded_feed_close(s.own);
    return st;
}
