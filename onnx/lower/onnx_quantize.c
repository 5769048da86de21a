/* SPDX-License-Identifier: MIT */
/* onnx_quantize.c - QuantizeLinear and its family. QLinearConv and QLinearMatMul become the integer
 * operator and a Requantize by x_scale * w_scale / y_scale, computed in this order, as onnxruntime
 * does; with constant scales the factor is a constant. */
#include "onnx_qdq.h"
#include "op_interface/op_attr.h"

#include <math.h>

#include "onnx/graph/onnx.h"
#include "onnx/graph/onnx_step.h"

/* Inputs of QLinearConv; QLinearMatMul has the first eight. */
enum { Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_Y_SCALE, Q_Y_ZERO, Q_BIAS };

static enum pith_status need_inputs(struct onnx_lower *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    return PITH_OK;
}

enum pith_status pith_onnx_check_scale(struct onnx_lower *l, uint32_t i, bool divisor)
{
    const struct onnx_value *v = &l->im->values[l->in[i]];
    if (!v->constant || v->empty || v->type != PITH_F32)
        return PITH_OK;
    enum pith_status status = pith_onnx_load(l->im, l->in[i]);
    if (status)
        return status;
    v = &l->im->values[l->in[i]];
    const float *scale = v->data;
    for (size_t k = 0; k < shape_elems(&v->shape); k++)
        if (!(scale[k] >= 0.0f && scale[k] < INFINITY) || (divisor && scale[k] == 0.0f))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "scale %zu of input %u is %g", k, i,
                                       (double)scale[k]);
    return PITH_OK;
}

/* Axis and block; where one scale covers everything the axis is ignored. */
static enum pith_status take_grid(struct onnx_lower *l, bool divisor)
{
    int64_t axis, block;
    enum pith_status status = need_inputs(l, 2);
    if (!status)
        status = pith_onnx_check_scale(l, 1, divisor);
    if (!status)
        status = pith_onnx_get_int(l, "axis", 1, &axis);
    if (!status)
        status = pith_onnx_get_int(l, "block_size", 0, &block);
    if (!status)
        status = pith_onnx_set_int(l, "block_size", ATTR_QUANTIZE_BLOCK, block);
    if (status)
        return status;
    const struct shape *x = pith_onnx_in_shape(l, 0), *scale = pith_onnx_in_shape(l, 1);
    if (block == 0 && scale->rank <= 1 && shape_elems(scale) == 1)
        return PITH_OK;
    status = pith_onnx_axis(l, "axis", x->rank, &axis);
    return status ? status : pith_onnx_set_int(l, "axis", ATTR_QUANTIZE_AXIS, axis);
}

/* The zero point's type, or output_dtype, or u8. */
enum pith_status pith_lower_quantize(struct onnx_lower *l)
{
    int64_t dtype;
    enum pith_status status = take_grid(l, true);
    if (!status)
        status = pith_onnx_get_int(l, "output_dtype", 0, &dtype);
    if (status)
        return status;
    enum pith_type type = PITH_U8;
    if (dtype < 0 || dtype > INT32_MAX)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "output_dtype is %lld", (long long)dtype);
    if (dtype)
        type = pith_onnx_type((int32_t)dtype);
    if (!type)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "it quantizes to %s",
                                   pith_onnx_type_name((int32_t)dtype));
    if (pith_onnx_has_input(l, 2))
        type = l->im->values[l->in[2]].type;
    l->attr[ATTR_QUANTIZE_TYPE] = (int32_t)type;
    status = pith_onnx_single_output(l);
    return status ? status : pith_onnx_quantized_in_integers(l, type);
}

enum pith_status pith_lower_dequantize(struct onnx_lower *l)
{
    enum pith_status status = take_grid(l, false);
    return status ? status : pith_onnx_single_output(l);
}

enum pith_status pith_lower_dynamic_quantize(struct onnx_lower *l)
{
    if (l->n_out != 3)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u outputs, not 3", l->n_out);
    return PITH_OK;
}

static enum pith_status binary(struct onnx_lower *l, enum pith_op op, uint32_t a, uint32_t b,
                               uint32_t *out)
{
    struct onnx_lower sub;
    uint32_t in[2] = {a, b};
    enum pith_status status = pith_onnx_open_step(l, op, false, &sub, out);
    sub.in = in;
    sub.n_in = 2;
    return status ? status : pith_onnx_finish(&sub);
}

/* acc: sums along whose axis `axis` the factor lies, where it has several entries. */
static enum pith_status requantize(struct onnx_lower *l, uint32_t acc, int64_t axis)
{
    struct onnx_lower sub;
    uint32_t in[3] = {acc, 0, l->in[Q_Y_ZERO]}, product, y;
    enum pith_status status = binary(l, PITH_OP_MUL, l->in[Q_X_SCALE], l->in[Q_W_SCALE], &product);
    if (!status)
        status = binary(l, PITH_OP_DIV, product, l->in[Q_Y_SCALE], &in[1]);
    if (!status)
        status = pith_onnx_open_step(l, PITH_OP_REQUANTIZE, true, &sub, &y);
    if (status)
        return status;
    sub.in = in;
    sub.n_in = 3;
    sub.attr[ATTR_QUANTIZE_TYPE] = (int32_t)l->im->values[l->in[Q_Y_ZERO]].type;
    status = pith_onnx_set_int(&sub, "axis", ATTR_QUANTIZE_AXIS, axis);
    return status ? status : pith_onnx_finish(&sub);
}

/* A constant of bytes, loaded. */
static bool is_bytes(struct onnx_steps *s, uint32_t v)
{
    const struct onnx_value *value = &s->l->im->values[v];
    if (s->status || !value->constant || value->empty || pith_type_bytes(value->type) != 1)
        return false;
    s->status = pith_onnx_load(s->l->im, v);
    return !s->status;
}

/* Byte i of v; i8 or u8. */
static int32_t byte_at(const struct onnx_value *v, size_t i)
{
    const uint8_t byte = ((const uint8_t *)v->data)[i];
    return v->type == PITH_I8 ? (int8_t)byte : byte;
}

/* The zero point of element i of w, whose outputs are its first axis or the last. */
static int32_t zero_of(const struct onnx_value *w, const struct onnx_value *zero, bool rows,
                       size_t i)
{
    const size_t n = shape_elems(&zero->shape);
    return byte_at(zero, n == 1 ? 0 : rows ? i / (shape_elems(&w->shape) / n) : i % n);
}

enum pith_status pith_onnx_center_weight(struct onnx_lower *l, bool rows, uint32_t *w,
                                         uint32_t *zero)
{
    struct onnx_steps s = {l, PITH_OK};
    if (*zero == ONNX_VALUE_NONE || *w == ONNX_VALUE_NONE || !is_bytes(&s, *w) ||
        !is_bytes(&s, *zero))
        return s.status;
    const struct onnx_value weight = l->im->values[*w], z = l->im->values[*zero];
    const size_t count = shape_elems(&weight.shape), n = shape_elems(&z.shape);
    const uint32_t rank = weight.shape.rank;
    bool fits = rank > 0 && weight.type == z.type && z.shape.rank <= 1 &&
                (n == 1 || n == weight.shape.dim[rows ? 0 : rank - 1]);
    bool same = weight.type == PITH_I8, near = true;
    for (size_t i = 0; fits && i < count; i++) {
        const int32_t at = zero_of(&weight, &z, rows, i), distance = byte_at(&weight, i) - at;
        near &= distance >= INT8_MIN && distance <= INT8_MAX;
        same &= at == 0;
    }
    if (!fits || (!near && (n > 1 || weight.type == PITH_I8)))
        return PITH_OK;
    void *data;
    if (!near) { /* kernels take i8 with a zero point */
        uint8_t *to;
        const uint32_t flipped = pith_step_constant(&s, PITH_I8, rank, weight.shape.dim, &data);
        for (size_t i = 0; !s.status && i < count; i++)
            ((uint8_t *)data)[i] = ((const uint8_t *)weight.data)[i] ^ 0x80;
        *w = flipped;
        *zero = pith_step_constant(&s, PITH_I8, 0, NULL, &data);
        to = data;
        if (!s.status)
            *to = ((const uint8_t *)z.data)[0] ^ 0x80;
        return s.status;
    }
    const uint32_t centered =
        same ? *w : pith_step_constant(&s, PITH_I8, rank, weight.shape.dim, &data);
    for (size_t i = 0; !s.status && !same && i < count; i++)
        ((int8_t *)data)[i] = (int8_t)(byte_at(&weight, i) - zero_of(&weight, &z, rows, i));
    *w = centered;
    *zero = ONNX_VALUE_NONE;
    return s.status;
}

enum pith_status pith_lower_conv_integer(struct onnx_lower *l)
{
    enum pith_status status = pith_lower_conv(l);
    return status || l->n_in < 4 ? status : pith_onnx_center_weight(l, true, &l->in[1], &l->in[3]);
}

enum pith_status pith_lower_matmul_integer(struct onnx_lower *l)
{
    enum pith_status status = pith_onnx_single_output(l);
    return status || l->n_in < 4 ? status : pith_onnx_center_weight(l, false, &l->in[1], &l->in[3]);
}

static enum pith_status check_qlinear(struct onnx_lower *l)
{
    enum pith_status status = need_inputs(l, Q_BIAS);
    if (!status)
        status = pith_onnx_check_scale(l, Q_X_SCALE, false);
    if (!status)
        status = pith_onnx_check_scale(l, Q_W_SCALE, false);
    return status ? status : pith_onnx_check_scale(l, Q_Y_SCALE, true);
}

enum pith_status pith_lower_qlinear_conv(struct onnx_lower *l)
{
    struct onnx_lower sub;
    uint32_t acc;
    enum pith_status status = check_qlinear(l);
    if (!status)
        status = pith_onnx_open_step(l, PITH_OP_CONV_INTEGER, false, &sub, &acc);
    if (status)
        return status;
    uint32_t in[5] = {l->in[Q_X], l->in[Q_W], l->in[Q_X_ZERO], l->in[Q_W_ZERO], ONNX_VALUE_NONE};
    if (pith_onnx_has_input(l, Q_BIAS))
        in[4] = l->in[Q_BIAS];
    sub.in = in;
    sub.n_in = 5;
    status = pith_lower_conv_integer(&sub);
    if (!status)
        status = pith_onnx_finish(&sub);
    l->done = true;
    return status ? status : requantize(l, acc, 1);
}

/* A scale of several entries lies along the columns when it is b's, along the rows when it is a's.
 */
enum pith_status pith_lower_qlinear_matmul(struct onnx_lower *l)
{
    struct onnx_lower sub;
    uint32_t acc;
    enum pith_status status = check_qlinear(l);
    if (!status)
        status = pith_onnx_open_step(l, PITH_OP_MATMUL_INTEGER, false, &sub, &acc);
    if (status)
        return status;
    bool rows = shape_elems(pith_onnx_in_shape(l, Q_X_SCALE)) > 1;
    if (rows && shape_elems(pith_onnx_in_shape(l, Q_W_SCALE)) > 1)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "both operands have a scale a row or column");
    uint32_t in[4] = {l->in[Q_X], l->in[Q_W], l->in[Q_X_ZERO], l->in[Q_W_ZERO]};
    status = pith_onnx_center_weight(l, false, &in[1], &in[3]);
    sub.in = in;
    sub.n_in = 4;
    if (!status)
        status = pith_onnx_finish(&sub);
    if (status)
        return status;
    l->done = true;
    int64_t rank = l->im->values[acc].shape.rank, axis = rank - (rows ? 2 : 1);
    return requantize(l, acc, axis > 0 ? axis : 0);
}
