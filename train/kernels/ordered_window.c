/* SPDX-License-Identifier: MIT */
#include "ordered_window.h"

static int64_t product(const int64_t *of, uint32_t n)
{
    int64_t all = 1;
    for (uint32_t i = 0; i < n; i++)
        all *= of[i];
    return all;
}

int64_t pith_window_rows(const struct prim_conv_shape *s)
{
    return s->n * product(s->out, s->axes);
}

int64_t pith_window_taps(const struct prim_conv_shape *s)
{
    return product(s->kernel, s->axes);
}

/* The last axis is the fastest in pixels and in taps. */
void pith_window_places(const struct prim_conv_shape *s, int64_t row, int64_t *at)
{
    const int64_t taps = pith_window_taps(s);
    int64_t first[3] = {0}, rest = row;
    for (uint32_t i = s->axes; i-- > 0; rest /= s->out[i])
        first[i] = rest % s->out[i] * s->stride[i] - s->pad_begin[i];
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t left = tap, pixel = 0, step = 1;
        bool inside = true;
        for (uint32_t i = s->axes; i-- > 0; left /= s->kernel[i], step *= s->in[i]) {
            const int64_t x = first[i] + left % s->kernel[i] * s->dilation[i];
            inside = inside && x >= 0 && x < s->in[i];
            pixel += x * step;
        }
        at[tap] = inside ? rest * step + pixel : -1;
    }
}
