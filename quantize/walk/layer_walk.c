/* SPDX-License-Identifier: MIT */
/* layer_walk.c - the network cut into short pieces, each run on all samples before the next.
 *
 * A piece ends where the float node behind its nodes changes, and before each product of integers.
 * It is made a model of its own, whose inputs are what it reads of earlier pieces.
 *
 * A loop or branch is one piece. For each product in it the piece is run on all samples with an
 * observer that keeps what the product reads in all iterations, the products before it improved
 * already. */
#include "layer_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "float_walk.h"

/* ---- what layers are given ------------------------------------------------------------------- */

/* What the float network's layer gives. */
static enum pith_status find_goal(struct walk_state *s, uint32_t node, struct layer_inputs *in)
{
    uint32_t y = s->m->nodes[node].out[0];
    enum pith_status st = pith_run_original(s, node + 1);
    in->goal = (const float *)(const void *)s->kept[y].data;
    in->n_goals = s->kept[y].bytes / sizeof *in->goal;
    return st;
}

/* in_loop: data are not one for each sample, and there is no goal. */
static enum pith_status improve(struct walk_state *s, uint32_t layer, const uint8_t *data,
                                uint32_t n, bool in_loop)
{
    const uint32_t n_held = (uint32_t)((uint64_t)n * s->n_held / s->n_samples);
    enum pith_status st = PITH_OK;
    const struct pith_node *product = &s->m->nodes[s->walk->net->product[layer]];
    struct layer_inputs in = {.layer = layer,
                              .product = product,
                              .x = &s->m->values[product->in[0]],
                              .w = &s->m->values[product->in[1]],
                              .y = &s->m->values[product->out[0]],
                              .n_samples = n - n_held,
                              .n_held = n_held,
                              .bytes = s->kept[product->in[0]].bytes,
                              .data = data,
                              .in_loop = in_loop};
    if (s->original && !in_loop)
        st = find_goal(s->original, s->walk->net->layers[layer].end, &in);
    return n && !st ? s->walk->improve(s->walk->user, &in, s->err) : st;
}

/* A layer of a body: what it reads at each iteration of each sample counts as a sample. */
static enum pith_status improve_in_loop(struct walk_state *s, const struct piece *of,
                                        uint32_t layer)
{
    uint32_t x = s->m->nodes[s->walk->net->product[layer]].in[0];
    if (s->kept[x].data) /* the same in all iterations */
        return improve(s, layer, s->kept[x].data, s->n_samples, true);
    struct piece p = *of;
    struct recorder r = {.piece = &p, .bytes = s->kept[x].bytes, .every = 1};
    enum pith_status st = pith_record_piece(s, &p, x, &r);
    if (!st)
        st = improve(s, layer, r.data, (uint32_t)r.n, true);
    free(r.data);
    return st;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool is_product(const struct walk_state *s, uint32_t node, uint32_t *layer)
{
    *layer = s->layer_of[node];
    return *layer != NO_LAYER;
}

static bool has_body(const struct walk_state *s, const struct piece *p)
{
    for (uint32_t i = p->first; i < p->last; i++)
        if (pith_opens_body(s->m->nodes[i].op))
            return true;
    return false;
}

/* All nodes of one origin; if there is no body among them, up to the next product. Improves what is
 * multiplied in it. */
static enum pith_status next_piece(struct walk_state *s, struct piece *p)
{
    const uint32_t *origin = s->walk->net->origin;
    enum pith_status st = PITH_OK;
    uint32_t layer;
    while (p->last < s->m->n_nodes && origin[p->last] == origin[p->first])
        p->last++;
    if (has_body(s, p)) {
        for (uint32_t i = p->first; i < p->last && !st; i++)
            if (is_product(s, i, &layer))
                st = improve_in_loop(s, p, layer);
        return st;
    }
    for (uint32_t i = p->first + 1; i < p->last; i++)
        if (is_product(s, i, &layer))
            p->last = i;
    if (is_product(s, p->first, &layer))
        st = improve(s, layer, s->kept[s->m->nodes[p->first].in[0]].data, s->n_samples, false);
    return st;
}

static enum pith_status walk_pieces(struct walk_state *s)
{
    const struct pith_quantize_opts *o = s->walk->opts;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->m->n_nodes && !st;) {
        struct piece p = {.first = i, .last = i + 1};
        st = next_piece(s, &p);
        if (!st)
            st = pith_run_piece(s, &p);
        i = p.last;
        if (!st && o->progress && !o->progress(o->user, i, s->m->n_nodes))
            st = pith_error_fill(s->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return st;
}

static uint32_t count_samples(const struct pith_quantize_opts *opts)
{
    uint64_t n = opts->inputs ? opts->n_samples : pith_data_count(opts->data);
    if (opts->n_samples && opts->n_samples < n)
        n = opts->n_samples;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static enum pith_status check_samples(const struct pith_model *m,
                                      const struct pith_quantize_opts *opts, struct pith_error *err)
{
    uint64_t elems = 1;
    if (opts->inputs)
        return PITH_OK;
    if (m->n_inputs != 1)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot quantize: the model has %u inputs, data is for one",
                               m->n_inputs);
    const struct pith_value *x = &m->values[m->inputs[0]];
    for (uint32_t i = 0; i < x->rank; i++)
        elems *= x->dim[i];
    if (x->type != PITH_F32 || elems != pith_data_elems(opts->data))
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "cannot quantize: input '%.200s' takes %llu f32 values, a sample has %llu", x->name,
            (unsigned long long)elems, (unsigned long long)pith_data_elems(opts->data));
    return PITH_OK;
}

/* Infinities may be meant, as masks are; they end up at the ends of grids. */
static enum pith_status check_numbers(const struct walk_state *s)
{
    for (uint32_t i = 0; i < s->m->n_inputs; i++) {
        const struct pith_value *v = &s->m->values[s->m->inputs[i]];
        const struct kept_value *k = &s->kept[s->m->inputs[i]];
        const float *x = (const float *)(const void *)k->data;
        uint64_t each = k->bytes / sizeof *x;
        for (uint64_t n = 0; v->type == PITH_F32 && n < each * s->n_samples; n++)
            if (isnan(x[n]))
                return pith_error_fill(s->err, PITH_ERR_UNSUPPORTED,
                                       "cannot quantize: '%.200s' is NaN for sample %llu", v->name,
                                       (unsigned long long)(n / each));
    }
    return PITH_OK;
}

static enum pith_status copy_inputs(struct walk_state *s)
{
    for (uint32_t i = 0; i < s->m->n_inputs; i++) {
        struct kept_value *x = &s->kept[s->m->inputs[i]];
        size_t bytes = (size_t)(x->bytes * s->n_samples);
        x->data = malloc(bytes + 1);
        if (!x->data)
            return pith_error_no_memory(s->err);
        memcpy(x->data, s->walk->opts->inputs[i], bytes);
    }
    return PITH_OK;
}

static enum pith_status read_samples(struct walk_state *s)
{
    struct kept_value *x = &s->kept[s->m->inputs[0]];
    enum pith_status st = PITH_OK;
    if (s->walk->opts->inputs)
        return copy_inputs(s);
    x->data = malloc((size_t)(x->bytes * s->n_samples));
    if (!x->data)
        return pith_error_no_memory(s->err);
    for (uint64_t n = 0; n < s->n_samples && !st; n++)
        st = pith_data_read(s->walk->opts->data, n, (float *)(void *)(x->data + n * x->bytes), NULL,
                            s->err);
    return st;
}

static enum pith_status start(struct walk_state *s)
{
    size_t n = s->m->n_values + (size_t)1;
    s->kept = calloc(n, sizeof *s->kept);
    s->number = malloc(n * sizeof *s->number);
    s->layer_of = malloc((s->m->n_nodes + (size_t)1) * sizeof *s->layer_of);
    if (!s->kept || !s->number || !s->layer_of)
        return pith_error_no_memory(s->err);
    for (uint32_t i = 0; i < s->m->n_nodes; i++)
        s->layer_of[i] = NO_LAYER;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        s->kept[v].bytes = pith_value_bytes(&s->m->values[v]);
        s->number[v] = PITH_VALUE_NONE;
    }
    for (uint32_t i = 0; i < s->m->n_nodes; i++)
        for (uint32_t k = 0; k < s->m->nodes[i].n_in; k++)
            if (s->m->nodes[i].in[k] != PITH_VALUE_NONE)
                s->kept[s->m->nodes[i].in[k]].last = i;
    enum pith_status st = read_samples(s);
    return st ? st : check_numbers(s);
}

/* Outputs of layers stay at least until they were goals, which the network may be ahead of: an Add
 * that has the bias of one may stand behind other layers. */
static enum pith_status start_original(struct walk_state *s)
{
    enum pith_status st = start(s);
    for (uint32_t i = 0, reached = 0; i < s->walk->net->n_layers && !st; i++) {
        const uint32_t end = s->walk->net->layers[i].end;
        struct kept_value *y = &s->kept[s->m->nodes[end].out[0]];
        reached = end + 1 > reached ? end + 1 : reached;
        y->last = y->last > reached ? y->last : reached;
    }
    for (uint32_t i = 0; i < s->m->n_inputs && !st; i++)
        pith_cut_value(s, s->m->inputs[i]);
    return st;
}

static void end(struct walk_state *s)
{
    for (uint32_t v = 0; v < s->m->n_values && s->kept; v++)
        free(s->kept[v].data);
    free(s->kept);
    free(s->number);
    free(s->layer_of);
}

/* What only the outputs of the network need is not computed. */
enum pith_status pith_walk_layers(const struct layer_walk *walk, struct pith_error *err)
{
    struct walk_state s = {
        .walk = walk, .m = &walk->net->m, .n_samples = count_samples(walk->opts), .err = err};
    s.n_held = (uint32_t)(walk->opts->n_held_out < s.n_samples ? walk->opts->n_held_out : 0);
    struct walk_state original = {
        .walk = walk, .m = walk->original, .n_samples = s.n_samples, .err = err};
    enum pith_status st = check_samples(s.m, walk->opts, err);
    if (!st)
        st = start(&s);
    for (uint32_t i = walk->net->n_layers; i-- > 0 && !st;)
        s.layer_of[walk->net->product[i]] = i;
    if (!st && walk->original) {
        s.original = &original;
        st = start_original(&original);
    }
    if (!st)
        st = walk_pieces(&s);
    if (s.original)
        end(&original);
    end(&s);
    return st;
}
