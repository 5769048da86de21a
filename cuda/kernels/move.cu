/* SPDX-License-Identifier: MIT */
/* move.cu - elements that go elsewhere as they are: boxes between layouts, borders, look-ups. */
#include "device.h"

DEVICE void move_element(void *y, int64_t to, const void *x, int64_t from, uint32_t bytes)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)y)[to] = ((const uint8_t *)x)[from];
        break;
    case 2:
        ((uint16_t *)y)[to] = ((const uint16_t *)x)[from];
        break;
    case 4:
        ((uint32_t *)y)[to] = ((const uint32_t *)x)[from];
        break;
    default:
        ((uint64_t *)y)[to] = ((const uint64_t *)x)[from];
    }
}

KERNEL(strided_copy, copy_args)
{
    FOR_EACH(i, arg->n)
    {
        uint32_t left = i;
        int64_t from = 0, to = 0;
        for (uint32_t k = arg->rank; k-- > 0;) {
            int64_t at = (int64_t)(left % arg->dim[k]);
            left /= arg->dim[k];
            from += at * arg->x_step[k];
            to += at * arg->y_step[k];
        }
        move_element(arg->y, to, arg->x, from, arg->bytes);
    }
}

/* Index on an axis of x under output index o; below 0: outside. */
DEVICE int64_t pad_source(const struct pad_args *arg, uint32_t axis, uint32_t o)
{
    int64_t dim = arg->x_dim[axis], i = (int64_t)o - arg->begin[axis];
    if (i >= 0 && i < dim)
        return i;
    if (arg->mode == 0)
        return -1;
    if (arg->mode == 1)
        return i < 0 ? -i : 2 * (dim - 1) - i;
    return i < 0 ? 0 : dim - 1;
}

KERNEL(pad, pad_args)
{
    FOR_EACH(i, arg->n)
    {
        uint32_t left = i;
        int64_t from = 0, step = 1;
        bool outside = false;
        for (uint32_t k = arg->rank; k-- > 0;) {
            int64_t at = pad_source(arg, k, left % arg->y_dim[k]);
            left /= arg->y_dim[k];
            outside = outside || at < 0;
            from += at * step;
            step *= arg->x_dim[k];
        }
        uint64_t value = arg->value;
        if (outside)
            move_element(arg->y, i, &value, 0, arg->bytes);
        else
            move_element(arg->y, i, arg->x, from, arg->bytes);
    }
}

KERNEL(gather_axis, gather_args)
{
    FOR_EACH(i, arg->n)
    {
        uint32_t inner = i % arg->inner, k = i / arg->inner % arg->count;
        uint32_t outer = i / arg->inner / arg->count;
        int64_t v = arg->wide_index ? ((const int64_t *)arg->index)[k]
                                    : ((const int32_t *)arg->index)[k];
        v += v < 0 ? (int64_t)arg->dim : 0;
        v = v < 0 ? 0 : v >= (int64_t)arg->dim ? (int64_t)arg->dim - 1 : v;
        move_element(arg->y, i, arg->x, ((int64_t)outer * arg->dim + v) * arg->inner + inner,
                     arg->bytes);
    }
}
