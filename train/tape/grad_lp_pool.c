/* SPDX-License-Identifier: MIT */
/* grad_lp_pool.c - the p-norm of each window: dx = dy sign(x) |x / y|^(p - 1). */
#include "grad_add.h"
#include "grad_list.h"
#include "grad_window.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

enum { AXES = 3 };

/* Axes that are not there have a size of 1. */
static void window_of(const struct grad_node *n, struct prim_conv_shape *s)
{
    pith_grad_window(n, ATTR_POOL_STRIDES, ATTR_POOL_DILATIONS, ATTR_POOL_PADS, s);
    for (uint32_t i = 0; i < AXES; i++) {
        if (i >= s->axes) {
            s->in[i] = s->out[i] = s->stride[i] = s->dilation[i] = 1;
            s->pad_begin[i] = 0;
        }
        s->kernel[i] = i < s->axes ? attr_item(n->attr, ATTR_POOL_KERNEL, i, 1) : 1;
    }
}

/* Input place of tap k of output o along an axis; -1: outside. */
static int64_t tap_at(const struct prim_conv_shape *s, uint32_t axis, int64_t o, int64_t k)
{
    int64_t at = o * s->stride[axis] + k * s->dilation[axis] - s->pad_begin[axis];
    return at < s->in[axis] ? at : -1;
}

struct output {
    const float *x; /* of its plane */
    float *dx;
    float y, dy;
    double power; /* p - 1 */
    int64_t at[AXES];
};

static void window_back(const struct prim_conv_shape *s, const struct output *o)
{
    for (int64_t i = 0; i < s->kernel[0]; i++)
        for (int64_t j = 0; j < s->kernel[1]; j++)
            for (int64_t k = 0; k < s->kernel[2]; k++) {
                int64_t a = tap_at(s, 0, o->at[0], i), b = tap_at(s, 1, o->at[1], j);
                int64_t c = tap_at(s, 2, o->at[2], k);
                if (a < 0 || b < 0 || c < 0)
                    continue;
                int64_t to = (a * s->in[1] + b) * s->in[2] + c;
                double x = (double)o->x[to];
                double slope = pow(fabs(x) / (double)o->y, o->power);
                o->dx[to] += (float)((double)o->dy * (x < 0 ? -slope : slope));
            }
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    (void)scratch_bytes;
    return n->in[0]->shape.rank < 3 || n->in[0]->shape.rank > 2 + AXES ? PITH_ERR_UNSUPPORTED
                                                                       : PITH_OK;
}

static void backward(struct grad_node *n)
{
    struct prim_conv_shape s;
    if (!n->in[0]->grad)
        return;
    window_of(n, &s);
    size_t plane_in = (size_t)(s.in[0] * s.in[1] * s.in[2]);
    int64_t inner = s.out[1] * s.out[2], plane_out = s.out[0] * inner;
    for (size_t i = 0; i < grad_count(n->out[0]); i++) {
        int64_t place = (int64_t)i % plane_out;
        size_t plane = i / (size_t)plane_out * plane_in;
        struct output o = {.x = (const float *)n->in[0]->data + plane,
                           .dx = n->in[0]->grad + plane,
                           .y = ((const float *)n->out[0]->data)[i],
                           .dy = n->out[0]->grad[i],
                           .power = (double)(n->attr[ATTR_POOL_P] - 1),
                           .at = {place / inner, place / s.out[2] % s.out[1], place % s.out[2]}};
        if (o.y > 0.0f)
            window_back(&s, &o);
    }
}

const struct grad_op pith_grad_lp_pool = {
    .op = PITH_OP_LP_POOL, .prepare = prepare, .backward = backward};
