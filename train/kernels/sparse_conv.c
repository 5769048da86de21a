/* SPDX-License-Identifier: MIT */
/* sparse_conv.c - see sparse_conv.h. Group after group of pictures, and row after row, so that what
 * is turned between the two layouts stays near. */
#include "sparse_conv.h"

#include "pith_host.h"
#include "train_kernels.h"

#include <stdlib.h>
#include <string.h>

/* Weights in the order of the maps that they make. */
struct weight_list {
    uint32_t *first;  /* [maps + 1] */
    int32_t *offset;  /* vectors */
    uint32_t *number; /* of the model's w */
    float *weight;
};

struct sparse_conv {
    struct prim_conv_shape s;
    const struct sparse_conv_kernels *kernels;
    bool need_dx, listed, pays;
    int64_t count, most;                       /* weights; those that a list has room for */
    int64_t x_rows, x_columns;                 /* of a channel, pads among them */
    int64_t dy_rows, dy_columns, dy_before[2]; /* of a map as dx reads it, between its pads */
    uint8_t *alive;                            /* [count] as listed */
    struct weight_list maps, channels;         /* channels: where dx is wanted */
};

/* Of scratch: what leaves the caches has lost already. */
static const int64_t most_bytes = 4 << 20;

/* ---- shapes ---------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t reach(const struct prim_conv_shape *s, int i)
{
    return (s->kernel[i] - 1) * s->dilation[i];
}

/* Zeros are set between dy where windows step over some of x: dx is a sum of step 1 then. */
static struct sparse_conv shape_of(const struct prim_conv_shape *s, bool need_dx, double share)
{
    struct sparse_conv v = {.s = *s, .need_dx = need_dx};
    int64_t x[2], dy[2];
    for (int i = 0; i < 2; i++) {
        int64_t last = (s->out[i] - 1) * s->stride[i];
        v.dy_before[i] = larger(reach(s, i) - s->pad_begin[i], 0);
        x[i] = larger(s->in[i] + s->pad_begin[i], last + reach(s, i) + 1);
        dy[i] = larger(s->in[i] - 1 + s->pad_begin[i], last) + v.dy_before[i] + 1;
    }
    v.x_rows = x[0];
    v.x_columns = x[1];
    v.dy_rows = need_dx ? dy[0] : 1;
    v.dy_columns = need_dx ? dy[1] : s->out[1];
    v.count = s->o * s->c * s->kernel[0] * s->kernel[1];
    v.most = (int64_t)(share * (double)v.count);
    return v;
}

static int64_t x_vectors(const struct sparse_conv *v)
{
    return v->s.c * v->x_rows * v->x_columns;
}

static int64_t dy_vectors(const struct sparse_conv *v)
{
    return v->s.o * v->dy_rows * v->dy_columns;
}

static int64_t forward_vectors(const struct sparse_conv *v)
{
    return x_vectors(v) + v->s.o * v->s.out[1];
}

static int64_t backward_vectors(const struct sparse_conv *v)
{
    return x_vectors(v) + dy_vectors(v) + v->s.c * v->s.in[1] + v->most + v->s.o;
}

static int64_t most_vectors(const struct sparse_conv *v)
{
    return larger(forward_vectors(v), backward_vectors(v));
}

bool pith_sparse_conv_suits(const struct prim_conv_shape *s)
{
    const int64_t most = most_bytes / (int64_t)sizeof(float);
    int64_t c = s->c, o = s->o;
    if (s->axes != 2 || s->group != 1)
        return false;
    for (int i = 0; i < 2; i++) {
        int64_t pads = s->pad_begin[i] + s->pad_end[i];
        if (s->pad_begin[i] < 0 || s->pad_end[i] < 0 || s->in[i] > most || pads > most ||
            s->out[i] > most / s->stride[i] || s->kernel[i] > most / s->dilation[i])
            return false;
        c *= s->in[i] + pads + reach(s, i);
        o *= s->in[i] + pads + reach(s, i) + s->out[i] * s->stride[i];
        if (c > most || o > most)
            return false;
    }
    struct sparse_conv v = shape_of(s, true, 1);
    return s->o <= most / s->kernel[0] / s->kernel[1] / s->c && most_vectors(&v) <= most / 16;
}

/* ---- which weights are left ------------------------------------------------------------------ */

static bool open_list(struct weight_list *l, int64_t maps, int64_t most)
{
    l->first = malloc(((size_t)maps + 1) * sizeof *l->first);
    l->offset = malloc((size_t)(most + 1) * sizeof *l->offset);
    l->number = malloc((size_t)(most + 1) * sizeof *l->number);
    l->weight = malloc((size_t)(most + 1) * sizeof *l->weight);
    return l->first && l->offset && l->number && l->weight;
}

static void close_list(struct weight_list *l)
{
    free(l->first);
    free(l->offset);
    free(l->number);
    free(l->weight);
}

enum pith_status pith_sparse_conv_new(const struct prim_conv_shape *s, bool need_dx, double share,
                                      const struct sparse_conv_kernels *kernels,
                                      struct sparse_conv **conv)
{
    struct sparse_conv *v = malloc(sizeof *v);
    if (!v)
        return PITH_ERR_MEMORY;
    *v = shape_of(s, need_dx, share);
    v->kernels = kernels ? kernels : pith_train_kernels().sparse;
    v->alive = malloc((size_t)v->count);
    if (!v->alive || !open_list(&v->maps, s->o, v->most) ||
        (need_dx && !open_list(&v->channels, s->c, v->most))) {
        pith_sparse_conv_free(v);
        return PITH_ERR_MEMORY;
    }
    *conv = v;
    return PITH_OK;
}

void pith_sparse_conv_free(struct sparse_conv *conv)
{
    if (!conv)
        return;
    free(conv->alive);
    close_list(&conv->maps);
    close_list(&conv->channels);
    free(conv);
}

uint64_t pith_sparse_conv_scratch_bytes(const struct sparse_conv *v)
{
    return (uint64_t)(most_vectors(v) * v->kernels->lanes) * sizeof(float);
}

/* Where tap (kh, kw) of channel c is read, from the row and column of an output on. */
static int32_t x_offset(const struct sparse_conv *v, int64_t c, int64_t kh, int64_t kw)
{
    const int64_t *dilation = v->s.dilation;
    return (int32_t)((c * v->x_rows + kh * dilation[0]) * v->x_columns + kw * dilation[1]);
}

/* Where map o is read by that tap, from the row and column of x on. */
static int32_t dy_offset(const struct sparse_conv *v, int64_t o, int64_t kh, int64_t kw)
{
    const struct prim_conv_shape *s = &v->s;
    int64_t row = s->pad_begin[0] + v->dy_before[0] - kh * s->dilation[0];
    int64_t column = s->pad_begin[1] + v->dy_before[1] - kw * s->dilation[1];
    return (int32_t)((o * v->dy_rows + row) * v->dy_columns + column);
}

static void list_weight(struct sparse_conv *v, struct weight_list *l, uint32_t at, int64_t o,
                        int64_t c, int64_t k)
{
    const struct prim_conv_shape *s = &v->s;
    int64_t kh = k / s->kernel[1], kw = k % s->kernel[1];
    l->number[at] = (uint32_t)((o * s->c + c) * s->kernel[0] * s->kernel[1] + k);
    l->offset[at] = l == &v->maps ? x_offset(v, c, kh, kw) : dy_offset(v, o, kh, kw);
}

static void list_maps(struct sparse_conv *v)
{
    const int64_t window = v->s.kernel[0] * v->s.kernel[1];
    const uint8_t *alive = v->alive;
    uint32_t at = 0;
    for (int64_t o = 0; o < v->s.o; o++) {
        v->maps.first[o] = at;
        for (int64_t i = 0; i < v->s.c * window; i++, alive++)
            if (*alive)
                list_weight(v, &v->maps, at++, o, i / window, i % window);
    }
    v->maps.first[v->s.o] = at;
}

static void list_channels(struct sparse_conv *v)
{
    const int64_t window = v->s.kernel[0] * v->s.kernel[1];
    uint32_t at = 0;
    for (int64_t c = 0; c < v->s.c; c++) {
        v->channels.first[c] = at;
        for (int64_t i = 0; i < v->s.o * window; i++)
            if (v->alive[(i / window * v->s.c + c) * window + i % window])
                list_weight(v, &v->channels, at++, i / window, c, i % window);
    }
    v->channels.first[v->s.c] = at;
}

bool pith_sparse_conv_keep(struct sparse_conv *v, const uint8_t *alive)
{
    if (!alive || (v->listed && memcmp(alive, v->alive, (size_t)v->count) == 0))
        return alive && v->pays;
    memcpy(v->alive, alive, (size_t)v->count);
    int64_t left = 0;
    for (int64_t i = 0; i < v->count; i++)
        left += alive[i] != 0;
    v->listed = true;
    v->pays = left <= v->most;
    if (!v->pays)
        return false;
    list_maps(v);
    if (v->need_dx)
        list_channels(v);
    return true;
}

static void take_weights(struct weight_list *l, int64_t maps, const float *w)
{
    for (uint32_t i = 0; i < l->first[maps]; i++)
        l->weight[i] = w[l->number[i]];
}

void pith_sparse_conv_renew(struct sparse_conv *v, const float *w)
{
    take_weights(&v->maps, v->s.o, w);
    if (v->need_dx)
        take_weights(&v->channels, v->s.c, w);
}

/* ---- a group of pictures --------------------------------------------------------------------- */

/* Pictures first .. first + n - 1. */
struct group {
    const struct sparse_conv *v;
    int64_t first, n;
    float *x, *dy, *row, *dw, *db; /* vectors */
};

static struct sparse_row row_of(const struct sparse_conv *v, const struct weight_list *l,
                                int64_t maps, int64_t columns)
{
    return (struct sparse_row){.step = v->kernels->lanes,
                               .maps = maps,
                               .columns = columns,
                               .first = l->first,
                               .offset = l->offset};
}

static void take_x(const struct group *g, const float *x)
{
    const struct sparse_conv *v = g->v;
    const struct prim_conv_shape *s = &v->s;
    const int64_t lanes = v->kernels->lanes, row = s->in[1] * s->c, picture = s->in[0] * row;
    const struct sparse_pixels p = {g->n, picture, s->c, s->in[1], v->x_rows * v->x_columns * lanes,
                                    lanes};
    if (v->x_rows * v->x_columns > s->in[0] * s->in[1])
        memset(g->x, 0, (size_t)(x_vectors(v) * lanes) * sizeof *g->x);
    for (int64_t h = 0; h < s->in[0]; h++)
        v->kernels->to_lanes(&p, x + g->first * picture + h * row,
                             g->x +
                                 ((h + s->pad_begin[0]) * v->x_columns + s->pad_begin[1]) * lanes);
}

static void group_forward(const struct group *g, const float *x, const float *bias, float *y)
{
    const struct sparse_conv *v = g->v;
    const struct prim_conv_shape *s = &v->s;
    const int64_t lanes = v->kernels->lanes, row = s->out[1] * s->o, picture = s->out[0] * row;
    const struct sparse_pixels p = {g->n, picture, s->o, s->out[1], s->out[1] * lanes, lanes};
    struct sparse_row r = row_of(v, &v->maps, s->o, s->out[1]);
    take_x(g, x);
    r.step *= s->stride[1];
    for (int64_t h = 0; h < s->out[0]; h++) {
        r.from = g->x + h * s->stride[0] * v->x_columns * lanes;
        v->kernels->sum(&r, v->maps.weight, bias, g->row);
        v->kernels->from_lanes(&p, g->row, y + g->first * picture + h * row);
    }
}

/* dy becomes vectors, whole where dx is made of them, else row by row. */
static void group_gradient(const struct group *g, const float *x, const float *dy)
{
    const struct sparse_conv *v = g->v;
    const struct prim_conv_shape *s = &v->s;
    const int64_t lanes = v->kernels->lanes, row = s->out[1] * s->o, picture = s->out[0] * row;
    const int64_t step[2] = {v->need_dx ? s->stride[0] : 0, v->need_dx ? s->stride[1] : 1};
    const int64_t map = v->dy_rows * v->dy_columns * lanes;
    const struct sparse_pixels p = {g->n, picture, s->o, s->out[1], map, step[1] * lanes};
    struct sparse_row r = row_of(v, &v->maps, s->o, s->out[1]);
    take_x(g, x);
    r.step *= s->stride[1];
    if (v->need_dx)
        memset(g->dy, 0, (size_t)(dy_vectors(v) * lanes) * sizeof *g->dy);
    for (int64_t h = 0; h < s->out[0]; h++) {
        float *to = g->dy + h * step[0] * v->dy_columns * lanes;
        if (v->need_dx)
            to += (v->dy_before[0] * v->dy_columns + v->dy_before[1]) * lanes;
        v->kernels->to_lanes(&p, dy + g->first * picture + h * row, to);
        r.from = g->x + h * s->stride[0] * v->x_columns * lanes;
        v->kernels->gradient(&r, to, map, p.pixel_step, g->dw, g->db);
    }
}

static void group_dx(const struct group *g, float *dx)
{
    const struct sparse_conv *v = g->v;
    const struct prim_conv_shape *s = &v->s;
    const int64_t lanes = v->kernels->lanes, row = s->in[1] * s->c, picture = s->in[0] * row;
    const struct sparse_pixels p = {g->n, picture, s->c, s->in[1], s->in[1] * lanes, lanes};
    struct sparse_row r = row_of(v, &v->channels, s->c, s->in[1]);
    for (int64_t h = 0; h < s->in[0]; h++) {
        r.from = g->dy + h * v->dy_columns * lanes;
        v->kernels->sum(&r, v->channels.weight, NULL, g->row);
        v->kernels->from_lanes(&p, g->row, dx + g->first * picture + h * row);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool next_group(struct group *g)
{
    const int64_t left = g->v->s.n - (g->first += g->n);
    g->n = left < g->v->kernels->lanes ? left : g->v->kernels->lanes;
    return left > 0;
}

static void count_from(struct prim *p, uint64_t start)
{
    pith_prim_count(p, 1e-9 * (double)(pith_clock_ns(NULL) - start));
}

void pith_sparse_conv_forward(const struct sparse_conv *v, struct prim *p, void *scratch,
                              const float *x, const float *bias, float *y)
{
    uint64_t start = pith_clock_ns(NULL);
    struct group g = {.v = v, .x = scratch};
    g.row = g.x + x_vectors(v) * v->kernels->lanes;
    while (next_group(&g))
        group_forward(&g, x, bias, y);
    count_from(p, start);
}

static void give_weights(const struct group *g, float *dw)
{
    const struct sparse_conv *v = g->v;
    const uint32_t left = v->maps.first[v->s.o];
    memset(dw, 0, (size_t)v->count * sizeof *dw);
    v->kernels->total(g->dw, left, g->dw);
    for (uint32_t i = 0; i < left; i++)
        dw[v->maps.number[i]] = g->dw[i];
}

void pith_sparse_conv_backward(const struct sparse_conv *v, struct prim *p, void *scratch,
                               const float *x, const float *dy, float *dx, float *dw, float *db)
{
    uint64_t start = pith_clock_ns(NULL);
    const int64_t lanes = v->kernels->lanes, left = v->maps.first[v->s.o];
    struct group g = {.v = v, .x = scratch};
    g.dy = g.x + x_vectors(v) * lanes;
    g.row = g.dy + dy_vectors(v) * lanes;
    g.dw = g.row + v->s.c * v->s.in[1] * lanes;
    g.db = g.dw + left * lanes;
    memset(g.dw, 0, (size_t)((left + v->s.o) * lanes) * sizeof *g.dw);
    while (next_group(&g)) {
        group_gradient(&g, x, dy);
        if (dx)
            group_dx(&g, dx);
    }
    if (dw)
        give_weights(&g, dw);
    if (db)
        v->kernels->total(g.db, v->s.o, db);
    count_from(p, start);
}
