/* SPDX-License-Identifier: MIT */
/* fold_affine.c - (W x + b) * a + c is a layer again, by the mathematics of model/channel_layer.c.
 * So that what exporters write as operators of its own behind a layer costs no rounding between
 * integers.
 *
 * Weights and biases that change are copies, for others may read them. */
#include "fold_affine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/channel_layer.h"
#include "model/graph_rewrite.h"
#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "op_interface/op_traits.h"

/* A layer and the operator behind it. */
struct affine_pair {
    struct pith_node *layer, *op;
    const struct pith_value *c; /* the operator's constant */
    struct channel_layer channels;
};

static const struct pith_value *constant_in(const struct pith_model *m,
                                            const struct pith_node *node, uint32_t i)
{
    if (i >= node->n_in || node->in[i] == PITH_VALUE_NONE)
        return NULL;
    const struct pith_value *v = &m->values[node->in[i]];
    return v->constant && v->type == PITH_F32 ? v : NULL;
}

/* One number, or one for each place of the layer's channel axis. */
static bool along_channels(const struct pith_value *c, const struct pith_value *y, uint32_t axis)
{
    if (c->rank > y->rank)
        return false;
    for (uint32_t i = 0; i < c->rank; i++) {
        uint32_t place = y->rank - c->rank + i;
        if (c->dim[i] != 1 && (place != axis || c->dim[i] != y->dim[axis]))
            return false;
    }
    return true;
}

/* A MatMul becomes a Gemm, which knows matrices alone. */
static bool takes_affine(const struct pith_model *m, const struct pith_node *node,
                         struct channel_layer *l)
{
    if (!pith_channel_layer(m, node, l) || l->weight->codebook)
        return false;
    bool matrices = m->values[node->in[1]].rank == 2 && m->values[node->in[0]].rank == 2;
    return node->op != PITH_OP_MATMUL || matrices;
}

static bool find_pair(const struct graph_rewrite *f, struct pith_node *op, struct affine_pair *p)
{
    const struct pith_model *m = f->m;
    if (!pith_op_is(op->op, TRAIT_ARITHMETIC))
        return false;
    bool second = constant_in(m, op, 1) != NULL;
    if (!second && (op->op == PITH_OP_SUB || op->op == PITH_OP_DIV))
        return false;
    uint32_t x = op->in[second ? 0 : 1];
    p->c = constant_in(m, op, second ? 1 : 0);
    if (!p->c || f->producer[x] == UINT32_MAX || f->uses[x] != 1)
        return false;
    p->op = op;
    p->layer = &f->m->nodes[f->producer[x]];
    const struct pith_value *y = &m->values[x];
    return takes_affine(m, p->layer, &p->channels) &&
           along_channels(p->c, y, pith_op_channel_axis(p->layer->op, y->rank));
}

static double number_for(const struct affine_pair *p, uint64_t o)
{
    return (double)((const float *)p->c->constant->data)[p->c->constant->count > 1 ? o : 0];
}

static double factor_for(const struct affine_pair *p, uint64_t o)
{
    if (p->op->op == PITH_OP_MUL)
        return number_for(p, o);
    return p->op->op == PITH_OP_DIV ? 1 / number_for(p, o) : 1;
}

static double shift_for(const struct affine_pair *p, uint64_t o)
{
    if (p->op->op == PITH_OP_ADD)
        return number_for(p, o);
    return p->op->op == PITH_OP_SUB ? -number_for(p, o) : 0;
}

/* A constant like `like`, or a new bias where that is NULL, with room for its numbers. */
static uint32_t new_constant(struct pith_model *m, const struct pith_value *like, uint64_t rows,
                             float **data)
{
    struct pith_value *v = &m->values[m->n_values];
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    *v = like ? *like
              : (struct pith_value){
                    .type = PITH_F32, .rank = 1, .dim = {(uint32_t)rows}, .min = 1, .max = 0};
    v->name = "";
    uint64_t count = like ? like->constant->count : rows;
    *data = pith_model_alloc(m, count, sizeof **data);
    if (!c || !*data)
        return PITH_VALUE_NONE;
    if (like)
        *c = *like->constant;
    c->count = count;
    c->data = *data;
    v->constant = c;
    return m->n_values++;
}

/* false: a number would not be finite. */
static bool compute(const struct affine_pair *p, float *w, float *b)
{
    const struct channel_layer *l = &p->channels;
    const float *old = l->weight->data;
    for (uint64_t o = 0; o < l->rows; o++) {
        struct channel_affine a = {.factor = factor_for(p, o), .after = shift_for(p, o)};
        b[o] = pith_channel_bias(l, o, &a);
        bool finite = isfinite(b[o]);
        for (uint64_t k = o * l->cols; k < (o + 1) * l->cols; k++) {
            w[k] = pith_channel_weight((double)old[k] * l->alpha, a.factor);
            finite = finite && isfinite(w[k]);
        }
        if (!finite)
            return false;
    }
    return true;
}

static bool become_gemm(struct pith_model *m, struct pith_node *layer)
{
    if (layer->op == PITH_OP_CONV)
        return true;
    int32_t *attr = pith_model_alloc(m, pith_op_get(PITH_OP_GEMM)->n_slots, sizeof *attr);
    uint32_t one = f32_bits(1.0f);
    if (!attr)
        return false;
    attr[ATTR_GEMM_TRANS_A] = layer->op == PITH_OP_GEMM ? layer->attr[ATTR_GEMM_TRANS_A] : 0;
    attr[ATTR_GEMM_TRANS_B] = 1;
    memcpy(&attr[ATTR_GEMM_ALPHA], &one, sizeof one);
    memcpy(&attr[ATTR_GEMM_BETA], &one, sizeof one);
    layer->op = PITH_OP_GEMM;
    layer->attr = attr;
    return true;
}

static enum pith_status fold(struct graph_rewrite *f, struct affine_pair *p)
{
    struct pith_model *m = f->m;
    float *w, *b;
    uint32_t weight = new_constant(m, &m->values[p->layer->in[1]], p->channels.rows, &w);
    uint32_t bias =
        weight == PITH_VALUE_NONE ? weight : new_constant(m, NULL, p->channels.rows, &b);
    uint32_t *in = pith_model_alloc(m, 3, sizeof *in);
    if (bias == PITH_VALUE_NONE || !in)
        return PITH_ERR_MEMORY;
    if (!compute(p, w, b))
        return PITH_OK;
    if (!become_gemm(m, p->layer))
        return PITH_ERR_MEMORY;
    m->values[weight].name = m->values[p->layer->in[1]].name;
    m->values[p->layer->in[1]].name = "";
    in[0] = p->layer->in[0];
    in[1] = weight;
    in[2] = bias;
    p->layer->in = in;
    p->layer->n_in = 3;
    p->layer->out[0] = p->op->out[0];
    f->producer[p->op->out[0]] = (uint32_t)(p->layer - m->nodes);
    f->dropped[p->op - m->nodes] = true;
    return PITH_OK;
}

enum pith_status pith_fold_affine(struct pith_model *m, struct pith_error *err)
{
    struct graph_rewrite f;
    enum pith_status st = pith_rewrite_open(&f, m, 2 * (uint64_t)m->n_nodes);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++) {
        struct affine_pair p;
        if (find_pair(&f, &m->nodes[i], &p))
            st = fold(&f, &p);
    }
    if (f.dropped)
        pith_model_drop_nodes(m, f.dropped);
    pith_rewrite_close(&f);
    return st ? pith_error_no_memory(err) : pith_model_drop_unused(m, err);
}
