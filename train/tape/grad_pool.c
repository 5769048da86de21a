/* SPDX-License-Identifier: MIT */
/* grad_pool.c - pools over windows, and the windows of convolutions. */
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

void pith_grad_window(const struct grad_node *n, uint32_t strides, uint32_t dilations,
                      uint32_t pads, struct prim_conv_shape *s)
{
    const struct shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    *s = (struct prim_conv_shape){
        .axes = x->rank - 2, .n = x->dim[0], .c = x->dim[1], .o = y->dim[1], .group = 1};
    for (uint32_t i = 0; i < s->axes; i++) {
        s->in[i] = x->dim[2 + i];
        s->out[i] = y->dim[2 + i];
        s->stride[i] = attr_item(n->attr, strides, i, 1);
        s->dilation[i] = attr_item(n->attr, dilations, i, 1);
        s->pad_begin[i] = attr_item(n->attr, pads, i, 0);
        s->pad_end[i] = attr_item(n->attr, pads, s->axes + i, 0);
    }
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct prim_conv_shape s;
    struct prim_pool *pool;
    if (n->in[0]->shape.rank < 3 || n->in[0]->shape.rank > 5 || n->n_out > 1 ||
        n->in[0]->type != PITH_F32)
        return PITH_ERR_UNSUPPORTED;
    pith_grad_window(n, ATTR_POOL_STRIDES, ATTR_POOL_DILATIONS, ATTR_POOL_PADS, &s);
    for (uint32_t i = 0; i < s.axes; i++) {
        s.kernel[i] = attr_item(n->attr, ATTR_POOL_KERNEL, i, 1);
        /* a last window that reaches over the edge: pads that are not counted */
        int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
        int64_t over = (s.out[i] - 1) * s.stride[i] + reach - s.in[i] - s.pad_begin[i];
        if (over > s.pad_end[i] && n->attr[ATTR_POOL_INCLUDE_PAD])
            return PITH_ERR_UNSUPPORTED;
        s.pad_end[i] = over > s.pad_end[i] ? over : s.pad_end[i];
    }
    enum prim_pool_kind kind = n->info->op == PITH_OP_MAX_POOL  ? PRIM_POOL_MAX
                               : n->attr[ATTR_POOL_INCLUDE_PAD] ? PRIM_POOL_AVERAGE_WITH_PADS
                                                                : PRIM_POOL_AVERAGE;
    enum pith_status status = pith_prim_pool_new(&s, kind, &pool);
    if (status)
        return status;
    n->state = pool;
    *scratch_bytes = shape_elems(&n->in[0]->shape) * sizeof(float);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    pith_prim_pool_free(n->state);
}

static void forward(struct grad_node *n)
{
    pith_prim_pool_forward(n->state, n->in[0]->data, n->out[0]->data);
}

static void backward(struct grad_node *n)
{
    float *to = n->in[0]->grad;
    if (!to)
        return;
    float *dx = n->sets[0] ? to : n->scratch;
    pith_prim_pool_backward(n->state, n->out[0]->grad, dx);
    if (!n->sets[0])
        grad_put(to, dx, grad_count(n->in[0]), false);
}

#define POOL(name, number)                                                                         \
    const struct grad_op pith_grad_##name = {                                                      \
        .op = number,                                                                              \
        .layout = GRAD_CHANNELS_LAST,                                                              \
        .sets = true,                                                                              \
        .prepare = prepare,                                                                        \
        .release = release,                                                                        \
        .forward = forward,                                                                        \
        .backward = backward,                                                                      \
    }

POOL(max_pool, PITH_OP_MAX_POOL);
POOL(average_pool, PITH_OP_AVERAGE_POOL);
