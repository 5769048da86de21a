/* SPDX-License-Identifier: MIT */
/* onnx_export_pieces.c - LayerNormalization, Gelu, Mish and Attention, newer than opset 13, in the
 * pieces that exporters of that time write; import puts them together again (onnx_patterns.c). */
#include "base/error_fill.h"
#include "onnx_export.h"
#include "op_interface/op_attr.h"

#include <float.h>

/* op(a, b) under a new name; b may be NULL. The first piece takes the place of the node itself. */
static const char *piece(struct op_export *e, const char *op_type, const char *a, const char *b,
                         const char *out)
{
    Onnx__NodeProto *node = e->to;
    if (node->n_output)
        node = pith_export_node(e->x, op_type, "");
    const char *name = out ? out : pith_export_name(e->x, "piece");
    if (!node || !name)
        return "";
    node->op_type = (char *)(uintptr_t)op_type;
    pith_export_input(node, a);
    if (b)
        pith_export_input(node, b);
    pith_export_output(node, name);
    return name;
}

static const char *number(struct op_export *e, float value)
{
    const char *name = pith_export_float_tensor(e->x, &value, 1, true);
    return name ? name : "";
}

static const char *input(const struct op_export *e, uint32_t i)
{
    return e->x->names[e->node->in[i]];
}

/* Whether value v is shaped as the axes of x from `axis` on, so that it broadcasts over them. */
static bool spans_axes(const struct op_export *e, uint32_t v, uint32_t axis)
{
    const struct pith_value *x = &e->x->m->values[e->node->in[0]], *s = &e->x->m->values[v];
    bool same = s->rank == x->rank - axis;
    for (uint32_t i = 0; i < s->rank && same; i++)
        same = s->dim[i] == x->dim[axis + i];
    return same;
}

static const char *row_mean(struct op_export *e, const char *x, uint32_t axis)
{
    int64_t axes[PITH_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = axis; i < e->x->m->values[e->node->in[0]].rank; i++)
        axes[n++] = i;
    const bool as_input = e->x->opset >= EXPORT_OPSET_18;
    const char *mean =
        piece(e, "ReduceMean", x, as_input ? pith_export_ints_tensor(e->x, axes, n) : NULL, NULL);
    if (!e->x->failed && !as_input)
        pith_export_ints(e->x, e->x->graph.node[e->x->graph.n_node - 1], "axes", axes, n);
    return mean;
}

enum pith_status pith_export_layer_norm(struct op_export *e)
{
    const struct pith_node *node = e->node;
    uint32_t axis = (uint32_t)node->attr[ATTR_LAYER_NORM_AXIS];
    bool biased = node->n_in > 2 && node->in[2] != PITH_VALUE_NONE;
    if (!spans_axes(e, node->in[1], axis) || (biased && !spans_axes(e, node->in[2], axis)))
        return pith_error_fill(e->x->err, PITH_ERR_UNSUPPORTED,
                               "cannot write node '%.100s' (LayerNormalization) as ONNX opset 13: "
                               "its scale has another shape than the rows",
                               node->name);
    const char *x = input(e, 0), *out = e->x->names[node->out[0]];
    e->to->n_input = e->to->n_output = 0;
    const char *centred = x;
    if (!node->attr[ATTR_LAYER_NORM_ABOUT_ZERO])
        centred = piece(e, "Sub", x, row_mean(e, x, axis), NULL);
    const char *square = piece(e, "Mul", centred, centred, NULL);
    const char *padded = piece(e, "Add", row_mean(e, square, axis),
                               number(e, attr_f32(node->attr, ATTR_LAYER_NORM_EPSILON)), NULL);
    const char *unit = piece(e, "Div", centred, piece(e, "Sqrt", padded, NULL, NULL), NULL);
    const char *scaled = piece(e, "Mul", unit, input(e, 1), biased ? NULL : out);
    if (biased)
        piece(e, "Add", scaled, input(e, 2), out);
    return PITH_OK;
}

/* sqrt(2 / pi) (x + 0.044715 x^3) */
static const char *tanh_argument(struct op_export *e, const char *x)
{
    const char *cube = piece(e, "Pow", x, number(e, 3.0f), NULL);
    const char *part = piece(e, "Mul", cube, number(e, 0.044715f), NULL);
    return piece(e, "Mul", piece(e, "Add", x, part, NULL), number(e, 0.797884561f), NULL);
}

enum pith_status pith_export_gelu(struct op_export *e)
{
    const char *x = input(e, 0), *out = e->x->names[e->node->out[0]], *f;
    e->to->n_input = e->to->n_output = 0;
    if (e->node->attr[ATTR_KIND] == UNARY_GELU_TANH)
        f = piece(e, "Tanh", tanh_argument(e, x), NULL, NULL);
    else
        f = piece(e, "Erf", piece(e, "Div", x, number(e, 1.41421356f), NULL), NULL, NULL);
    const char *gate = piece(e, "Add", f, number(e, 1.0f), NULL);
    piece(e, "Mul", piece(e, "Mul", x, gate, NULL), number(e, 0.5f), out);
    return PITH_OK;
}

enum pith_status pith_export_mish(struct op_export *e)
{
    const char *x = input(e, 0), *out = e->x->names[e->node->out[0]];
    e->to->n_input = e->to->n_output = 0;
    const char *soft = piece(e, "Softplus", x, NULL, NULL);
    piece(e, "Mul", x, piece(e, "Tanh", soft, NULL, NULL), out);
    return PITH_OK;
}

static const char *transpose(struct op_export *e, const char *x, bool swapped, bool turned)
{
    const int64_t rows = swapped ? 1 : 2,
                  perm[4] = {0, swapped ? 2 : 1, turned ? 3 : rows, turned ? rows : 3};
    const char *name = piece(e, "Transpose", x, NULL, NULL);
    if (!e->x->failed)
        pith_export_ints(e->x, e->x->graph.node[e->x->graph.n_node - 1], "perm", perm, 4);
    return name;
}

static uint32_t heads_of(const struct op_export *e, uint32_t i)
{
    const bool swapped = e->node->attr[ATTR_ATTENTION_LAYOUT] >> i & 1;
    return e->x->m->values[e->node->in[i]].dim[swapped ? 2 : 1];
}

/* Operand i as [B,H,T,D], or with `turned` as [B,H,D,T]; as it is where nothing is to be swapped.
 * Heads that several of q's read are repeated. */
static const char *heads_first(struct op_export *e, uint32_t i, bool turned)
{
    const bool swapped = e->node->attr[ATTR_ATTENTION_LAYOUT] >> i & 1;
    const uint32_t heads = heads_of(e, 0), own = heads_of(e, i);
    const char *x = input(e, i);
    if (heads == own)
        return swapped || turned ? transpose(e, x, swapped, turned) : x;
    const int64_t axis[1] = {2}, times[5] = {1, 1, heads / own, 1, 1};
    const int64_t dims[4] = {0, heads, -1, e->x->m->values[e->node->in[i]].dim[3]};
    x = swapped ? transpose(e, x, true, false) : x;
    x = piece(e, "Unsqueeze", x, pith_export_ints_tensor(e->x, axis, 1), NULL);
    x = piece(e, "Tile", x, pith_export_ints_tensor(e->x, times, 5), NULL);
    x = piece(e, "Reshape", x, pith_export_ints_tensor(e->x, dims, 4), NULL);
    return turned ? transpose(e, x, false, true) : x;
}

static bool adds_mask(const struct op_export *e)
{
    return e->x->m->values[e->node->in[3]].type == PITH_F32;
}

static const char *with_mask(struct op_export *e, const char *scores)
{
    if (adds_mask(e))
        return piece(e, "Add", scores, input(e, 3), NULL);
    bool keep = e->node->attr[ATTR_ATTENTION_KEEP] != 0;
    const char *fill = number(e, attr_f32(e->node->attr, ATTR_ATTENTION_FILL));
    const char *where = piece(e, "Where", input(e, 3), keep ? scores : fill, NULL);
    if (!e->x->failed)
        pith_export_input(e->x->graph.node[e->x->graph.n_node - 1], keep ? fill : scores);
    return where;
}

/* Whether a value is computed from inputs of the network: then it may follow an open batch. */
static bool follows_input(struct onnx_export *x, uint32_t value)
{
    const struct pith_model *m = x->m;
    bool *follows = pith_export_alloc(x, m->n_values + 1u, sizeof *follows);
    if (!follows)
        return true;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        follows[m->inputs[i]] = true;
    for (uint32_t n = 0; n < m->n_nodes; n++) {
        bool any = false;
        for (uint32_t i = 0; i < m->nodes[n].n_in; i++)
            any |= m->nodes[n].in[i] != PITH_VALUE_NONE && follows[m->nodes[n].in[i]];
        for (uint32_t i = 0; i < m->nodes[n].n_out; i++)
            follows[m->nodes[n].out[i]] = any;
    }
    return follows[value];
}

/* The softmax of masked scores; a query that sees no key has no weights. */
static const char *weights(struct op_export *e, const char *scores)
{
    const struct pith_node *node = e->node;
    const struct pith_value *mask =
        node->n_in > 3 && node->in[3] != PITH_VALUE_NONE ? &e->x->m->values[node->in[3]] : NULL;
    const struct pith_value *v = e->x->m->values, *q = &v[node->in[0]], *k = &v[node->in[1]];
    const int32_t layout = node->attr[ATTR_ATTENTION_LAYOUT];
    const int64_t rows = q->dim[layout & 1 ? 1 : 2], keys = k->dim[layout & 2 ? 1 : 2];
    const bool again = mask && mask->rank == 4 && mask->dim[0] != 1 &&
                       (mask->dim[0] != q->dim[0] || !follows_input(e->x, node->in[3]));
    if (again) {
        const int64_t dims[5] = {-1, mask->dim[0], heads_of(e, 0), rows, keys};
        scores = piece(e, "Reshape", scores, pith_export_ints_tensor(e->x, dims, 5), NULL);
    }
    scores = mask ? with_mask(e, scores) : scores;
    if (again) {
        const int64_t dims[4] = {-1, heads_of(e, 0), rows, keys};
        scores = piece(e, "Reshape", scores, pith_export_ints_tensor(e->x, dims, 4), NULL);
    }
    const char *share = piece(e, "Softmax", scores, NULL, NULL);
    if (!e->x->failed)
        pith_export_int(e->x, e->x->graph.node[e->x->graph.n_node - 1], "axis", 3);
    if (!mask || (!adds_mask(e) && attr_f32(node->attr, ATTR_ATTENTION_FILL) >= -FLT_MAX))
        return share;
    const char *none = piece(e, "IsNaN", share, NULL, NULL);
    const char *where = piece(e, "Where", none, number(e, 0.0f), NULL);
    if (!e->x->failed)
        pith_export_input(e->x->graph.node[e->x->graph.n_node - 1], share);
    return where;
}

enum pith_status pith_export_attention(struct op_export *e)
{
    const bool swapped = (e->node->attr[ATTR_ATTENTION_LAYOUT] & 8) != 0;
    const char *out = e->x->names[e->node->out[0]];
    e->to->n_input = e->to->n_output = 0;
    const char *scale = number(e, attr_f32(e->node->attr, ATTR_ATTENTION_SCALE));
    const char *q = piece(e, "Mul", heads_first(e, 0, false), scale, NULL);
    const char *scores = piece(e, "MatMul", q, heads_first(e, 1, true), NULL);
    const char *share = weights(e, scores);
    const char *y = piece(e, "MatMul", share, heads_first(e, 2, false), swapped ? NULL : out);
    if (!swapped)
        return PITH_OK;
    piece(e, "Transpose", y, NULL, out);
    const int64_t perm[4] = {0, 2, 1, 3};
    if (!e->x->failed)
        pith_export_ints(e->x, e->x->graph.node[e->x->graph.n_node - 1], "perm", perm, 4);
    return PITH_OK;
}
