/* SPDX-License-Identifier: MIT */
/* grad_conv.c - convolution, 1 to 3 spatial axes, groups: all work in the primitives. */
#include "conv_product.h"
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"

#include <stdlib.h>

enum { X = 0, W = 1, BIAS = 2 };

/* One of the two. */
struct conv {
    struct prim_conv *primitive;
    struct conv_product *product;
};

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct prim_conv_shape s;
    if (n->in[X]->shape.rank < 3 || n->in[X]->shape.rank > 5)
        return PITH_ERR_UNSUPPORTED;
    pith_grad_window(n, ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS, &s);
    s.group = n->attr[ATTR_CONV_GROUP];
    for (uint32_t i = 0; i < s.axes; i++)
        s.kernel[i] = n->in[W]->shape.dim[2 + i];
    bool need_dx = n->in[X]->grad != NULL;
    struct conv *conv = calloc(1, sizeof *conv);
    if (!conv)
        return PITH_ERR_MEMORY;
    n->state = conv;
    enum pith_status status = pith_conv_product_suits(&s)
                                  ? pith_conv_product_new(n->prim, &s, need_dx, &conv->product)
                                  : pith_prim_conv_new(n->prim, &s, need_dx, &conv->primitive);
    if (status)
        return status;
    size_t w = grad_count(n->in[W]) + n->out[0]->shape.dim[1];
    size_t x = n->in[X]->grad ? grad_count(n->in[X]) : 0;
    *scratch_bytes = (w + x + 64) * sizeof(float);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    struct conv *conv = n->state;
    pith_prim_conv_free(conv->primitive);
    pith_conv_product_free(conv->product);
    free(conv);
}

static void forward(struct grad_node *n)
{
    const struct conv *conv = n->state;
    const float *x = n->in[X]->data, *w = n->in[W]->data, *bias = grad_data(n, BIAS);
    if (conv->product)
        pith_conv_product_forward(conv->product, x, w, bias, n->out[0]->data);
    else
        pith_prim_conv_forward(conv->primitive, x, w, bias, n->out[0]->data);
}

/* Where the primitive writes a gradient: in its place, or beside it to be added; NULL: nowhere. */
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
    float *beside = n->scratch, *to[3];
    for (uint32_t i = 0; i < 3; i++)
        to[i] = target(n, i, &beside);
    const struct conv *conv = n->state;
    const float *x = n->in[X]->data, *w = n->in[W]->data, *dy = n->out[0]->grad;
    if (conv->product)
        pith_conv_product_backward(conv->product, w, dy, to[X], to[W], to[BIAS]);
    else
        pith_prim_conv_backward(conv->primitive, x, w, dy, to[X], to[W], to[BIAS]);
    for (uint32_t i = 0; i < 3; i++)
        if (to[i] && !n->sets[i])
            grad_put(n->in[i]->grad, to[i], grad_count(n->in[i]), false);
}

const struct grad_op pith_grad_conv = {
    .op = PITH_OP_CONV,
    .layout = GRAD_CHANNELS_LAST,
    .sets = true,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
};
