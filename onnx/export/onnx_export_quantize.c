/* SPDX-License-Identifier: MIT */
/* onnx_export_quantize.c - quantized operators in the words of ONNX opset 13, those that QDQ cannot
 * say (onnx_export_qdq.c). A ConvInteger or MatMulInteger that only a Requantize reads is written
 * together with it, as QLinearConv or QLinearMatMul with the factor as weight scale and the other
 * scales 1; what stands alone is written alone, and a constant bias as an Add behind it. */
#include <math.h>

#include "base/error_fill.h"
#include "onnx_export.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

static const struct pith_value *value_in(const struct op_export *e, uint32_t i)
{
    return &e->x->m->values[e->node->in[i]];
}

static bool has_in(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in && node->in[i] != PITH_VALUE_NONE;
}

/* Zeros in the shape of `like` (NULL: a scalar). */
static const char *zeros(struct onnx_export *x, enum pith_type type, const struct pith_value *like)
{
    uint64_t count = 1;
    for (uint32_t i = 0; like && i < like->rank; i++)
        count *= like->dim[i];
    const uint64_t each = pith_type_bytes(type);
    void *data = pith_export_alloc(x, count, each);
    return data ? pith_export_tensor(
                      x, pith_export_name(x, "zero"),
                      (struct export_array){pith_export_type(type), like ? like->rank : 0,
                                            like ? like->dim : NULL, data, count * each})
                : NULL;
}

/* ---- a scale for each channel of an activation -------------------------------------------------
 * QuantizeLinear and DequantizeLinear may have it, but onnxruntime fails where it takes them
 * together with an operator in between. Div and Mul say the same, to the bit: x / s / 1 and
 * (q - z) * 1 * s. */

static bool by_channel(const struct op_export *e)
{
    const struct pith_value *scale = value_in(e, 1);
    const struct pith_value *zero = has_in(e->node, 2) ? value_in(e, 2) : NULL;
    if (!scale->constant || scale->rank != 1 || scale->constant->count == 1 ||
        value_in(e, 0)->constant || value_in(e, 0)->type == PITH_I32 || (zero && !zero->constant))
        return false;
    for (uint64_t i = 1; zero && i < zero->constant->count * pith_type_bytes(zero->type); i++)
        if (((const uint8_t *)zero->constant->data)[i] !=
            ((const uint8_t *)zero->constant->data)[i % pith_type_bytes(zero->type)])
            return false;
    return true;
}

/* The scales as [n, 1, ...], to stand along their axis. */
static const char *channel_scales(struct op_export *e)
{
    const struct pith_value *scale = value_in(e, 1);
    uint32_t axis = (uint32_t)e->node->attr[ATTR_QUANTIZE_AXIS], dims[PITH_MAX_RANK];
    uint32_t rank = value_in(e, 0)->rank - axis;
    dims[0] = scale->dim[0];
    for (uint32_t i = 1; i < rank; i++)
        dims[i] = 1;
    return pith_export_tensor(e->x, pith_export_name(e->x, "scales"),
                              (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank,
                                                    dims, scale->constant->data,
                                                    scale->constant->count * sizeof(float)});
}

static void put_unit_grid(struct op_export *e)
{
    static const float one = 1.0f;
    struct onnx_export *x = e->x;
    const struct pith_value *zero = has_in(e->node, 2) ? value_in(e, 2) : NULL;
    pith_export_input(e->to, pith_export_float_tensor(x, &one, 1, true));
    if (zero)
        pith_export_input(e->to,
                          pith_export_tensor(x, pith_export_name(x, "zero"),
                                             (struct export_array){pith_export_type(zero->type), 0,
                                                                   NULL, zero->constant->data,
                                                                   pith_type_bytes(zero->type)}));
}

static enum pith_status quantize_by_channel(struct op_export *e)
{
    struct onnx_export *x = e->x;
    const char *ratio = pith_export_name(x, "ratio");
    Onnx__NodeProto *div = pith_export_node(x, "Div", "");
    if (!div)
        return PITH_OK;
    x->graph.node[x->graph.n_node - 2] = div;
    x->graph.node[x->graph.n_node - 1] = e->to;
    pith_export_input(div, x->names[e->node->in[0]]);
    pith_export_input(div, channel_scales(e));
    pith_export_output(div, ratio);
    e->to->n_input = 0;
    pith_export_input(e->to, ratio);
    put_unit_grid(e);
    return PITH_OK;
}

static enum pith_status dequantize_by_channel(struct op_export *e)
{
    struct onnx_export *x = e->x;
    const char *steps = pith_export_name(x, "steps");
    Onnx__NodeProto *mul = pith_export_node(x, "Mul", "");
    if (!mul)
        return PITH_OK;
    e->to->n_input = 1;
    e->to->n_output = 0;
    put_unit_grid(e);
    pith_export_output(e->to, steps);
    pith_export_input(mul, steps);
    pith_export_input(mul, channel_scales(e));
    pith_export_output(mul, x->names[e->node->out[0]]);
    return PITH_OK;
}

/* ---- QuantizeLinear, DequantizeLinear ------------------------------------------------------- */

/* Readers, this one too, refuse negative and infinite scales, and 0 where it divides: of a
 * constant, export refuses them first. */
static bool scales_are_read(const struct pith_value *scale, bool divisor)
{
    if (!scale->constant || scale->type != PITH_F32)
        return true;
    const float *s = scale->constant->data;
    for (uint64_t i = 0; i < scale->constant->count; i++)
        if (!(s[i] >= 0.0f && s[i] < INFINITY) || (divisor && s[i] == 0.0f))
            return false;
    return true;
}

static enum pith_status scale_op(struct op_export *e)
{
    const int32_t *attr = e->node->attr;
    if (attr[ATTR_QUANTIZE_BLOCK])
        pith_export_int(e->x, e->to, "block_size", attr[ATTR_QUANTIZE_BLOCK]);
    if (!attr[ATTR_QUANTIZE_BLOCK] && by_channel(e))
        return e->node->op == PITH_OP_QUANTIZE ? quantize_by_channel(e) : dequantize_by_channel(e);
    if (!scales_are_read(value_in(e, 1), e->node->op == PITH_OP_QUANTIZE))
        return pith_export_unsupported(
            e, "a scale that is negative or not finite, or that divides by 0");
    if (value_in(e, 1)->rank)
        pith_export_int(e->x, e->to, "axis", attr[ATTR_QUANTIZE_AXIS]);
    return PITH_OK;
}

enum pith_status pith_export_quantize(struct op_export *e)
{
    enum pith_type type = (enum pith_type)e->node->attr[ATTR_QUANTIZE_TYPE];
    enum pith_status status = scale_op(e);
    if (status)
        return status;
    if (!has_in(e->node, 2)) {
        e->to->n_input = 2;
        pith_export_input(e->to, zeros(e->x, type, by_channel(e) ? NULL : value_in(e, 1)));
    }
    return PITH_OK;
}

enum pith_status pith_export_dequantize(struct op_export *e)
{
    enum pith_status status = PITH_OK;
    return pith_export_qdq(e, &status) ? status : scale_op(e);
}

/* ---- sums and what makes them quantized values again --------------------------------------- */

static bool is_output(const struct pith_model *m, uint32_t value)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (m->outputs[i] == value)
            return true;
    return false;
}

static bool is_sum(const struct pith_node *node)
{
    return pith_op_is(node->op, TRAIT_INTEGERS);
}

/* The factor lies along what the weight's scale may lie along, and the types are those of bytes. */
static bool pairs(const struct onnx_export *x, const struct pith_node *sum,
                  const struct pith_node *requantize)
{
    const struct pith_value *acc = &x->m->values[sum->out[0]];
    const struct pith_value *factor = &x->m->values[requantize->in[1]];
    int32_t axis = requantize->attr[ATTR_QUANTIZE_AXIS],
            type = requantize->attr[ATTR_QUANTIZE_TYPE];
    uint32_t own = pith_op_channel_axis(sum->op, acc->rank);
    bool along = factor->rank == 0 || factor->dim[0] == 1 || (uint32_t)axis == own;
    return is_sum(sum) && along && (type == PITH_I8 || type == PITH_U8) && acc->rank > 1 &&
           requantize->in[0] == sum->out[0] && x->uses[sum->out[0]] == 1 &&
           !is_output(x->m, sum->out[0]);
}

/* The only reader of a sum stands behind it, usually next to it. */
static bool is_paired_sum(const struct onnx_export *x, const struct pith_node *sum)
{
    for (const struct pith_node *n = sum + 1; n < x->m->nodes + x->m->n_nodes; n++)
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] == sum->out[0])
                return n->op == PITH_OP_REQUANTIZE && i == 0 && pairs(x, sum, n);
    return false;
}

static const struct pith_node *paired_sum(const struct onnx_export *x,
                                          const struct pith_node *requantize)
{
    for (const struct pith_node *n = requantize; n-- > x->m->nodes;)
        if (n->out[0] == requantize->in[0])
            return pairs(x, n, requantize) ? n : NULL;
    return NULL;
}

static void put_zero(struct op_export *e, const struct pith_node *sum, uint32_t i, uint32_t of)
{
    struct onnx_export *x = e->x;
    pith_export_input(e->to, has_in(sum, i) ? x->names[sum->in[i]]
                                            : zeros(x, x->m->values[sum->in[of]].type, NULL));
}

static enum pith_status qlinear(struct op_export *e, const struct pith_node *sum)
{
    struct onnx_export *x = e->x;
    static const float one = 1.0f;
    bool conv = sum->op == PITH_OP_CONV_INTEGER;
    e->to->op_type = (char *)(uintptr_t)(conv ? "QLinearConv" : "QLinearMatMul");
    e->to->n_input = 0;
    const char *unit = pith_export_float_tensor(x, &one, 1, true);
    pith_export_input(e->to, x->names[sum->in[0]]);
    pith_export_input(e->to, unit);
    put_zero(e, sum, 2, 0);
    pith_export_input(e->to, x->names[sum->in[1]]);
    pith_export_input(e->to, x->names[e->node->in[1]]);
    put_zero(e, sum, 3, 1);
    pith_export_input(e->to, unit);
    pith_export_input(e->to, x->names[e->node->in[2]]);
    if (!conv && sum->attr[ATTR_MATMUL_TRANS_B])
        pith_export_swap_input(e, 3);
    if (!conv)
        return PITH_OK;
    if (has_in(sum, 4))
        pith_export_input(e->to, x->names[sum->in[4]]);
    struct op_export of_sum = {x, sum, e->row, e->to};
    return pith_export_conv(&of_sum);
}

/* QuantizeLinear of acc * factor by 1: Cast and Mul stand before it. */
enum pith_status pith_export_requantize(struct op_export *e)
{
    struct onnx_export *x = e->x;
    enum pith_status status = PITH_OK;
    if (pith_export_qdq(e, &status))
        return status;
    const struct pith_node *sum = paired_sum(x, e->node);
    const struct pith_value *factor = value_in(e, 1);
    if (sum && !scales_are_read(factor, false))
        return pith_export_unsupported(e, "a factor that is negative or not finite");
    if (sum)
        return qlinear(e, sum);
    uint32_t rank = value_in(e, 0)->rank;
    if (factor->rank && factor->dim[0] > 1 &&
        (uint32_t)e->node->attr[ATTR_QUANTIZE_AXIS] + 1 != rank)
        return pith_export_unsupported(e, "a factor along an inner axis");
    if (rank == 0 && factor->rank)
        return pith_export_unsupported(e, "a factor of more dims than the sum");
    static const float one = 1.0f;
    const char *real = pith_export_name(x, "real"), *product = pith_export_name(x, "product");
    Onnx__NodeProto *cast = pith_export_node(x, "Cast", "");
    Onnx__NodeProto *mul = pith_export_node(x, "Mul", "");
    if (x->failed)
        return PITH_OK;
    x->graph.node[x->graph.n_node - 3] = cast;
    x->graph.node[x->graph.n_node - 2] = mul;
    x->graph.node[x->graph.n_node - 1] = e->to;
    pith_export_input(cast, x->names[e->node->in[0]]);
    pith_export_output(cast, real);
    pith_export_int(x, cast, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    pith_export_input(mul, real);
    pith_export_input(mul, x->names[e->node->in[1]]);
    pith_export_output(mul, product);
    e->to->op_type = (char *)(uintptr_t) "QuantizeLinear";
    e->to->n_input = 0;
    pith_export_input(e->to, product);
    pith_export_input(e->to, pith_export_float_tensor(x, &one, 1, true));
    pith_export_input(e->to, x->names[e->node->in[2]]);
    return PITH_OK;
}

/* ConvInteger and MatMulInteger of ONNX take bytes. */
static enum pith_status check_bytes(struct op_export *e)
{
    return pith_type_bytes(value_in(e, 0)->type) == 1 && pith_type_bytes(value_in(e, 1)->type) == 1
               ? PITH_OK
               : pith_export_unsupported(e, "products of 16-bit integers");
}

enum pith_status pith_export_matmul_integer(struct op_export *e)
{
    enum pith_status status = check_bytes(e);
    if (status)
        return status;
    if (is_paired_sum(e->x, e->node))
        e->x->graph.n_node--;
    else if (e->node->attr[ATTR_MATMUL_TRANS_B])
        pith_export_swap_input(e, 1);
    return PITH_OK;
}

/* [O] as [O, 1, ...], to be added to sums of [N, O, ...]. */
static const char *bias_tensor(struct op_export *e, uint32_t bias)
{
    struct onnx_export *x = e->x;
    const struct pith_value *v = &x->m->values[bias];
    uint32_t rank = x->m->values[e->node->out[0]].rank - 1, dims[PITH_MAX_RANK];
    dims[0] = v->dim[0];
    for (uint32_t i = 1; i < rank; i++)
        dims[i] = 1;
    x->replaced[bias] |= x->uses[bias] == 1;
    return pith_export_tensor(x, pith_export_name(x, "bias"),
                              (struct export_array){ONNX__TENSOR_PROTO__DATA_TYPE__INT32, rank,
                                                    dims, v->constant->data,
                                                    v->constant->count * sizeof(int32_t)});
}

static void add_bias(struct op_export *e)
{
    struct onnx_export *x = e->x;
    const char *sums = pith_export_name(x, "sums"), *bias = bias_tensor(e, e->node->in[4]);
    Onnx__NodeProto *add = pith_export_node(x, "Add", "");
    if (x->failed)
        return;
    e->to->n_input = has_in(e->node, 3) ? 4 : has_in(e->node, 2) ? 3 : 2;
    e->to->n_output = 0;
    pith_export_output(e->to, sums);
    pith_export_input(add, sums);
    pith_export_input(add, bias);
    pith_export_output(add, x->names[e->node->out[0]]);
}

enum pith_status pith_export_conv_integer(struct op_export *e)
{
    enum pith_status status = check_bytes(e);
    if (status)
        return status;
    if (is_paired_sum(e->x, e->node)) {
        e->x->graph.n_node--;
        return PITH_OK;
    }
    if (has_in(e->node, 4) && !value_in(e, 4)->constant)
        return pith_export_unsupported(e,
                                       "a bias that is computed, without a Requantize behind it");
    if (has_in(e->node, 4))
        add_bias(e);
    return pith_export_conv(e);
}
