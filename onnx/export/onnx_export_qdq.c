/* SPDX-License-Identifier: MIT */
/* onnx_export_qdq.c - layers of integers in the QDQ format, the way back of onnx_qdq.c:
 *
 *     ConvInteger -> Requantize              DQ(x), DQ(w), DQ(bias) -> Conv -> Q
 *     MatMulInteger [-> Add] -> Requantize   the same with Gemm, or MatMul [-> Add]; with trans_b
 *                                            Gemm, or MatMul with DQ(Transpose(w))
 *     either -> DequantizeLinear             the same without Q
 *
 * A Requantize has one factor, x_scale * w_scale / y_scale. Which scale x and y have is found
 * around them: in the QuantizeLinear that makes them or the DequantizeLinear that reads them, also
 * beyond operators that only move elements, or in the grid that quantize left; else it may be any,
 * and is 1. The weight's scale is what then gives the factor to the bit, where there is such an
 * f32: importing the file makes the same network of integers again.
 *
 * Values with a scale for each channel get 1 for all: the scales of the weights on both sides take
 * up what was the channels', and runtimes that know one scale a value only (onnxruntime) can run
 * the layers. What is not a layer sees a Div before QuantizeLinear or a Mul behind DequantizeLinear
 * (onnx_export_quantize.c). */
#include <math.h>

#include "onnx_export.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* ---- scales of the values that are bytes ---------------------------------------------------- */

static bool is_byte(enum pith_type type)
{
    return type == PITH_I8 || type == PITH_U8;
}

static bool has_in(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in && node->in[i] != PITH_VALUE_NONE;
}

static const struct pith_value *value_in(const struct onnx_export *x, const struct pith_node *node,
                                         uint32_t i)
{
    return has_in(node, i) ? &x->m->values[node->in[i]] : NULL;
}

static bool is_scale(float f)
{
    return f > 0.0f && isnormal(f);
}

/* Of a QuantizeLinear or DequantizeLinear; 1 where there are several, 0: it is not known. */
static float scale_of(const struct onnx_export *x, const struct pith_node *node)
{
    const struct pith_value *s = value_in(x, node, 1);
    if (!s || !s->constant || s->type != PITH_F32)
        return 0.0f;
    if (s->constant->count != 1)
        return 1.0f;
    float scale = *(const float *)s->constant->data;
    return is_scale(scale) ? scale : 0.0f;
}

/* A largest element, too, is one of those read. */
static bool moves(uint32_t op)
{
    return pith_op_moves(op) || op == PITH_OP_MAX_POOL;
}

static void pass_through(struct onnx_export *x, const struct pith_node *node, bool forward)
{
    for (uint32_t i = 0; i < node->n_in && (i == 0 || node->op == PITH_OP_CONCAT); i++)
        for (uint32_t o = 0; o < node->n_out; o++) {
            float *in = &x->scale[node->in[i]], *out = &x->scale[node->out[o]];
            float *to = forward ? out : in;
            if (*to == 0.0f)
                *to = forward ? *in : *out;
        }
}

static void take_grid(struct onnx_export *x, uint32_t v)
{
    const struct pith_grid *g = x->m->values[v].grid;
    if (x->scale[v] == 0.0f && g && g->type == x->m->values[v].type)
        x->scale[v] = g->n != 1 ? 1.0f : is_scale(g->scale[0]) ? g->scale[0] : 0.0f;
}

static void find_scales(struct onnx_export *x)
{
    const struct pith_model *m = x->m;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_QUANTIZE)
            x->scale[m->nodes[i].out[0]] = scale_of(x, &m->nodes[i]);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_DEQUANTIZE && x->scale[m->nodes[i].in[0]] == 0.0f)
            x->scale[m->nodes[i].in[0]] = scale_of(x, &m->nodes[i]);
    for (uint32_t v = 0; v < m->n_values; v++)
        take_grid(x, v);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (moves(m->nodes[i].op))
            pass_through(x, &m->nodes[i], true);
    for (uint32_t i = m->n_nodes; i-- > 0;)
        if (moves(m->nodes[i].op))
            pass_through(x, &m->nodes[i], false);
    for (uint32_t v = 0; v < m->n_values; v++)
        if (x->scale[v] == 0.0f)
            x->scale[v] = 1.0f;
}

/* ---- layers --------------------------------------------------------------------------------- */

struct qdq_layer {
    const struct pith_node *sum, *add, *end; /* add: NULL, there is none */
    const struct pith_value *w, *bias;       /* bias: NULL, there is none */
    float x, y;                              /* scales; y is 1 where no Q follows */
    uint32_t bias_number, outputs, axis;     /* axis: of the outputs among the sums */
    bool turned;                             /* w is [outputs, K] of a product */
};

static bool is_output(const struct pith_model *m, uint32_t value)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (m->outputs[i] == value)
            return true;
    return false;
}

/* The node that makes `value` for one reader alone. */
static const struct pith_node *maker(const struct onnx_export *x, uint32_t value)
{
    uint32_t producer = value == PITH_VALUE_NONE ? UINT32_MAX : x->producer[value];
    if (producer == UINT32_MAX || x->uses[value] != 1 || is_output(x->m, value))
        return NULL;
    return &x->m->nodes[producer];
}

/* [n], or one of [1, n], [1, 1, n] ... */
static bool lies_along_last(const struct pith_value *v, uint32_t n)
{
    return v->constant && v->type == PITH_I32 && v->rank > 0 && v->constant->count == n &&
           v->dim[v->rank - 1] == n;
}

static bool find_sum(const struct onnx_export *x, struct qdq_layer *l)
{
    l->sum = maker(x, l->end->in[0]);
    if (l->sum && l->sum->op == PITH_OP_ADD) {
        l->add = l->sum;
        uint32_t k = x->m->values[l->add->in[0]].constant ? 0 : 1;
        l->bias_number = l->add->in[k];
        l->sum = maker(x, l->add->in[1 - k]);
    } else if (l->sum && l->sum->op == PITH_OP_CONV_INTEGER && has_in(l->sum, 4)) {
        l->bias_number = l->sum->in[4];
    }
    if (!l->sum ||
        (l->sum->op != PITH_OP_MATMUL_INTEGER && (l->add || l->sum->op != PITH_OP_CONV_INTEGER)))
        return false;
    l->bias = l->bias_number == PITH_VALUE_NONE ? NULL : &x->m->values[l->bias_number];
    return true;
}

/* Constant i8 weights around 0 and a constant zero point of x. */
static bool operands_fit(const struct onnx_export *x, struct qdq_layer *l)
{
    const struct pith_value *zero_x = value_in(x, l->sum, 2), *zero_w = value_in(x, l->sum, 3);
    bool conv = l->sum->op == PITH_OP_CONV_INTEGER;
    l->w = value_in(x, l->sum, 1);
    if (!l->w->constant || l->w->type != PITH_I8 || (!conv && l->w->rank != 2) ||
        !is_byte(value_in(x, l->sum, 0)->type) || x->m->values[l->sum->out[0]].rank < 2 ||
        (zero_x && (!zero_x->constant || zero_x->constant->count != 1)))
        return false;
    for (uint64_t i = 0; zero_w && i < (zero_w->constant ? zero_w->constant->count : 1); i++)
        if (!zero_w->constant || ((const int8_t *)zero_w->constant->data)[i])
            return false;
    l->turned = !conv && l->sum->attr[ATTR_MATMUL_TRANS_B];
    l->outputs = l->w->dim[conv || l->turned ? 0 : 1];
    l->axis = conv ? 1 : x->m->values[l->sum->out[0]].rank - 1;
    return !l->bias || lies_along_last(l->bias, l->outputs);
}

/* The w for which (x * w) / y in f32 is the factor, or comes closest to it. */
static float weight_scale(float x, float y, float factor)
{
    float first = (float)((double)factor * (double)y / (double)x), up = first, down = first;
    for (int i = 0; i < 4; i++) {
        if (x * up / y == factor)
            return up;
        if (x * down / y == factor)
            return down;
        up = nextafterf(up, INFINITY);
        down = nextafterf(down, 0.0f);
    }
    return first;
}

static uint32_t n_factors(const struct onnx_export *x, const struct qdq_layer *l)
{
    return (uint32_t)value_in(x, l->end, 1)->constant->count;
}

static float weight_scale_at(const struct onnx_export *x, const struct qdq_layer *l, uint32_t o)
{
    return weight_scale(l->x, l->y, ((const float *)value_in(x, l->end, 1)->constant->data)[o]);
}

/* The factors lie along the outputs, and scales of weights and bias exist for them. */
static bool scales_fit(const struct onnx_export *x, const struct qdq_layer *l)
{
    const struct pith_value *factor = value_in(x, l->end, 1), *zero = value_in(x, l->end, 2);
    if (!factor->constant || factor->type != PITH_F32 || factor->rank > 1 ||
        (n_factors(x, l) > 1 &&
         (n_factors(x, l) != l->outputs || (uint32_t)l->end->attr[ATTR_QUANTIZE_AXIS] != l->axis)))
        return false;
    bool whole = l->end->op == PITH_OP_REQUANTIZE;
    if (whole && (!is_byte((enum pith_type)l->end->attr[ATTR_QUANTIZE_TYPE]) || !zero ||
                  !zero->constant || zero->constant->count != 1))
        return false;
    if (!whole && (zero || l->end->attr[ATTR_QUANTIZE_BLOCK]))
        return false;
    for (uint32_t o = 0; o < n_factors(x, l); o++) {
        float w = weight_scale_at(x, l, o);
        if (!is_scale(w) || !is_scale(l->x * w))
            return false;
    }
    return true;
}

static bool find_layer(const struct onnx_export *x, const struct pith_node *end,
                       struct qdq_layer *l)
{
    *l = (struct qdq_layer){.end = end, .bias_number = PITH_VALUE_NONE};
    if ((end->op != PITH_OP_REQUANTIZE && end->op != PITH_OP_DEQUANTIZE) ||
        x->m->values[end->in[0]].type != PITH_I32 || !find_sum(x, l) || !operands_fit(x, l))
        return false;
    l->x = x->scale[l->sum->in[0]];
    l->y = end->op == PITH_OP_REQUANTIZE ? x->scale[end->out[0]] : 1.0f;
    return scales_fit(x, l);
}

/* The format has its own form of this constant. */
static void leave_out(struct onnx_export *x, const struct pith_node *node, uint32_t i)
{
    if (has_in(node, i))
        x->uses[node->in[i]]--;
}

void pith_export_find_sums(struct onnx_export *x)
{
    if (x->failed)
        return;
    x->scale = pith_export_alloc(x, x->m->n_values + 1u, sizeof *x->scale);
    if (x->failed)
        return;
    find_scales(x);
    for (uint32_t i = 0; i < x->m->n_nodes; i++) {
        struct qdq_layer l;
        if (!find_layer(x, &x->m->nodes[i], &l))
            continue;
        x->in_layer[l.sum - x->m->nodes] = true;
        if (l.add)
            x->in_layer[l.add - x->m->nodes] = true;
        leave_out(x, l.sum, 2);
        leave_out(x, l.sum, 3);
        leave_out(x, l.end, 1);
        leave_out(x, l.end, 2);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *zero_tensor(struct onnx_export *x, enum pith_type type,
                               const struct pith_value *zero)
{
    uint8_t *data = pith_export_alloc(x, 1, 1);
    if (!data)
        return NULL;
    *data = zero ? *(const uint8_t *)zero->constant->data : 0;
    return pith_export_tensor(x, pith_export_name(x, "zero"),
                              (struct export_array){pith_export_type(type), 0, NULL, data, 1});
}

void pith_export_dequantized(struct onnx_export *x, const char *q, const char *scale,
                             const char *zero, int64_t axis, const char *real)
{
    Onnx__NodeProto *node = pith_export_node(x, "DequantizeLinear", "");
    pith_export_input(node, q);
    pith_export_input(node, scale);
    pith_export_input(node, zero);
    pith_export_output(node, real);
    if (axis != 1)
        pith_export_int(x, node, "axis", axis);
}

static const char *dequantized(struct onnx_export *x, const char *q, const char *scale,
                               const char *zero, int64_t axis)
{
    const char *real = pith_export_name(x, "real");
    pith_export_dequantized(x, q, scale, zero, axis, real);
    return real;
}

/* Scales of the weights; times x's: of the bias. */
static const char *weight_scales(struct onnx_export *x, const struct qdq_layer *l, float times)
{
    uint32_t n = n_factors(x, l);
    float *each = pith_export_alloc(x, n, sizeof *each);
    for (uint32_t o = 0; each && o < n; o++)
        each[o] = times * weight_scale_at(x, l, o);
    return each ? pith_export_float_tensor(x, each, n, n == 1) : NULL;
}

/* The bias in one dim, whatever it was. */
static const char *bias_name(struct onnx_export *x, const struct qdq_layer *l)
{
    if (l->bias->rank == 1)
        return x->names[l->bias_number];
    x->replaced[l->bias_number] |= x->uses[l->bias_number] == 1;
    return pith_export_tensor(x, pith_export_name(x, "bias"),
                              (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__INT32, 1,
                                                    &l->outputs, l->bias->constant->data,
                                                    l->bias->constant->count * sizeof(int32_t)});
}

/* The weight as floats; one that is turned is turned back for a MatMul. */
static const char *real_weight(struct onnx_export *x, const struct qdq_layer *l, bool gemm)
{
    bool swaps = l->turned && !gemm;
    bool by_rows = l->sum->op == PITH_OP_CONV_INTEGER || (l->turned && gemm);
    const char *q = x->names[l->sum->in[1]];
    return dequantized(x, swaps ? pith_export_swapped(x, q) : q, weight_scales(x, l, 1.0f), NULL,
                       by_rows ? 0 : 1);
}

static enum pith_status write_product(struct onnx_export *x, const struct qdq_layer *l,
                                      const char *name, const char *out)
{
    bool conv = l->sum->op == PITH_OP_CONV_INTEGER;
    bool apart = l->bias && !conv && x->m->values[l->sum->out[0]].rank != 2;
    bool gemm = !conv && (l->bias || l->turned) && x->m->values[l->sum->out[0]].rank == 2;
    const char *op_type = conv ? "Conv" : gemm ? "Gemm" : "MatMul", *bias = NULL;
    const char *zero = zero_tensor(x, value_in(x, l->sum, 0)->type, value_in(x, l->sum, 2));
    const char *real = dequantized(x, x->names[l->sum->in[0]],
                                   pith_export_float_tensor(x, &l->x, 1, true), zero, 1);
    const char *w = real_weight(x, l, gemm);
    if (l->bias)
        bias = dequantized(x, bias_name(x, l), weight_scales(x, l, l->x), NULL, 0);
    Onnx__NodeProto *to = pith_export_node(x, op_type, name);
    if (!to)
        return PITH_OK;
    const char *product = apart ? pith_export_name(x, "product") : out;
    pith_export_input(to, real);
    pith_export_input(to, w);
    pith_export_input(to, apart ? NULL : bias);
    pith_export_output(to, product);
    if (gemm && l->turned)
        pith_export_int(x, to, "transB", 1);
    if (apart) {
        Onnx__NodeProto *add = pith_export_node(x, "Add", "");
        pith_export_input(add, product);
        pith_export_input(add, bias);
        pith_export_output(add, out);
    }
    struct op_export of_sum = {x, l->sum, NULL, to};
    return conv ? pith_export_conv(&of_sum) : PITH_OK;
}

/* e->to is the end's node: the last so far, and to come last. */
bool pith_export_qdq(struct op_export *e, enum pith_status *status)
{
    struct onnx_export *x = e->x;
    struct qdq_layer l;
    if (!find_layer(x, e->node, &l))
        return false;
    bool whole = l.end->op == PITH_OP_REQUANTIZE;
    const char *sum = whole ? pith_export_name(x, "real") : x->names[l.end->out[0]];
    x->graph.n_node--;
    *status = write_product(x, &l, e->to->name, sum);
    if (!whole || x->failed)
        return true;
    x->graph.node[x->graph.n_node++] = e->to;
    e->to->op_type = (char *)(uintptr_t) "QuantizeLinear";
    e->to->name = (char *)(uintptr_t) "";
    e->to->n_input = 0;
    pith_export_input(e->to, sum);
    pith_export_input(e->to, pith_export_float_tensor(x, &l.y, 1, true));
    pith_export_input(e->to, zero_tensor(x, (enum pith_type)l.end->attr[ATTR_QUANTIZE_TYPE],
                                         value_in(x, l.end, 2)));
    return true;
}
