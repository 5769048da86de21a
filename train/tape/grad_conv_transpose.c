/* SPDX-License-Identifier: MIT */
/* grad_conv_transpose.c - transposed convolution: the data gradient of the convolution that leads
 * from y to x with the same weights. So its own data gradient is that convolution. */
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { X = 0, W = 1, BIAS = 2 };

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct prim_conv_shape s;
    struct prim_conv *conv;
    if (n->in[X]->shape.rank < 3 || n->in[X]->shape.rank > 5)
        return PITH_ERR_UNSUPPORTED;
    pith_grad_window(n, ATTR_CONV_T_STRIDES, ATTR_CONV_T_DILATIONS, ATTR_CONV_T_PADS, &s);
    s.c = n->out[0]->shape.dim[1];
    s.o = n->in[X]->shape.dim[1];
    s.group = n->attr[ATTR_CONV_T_GROUP];
    for (uint32_t i = 0; i < s.axes; i++) {
        int64_t in = s.in[i];
        s.in[i] = s.out[i];
        s.out[i] = in;
        s.kernel[i] = n->in[W]->shape.dim[2 + i];
        /* what output_padding added, or what the strides leave over */
        s.pad_end[i] = (in - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1 - s.in[i] -
                       s.pad_begin[i];
    }
    enum pith_status status = pith_prim_conv_new(n->prim, &s, &conv);
    if (status)
        return status;
    n->state = conv;
    *scratch_bytes = (grad_count(n->in[W]) + grad_count(n->in[X]) + 32) * sizeof(float);
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    pith_prim_conv_free(n->state);
}

static void forward(struct grad_node *n)
{
    size_t o = n->out[0]->shape.dim[1], count = grad_count(n->out[0]);
    const float *bias = grad_data(n, BIAS);
    float *y = n->out[0]->data;
    pith_prim_conv_backward(n->state, n->in[W]->data,
                            &(struct conv_gradients){.dy = n->in[X]->data, .dx = y});
    for (size_t i = 0; i < count && bias; i += o)
        n->rows->add(y + i, bias, o);
}

static void backward(struct grad_node *n)
{
    float *dx = n->scratch, *dw = dx + ((grad_count(n->in[X]) + 15) & ~(size_t)15);
    const float *dy = n->out[0]->grad;
    size_t o = n->out[0]->shape.dim[1], count = grad_count(n->out[0]);
    if (n->in[X]->grad) {
        pith_prim_conv_forward(n->state, dy, n->in[W]->data, NULL, dx);
        grad_put(n->in[X]->grad, dx, grad_count(n->in[X]), n->sets[X]);
    }
    if (n->in[W]->grad) {
        pith_prim_conv_backward(n->state, n->in[W]->data,
                                &(struct conv_gradients){.x = dy, .dy = n->in[X]->data, .dw = dw});
        grad_put(n->in[W]->grad, dw, grad_count(n->in[W]), n->sets[W]);
    }
    float *db = grad_of(n, BIAS);
    if (db && n->sets[BIAS])
        memset(db, 0, o * sizeof *db);
    for (size_t i = 0; i < count && db; i += o)
        n->rows->add(db, dy + i, o);
}

const struct grad_op pith_grad_conv_transpose = {.op = PITH_OP_CONV_TRANSPOSE,
                                                 .layout = GRAD_CHANNELS_LAST,
                                                 .sets = true,
                                                 .prepare = prepare,
                                                 .release = release,
                                                 .forward = forward,
                                                 .backward = backward};
