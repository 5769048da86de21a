/* SPDX-License-Identifier: MIT */
/* conv_pair.c - which convolutions run band by band, and the bands: as large as leave half of a
 * second-level cache of 2 MB to what is read and written beside them. */
#include "products/conv_pair.h"
#include "products/conv_kernel.h"

#define BAND_BYTES (1u << 19)
#define WHOLE_BYTES (1u << 20) /* so much stays in cache as it is */
#define MOST_TWICE 4u          /* at most a fourth of the rows is computed twice */

/* Rows of input that `rows` rows of output are made of, padding included. */
static uint64_t rows_under(const struct conv_geom *g, uint64_t rows)
{
    return (rows - 1) * g->stride_h + (uint64_t)(g->kh - 1) * g->dil_h + 1;
}

/* Each row of output is made of some rows that are there. */
static bool reaches_rows(const struct conv_geom *g)
{
    return g->pad_top < rows_under(g, 1) &&
           (uint64_t)(g->oh - 1) * g->stride_h < (uint64_t)g->h + g->pad_top;
}

/* Scratch has a panel for each lane. */
static bool runs_bands(const struct op_args *args, const struct op_env *env, uint32_t lanes)
{
    const struct conv *v = args->lowered;
    const bool tiles = v->kernel == &pith_conv_tiles && v->groups == 1 && args->weight;
    const uint64_t panels = tiles ? conv_chunks_of(env, v->way.cut.units)
                                  : conv_chunks_of(env, v->pixels / QUAD_WIDTH_MAX);
    return (tiles || v->kernel == &pith_conv_sparse) && v->n == 1 && !v->more &&
           !args->fuse.residual && lanes <= panels;
}

/* Bytes of a row between the convolutions. */
static uint64_t row_bytes(const struct conv *second)
{
    return (uint64_t)second->groups * second->g.w * sizeof(float);
}

bool pith_conv_bands(const struct op_args *first, const struct op_args *depth,
                     const struct op_env *env, uint32_t lanes, struct conv_bands *bands)
{
    const struct conv *v = depth->lowered;
    const struct conv_geom *g = &v->g;
    if (v->kernel != &pith_conv_depthwise || v->g.o != 1 || g->oh == 1 ||
        !runs_bands(first, env, lanes) || !reaches_rows(g) || g->h * row_bytes(v) <= WHOLE_BYTES)
        return false;
    /* As many rows as fit; then as many bands as keep all lanes busy to the end, of like size. */
    uint64_t rows = BAND_BYTES / row_bytes(v), under = rows_under(g, 1);
    rows = rows < under ? 1 : (rows - under) / g->stride_h + 1;
    uint64_t n = (g->oh + rows - 1) / rows;
    n = (n + lanes - 1) / lanes * lanes;
    rows = (g->oh + n - 1) / n;
    under = rows_under(g, rows);
    *bands = (struct conv_bands){(uint32_t)rows, under < g->h ? (uint32_t)under : g->h};
    return under * MOST_TWICE <= rows * g->stride_h * (MOST_TWICE + 1);
}

/* The first and the last band see less than rows_under(), for there is padding above and below. */
static struct conv_band band_of(const struct conv_geom *g, uint32_t rows, uint32_t i)
{
    struct conv_band b = {.begin = rows * i, .end = rows * (i + 1)};
    b.end = b.end < g->oh ? b.end : g->oh;
    uint64_t begin = (uint64_t)b.begin * g->stride_h;
    uint64_t end = begin + rows_under(g, b.end - b.begin);
    b.x_begin = begin > g->pad_top ? (uint32_t)(begin - g->pad_top) : 0;
    end = end > g->pad_top ? end - g->pad_top : 0;
    b.x_end = end < g->h ? (uint32_t)end : g->h;
    return b;
}

void pith_conv_band_run(const struct conv_pair *pair, bool second, uint32_t i, uint32_t lane,
                        float *between)
{
    const struct conv *first = pair->first->lowered, *depth = pair->depth->lowered;
    struct conv_band band = band_of(&depth->g, pair->rows, i);
    band.lane = lane;
    band.between = between;
    if (second)
        pith_conv_depthwise_band(pair->depth, pair->env, &band);
    else if (first->kernel == &pith_conv_tiles)
        pith_conv_tiles_band(pair->first, pair->env, &band);
    else
        pith_conv_sparse_band(pair->first, pair->env, &band);
}
