/* SPDX-License-Identifier: MIT */
/* grad_softmax.c - Softmax: dx = y (dy - sum y dy); LogSoftmax: dx = dy - exp(y) sum dy. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

struct line {
    const float *y, *dy;
    float *dx;
    size_t n, inner;
};

static void softmax_line(const struct line *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->n * l->inner; i += l->inner)
        sum += (double)l->y[i] * (double)l->dy[i];
    for (size_t i = 0; i < l->n * l->inner; i += l->inner)
        l->dx[i] += l->y[i] * (l->dy[i] - (float)sum);
}

static void log_softmax_line(const struct line *l)
{
    double sum = 0;
    for (size_t i = 0; i < l->n * l->inner; i += l->inner)
        sum += (double)l->dy[i];
    for (size_t i = 0; i < l->n * l->inner; i += l->inner)
        l->dx[i] += l->dy[i] - expf(l->y[i]) * (float)sum;
}

static void all_lines(const struct grad_node *n, void (*body)(const struct line *l))
{
    const struct shape *s = &n->in[0]->shape;
    uint32_t axis = (uint32_t)n->attr[ATTR_SOFTMAX_AXIS];
    uint32_t end = n->attr[ATTR_SOFTMAX_FLAT] ? s->rank : axis + 1;
    struct line l = {.n = shape_product(s, axis, end), .inner = shape_product(s, end, s->rank)};
    if (!n->in[0]->grad)
        return;
    for (size_t outer = 0; outer < shape_product(s, 0, axis); outer++)
        for (size_t inner = 0; inner < l.inner; inner++) {
            size_t at = outer * l.n * l.inner + inner;
            l.y = (const float *)n->out[0]->data + at;
            l.dy = n->out[0]->grad + at;
            l.dx = n->in[0]->grad + at;
            body(&l);
        }
}

static void backward_softmax(struct grad_node *n)
{
    all_lines(n, softmax_line);
}

static void backward_log_softmax(struct grad_node *n)
{
    all_lines(n, log_softmax_line);
}

const struct grad_op pith_grad_softmax = {.op = PITH_OP_SOFTMAX, .backward = backward_softmax};
const struct grad_op pith_grad_log_softmax = {.op = PITH_OP_LOG_SOFTMAX,
                                              .backward = backward_log_softmax};
