/* SPDX-License-Identifier: MIT */
/* onnx_qlinear.c - the quantized operators of onnxruntime's own domain, com.microsoft, which its
 * static quantization writes in the QOperator format instead of QDQ. QLinearAdd and the like
 * become what they stand for, DequantizeLinear -> the operator -> QuantizeLinear, which runs in
 * integers; QGemm becomes MatMulInteger, Add and Requantize. */
#include <string.h>

#include "onnx_qdq.h"
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

#define MAX_PARTS 64u

/* The value at input i on the grid of the two behind it, as a float. */
static uint32_t real_of(struct onnx_steps *s, uint32_t i)
{
    struct onnx_lower *l = s->l;
    for (uint32_t k = i; k < i + 2; k++)
        if (!s->status && !pith_onnx_has_input(l, k))
            s->status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", k);
    if (!s->status)
        s->status = pith_onnx_check_scale(l, i + 1, false);
    if (s->status)
        return ONNX_VALUE_NONE;
    bool zero = pith_onnx_has_input(l, i + 2);
    const uint32_t in[3] = {l->in[i], l->in[i + 1], zero ? l->in[i + 2] : ONNX_VALUE_NONE};
    return pith_step(s, PITH_OP_DEQUANTIZE, zero ? 3 : 2, in, 0, NULL);
}

/* The grid at input i; values without a zero point of their own are of `type`. */
static enum pith_status to_grid(struct onnx_steps *s, uint32_t real, uint32_t i,
                                enum pith_type type)
{
    struct onnx_lower *l = s->l;
    if (!s->status && !pith_onnx_has_input(l, i))
        s->status = pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    if (!s->status)
        s->status = pith_onnx_check_scale(l, i, true);
    if (s->status)
        return s->status;
    bool zero = pith_onnx_has_input(l, i + 1);
    const uint32_t in[3] = {real, l->in[i], zero ? l->in[i + 1] : ONNX_VALUE_NONE};
    const struct step_attr attr = {ATTR_QUANTIZE_TYPE,
                                   (int32_t)(zero ? l->im->values[l->in[i + 1]].type : type)};
    return pith_step_last(s, PITH_OP_QUANTIZE, zero ? 3 : 2, in, 1, &attr);
}

/* The operator that the name says behind "QLinear", with the node's attributes. */
static uint32_t plain_op(struct onnx_steps *s, uint32_t n, uint32_t *in)
{
    struct onnx_lower sub;
    uint32_t out = ONNX_VALUE_NONE;
    Onnx__NodeProto node = *s->l->node;
    node.op_type += strlen("QLinear");
    node.domain = NULL;
    const struct onnx_row *row = pith_onnx_row(s->l->im, &node);
    if (s->status || !row)
        return ONNX_VALUE_NONE;
    s->status = pith_onnx_open_step(s->l, row->op, false, &sub, &out);
    if (s->status)
        return ONNX_VALUE_NONE;
    sub.node = &node;
    sub.row = row;
    sub.in = in;
    sub.n_in = n;
    s->status = row->lower(&sub);
    if (!s->status && !sub.done)
        s->status = pith_onnx_finish(&sub);
    return s->status ? ONNX_VALUE_NONE : pith_onnx_alias(s->l->im, out);
}

static enum pith_type type_of(const struct onnx_lower *l, uint32_t i)
{
    return pith_onnx_has_input(l, i) ? l->im->values[l->in[i]].type : PITH_U8;
}

static enum pith_status channels_first(struct onnx_lower *l)
{
    int64_t last;
    enum pith_status status = pith_onnx_get_int(l, "channels_last", 0, &last);
    if (!status && last)
        status = pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its channels are the last axis");
    return status;
}

/* X, its scale and zero point; those of Y. */
enum pith_status pith_lower_qlinear_unary(struct onnx_lower *l)
{
    struct onnx_steps s = {l, channels_first(l)};
    uint32_t x = real_of(&s, 0);
    return to_grid(&s, plain_op(&s, 1, &x), 3, type_of(l, 0));
}

/* The rules of Softmax's axis are those of the opset it was made from. */
enum pith_status pith_lower_qlinear_softmax(struct onnx_lower *l)
{
    int64_t opset = l->im->opset;
    enum pith_status status = pith_onnx_get_int(l, "opset", opset, &l->im->opset);
    if (!status)
        status = pith_lower_qlinear_unary(l);
    l->im->opset = opset;
    return status;
}

enum pith_status pith_lower_qlinear_binary(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    uint32_t in[2];
    in[0] = real_of(&s, 0);
    in[1] = real_of(&s, 3);
    return to_grid(&s, plain_op(&s, 2, in), 6, type_of(l, 0));
}

/* The grid of Y, then X, scale and zero point of each part. */
enum pith_status pith_lower_qlinear_concat(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    uint32_t in[MAX_PARTS], n = l->n_in / 3;
    if (n == 0 || n > MAX_PARTS || l->n_in != 2 + 3 * n)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "it has %u inputs", l->n_in);
    for (uint32_t i = 0; i < n; i++)
        in[i] = real_of(&s, 2 + 3 * i);
    return to_grid(&s, plain_op(&s, n, in), 0, type_of(l, 2));
}

/* ---- QGemm ---------------------------------------------------------------------------------- */

enum { G_A, G_A_SCALE, G_A_ZERO, G_B, G_B_SCALE, G_B_ZERO, G_C, G_Y_SCALE, G_Y_ZERO };

static uint32_t operand(struct onnx_steps *s, uint32_t i, const char *turned)
{
    static const int32_t swap[2] = {1, 0};
    int64_t yes = 0;
    if (!s->status)
        s->status = pith_onnx_get_int(s->l, turned, 0, &yes);
    return yes ? pith_step_transpose(s, s->l->in[i], 2, swap) : s->l->in[i];
}

static uint32_t factor_of(struct onnx_steps *s)
{
    struct onnx_lower *l = s->l;
    float alpha = 1.0f;
    if (!s->status)
        s->status = pith_onnx_get_float(l, "alpha", 1.0f, &alpha);
    uint32_t factor = pith_step_two(s, PITH_OP_MUL, l->in[G_A_SCALE], l->in[G_B_SCALE]);
    if (alpha != 1.0f)
        factor = pith_step_two(s, PITH_OP_MUL, factor, pith_step_scalar(s, alpha));
    if (pith_onnx_has_input(l, G_Y_SCALE))
        factor = pith_step_two(s, PITH_OP_DIV, factor, l->in[G_Y_SCALE]);
    return factor;
}

/* Y has a grid, or is a float. */
enum pith_status pith_lower_qgemm(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    for (uint32_t i = 0; i < G_C; i++)
        if (!pith_onnx_has_input(l, i) || (i % 3 == 0 && pith_onnx_in_shape(l, i)->rank != 2))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing or no matrix", i);
    bool whole = pith_onnx_has_input(l, G_Y_SCALE);
    if (whole && !pith_onnx_has_input(l, G_Y_ZERO))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %d is missing", G_Y_ZERO);
    if (pith_onnx_has_input(l, G_C) && pith_onnx_in_shape(l, G_C)->rank > 2)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %d is no matrix", G_C);
    if (shape_elems(pith_onnx_in_shape(l, G_A_SCALE)) != 1)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "A has several scales");
    enum pith_status status = pith_onnx_check_scale(l, G_A_SCALE, false);
    if (!status)
        status = pith_onnx_check_scale(l, G_B_SCALE, false);
    if (!status && whole)
        status = pith_onnx_check_scale(l, G_Y_SCALE, true);
    if (status)
        return status;
    uint32_t in[4] = {operand(&s, G_A, "transA"), operand(&s, G_B, "transB"), l->in[G_A_ZERO],
                      l->in[G_B_ZERO]};
    if (!s.status)
        s.status = pith_onnx_center_weight(l, false, &in[1], &in[3]);
    uint32_t acc = pith_step(&s, PITH_OP_MATMUL_INTEGER, 4, in, 0, NULL);
    if (pith_onnx_has_input(l, G_C))
        acc = pith_step_two(&s, PITH_OP_ADD, acc, l->in[G_C]);
    const uint32_t sums[3] = {acc, factor_of(&s), whole ? l->in[G_Y_ZERO] : ONNX_VALUE_NONE};
    const struct step_attr attr[2] = {{ATTR_QUANTIZE_AXIS, 1},
                                      {ATTR_QUANTIZE_TYPE, (int32_t)type_of(l, G_Y_ZERO)}};
    return pith_step_last(&s, whole ? PITH_OP_REQUANTIZE : PITH_OP_DEQUANTIZE, whole ? 3 : 2, sums,
                          whole ? 2 : 1, attr);
}
