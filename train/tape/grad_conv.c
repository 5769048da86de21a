/* SPDX-License-Identifier: MIT */
/* grad_conv.c - convolution, 1 to 3 spatial axes, groups: Winograd's where that pays and no order
 * of sums is wanted, else the primitive. */
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"
#include "train/kernels/winograd.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <stdlib.h>

enum { X = 0, W = 1, BIAS = 2 };

/* One of the two; Winograd's is owned by slice 0 and shared. */
struct conv {
    struct prim_conv *primitive;
    struct winograd *winograd;
};

static enum pith_status choose(const struct grad_node *n, const struct prim_conv_shape *s,
                               struct conv *conv)
{
    const struct conv *first = n[-(int64_t)n->slice].state;
    if (pith_prim_is_ordered(n->prim) || !(n->fixed & 1u << W) || !pith_winograd_suits(s))
        return pith_prim_conv_new(n->prim, s, &conv->primitive);
    if (n->slice == 0)
        return pith_winograd_new(s, n->in[X]->grad != NULL, NULL, &conv->winograd);
    conv->winograd = first->winograd;
    return PITH_OK;
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct prim_conv_shape s;
    if (n->in[X]->shape.rank < 3 || n->in[X]->shape.rank > 5)
        return PITH_ERR_UNSUPPORTED;
    pith_grad_window(n, ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS, &s);
    s.group = n->attr[ATTR_CONV_GROUP];
    for (uint32_t i = 0; i < s.axes; i++)
        s.kernel[i] = n->in[W]->shape.dim[2 + i];
    struct conv *conv = calloc(1, sizeof *conv);
    if (!conv)
        return PITH_ERR_MEMORY;
    n->state = conv;
    enum pith_status status = choose(n, &s, conv);
    if (status)
        return status;
    size_t w = grad_count(n->in[W]) + n->out[0]->shape.dim[1];
    size_t x = n->in[X]->grad && !conv->winograd ? grad_count(n->in[X]) : 0;
    *scratch_bytes = (w + x + 64) * sizeof(float);
    if (conv->winograd)
        *scratch_bytes += pith_winograd_scratch_bytes(conv->winograd);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    struct conv *conv = n->state;
    pith_prim_conv_free(conv->primitive);
    if (n->slice == 0)
        pith_winograd_free(conv->winograd);
    free(conv);
}

static void renew(struct grad_node *n, uint32_t part)
{
    const struct conv *conv = n->state;
    if (conv->winograd)
        pith_winograd_renew(conv->winograd, n->in[W]->data, part);
}

static void forward(struct grad_node *n)
{
    const struct conv *conv = n->state;
    const float *x = n->in[X]->data, *w = n->in[W]->data, *bias = grad_data(n, BIAS);
    if (conv->winograd)
        pith_winograd_forward(conv->winograd, n->scratch, x, bias, n->out[0]->data);
    else
        pith_prim_conv_forward(conv->primitive, x, w, bias, n->out[0]->data);
}

/* Where a gradient is written: in its place, or beside it to be added; NULL: nowhere. */
static float *target(const struct grad_node *n, uint32_t i, float **beside)
{
    float *to = grad_of(n, i);
    if (!to || n->sets[i])
        return to;
    to = *beside;
    *beside += (grad_count(n->in[i]) + 15) & ~(size_t)15;
    return to;
}

static void backward(struct grad_node *n)
{
    const struct conv *conv = n->state;
    const uint32_t first = conv->winograd ? W : X; /* that is put beside */
    float *beside = n->scratch, *to[3] = {grad_of(n, X)};
    for (uint32_t i = first; i < 3; i++)
        to[i] = target(n, i, &beside);
    const struct conv_gradients g = {.x = n->in[X]->data,
                                     .dy = n->out[0]->grad,
                                     .dx = to[X],
                                     .dw = to[W],
                                     .db = to[BIAS],
                                     .add_dx = conv->winograd && !n->sets[X]};
    if (conv->winograd)
        pith_winograd_backward(conv->winograd, beside, &g);
    else
        pith_prim_conv_backward(conv->primitive, n->in[W]->data, &g);
    for (uint32_t i = first; i < 3; i++)
        if (to[i] && !n->sets[i])
            grad_put(n->in[i]->grad, to[i], grad_count(n->in[i]), false);
}

const struct grad_op pith_grad_conv = {
    .op = PITH_OP_CONV,
    .layout = GRAD_CHANNELS_LAST,
    .sets = true,
    .prepare = prepare,
    .release = release,
    .renew = renew,
    .forward = forward,
    .backward = backward,
};
