/* SPDX-License-Identifier: MIT */
/* conv_rows.c - convolutions of images with wide rows: a band of output rows, or of one long row's
 * columns, at a time by conv_rows_f32, on a padded copy of the input under it.
 *
 *     scratch = one band [C][band rows, padded width] for each lane */
#include "products/conv_kernel.h"
#include "op_interface/turn.h"

#define BAND_FLOATS 65536u /* of a band: a quarter of a second-level cache of 1 MiB */
#define BANDS 8u           /* of one image at least, where that leaves BAND_PIXELS */
#define BAND_PIXELS 64u    /* at least, else the weights are read too often */
#define ROW_PIXELS 48u     /* of a part of a long row, at least */
#define ROWS_MAX_TAPS 512u
#define NARROW 64u /* pixels of rows that are copied without a call for each, at most */
/* Parting pixels by the stride takes as long for each as so many output channels of one tap. */
#define PART_CHANNELS 8u

/* Pixels of one row whose copy fits; a row that is the whole image may have several bands. */
static uint32_t columns_of(const struct conv_geom *g, uint64_t in_rows)
{
    const uint64_t fit = BAND_FLOATS / g->c /
                         (g->stride_w / conv_phase_step(g->stride_w, g->kw, g->dil_w)) / in_rows;
    const uint64_t reach = (uint64_t)(g->kw - 1) * g->dil_w / g->stride_w;
    if (g->oh > 1 || fit >= g->ow + reach || fit < reach + ROW_PIXELS)
        return g->ow;
    const uint32_t most = (uint32_t)(fit - reach) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    const uint32_t bands = (g->ow - 1) / most + 1, columns = (g->ow - 1) / bands + 1;
    return (columns + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
}

static struct band band_of(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    uint64_t reach = (uint64_t)(g->kh - 1) * g->dil_h + 1;
    struct band b = {0};
    if (g->c > BAND_FLOATS || reach > BAND_FLOATS)
        return b;
    b.columns = columns_of(g, reach);
    b.width = b.columns + (size_t)(g->kw - 1) * g->dil_w / g->stride_w;
    const uint32_t phases = g->stride_w / conv_phase_step(g->stride_w, g->kw, g->dil_w);
    uint64_t per_row = (uint64_t)phases * b.width; /* both are small: the planes are */
    if (per_row > BAND_FLOATS)
        return b;
    per_row *= g->c;
    if (per_row > BAND_FLOATS || per_row * reach > 2 * (uint64_t)BAND_FLOATS)
        return b;
    uint64_t fit =
        per_row * reach < BAND_FLOATS ? (BAND_FLOATS / per_row - reach) / g->stride_h + 1 : 1;
    /* Where there are several, so many of all that there are CONV_CHUNKS. */
    const uint64_t pairs = ((uint64_t)v->n * v->groups + 1) / 2;
    uint64_t least = (BAND_PIXELS + g->ow - 1) / g->ow;
    uint64_t share = g->oh * (pairs < BANDS ? pairs : BANDS) / BANDS;
    share = share > least ? share : least < g->oh ? least : g->oh;
    b.rows = (uint32_t)(fit < share ? fit : share);
    b.in_rows = (uint32_t)((uint64_t)(b.rows - 1) * g->stride_h + reach);
    b.plane = b.in_rows * b.width * phases;
    b.floats = (g->c * b.plane + 2 * (size_t)DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN *
               DENSE_PANEL_ALIGN;
    return b;
}

static uint64_t bands_of(const struct conv *v, const struct band *b)
{
    const uint64_t across = (v->g.ow - 1) / b->columns + 1;
    return v->n * v->groups * ((v->g.oh + b->rows - 1) / b->rows) * across;
}

static bool rows_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_geom *g = &v->g;
    return env->kernels->dense.conv_rows_f32 && !v->more && pith_conv_is_small(v) && !v->in_place &&
           g->kh * g->kw <= ROWS_MAX_TAPS &&
           (v->groups > 1 || v->pixels >= 2 * (uint64_t)BAND_PIXELS) && band_of(v).rows > 0;
}

/* Lanes past the end of each row are multiplied, too. */
static uint64_t rows_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_geom *g = &v->g;
    uint32_t lanes = env->kernels->dense.lanes;
    uint64_t part = (uint64_t)g->ow * g->stride_w * PART_CHANNELS / (g->kh * g->kw);
    part = g->stride_w > 1 ? part : 0;
    return ((uint64_t)g->ow + lanes - 1) / lanes * lanes * g->o + part;
}

static enum pith_status rows_workspace(const struct op_args *args, const struct op_env *env,
                                       struct op_need *need)
{
    struct conv *v = args->lowered;
    v->way.band = band_of(v);
    need->kernel = "conv-f32-rows";
    return pith_conv_packed_need(args, env, conv_lanes_of(env, bands_of(v, &v->way.band)),
                                 v->way.band.floats, need);
}

/* ceil(n / s); a division would take as long as copying a short row. */
static int64_t steps_of(int64_t n, int64_t s)
{
    return s == 1 ? n : s == 2 ? (n + 1) >> 1 : (n + s - 1) / s;
}

/* One padded input row under outputs from ox on: columns 0, s, 2s .. first, then 1, s + 1 .. with
 * s = stride_w, so that the pixels of an output row lie side by side under each tap. */
static float *row_fill(const struct dense_kernels *d, const struct band *b,
                       const struct conv_geom *g, const float *x, uint32_t ox, float *to)
{
    const int64_t s = g->stride_w, width = (int64_t)b->width, at = ox * s - g->pad_left;
    const int64_t step = conv_phase_step(g->stride_w, g->kw, g->dil_w);
    /* Columns of which all s elements lie inside; the first and the last may be whole or not. */
    const int64_t whole = at < 0 ? steps_of(-at, s) : 0, left = g->w - at;
    const int64_t stop = left < 0 ? 0 : left / s < width ? left / s : width;
    const bool turns = s > 2 && step == 1 && whole < stop;
    if (turns)
        pith_turn(
            &(struct turned){s, (size_t)width, (size_t)(stop - whole), (size_t)s, sizeof *x, 1},
            x + at + whole * s, to + whole);
    for (int64_t i = 0; i < s; i += step, to += width) {
        const int64_t first = at + i;
        int64_t begin = first < 0 ? steps_of(-first, s) : 0, end = left - i;
        end = end > 0 ? steps_of(end, s) : 0;
        end = end < width ? end : width;
        begin = begin < end ? begin : end;
        const size_t n = (size_t)(end - begin);
        memset(to, 0, (size_t)begin * sizeof *to);
        memset(to + end, 0, (size_t)(width - end) * sizeof *to);
        if (s == 1)
            memcpy(to + begin, x + first + begin, n * sizeof *to);
        else if (s == 2 && n > 0)
            d->even_f32(to + begin, x + first + 2 * begin, n);
        else
            for (int64_t j = begin; j < end; j++)
                if (turns && j == whole)
                    j = stop - 1;
                else
                    to[j] = x[first + j * s];
    }
    return to;
}

/* n pixels of a row, stride apart. */
static inline void copy_few(const struct dense_kernels *d, float *to, const float *x,
                            uint32_t stride, size_t n)
{
    enum { AT_ONCE = 4 };
    if (stride == 2 && n >= 4 * AT_ONCE) {
        d->even_f32(to, x, n);
        return;
    }
    if (stride > 1 || n < AT_ONCE) {
        for (size_t i = 0; i < n; i++)
            to[i] = x[i * stride];
        return;
    }
    for (size_t i = 0; i + AT_ONCE < n; i += AT_ONCE)
        memcpy(to + i, x + i, AT_ONCE * sizeof *to);
    memcpy(to + n - AT_ONCE, x + n - AT_ONCE, AT_ONCE * sizeof *to);
}

/* band_fill of whole rows, the same columns of all at a time. The calls of row_fill and memcpy
 * would take longer than what they copy. */
static void narrow_fill(const struct dense_kernels *d, const struct band *b,
                        const struct conv_geom *g, const float *x, int64_t iy, float *band)
{
    const uint32_t s = g->stride_w, step = conv_phase_step(s, g->kw, g->dil_w);
    const int64_t first = iy < 0 ? -iy : 0, end = b->in_rows < g->h - iy ? b->in_rows : g->h - iy;
    const size_t row = b->width * (s / step);
    memset(band, 0, b->floats * sizeof *band);
    for (uint32_t i = 0; i < s; i += step, band += b->width) {
        /* Columns j of which i + j s - pad_left is a column of the image */
        const int64_t begin = g->pad_left > i ? steps_of((int64_t)g->pad_left - i, s) : 0;
        const int64_t stop = steps_of((int64_t)g->pad_left + g->w - i, s);
        const int64_t n = (stop < (int64_t)b->width ? stop : (int64_t)b->width) - begin;
        for (uint32_t c = 0; c < g->c && n > 0; c++) {
            const float *from =
                x + ((int64_t)c * g->h + iy + first) * g->w + i + begin * s - g->pad_left;
            float *to = band + c * b->plane + (size_t)first * row + begin;
            for (int64_t y = first; y < end; y++, from += g->w, to += row)
                copy_few(d, to, from, s, (size_t)n);
        }
    }
}

/* The input from row iy on (negative: above the image) under outputs from column ox on, into one
 * band. */
static void band_fill(const struct conv_run *r, const struct band *b, const float *x, int64_t iy,
                      uint32_t ox, float *band)
{
    const struct conv_geom *g = &r->v->g;
    if (b->width <= NARROW && b->columns == g->ow) {
        narrow_fill(r->d, b, g, x, iy, band);
        return;
    }
    const size_t row = b->width * (g->stride_w / conv_phase_step(g->stride_w, g->kw, g->dil_w));
    float *to = band;
    for (uint32_t c = 0; c < g->c; c++, x += (size_t)g->h * g->w)
        for (int64_t y = iy; y < iy + b->in_rows; y++) {
            if (y >= 0 && y < g->h) {
                to = row_fill(r->d, b, g, x + (size_t)y * g->w, ox, to);
            } else {
                memset(to, 0, row * sizeof *to);
                to += row;
            }
        }
    memset(to, 0, (b->floats - (size_t)(to - band)) * sizeof *to);
}

static void rows_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const struct conv_geom *g = &v->g;
    const struct band *b = &v->way.band;
    const float *bias = r->bias;
    float *band = r->panels + lane * b->floats;
    uint32_t bands = (g->oh + b->rows - 1) / b->rows, across = (g->ow - 1) / b->columns + 1;
    const uint32_t step = conv_phase_step(g->stride_w, g->kw, g->dil_w);
    size_t tap[ROWS_MAX_TAPS], row = b->width * (g->stride_w / step);
    for (uint32_t t = 0; t < g->kh * g->kw; t++) {
        size_t x = (size_t)(t % g->kw) * g->dil_w;
        tap[t] = (size_t)(t / g->kw) * g->dil_h * row + x % g->stride_w / step * b->width +
                 x / g->stride_w;
    }
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++) {
        size_t group = (size_t)(u / across / bands), own = group % v->groups;
        uint32_t oy = (uint32_t)(u / across % bands) * b->rows;
        uint32_t ox = (uint32_t)(u % across) * b->columns;
        size_t out = group * r->y_group + (size_t)oy * g->ow + ox;
        if (ox >= g->ow)
            continue;
        band_fill(r, b, r->x + group * r->x_group, (int64_t)oy * g->stride_h - g->pad_top, ox,
                  band);
        struct conv_rows_f32_job job = {.a = r->w + own * r->group_floats,
                                        .a_step = v->k * r->d->mr,
                                        .b = band,
                                        .plane = b->plane,
                                        .b_row = g->stride_h * row,
                                        .tap = tap,
                                        .taps = g->kh * g->kw,
                                        .channels = g->c,
                                        .y = r->y + out,
                                        .ldy = v->pixels,
                                        .bias = bias ? bias + own * g->o : NULL,
                                        .residual = r->residual ? r->residual + out : NULL,
                                        .m = g->o,
                                        .rows = g->oh - oy < b->rows ? g->oh - oy : b->rows,
                                        .ow = g->ow - ox < b->columns ? g->ow - ox : b->columns,
                                        .act = r->act};
        r->d->conv_rows_f32(&job);
    }
}

static void rows_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    struct conv_run r = pith_conv_packed_run(args, env);
    conv_set_chunks(&r, env, bands_of(v, &v->way.band));
    pith_op_parallel_lanes(env, r.chunks, rows_body, &r);
}

const struct conv_kernel pith_conv_rows = {rows_supports, rows_cost, rows_workspace, pith_conv_pack,
                                           rows_run};
