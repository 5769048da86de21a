/* SPDX-License-Identifier: MIT */
#include "op_interface/window.h"
#include "op_interface/op_attr.h"

struct window pith_window_conv(const int32_t *attr, const struct shape *x, const struct shape *w,
                               const struct shape *y)
{
    struct window v = {.n = x->rank - 2, .taps = 1, .in = 1, .out = 1, .out_rows = 1};
    for (uint32_t i = 0; i < v.n; i++) {
        v.axis[i] = (struct window_axis){.in = x->dim[2 + i],
                                         .out = y->dim[2 + i],
                                         .kernel = w->dim[2 + i],
                                         .stride = attr_item(attr, ATTR_CONV_STRIDES, i, 1),
                                         .dilation = attr_item(attr, ATTR_CONV_DILATIONS, i, 1),
                                         .pad = attr_item(attr, ATTR_CONV_PADS, i, 0)};
        v.taps *= w->dim[2 + i];
        v.in *= x->dim[2 + i];
        v.out *= y->dim[2 + i];
        v.out_rows *= i + 1 < v.n ? y->dim[2 + i] : 1;
    }
    return v;
}

/* Outputs [*begin, *end) of the axis whose tap k lies inside the input. */
static void tap_range(const struct window_axis *a, int64_t k, int64_t *begin, int64_t *end)
{
    int64_t offset = k * a->dilation - a->pad;
    *begin = offset >= 0 ? 0 : (-offset + a->stride - 1) / a->stride;
    *end = offset >= a->in ? 0 : (a->in - 1 - offset) / a->stride + 1;
    *end = *end > a->out ? a->out : *end;
}

bool pith_window_place(const struct window *w, uint32_t n, size_t out, size_t tap, size_t *in)
{
    size_t step = 1, from = 0;
    while (n-- > 0) {
        const struct window_axis *a = &w->axis[n];
        int64_t at = (int64_t)(out % (size_t)a->out) * a->stride +
                     (int64_t)(tap % (size_t)a->kernel) * a->dilation - a->pad;
        if (at < 0 || at >= a->in)
            return false;
        from += (size_t)at * step;
        step *= (size_t)a->in;
        out /= (size_t)a->out;
        tap /= (size_t)a->kernel;
    }
    *in = from;
    return true;
}

bool pith_window_row(const struct window *w, size_t row, size_t tap, struct tap_row *r)
{
    const struct window_axis *a = &w->axis[w->n - 1];
    int64_t k = (int64_t)(tap % (size_t)a->kernel);
    tap_range(a, k, &r->begin, &r->end);
    r->first = r->begin * a->stride + k * a->dilation - a->pad;
    r->in_row = 0;
    return pith_window_place(w, w->n - 1, row, tap / (size_t)a->kernel, &r->in_row) &&
           r->begin < r->end;
}
