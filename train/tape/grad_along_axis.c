/* SPDX-License-Identifier: MIT */
/* grad_along_axis.c - CumSum and LpNormalization, line by line along one axis. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

struct line {
    const float *x, *y, *dy;
    float *dx;
    size_t n, step;
};

/* Each element is in all sums from its own on: the sums of the other direction. */
static void cum_sum_line(const struct line *l, bool reverse, bool exclusive)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        size_t at = (reverse ? i : l->n - 1 - i) * l->step;
        double own = (double)l->dy[at];
        l->dx[at] += (float)(exclusive ? sum : sum + own);
        sum += own;
    }
}

/* y = x / |x|: dx = (dy - y' sum y dy) / |x|, y' = y for the Euclidean norm, else the sign of x. */
static void normalize_line(const struct line *l, int32_t p)
{
    double norm = 0, product = 0;
    for (size_t i = 0; i < l->n * l->step; i += l->step) {
        double x = (double)l->x[i];
        norm += p == 2 ? x * x : fabs(x);
        product += (double)l->y[i] * (double)l->dy[i];
    }
    norm = p == 2 ? sqrt(norm) : norm;
    norm = norm == 0.0 ? 1.0 : norm;
    for (size_t i = 0; i < l->n * l->step; i += l->step) {
        double x = (double)l->x[i], slope = p == 2 ? x / norm : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
        l->dx[i] += (float)(((double)l->dy[i] - slope * product) / norm);
    }
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    (void)scratch_bytes;
    return n->in[0]->grad && n->attr[ATTR_KIND] == ALONG_HARDMAX ? PITH_ERR_UNSUPPORTED : PITH_OK;
}

static void backward(struct grad_node *n)
{
    const struct shape *s = &n->in[0]->shape;
    uint32_t axis = (uint32_t)n->attr[ATTR_ALONG_AXIS];
    uint32_t end = n->attr[ATTR_ALONG_FLAT] ? s->rank : axis + 1;
    struct line l = {.n = shape_product(s, axis, end), .step = shape_product(s, end, s->rank)};
    if (!n->in[0]->grad)
        return;
    for (size_t line = 0; line < shape_product(s, 0, axis) * l.step; line++) {
        size_t at = line / l.step * l.n * l.step + line % l.step;
        l.x = (const float *)n->in[0]->data + at;
        l.y = (const float *)n->out[0]->data + at;
        l.dy = n->out[0]->grad + at;
        l.dx = n->in[0]->grad + at;
        if (n->attr[ATTR_KIND] == ALONG_CUM_SUM)
            cum_sum_line(&l, n->attr[ATTR_ALONG_REVERSE] != 0, n->attr[ATTR_ALONG_EXCLUSIVE] != 0);
        else
            normalize_line(&l, n->attr[ATTR_ALONG_P]);
    }
}

const struct grad_op pith_grad_along_axis = {
    .op = PITH_OP_ALONG_AXIS, .prepare = prepare, .backward = backward};
