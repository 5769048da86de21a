/* SPDX-License-Identifier: MIT */
/* merge_convs.c - a sum of convolutions of one x is one convolution: the smaller window is added to
 * the larger one's weights where its taps read the same elements. Networks that are trained with
 * parallel branches (RepVGG, Ding 2021; MobileOne, Vasu 2023) so become what they are run as.
 *
 *     3x3, pad 1     1x1, pad 0    3x3, pad 1
 *       . . .                        . . .
 *       . o .    +       o       =   . @ .     offset (1, 1)
 *       . . .                        . . .
 *
 * A branch that normalizes x is a 1x1 window of each channel alone: of a dense host it fills the
 * diagonal. x itself joins depthwise windows only, for a 1 in dense rows makes their quantization
 * coarser.
 *
 * One convolution has to contain the other in window and group, so that no sum takes more work than
 * its larger branch. Left alone: branches whose result is also read elsewhere, weights that are
 * shared, pruned, clustered, quantized or stored in 2 bytes, attributes that follow open sizes. */
#include "graph_rewrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_slot.h"

/* One summand of a sum of two. */
struct branch {
    uint32_t x;                   /* value; PITH_VALUE_NONE: a constant is added */
    const struct pith_node *node; /* Conv, BatchNormalization; NULL: x itself, or the constant */
    const struct pith_const *constant;
    uint32_t rows, group; /* of a window: output channels */
};

/* A sum of host, a Conv, and guest. */
struct merge {
    struct branch host, guest;
    uint32_t offset[PITH_MAX_RANK]; /* [n_axes] of the guest's first tap in the host's window */
    uint32_t n_axes;
};

static const struct pith_const *plain(const struct graph_rewrite *g, const struct pith_node *node,
                                      uint32_t i)
{
    if (i >= node->n_in || node->in[i] == PITH_VALUE_NONE)
        return NULL;
    const struct pith_value *v = &g->m->values[node->in[i]];
    const struct pith_const *c = v->constant;
    return c && v->type == PITH_F32 && !c->mask && !c->codebook && !c->integers && !c->stored
               ? c
               : NULL;
}

static bool takes_conv(const struct graph_rewrite *g, const struct pith_node *node,
                       struct branch *b)
{
    const bool biased = node->n_in > 2 && node->in[2] != PITH_VALUE_NONE;
    if (!plain(g, node, 1) || g->uses[node->in[1]] != 1 || (biased && !plain(g, node, 2)))
        return false;
    b->rows = g->m->values[node->in[1]].dim[0];
    b->group = (uint32_t)node->attr[ATTR_CONV_GROUP];
    return true;
}

static bool takes_norm(const struct graph_rewrite *g, const struct pith_node *node,
                       struct branch *b)
{
    const struct pith_const *scale = plain(g, node, 1);
    for (uint32_t i = 1; i < 5; i++)
        if (!plain(g, node, i))
            return false;
    b->rows = b->group = (uint32_t)scale->count;
    return true;
}

/* Nodes first..last-1 lie in one body of a loop or branch. */
static bool one_body(const struct pith_model *m, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++)
        if (pith_opens_body(m->nodes[i].op) || pith_closes_body(m->nodes[i].op))
            return false;
    return true;
}

static bool takes_constant(const struct pith_value *c, const struct pith_value *sum,
                           struct branch *b)
{
    b->x = PITH_VALUE_NONE;
    b->constant = c->constant;
    const bool by_channel = c->rank + 1 == sum->rank || (c->rank == sum->rank && c->dim[0] == 1);
    return c->constant->count == 1 ||
           (by_channel && c->dim[c->rank - sum->rank + 1] == c->constant->count &&
            c->constant->count == sum->dim[1]);
}

/* Input i of node `add`, of the shape of its sum. */
static bool take_branch(const struct graph_rewrite *g, uint32_t add, uint32_t i, struct branch *b)
{
    const struct pith_model *m = g->m;
    const uint32_t v = m->nodes[add].in[i], from = g->producer[v];
    const struct pith_value *x = &m->values[v], *sum = &m->values[m->nodes[add].out[0]];
    *b = (struct branch){.x = v, .rows = x->dim[1], .group = x->dim[1]};
    if (x->constant)
        return plain(g, &m->nodes[add], i) && takes_constant(x, sum, b);
    if (x->rank != sum->rank || memcmp(x->dim, sum->dim, sum->rank * sizeof *sum->dim) != 0)
        return false;
    const struct pith_node *node = from == UINT32_MAX ? NULL : &m->nodes[from];
    const bool window = node && (node->op == PITH_OP_CONV || node->op == PITH_OP_BATCH_NORM);
    if (!window || g->uses[v] != 1 || x->grid || node->n_sized || !one_body(m, from, add))
        return true; /* x itself */
    b->node = node;
    b->x = node->in[0];
    return node->op == PITH_OP_CONV ? takes_conv(g, node, b) : takes_norm(g, node, b);
}

static bool is_conv(const struct branch *b)
{
    return b->node && b->node->op == PITH_OP_CONV;
}

static uint32_t taps_along(const struct graph_rewrite *g, const struct branch *b, uint32_t i)
{
    return is_conv(b) ? g->m->values[b->node->in[1]].dim[i + 2] : 1;
}

static uint32_t conv_item(const struct branch *b, uint32_t slot, uint32_t i, int32_t none)
{
    return (uint32_t)(is_conv(b) ? attr_item(b->node->attr, slot, i, none) : none);
}

/* The guest's taps along axis i are taps of the host's. Both sums have one length, so the ends fit
 * where the beginnings do. */
static bool axis_fits(const struct graph_rewrite *g, struct merge *s, uint32_t i)
{
    const struct branch *a = &s->host, *b = &s->guest;
    const uint32_t n = taps_along(g, a, i), k = taps_along(g, b, i);
    const uint32_t step = conv_item(a, ATTR_CONV_DILATIONS, i, 1);
    const uint32_t pad = conv_item(a, ATTR_CONV_PADS, i, 0),
                   other = conv_item(b, ATTR_CONV_PADS, i, 0);
    if (conv_item(a, ATTR_CONV_STRIDES, i, 1) != conv_item(b, ATTR_CONV_STRIDES, i, 1) ||
        (k > 1 && n > 1 && step != conv_item(b, ATTR_CONV_DILATIONS, i, 1)) || pad < other ||
        (pad - other) % step)
        return false;
    s->offset[i] = (pad - other) / step;
    return s->offset[i] + (uint64_t)k <= n;
}

static bool fits(const struct graph_rewrite *g, struct merge *s)
{
    const struct branch *a = &s->host, *b = &s->guest;
    if (!is_conv(a))
        return false;
    s->n_axes = g->m->values[a->node->in[1]].rank - 2;
    if (b->x == PITH_VALUE_NONE)
        return true;
    const bool depthwise = a->group == a->rows && g->m->values[a->node->in[1]].dim[1] == 1;
    if (a->x != b->x || a->rows != b->rows || b->group % a->group || (!b->node && !depthwise))
        return false;
    bool all = true;
    for (uint32_t i = 0; i < s->n_axes && all; i++)
        all = axis_fits(g, s, i);
    return all;
}

static float number(const struct pith_const *c, uint64_t i)
{
    return ((const float *)c->data)[c->count == 1 ? 0 : i];
}

static double norm_factor(const struct graph_rewrite *g, const struct pith_node *norm, uint64_t o)
{
    const double v = (double)number(plain(g, norm, 4), o);
    return (double)number(plain(g, norm, 1), o) /
           sqrt(v + (double)attr_f32(norm->attr, ATTR_BN_EPSILON));
}

static double bias_of(const struct graph_rewrite *g, const struct branch *b, uint64_t o)
{
    if (b->constant)
        return (double)number(b->constant, o);
    if (!b->node)
        return 0;
    if (is_conv(b))
        return plain(g, b->node, 2) ? (double)number(plain(g, b->node, 2), o) : 0;
    return (double)number(plain(g, b->node, 2), o) -
           (double)number(plain(g, b->node, 3), o) * norm_factor(g, b->node, o);
}

/* The host's tap that tap k of the guest is added to. */
static uint64_t host_tap(const struct graph_rewrite *g, const struct merge *s, uint64_t k)
{
    uint64_t tap = 0, below = 1;
    for (uint32_t i = s->n_axes; i-- > 0;) {
        const uint32_t n = taps_along(g, &s->guest, i);
        tap += (k % n + s->offset[i]) * below;
        below *= taps_along(g, &s->host, i);
        k /= n;
    }
    return tap;
}

/* Row o of w, [C/group, taps] of the host, plus the guest's. */
static void add_row(const struct graph_rewrite *g, const struct merge *s, uint64_t o, float *w)
{
    const struct branch *a = &s->host, *b = &s->guest;
    uint64_t taps = 1, all = 1, depth = is_conv(b) ? g->m->values[b->node->in[1]].dim[1] : 1;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        taps *= taps_along(g, b, i);
        all *= taps_along(g, a, i);
    }
    const uint64_t host_depth = g->m->values[a->node->in[1]].dim[1];
    const uint64_t first = o / (b->rows / b->group) * depth -
                           o / (a->rows / a->group) * host_depth; /* the guest's first channel */
    for (uint64_t k = 0; k < depth * taps; k++) {
        float *to = &w[(first + k / taps) * all + host_tap(g, s, k % taps)];
        double more = 1;
        if (b->node)
            more = is_conv(b) ? (double)number(plain(g, b->node, 1), o * depth * taps + k)
                              : norm_factor(g, b->node, o);
        *to = (float)((double)*to + more);
    }
}

/* false: a number would not be finite. */
static bool compute(const struct graph_rewrite *g, const struct merge *s, float *w, float *bias)
{
    const struct pith_const *old = plain(g, s->host.node, 1);
    const uint64_t cols = old->count / s->host.rows;
    bool finite = true;
    memcpy(w, old->data, old->count * sizeof *w);
    for (uint64_t o = 0; o < s->host.rows; o++) {
        if (s->guest.x != PITH_VALUE_NONE)
            add_row(g, s, o, w + o * cols);
        bias[o] = (float)(bias_of(g, &s->host, o) + bias_of(g, &s->guest, o));
        finite = finite && isfinite(bias[o]);
    }
    for (uint64_t k = 0; k < old->count; k++)
        finite = finite && isfinite(w[k]);
    return finite;
}

/* Without a name: it is neither branch's. */
static uint32_t add_constant(struct graph_rewrite *g, const struct pith_value *shape,
                             struct pith_const *c, float *data)
{
    struct pith_value *v = &g->m->values[g->m->n_values];
    *v = *shape;
    v->name = "";
    v->constant = c;
    c->data = data;
    g->uses[g->m->n_values] = 1;
    g->producer[g->m->n_values] = UINT32_MAX;
    return g->m->n_values++;
}

static enum pith_status merge(struct graph_rewrite *g, uint32_t add, struct merge *s, bool *merged)
{
    struct pith_model *m = g->m;
    const struct pith_node *host = s->host.node;
    const struct pith_value *like = &m->values[host->in[1]];
    const uint32_t rows = s->host.rows;
    struct pith_const *c = pith_model_alloc(m, 2, sizeof *c);
    float *w = pith_model_alloc(m, like->constant->count, sizeof *w);
    float *bias = pith_model_alloc(m, rows, sizeof *bias);
    uint32_t *in = pith_model_alloc(m, 3, sizeof *in);
    if (!c || !w || !bias || !in)
        return PITH_ERR_MEMORY;
    *merged = compute(g, s, w, bias);
    if (!*merged)
        return PITH_OK;
    const struct pith_value vector = {
        .type = PITH_F32, .rank = 1, .dim = {rows}, .min = 1, .max = 0};
    c[0] = *like->constant;
    c[1].count = rows;
    in[0] = s->host.x;
    in[1] = add_constant(g, like, &c[0], w);
    in[2] = add_constant(g, &vector, &c[1], bias);
    struct pith_node *node = &m->nodes[add];
    for (uint32_t i = 0; i < 2; i++) {
        const struct branch *b = i ? &s->guest : &s->host;
        if (b->node)
            g->dropped[b->node - m->nodes] = true;
    }
    *node = (struct pith_node){.name = node->name,
                               .op = host->op,
                               .attr = host->attr,
                               .in = in,
                               .n_in = 3,
                               .out = node->out,
                               .n_out = 1};
    return PITH_OK;
}

static enum pith_status try_node(struct graph_rewrite *g, uint32_t i, bool *merged)
{
    struct merge s, swapped;
    *merged = false;
    if (g->m->nodes[i].op != PITH_OP_ADD || !take_branch(g, i, 0, &s.host) ||
        !take_branch(g, i, 1, &s.guest))
        return PITH_OK;
    swapped = (struct merge){.host = s.guest, .guest = s.host};
    if (fits(g, &s))
        return merge(g, i, &s, merged);
    return fits(g, &swapped) ? merge(g, i, &swapped, merged) : PITH_OK;
}

/* *any: some were merged. */
static enum pith_status merge_sums(struct pith_model *m, bool *any, struct pith_error *err)
{
    struct graph_rewrite g;
    enum pith_status status = pith_rewrite_open(&g, m, 2 * (uint64_t)m->n_nodes);
    *any = false;
    for (uint32_t i = 0; i < m->n_nodes && !status; i++) {
        bool merged;
        status = try_node(&g, i, &merged);
        *any = *any || (merged && !status);
    }
    if (*any)
        pith_model_drop_nodes(m, g.dropped);
    pith_rewrite_close(&g);
    if (status)
        return pith_error_no_memory(err);
    return *any ? pith_model_drop_unused(m, err) : PITH_OK;
}

/* A normalization behind merged branches folds in the next round. */
enum pith_status pith_model_merge_convs(struct pith_model *m, struct pith_error *err)
{
    bool any = m != NULL;
    enum pith_status status = m ? PITH_OK : PITH_ERR_ARGUMENT;
    while (any && !status) {
        status = pith_model_fold_batch_norm(m, NULL, err);
        if (!status)
            status = merge_sums(m, &any, err);
    }
    return status;
}
