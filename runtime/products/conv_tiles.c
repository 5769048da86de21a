/* SPDX-License-Identifier: MIT */
/* conv_tiles.c - convolutions by im2col of a tile of pixels, then gemm_f32 (kernel_dense.h).
 * 1x1 convolutions of stride 1 multiply the input where it lies. Over more than two axes each plane
 * of outputs has tiles of its own, and im2col takes a plane of the input after the other.
 *
 *     scratch = one panel [K_BLOCK][ldb] for each lane
 *
 * Few tiles (7x7 pixels) are cut by output channels, too. */
#include "products/conv_kernel.h"
#include "decode/weight_f32.h"

#define K_BLOCK 768u /* of k at a time: K_BLOCK x nr floats of b stay in the second-level cache */
#define EXTRA_COLUMN_MIN_K 64u /* below, finishing the extra column costs more than it saves */

/* A part that takes less has more work with its copy of what is under a tile than it saves. */
#define PART_MACS (1u << 21)
#define THREADS 4u /* where the number is unknown */

/* Planes of whole 4 KiB put all rows under a tile into the same sets of a first-level cache. */
#define SET_PIXELS 1024u

/* Whether gemm_f32 reads x where it lies. Copying what is under a tile is worth its time where many
 * rows lie scattered over the first-level cache, or all in one place of it, and where enough output
 * channels read the copy. */
static bool in_place(const struct conv *v)
{
    const uint32_t least = v->pixels % SET_PIXELS == 0 ? 24 : v->k >= 128 ? 96 : UINT32_MAX;
    return v->in_place && v->g.o < least;
}

/* ---- packed weights ------------------------------------------------------------------------- */

/* floats of the packed weights of one group; false: too many to count */
static bool panel_floats(const struct conv *v, uint32_t mr, uint64_t *floats)
{
    uint64_t rows = ((uint64_t)v->g.o + mr - 1) / mr * mr;
    return mul_ok(rows, v->k, floats);
}

/* A weight that is no constant is packed at each run: it takes the beginning of scratch, and the
 * panels follow (pith_conv_packed_run). */
enum pith_status pith_conv_packed_need(const struct op_args *args, const struct op_env *env,
                                       uint64_t panels, uint64_t floats, struct op_need *need)
{
    const struct conv *v = args->lowered;
    uint64_t packed;
    need->scratch_bytes = floats * sizeof(float) * panels;
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
            pith_pack_rows_f32(&(struct pack_rows_job){
                w + group * w_group + tap, dst + group * group_floats + tap * v->g.c * mr, v->k,
                taps, v->g.o, v->g.c, mr, v->k * mr});
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

/* Where tiles are few, each is cut into parts of output channels: as many as there are threads, so
 * that each thread gets a run of parts and copies what is under a tile once. A tile that two
 * threads share is copied by both: one that waits for the other, and fetches what that one has
 * copied, takes longer. What is read in place is cut into more parts, for threads that finish
 * first. */
static void set_parts(const struct conv *v, const struct op_env *env, struct cut *t)
{
    const uint32_t mr = env->kernels->dense.mr, panels = (v->g.o + mr - 1) / mr;
    const uint64_t worth = (uint64_t)v->g.o * v->k * v->pixels / t->tiles / PART_MACS + 1;
    const uint32_t threads = env->threads ? env->threads : THREADS;
    uint64_t parts = 1;
    t->chunks = conv_chunks_of(env, t->units);
    if (in_place(v))
        parts = CONV_CHUNKS / t->chunks;
    else if (t->units % threads)
        parts = worth < threads ? worth : threads;
    if (t->units >= CONV_CHUNKS || parts == 1 || !env->parallel_for)
        return;
    t->o_parts = panels < parts ? panels : (uint32_t)parts;
    t->chunks = conv_chunks_of(env, t->units * t->o_parts);
    if (!in_place(v) && t->chunks > threads)
        t->chunks = threads;
}

/* Tiles of nr_max pixels are taken only where they come out even, as 7 x 7 pixels do. */
struct cut pith_conv_cut(const struct conv *v, const struct op_env *env, uint32_t pixels, size_t k)
{
    const struct dense_kernels *d = &env->kernels->dense;
    struct cut t = {.pixels = pixels, .o_parts = 1};
    t.width = pixels % d->nr_max == 0 && k >= EXTRA_COLUMN_MIN_K ? d->nr_max : d->nr;
    t.tiles = (pixels + t.width - 1) / t.width;
    /* Two alike, 64 pixels as 32 and 32, so that two threads take as long. */
    if (env->parallel_for && t.tiles == 2 && t.width == d->nr)
        t.width = ((pixels + 1) / 2 + d->lanes - 1) & ~(d->lanes - 1);
    t.ldb = (t.width + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    t.units = (uint64_t)t.tiles * v->groups * v->n;
    if (v->more)
        t.units *= v->pixels / pixels;
    set_parts(v, env, &t);
    return t;
}

/* Where part i of the output channels begins: where a panel of weights does, or behind the last. */
static uint32_t part_begin(const struct conv_run *r, uint32_t i)
{
    const uint32_t o = r->v->g.o, mr = r->d->mr;
    const uint32_t at = (o + mr - 1) / mr * i / r->v->way.cut.o_parts * mr;
    return at < o ? at : o;
}

/* Few tiles have several parts, and many have one: all of a group's fit 32 bits. */
uint64_t pith_conv_part(const struct conv_run *r, uint32_t chunk)
{
    const struct cut *cut = &r->v->way.cut;
    const uint32_t parts = cut->o_parts, group = cut->pixels * parts;
    const uint64_t at = cut->units / cut->tiles * group * chunk / r->chunks;
    const uint32_t rest = (uint32_t)(at % group), tile = rest / (cut->width * parts);
    const uint32_t first = tile * cut->width;
    const uint32_t left = cut->pixels - first, width = left < cut->width ? left : cut->width;
    return (at / group * cut->tiles + tile) * parts + (rest - first * parts) / width;
}

struct conv_piece pith_conv_piece(const struct conv_run *r, uint32_t chunk, uint64_t at)
{
    const uint32_t parts = r->v->way.cut.o_parts, first = (uint32_t)(at % parts);
    const uint64_t end = pith_conv_part(r, chunk + 1), left = end - at;
    const uint32_t n = left < parts - first ? (uint32_t)left : parts - first;
    return (struct conv_piece){at, at + n, at / parts, part_begin(r, first),
                               part_begin(r, first + n)};
}

void pith_conv_pieces(struct conv_run *r, const struct op_env *env, op_lane_body *body)
{
    r->chunks = env->parallel_for ? r->v->way.cut.chunks : 1;
    pith_op_parallel_lanes(env, r->chunks, body, r);
}

/* floats of one im2col panel */
static size_t panel_size(const struct conv *v, const struct cut *t)
{
    return in_place(v) ? 0 : (v->k < K_BLOCK ? v->k : K_BLOCK) * t->ldb;
}

static bool tiles_supports(const struct op_args *args, const struct op_env *env)
{
    return env->kernels->dense.mr != 0 && pith_conv_is_small(args->lowered);
}

static uint64_t tiles_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    (void)env;
    return (uint64_t)v->g.ow * (v->g.o + (in_place(v) ? 0 : conv_copy_channels(&v->g)));
}

static enum pith_status tiles_workspace(const struct op_args *args, const struct op_env *env,
                                        struct op_need *need)
{
    struct conv *v = args->lowered;
    const struct cut *cut = &v->way.cut;
    const size_t plane = v->more && !in_place(v) ? (size_t)v->g.oh * v->g.ow : v->pixels;
    v->way.cut = pith_conv_cut(v, env, (uint32_t)plane, v->k);
    need->kernel = v->in_place ? "conv1x1-f32" : "conv-f32";
    return pith_conv_packed_need(args, env, pith_op_lanes(env, cut->chunks), panel_size(v, cut),
                                 need);
}

/* One tile: which pixels of which plane of which group. */
struct conv_tile {
    size_t group; /* over images and groups */
    size_t plane; /* of v->pixels / cut.pixels */
    size_t p0;
    uint32_t n;
};

static struct conv_tile tile_of(const struct conv_run *r, uint64_t unit)
{
    const struct cut *cut = &r->v->way.cut;
    const size_t planes = r->v->pixels / cut->pixels, plane = (size_t)(unit / cut->tiles);
    struct conv_tile t = {plane / planes, plane % planes, (size_t)(unit % cut->tiles) * cut->width,
                          cut->width};
    if (cut->pixels - t.p0 < t.n)
        t.n = (uint32_t)(cut->pixels - t.p0);
    return t;
}

/* Where the block of K that begins at k ends. What is read in place needs no panel, and is done in
 * one block. */
static uint32_t block_end(const struct conv *v, uint32_t k)
{
    return in_place(v) || v->k - k < K_BLOCK ? (uint32_t)v->k : k + K_BLOCK;
}

/* Fills `panel` with the columns under tile t, rows of the block of K from k on. */
static void tile_fill(const struct conv_run *r, const struct conv_tile *t, float *panel, uint32_t k)
{
    const struct conv *v = r->v;
    if (in_place(v))
        return;
    const struct conv_geom *g = &v->g;
    const uint32_t end = block_end(v, k); /* of it `rows` are under a plane of the input */
    const uint32_t rows = v->more ? g->kh * g->kw * g->c : (uint32_t)v->k;
    for (uint32_t next; k < end; panel += (next - k) * v->way.cut.ldb, k = next) {
        const uint32_t tap = k / rows, left = rows - k % rows;
        size_t in = 0;
        next = left < end - k ? k + left : end;
        if (v->more && !pith_window_place(&v->window, v->window.n - 2, t->plane, tap, &in)) {
            memset(panel, 0, (next - k) * v->way.cut.ldb * sizeof *panel);
            continue;
        }
        struct im2col_f32_job cols = {.g = g,
                                      .x = r->x + t->group * r->x_group + in * g->h * g->w,
                                      .b = panel,
                                      .plane = r->x_group / g->c,
                                      .ldb = v->way.cut.ldb,
                                      .p0 = t->p0,
                                      .n = t->n,
                                      .k0 = k - tap * rows,
                                      .k1 = next - tap * rows};
        r->d->im2col_f32(&cols);
    }
}

/* Rows [o0, o1) of tile t, block of K from k on. */
static void tile_multiply(const struct conv_run *r, const struct conv_tile *t, const float *panel,
                          uint32_t k, uint32_t o0, uint32_t o1)
{
    const struct conv *v = r->v;
    size_t own = t->group % v->groups, mr = r->d->mr;
    const float *bias = r->bias;
    const float *x = r->x + t->group * r->x_group + t->p0;
    size_t out = t->group * r->y_group + o0 * r->y_plane + t->plane * v->way.cut.pixels +
                 (t->p0 - r->y_first);
    struct gemm_f32_job job = {.a = r->w + own * r->group_floats + o0 * v->k + k * mr,
                               .a_step = v->k * mr,
                               .b = in_place(v) ? x : panel,
                               .ldb = in_place(v) ? v->pixels : v->way.cut.ldb,
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

/* Where a lane packs pixels; NULL where they are read in place. */
static float *lane_panel(const struct conv_run *r, uint32_t lane)
{
    uint64_t floats = panel_size(r->v, &r->v->way.cut);
    return floats ? r->panels + lane * floats : NULL;
}

/* Output channels [o0, o1) of a tile, all of K. */
static void tile_run(const struct conv_run *r, const struct conv_tile *t, float *panel, uint32_t o0,
                     uint32_t o1)
{
    for (uint32_t k = 0; k < r->v->k; k = block_end(r->v, k)) {
        tile_fill(r, t, panel, k);
        tile_multiply(r, t, panel, k, o0, o1);
    }
}

static void tiles_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    struct conv_piece p = pith_conv_piece(r, i, pith_conv_part(r, i));
    for (; p.at < p.next; p = pith_conv_piece(r, i, p.next)) {
        const struct conv_tile t = tile_of(r, p.tile);
        tile_run(r, &t, lane_panel(r, lane), p.o0, p.o1);
    }
}

static void tiles_run(const struct op_args *args, const struct op_env *env)
{
    struct conv_run r = pith_conv_packed_run(args, env);
    pith_conv_pieces(&r, env, tiles_body);
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
        struct conv_tile t = {0, 0, p, (uint32_t)(end - p < width ? end - p : width)};
        tile_run(&r, &t, lane_panel(&r, band->lane), 0, r.v->g.o);
    }
}

const struct conv_kernel pith_conv_tiles = {tiles_supports, tiles_cost, tiles_workspace,
                                            pith_conv_pack, tiles_run};
