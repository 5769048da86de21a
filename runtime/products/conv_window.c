/* SPDX-License-Identifier: MIT */
/* Where the taps of an output row lie is the same for all channels: it is found once a tap and row,
 * outside the loop over channels. */
#include "products/conv_window.h"

#include <string.h>

#include "kernels/ref/activate.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Outputs [from, from + n) of output row `row`. */
struct row_part {
    size_t row, from, n;
};

/* Under tap `tap`, channels [c0, c1), to b[c - c0]. */
static void row_columns(const struct window_columns *j, struct row_part part, size_t tap, size_t c0,
                        size_t c1, float *b)
{
    const size_t n = part.n;
    const struct window *v = j->v;
    const struct window_axis *a = &v->axis[v->n - 1];
    const int64_t low = (int64_t)part.from, high = (int64_t)(part.from + n);
    struct tap_row t;
    bool any = pith_window_row(v, part.row, tap, &t);
    const int64_t first = t.first + (t.begin < low ? (low - t.begin) * a->stride : 0);
    const int64_t begin = t.begin < low ? low : t.begin, end = t.end > high ? high : t.end;
    any = any && begin < end;
    size_t before = any ? (size_t)(begin - low) : n, inside = any ? (size_t)(end - begin) : 0;
    for (size_t c = c0; c < c1; c++, b += j->ldb) {
        const float *x = j->x + c * v->in + t.in_row * (size_t)a->in;
        memset(b, 0, before * sizeof *b);
        if (inside && a->stride == 1)
            memcpy(b + before, x + first, inside * sizeof *b);
        else
            for (size_t i = 0; i < inside; i++)
                b[before + i] = x[first + (int64_t)i * a->stride];
        memset(b + before + inside, 0, (n - before - inside) * sizeof *b);
    }
}

/* Rows k of the panel are ordered by tap, then channel, so that one call does all channels under a
 * tap; a tile of pixels may begin and end within a row of outputs. */
void pith_window_columns(const struct window_columns *j)
{
    size_t width = (size_t)j->v->axis[j->v->n - 1].out;
    for (size_t k = j->k0; k < j->k1;) {
        size_t tap = k / j->channels, c0 = k % j->channels;
        size_t c1 = least(j->channels, c0 + (j->k1 - k));
        for (size_t p = j->p0; p < j->p0 + j->n;) {
            size_t from = p % width, n = least(width - from, j->p0 + j->n - p);
            row_columns(j, (struct row_part){p / width, from, n}, tap, c0, c1,
                        j->b + (k - j->k0) * j->ldb + (p - j->p0));
            p += n;
        }
        k += c1 - c0;
    }
}

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
