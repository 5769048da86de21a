/* SPDX-License-Identifier: MIT */
/* onnx_pool_index.c - the second output of MaxPool, where its maxima stand, by nodes of their own:
 * few networks have it, and those that do undo the pooling with it.
 *
 *     taps[t] = what tap t of every window sees: a strided Slice of the input, padded with -inf
 *     index   = offset[ArgMax over t of taps[t]] + first[n, c, oh, ow]
 *
 * An index counts elements of the whole input; storage_order 1 counts the spatial axes the other
 * way round. `first` is that of a window's tap 0, which may lie in the padding. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

#define MAX_TAPS 1024u

struct pool_axis {
    int64_t in, out, kernel, stride, dilation, pad;
    int64_t step; /* of an index along it */
};

struct pool_index {
    struct onnx_steps steps;
    uint32_t n, rank, taps;
    int64_t plane; /* elements */
    struct pool_axis axis[PITH_MAX_RANK];
};

static enum pith_status read_axes(struct onnx_lower *l, struct pool_index *p)
{
    const struct shape *x = pith_onnx_in_shape(l, 0), *y = &l->im->values[l->first_out].shape;
    int64_t order;
    enum pith_status status = pith_onnx_get_int(l, "storage_order", 0, &order);
    p->rank = x->rank;
    p->n = x->rank - 2;
    p->taps = 1;
    p->plane = 1; /* the elements of a tensor fit 40 bits */
    for (uint32_t i = 0; i < p->n && !status; i++) {
        struct pool_axis *a = &p->axis[i];
        *a = (struct pool_axis){x->dim[2 + i],
                                y->dim[2 + i],
                                l->attr[ATTR_POOL_KERNEL + 1 + i],
                                attr_item(l->attr, ATTR_POOL_STRIDES, i, 1),
                                attr_item(l->attr, ATTR_POOL_DILATIONS, i, 1),
                                attr_item(l->attr, ATTR_POOL_PADS, i, 0),
                                0};
        p->taps = p->taps <= MAX_TAPS ? p->taps * (uint32_t)a->kernel : p->taps;
    }
    if (!status && p->taps > MAX_TAPS)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "output 1, the indices, of windows of more than %u elements",
                                   MAX_TAPS);
    for (uint32_t k = 0; k < p->n && !status; k++) {
        struct pool_axis *a = &p->axis[order ? k : p->n - 1 - k];
        a->step = p->plane;
        p->plane *= a->in;
    }
    return status;
}

/* -inf around x as far as windows reach. */
static uint32_t padded(struct pool_index *p, uint32_t x)
{
    struct step_attr attr[3 + 2 * PITH_MAX_RANK];
    uint32_t n = 0;
    attr[n++] = (struct step_attr){ATTR_PAD_VALUE, (int32_t)0xff800000};
    attr[n++] = (struct step_attr){ATTR_PAD_BEGIN, (int32_t)p->rank};
    attr[n++] = (struct step_attr){ATTR_PAD_END, (int32_t)p->rank};
    for (uint32_t i = 0; i < p->n; i++) {
        const struct pool_axis *a = &p->axis[i];
        int64_t end = (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation + 1 - a->in - a->pad;
        attr[n++] = (struct step_attr){ATTR_PAD_BEGIN + 3 + i, (int32_t)a->pad};
        attr[n++] = (struct step_attr){ATTR_PAD_END + 3 + i, end > 0 ? (int32_t)end : 0};
    }
    return pith_step(&p->steps, PITH_OP_PAD, 1, &x, n, attr);
}

/* [N, 1, C, out ...]: what tap t sees of the padded x. */
static uint32_t tap_view(struct pool_index *p, uint32_t x, uint32_t t)
{
    struct step_attr at_one[2] = {{ATTR_AXES, 1}, {ATTR_AXES + 1, 1}};
    for (uint32_t i = p->n; i-- > 0; t /= (uint32_t)p->axis[i].kernel) {
        const struct pool_axis *a = &p->axis[i];
        int64_t start = t % (uint32_t)a->kernel * a->dilation;
        x = pith_step_slice(&p->steps, x, (int32_t)(2 + i), (int32_t)start,
                            (int32_t)(start + (a->out - 1) * a->stride + 1), (int32_t)a->stride);
    }
    return pith_step(&p->steps, PITH_OP_UNSQUEEZE, 1, &x, 2, at_one);
}

/* [N, C, out ...] i64: which tap is the first maximum of its window. */
static uint32_t winning_tap(struct pool_index *p, uint32_t x)
{
    const struct step_attr axis = {ATTR_AXIS, 1};
    const struct step_attr arg[3] = {{ATTR_KIND, ARG_MAX}, {ATTR_ARG_AXIS, 1}, {ATTR_ARG_KEEP, 0}};
    uint32_t taps[MAX_TAPS];
    x = padded(p, x);
    for (uint32_t t = 0; t < p->taps; t++)
        taps[t] = tap_view(p, x, t);
    uint32_t all =
        p->taps == 1 ? taps[0] : pith_step(&p->steps, PITH_OP_CONCAT, p->taps, taps, 1, &axis);
    return pith_step(&p->steps, PITH_OP_ARG, 1, &all, 3, arg);
}

/* [taps] i64: from a window's tap 0 to tap t. */
static uint32_t offsets(struct pool_index *p)
{
    void *data;
    uint32_t value = pith_step_constant(&p->steps, PITH_I64, 1, &p->taps, &data);
    for (uint32_t t = 0; t < p->taps && !p->steps.status; t++) {
        uint32_t left = t;
        for (uint32_t i = p->n; i-- > 0; left /= (uint32_t)p->axis[i].kernel) {
            const struct pool_axis *a = &p->axis[i];
            ((int64_t *)data)[t] += left % (uint32_t)a->kernel * a->dilation * a->step;
        }
    }
    return value;
}

/* [N, C, out ...] i64: index of tap 0 of each window. */
static uint32_t firsts(struct pool_index *p)
{
    const struct onnx_lower *l = p->steps.l;
    struct shape y = l->im->values[l->first_out].shape;
    void *data;
    uint32_t value = pith_step_constant(&p->steps, PITH_I64, y.rank, y.dim, &data);
    size_t count = shape_elems(&y);
    for (size_t e = 0; e < count && !p->steps.status; e++) {
        size_t left = e;
        int64_t at = 0;
        for (uint32_t i = p->n; i-- > 0; left /= y.dim[2 + i]) {
            const struct pool_axis *a = &p->axis[i];
            at += ((int64_t)(left % y.dim[2 + i]) * a->stride - a->pad) * a->step;
        }
        ((int64_t *)data)[e] = at + (int64_t)left * p->plane;
    }
    return value;
}

enum pith_status pith_onnx_pool_indices(struct onnx_lower *l)
{
    struct pool_index p = {.steps = {l, PITH_OK}};
    struct onnx_lower pool = *l;
    if (l->im->values[l->in[0]].type != PITH_F32)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "output 1, the indices, of elements other than floats");
    pool.n_out = 1;
    l->im->batch_open = false; /* indices count through the batch */
    enum pith_status status = pith_onnx_finish(&pool);
    if (!status)
        status = read_axes(l, &p);
    if (status)
        return status;
    const uint32_t pick[2] = {offsets(&p), winning_tap(&p, l->in[0])};
    uint32_t offset = pith_step(&p.steps, PITH_OP_GATHER, 2, pick, 0, NULL);
    return pith_step_result(&p.steps, 1, pith_step_two(&p.steps, PITH_OP_ADD, offset, firsts(&p)));
}
