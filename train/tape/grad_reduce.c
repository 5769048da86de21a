/* SPDX-License-Identifier: MIT */
/* grad_reduce.c - sums, means, extremes, norms over axes: dx = dy * slope(x, y). An extreme that
 * occurs several times counts once, at its first place. */
#include "grad_add.h"
#include "grad_list.h"
#include "op_interface/reduced_axes.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

enum { REDUCE_MEAN_KIND = REDUCE_END };

/* Everything that one output was made of. */
struct reduced {
    const float *x;
    float *dx;
    const struct axis_walk *walk;
    float y, dy;
};

static float slope_of(int32_t kind, float x, float y, double count)
{
    switch (kind) {
    case REDUCE_L1:
        return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
    case REDUCE_L2:
        return y > 0.0f ? x / y : 0.0f;
    case REDUCE_LOG_SUM:
        return expf(-y);
    case REDUCE_LOG_SUM_EXP:
        return expf(x - y);
    case REDUCE_SUM_SQUARE:
        return 2.0f * x;
    case REDUCE_MEAN_KIND:
        return (float)(1.0 / count);
    default:
        return 1.0f; /* REDUCE_SUM */
    }
}

static void to_extreme(const struct reduced *r)
{
    for (size_t i = 0; i < r->walk->count; i++) {
        size_t at = axis_offset(r->walk, i);
        if (r->x[at] == r->y) {
            r->dx[at] += r->dy;
            return;
        }
    }
}

/* The product of all others: of those before, times those behind. dx is not in the way of x. */
static void to_factors(const struct reduced *r)
{
    for (size_t i = 0; i < r->walk->count; i++) {
        double others = 1.0;
        for (size_t k = 0; k < r->walk->count; k++)
            others *= k == i ? 1.0 : (double)r->x[axis_offset(r->walk, k)];
        r->dx[axis_offset(r->walk, i)] += r->dy * (float)others;
    }
}

static void backward_kind(struct grad_node *n, int32_t kind, uint32_t axes)
{
    struct axis_walk kept, walk;
    struct reduced r = {.walk = &walk};
    if (!n->in[0]->grad)
        return;
    pith_reduced_walks(n->run, axes, &kept, &walk);
    for (size_t i = 0; i < kept.count; i++) {
        size_t at = axis_offset(&kept, i);
        r.x = (const float *)n->in[0]->data + at;
        r.dx = n->in[0]->grad + at;
        r.y = ((const float *)n->out[0]->data)[i];
        r.dy = n->out[0]->grad[i];
        if (kind == REDUCE_MAX || kind == REDUCE_MIN)
            to_extreme(&r);
        else if (kind == REDUCE_PROD)
            to_factors(&r);
        else
            for (size_t k = 0; k < walk.count; k++) {
                size_t to = axis_offset(&walk, k);
                r.dx[to] += r.dy * slope_of(kind, r.x[to], r.y, (double)walk.count);
            }
    }
}

static void backward_mean(struct grad_node *n)
{
    backward_kind(n, REDUCE_MEAN_KIND, ATTR_AXES);
}

static void backward_reduce(struct grad_node *n)
{
    backward_kind(n, n->attr[ATTR_KIND], ATTR_REDUCE_KIND_AXES);
}

const struct grad_op pith_grad_reduce_mean = {.op = PITH_OP_REDUCE_MEAN, .backward = backward_mean};
const struct grad_op pith_grad_reduce = {.op = PITH_OP_REDUCE, .backward = backward_reduce};
