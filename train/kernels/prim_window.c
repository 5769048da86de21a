/* SPDX-License-Identifier: MIT */
/* prim_window.c - where the taps of a window lie. Windows that no edge cuts have the same distances
 * between their taps, which are computed once. */
#include "prim.h"

#include <stdlib.h>

/* The last axis is the fastest in pixels and in taps. Axes that are not there have one pixel. */
static void places(const struct prim_conv_shape *s, const int64_t *first, int64_t image,
                   int64_t *at)
{
    int64_t x0[3] = {0}, in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, step[3] = {1, 1, 1};
    for (uint32_t i = s->axes, to = 2; i-- > 0; to--) {
        x0[to] = first[i], in[to] = s->in[i];
        kernel[to] = s->kernel[i], step[to] = s->dilation[i];
    }
    for (int64_t i = 0; i < kernel[0]; i++)
        for (int64_t j = 0; j < kernel[1]; j++) {
            const int64_t z = x0[0] + i * step[0], y = x0[1] + j * step[1];
            const bool inside = z >= 0 && z < in[0] && y >= 0 && y < in[1];
            const int64_t line = ((image * in[0] + z) * in[1] + y) * in[2];
            int64_t x = x0[2];
            for (int64_t k = 0; k < kernel[2]; k++, x += step[2])
                *at++ = inside && x >= 0 && x < in[2] ? line + x : -1;
        }
}

enum pith_status pith_window_new(const struct prim_conv_shape *s, struct window *w)
{
    const int64_t origin[3] = {0};
    *w = (struct window){.s = *s, .rows = s->n, .taps = 1};
    for (uint32_t i = 0; i < s->axes; i++) {
        w->rows *= s->out[i];
        w->taps *= s->kernel[i];
    }
    w->inside = malloc(2 * (size_t)w->taps * sizeof *w->inside);
    if (!w->inside)
        return PITH_ERR_MEMORY;
    w->edge = w->inside + w->taps;
    places(s, origin, 0, w->inside);
    return PITH_OK;
}

const int64_t *pith_window_taps(const struct window *w, int64_t row, int64_t *first)
{
    const struct prim_conv_shape *s = &w->s;
    int64_t origin[3], pixel = 0, step = 1;
    bool cut = false;
    for (uint32_t i = s->axes; i-- > 0; row /= s->out[i], step *= s->in[i]) {
        origin[i] = row % s->out[i] * s->stride[i] - s->pad_begin[i];
        cut |= origin[i] < 0 || origin[i] + (s->kernel[i] - 1) * s->dilation[i] >= s->in[i];
        pixel += origin[i] * step;
    }
    *first = cut ? 0 : row * step + pixel;
    if (cut)
        places(s, origin, row, w->edge);
    return cut ? w->edge : w->inside;
}
