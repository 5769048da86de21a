/* SPDX-License-Identifier: MIT */
/* conv_winograd.c - 3x3 convolutions of stride 1 by Winograd's F(2x2, 3x3) and F(4x4, 3x3)
 * (kernel_dense.h). A block of tiles is put together and transformed; then each `pass` of
 * output channels is `terms` products, whose sums become pixels while they are in cache. A panel
 * that does not stay in cache is read once: a term's product is of all output channels.
 *
 *     prep    = weights [ceil(O/mr)][terms][C][mr]
 *     scratch = for each lane a panel [terms][C][ldb], sums [terms][pass][ldb]
 *
 * Those of F(4x4, 3x3) lie a line further apart: powers of two would all be in one set of a cache.
 *
 * Few blocks are cut by output channels, too, as the tiles of conv_tiles.c are. */
#include "products/conv_kernel.h"
#include "decode/weight_f32.h"

/* Weights that do not stay in a second-level cache are read for so many tiles at least. */
#define CACHED_WEIGHTS (1u << 18)
#define MIN_TILES 16u
#define MIN_TILES_BEYOND 32u
#define MOST_FLOATS (1u << 23) /* of a lane */

struct winograd_form {
    uint32_t side, out; /* of what is under a tile; of its pixels */
    uint32_t terms;     /* side * side */
    uint32_t pass; /* output channels at a time: read tiles that often, keep their sums in cache */
    uint32_t gap;  /* floats from one term's to the next; im2col leaves none */
    uint32_t panel_floats; /* in cache, at most: half a second-level cache of 2 MiB */
    uint32_t in,
        pixels; /* the transforms and the ends of `terms` products, in products of a tile */
    const char *kernel;
    float g[6][3]; /* of a filter: u = g w g^T */
};

static const struct winograd_form two = {
    4,
    2,
    WINOGRAD_TERMS,
    32,
    0,
    1u << 18,
    256,
    160,
    "conv-f32-winograd",
    {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}}};

/* Powers of the points of winograd4_f32_impl.h, each by the product of its differences from the
 * others. */
#define POINT(p, q) (1 / (2 * (p) * (p) * ((p) * (p) - (q) * (q))))
#define ROW(p, q)                                                                                  \
    {                                                                                              \
        (float)POINT(p, q), (float)(POINT(p, q) * (p)), (float)(POINT(p, q) * (p) * (p))           \
    }
static const struct winograd_form four = {6,
                                          4,
                                          WINOGRAD4_TERMS,
                                          16,
                                          16,
                                          5u << 16,
                                          300,
                                          250,
                                          "conv-f32-winograd4",
                                          {{(float)(1 / (0.625 * 0.625 * 1.5 * 1.5)), 0, 0},
                                           ROW(0.625, 1.5),
                                           ROW(-0.625, 1.5),
                                           ROW(1.5, 0.625),
                                           ROW(-1.5, 0.625),
                                           {0, 0, 1}}};

/* The same image as tiles: what im2col_f32 copies. */
static struct conv_geom tiled(const struct winograd_form *f, const struct conv_geom *g)
{
    struct conv_geom t = *g;
    t.kh = t.kw = f->side;
    t.stride_h = t.stride_w = f->out;
    t.oh = (g->oh + f->out - 1) / f->out;
    t.ow = (g->ow + f->out - 1) / f->out;
    return t;
}

extern const struct conv_kernel pith_conv_winograd4; /* listed where there are packed kernels */

static const struct winograd_form *form_of(const struct conv *v)
{
    return v->kernel == &pith_conv_winograd4 ? &four : &two;
}

static struct cut cut_of(const struct winograd_form *f, const struct conv *v,
                         const struct op_env *env)
{
    const struct conv_geom t = tiled(f, &v->g);
    const uint32_t tiles = t.oh * t.ow;
    /* The extra column pays where it is all that a second block would hold. */
    struct cut cut = pith_conv_cut(v, env, tiles, tiles == env->kernels->dense.nr_max ? v->k : 0);
    if (tiles < cut.width)
        cut.ldb = (tiles + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    return cut;
}

/* From one term to the next, of so many channels. */
static size_t term_floats(const struct winograd_form *f, size_t channels, const struct cut *cut)
{
    return channels * cut->ldb + f->gap;
}

static size_t panel_floats(const struct winograd_form *f, const struct conv *v,
                           const struct cut *cut)
{
    return f->terms * term_floats(f, v->g.c, cut);
}

/* Output channels of a pass. */
static uint32_t pass_of(const struct winograd_form *f, const struct conv *v, const struct cut *cut)
{
    return panel_floats(f, v, cut) > f->panel_floats ? v->g.o : f->pass;
}

static size_t lane_floats(const struct winograd_form *f, const struct conv *v,
                          const struct cut *cut)
{
    return panel_floats(f, v, cut) + f->terms * term_floats(f, pass_of(f, v, cut), cut);
}

static bool supports(const struct winograd_form *f, const struct op_args *args,
                     const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_geom *g = &v->g;
    const struct dense_kernels *d = &env->kernels->dense;
    if (!d->winograd_in || !args->weight || v->more || v->groups != 1 || g->kh != 3 || g->kw != 3 ||
        g->stride_h != 1 || g->stride_w != 1 || g->dil_h != 1 || g->dil_w != 1 ||
        !pith_conv_is_small(v) || g->c > MOST_FLOATS || g->o > MOST_FLOATS)
        return false;
    const struct cut cut = cut_of(f, v, env);
    return lane_floats(f, v, &cut) <= MOST_FLOATS;
}

static bool winograd_supports(const struct op_args *args, const struct op_env *env)
{
    return supports(&two, args, env);
}

static bool winograd4_supports(const struct op_args *args, const struct op_env *env)
{
    return supports(&four, args, env);
}

/* Where two vectors are multiplied and added a cycle, transforms, which shuffle and store, take as
 * long as before: three times as many products (measured on Sapphire Rapids). */
#define FAST_TILES 500u
static uint64_t cost(const struct winograd_form *f, uint64_t tiles, const struct conv_geom *g,
                     const struct op_env *env)
{
    const uint32_t slower = env->kernels->sparse.costs.tiles > FAST_TILES ? 3 : 1;
    const uint64_t transforms = f->in + f->pixels * (uint64_t)g->o / g->c;
    return tiles * ((uint64_t)f->terms * g->o + transforms * slower) / (9 * (uint64_t)g->oh);
}

static uint64_t winograd_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv_geom *g = &((const struct conv *)args->lowered)->g, t = tiled(&two, g);
    const uint64_t tiles = (uint64_t)t.oh * t.ow;
    const bool cached = (uint64_t)g->o * g->c <= CACHED_WEIGHTS / WINOGRAD_TERMS;
    return tiles < (cached ? MIN_TILES : MIN_TILES_BEYOND) ? UINT64_MAX : cost(&two, tiles, g, env);
}

/* Lanes behind the last tile of a block are multiplied, too. */
static uint64_t winograd4_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv_geom *g = &((const struct conv *)args->lowered)->g, t = tiled(&four, g);
    const uint64_t tiles = (uint64_t)t.oh * t.ow, lanes = env->kernels->dense.lanes;
    return tiles < MIN_TILES ? UINT64_MAX
                             : cost(&four, (tiles + lanes - 1) / lanes * lanes, g, env);
}

static enum pith_status winograd_workspace(const struct op_args *args, const struct op_env *env,
                                           struct op_need *need)
{
    struct conv *v = args->lowered;
    const struct winograd_form *f = form_of(v);
    const uint32_t mr = env->kernels->dense.mr;
    struct cut *cut = &v->way.cut;
    *cut = cut_of(f, v, env);
    need->kernel = f->kernel;
    need->scratch_bytes = pith_op_lanes(env, cut->chunks) * lane_floats(f, v, cut) * sizeof(float);
    need->prep_form = prep_form(PREP_WINOGRAD, f->out);
    uint64_t rows = ((uint64_t)v->g.o + mr - 1) / mr * mr;
    if (!mul_ok(rows, (uint64_t)v->g.c * f->terms * sizeof(float), &need->prep_bytes))
        return PITH_ERR_LIMIT;
    return pith_weight_f32_scratch(args->weight, &need->prep_scratch_bytes);
}

/* Three elements, `from` apart, to as many as a side has, `to` apart. */
static void line(const struct winograd_form *f, const float *w, size_t from, float *u, size_t to)
{
    for (size_t i = 0; i < f->side; i++)
        u[i * to] = f->g[i][0] * w[0] + f->g[i][1] * w[from] + f->g[i][2] * w[2 * from];
}

static void pack_filter(const struct winograd_form *f, const float *w, float *to, size_t step)
{
    float rows[3 * 6], u[WINOGRAD4_TERMS];
    for (size_t i = 0; i < 3; i++)
        line(f, w + 3 * i, 1, rows + f->side * i, 1);
    for (size_t i = 0; i < f->side; i++)
        line(f, rows + i, f->side, u + i, f->side);
    for (size_t i = 0; i < f->terms; i++)
        to[i * step] = u[i];
}

static enum pith_status winograd_pack(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct winograd_form *f = form_of(v);
    const size_t c = v->g.c, mr = env->kernels->dense.mr, panel = f->terms * c * mr;
    const float *w;
    enum pith_status status = pith_weight_f32(env, args->weight, &w);
    if (status)
        return status;
    float *to = args->prep;
    for (size_t o = 0; o < v->g.o; o += mr, to += panel) {
        const size_t rows = v->g.o - o < mr ? v->g.o - o : mr;
        if (rows < mr)
            memset(to, 0, panel * sizeof *to);
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < c; i++, w += 9)
                pack_filter(f, w, to + i * mr + r, c * mr);
    }
    return PITH_OK;
}

struct block {
    size_t image;
    uint32_t t0, n;
};

static struct block block_of(const struct conv *v, uint64_t unit)
{
    const struct cut *cut = &v->way.cut;
    const struct conv_geom t = tiled(form_of(v), &v->g);
    struct block b = {(size_t)(unit / cut->tiles), (uint32_t)(unit % cut->tiles) * cut->width,
                      cut->width};
    if (t.oh * t.ow - b.t0 < b.n)
        b.n = t.oh * t.ow - b.t0;
    return b;
}

static void block_fill2(const struct conv_run *r, const struct block *b, float *panel)
{
    const struct conv *v = r->v;
    const struct conv_geom g = tiled(&two, &v->g);
    const size_t step = term_floats(&two, g.c, &v->way.cut);
    struct im2col_f32_job cols = {.g = &g,
                                  .x = r->x + b->image * r->x_group,
                                  .b = panel,
                                  .plane = (size_t)g.h * g.w,
                                  .ldb = v->way.cut.ldb,
                                  .p0 = b->t0,
                                  .n = b->n,
                                  .k1 = WINOGRAD_TERMS * g.c};
    r->d->im2col_f32(&cols);
    r->d->winograd_in(panel, step, step);
}

static void block_fill(const struct conv_run *r, uint64_t unit, float *panel)
{
    const struct conv *v = r->v;
    const struct conv_geom *g = &v->g;
    const struct block b = block_of(v, unit);
    if (form_of(v) == &two) {
        block_fill2(r, &b, panel);
        return;
    }
    const struct winograd4_in_job in = {.x = r->x + b.image * r->x_group,
                                        .v = panel,
                                        .step = term_floats(&four, g->c, &v->way.cut),
                                        .ldv = v->way.cut.ldb,
                                        .channels = (uint32_t)g->c,
                                        .h = (uint32_t)g->h,
                                        .w = (uint32_t)g->w,
                                        .pad_top = g->pad_top,
                                        .pad_left = g->pad_left,
                                        .t0 = b.t0,
                                        .n = b.n,
                                        .across = tiled(&four, g).ow};
    r->d->winograd4_in(&in);
}

/* Output channels [o0, o1) of the block; o0 begins a panel of weights. */
static void block_multiply(const struct conv_run *r, uint64_t unit, const float *panel, float *sums,
                           uint32_t o0, uint32_t o1)
{
    const struct conv *v = r->v;
    const struct winograd_form *f = form_of(v);
    const uint32_t mr = r->d->mr, pass = pass_of(f, v, &v->way.cut);
    const size_t ldb = v->way.cut.ldb, c = v->g.c, step = term_floats(f, pass, &v->way.cut);
    const struct block b = block_of(v, unit);
    struct winograd_out_job out = {.m = sums,
                                   .step = step,
                                   .ldm = ldb,
                                   .ldy = v->pixels,
                                   .t0 = b.t0,
                                   .n = b.n,
                                   .across = tiled(f, &v->g).ow,
                                   .oh = v->g.oh,
                                   .ow = v->g.ow,
                                   .act = r->act};
    for (uint32_t o = o0; o < o1; o += pass) {
        const size_t at = b.image * r->y_group + o * v->pixels;
        struct gemm_f32_job job = {.a_step = f->terms * c * mr,
                                   .ldb = ldb,
                                   .ldc = ldb,
                                   .m = o1 - o < pass ? o1 - o : pass,
                                   .n = b.n,
                                   .k = (uint32_t)c,
                                   .finish = true};
        for (uint32_t t = 0; t < f->terms; t++) {
            job.a = r->w + ((size_t)o * f->terms + t * mr) * c;
            job.b = panel + t * term_floats(f, c, &v->way.cut);
            job.c = sums + t * step;
            r->d->gemm_f32(&job);
        }
        out.rows = job.m;
        out.y = r->y + at;
        out.residual = r->residual ? r->residual + at : NULL;
        out.bias = r->bias ? r->bias + o : NULL;
        (f == &two ? r->d->winograd_out : r->d->winograd4_out)(&out);
    }
}

static void blocks_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    const struct winograd_form *f = form_of(r->v);
    const struct cut *cut = &r->v->way.cut;
    float *panel = r->panels + lane * lane_floats(f, r->v, cut);
    float *sums = panel + panel_floats(f, r->v, cut);
    struct conv_piece p = pith_conv_piece(r, i, pith_conv_part(r, i));
    for (; p.at < p.next; p = pith_conv_piece(r, i, p.next)) {
        block_fill(r, p.tile, panel);
        block_multiply(r, p.tile, panel, sums, p.o0, p.o1);
    }
}

static void winograd_run(const struct op_args *args, const struct op_env *env)
{
    struct conv_run r = pith_conv_run_of(args, env);
    r.panels = env->scratch;
    pith_conv_pieces(&r, env, blocks_body);
}

const struct conv_kernel pith_conv_winograd = {winograd_supports, winograd_cost, winograd_workspace,
                                               winograd_pack, winograd_run};
const struct conv_kernel pith_conv_winograd4 = {winograd4_supports, winograd4_cost,
                                                winograd_workspace, winograd_pack, winograd_run};
