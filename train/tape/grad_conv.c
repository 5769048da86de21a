/* SPDX-License-Identifier: MIT */
/* grad_conv.c - convolution, 1 to 3 spatial axes, groups: all work in the primitives, the best for
 * the shape, and while most weights are removed, that for few of them. */
#include "conv_product.h"
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"
#include "narrow_conv.h"
#include "sparse_conv.h"
#include "winograd.h"

#include <stdlib.h>

enum { X = 0, W = 1, BIAS = 2 };

/* One of the four, and what may take its place; of the two that slices share, slice 0 is the owner.
 */
struct conv {
    struct prim_conv *primitive;
    struct conv_product *product;
    struct narrow_conv *narrow;
    struct winograd *winograd;
    struct sparse_conv *sparse;
    bool few; /* of the weights are left: sparse does it; slice 0's says so for all */
};

static struct conv *first_slice(const struct grad_node *n)
{
    return n[-(int64_t)n->slice].state;
}

/* NULL: it is done densely. */
static const struct sparse_conv *sparse_of(const struct grad_node *n)
{
    const struct conv *first = first_slice(n);
    return first->few ? first->sparse : NULL;
}

static enum pith_status choose(const struct grad_node *n, const struct prim_conv_shape *s,
                               struct conv *conv)
{
    bool need_dx = n->in[X]->grad != NULL;
    if (pith_prim_is_ordered(n->prim))
        return pith_prim_conv_new(n->prim, s, need_dx, &conv->primitive);
    if ((n->fixed & 1u << W) && pith_winograd_suits(s)) {
        if (n->slice == 0)
            return pith_winograd_new(s, need_dx, NULL, &conv->winograd);
        conv->winograd = first_slice(n)->winograd;
        return PITH_OK;
    }
    if (!n->x_moves && pith_narrow_conv_suits(s))
        return pith_narrow_conv_new(s, NULL, &conv->narrow);
    return pith_conv_product_suits(s) ? pith_conv_product_new(n->prim, s, need_dx, &conv->product)
                                      : pith_prim_conv_new(n->prim, s, need_dx, &conv->primitive);
}

/* Of the weights: with fewer, a step through them is faster than the dense one; measured on the
 * shapes of LeNet-5 and of small networks for CIFAR-10. */
static double share_of(const struct conv *conv, const struct prim_conv_shape *s)
{
    if (conv->narrow)
        return s->kernel[0] > 3 ? 0.7 : 0.45;
    return conv->winograd ? 0.12 : conv->primitive ? 0.2 : 0.6;
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
    if (!status && n->slice == 0 && n->weights && !pith_prim_is_ordered(n->prim) &&
        pith_sparse_conv_suits(&s))
        status = pith_sparse_conv_new(&s, n->in[X]->grad != NULL, share_of(conv, &s), NULL,
                                      &conv->sparse);
    if (status)
        return status;
    size_t w = grad_count(n->in[W]) + n->out[0]->shape.dim[1];
    bool beside = n->in[X]->grad && (!conv->winograd || first_slice(n)->sparse);
    size_t x = beside ? grad_count(n->in[X]) : 0;
    *scratch_bytes = (w + x + 64) * sizeof(float);
    if (conv->winograd)
        *scratch_bytes += pith_winograd_scratch_bytes(conv->winograd);
    if (conv->narrow)
        *scratch_bytes += pith_narrow_conv_scratch_bytes(conv->narrow);
    if (first_slice(n)->sparse)
        *scratch_bytes += pith_sparse_conv_scratch_bytes(first_slice(n)->sparse);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    struct conv *conv = n->state;
    pith_prim_conv_free(conv->primitive);
    pith_conv_product_free(conv->product);
    pith_narrow_conv_free(conv->narrow);
    pith_sparse_conv_free(conv->sparse);
    if (n->slice == 0)
        pith_winograd_free(conv->winograd);
    free(conv);
}

static void pruned(struct grad_node *n)
{
    struct conv *conv = n->state;
    conv->few = conv->sparse && pith_sparse_conv_keep(conv->sparse, n->weights->alive);
}

static void renew(struct grad_node *n, uint32_t part)
{
    const struct conv *conv = n->state;
    if (conv->few && part == 0)
        pith_sparse_conv_renew(conv->sparse, n->in[W]->data);
    else if (!conv->few && conv->winograd)
        pith_winograd_renew(conv->winograd, n->in[W]->data, part);
}

static void forward(struct grad_node *n)
{
    const struct conv *conv = n->state;
    const struct sparse_conv *sparse = sparse_of(n);
    const float *x = n->in[X]->data, *w = n->in[W]->data, *bias = grad_data(n, BIAS);
    if (sparse)
        pith_sparse_conv_forward(sparse, n->prim, n->scratch, x, bias, n->out[0]->data);
    else if (conv->winograd)
        pith_winograd_forward(conv->winograd, n->prim, n->scratch, x, bias, n->out[0]->data);
    else if (conv->narrow)
        pith_narrow_conv_forward(conv->narrow, n->prim, n->scratch, x, w, bias, n->out[0]->data);
    else if (conv->product)
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
    const struct conv *conv = n->state;
    const struct sparse_conv *sparse = sparse_of(n);
    const uint32_t first = conv->winograd && !sparse ? W : X; /* that is put beside */
    float *beside = n->scratch, *to[3] = {grad_of(n, X)};
    for (uint32_t i = first; i < 3; i++)
        to[i] = target(n, i, &beside);
    const float *x = n->in[X]->data, *w = n->in[W]->data, *dy = n->out[0]->grad;
    if (sparse)
        pith_sparse_conv_backward(sparse, n->prim, beside, x, dy, to[X], to[W], to[BIAS]);
    else if (conv->winograd)
        pith_winograd_backward(conv->winograd, n->prim, beside, x, dy, to[X], !n->sets[X], to[W],
                               to[BIAS]);
    else if (conv->narrow)
        pith_narrow_conv_backward(conv->narrow, n->prim, beside, x, dy, to[W], to[BIAS]);
    else if (conv->product)
        pith_conv_product_backward(conv->product, w, dy, to[X], to[W], to[BIAS]);
    else
        pith_prim_conv_backward(conv->primitive, x, w, dy, to[X], to[W], to[BIAS]);
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
    .pruned = pruned,
    .renew = renew,
    .forward = forward,
    .backward = backward,
};
