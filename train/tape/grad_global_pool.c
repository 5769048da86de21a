/* SPDX-License-Identifier: MIT */
/* grad_global_pool.c - the mean or maximum of each plane, channels last: [N, pixels, C] -> [N, C].
 */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"

struct planes {
    size_t n, pixels, c;
};

static struct planes planes_of(const struct grad_node *n)
{
    const struct shape *s = &n->in[0]->shape;
    return (struct planes){s->dim[0], shape_product(s, 2, s->rank), s->dim[1]};
}

static void forward_mean(struct grad_node *n)
{
    struct planes p = planes_of(n);
    const float *x = n->in[0]->data;
    float *y = n->out[0]->data;
    memset(y, 0, p.n * p.c * sizeof *y);
    for (size_t b = 0; b < p.n; b++, y += p.c) {
        for (size_t i = 0; i < p.pixels; i++, x += p.c)
            n->rows->add(y, x, p.c);
        for (size_t c = 0; c < p.c; c++)
            y[c] /= (float)p.pixels;
    }
}

static void backward_mean(struct grad_node *n)
{
    struct planes p = planes_of(n);
    const float *dy = n->out[0]->grad, share = 1.0f / (float)p.pixels;
    float *dx = n->in[0]->grad;
    for (size_t b = 0; b < p.n && dx; b++, dy += p.c)
        for (size_t i = 0; i < p.pixels; i++, dx += p.c)
            for (size_t c = 0; c < p.c; c++)
                dx[c] = (n->sets[0] ? 0.0f : dx[c]) + dy[c] * share;
}

static void forward_max(struct grad_node *n)
{
    struct planes p = planes_of(n);
    const float *x = n->in[0]->data;
    float *y = n->out[0]->data;
    for (size_t b = 0; b < p.n; b++, y += p.c) {
        memcpy(y, x, p.c * sizeof *y);
        for (size_t i = 0; i < p.pixels; i++, x += p.c)
            for (size_t c = 0; c < p.c; c++)
                y[c] = x[c] > y[c] ? x[c] : y[c];
    }
}

/* The first of equals gets it. */
static void backward_max(struct grad_node *n)
{
    struct planes p = planes_of(n);
    const float *x = n->in[0]->data, *y = n->out[0]->data, *dy = n->out[0]->grad;
    float *dx = n->in[0]->grad;
    if (!dx)
        return;
    if (n->sets[0])
        memset(dx, 0, p.n * p.pixels * p.c * sizeof *dx);
    for (size_t b = 0; b < p.n; b++)
        for (size_t c = 0; c < p.c; c++) {
            size_t at = b * p.pixels * p.c + c, end = at + p.pixels * p.c;
            while (at + p.c < end && x[at] != y[b * p.c + c])
                at += p.c;
            dx[at] += dy[b * p.c + c];
        }
}

#define GLOBAL_POOL(name, number, kind)                                                            \
    const struct grad_op pith_grad_##name = {.op = number,                                         \
                                             .layout = GRAD_CHANNELS_LAST,                         \
                                             .sets = true,                                         \
                                             .forward = forward_##kind,                            \
                                             .backward = backward_##kind}

GLOBAL_POOL(global_average_pool, PITH_OP_GLOBAL_AVERAGE_POOL, mean);
GLOBAL_POOL(global_max_pool, PITH_OP_GLOBAL_MAX_POOL, max);
