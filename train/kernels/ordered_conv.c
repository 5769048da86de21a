/* SPDX-License-Identifier: MIT */
/* ordered_conv.c - a convolution as products of matrices, some rows (pixels of the result) at a
 * time, so that columns, which repeat x for each tap, stay in the cache:
 *
 *     columns [rows, taps * c] = the window of each row
 *     y = columns W^T,  dW += dy^T columns,  dcolumns = dy W, added back into dx
 *
 * of each group, with W [o, taps * c]. Where a group is one channel to one channel, there is
 * nothing to multiply matrices for: taps one by one, all channels side by side. */
#include "ordered_conv.h"

#include <stdlib.h>
#include <string.h>

#include "ordered_window.h"

enum { COLUMNS = 1 << 17 }; /* floats at once, if that is a row */

struct conv {
    struct prim_conv head;
    struct ordered_prim *p;
    struct prim_conv_shape s;
    int64_t c, o; /* channels of a group */
    int64_t rows, taps, width, at_once;
    bool plain;     /* columns are x as it is */
    bool channels;  /* one to one */
    int64_t *place; /* [taps] of a row */
    /* In the room that all convolutions share: W of a group; columns of some rows. */
    float *w, *columns;
};

static struct conv *conv_of(struct prim_conv *head)
{
    return (struct conv *)(void *)head;
}

static bool is_plain(const struct prim_conv_shape *s)
{
    bool plain = true;
    for (uint32_t i = 0; i < s->axes; i++)
        plain = plain && s->kernel[i] == 1 && s->stride[i] == 1 && s->pad_begin[i] == 0 &&
                s->pad_end[i] == 0;
    return plain;
}

/* Floats of the room for W; of a convolution of channels for W and its gradient. */
static size_t of_weights(const struct conv *v)
{
    return (size_t)(v->channels ? 2 * v->s.o * v->taps : v->o * v->width);
}

static bool share(struct ordered_prim *p, size_t count)
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

enum pith_status pith_ordered_conv_new(struct prim *p, const struct prim_conv_shape *s,
                                       bool need_dx, struct prim_conv **conv)
{
    (void)need_dx;
    struct conv *v = calloc(1, sizeof *v);
    if (!v)
        return PITH_ERR_MEMORY;
    *v = (struct conv){.p = (struct ordered_prim *)(void *)p,
                       .s = *s,
                       .c = s->c / s->group,
                       .o = s->o / s->group,
                       .rows = pith_window_rows(s),
                       .taps = pith_window_taps(s),
                       .plain = is_plain(s)};
    v->width = v->taps * v->c;
    v->channels = v->c == 1 && v->o == 1;
    v->at_once = v->width < COLUMNS ? COLUMNS / v->width : 1;
    v->at_once = v->at_once < v->rows ? v->at_once : v->rows;
    v->place = malloc((size_t)v->taps * sizeof *v->place);
    const size_t columns = v->plain || v->channels ? 0 : (size_t)(v->at_once * v->width);
    if (!v->place || !share(v->p, of_weights(v) + columns)) {
        pith_ordered_conv_free(&v->head);
        return PITH_ERR_MEMORY;
    }
    *conv = &v->head;
    return PITH_OK;
}

void pith_ordered_conv_free(struct prim_conv *head)
{
    struct conv *v = conv_of(head);
    free(v->place);
    free(v);
}

/* ---- the operands ---------------------------------------------------------------------------- */

static void find_room(struct conv *v)
{
    v->w = v->p->shared;
    v->columns = v->w + of_weights(v);
}

/* Between the model's [o, c, taps] and [o, taps, c] of a group. */
static void take_weights(const struct conv *v, int64_t group, const float *w)
{
    w += group * v->o * v->width;
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t k = 0; k < v->taps; k++)
            for (int64_t c = 0; c < v->c; c++)
                v->w[(o * v->taps + k) * v->c + c] = w[(o * v->c + c) * v->taps + k];
}

static void give_weights(const struct conv *v, int64_t group, float *w)
{
    w += group * v->o * v->width;
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t k = 0; k < v->taps; k++)
            for (int64_t c = 0; c < v->c; c++)
                w[(o * v->c + c) * v->taps + k] = v->w[(o * v->taps + k) * v->c + c];
}

static void gather(const struct conv *v, int64_t group, const float *x, int64_t first, int64_t n)
{
    float *to = v->columns;
    const size_t bytes = (size_t)v->c * sizeof *to;
    for (int64_t row = first; row < first + n; row++) {
        pith_window_places(&v->s, row, v->place);
        for (int64_t k = 0; k < v->taps; k++, to += v->c)
            if (v->place[k] < 0)
                memset(to, 0, bytes);
            else
                memcpy(to, x + v->place[k] * v->s.c + group * v->c, bytes);
    }
}

static void scatter(const struct conv *v, int64_t group, float *dx, int64_t first, int64_t n)
{
    const float *from = v->columns;
    for (int64_t row = first; row < first + n; row++) {
        pith_window_places(&v->s, row, v->place);
        for (int64_t k = 0; k < v->taps; k++, from += v->c) {
            float *to = dx + v->place[k] * v->s.c + group * v->c;
            for (int64_t c = 0; c < v->c && v->place[k] >= 0; c++)
                to[c] += from[c];
        }
    }
}

/* Columns of rows first .. first + n - 1 as the side of a product: lda. */
static const float *columns_of(const struct conv *v, int64_t group, const float *x, int64_t first,
                               int64_t n, int64_t *ld)
{
    *ld = v->plain ? v->s.c : v->width;
    if (v->plain)
        return x + first * v->s.c + group * v->c;
    gather(v, group, x, first, n);
    return v->columns;
}

static void multiply(const struct conv *v, const struct prim_product *g)
{
    pith_ordered_product(v->p->kernel, &v->p->room, g);
}

static int64_t some(const struct conv *v, int64_t first)
{
    return v->rows - first < v->at_once ? v->rows - first : v->at_once;
}

/* ---- of matrices ----------------------------------------------------------------------------- */

static void forward(struct conv *v, int64_t group, const float *x, const float *w, bool add,
                    float *y)
{
    struct prim_product g = {.trans_b = true,
                             .add = add,
                             .n = v->o,
                             .k = v->width,
                             .alpha = 1,
                             .b = v->w,
                             .ldb = v->width,
                             .ldc = v->s.o};
    take_weights(v, group, w);
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.m = some(v, first);
        g.a = columns_of(v, group, x, first, g.m, &g.lda);
        g.c = y + first * v->s.o + group * v->o;
        multiply(v, &g);
    }
}

static void backward_x(struct conv *v, int64_t group, const float *w, const float *dy, float *dx)
{
    struct prim_product g = {.n = v->width,
                             .k = v->o,
                             .alpha = 1,
                             .lda = v->s.o,
                             .b = v->w,
                             .ldb = v->width,
                             .ldc = v->plain ? v->s.c : v->width};
    take_weights(v, group, w);
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.m = some(v, first);
        g.a = dy + first * v->s.o + group * v->o;
        g.c = v->plain ? dx + first * v->s.c + group * v->c : v->columns;
        multiply(v, &g);
        if (!v->plain)
            scatter(v, group, dx, first, g.m);
    }
}

static void backward_w(struct conv *v, int64_t group, const float *x, const float *dy, float *dw)
{
    struct prim_product g = {.trans_a = true,
                             .m = v->o,
                             .n = v->width,
                             .alpha = 1,
                             .lda = v->s.o,
                             .c = v->w,
                             .ldc = v->width};
    for (int64_t first = 0; first < v->rows; first += v->at_once) {
        g.k = some(v, first);
        g.a = dy + first * v->s.o + group * v->o;
        g.b = columns_of(v, group, x, first, g.k, &g.ldb);
        g.add = first > 0;
        multiply(v, &g);
    }
    give_weights(v, group, dw);
}

/* ---- of channels ----------------------------------------------------------------------------- */

/* w [taps, o] of the model's [o, 1, taps]. */
static void turn_weights(const struct conv *v, const float *w)
{
    for (int64_t o = 0; o < v->s.o; o++)
        for (int64_t k = 0; k < v->taps; k++)
            v->w[k * v->s.o + o] = w[o * v->taps + k];
}

static void add_products(const float *a, const float *b, float *restrict to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += a[i] * b[i];
}

static void forward_channels(struct conv *v, const float *x, const float *w, float *y)
{
    const int64_t n = v->s.o;
    turn_weights(v, w);
    for (int64_t row = 0; row < v->rows; row++) {
        pith_window_places(&v->s, row, v->place);
        for (int64_t k = 0; k < v->taps; k++)
            if (v->place[k] >= 0)
                add_products(x + v->place[k] * n, v->w + k * n, y + row * n, n);
    }
}

static void backward_channels(struct conv *v, const float *x, const float *w, const float *dy,
                              float *dx, float *dw)
{
    const int64_t n = v->s.o;
    float *sum = v->w + n * v->taps;
    turn_weights(v, w);
    memset(sum, 0, (size_t)(n * v->taps) * sizeof *sum);
    for (int64_t row = 0; row < v->rows; row++) {
        pith_window_places(&v->s, row, v->place);
        for (int64_t k = 0; k < v->taps; k++) {
            if (v->place[k] < 0)
                continue;
            if (dx)
                add_products(dy + row * n, v->w + k * n, dx + v->place[k] * n, n);
            if (dw)
                add_products(dy + row * n, x + v->place[k] * n, sum + k * n, n);
        }
    }
    for (int64_t i = 0; i < n * v->taps && dw; i++)
        dw[i] = sum[i % v->taps * n + i / v->taps];
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Sums begin with the bias. */
void pith_ordered_conv_forward(struct prim_conv *head, const float *x, const float *w,
                               const float *bias, float *y)
{
    struct conv *v = conv_of(head);
    const size_t bytes = (size_t)v->s.o * sizeof *y;
    find_room(v);
    for (int64_t row = 0; row < v->rows; row++)
        if (bias)
            memcpy(y + row * v->s.o, bias, bytes);
        else
            memset(y + row * v->s.o, 0, bytes);
    for (int64_t group = 0; group < v->s.group && !v->channels; group++)
        forward(v, group, x, w, bias != NULL, y);
    if (v->channels)
        forward_channels(v, x, w, y);
}

void pith_ordered_conv_backward(struct prim_conv *head, const float *x, const float *w,
                                const float *dy, float *dx, float *dw, float *db)
{
    struct conv *v = conv_of(head);
    const struct prim_conv_shape *s = &v->s;
    int64_t pixels = s->n;
    find_room(v);
    for (uint32_t i = 0; i < s->axes; i++)
        pixels *= s->in[i];
    if (dx)
        memset(dx, 0, (size_t)(pixels * s->c) * sizeof *dx);
    for (int64_t group = 0; group < s->group && !v->channels; group++) {
        if (dx)
            backward_x(v, group, w, dy, dx);
        if (dw)
            backward_w(v, group, x, dy, dw);
    }
    if (v->channels)
        backward_channels(v, x, w, dy, dx, dw);
    if (db)
        memset(db, 0, (size_t)s->o * sizeof *db);
    for (int64_t row = 0; row < v->rows && db; row++)
        for (int64_t o = 0; o < s->o; o++)
            db[o] += dy[row * s->o + o];
}
