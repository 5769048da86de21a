/* SPDX-License-Identifier: MIT */
/* onnx_dilated.c - a kernel that some exporters write with the zeros between its taps: a dilated
 * convolution of fewer taps. A 9 x 9 kernel of which 9 taps are not zero takes a ninth of the time
 * as 3 x 3. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool any_apart(const struct shape *s, const uint32_t step[PITH_MAX_RANK])
{
    for (uint32_t i = 2; i < s->rank; i++)
        if (step[i] > 1)
            return true;
    return false;
}

/* step[i]: the distance of the taps along spatial axis i, of which the first and the last stay.
 * false: all taps are zero, or next to one another. */
static bool find_steps(const struct shape *s, const float *w, uint32_t step[PITH_MAX_RANK])
{
    bool any = false;
    for (uint32_t i = 2; i < s->rank; i++)
        step[i] = s->dim[i] - 1;
    for (size_t k = 0; k < shape_elems(s) && any_apart(s, step); k++) {
        size_t rest = k;
        for (uint32_t i = s->rank; w[k] != 0.0f && i-- > 2; rest /= s->dim[i])
            step[i] = common_divisor(step[i], (uint32_t)(rest % s->dim[i]));
        any = any || w[k] != 0.0f;
    }
    for (uint32_t i = 2; i < s->rank; i++)
        step[i] = step[i] ? step[i] : 1;
    return any && any_apart(s, step);
}

enum pith_status pith_onnx_dilate(struct onnx_lower *l)
{
    const uint32_t value = l->in[1];
    const struct onnx_value *v = &l->im->values[value];
    const struct shape s = v->shape;
    uint32_t step[PITH_MAX_RANK], made;
    if (!v->constant || v->empty || v->varies || v->type != PITH_F32 || v->producer != ONNX_NONE)
        return PITH_OK;
    enum pith_status status = pith_onnx_load(l->im, value);
    if (status || !find_steps(&s, l->im->values[value].data, step))
        return status;
    struct shape fewer = s;
    int64_t dilation[PITH_MAX_RANK];
    for (uint32_t i = 2; i < s.rank; i++) {
        fewer.dim[i] = (s.dim[i] - 1) / step[i] + 1;
        dilation[i - 2] = (int64_t)attr_item(l->attr, ATTR_CONV_DILATIONS, i - 2, 1) * step[i];
        if (dilation[i - 2] > UINT16_MAX) /* no operator has such */
            return PITH_OK;
    }
    const float *from;
    float *to;
    status = pith_onnx_new_weight(l, value, &fewer, &made, &from, &to);
    if (status)
        return status;
    for (size_t k = 0; k < shape_elems(&fewer); k++) {
        size_t rest = k, at = 0, stride = 1;
        for (uint32_t i = s.rank; i-- > 0; rest /= fewer.dim[i], stride *= s.dim[i])
            at += rest % fewer.dim[i] * (i < 2 ? 1 : step[i]) * stride;
        to[k] = from[at];
    }
    l->in[1] = made;
    pith_onnx_unload(l, value);
    return pith_onnx_set_ints(l, "dilations", ATTR_CONV_DILATIONS, dilation, s.rank - 2);
}
