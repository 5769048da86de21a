/* SPDX-License-Identifier: MIT */
/* integer_rewrite.c - writes the network of integers, node by node.
 *
 * Every value v of the float network is found again as a float (`real`, under the same number), or
 * as integers (`whole`, a new value) where the plan says so; then everybody reads the integers. An
 * operator in floats gets a DequantizeLinear of its own, which the runtime can fuse with
 * it.
 *
 *     layer          whole x -> product of integers -> Requantize -> whole y
 *                                                   -> DequantizeLinear -> real y   (behind the
 * last) moving         whole x -> the same operator -> whole y anything else  whole x ->
 * DequantizeLinear -> the same operator -> QuantizeLinear -> whole y
 *
 * A loop or branch gets what it reads from outside before it begins; its nodes have the origin of
 * its first. */
#include "integer_rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "op_interface/op_traits.h"

#define NOT_MADE UINT32_MAX

/* Constants of a grid, made when first needed. */
struct grid_values {
    uint32_t scale, zero; /* zero: one number for each scale */
    uint32_t scalar_zero;
};

/* The zero point of a grid and its constant. */
struct zero_value {
    const struct pith_grid *grid;
    uint32_t value;
};

struct writer {
    const struct integer_plan *p;
    struct integer_network *net;
    struct pith_model *to;
    uint32_t *whole;             /* [old n_values] number of the integers, or NOT_MADE */
    uint32_t *lent;              /* [old n_values] floats made before a region, or NOT_MADE */
    bool *is_real;               /* [old n_values] computed as a float, or an input */
    struct integer_layer **made; /* [old n_nodes] the layer that was made of it */
    struct grid_values *grids;   /* [old n_values] of the value at the end of the sharers */
    struct zero_value *zeros;    /* [n_zeros], of [old n_values] */
    uint32_t n_zeros;
    uint32_t *by_channel; /* [old n_values] a bias as [O, 1 ...], or NOT_MADE */
    uint32_t origin;      /* the float node being written */
    bool in_region;       /* then nodes in float read floats that were never rounded */
    bool out_of_memory;
    struct pith_error *err;
};

/* ---- values and nodes ------------------------------------------------------------------------ */

static uint32_t add_value(struct writer *w, char *name, enum pith_type type, uint32_t rank,
                          const uint32_t *dim)
{
    struct pith_value *v = &w->to->values[w->to->n_values];
    *v = (struct pith_value){.name = name, .type = type, .rank = rank, .min = 1, .max = 0};
    for (uint32_t i = 0; i < rank; i++)
        v->dim[i] = dim[i];
    return w->to->n_values++;
}

static uint32_t add_constant(struct writer *w, enum pith_type type, uint32_t rank,
                             const uint32_t *dim, void *data)
{
    uint32_t v = add_value(w, "", type, rank, dim);
    struct pith_const *c = pith_model_alloc(w->to, 1, sizeof *c);
    if (!c || !data) {
        w->out_of_memory = true;
        return v;
    }
    c->count = 1;
    for (uint32_t i = 0; i < rank; i++)
        c->count *= dim[i];
    c->data = data;
    w->to->values[v].constant = c;
    return v;
}

static struct pith_node *append(struct writer *w, const struct pith_node *node)
{
    w->net->origin[w->to->n_nodes] = w->origin;
    w->to->nodes[w->to->n_nodes] = *node;
    return &w->to->nodes[w->to->n_nodes++];
}

static struct pith_node *add_node(struct writer *w, const char *name, uint32_t op, uint32_t n_in,
                                  const uint32_t *in, uint32_t out)
{
    const struct pith_node like = {.name = (char *)(uintptr_t)name,
                                   .op = op,
                                   .n_in = n_in,
                                   .in = (uint32_t *)(uintptr_t)in,
                                   .n_out = 1,
                                   .out = &out};
    struct pith_node node;
    if (!pith_model_make_node(w->to, &like, &node)) {
        w->out_of_memory = true;
        return NULL;
    }
    return append(w, &node);
}

/* ---- grids ----------------------------------------------------------------------------------- */

static uint32_t zeros(struct writer *w, const struct pith_grid *g, uint32_t rank, uint32_t n)
{
    bool bytes = g->bits <= 8;
    void *data = pith_model_alloc(w->to, n, bytes ? 1 : 2);
    for (uint32_t i = 0; i < n && data && bytes; i++)
        ((uint8_t *)data)[i] = (uint8_t)g->zero_point;
    for (uint32_t i = 0; i < n && data && !bytes; i++)
        ((uint16_t *)data)[i] = (uint16_t)g->zero_point;
    return add_constant(w, g->type, rank, &n, data);
}

/* Those that are equal are one constant, so that each costs its bytes and its tables once. */
static uint32_t scalar_zero(struct writer *w, const struct pith_grid *g)
{
    for (uint32_t i = 0; i < w->n_zeros; i++) {
        const struct pith_grid *other = w->zeros[i].grid;
        if (other->type == g->type && other->zero_point == g->zero_point)
            return w->zeros[i].value;
    }
    uint32_t v = zeros(w, g, 0, 1);
    w->zeros[w->n_zeros++] = (struct zero_value){g, v};
    return v;
}

static const struct grid_values *grid_values(struct writer *w, uint32_t v)
{
    struct grid_values *c = &w->grids[pith_plan_owner(w->p, v)];
    const struct pith_grid *g = pith_plan_grid(w->p, v);
    if (c->scale != NOT_MADE)
        return c;
    uint32_t rank = g->n > 1;
    c->scale = add_constant(w, PITH_F32, rank, &g->n, g->scale);
    c->scalar_zero = scalar_zero(w, g);
    c->zero = rank ? zeros(w, g, 1, g->n) : c->scalar_zero;
    return c;
}

/* ---- from one to the other ------------------------------------------------------------------- */

/* The integers take over the value's name where the float goes: where no graph input or output is
 * called so. */
static bool stays_visible(const struct writer *w, uint32_t v)
{
    const struct pith_model *m = w->p->m;
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (m->outputs[i] == v)
            return true;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (m->inputs[i] == v)
            return true;
    return false;
}

static uint32_t new_whole(struct writer *w, uint32_t v)
{
    const struct pith_value *old = &w->p->m->values[v];
    bool visible = stays_visible(w, v);
    uint32_t to =
        add_value(w, visible ? "" : old->name, pith_plan_grid(w->p, v)->type, old->rank, old->dim);
    if (!visible)
        w->to->values[v].name = "";
    /* Where only layers read it, nothing else holds its scale. */
    w->to->values[to].grid = (struct pith_grid *)(uintptr_t)pith_plan_grid(w->p, v);
    w->whole[v] = to;
    return to;
}

/* Of the node that makes integers of v, or floats of these. Behind a layer that is apart it has
 * none: v has it, and where many layers read one weight names are much of what each has. */
static const char *name_of_conversion(const struct writer *w, uint32_t v)
{
    uint32_t i = w->p->value[v].producer;
    return i != NODE_NONE && w->p->node[i].apart ? "" : w->p->m->values[v].name;
}

static void write_quantize(struct writer *w, uint32_t v, uint32_t real, uint32_t to)
{
    const struct grid_values *g = grid_values(w, v);
    struct pith_node *node = add_node(w, name_of_conversion(w, v), PITH_OP_QUANTIZE, 3,
                                      (uint32_t[]){real, g->scale, g->zero}, to);
    if (!node)
        return;
    node->attr[ATTR_QUANTIZE_AXIS] = 1;
    node->attr[ATTR_QUANTIZE_TYPE] = (int32_t)pith_plan_grid(w->p, v)->type;
}

/* The integers of v as floats, under number `to`. */
static void dequantize(struct writer *w, uint32_t v, uint32_t to)
{
    const struct grid_values *g = grid_values(w, v);
    struct pith_node *node = add_node(w, name_of_conversion(w, v), PITH_OP_DEQUANTIZE, 3,
                                      (uint32_t[]){w->whole[v], g->scale, g->zero}, to);
    if (node)
        node->attr[ATTR_QUANTIZE_AXIS] = 1;
}

/* ---- grids with fewer integers than their type
 *
 * Operators saturate to the ends of a type. A Clip between its integers cuts off what the grid does
 * not have; to the runtime, that is a table of 256 entries. */

static bool is_narrow(const struct integer_plan *p, uint32_t v)
{
    const struct pith_grid *g = pith_plan_grid(p, v);
    return g->bits != 8 && g->bits != 16;
}

/* What an operator gives as integers of v: v's own, or those to be cut first. */
static uint32_t new_result(struct writer *w, uint32_t v)
{
    const struct pith_value *old = &w->p->m->values[v];
    return is_narrow(w->p, v) ? add_value(w, "", pith_plan_grid(w->p, v)->type, old->rank, old->dim)
                              : new_whole(w, v);
}

static void cut(struct writer *w, uint32_t v, uint32_t result)
{
    const struct pith_grid *g = pith_plan_grid(w->p, v);
    const struct pith_value *old = &w->p->m->values[v];
    if (!is_narrow(w->p, v))
        return;
    uint32_t real = add_value(w, "", PITH_F32, old->rank, old->dim);
    uint32_t inside = add_value(w, "", PITH_F32, old->rank, old->dim);
    w->whole[v] = result;
    dequantize(w, v, real);
    struct pith_node *clip = add_node(w, old->name, PITH_OP_CLIP, 1, &real, inside);
    float low = (float)(pith_grid_lowest(g) - g->zero_point) * g->scale[0];
    float high = (float)(pith_grid_highest(g) - g->zero_point) * g->scale[0];
    if (!clip)
        return;
    memcpy(&clip->attr[ATTR_CLIP_MIN], &low, sizeof low);
    memcpy(&clip->attr[ATTR_CLIP_MAX], &high, sizeof high);
    write_quantize(w, v, inside, new_whole(w, v));
}

/* Float `real` becomes the integers of v. */
static void quantize_from(struct writer *w, uint32_t v, uint32_t real)
{
    uint32_t to = new_result(w, v);
    write_quantize(w, v, real, to);
    cut(w, v, to);
}

static void quantize(struct writer *w, uint32_t v)
{
    quantize_from(w, v, v);
}

static uint32_t lend_real(struct writer *w, uint32_t v)
{
    const struct pith_value *old = &w->p->m->values[v];
    uint32_t to = add_value(w, "", PITH_F32, old->rank, old->dim);
    dequantize(w, v, to);
    return to;
}

/* The number of v as a float, for one reader. */
static uint32_t real_of(struct writer *w, uint32_t v)
{
    if (v == PITH_VALUE_NONE || w->whole[v] == NOT_MADE || (w->in_region && w->is_real[v]))
        return v;
    return w->lent[v] != NOT_MADE ? w->lent[v] : lend_real(w, v);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static uint32_t add_bias_of_matmul(struct writer *w, const struct integer_layer *l, uint32_t sums)
{
    const struct pith_value *acc = &w->to->values[sums];
    uint32_t n = (uint32_t)l->shape.rows;
    uint32_t with = add_value(w, "", acc->type, acc->rank, acc->dim);
    uint32_t bias = add_constant(w, acc->type, 1, &n, l->bias_q);
    add_node(w, w->p->m->nodes[l->node].name, PITH_OP_ADD, 2, (uint32_t[]){sums, bias}, with);
    return with;
}

/* What was pruned, in the order of l->stored; NULL: nothing. */
static uint8_t *mask_of(struct writer *w, const struct integer_layer *l)
{
    uint64_t rows = l->shape.rows, cols = l->shape.cols;
    if (!l->real.mask || !l->transposed)
        return (uint8_t *)(uintptr_t)l->real.mask;
    uint8_t *mask = pith_model_alloc(w->to, rows * cols, 1);
    for (uint64_t i = 0; i < rows * cols && mask; i++)
        mask[i % cols * rows + i / cols] = l->real.mask[i];
    w->out_of_memory |= !mask;
    return mask;
}

static uint32_t add_weight(struct writer *w, const struct integer_layer *l, uint32_t rank,
                           const uint32_t *dim)
{
    uint32_t q = add_constant(w, l->wide ? PITH_I16 : PITH_I8, rank, dim, l->stored);
    if (w->to->values[q].constant)
        w->to->values[q].constant->mask = mask_of(w, l);
    return q;
}

static void take_name(struct writer *w, uint32_t to, uint32_t from)
{
    w->to->values[to].name = w->to->values[from].name;
    w->to->values[from].name = "";
}

/* The integers take over the name; where several layers have integers of their own, the first's do.
 */
static void write_weight(struct writer *w, struct integer_layer *l)
{
    const struct pith_node *node = &w->p->m->nodes[l->node];
    const struct pith_value *weight = &w->p->m->values[node->in[1]];
    uint32_t by_column[2] = {(uint32_t)l->shape.cols, (uint32_t)l->shape.rows};
    const struct integer_layer *other = l->shared.first ? l->shared.first : l->shared.turned_of;
    if (other) {
        l->weight = other->weight;
        if (w->to->values[l->weight].name[0] == '\0')
            take_name(w, l->weight, node->in[1]);
        return;
    }
    bool conv = node->op == PITH_OP_CONV;
    l->weight = conv ? add_weight(w, l, weight->rank, weight->dim) : add_weight(w, l, 2, by_column);
    take_name(w, l->weight, node->in[1]);
}

/* A weight's products after its first need no name where the node that ends the layer has it. */
static const char *name_of_product(const struct integer_layer *l, const char *name)
{
    return l->apart && (l->shared.first || l->shared.turned_of) ? "" : name;
}

static uint32_t multiply(struct writer *w, const struct integer_layer *l, uint32_t x_zero)
{
    const struct pith_node *node = &w->p->m->nodes[l->node];
    const struct pith_value *y = &w->p->m->values[node->out[0]];
    bool conv = node->op == PITH_OP_CONV;
    uint32_t n = (uint32_t)l->shape.rows;
    uint32_t q = l->weight;
    enum pith_type sums = l->wide ? PITH_I64 : PITH_I32;
    uint32_t acc = add_value(w, "", sums, y->rank, y->dim);
    w->net->product[w->net->n_layers - 1] = w->to->n_nodes;
    if (!conv) {
        struct pith_node *product =
            add_node(w, name_of_product(l, node->name), PITH_OP_MATMUL_INTEGER, 3,
                     (uint32_t[]){w->whole[node->in[0]], q, x_zero}, acc);
        if (product)
            product->attr[ATTR_MATMUL_TRANS_B] = pith_layer_is_transposed(l);
        if (l->apart)
            return acc;
        bool corrected = pith_quantize_has_data(w->p->opts) && !w->p->opts->keep_biases;
        return l->real.bias || corrected ? add_bias_of_matmul(w, l, acc) : acc;
    }
    uint32_t bias = l->apart ? PITH_VALUE_NONE : add_constant(w, sums, 1, &n, l->bias_q);
    struct pith_node *product =
        add_node(w, name_of_product(l, node->name), PITH_OP_CONV_INTEGER, l->apart ? 3 : 5,
                 (uint32_t[]){w->whole[node->in[0]], q, x_zero, PITH_VALUE_NONE, bias}, acc);
    if (product)
        memcpy(product->attr, node->attr,
               pith_op_get(PITH_OP_CONV)->n_slots * sizeof *product->attr);
    return acc;
}

/* The weight's scales, or its one scale, of all that are apart. */
static uint32_t real_scale(struct writer *w, struct integer_layer *l)
{
    uint32_t n = (uint32_t)l->shape.rows;
    const struct integer_layer *other = l->shared.first ? l->shared.first : l->shared.turned_of;
    if (other)
        l->real_scale_value = other->real_scale_value;
    else
        l->real_scale_value = add_constant(w, PITH_F32, !l->shared.both_ways, &n, l->real_scale);
    return l->real_scale_value;
}

static uint32_t by_two(struct writer *w, uint32_t op, const char *name, uint32_t x, uint32_t by)
{
    const struct pith_value *old = &w->to->values[x];
    uint32_t y = add_value(w, "", PITH_F32, old->rank, old->dim);
    add_node(w, name, op, 2, (uint32_t[]){x, by}, y);
    return y;
}

/* A bias that broadcasts over the places of a convolution's output; one for all that add it. */
static uint32_t bias_by_channel(struct writer *w, uint32_t bias, uint32_t rank)
{
    const struct pith_value *old = &w->p->m->values[bias];
    uint32_t dim[PITH_MAX_RANK] = {old->dim[0]};
    if (w->by_channel[bias] != NOT_MADE)
        return w->by_channel[bias];
    for (uint32_t i = 1; i + 1 < rank; i++)
        dim[i] = 1;
    uint32_t v = add_constant(w, PITH_F32, rank - 1, dim, old->constant->data);
    w->to->values[v].name = w->to->values[bias].name;
    w->to->values[bias].name = "";
    return w->by_channel[bias] = v;
}

/* The last of the nodes is the value `out` where the layer's result is float, and has its name. */
static void scale_apart(struct writer *w, struct integer_layer *l, uint32_t acc, uint32_t out)
{
    const struct pith_node *layer = &w->p->m->nodes[l->node];
    const struct pith_value sums = w->to->values[acc];
    bool conv = layer->op == PITH_OP_CONV;
    uint32_t real = add_value(w, "", PITH_F32, sums.rank, sums.dim);
    struct pith_node *node =
        add_node(w, "", PITH_OP_DEQUANTIZE, 2, (uint32_t[]){acc, real_scale(w, l)}, real);
    if (node)
        node->attr[ATTR_QUANTIZE_AXIS] = conv || l->shared.both_ways ? 1 : (int32_t)sums.rank - 1;
    uint32_t bias = pith_node_bias(layer);
    real = by_two(w, PITH_OP_MUL, bias == PITH_VALUE_NONE ? layer->name : "", real,
                  grid_values(w, layer->in[0])->scale);
    if (bias != PITH_VALUE_NONE && conv)
        bias = bias_by_channel(w, bias, sums.rank);
    if (bias != PITH_VALUE_NONE)
        real = by_two(w, PITH_OP_ADD, layer->name, real, bias);
    if (l->y) {
        quantize_from(w, out, real);
        return;
    }
    w->to->nodes[w->to->n_nodes - 1].out[0] = out;
    w->is_real[out] = true;
}

static void scale_sums(struct writer *w, const struct integer_layer *l, uint32_t acc, uint32_t out)
{
    const char *name = w->p->m->nodes[l->node].name;
    uint32_t n = (uint32_t)l->shape.rows, factor = add_constant(w, PITH_F32, 1, &n, l->factor);
    bool conv = w->p->m->nodes[l->node].op == PITH_OP_CONV;
    struct pith_node *node;
    uint32_t result = l->y ? new_result(w, out) : out;
    if (l->y) {
        uint32_t zero = grid_values(w, out)->scalar_zero;
        node = add_node(w, name, PITH_OP_REQUANTIZE, 3, (uint32_t[]){acc, factor, zero}, result);
        if (node)
            node->attr[ATTR_QUANTIZE_TYPE] = (int32_t)l->y->type;
    } else {
        node = add_node(w, name, PITH_OP_DEQUANTIZE, 2, (uint32_t[]){acc, factor}, result);
        w->is_real[out] = true;
    }
    if (node)
        node->attr[ATTR_QUANTIZE_AXIS] = conv ? 1 : (int32_t)w->to->values[acc].rank - 1;
    if (l->y)
        cut(w, out, result);
}

static enum pith_status write_layer(struct writer *w, uint32_t i)
{
    const struct pith_node *node = &w->p->m->nodes[i];
    uint32_t act = w->p->node[i].swallowed;
    uint32_t out = w->p->m->nodes[act == NODE_NONE ? pith_layer_end(w->p, i) : act].out[0];
    struct integer_layer *l = &w->net->layers[w->net->n_layers++];
    uint32_t other = w->p->node[i].turned_of;
    *l = (struct integer_layer){.node = i,
                                .shared.turned_of = other == NODE_NONE ? NULL : w->made[other]};
    enum pith_status st =
        pith_integer_layer_make(w->p, out, w->made[w->p->node[i].weight_of], l, w->err);
    if (st)
        return st;
    w->made[i] = l;
    write_weight(w, l);
    if (w->whole[node->in[0]] == NOT_MADE)
        quantize(w, node->in[0]);
    uint32_t x_zero = grid_values(w, node->in[0])->scalar_zero;
    uint32_t acc = multiply(w, l, x_zero);
    if (l->apart)
        scale_apart(w, l, acc, out);
    else
        scale_sums(w, l, acc, out);
    return PITH_OK;
}

/* ---- other nodes ----------------------------------------------------------------------------- */

static bool same_grid(const struct writer *w, uint32_t a, uint32_t b)
{
    return pith_plan_owner(w->p, a) == pith_plan_owner(w->p, b);
}

/* All it reads and gives is, or may be, integers of one grid. */
static bool moves_integers(const struct writer *w, const struct pith_node *node)
{
    uint32_t n_in = node->op == PITH_OP_CONCAT ? node->n_in : 1;
    uint32_t first = node->in[0];
    if (w->p->node[w->origin].role != ROLE_CARRIED || first == PITH_VALUE_NONE ||
        w->whole[first] == NOT_MADE)
        return false;
    if (!pith_moves_elements(node, pith_plan_grid(w->p, first)->zero_point))
        return false;
    for (uint32_t k = 1; k < n_in; k++)
        if (w->whole[node->in[k]] == NOT_MADE || !same_grid(w, first, node->in[k]))
            return false;
    for (uint32_t k = 0; k < node->n_out; k++)
        if (!w->p->value[node->out[k]].whole || !same_grid(w, first, node->out[k]))
            return false;
    return true;
}

static void copy_node(struct writer *w, const struct pith_node *node, bool whole)
{
    struct pith_node copy;
    if (!pith_model_make_node(w->to, node, &copy)) {
        w->out_of_memory = true;
        return;
    }
    for (uint32_t k = 0; k < node->n_in; k++)
        copy.in[k] = whole && (k == 0 || node->op == PITH_OP_CONCAT) ? w->whole[node->in[k]]
                                                                     : real_of(w, node->in[k]);
    for (uint32_t k = 0; k < node->n_out && whole; k++)
        copy.out[k] = new_whole(w, node->out[k]);
    copy.attr = node->attr;
    copy.sized = node->sized;
    copy.n_sized = node->n_sized;
    append(w, &copy);
}

/* A pool's largest is one of its input's integers: nothing is to be cut. */
static bool is_inside(const struct writer *w, const struct pith_node *node, uint32_t v)
{
    return pith_op_is(node->op, TRAIT_SELECTS) && w->whole[node->in[0]] != NOT_MADE &&
           same_grid(w, node->in[0], v);
}

static void write_node(struct writer *w, const struct pith_node *node)
{
    bool whole = moves_integers(w, node);
    copy_node(w, node, whole);
    for (uint32_t k = 0; k < node->n_out && !whole; k++) {
        w->is_real[node->out[k]] = true;
        if (!w->p->value[node->out[k]].whole)
            continue;
        if (is_inside(w, node, node->out[k]))
            write_quantize(w, node->out[k], node->out[k], new_whole(w, node->out[k]));
        else
            quantize(w, node->out[k]);
    }
}

/* Behind the region that begins with node `first`. */
static uint32_t end_of_region(const struct pith_model *m, uint32_t first)
{
    uint32_t last = first, depth = 0;
    do {
        depth += pith_opens_body(m->nodes[last].op);
        depth -= pith_closes_body(m->nodes[last].op);
        last++;
    } while (depth && last < m->n_nodes);
    return last;
}

/* What a node of a region reads of what was there before is made in front of the region: for all
 * iterations at once, and where every branch sees it. */
static void make_before_region(struct writer *w, const struct pith_node *node, bool is_layer)
{
    if (is_layer && w->whole[node->in[0]] == NOT_MADE && w->is_real[node->in[0]])
        quantize(w, node->in[0]);
    for (uint32_t k = is_layer; k < node->n_in; k++) {
        uint32_t v = node->in[k];
        if (v != PITH_VALUE_NONE && w->whole[v] != NOT_MADE && !w->is_real[v] &&
            w->lent[v] == NOT_MADE)
            w->lent[v] = lend_real(w, v);
    }
}

/* A region [first, *last) that begins with node `first`. */
static enum pith_status write_region(struct writer *w, uint32_t first, uint32_t *last)
{
    const struct pith_model *m = w->p->m;
    enum pith_status st = PITH_OK;
    *last = end_of_region(m, first);
    for (uint32_t i = first; i < *last; i++)
        make_before_region(w, &m->nodes[i], w->p->node[i].role == ROLE_LAYER);
    w->in_region = true;
    for (uint32_t i = first; i < *last && !st && !w->out_of_memory; i++)
        if (w->p->node[i].role == ROLE_LAYER)
            st = write_layer(w, i);
        else
            write_node(w, &m->nodes[i]);
    w->in_region = false;
    for (uint32_t v = 0; v < m->n_values; v++)
        w->lent[v] = NOT_MADE;
    return st;
}

static enum pith_status write_nodes(struct writer *w)
{
    const struct pith_model *m = w->p->m;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < m->n_nodes && !st && !w->out_of_memory;) {
        w->origin = i;
        if (pith_opens_body(m->nodes[i].op)) {
            st = write_region(w, i, &i);
            continue;
        }
        if (w->p->node[i].role == ROLE_LAYER)
            st = write_layer(w, i);
        else if (w->p->node[i].role != ROLE_SWALLOWED)
            write_node(w, &m->nodes[i]);
        i++;
    }
    return st;
}

/* Outputs of the graph that nothing computed as floats. */
static void write_outputs(struct writer *w)
{
    const struct pith_model *m = w->p->m;
    for (uint32_t i = 0; i < m->n_outputs && !w->out_of_memory; i++) {
        uint32_t v = m->outputs[i];
        w->origin = m->n_nodes;
        if (w->whole[v] != NOT_MADE && !w->is_real[v])
            dequantize(w, v, v);
        w->is_real[v] = true;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status make_room(struct writer *w)
{
    const struct pith_model *m = w->p->m;
    uint64_t ends = m->n_outputs;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        ends += (uint64_t)m->nodes[i].n_in + m->nodes[i].n_out + 8;
    /* of a grid: scale and two zero points, its integers and, of a narrow one, these before they
     * are cut */
    uint64_t n_values = 8 * (uint64_t)m->n_values + 2 * ends, n_nodes = m->n_nodes + 2 * ends;
    w->to->values = pith_model_alloc(w->to, n_values, sizeof *w->to->values);
    w->to->nodes = pith_model_alloc(w->to, n_nodes, sizeof *w->to->nodes);
    w->net->origin = pith_model_alloc(w->to, n_nodes, sizeof *w->net->origin);
    w->net->layers = pith_model_alloc(w->to, w->p->n_layers + (uint64_t)1, sizeof *w->net->layers);
    w->net->product = pith_model_alloc(w->to, w->p->n_layers + (uint64_t)1, sizeof(uint32_t));
    w->whole = malloc((m->n_values + (size_t)1) * sizeof *w->whole);
    w->lent = malloc((m->n_values + (size_t)1) * sizeof *w->lent);
    w->by_channel = malloc((m->n_values + (size_t)1) * sizeof *w->by_channel);
    w->is_real = calloc(m->n_values + (size_t)1, sizeof *w->is_real);
    w->made = calloc(m->n_nodes + (size_t)1, sizeof *w->made);
    w->grids = malloc((m->n_values + (size_t)1) * sizeof *w->grids);
    w->zeros = malloc((m->n_values + (size_t)1) * sizeof *w->zeros);
    if (!w->to->values || !w->to->nodes || !w->net->origin || !w->net->layers || !w->net->product ||
        !w->whole || !w->lent || !w->by_channel || !w->is_real || !w->made || !w->grids ||
        !w->zeros)
        return pith_error_no_memory(w->err);
    memcpy(w->to->values, m->values, m->n_values * sizeof *m->values);
    for (uint32_t v = 0; v < m->n_values; v++) {
        w->whole[v] = w->lent[v] = w->by_channel[v] = NOT_MADE;
        w->grids[v] = (struct grid_values){NOT_MADE, NOT_MADE, NOT_MADE};
    }
    for (uint32_t i = 0; i < m->n_inputs; i++)
        w->is_real[m->inputs[i]] = true;
    w->to->n_nodes = 0;
    return PITH_OK;
}

enum pith_status pith_integer_rewrite(const struct integer_plan *p, struct integer_network *n,
                                      struct pith_error *err)
{
    *n = (struct integer_network){.m = *p->m};
    struct writer w = {.p = p, .net = n, .to = &n->m, .err = err};
    enum pith_status st = make_room(&w);
    if (!st)
        st = write_nodes(&w);
    if (!st)
        write_outputs(&w);
    for (uint32_t i = 0; i < n->n_layers && !st && !w.out_of_memory; i++)
        if (n->layers[i].shared.rescaled)
            pith_layer_store_all(&n->layers[i]);
    if (!st && w.out_of_memory)
        st = pith_error_no_memory(err);
    if (!st && !p->opts->same_numbers)
        st = pith_model_drop_unused(&n->m, err);
    free(w.whole);
    free(w.lent);
    free(w.by_channel);
    free(w.is_real);
    free(w.made);
    free(w.grids);
    free(w.zeros);
    return st;
}
