/* SPDX-License-Identifier: MIT */
/* grad_normalize.c - normalisation of each sample by itself: by groups of channels, by layers, over
 * any axes, and to length 1.
 *
 * With h = (x - mean) / deviation over a group of n elements and g = dy * scale:
 *     dx = (g - mean of g - h * mean of g h) / deviation
 * where the mean counts as 0, the mean of g does, too.
 * Mean and deviation are computed again here, in double. */
#include "grad_add.h"
#include "grad_list.h"
#include "op_interface/reduced_axes.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

struct group {
    const float *x, *dy, *scale; /* scale NULL: 1 */
    float *dx, *dscale, *dbias;  /* NULL: not wanted */
    size_t n, run;               /* neighbours that share one scale */
    double epsilon;
    bool about_zero; /* the mean counts as 0 */
};

static void moments_of(const float *x, size_t n, bool about_zero, double *mean, double *variance)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n && !about_zero; i++)
        sum += (double)x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *variance = square / (double)n;
}

static void group_backward(const struct group *p)
{
    double mean, variance, sum = 0, product = 0;
    moments_of(p->x, p->n, p->about_zero, &mean, &variance);
    double inverse = 1.0 / sqrt(variance + p->epsilon);
    for (size_t i = 0; i < p->n; i++) {
        double h = ((double)p->x[i] - mean) * inverse, dy = (double)p->dy[i];
        double g = dy * (double)p->scale[i / p->run];
        sum += g;
        product += g * h;
        if (p->dscale)
            p->dscale[i / p->run] += (float)(dy * h);
        if (p->dbias)
            p->dbias[i / p->run] += (float)dy;
    }
    sum = p->about_zero ? 0 : sum / (double)p->n;
    product /= (double)p->n;
    for (size_t i = 0; i < p->n && p->dx; i++) {
        double h = ((double)p->x[i] - mean) * inverse;
        double g = (double)p->dy[i] * (double)p->scale[i / p->run];
        p->dx[i] += (float)((g - sum - h * product) * inverse);
    }
}

/* Group k of a tensor cut into groups of n; scales repeat after `period` groups. */
static void all_groups(const struct grad_node *n, struct group p, size_t period)
{
    size_t count = grad_count(n->in[0]) / p.n, scales = (p.n + p.run - 1) / p.run;
    const struct group first = {
        .scale = n->in[1]->data, .dscale = grad_of(n, 1), .dbias = grad_of(n, 2)};
    for (size_t k = 0; k < count; k++) {
        size_t at = k * p.n, s = k % period * scales;
        p.x = (const float *)n->in[0]->data + at;
        p.dy = n->out[0]->grad + at;
        p.dx = n->in[0]->grad ? n->in[0]->grad + at : NULL;
        p.scale = first.scale + s;
        p.dscale = first.dscale ? first.dscale + s : NULL;
        p.dbias = first.dbias ? first.dbias + s : NULL;
        group_backward(&p);
    }
}

static void backward_layer(struct grad_node *n)
{
    const struct shape *s = &n->in[0]->shape;
    uint32_t axis = (uint32_t)n->attr[ATTR_LAYER_NORM_AXIS];
    struct group p = {.n = shape_product(s, axis, s->rank),
                      .run = 1,
                      .epsilon = (double)attr_f32(n->attr, ATTR_LAYER_NORM_EPSILON),
                      .about_zero = n->attr[ATTR_LAYER_NORM_ABOUT_ZERO] != 0};
    all_groups(n, p, 1);
}

static void backward_group(struct grad_node *n)
{
    const struct shape *s = &n->in[0]->shape;
    size_t channels = s->dim[1], pixels = shape_product(s, 2, s->rank);
    size_t groups = (size_t)n->attr[ATTR_GROUP_NORM_GROUPS];
    groups = groups ? groups : channels;
    struct group p = {.n = channels / groups * pixels,
                      .run = pixels,
                      .epsilon = (double)attr_f32(n->attr, ATTR_GROUP_NORM_EPSILON)};
    if (grad_count(n->in[1]) == groups) /* one scale for the channels of a group */
        p.run = p.n;
    all_groups(n, p, groups);
}

/* y = (x - mean) / (deviation + 1e-9), over any axes. */
static void backward_mean_variance(struct grad_node *n)
{
    struct axis_walk kept, walk;
    if (!n->in[0]->grad)
        return;
    pith_reduced_walks(n->run, ATTR_AXES, &kept, &walk);
    for (size_t k = 0; k < kept.count; k++) {
        size_t base = axis_offset(&kept, k);
        const float *x = (const float *)n->in[0]->data + base, *dy = n->out[0]->grad + base;
        const float *y = (const float *)n->out[0]->data + base;
        double count = (double)walk.count, mean = 0, variance = 0, sum = 0, product = 0;
        for (size_t i = 0; i < walk.count; i++)
            mean += (double)x[axis_offset(&walk, i)] / count;
        for (size_t i = 0; i < walk.count; i++) {
            size_t at = axis_offset(&walk, i);
            double d = (double)x[at] - mean;
            variance += d * d / count;
            sum += (double)dy[at] / count;
            product += (double)dy[at] * (double)y[at] / count;
        }
        double inverse = 1.0 / (sqrt(variance) + 1e-9);
        for (size_t i = 0; i < walk.count; i++) {
            size_t at = axis_offset(&walk, i);
            double d = (double)dy[at] - sum - (double)y[at] * product;
            n->in[0]->grad[base + at] += (float)(d * inverse);
        }
    }
}

const struct grad_op pith_grad_layer_norm = {.op = PITH_OP_LAYER_NORM, .backward = backward_layer};
const struct grad_op pith_grad_group_norm = {.op = PITH_OP_GROUP_NORM, .backward = backward_group};
const struct grad_op pith_grad_mean_variance = {.op = PITH_OP_MEAN_VARIANCE,
                                                .backward = backward_mean_variance};
