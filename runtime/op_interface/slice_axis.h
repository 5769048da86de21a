/* SPDX-License-Identifier: MIT */
/* slice_axis.h - what SLICE takes of an axis, by ONNX's rules: negative starts and ends count
 * from the axis' end, then both are clamped. */
#ifndef PITH_SLICE_AXIS_H
#define PITH_SLICE_AXIS_H

#include "core/tensor.h"
#include "op_interface/op_attr.h"

static inline int64_t slice_clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Entry i of the lists on an axis of `dim`: first element and number of elements (<= 0: none).
 * Called once an axis: not worth inlining. */
static __attribute__((noinline, unused)) void
slice_axis(const int32_t *attr, uint32_t i, int64_t dim, int64_t *first, int64_t *count)
{
    int64_t start = attr[ATTR_SLICE_STARTS + 1 + i], end = attr[ATTR_SLICE_ENDS + 1 + i];
    int64_t step = attr_item(attr, ATTR_SLICE_STEPS, i, 1);
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    if (step > 0) {
        start = slice_clamp(start, 0, dim);
        end = slice_clamp(end, 0, dim);
        *count = (end - start + step - 1) / step;
    } else {
        start = slice_clamp(start, 0, dim - 1);
        end = slice_clamp(end, -1, dim - 1);
        *count = (start - end - step - 1) / -step;
    }
    *first = start;
}

#endif
