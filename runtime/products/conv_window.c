/* SPDX-License-Identifier: MIT */
#include "products/conv_window.h"

#include <string.h>

#include "kernels/ref/activate.h"

/* Each output's sum goes over channels and then taps, as the weight lies: w is [channels, taps].
 * Taps outside the input are left out. */
void pith_window_plane(const struct window_plane *j)
{
    const struct window *v = j->v;
    const struct window_axis *a = &v->axis[v->n - 1];
    memset(j->y, 0, v->out * sizeof *j->y);
    for (size_t k = 0; k < v->taps * j->channels; k++) {
        size_t tap = k % v->taps, c = k / v->taps;
        float w = j->w[k];
        for (size_t r = 0; r < v->out_rows; r++) {
            struct tap_row t;
            if (!pith_window_row(v, r, tap, &t))
                continue;
            const float *x = j->x + c * v->in + t.in_row * (size_t)a->in + t.first;
            float *y = j->y + r * (size_t)a->out + t.begin;
            for (int64_t i = 0; i < t.end - t.begin; i++)
                y[i] += w * x[i * a->stride];
        }
    }
    for (size_t i = 0; i < v->out; i++) {
        j->y[i] += j->bias;
        j->y[i] += j->residual ? j->residual[i] : 0.0f;
    }
    pith_activate_row(j->act.kind, j->act.a, j->act.b, j->y, j->y, v->out);
}
