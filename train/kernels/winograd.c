/* SPDX-License-Identifier: MIT */
/* winograd.c - convolution as products over points. In the words of Lavin and Gray ("Fast
 * algorithms for convolutional neural networks", 2016), with x a tile of n x n inputs and y its
 * 4 x 4 outputs, * the product of channels at each point:
 *
 *     y  = A^T [(B^T x B) * (G w G^T)] A
 *     dw = G^T [(B^T x B) * (A dy A^T)] G, summed over tiles before G^T is applied
 *     dx = B [(G w G^T) * (A dy A^T)] B^T, added up where tiles overlap
 *
 * The gradients are the exact transposes of y, so both take one transform of dy, and dx has as few
 * tiles as y. (The textbook's dx, y's formula with a turned kernel, has those of x.)
 *
 * Work goes in blocks of tiles whose planes (winograd_kernels.h) stay in the cache:
 *
 *     tensor -> planes [n*n][tiles][C] -> product with [n*n][C][O] -> planes [n*n][tiles][O] ->
 *     tensor */
#include "winograd.h"

#include "pith_train.h"
#include "train_kernels.h"
#include "kernels/ref/transpose_quads.h"

#include <stdlib.h>
#include <string.h>

/* Planes of a block: a part of a core's second cache, which holds the rows under them too. */
static const int64_t block_bytes = 256 << 10;
/* Of the transformed weights; more is left to products, whose memory is that of the weights. */
static const int64_t most_weights = 1 << 20;
/* A plane begins one line further in the cache's sets than the one before. */
enum { PLANE_GAP = 16, ROWS_STEP = 4, LARGEST_KERNEL = 25, MOST_LANES = 16 };

struct winograd {
    struct prim_conv_shape s;
    const struct winograd_kernels *kernels;
    int64_t r, points, planes; /* kernel size, n, n * n */
    int64_t c, o;              /* padded */
    int64_t tiles;             /* in a block */
    size_t x_step, y_step;     /* from plane to plane, in blocks over C and over O */
    size_t w_step, w_data_step, dw_step;
    float *w, *w_data; /* [planes][C][o], [planes][O][c]; the latter NULL: dx is not wanted */
};

static int64_t round_up(int64_t v, int64_t step)
{
    return (v + step - 1) / step * step;
}

static int64_t tiles_along(int64_t outputs)
{
    return round_up(outputs, WINOGRAD_OUT) / WINOGRAD_OUT;
}

/* ---- the choice ------------------------------------------------------------------------------ */

#define TRANSFORM_COST 8 /* of a point and channel: its additions take the time of 8 products */

/* Multiplications of both ways, with the transforms of x and y. */
static bool pays(const struct prim_conv_shape *s)
{
    int64_t r = s->kernel[0], n = r + WINOGRAD_OUT - 1;
    double c = (double)round_up(s->c, MOST_LANES), o = (double)round_up(s->o, MOST_LANES);
    double tiles = (double)(tiles_along(s->out[0]) * tiles_along(s->out[1]));
    double points = tiles * (double)(n * n) * (c * o + TRANSFORM_COST * (c + o));
    double direct = (double)(s->out[0] * s->out[1] * r * r) * (double)(s->c * s->o);
    const double overhead = 0.7; /* of direct products: what is not counted here costs the rest */
    return points < overhead * direct;
}

bool pith_winograd_suits(const struct prim_conv_shape *s)
{
    if (s->axes != 2 || s->group != 1 || s->kernel[0] != s->kernel[1] ||
        (s->kernel[0] != 3 && s->kernel[0] != 5) || s->c > most_weights || s->o > most_weights)
        return false;
    for (int i = 0; i < 2; i++)
        if (s->stride[i] != 1 || s->dilation[i] != 1 || s->pad_begin[i] >= s->kernel[i] ||
            s->pad_end[i] >= s->kernel[i])
            return false;
    int64_t n = s->kernel[0] + WINOGRAD_OUT - 1;
    return round_up(s->c, MOST_LANES) * round_up(s->o, MOST_LANES) <= most_weights / (n * n) &&
           pays(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static float *zeros(size_t count)
{
    size_t bytes = (count * sizeof(float) + 63) & ~(size_t)63;
    float *p = aligned_alloc(64, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

static void lay_out(struct winograd *v)
{
    const struct prim_conv_shape *s = &v->s;
    v->r = s->kernel[0];
    v->points = v->r + WINOGRAD_OUT - 1;
    v->planes = v->points * v->points;
    v->c = round_up(s->c, v->kernels->lanes);
    v->o = round_up(s->o, v->kernels->lanes);
    int64_t all = s->n * tiles_along(s->out[0]) * tiles_along(s->out[1]);
    int64_t fit = block_bytes / (v->planes * (v->c + v->o) * (int64_t)sizeof(float));
    v->tiles = round_up(fit < all ? fit + 1 : all, ROWS_STEP);
    v->x_step = (size_t)(v->tiles * v->c + PLANE_GAP);
    v->y_step = (size_t)(v->tiles * v->o + PLANE_GAP);
    v->w_step = (size_t)(s->c * v->o + PLANE_GAP);
    v->w_data_step = (size_t)(s->o * v->c + PLANE_GAP);
    v->dw_step = (size_t)(v->c * v->o + PLANE_GAP);
}

enum pith_status pith_winograd_new(const struct prim_conv_shape *s, bool need_dx,
                                   const struct winograd_kernels *kernels, struct winograd **conv)
{
    struct winograd *v = calloc(1, sizeof *v);
    if (!v)
        return PITH_ERR_MEMORY;
    v->s = *s;
    v->kernels = kernels ? kernels : pith_train_kernels().winograd;
    lay_out(v);
    v->w = zeros((size_t)v->planes * v->w_step);
    v->w_data = need_dx ? zeros((size_t)v->planes * v->w_data_step) : NULL;
    if (!v->w || (need_dx && !v->w_data)) {
        pith_winograd_free(v);
        return PITH_ERR_MEMORY;
    }
    *conv = v;
    return PITH_OK;
}

void pith_winograd_free(struct winograd *conv)
{
    if (!conv)
        return;
    free(conv->w);
    free(conv->w_data);
    free(conv);
}

uint64_t pith_winograd_scratch_bytes(const struct winograd *v)
{
    return (uint64_t)v->planes * (v->x_step + v->y_step + v->dw_step) * sizeof(float);
}

/* ---- weights --------------------------------------------------------------------------------- */

void pith_winograd_renew(struct winograd *v, const float *w, uint32_t part)
{
    const int64_t c_begin = v->s.c * part / PITH_TRAIN_SLICES,
                  c_end = v->s.c * (part + 1) / PITH_TRAIN_SLICES,
                  o_begin = v->s.o * part / PITH_TRAIN_SLICES,
                  o_end = v->s.o * (part + 1) / PITH_TRAIN_SLICES;
    const int64_t lanes = v->kernels->lanes, size = v->r * v->r, c_step = size,
                  o_step = v->s.c * size;
    float kernel[LARGEST_KERNEL * MOST_LANES];
    for (int64_t o = 0; o < v->o; o += lanes) {
        memset(kernel, 0, sizeof kernel); /* for lanes beyond the last channel */
        for (int64_t c = c_begin; c < c_end; c++) {
            transpose(w + o * o_step + c * c_step, o_step, v->s.o - o < lanes ? v->s.o - o : lanes,
                      size, kernel, lanes);
            v->kernels->kernel(kernel, (int)v->points, v->w + c * v->o + o, v->w_step);
        }
    }
    for (int64_t c = 0; c < v->c && v->w_data; c += lanes) {
        memset(kernel, 0, sizeof kernel);
        for (int64_t o = o_begin; o < o_end; o++) {
            transpose(w + o * o_step + c * c_step, c_step, v->s.c - c < lanes ? v->s.c - c : lanes,
                      size, kernel, lanes);
            v->kernels->kernel(kernel, (int)v->points, v->w_data + o * v->c + c, v->w_data_step);
        }
    }
}

static void finish_dw(const struct winograd *v, const float *planes, float *dw)
{
    const int64_t lanes = v->kernels->lanes, size = v->r * v->r;
    float kernel[LARGEST_KERNEL * MOST_LANES];
    for (int64_t o = 0; o < v->s.o; o += lanes)
        for (int64_t c = 0; c < v->s.c; c++) {
            v->kernels->kernel_back(planes + c * v->o + o, v->dw_step, (int)v->points, kernel);
            transpose(kernel, lanes, size, v->s.o - o < lanes ? v->s.o - o : lanes,
                      dw + (o * v->s.c + c) * size, v->s.c * size);
        }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* All pictures of x or y; the block's tiles are set later. */
static struct winograd_block block_of(const struct winograd *v, const float *tensor, bool is_x,
                                      void *scratch)
{
    const struct prim_conv_shape *s = &v->s;
    float *planes = scratch;
    const int64_t *size = is_x ? s->in : s->out;
    return (struct winograd_block){.tensor = (float *)(uintptr_t)tensor,
                                   .height = size[0],
                                   .width = size[1],
                                   .channels = is_x ? s->c : s->o,
                                   .padded = is_x ? v->c : v->o,
                                   .top = is_x ? -s->pad_begin[0] : 0,
                                   .left = is_x ? -s->pad_begin[1] : 0,
                                   .tile_rows = tiles_along(s->out[0]),
                                   .tile_columns = tiles_along(s->out[1]),
                                   .planes = is_x ? planes : planes + (size_t)v->planes * v->x_step,
                                   .plane_step = is_x ? v->x_step : v->y_step};
}

/* The next tiles of two blocks; false: there are none. */
static bool advance(const struct winograd *v, struct winograd_block *a, struct winograd_block *b)
{
    int64_t all = v->s.n * a->tile_rows * a->tile_columns, first = a->first + a->n_tiles;
    a->first = b->first = first;
    a->n_tiles = b->n_tiles = all - first < v->tiles ? all - first : v->tiles;
    return first < all;
}

/* Brings the rows under a block's tiles into the cache. Read from front to back they come at the
 * memory's speed, tile by tile each line is waited for. */
static void touch(const struct winograd *v, const struct winograd_block *b)
{
    int64_t of_picture = b->tile_rows * b->tile_columns, all = v->s.n * b->height;
    int64_t begin = b->first * b->height / of_picture;
    int64_t end = ((b->first + b->n_tiles) * b->height + of_picture - 1) / of_picture;
    const int64_t row = b->width * b->channels, line = 16;
    end = end < all ? end : all;
    for (int64_t i = begin * row; i < end * row; i += line)
        (void)*(const volatile float *)(b->tensor + i);
}

/* to's planes = from's times transformed weights [planes][from's channels][to's]. */
static void convolve(const struct winograd *v, const struct winograd_block *from, const float *w,
                     size_t w_step, const struct winograd_block *to)
{
    v->kernels->product(&(struct winograd_product){.a = from->planes,
                                                   .b = w,
                                                   .c = to->planes,
                                                   .a_plane = from->plane_step,
                                                   .b_plane = w_step,
                                                   .c_plane = to->plane_step,
                                                   .a_row = from->padded,
                                                   .a_k = 1,
                                                   .b_k = to->padded,
                                                   .c_row = to->padded,
                                                   .rows = round_up(from->n_tiles, ROWS_STEP),
                                                   .columns = to->channels,
                                                   .depth = from->channels,
                                                   .planes = v->planes});
}

/* planes (+)= the sum over tiles. */
static void correlate(const struct winograd *v, const struct winograd_block *x,
                      const struct winograd_block *dy, float *planes)
{
    const int64_t rows = round_up(v->s.c, ROWS_STEP);
    v->kernels->product(&(struct winograd_product){.a = x->planes,
                                                   .b = dy->planes,
                                                   .c = planes,
                                                   .a_plane = x->plane_step,
                                                   .b_plane = dy->plane_step,
                                                   .c_plane = v->dw_step,
                                                   .a_row = 1,
                                                   .a_k = x->padded,
                                                   .b_k = dy->padded,
                                                   .c_row = v->o,
                                                   .rows = rows < v->c ? rows : v->c,
                                                   .columns = v->s.o,
                                                   .depth = x->n_tiles,
                                                   .planes = v->planes,
                                                   .add = x->first > 0});
}

/* ---- calls ----------------------------------------------------------------------------------- */

void pith_winograd_forward(const struct winograd *v, void *scratch, const float *x,
                           const float *bias, float *y)
{
    const int points = (int)v->points;
    struct winograd_block from = block_of(v, x, true, scratch), to = block_of(v, y, false, scratch);
    while (advance(v, &from, &to)) {
        touch(v, &from);
        v->kernels->inputs(&from, points);
        convolve(v, &from, v->w, v->w_step, &to);
        touch(v, &to);
        v->kernels->results(&to, points, bias);
    }
}

void pith_winograd_backward(const struct winograd *v, void *scratch, const struct conv_gradients *g)
{
    const float *x = g->x, *dy = g->dy;
    float *dx = g->dx, *dw = g->dw, *db = g->db;
    const int points = (int)v->points;
    struct winograd_block in = block_of(v, x, true, scratch), out = block_of(v, dy, false, scratch);
    float *dw_planes = out.planes + (size_t)v->planes * v->y_step;
    while (advance(v, &in, &out)) {
        touch(v, &out);
        v->kernels->outputs(&out, points);
        if (dw) {
            in.tensor = (float *)(uintptr_t)x;
            touch(v, &in);
            v->kernels->inputs(&in, points);
            correlate(v, &in, &out, dw_planes);
        }
        if (dx) {
            in.tensor = dx;
            in.add = g->add_dx;
            convolve(v, &out, v->w_data, v->w_data_step, &in);
            touch(v, &in);
            v->kernels->gradients(&in, points);
        }
    }
    if (dw)
        finish_dw(v, dw_planes, dw);
    if (db)
        v->kernels->row_sums(dy, v->s.n * v->s.out[0] * v->s.out[1], v->s.o, db);
}
