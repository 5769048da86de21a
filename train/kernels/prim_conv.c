/* SPDX-License-Identifier: MIT */
/* prim_conv.c - a convolution as products of matrices, some rows (pixels of the result) at a
 * time, so that columns, which repeat x for each tap, stay in the cache:
 *
 *     columns [rows, taps * c] = the window of each row
 *     y = columns W^T,  dW += dy^T columns,  dcolumns = dy W, added back into dx
 *
 * of each group, with W [o, taps * c]. Where a group is one channel to one channel, there is
 * nothing to multiply matrices for: taps one by one, all channels side by side. */
#include "prim.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1 << 17 }; /* floats at once, if that is a row */

struct prim_conv {
    struct prim *p;
    struct prim_conv_shape s;
    struct window window;
    int64_t c, o; /* channels of a group */
    int64_t rows, taps, width, at_once;
    bool plain;    /* columns are x as it is */
    bool channels; /* one to one */
    /* In the room that all convolutions share: W of a group; columns of some rows. */
    float *w, *columns;
};

static bool is_plain(const struct prim_conv_shape *s)
{
    bool plain = true;
    for (uint32_t i = 0; i < s->axes; i++)
        plain = plain && s->kernel[i] == 1 && s->stride[i] == 1 && s->pad_begin[i] == 0 &&
                s->pad_end[i] == 0;
    return plain;
}

/* Floats of the room for W; of a convolution of channels for W and its gradient. */
static size_t of_weights(const struct prim_conv *v)
{
    return (size_t)(v->channels ? 2 * v->s.o * v->taps : v->o * v->width);
}

static bool share(struct prim *p, size_t count)
{
    if (count <= p->n_shared)
        return true;
    float *more = realloc(p->shared, count * sizeof *more);
    if (!more)
        return false;
    p->shared = more;
    p->n_shared = count;
    return true;
}

enum pith_status pith_prim_conv_new(struct prim *p, const struct prim_conv_shape *s,
                                    struct prim_conv **conv)
{
    struct prim_conv *v = calloc(1, sizeof *v);
    if (!v)
        return PITH_ERR_MEMORY;
    *v = (struct prim_conv){
        .p = p, .s = *s, .c = s->c / s->group, .o = s->o / s->group, .plain = is_plain(s)};
    enum pith_status status = pith_window_new(s, &v->window);
    v->rows = v->window.rows;
    v->taps = v->window.taps;
    v->width = v->taps * v->c;
    v->channels = v->c == 1 && v->o == 1;
    v->at_once = v->width < COLUMNS ? COLUMNS / v->width : 1;
    v->at_once = v->at_once < v->rows ? v->at_once : v->rows;
    const size_t columns = v->plain || v->channels ? 0 : (size_t)(v->at_once * v->width);
    if (status || !share(v->p, of_weights(v) + columns)) {
        pith_prim_conv_free(v);
        return PITH_ERR_MEMORY;
    }
    *conv = v;
    return PITH_OK;
}

void pith_prim_conv_free(struct prim_conv *v)
{
    if (v)
        free(v->window.inside);
    free(v);
}

/* ---- the operands ---------------------------------------------------------------------------- */

static void find_room(struct prim_conv *v)
{
    v->w = v->p->shared;
    v->columns = v->w + of_weights(v);
}

/* Of a group, [o, taps, c] of the model's [o, c, taps]. */
static const float *take_weights(const struct prim_conv *v, int64_t group, const float *w)
{
    w += group * v->o * v->width;
    if (v->taps == 1 || v->c == 1)
        return w;
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t k = 0; k < v->taps; k++)
                v->w[(o * v->taps + k) * v->c + c] = *w++;
    return v->w;
}

static void give_weights(const struct prim_conv *v, int64_t group, float *w)
{
    w += group * v->o * v->width;
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t k = 0; k < v->taps; k++)
                *w++ = v->w[(o * v->taps + k) * v->c + c];
}

/* How many taps from k on lie side by side, with all of their channels. */
static int64_t run_of(const struct prim_conv *v, const int64_t *at, int64_t k)
{
    int64_t n = 1;
    while (v->s.group == 1 && k + n < v->taps && at[k + n] == at[k] + n)
        n++;
    return n;
}

static void gather(const struct prim_conv *v, int64_t group, const float *x, int64_t row, int64_t n)
{
    float *to = v->columns;
    for (int64_t end = row + n, first; row < end; row++) {
        const int64_t *at = pith_window_taps(&v->window, row, &first);
        const float *from = x + first * v->s.c + group * v->c;
        for (int64_t k = 0, run; k < v->taps; k += run, to += run * v->c) {
            run = at[k] < 0 ? 1 : run_of(v, at, k);
            if (at[k] < 0)
                memset(to, 0, (size_t)v->c * sizeof *to);
            else
                memcpy(to, from + at[k] * v->s.c, (size_t)(run * v->c) * sizeof *to);
        }
    }
}

static void scatter(const struct prim_conv *v, int64_t group, float *dx, int64_t row, int64_t n)
{
    const float *from = v->columns;
    for (int64_t end = row + n, first; row < end; row++) {
        const int64_t *at = pith_window_taps(&v->window, row, &first);
        float *to = dx + first * v->s.c + group * v->c;
        for (int64_t k = 0, run; k < v->taps; k += run, from += run * v->c) {
            run = at[k] < 0 ? 1 : run_of(v, at, k);
            if (at[k] >= 0)
                v->p->rows->add(to + at[k] * v->s.c, from, (size_t)(run * v->c));
        }
    }
}

/* Columns of rows first .. first + n - 1. */
static struct prim_matrix columns_of(const struct prim_conv *v, int64_t group, const float *x,
                                     int64_t first, int64_t n)
{
    if (v->plain)
        return (struct prim_matrix){.x = x + first * v->s.c + group * v->c, .step = v->s.c};
    gather(v, group, x, first, n);
    return (struct prim_matrix){.x = v->columns, .step = v->width};
}

static int64_t some(const struct prim_conv *v, int64_t first)
{
    return v->rows - first < v->at_once ? v->rows - first : v->at_once;
}

/* ---- of matrices ----------------------------------------------------------------------------- */

static void forward(struct prim_conv *v, int64_t group, const float *x, const float *w, bool add,
                    float *y)
{
    struct prim_product g = {.size = {.n = v->o, .k = v->width},
                             .alpha = 1,
                             .b = {take_weights(v, group, w), v->width, true},
                             .c = {NULL, v->s.o, add}};
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.size.m = some(v, first);
        g.a = columns_of(v, group, x, first, g.size.m);
        g.c.x = y + first * v->s.o + group * v->o;
        pith_prim_multiply(v->p, &g);
    }
}

static void backward_x(struct prim_conv *v, int64_t group, const float *w, const float *dy,
                       float *dx)
{
    struct prim_product g = {.size = {.n = v->width, .k = v->o},
                             .alpha = 1,
                             .a.step = v->s.o,
                             .b = {take_weights(v, group, w), v->width, false},
                             .c.step = v->plain ? v->s.c : v->width};
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.size.m = some(v, first);
        g.a.x = dy + first * v->s.o + group * v->o;
        g.c.x = v->plain ? dx + first * v->s.c + group * v->c : v->columns;
        pith_prim_multiply(v->p, &g);
        if (!v->plain)
            scatter(v, group, dx, first, g.size.m);
    }
}

static void backward_w(struct prim_conv *v, int64_t group, const float *x, const float *dy,
                       float *dw)
{
    struct prim_product g = {.size = {.m = v->o, .n = v->width},
                             .alpha = 1,
                             .a = {NULL, v->s.o, true},
                             .c = {v->w, v->width, false}};
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.size.k = some(v, first);
        g.a.x = dy + first * v->s.o + group * v->o;
        g.b = columns_of(v, group, x, first, g.size.k);
        g.c.add = first > 0;
        pith_prim_multiply(v->p, &g);
    }
    give_weights(v, group, dw);
}

/* ---- of channels ----------------------------------------------------------------------------- */

/* w [taps, o] of the model's [o, 1, taps]. */
static void turn_weights(const struct prim_conv *v, const float *w)
{
    for (int64_t o = 0; o < v->s.o; o++)
        for (int64_t k = 0; k < v->taps; k++)
            v->w[k * v->s.o + o] = *w++;
}

static void forward_channels(struct prim_conv *v, const float *x, const float *w, float *y)
{
    const int64_t n = v->s.o;
    turn_weights(v, w);
    for (int64_t row = 0, first; row < v->rows; row++, y += n) {
        const int64_t *at = pith_window_taps(&v->window, row, &first);
        for (int64_t k = 0; k < v->taps; k++)
            if (at[k] >= 0)
                v->p->rows->add_product(y, x + (first + at[k]) * n, v->w + k * n, (size_t)n);
    }
}

static void backward_channels(struct prim_conv *v, const float *x, const float *w, const float *dy,
                              float *dx, float *dw)
{
    const int64_t n = v->s.o;
    float *sum = v->w + n * v->taps;
    turn_weights(v, w);
    memset(sum, 0, (size_t)(n * v->taps) * sizeof *sum);
    for (int64_t row = 0, first; row < v->rows; row++, dy += n) {
        const int64_t *at = pith_window_taps(&v->window, row, &first);
        for (int64_t k = 0; k < v->taps; k++) {
            const int64_t pixel = (first + at[k]) * n;
            if (at[k] >= 0 && dx)
                v->p->rows->add_product(dx + pixel, dy, v->w + k * n, (size_t)n);
            if (at[k] >= 0 && dw)
                v->p->rows->add_product(sum + k * n, dy, x + pixel, (size_t)n);
        }
    }
    for (int64_t i = 0; i < n * v->taps && dw; i++)
        dw[i] = sum[i % v->taps * n + i / v->taps];
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Sums begin with the bias. */
void pith_prim_conv_forward(struct prim_conv *v, const float *x, const float *w, const float *bias,
                            float *y)
{
    const size_t bytes = (size_t)v->s.o * sizeof *y;
    find_room(v);
    for (int64_t row = 0; row < v->rows && bias; row++)
        memcpy(y + row * v->s.o, bias, bytes);
    if (v->channels && !bias)
        memset(y, 0, (size_t)v->rows * bytes);
    for (int64_t group = 0; group < v->s.group && !v->channels; group++)
        forward(v, group, x, w, bias != NULL, y);
    if (v->channels)
        forward_channels(v, x, w, y);
}

void pith_prim_conv_backward(struct prim_conv *v, const float *w, const struct conv_gradients *g)
{
    float *dx = g->dx, *dw = g->dw, *db = g->db;
    const struct prim_conv_shape *s = &v->s;
    int64_t pixels = s->n;
    find_room(v);
    for (uint32_t i = 0; i < s->axes; i++)
        pixels *= s->in[i];
    if (dx && !v->plain)
        memset(dx, 0, (size_t)(pixels * s->c) * sizeof *dx);
    for (int64_t group = 0; group < s->group && !v->channels; group++) {
        if (dx)
            backward_x(v, group, w, g->dy, dx);
        if (dw)
            backward_w(v, group, g->x, g->dy, dw);
    }
    if (v->channels)
        backward_channels(v, g->x, w, g->dy, dx, dw);
    if (db)
        memset(db, 0, (size_t)s->o * sizeof *db);
    for (int64_t row = 0; row < v->rows && db; row++)
        v->p->rows->add(db, g->dy + row * s->o, (size_t)s->o);
}
