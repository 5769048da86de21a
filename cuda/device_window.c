/* SPDX-License-Identifier: MIT */
/* device_window.c - pools over one or two spatial axes. */
#include "device_product.h"
#include "op_interface/op_attr.h"

#define SPAN 160 /* windows that op_pool.c reduces column by column; wider ones row by row */

/* Attributes list the axes from the first on, begins of pads before their ends. One spatial axis is
 * a row of a picture of height 1. */
static void set_geometry(struct pool_args *a, const int32_t *attr, uint32_t n)
{
    a->kh = pith_device_spatial(attr, ATTR_POOL_KERNEL, n, 1);
    a->kw = pith_device_spatial(attr, ATTR_POOL_KERNEL, n, 0);
    a->stride_h = pith_device_spatial(attr, ATTR_POOL_STRIDES, n, 1);
    a->stride_w = pith_device_spatial(attr, ATTR_POOL_STRIDES, n, 0);
    a->dil_h = pith_device_spatial(attr, ATTR_POOL_DILATIONS, n, 1);
    a->dil_w = pith_device_spatial(attr, ATTR_POOL_DILATIONS, n, 0);
    if (n == 2) {
        a->pad_top = attr_item(attr, ATTR_POOL_PADS, 0, 0);
        a->pad_bottom = attr_item(attr, ATTR_POOL_PADS, 2, 0);
    }
    a->pad_left = attr_item(attr, ATTR_POOL_PADS, n - 1, 0);
    a->pad_right = attr_item(attr, ATTR_POOL_PADS, 2 * n - 1, 0);
}

/* A mean of whole planes, which the CPU sums as one row. That sum has another order than a
 * window's, and the device has the same. */
static bool is_plane_mean(const struct pool_args *a)
{
    return a->is_mean && a->kh == a->h && a->kw == a->w && a->dil_h == 1 && a->dil_w == 1 &&
           a->pad_top == 0 && a->pad_bottom == 0 && a->pad_left == 0 && a->pad_right == 0;
}

/* Several outputs a thread, where every multiprocessor has more than its threads of them. */
static void launch_small(struct lowering *l, struct pool_args *a)
{
    const bool several = a->stride_h <= 2 && a->n >= pith_device_threads(l);
    const uint32_t oh = (uint32_t)a->oh;
    a->each = several ? POOL_EACH : 1;
    a->threads = a->n / oh * ((oh + a->each - 1) / a->each);
    pith_device_launch(l, LAUNCH_pool_small, a->threads, a, sizeof *a);
}

/* Sums of wide windows go along rows on the CPU, of others along columns; `rows_first` makes the
 * device follow, so that means have the same bits. The sides are below 2^31, as dims are, and the
 * reach of a window is computed in 64 bits. */
bool pith_device_pool(struct lowering *l, const struct step *s)
{
    const struct shape *x = &s->args.in[0]->shape, *y = &s->args.out[0]->shape;
    uint32_t n = x->rank - 2;
    struct pool_args a = {X_AND_Y(l, &s->args), .n = pith_device_count(s->args.out[0]),
                          .is_mean = s->args.info->op == PITH_OP_AVERAGE_POOL,
                          .include_pad = (uint32_t)s->args.attr[ATTR_POOL_INCLUDE_PAD]};
    if (n > 2 || a.n > 1u << 26)
        return false;
    a.h = n == 2 ? (int32_t)x->dim[2] : 1;
    a.oh = n == 2 ? (int32_t)y->dim[2] : 1;
    a.w = (int32_t)x->dim[x->rank - 1];
    a.ow = (int32_t)y->dim[x->rank - 1];
    set_geometry(&a, s->args.attr, n);
    a.rows_first = (int64_t)(a.kw - 1) * a.dil_w + 1 > SPAN;
    if (is_plane_mean(&a))
        pith_device_reduce_planes(l, s, (uint32_t)(a.h * a.w), REDUCE_DEVICE_FLAT_MEAN);
    else if (a.kh == a.kw && (a.kh == 2 || a.kh == 3) && a.dil_h == 1 && a.dil_w == 1)
        launch_small(l, &a);
    else
        pith_device_launch(l, LAUNCH_pool, a.n, &a, sizeof a);
    return true;
}
