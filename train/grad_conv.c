/* SPDX-License-Identifier: MIT */
/* grad_conv.c - convolution, 1 to 3 spatial axes, groups: all work in the primitives. */
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"

enum { X = 0, W = 1, BIAS = 2 };

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct prim_conv_shape s;
    struct prim_conv *conv;
    if (n->in[X]->shape.rank < 3 || n->in[X]->shape.rank > 5)
        return PITH_ERR_UNSUPPORTED;
    pith_grad_window(n, ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS, &s);
    s.group = n->attr[ATTR_CONV_GROUP];
    for (uint32_t i = 0; i < s.axes; i++)
        s.kernel[i] = n->in[W]->shape.dim[2 + i];
    enum pith_status status = pith_prim_conv_new(n->prim, &s, n->in[X]->grad != NULL, &conv);
    if (status)
        return status;
    n->state = conv;
    size_t w = grad_count(n->in[W]) + n->out[0]->shape.dim[1];
    size_t x = n->in[X]->grad ? grad_count(n->in[X]) : 0;
    *scratch_bytes = (w + x + 64) * sizeof(float);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    pith_prim_conv_free(n->state);
}

static void forward(struct grad_node *n)
{
    pith_prim_conv_forward(n->state, n->in[X]->data, n->in[W]->data, grad_data(n, BIAS),
                           n->out[0]->data);
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
    pith_prim_conv_backward(n->state, n->in[X]->data, n->in[W]->data, n->out[0]->grad, to[X], to[W],
                            to[BIAS]);
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
