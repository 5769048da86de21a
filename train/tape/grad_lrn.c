/* SPDX-License-Identifier: MIT */
/* grad_lrn.c - local response normalisation, y[c] = x[c] s[c]^-beta with
 * s[c] = bias + alpha / size * sum of x[k]^2 over a window around c (op_lrn.c):
 *     dx[k] = dy[k] s[k]^-beta - 2 alpha beta / size * x[k] * sum of dy[c] x[c] s[c]^(-beta - 1)
 * over the windows that k lies in. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

static void backward(struct grad_node *n)
{
    const struct shape *s = &n->in[0]->shape;
    size_t channels = s->dim[1], pixels = shape_product(s, 2, s->rank);
    size_t size = (size_t)n->attr[ATTR_LRN_SIZE], before = (size - 1) / 2, after = size / 2;
    double beta = (double)attr_f32(n->attr, ATTR_LRN_BETA);
    double share = (double)attr_f32(n->attr, ATTR_LRN_ALPHA) / (double)size;
    for (size_t plane = 0; plane < s->dim[0] * channels && n->in[0]->grad; plane++) {
        size_t c = plane % channels, base = (plane - c) * pixels;
        size_t first = c > before ? c - before : 0;
        size_t end = after < channels - c ? c + after + 1 : channels;
        end = end < channels ? end : channels;
        for (size_t i = 0; i < pixels; i++) {
            const float *x = (const float *)n->in[0]->data + base + i;
            float *dx = n->in[0]->grad + base + i;
            double dy = (double)n->out[0]->grad[base + c * pixels + i];
            double sum = (double)attr_f32(n->attr, ATTR_LRN_BIAS);
            for (size_t k = first; k < end; k++)
                sum += share * (double)x[k * pixels] * (double)x[k * pixels];
            double power = pow(sum, -beta), common = dy * (double)x[c * pixels] * power / sum;
            dx[c * pixels] += (float)(dy * power);
            for (size_t k = first; k < end; k++)
                dx[k * pixels] -= (float)(2.0 * share * beta * (double)x[k * pixels] * common);
        }
    }
}

const struct grad_op pith_grad_lrn = {.op = PITH_OP_LRN, .backward = backward};
