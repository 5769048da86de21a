/* SPDX-License-Identifier: MIT */
/* conv_winograd.c - 3x3 convolutions of stride 1 by Winograd's F(2x2, 3x3) (pith_kernel_dense.h).
 * A block of tiles is put together by im2col_f32 of a kernel of 4x4 and stride 2, and transformed;
 * then each PASS of output channels is WINOGRAD_TERMS products, whose sums become pixels while
 * they are in cache.
 *
 *     prep    = weights [ceil(O/mr)][WINOGRAD_TERMS][C][mr]
 *     scratch = for each chunk sums [WINOGRAD_TERMS][PASS][ldb], for each chunk or block a panel
 *               [WINOGRAD_TERMS][C][ldb]
 *
 * Few blocks are cut by output channels, too, as those of conv_tiles.c are. */
#include "conv_kernel.h"
#include "weight_f32.h"

#define PANEL_FLOATS (1u << 18) /* at most: half a second-level cache of 2 MiB */
#define MIN_TILES 32u           /* below, weights are read for too few sums */
#define PASS 32u /* output channels at a time: read tiles that often, keep their sums in cache */
#define SIDE 4u  /* of what is under a tile */
/* The transforms and the ends of WINOGRAD_TERMS products, in products of a tile. */
#define IN_CHANNELS 16u
#define OUT_PRODUCTS 160u

/* The same image seen as tiles: what im2col_f32 copies. */
static struct conv_geom tiled(const struct conv_geom *g)
{
    struct conv_geom t = *g;
    t.kh = t.kw = SIDE;
    t.stride_h = t.stride_w = 2;
    t.oh = (g->oh + 1) / 2;
    t.ow = (g->ow + 1) / 2;
    return t;
}

static struct cut cut_of(const struct conv *v, const struct op_env *env)
{
    const struct conv_geom t = tiled(&v->g);
    const uint32_t tiles = t.oh * t.ow;
    /* The extra column pays where it is all that a second block would hold. */
    return pith_conv_cut(v, env, tiles, tiles == env->kernels->dense.nr_max ? v->k : 0);
}

static size_t panel_floats(const struct conv *v, const struct cut *cut)
{
    return (size_t)WINOGRAD_TERMS * v->g.c * cut->ldb;
}

static size_t sums_floats(const struct cut *cut)
{
    return (size_t)WINOGRAD_TERMS * PASS * cut->ldb;
}

/* Several chunks read one panel. */
static bool by_outputs(const struct cut *cut, const struct op_env *env)
{
    return cut->o_parts > 1 && env->parallel_for;
}

static bool winograd_supports(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct conv_geom *g = &v->g;
    const struct dense_kernels *d = &env->kernels->dense;
    if (!d->winograd_in || !args->weight || v->more || v->groups != 1 || g->kh != 3 || g->kw != 3 ||
        g->stride_h != 1 || g->stride_w != 1 || g->dil_h != 1 || g->dil_w != 1 ||
        !pith_conv_is_small(v) || g->c > PANEL_FLOATS)
        return false;
    const struct cut cut = cut_of(v, env);
    return panel_floats(v, &cut) <= PANEL_FLOATS;
}

static uint64_t winograd_cost(const struct op_args *args, const struct op_env *env)
{
    const struct conv_geom *g = &((const struct conv *)args->lowered)->g, t = tiled(g);
    const uint64_t tiles = (uint64_t)t.oh * t.ow;
    (void)env;
    if (tiles < MIN_TILES)
        return UINT64_MAX;
    return tiles *
           ((uint64_t)WINOGRAD_TERMS * (g->o + IN_CHANNELS) +
            OUT_PRODUCTS * (uint64_t)g->o / g->c) /
           (9 * (uint64_t)g->oh);
}

static enum pith_status winograd_workspace(const struct op_args *args, const struct op_env *env,
                                           struct op_need *need)
{
    struct conv *v = args->lowered;
    const uint32_t mr = env->kernels->dense.mr;
    struct cut *cut = &v->way.cut;
    *cut = cut_of(v, env);
    need->kernel = "conv-f32-winograd";
    const uint64_t chunks = env->parallel_for ? cut->chunks : 1;
    const uint64_t panels = by_outputs(cut, env) ? cut->units : chunks;
    need->scratch_bytes =
        (chunks * sums_floats(cut) + panels * panel_floats(v, cut)) * sizeof(float);
    need->prep_form = prep_form(PREP_WINOGRAD, 0);
    uint64_t rows = ((uint64_t)v->g.o + mr - 1) / mr * mr;
    if (!mul_ok(rows, (uint64_t)v->g.c * WINOGRAD_TERMS * sizeof(float), &need->prep_bytes))
        return PITH_ERR_LIMIT;
    return pith_weight_f32_scratch(args->weight, &need->prep_scratch_bytes);
}

/* Three elements, `from` apart, to four, `to` apart: G g. */
static void line(const float *w, size_t from, float *u, size_t to)
{
    const float ends = w[0] + w[2 * from];
    u[0] = w[0];
    u[to] = 0.5f * (ends + w[from]);
    u[2 * to] = 0.5f * (ends - w[from]);
    u[3 * to] = w[2 * from];
}

static void pack_filter(const float *w, float *to, size_t step)
{
    float rows[3 * SIDE], u[WINOGRAD_TERMS];
    for (size_t i = 0; i < 3; i++)
        line(w + 3 * i, 1, rows + SIDE * i, 1);
    for (size_t i = 0; i < SIDE; i++)
        line(rows + i, SIDE, u + i, SIDE);
    for (size_t i = 0; i < WINOGRAD_TERMS; i++)
        to[i * step] = u[i];
}

static enum pith_status winograd_pack(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const size_t c = v->g.c, mr = env->kernels->dense.mr, panel = WINOGRAD_TERMS * c * mr;
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
                pack_filter(w, to + i * mr + r, c * mr);
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
    const struct conv_geom t = tiled(&v->g);
    struct block b = {(size_t)(unit / cut->tiles), (uint32_t)(unit % cut->tiles) * cut->width,
                      cut->width};
    if (t.oh * t.ow - b.t0 < b.n)
        b.n = t.oh * t.ow - b.t0;
    return b;
}

static void block_fill(const struct conv_run *r, uint64_t unit, float *panel)
{
    const struct conv *v = r->v;
    const struct conv_geom g = tiled(&v->g);
    const struct block b = block_of(v, unit);
    const size_t step = (size_t)g.c * v->way.cut.ldb;
    struct im2col_f32_job cols = {.g = &g,
                                  .x = r->x + b.image * r->x_group,
                                  .b = panel,
                                  .ldb = v->way.cut.ldb,
                                  .p0 = b.t0,
                                  .n = b.n,
                                  .k1 = WINOGRAD_TERMS * g.c};
    r->d->im2col_f32(&cols);
    r->d->winograd_in(panel, step, step);
}

/* Output channels [o0, o1) of the block; o0 begins a panel of weights. */
static void block_multiply(const struct conv_run *r, uint64_t unit, const float *panel, float *sums,
                           uint32_t o0, uint32_t o1)
{
    const struct conv *v = r->v;
    const uint32_t mr = r->d->mr;
    const size_t ldb = v->way.cut.ldb, c = v->g.c;
    const struct block b = block_of(v, unit);
    struct winograd_out_job out = {.m = sums,
                                   .step = PASS * ldb,
                                   .ldm = ldb,
                                   .ldy = v->pixels,
                                   .t0 = b.t0,
                                   .n = b.n,
                                   .across = (v->g.ow + 1) / 2,
                                   .oh = v->g.oh,
                                   .ow = v->g.ow,
                                   .act = r->act};
    for (uint32_t o = o0; o < o1; o += PASS) {
        const size_t at = b.image * r->y_group + o * v->pixels;
        struct gemm_f32_job job = {.a_step = WINOGRAD_TERMS * c * mr,
                                   .ldb = ldb,
                                   .ldc = ldb,
                                   .m = o1 - o < PASS ? o1 - o : PASS,
                                   .n = b.n,
                                   .k = (uint32_t)c,
                                   .finish = true};
        for (uint32_t t = 0; t < WINOGRAD_TERMS; t++) {
            job.a = r->w + (o * WINOGRAD_TERMS + t * mr) * c;
            job.b = panel + t * c * ldb;
            job.c = sums + t * PASS * ldb;
            /* Element (1, 1) of the sums is added to all four pixels. */
            job.bias_row = t == SIDE + 1 && r->bias ? r->bias + o : NULL;
            r->d->gemm_f32(&job);
        }
        out.rows = job.m;
        out.y = r->y + at;
        out.residual = r->residual ? r->residual + at : NULL;
        r->d->winograd_out(&out);
    }
}

static float *sums_of(const struct conv_run *r, uint32_t chunk)
{
    return r->panels + chunk * sums_floats(&r->v->way.cut);
}

static float *panel_of(const struct conv_run *r, uint32_t i)
{
    return sums_of(r, r->chunks) + i * panel_floats(r->v, &r->v->way.cut);
}

static void blocks_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    for (uint64_t u = conv_chunk(r, i); u < conv_chunk(r, i + 1); u++) {
        block_fill(r, u, panel_of(r, i));
        block_multiply(r, u, panel_of(r, i), sums_of(r, i), 0, r->v->g.o);
    }
}

static void fill_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    block_fill(r, i, panel_of(r, i));
}

/* Part i % o_parts of block i / o_parts. */
static void multiply_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const uint32_t parts = r->v->way.cut.o_parts;
    const uint32_t o0 = conv_part(r, i % parts), o1 = conv_part(r, i % parts + 1);
    block_multiply(r, i / parts, panel_of(r, i / parts), sums_of(r, i), o0, o1);
}

static void winograd_run(const struct op_args *args, const struct op_env *env)
{
    const struct conv *v = args->lowered;
    const struct cut *cut = &v->way.cut;
    struct conv_run r = pith_conv_run_of(args, env);
    r.panels = env->scratch;
    if (!by_outputs(cut, env)) {
        pith_conv_chunks(&r, env, cut->units, blocks_body);
        return;
    }
    r.chunks = cut->chunks;
    pith_op_parallel(env, (uint32_t)cut->units, fill_body, &r);
    pith_op_parallel(env, cut->chunks, multiply_body, &r);
}

const struct conv_kernel pith_conv_winograd = {winograd_supports, winograd_cost, winograd_workspace,
                                               winograd_pack, winograd_run};
