/* SPDX-License-Identifier: MIT */
/* conv_tiles.c - convolutions by im2col of a tile of pixels, then gemm_f32 (pith_kernel_dense.h).
 * 1x1 convolutions of stride 1 multiply the input where it lies.
 *
 *     scratch = one panel [K_BLOCK][ldb] for each chunk, or for each tile
 *
 * Few tiles (7x7 pixels) are cut by output channels, too: for each block of K all tiles' panels are
 * filled first, then multiplied. */
#include "conv_kernel.h"
#include "conv_window.h"
#include "weight_f32.h"

#define K_BLOCK 768u /* of k at a time: K_BLOCK x nr floats of b stay in the second-level cache */
#define COPY_CHANNELS 8u       /* copying the columns takes as long as so many output channels */
#define EXTRA_COLUMN_MIN_K 64u /* below, finishing the extra column costs more than it saves */

/* A part that takes less has more work with a panel that another core filled than it saves. */
#define PART_MACS (1u << 21)

/* ---- packed weights ------------------------------------------------------------------------- */

/* floats of the packed weights of one group; false: too many to count */
static bool panel_floats(const struct conv *v, uint32_t mr, uint64_t *floats)
{
    uint64_t rows = ((uint64_t)v->g.o + mr - 1) / mr * mr;
    return mul_ok(rows, v->k, floats);
}

/* A weight that is no constant is packed at each run: it takes the beginning of scratch, and the
 * chunks' panels follow (pith_conv_packed_run). */
enum pith_status pith_conv_packed_need(const struct op_args *args, const struct op_env *env,
                                       uint64_t units, uint64_t floats, struct op_need *need)
{
    const struct conv *v = args->lowered;
    uint64_t packed;
    need->scratch_bytes = floats * sizeof(float) * conv_chunks_of(env, units);
    if (!panel_floats(v, env->kernels->dense.mr, &packed) || !mul_ok(packed, v->groups, &packed) ||
        !mul_ok(packed, sizeof(float), &packed) || !align_ok(packed, 64, &packed))
        return PITH_ERR_LIMIT;
    if (args->weight) {
        need->prep_bytes = packed;
        need->prep_form = prep_form(PREP_CONV_PANELS, v->groups);
        return pith_weight_f32_scratch(args->weight, &need->prep_scratch_bytes);
    }
    return add_ok(need->scratch_bytes, packed, &need->scratch_bytes) ? PITH_OK : PITH_ERR_LIMIT;
}

/* w [G][O, C, KH*KW] -> panels with k = tap * C + channel */
static void pack_weights(const struct conv *v, const float *w, uint32_t mr, float *dst)
{
    size_t taps = v->k / v->g.c, w_group = v->g.o * v->k;
    uint64_t group_floats;
    panel_floats(v, mr, &group_floats);
    for (size_t group = 0; group < v->groups; group++)
        for (size_t tap = 0; tap < taps; tap++)
            pith_pack_rows_f32(w + group * w_group + tap, v->k, taps, v->g.o, v->g.c, mr,
                               dst + group * group_floats + tap * v->g.c * mr, v->k * mr);
}

enum pith_status pith_conv_pack(const struct op_args *args, const struct op_env *env)
{
    const float *w;
    enum pith_status status = pith_weight_f32(env, args->weight, &w);
    if (status == PITH_OK)
        pack_weights(args->lowered, w, env->kernels->dense.mr, args->prep);
    return status;
}

struct conv_run pith_conv_packed_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    struct conv_run r = pith_conv_run_of(args, env);
    r.panels = env->scratch;
    panel_floats(v, r.d->mr, &r.group_floats);
    if (!args->weight) {
        float *packed = env->scratch;
        pack_weights(v, r.w, r.d->mr, packed);
        r.w = packed;
        r.panels = packed + ((r.group_floats * v->groups + 15) & ~(uint64_t)15);
    }
    return r;
}

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Tiles of nr_max pixels are taken only where they come out even, as 7 x 7 pixels do. Where tiles
 * are fewer than chunks, each is cut into parts of whole panels of output channels. */
struct cut pith_conv_cut(const struct conv *v, const struct op_env *env, uint32_t pixels, size_t k)
{
    const struct dense_kernels *d = &env->kernels->dense;
    struct cut t;
    uint32_t mr = d->mr;
    t.width = pixels % d->nr_max == 0 && k >= EXTRA_COLUMN_MIN_K ? d->nr_max : d->nr;
    t.tiles = (pixels + t.width - 1) / t.width;
    /* Two alike, 64 pixels as 32 and 32, so that two threads take as long. */
    if (env->parallel_for && t.tiles == 2 && t.width == d->nr)
        t.width = ((pixels + 1) / 2 + d->lanes - 1) & ~(d->lanes - 1);
    t.ldb = (t.width + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    t.units = (uint64_t)t.tiles * v->groups * v->n;
    t.o_parts = 1;
    t.chunks = CONV_CHUNKS;
    if (t.units < CONV_CHUNKS) {
        uint32_t panels = (v->g.o + mr - 1) / mr, parts = CONV_CHUNKS / (uint32_t)t.units;
        uint64_t worth = (uint64_t)v->g.o * v->k * v->pixels / t.tiles / PART_MACS + 1;
        if (!v->in_place && worth < parts)
            parts = (uint32_t)worth;
        t.o_parts = panels < parts ? panels : parts;
        t.chunks = (uint32_t)t.units * t.o_parts;
    }
    return t;
}

/* floats of one chunk's im2col panel */
static size_t chunk_floats(const struct conv *v, const struct cut *t)
{
    return v->in_place ? 0 : (v->k < K_BLOCK ? v->k : K_BLOCK) * t->ldb;
}

static bool tiles_supports(const struct op_args *args, const struct op_env *env)
{
    return env->kernels->dense.mr != 0 && pith_conv_is_small(args->lowered);
}

static uint64_t tiles_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    (void)env;
    return (uint64_t)v->g.ow * (v->g.o + (v->in_place ? 0 : COPY_CHANNELS));
}

static enum pith_status tiles_workspace(const struct op_args *args, const struct op_env *env,
                                        struct op_need *need)
{
    struct conv *v = args->lowered;
    v->way.cut = pith_conv_cut(v, env, (uint32_t)v->pixels, v->k);
    need->kernel = v->in_place ? "conv1x1-f32" : "conv-f32";
    return pith_conv_packed_need(args, env, v->way.cut.units, chunk_floats(v, &v->way.cut), need);
}

/* One tile: which pixels of which group. */
struct conv_tile {
    size_t group; /* over images and groups */
    size_t p0;
    uint32_t n;
};

static struct conv_tile tile_of(const struct conv_run *r, uint64_t unit)
{
    const struct cut *cut = &r->v->way.cut;
    struct conv_tile t = {(size_t)(unit / cut->tiles), (size_t)(unit % cut->tiles) * cut->width,
                          cut->width};
    if (r->v->pixels - t.p0 < t.n)
        t.n = (uint32_t)(r->v->pixels - t.p0);
    return t;
}

/* Where the block of K that begins at k ends. What is read in place needs no panel, and is done in
 * one block. */
static uint32_t block_end(const struct conv *v, uint32_t k)
{
    return v->in_place || v->k - k < K_BLOCK ? (uint32_t)v->k : k + K_BLOCK;
}

/* Fills `panel` with the columns under tile t, rows of the block of K from k on. */
static void tile_fill(const struct conv_run *r, const struct conv_tile *t, float *panel, uint32_t k)
{
    const struct conv *v = r->v;
    if (v->in_place)
        return;
    if (v->more) {
        struct window_columns columns = {.v = &v->window,
                                         .channels = v->g.c,
                                         .x = r->x + t->group * r->x_group,
                                         .b = panel,
                                         .ldb = v->way.cut.ldb,
                                         .p0 = t->p0,
                                         .n = t->n,
                                         .k0 = k,
                                         .k1 = block_end(v, k)};
        pith_window_columns(&columns);
        return;
    }
    struct im2col_f32_job cols = {.g = &v->g,
                                  .x = r->x + t->group * r->x_group,
                                  .b = panel,
                                  .ldb = v->way.cut.ldb,
                                  .p0 = t->p0,
                                  .n = t->n,
                                  .k0 = k,
                                  .k1 = block_end(v, k)};
    r->d->im2col_f32(&cols);
}

/* Rows [o0, o1) of tile t, block of K from k on. */
static void tile_multiply(const struct conv_run *r, const struct conv_tile *t, const float *panel,
                          uint32_t k, uint32_t o0, uint32_t o1)
{
    const struct conv *v = r->v;
    size_t own = t->group % v->groups, mr = r->d->mr;
    const float *bias = r->bias;
    const float *x = r->x + t->group * r->x_group + t->p0;
    size_t out = t->group * r->y_group + o0 * r->y_plane + (t->p0 - r->y_first);
    struct gemm_f32_job job = {.a = r->w + own * r->group_floats + o0 * v->k + k * mr,
                               .a_step = v->k * mr,
                               .b = v->in_place ? x : panel,
                               .ldb = v->in_place ? v->pixels : v->way.cut.ldb,
                               .c = r->y + out,
                               .ldc = r->y_plane,
                               .bias_row = bias ? bias + own * v->g.o + o0 : NULL,
                               .residual = r->residual ? r->residual + out : NULL,
                               .m = o1 - o0,
                               .n = t->n,
                               .k = block_end(v, k) - k,
                               .resume = k > 0,
                               .finish = block_end(v, k) == v->k,
                               .act = r->act};
    r->d->gemm_f32(&job);
}

/* Where chunk i packs its pixels; NULL where they are read in place. */
static float *chunk_panel(const struct conv_run *r, uint64_t i)
{
    uint64_t floats = chunk_floats(r->v, &r->v->way.cut);
    return floats ? r->panels + i * floats : NULL;
}

/* A tile, all output channels, all of K. */
static void tile_run(const struct conv_run *r, const struct conv_tile *t, float *panel)
{
    for (uint32_t k = 0; k < r->v->k; k = block_end(r->v, k)) {
        tile_fill(r, t, panel, k);
        tile_multiply(r, t, panel, k, 0, r->v->g.o);
    }
}

/* Chunk i: some tiles. */
static void tiles_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    float *panel = chunk_panel(r, lane);
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++) {
        struct conv_tile t = tile_of(r, u);
        tile_run(r, &t, panel);
    }
}

/* Tile i, block of K from r->k on. */
static void fill_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    struct conv_tile t = tile_of(r, i);
    tile_fill(r, &t, chunk_panel(r, i), r->k);
}

/* Part i % o_parts of the output channels of tile i / o_parts, block of K from r->k on. */
static void multiply_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    uint32_t parts = r->v->way.cut.o_parts, tile = i / parts, part = i % parts;
    struct conv_tile t = tile_of(r, tile);
    tile_multiply(r, &t, chunk_panel(r, tile), r->k, conv_part(r, part), conv_part(r, part + 1));
}

/* Where tiles are cut by output channels, several chunks read one panel: it is filled in one
 * parallel step and multiplied in the next. There are then fewer tiles than CONV_CHUNKS, so that
 * scratch has a panel for each (pith_conv_packed_need). */
static void tiles_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct cut *cut = &v->way.cut;
    struct conv_run r = pith_conv_packed_run(args, env);
    if (cut->o_parts == 1 || !env->parallel_for) {
        pith_conv_chunks(&r, env, cut->units, tiles_body);
        return;
    }
    r.units = cut->units;
    for (; r.k < v->k; r.k = block_end(v, r.k)) {
        if (!v->in_place)
            pith_op_parallel(env, (uint32_t)r.units, fill_body, &r);
        pith_op_parallel(env, cut->chunks, multiply_body, &r);
    }
}

void pith_conv_tiles_band(const struct op_args *args, const struct op_env *env,
                          const struct conv_band *band)
{
    struct conv_run r = pith_conv_packed_run(args, env);
    const size_t width = r.v->way.cut.width, ow = r.v->g.ow, end = band->x_end * ow;
    r.y = band->between;
    r.y_first = band->x_begin * ow;
    r.y_plane = end - r.y_first;
    for (size_t p = r.y_first; p < end; p += width) {
        struct conv_tile t = {0, p, (uint32_t)(end - p < width ? end - p : width)};
        tile_run(&r, &t, chunk_panel(&r, band->lane));
    }
}

const struct conv_kernel pith_conv_tiles = {tiles_supports, tiles_cost, tiles_workspace,
                                            pith_conv_pack, tiles_run};
