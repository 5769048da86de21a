/* SPDX-License-Identifier: MIT */
/* onnx_spectrum.c - STFT of a real signal as a Conv: frames are its windows, and each bin has two
 * filters, the window times a cosine and times a falling sine.
 *
 *     [B, L, 1] or [B, L] -> [B, 1, L] -> Conv [2 bins, 1, N], stride frame_step
 *               -> [B, 2 bins, frames] -> [B, frames, bins, 2] */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

#include <math.h>

#define MAX_FILTERS (UINT64_C(1) << 24) /* elements */

struct stft {
    int64_t step, length, bins;
    const float *window; /* [length], or NULL: all 1 */
};

static enum pith_status positive_input(struct onnx_lower *l, uint32_t i, const char *name,
                                       int64_t *v)
{
    struct onnx_ints list;
    enum pith_status status = pith_onnx_ints_input(l, i, name, &list);
    if (status || !list.present)
        return status;
    if (list.n != 1 || list.v[0] < 1 || list.v[0] > INT32_MAX)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s is not one positive number", name);
    *v = list.v[0];
    return PITH_OK;
}

static enum pith_status read_window(struct onnx_lower *l, struct stft *t)
{
    if (!pith_onnx_has_input(l, 2))
        return PITH_OK;
    const struct onnx_value *v = &l->im->values[l->in[2]];
    if (!v->constant || v->empty || v->type != PITH_F32 || v->shape.rank != 1)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "its window is not a constant list of floats: freeze it with "
                                   "--set-input");
    enum pith_status status = pith_onnx_load(l->im, l->in[2]);
    v = &l->im->values[l->in[2]];
    t->window = v->data;
    if (!status && t->length != 0 && t->length != (int64_t)v->shape.dim[0])
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "a window of %u for frames of %lld",
                                   v->shape.dim[0], (long long)t->length);
    t->length = v->shape.dim[0];
    return status;
}

/* The signal is real and a frame fits it. */
static enum pith_status check_signal(struct onnx_lower *l, const struct stft *t)
{
    const struct shape *x = pith_onnx_in_shape(l, 0);
    if (l->im->values[l->in[0]].type != PITH_F32 || x->rank < 2 || x->rank > 3 ||
        (x->rank == 3 && x->dim[2] != 1))
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "its signal is not [batch, length] of floats");
    if (t->step < 1 || t->length < 1 || t->length > (int64_t)x->dim[1])
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                   "frames of %lld, %lld apart, of a signal of %u",
                                   (long long)t->length, (long long)t->step, x->dim[1]);
    if ((uint64_t)t->bins * 2 > MAX_FILTERS / (uint64_t)t->length)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "frames of %lld are too long",
                                   (long long)t->length);
    return PITH_OK;
}

/* [2 bins, 1, length]: the real part of a bin, then its imaginary one. */
static uint32_t filters(struct onnx_steps *s, const struct stft *t)
{
    const double turn = 6.283185307179586;
    const uint32_t dims[3] = {(uint32_t)t->bins * 2, 1, (uint32_t)t->length};
    void *data;
    uint32_t value = pith_step_constant(s, PITH_F32, 3, dims, &data);
    float *w = data;
    for (int64_t k = 0; k < t->bins && !s->status; k++) {
        for (int64_t i = 0; i < t->length; i++) {
            double angle = turn * (double)(k * i % t->length) / (double)t->length;
            double height = t->window ? (double)t->window[i] : 1;
            w[2 * k * t->length + i] = (float)(height * cos(angle));
            w[(2 * k + 1) * t->length + i] = (float)(-height * sin(angle));
        }
    }
    return value;
}

enum pith_status pith_lower_stft(struct onnx_lower *l)
{
    struct onnx_steps s = {l, PITH_OK};
    struct stft t = {0};
    int64_t onesided;
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = positive_input(l, 1, "frame_step", &t.step);
    if (!status)
        status = positive_input(l, 3, "frame_length", &t.length);
    if (!status)
        status = read_window(l, &t);
    if (!status)
        status = pith_onnx_get_int(l, "onesided", 1, &onesided);
    if (status)
        return status;
    t.bins = onesided ? t.length / 2 + 1 : t.length;
    status = check_signal(l, &t);
    if (status)
        return status;
    const int32_t flat[3] = {0, 1, -1}, perm[3] = {0, 2, 1}, pairs[4] = {0, 0, (int32_t)t.bins, 2};
    const struct step_attr stride[2] = {{ATTR_CONV_STRIDES, 1},
                                        {ATTR_CONV_STRIDES + 1, (int32_t)t.step}};
    uint32_t in[2] = {pith_step_reshape(&s, l->in[0], 3, flat), filters(&s, &t)};
    uint32_t y = pith_step(&s, PITH_OP_CONV, 2, in, 2, stride);
    y = pith_step_reshape(&s, pith_step_transpose(&s, y, 3, perm), 4, pairs);
    return pith_step_result(&s, 0, y);
}
