/* SPDX-License-Identifier: MIT */
/* onnx_export_recurrent.c - a RECURRENT node as ONNX's RNN, GRU or LSTM of one direction.
 *
 * ONNX's operator multiplies the input itself: W is that of the MatMul in front (with the Add of
 * its bias, where there is one), which is what import made them of; nothing else may read what
 * these give, and they are then not written on their own. What else comes in as the gates' input is
 * multiplied with an identity matrix, made by two nodes (EyeLike of zeros), not stored.
 *
 * Operands get ONNX's axis of directions: constants as tensors of one more dim, others through
 * Unsqueeze; outputs lose it again. */
#include "onnx_export.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

struct layer {
    const struct pith_node *node;   /* RECURRENT */
    const struct pith_node *matmul; /* NULL: an identity instead */
    const struct pith_node *add;    /* of the bias, or NULL */
};

static const struct pith_value *value(const struct onnx_export *x, uint32_t v)
{
    return &x->m->values[v];
}

static uint32_t input(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_VALUE_NONE;
}

static bool is_output(const struct onnx_export *x, uint32_t v)
{
    for (uint32_t i = 0; i < x->m->n_outputs; i++)
        if (x->m->outputs[i] == v)
            return true;
    return false;
}

static bool used_once(const struct onnx_export *x, uint32_t v)
{
    return x->uses[v] == 1 && !is_output(x, v);
}

/* The node of operator `op` whose value v only one other reads, or NULL. */
static const struct pith_node *only_for(const struct onnx_export *x, uint32_t v, uint32_t op)
{
    uint32_t n = x->producer[v];
    if (n == UINT32_MAX || !used_once(x, v))
        return NULL;
    const struct pith_node *node = &x->m->nodes[n];
    return node->op == op ? node : NULL;
}

static struct layer layer_of(const struct onnx_export *x, const struct pith_node *node)
{
    struct layer l = {.node = node};
    uint32_t v = node->in[0];
    const struct pith_node *add = only_for(x, v, PITH_OP_ADD);
    if (add) {
        const struct pith_value *b = value(x, add->in[1]);
        if (b->rank != 1 || b->dim[0] != value(x, v)->dim[2])
            return l;
        v = add->in[0];
    }
    const struct pith_node *matmul = only_for(x, v, PITH_OP_MATMUL);
    if (!matmul || !matmul->attr[ATTR_MATMUL_TRANS_B] || value(x, matmul->in[0])->rank != 3)
        return l;
    l.matmul = matmul;
    l.add = add;
    return l;
}

void pith_export_find_layers(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    x->producer = pith_export_alloc(x, m->n_values + 1u, sizeof *x->producer);
    x->in_layer = pith_export_alloc(x, m->n_nodes + 1u, sizeof *x->in_layer);
    if (x->failed)
        return;
    for (uint32_t i = 0; i < m->n_values; i++)
        x->producer[i] = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            x->producer[m->nodes[i].out[k]] = i;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].op != PITH_OP_RECURRENT)
            continue;
        struct layer l = layer_of(x, &m->nodes[i]);
        if (l.matmul)
            x->in_layer[l.matmul - m->nodes] = true;
        if (l.add)
            x->in_layer[l.add - m->nodes] = true;
    }
}

/* ---- operands ------------------------------------------------------------------------------- */

static const char *axis_node(struct onnx_export *x, const char *op_type, const char *from,
                             const char *to, int64_t axis)
{
    const char *axes = pith_export_ints_tensor(x, &axis, 1);
    Onnx__NodeProto *node = pith_export_node(x, op_type, "");
    pith_export_input(node, from);
    pith_export_input(node, axes);
    pith_export_output(node, to);
    return to;
}

/* Value v with an axis of one direction in front, a constant written once for all layers that read
 * it so; NULL: there is no such input. */
static const char *stacked(struct onnx_export *x, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return NULL;
    const struct pith_value *from = value(x, v);
    if (!from->constant || from->type != PITH_F32)
        return axis_node(x, "Unsqueeze", x->names[v], pith_export_name(x, x->names[v]), 0);
    x->stacked_uses[v]++;
    x->replaced[v] = x->stacked_uses[v] == x->uses[v] && !is_output(x, v);
    if (x->stacked[v])
        return x->stacked[v];
    x->stacked[v] = x->replaced[v] ? x->names[v] : pith_export_name(x, x->names[v]);
    return pith_export_weight(x, x->stacked[v], v, EXPORT_STACKED);
}

static const char *identity(struct onnx_export *x, uint32_t rows)
{
    const int64_t dims[2] = {rows, rows};
    const char *zeros = pith_export_name(x, "zeros"), *eye = pith_export_name(x, "eye");
    const char *shape = pith_export_ints_tensor(x, dims, 2);
    Onnx__NodeProto *node = pith_export_node(x, "ConstantOfShape", "");
    pith_export_input(node, shape);
    pith_export_output(node, zeros);
    node = pith_export_node(x, "EyeLike", "");
    pith_export_input(node, zeros);
    pith_export_output(node, eye);
    return axis_node(x, "Unsqueeze", eye, pith_export_name(x, "identity"), 0);
}

static bool is_constant(const struct onnx_export *x, uint32_t v)
{
    return v == PITH_VALUE_NONE || value(x, v)->constant;
}

/* Both biases, each [rows] or absent, as a constant. */
static const char *constant_biases(struct onnx_export *x, const uint32_t part[2], uint32_t rows)
{
    const uint32_t dims[2] = {1, 2 * rows};
    float *b = pith_export_alloc(x, 2 * (uint64_t)rows, sizeof *b);
    for (uint32_t i = 0; i < 2 && b; i++) {
        if (part[i] == PITH_VALUE_NONE)
            continue;
        memcpy(b + (size_t)i * rows, value(x, part[i])->constant->data, rows * sizeof *b);
        x->replaced[part[i]] = used_once(x, part[i]);
    }
    return b ? pith_export_tensor(x, pith_export_name(x, "bias"),
                                  (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 2,
                                                        dims, b, 2 * (uint64_t)rows * sizeof *b})
             : NULL;
}

static const char *biases(struct onnx_export *x, const struct layer *l, uint32_t rows)
{
    const uint32_t part[2] = {l->add ? l->add->in[1] : PITH_VALUE_NONE, input(l->node, 2)};
    if (part[0] == PITH_VALUE_NONE && part[1] == PITH_VALUE_NONE)
        return NULL;
    if (is_constant(x, part[0]) && is_constant(x, part[1]))
        return constant_biases(x, part, rows);
    float *zeros = pith_export_alloc(x, rows, sizeof *zeros);
    const char *name[2];
    for (uint32_t i = 0; i < 2 && zeros; i++)
        name[i] = part[i] != PITH_VALUE_NONE ? x->names[part[i]]
                                             : pith_export_float_tensor(x, zeros, rows, false);
    const char *both = pith_export_name(x, "bias");
    Onnx__NodeProto *concat = pith_export_node(x, "Concat", "");
    if (!zeros || !concat)
        return NULL;
    pith_export_input(concat, name[0]);
    pith_export_input(concat, name[1]);
    pith_export_output(concat, both);
    pith_export_int(x, concat, "axis", 0);
    return axis_node(x, "Unsqueeze", both, pith_export_name(x, "bias"), 0);
}

/* Inputs of ONNX's operator, in its order; NULL where left out. */
static void find_inputs(struct onnx_export *x, const struct layer *l, const char *in[8])
{
    uint32_t rows = value(x, l->node->in[1])->dim[0];
    in[0] = x->names[l->matmul ? l->matmul->in[0] : l->node->in[0]];
    in[1] = l->matmul ? stacked(x, l->matmul->in[1]) : identity(x, rows);
    in[2] = stacked(x, l->node->in[1]);
    in[3] = biases(x, l, rows);
    in[4] = input(l->node, 3) == PITH_VALUE_NONE ? NULL : x->names[input(l->node, 3)];
    for (uint32_t i = 5; i < 8; i++)
        in[i] = stacked(x, input(l->node, i - 1));
}

/* ---- the node ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool takes_alpha, takes_beta;
} acts[RECURRENT_ACT_END] = {
    [RECURRENT_SIGMOID] = {"Sigmoid", false, false},
    [RECURRENT_TANH] = {"Tanh", false, false},
    [RECURRENT_RELU] = {"Relu", false, false},
    [RECURRENT_AFFINE] = {"Affine", true, true},
    [RECURRENT_LEAKY_RELU] = {"LeakyRelu", true, false},
    [RECURRENT_THRESHOLDED] = {"ThresholdedRelu", true, false},
    [RECURRENT_SCALED_TANH] = {"ScaledTanh", true, true},
    [RECURRENT_HARD_SIGMOID] = {"HardSigmoid", true, true},
    [RECURRENT_ELU] = {"Elu", true, false},
    [RECURRENT_SOFTSIGN] = {"Softsign", false, false},
    [RECURRENT_SOFTPLUS] = {"Softplus", false, false},
};

/* ONNX lists alphas and betas of those functions alone that have one. */
static void put_activations(struct op_export *e)
{
    const int32_t *attr = e->node->attr;
    const char *names[PITH_MAX_RANK];
    float alpha[PITH_MAX_RANK], beta[PITH_MAX_RANK];
    uint32_t n = attr_count(attr, ATTR_RECURRENT_ACT), n_alpha = 0, n_beta = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t act = attr[ATTR_RECURRENT_ACT + 1 + i];
        names[i] = acts[act].name;
        if (acts[act].takes_alpha)
            alpha[n_alpha++] = f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_ALPHA, i, 0));
        if (acts[act].takes_beta)
            beta[n_beta++] = f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_BETA, i, 0));
    }
    if (n)
        pith_export_strings(e->x, e->to, "activations", names, n);
    if (n_alpha)
        pith_export_floats(e->x, e->to, "activation_alpha", alpha, n_alpha);
    if (n_beta)
        pith_export_floats(e->x, e->to, "activation_beta", beta, n_beta);
}

static void put_attributes(struct op_export *e)
{
    const int32_t *attr = e->node->attr;
    pith_export_int(e->x, e->to, "hidden_size", value(e->x, e->node->in[1])->dim[1]);
    if (attr[ATTR_RECURRENT_REVERSE])
        pith_export_string(e->x, e->to, "direction", "reverse");
    if (attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET])
        pith_export_int(e->x, e->to, "linear_before_reset", 1);
    if (attr[ATTR_RECURRENT_INPUT_FORGET])
        pith_export_int(e->x, e->to, "input_forget", 1);
    if (isfinite(attr_f32(attr, ATTR_RECURRENT_CLIP)))
        pith_export_float(e->x, e->to, "clip", attr_f32(attr, ATTR_RECURRENT_CLIP));
    put_activations(e);
}

enum pith_status pith_export_recurrent(struct op_export *e)
{
    static const char *const kinds[RECURRENT_END] = {"RNN", "GRU", "LSTM"};
    struct onnx_export *x = e->x;
    struct layer l = layer_of(x, e->node);
    const char *in[8], *out[3] = {NULL};
    x->graph.n_node--; /* what makes its operands comes first */
    find_inputs(x, &l, in);
    if (x->failed)
        return PITH_OK; /* tested at the end */
    e->to->op_type = pith_model_strdup(x->arena, kinds[e->node->attr[ATTR_KIND]]);
    x->failed = x->failed || !e->to->op_type;
    x->graph.node[x->graph.n_node++] = e->to;
    e->to->n_input = e->to->n_output = 0;
    uint32_t n_in = 8;
    while (!in[n_in - 1])
        n_in--;
    for (uint32_t i = 0; i < n_in; i++)
        pith_export_input(e->to, in[i] ? in[i] : "");
    for (uint32_t i = 0; i < e->node->n_out; i++) {
        uint32_t v = e->node->out[i];
        if (x->uses[v] > 0 || is_output(x, v))
            out[i] = pith_export_name(x, x->names[v]);
        pith_export_output(e->to, out[i] ? out[i] : "");
    }
    put_attributes(e);
    for (uint32_t i = 0; i < e->node->n_out; i++)
        if (out[i])
            axis_node(x, "Squeeze", out[i], x->names[e->node->out[i]], i == 0);
    return PITH_OK;
}
