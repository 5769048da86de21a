/* SPDX-License-Identifier: MIT */
#include "im2col.h"

/* Offset in a channel of what lies under a tap at a position of the output; false: outside. */
static bool im2col_offset(const struct window *v, uint64_t position, size_t tap, size_t *offset)
{
    size_t stride = 1, sum = 0;
    for (uint32_t i = v->n; i-- > 0;) {
        const struct window_axis *a = &v->axis[i];
        int64_t o = (int64_t)(position % (uint64_t)a->out), k = (int64_t)(tap % (size_t)a->kernel);
        int64_t at = o * a->stride + k * a->dilation - a->pad;
        if (at < 0 || at >= a->in)
            return false;
        sum += (size_t)at * stride;
        stride *= (size_t)a->in;
        position /= (uint64_t)a->out;
        tap /= (size_t)a->kernel;
    }
    *offset = sum;
    return true;
}

void pith_im2col_places(const struct window *v, int64_t *place)
{
    for (uint64_t at = 0; at < v->out; at++)
        for (size_t tap = 0; tap < v->taps; tap++) {
            size_t offset;
            *place++ = im2col_offset(v, at, tap, &offset) ? (int64_t)offset : -1;
        }
}

void pith_im2col_row(const struct im2col_input *x, const int64_t *place, size_t taps,
                     size_t channels, float *row)
{
    const float *from = x->data;
    for (size_t c = 0; c < channels; c++, from += x->by_channel)
        for (size_t tap = 0; tap < taps; tap++)
            *row++ = place[tap] < 0 ? 0.0f : from[(size_t)place[tap] * x->by_place];
}
