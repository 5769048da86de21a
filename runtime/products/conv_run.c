/* SPDX-License-Identifier: MIT */
/* conv_run.c - the ways a convolution runs (over three and more axes: product, tiles or direct):
 *
 *   product    one output pixel under the whole input: a matrix times a vector (product_f32.h)
 *   depthwise  one input channel per group: depthwise_f32 on each output plane
 *   rows       a band of output rows: conv_rows_f32 on a padded copy of the input rows under it
 *   tiles      im2col of a tile of pixels, then gemm_f32 (pith_kernel_dense.h). 1x1 convolutions of
 *              stride 1 multiply the input where it lies.
 *   direct     conv_f32: no packing, no memory; the reference and whatever the others exclude
 *
 * Memory of rows and tiles:
 *
 *     prep    = G x panels [ceil(O/mr)][K][mr], constant weights (else at the start of scratch)
 *     scratch = rows:  one band [C][band rows, padded width] for each chunk
 *               tiles: one panel [K_BLOCK][ldb] for each chunk, or for each tile
 *
 * Work is cut into at most CHUNKS chunks of tiles, a number that does not depend on how many
 * threads there are; where everything runs on the caller's, it is one chunk. Few tiles (7x7 pixels)
 * are cut by output channels, too: for each block of K all tiles' panels are filled first, then
 * multiplied. Each element's sum is the same either way. */
#include "conv_run.h"
#include "conv_coded.h"
#include "conv_window.h"
#include "pith_kernels.h"
#include "product_f32.h"
#include "weight_f32.h"
#include "weight_rows.h"

#define CHUNKS 16u
#define K_BLOCK 768u /* of k at a time: K_BLOCK x nr floats of b stay in the second-level cache */
#define BAND_FLOATS 65536u /* of a band: a quarter of a second-level cache of 1 MiB */
#define BANDS 8u           /* of an image at least, where that leaves BAND_PIXELS */
#define BAND_PIXELS 64u    /* at least, else the weights are read too often */
#define ROWS_MAX_TAPS 64u
#define COPY_CHANNELS 8u
#define DEPTHWISE_MAX_O 3u
#define EXTRA_COLUMN_MIN_K 64u /* below, finishing the extra column costs more than it saves */

enum conv_path { CONV_PRODUCT, CONV_DEPTHWISE, CONV_ROWS, CONV_TILES, CONV_DIRECT };

struct conv {
    const struct op_args *args;
    struct conv_geom g; /* one group */
    uint32_t n, groups;
    size_t x_group, y_group, w_group; /* floats of one group of one image / of the weights */
    size_t pixels, taps, k;
    struct window window; /* n > 0: of more axes than g describes */
    enum conv_path path;
    bool in_place; /* tiles: gemm_f32 reads x itself */
};

static void set_geometry(struct conv *v)
{
    const struct op_args *args = v->args;
    const struct shape *x = &args->in[0]->shape, *w = &args->in[1]->shape;
    const struct shape *y = &args->out[0]->shape;
    const int32_t *attr = args->attr;
    uint32_t last = x->rank - 1, axis = last - 2;
    v->n = x->dim[0];
    v->groups = (uint32_t)attr[ATTR_CONV_GROUP];
    if (axis > 1) {
        v->g = (struct conv_geom){.c = w->dim[1], .o = w->dim[0] / v->groups};
        v->window = pith_window_conv(attr, x, w, y);
        return;
    }
    v->g = (struct conv_geom){.c = w->dim[1],
                              .o = w->dim[0] / v->groups,
                              .h = 1,
                              .oh = 1,
                              .kh = 1,
                              .stride_h = 1,
                              .dil_h = 1,
                              .w = x->dim[last],
                              .ow = y->dim[last],
                              .kw = w->dim[last]};
    v->g.stride_w = (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, axis, 1);
    v->g.dil_w = (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, axis, 1);
    v->g.pad_left = (uint32_t)attr_item(attr, ATTR_CONV_PADS, axis, 0);
    if (axis == 1) {
        v->g.h = x->dim[2], v->g.oh = y->dim[2], v->g.kh = w->dim[2];
        v->g.stride_h = (uint32_t)attr_item(attr, ATTR_CONV_STRIDES, 0, 1);
        v->g.dil_h = (uint32_t)attr_item(attr, ATTR_CONV_DILATIONS, 0, 1);
        v->g.pad_top = (uint32_t)attr_item(attr, ATTR_CONV_PADS, 0, 0);
    }
}

/* Output pixel (0,0) sees each input pixel exactly once, in order. */
static bool covers_input(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    for (uint32_t i = 0; i < v->window.n; i++) {
        const struct window_axis *a = &v->window.axis[i];
        if (a->out != 1 || a->pad != 0 || a->kernel != a->in || (a->kernel > 1 && a->dilation > 1))
            return false;
    }
    if (v->window.n)
        return true;
    return g->oh == 1 && g->ow == 1 && g->pad_top == 0 && g->pad_left == 0 && g->kh == g->h &&
           g->kw == g->w && (g->kh == 1 || g->dil_h == 1) && (g->kw == 1 || g->dil_w == 1);
}

static bool pointwise(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    for (uint32_t i = 0; i < v->window.n; i++) {
        const struct window_axis *a = &v->window.axis[i];
        if (a->kernel != 1 || a->stride != 1 || a->pad != 0 || a->out != a->in)
            return false;
    }
    if (v->window.n)
        return true;
    return g->kh == 1 && g->kw == 1 && g->stride_h == 1 && g->stride_w == 1 && g->oh == g->h &&
           g->ow == g->w && g->pad_top == 0 && g->pad_left == 0;
}

/* Vector kernels index pixels and taps with 32 bits, signed. */
static bool small_planes(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    uint64_t reach_h = (uint64_t)(g->kh - 1) * g->dil_h, reach_w = (uint64_t)(g->kw - 1) * g->dil_w;
    uint64_t limit = 1u << 28;
    if (v->window.n)
        return v->window.in < limit && v->pixels < limit && v->k < limit;
    return (uint64_t)g->h * g->w < limit && v->pixels < limit && v->k < limit && reach_h < limit &&
           reach_w < limit && (g->oh + reach_h) * g->stride_h < limit &&
           (g->ow + reach_w) * g->stride_w < limit;
}

/* Bands of output rows and the copy of what is under one. */
struct band {
    uint32_t rows; /* of output, the last band's may be fewer; 0: one alone is too large */
    uint32_t in_rows;
    size_t width; /* of a row, with padding, every stride_w-th column of it */
    size_t plane; /* floats from one channel to the next */
    size_t floats;
    /* columns [begin, end) of phase 0, 1 of a row are x[from], x[from + stride_w] ..; others 0 */
    struct {
        size_t begin, end, from;
    } phase[2];
};

static struct band band_of(const struct conv *v)
{
    const struct conv_geom *g = &v->g;
    struct band b = {.width = g->ow + (size_t)(g->kw - 1) * g->dil_w / g->stride_w};
    uint64_t per_row = (uint64_t)g->stride_w * b.width; /* both are small: the planes are */
    if (per_row > BAND_FLOATS || g->c > BAND_FLOATS)
        return b;
    per_row *= g->c;
    uint64_t reach = (uint64_t)(g->kh - 1) * g->dil_h + 1;
    if (per_row > BAND_FLOATS || per_row * reach > 2 * (uint64_t)BAND_FLOATS)
        return b;
    uint64_t fit =
        per_row * reach < BAND_FLOATS ? (BAND_FLOATS / per_row - reach) / g->stride_h + 1 : 1;
    uint64_t least = (BAND_PIXELS + g->ow - 1) / g->ow, share = g->oh / BANDS;
    share = share > least ? share : least < g->oh ? least : g->oh;
    b.rows = (uint32_t)(fit < share ? fit : share);
    b.in_rows = (uint32_t)((uint64_t)(b.rows - 1) * g->stride_h + reach);
    b.plane = b.in_rows * b.width * g->stride_w;
    b.floats = (g->c * b.plane + 2 * (size_t)DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN *
               DENSE_PANEL_ALIGN;
    const size_t s = g->stride_w, pad = g->pad_left;
    for (size_t i = 0; i < s && i < 2; i++) {
        size_t end = (g->w + pad + s - 1 - i) / s, begin = pad > i ? (pad - i + s - 1) / s : 0;
        end = end < b.width ? end : b.width;
        begin = begin < end ? begin : end;
        b.phase[i].end = end;
        b.phase[i].begin = begin;
        b.phase[i].from = begin < end ? begin * s + i - pad : 0;
    }
    return b;
}

/* The columns of tiles cost about as much to make as DEPTHWISE_MAX_O output channels of one input
 * channel cost to compute. */
static bool depthwise(const struct conv *v)
{
    return v->g.c == 1 && v->g.kw <= DEPTHWISE_MAX_KW && small_planes(v) &&
           (v->groups > 1 || v->g.o <= DEPTHWISE_MAX_O);
}

/* Rows multiply lanes past the end of each row, tiles copy the input once a tap, which takes as
 * long as COPY_CHANNELS output channels. */
static bool wide_rows(const struct conv *v, const struct dense_kernels *d)
{
    const struct conv_geom *g = &v->g;
    uint64_t lanes = (uint64_t)(g->ow + d->lanes - 1) / d->lanes * d->lanes;
    return g->stride_w <= 2 && !v->in_place && g->kh * g->kw <= ROWS_MAX_TAPS &&
           v->pixels >= 2 * (uint64_t)BAND_PIXELS &&
           lanes * g->o < (uint64_t)g->ow * (g->o + COPY_CHANNELS) && band_of(v).rows > 0;
}

static struct conv conv_of(const struct op_args *args, const struct op_env *env)
{
    struct conv v = {.args = args};
    set_geometry(&v);
    const struct conv_geom *g = &v.g;
    bool more = v.window.n > 0;
    v.pixels = more ? v.window.out : (size_t)g->oh * g->ow;
    v.taps = more ? v.window.taps : (size_t)g->kh * g->kw;
    v.k = g->c * v.taps;
    v.x_group = g->c * (more ? v.window.in : (size_t)g->h * g->w);
    v.y_group = g->o * v.pixels;
    v.w_group = g->o * v.k;
    v.in_place = pointwise(&v);
    if (v.groups == 1 && v.k <= UINT32_MAX && covers_input(&v))
        v.path = CONV_PRODUCT;
    else if (!more && depthwise(&v))
        v.path = CONV_DEPTHWISE;
    else if (env->kernels->dense.mr != 0 && small_planes(&v))
        v.path = !more && wide_rows(&v, &env->kernels->dense) ? CONV_ROWS : CONV_TILES;
    else
        v.path = CONV_DIRECT;
    return v;
}

static const float *data_of(const struct op_args *args, uint32_t i)
{
    return args->n_in > i && args->in[i] ? args->in[i]->data : NULL;
}

static struct dense_act act_of(const struct op_args *args)
{
    return (struct dense_act){args->fuse.act, args->fuse.a, args->fuse.b};
}

static struct product product_of(const struct conv *v)
{
    const struct op_args *args = v->args;
    struct product p = {.m = v->n,
                        .n = v->g.o,
                        .k = (uint32_t)v->k,
                        .trans_b = true,
                        .alpha = 1.0f,
                        .beta = 1.0f,
                        .a = data_of(args, 0),
                        .b = data_of(args, 1),
                        .c = data_of(args, 2),
                        .has_c = args->n_in > 2 && args->in[2],
                        .c_col = 1,
                        .weight = args->weight,
                        .prep = args->prep,
                        .act = args->fuse.act,
                        .act_a = args->fuse.a,
                        .act_b = args->fuse.b,
                        .y = args->out[0]->data};
    if (args->fuse.residual)
        p.residual = args->fuse.residual->data;
    return p;
}

/* floats of the packed weights of one group */
static bool panel_floats(const struct conv *v, uint32_t mr, uint64_t *floats)
{
    uint64_t rows = ((uint64_t)v->g.o + mr - 1) / mr * mr;
    return mul_ok(rows, v->k, floats);
}

/* How the tiles of all images and groups are cut into chunks. */
struct cut {
    uint32_t tiles; /* of one group of one image */
    uint32_t width; /* pixels of a tile, the last one's may be fewer */
    uint32_t ldb;   /* row stride of the im2col panel */
    uint32_t chunks;
    uint32_t o_parts; /* > 1: each tile is several chunks */
    uint64_t units;   /* tiles x groups x images */
};

static struct cut cut_of(const struct conv *v, const struct dense_kernels *d)
{
    struct cut t;
    uint32_t pixels = (uint32_t)v->pixels, mr = d->mr;
    t.width = pixels % d->nr_max == 0 && v->k >= EXTRA_COLUMN_MIN_K ? d->nr_max : d->nr;
    t.tiles = (pixels + t.width - 1) / t.width;
    t.ldb = (t.width + DENSE_PANEL_ALIGN - 1) / DENSE_PANEL_ALIGN * DENSE_PANEL_ALIGN;
    t.units = (uint64_t)t.tiles * v->groups * v->n;
    t.o_parts = 1;
    if (t.units < CHUNKS) {
        uint32_t panels = (v->g.o + mr - 1) / mr, parts = CHUNKS / (uint32_t)t.units;
        t.o_parts = panels < parts ? panels : parts;
    }
    t.chunks = t.units < CHUNKS ? (uint32_t)t.units * t.o_parts : CHUNKS;
    return t;
}

/* floats of one chunk's im2col panel */
static size_t chunk_floats(const struct conv *v, const struct cut *t)
{
    return v->in_place ? 0 : (v->k < K_BLOCK ? v->k : K_BLOCK) * t->ldb;
}

/* Each has scratch of its own. */
static uint32_t chunks_of(const struct op_env *env, uint64_t units)
{
    uint32_t most = env->parallel_for ? CHUNKS : 1;
    return units < most ? (uint32_t)units : most;
}

static uint64_t bands_of(const struct conv *v, const struct band *b)
{
    return (uint64_t)v->n * v->groups * ((v->g.oh + b->rows - 1) / b->rows);
}

/* Of rows and tiles. */
static enum pith_status packed_need(const struct conv *v, const struct op_env *env,
                                    struct op_need *need)
{
    const struct dense_kernels *d = &env->kernels->dense;
    uint64_t packed, units, floats;
    if (v->path == CONV_ROWS) {
        struct band b = band_of(v);
        units = bands_of(v, &b);
        floats = b.floats;
        need->kernel = "conv-f32-rows";
    } else {
        struct cut t = cut_of(v, d);
        units = t.units;
        floats = chunk_floats(v, &t);
        need->kernel = v->in_place ? "conv1x1-f32" : "conv-f32";
    }
    need->scratch_bytes = floats * sizeof(float) * chunks_of(env, units);
    if (!panel_floats(v, d->mr, &packed) || !mul_ok(packed, v->groups, &packed) ||
        !mul_ok(packed, sizeof(float), &packed) || !align_ok(packed, 64, &packed))
        return PITH_ERR_LIMIT;
    if (v->args->weight) {
        need->prep_bytes = packed;
        need->prep_form = prep_form(PREP_CONV_PANELS, (uint32_t)v->groups);
        return pith_weight_f32_scratch(v->args->weight, &need->prep_scratch_bytes);
    }
    return add_ok(need->scratch_bytes, packed, &need->scratch_bytes) ? PITH_OK : PITH_ERR_LIMIT;
}

/* Filters of images are decoded at each run, if the paths without packing are taken. */
static bool is_coded(const struct conv *v, const struct op_env *env)
{
    return !v->window.n && v->k <= UINT32_MAX && pith_weight_rows_wanted(env, v->args->weight);
}

static void coded_need(const struct conv *v, struct op_need *need)
{
    need->kernel = v->path == CONV_DEPTHWISE ? "depthwise-coded" : "conv-coded";
    need->reads_rows = true;
    need->scratch_bytes = need->prep_scratch_bytes = pith_weight_rows_bytes(v->args->weight);
}

static enum pith_status plain_need(const struct op_args *args, struct op_need *need)
{
    if (!args->weight || pith_weight_f32_borrow(args->weight))
        return PITH_OK;
    need->prep_scratch_bytes = pith_weight_scratch_bytes(args->weight);
    need->prep_form = prep_form(PREP_ELEMENTS, 0);
    return mul_ok(args->weight->count, sizeof(float), &need->prep_bytes) ? PITH_OK : PITH_ERR_LIMIT;
}

enum pith_status pith_conv_need(const struct op_args *args, const struct op_env *env,
                                struct op_need *need)
{
    struct conv v = conv_of(args, env);
    struct product p;
    enum pith_status status;
    *need = (struct op_need){0};
    switch (v.path) {
    case CONV_PRODUCT:
        p = product_of(&v);
        return pith_product_need(&p, env, need);
    case CONV_ROWS:
    case CONV_TILES:
        status = packed_need(&v, env, need);
        break;
    default:
        need->kernel = v.path == CONV_DEPTHWISE ? "depthwise-f32" : "conv-f32-direct";
        status = PITH_OK;
        if (is_coded(&v, env))
            coded_need(&v, need);
        else
            status = plain_need(args, need);
    }
    if (!mul_ok(shape_elems(&args->out[0]->shape), v.k, &need->macs))
        need->macs = UINT64_MAX;
    return status;
}

/* w [G][O, C, KH*KW] -> panels with k = tap * C + channel */
static void pack_weights(const struct conv *v, const float *w, uint32_t mr, float *dst)
{
    size_t taps = v->taps;
    uint64_t group_floats;
    panel_floats(v, mr, &group_floats);
    for (size_t group = 0; group < v->groups; group++)
        for (size_t tap = 0; tap < taps; tap++)
            pith_pack_rows_f32(w + group * v->w_group + tap, v->k, taps, v->g.o, v->g.c, mr,
                               dst + group * group_floats + tap * v->g.c * mr, v->k * mr);
}

enum pith_status pith_conv_prepare(const struct op_args *args, const struct op_env *env)
{
    struct conv v = conv_of(args, env);
    if (!args->weight)
        return PITH_OK;
    if (v.path == CONV_PRODUCT) {
        struct product p = product_of(&v);
        return pith_product_prepare(&p, env);
    }
    if (v.path != CONV_TILES && v.path != CONV_ROWS)
        return args->prep ? pith_weight_expand_f32(args->weight, args->prep, env->scratch)
                          : PITH_OK;
    const float *w;
    enum pith_status status = pith_weight_f32(args->weight, env->scratch, &w);
    if (status == PITH_OK)
        pack_weights(&v, w, env->kernels->dense.mr, args->prep);
    return status;
}

/* One run, as the parallel bodies see it. */
struct conv_run {
    const struct conv *v;
    const struct dense_kernels *d;
    struct cut cut;
    struct band band;
    const float *w; /* plain, or packed (rows, tiles) */
    const float *residual;
    float *panels;
    uint64_t units;
    uint32_t chunks;
    uint64_t group_floats; /* packed weights of one group */
    uint32_t k;            /* block that fill_body and multiply_body do */
};

static uint64_t chunk_begin(const struct conv_run *r, uint32_t i)
{
    return r->units * i / r->chunks;
}

/* One tile: which pixels of which group. */
struct conv_tile {
    size_t group; /* over images and groups */
    size_t p0;
    uint32_t n;
};

static struct conv_tile tile_of(const struct conv_run *r, uint64_t unit)
{
    struct conv_tile t = {(size_t)(unit / r->cut.tiles),
                          (size_t)(unit % r->cut.tiles) * r->cut.width, r->cut.width};
    if (r->v->pixels - t.p0 < t.n)
        t.n = (uint32_t)(r->v->pixels - t.p0);
    return t;
}

static uint32_t block_end(const struct conv *v, uint32_t k)
{
    return v->in_place || v->k - k < K_BLOCK ? (uint32_t)v->k : k + K_BLOCK;
}

static void tile_fill(const struct conv_run *r, const struct conv_tile *t, float *panel, uint32_t k)
{
    const struct conv *v = r->v;
    if (v->in_place)
        return;
    if (v->window.n) {
        struct window_columns columns = {.v = &v->window,
                                         .channels = v->g.c,
                                         .x = data_of(v->args, 0) + t->group * v->x_group,
                                         .b = panel,
                                         .ldb = r->cut.ldb,
                                         .p0 = t->p0,
                                         .n = t->n,
                                         .k0 = k,
                                         .k1 = block_end(v, k)};
        pith_window_columns(&columns);
        return;
    }
    struct im2col_f32_job cols = {.g = &v->g,
                                  .x = data_of(v->args, 0) + t->group * v->x_group,
                                  .b = panel,
                                  .ldb = r->cut.ldb,
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
    const float *bias = data_of(v->args, 2);
    const float *x = data_of(v->args, 0) + t->group * v->x_group + t->p0;
    size_t out = t->group * v->y_group + o0 * v->pixels + t->p0;
    struct gemm_f32_job job = {.a = r->w + own * r->group_floats + o0 * v->k + k * mr,
                               .a_step = v->k * mr,
                               .b = v->in_place ? x : panel,
                               .ldb = v->in_place ? v->pixels : r->cut.ldb,
                               .c = (float *)v->args->out[0]->data + out,
                               .ldc = v->pixels,
                               .bias_row = bias ? bias + own * v->g.o + o0 : NULL,
                               .residual = r->residual ? r->residual + out : NULL,
                               .m = o1 - o0,
                               .n = t->n,
                               .k = block_end(v, k) - k,
                               .resume = k > 0,
                               .finish = block_end(v, k) == v->k,
                               .act = act_of(v->args)};
    r->d->gemm_f32(&job);
}

/* Where chunk i packs its pixels; NULL where they are read in place. */
static float *chunk_panel(const struct conv_run *r, uint64_t i)
{
    uint64_t floats = chunk_floats(r->v, &r->cut);
    return floats ? r->panels + i * floats : NULL;
}

/* Chunk i: some tiles, all output channels, all of K. */
static void tiles_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    float *panel = chunk_panel(r, i);
    for (uint64_t u = chunk_begin(r, i); u < chunk_begin(r, i + 1); u++) {
        struct conv_tile t = tile_of(r, u);
        for (uint32_t k = 0; k < r->v->k; k = block_end(r->v, k)) {
            tile_fill(r, &t, panel, k);
            tile_multiply(r, &t, panel, k, 0, r->v->g.o);
        }
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
    uint32_t parts = r->cut.o_parts, tile = i / parts, part = i % parts, o = r->v->g.o;
    uint32_t panels = (o + r->d->mr - 1) / r->d->mr;
    uint32_t o0 = panels * part / parts * r->d->mr, o1 = panels * (part + 1) / parts * r->d->mr;
    struct conv_tile t = tile_of(r, tile);
    tile_multiply(r, &t, chunk_panel(r, tile), r->k, o0, o1 < o ? o1 : o);
}

/* One padded input row: columns 0, s, 2s .. first, then 1, s + 1 .. with s = stride_w, so that the
 * pixels of an output row lie side by side under each tap. */
static float *row_fill(const struct band *b, size_t stride, const float *x, float *to)
{
    for (size_t i = 0; i < stride; i++, to += b->width) {
        size_t begin = b->phase[i].begin, n = b->phase[i].end - begin;
        const float *from = x + b->phase[i].from;
        memset(to, 0, begin * sizeof *to);
        if (stride == 1)
            memcpy(to + begin, from, n * sizeof *to);
        else
            for (size_t k = 0; k < n; k++)
                to[begin + k] = from[2 * k];
        memset(to + begin + n, 0, (b->width - begin - n) * sizeof *to);
    }
    return to;
}

/* The input rows from iy on (negative: above the image) into one band. */
static void band_fill(const struct conv *v, const struct band *b, const float *x, int64_t iy,
                      float *band)
{
    const struct conv_geom *g = &v->g;
    size_t row = b->width * g->stride_w;
    float *to = band;
    for (uint32_t c = 0; c < g->c; c++, x += (size_t)g->h * g->w)
        for (int64_t y = iy; y < iy + b->in_rows; y++) {
            if (y >= 0 && y < g->h) {
                to = row_fill(b, g->stride_w, x + (size_t)y * g->w, to);
            } else {
                memset(to, 0, row * sizeof *to);
                to += row;
            }
        }
    memset(to, 0, (b->floats - (size_t)(to - band)) * sizeof *to);
}

static void rows_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const struct conv_geom *g = &v->g;
    const struct band *b = &r->band;
    const float *bias = data_of(v->args, 2);
    float *band = r->panels + i * b->floats;
    uint32_t bands = (g->oh + b->rows - 1) / b->rows;
    size_t tap[ROWS_MAX_TAPS], row = b->width * g->stride_w;
    for (uint32_t t = 0; t < g->kh * g->kw; t++) {
        size_t x = (size_t)(t % g->kw) * g->dil_w;
        tap[t] =
            (size_t)(t / g->kw) * g->dil_h * row + x % g->stride_w * b->width + x / g->stride_w;
    }
    for (uint64_t u = chunk_begin(r, i); u < chunk_begin(r, i + 1); u++) {
        size_t group = (size_t)(u / bands), own = group % v->groups;
        uint32_t oy = (uint32_t)(u % bands) * b->rows;
        size_t out = group * v->y_group + (size_t)oy * g->ow;
        band_fill(v, b, data_of(v->args, 0) + group * v->x_group,
                  (int64_t)oy * g->stride_h - g->pad_top, band);
        struct conv_rows_f32_job job = {.a = r->w + own * r->group_floats,
                                        .a_step = v->k * r->d->mr,
                                        .b = band,
                                        .plane = b->plane,
                                        .b_row = g->stride_h * row,
                                        .tap = tap,
                                        .taps = g->kh * g->kw,
                                        .channels = g->c,
                                        .y = (float *)v->args->out[0]->data + out,
                                        .ldy = v->pixels,
                                        .bias = bias ? bias + own * g->o : NULL,
                                        .residual = r->residual ? r->residual + out : NULL,
                                        .m = g->o,
                                        .rows = g->oh - oy < b->rows ? g->oh - oy : b->rows,
                                        .ow = g->ow,
                                        .act = act_of(v->args)};
        r->d->conv_rows_f32(&job);
    }
}

static void depthwise_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const float *bias = data_of(v->args, 2);
    float *y = v->args->out[0]->data;
    size_t channels = (size_t)v->groups * v->g.o;
    for (uint64_t u = chunk_begin(r, i), end = chunk_begin(r, i + 1), next; u < end; u = next) {
        /* planes in one call share an image and, where a group has several outputs, their input */
        size_t o = (size_t)(u % channels);
        next = v->g.o > 1 ? u + 1 : u + channels - o;
        next = next < end ? next : end;
        struct depthwise_f32_job job = {.g = &v->g,
                                        .x = data_of(v->args, 0) + u / v->g.o * v->x_group,
                                        .x_step = v->x_group,
                                        .w = r->w + o * v->k,
                                        .y = y + u * v->pixels,
                                        .bias = bias ? bias + o : NULL,
                                        .residual =
                                            r->residual ? r->residual + u * v->pixels : NULL,
                                        .planes = (uint32_t)(next - u),
                                        .act = act_of(v->args)};
        r->d->depthwise_f32(&job);
    }
}

/* Plane u of all images' and groups' outputs. */
static void window_unit(const struct conv_run *r, uint64_t u)
{
    const struct conv *v = r->v;
    size_t group = (size_t)(u / v->g.o), own = group % v->groups, o = (size_t)(u % v->g.o);
    const float *bias = data_of(v->args, 2);
    struct window_plane plane = {.v = &v->window,
                                 .channels = v->g.c,
                                 .x = data_of(v->args, 0) + group * v->x_group,
                                 .w = r->w + own * v->w_group + o * v->k,
                                 .y = (float *)v->args->out[0]->data + u * v->pixels,
                                 .residual = r->residual ? r->residual + u * v->pixels : NULL,
                                 .bias = bias ? bias[own * v->g.o + o] : 0.0f,
                                 .act = act_of(v->args)};
    pith_window_plane(&plane);
}

static void window_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    for (uint64_t u = chunk_begin(r, i); u < chunk_begin(r, i + 1); u++)
        window_unit(r, u);
}

static void direct_body(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->v;
    const float *bias = data_of(v->args, 2);
    float *y = v->args->out[0]->data;
    for (uint64_t u = chunk_begin(r, i); u < chunk_begin(r, i + 1); u++) {
        size_t group = (size_t)(u / v->g.o), own = group % v->groups;
        uint32_t o = (uint32_t)(u % v->g.o);
        struct conv_f32_job job = {.g = &v->g,
                                   .x = data_of(v->args, 0) + group * v->x_group,
                                   .w = r->w + own * v->w_group,
                                   .y = y + group * v->y_group,
                                   .bias = bias ? bias + own * v->g.o : NULL,
                                   .residual =
                                       r->residual ? r->residual + group * v->y_group : NULL,
                                   .o0 = o,
                                   .o1 = o + 1,
                                   .act = act_of(v->args)};
        r->d->conv_f32(&job);
    }
}

static void run_chunks(struct conv_run *r, const struct op_env *env, uint64_t units,
                       void (*body)(void *arg, uint32_t i))
{
    r->units = units;
    r->chunks = chunks_of(env, units);
    pith_op_parallel(env, r->chunks, body, r);
}

static void run_tiles(struct conv_run *r, const struct op_env *env)
{
    const struct conv *v = r->v;
    r->cut = cut_of(v, r->d);
    if (r->cut.o_parts == 1 || !env->parallel_for) {
        run_chunks(r, env, r->cut.units, tiles_body);
        return;
    }
    r->units = r->cut.units;
    for (; r->k < v->k; r->k = block_end(v, r->k)) {
        if (!v->in_place)
            pith_op_parallel(env, (uint32_t)r->units, fill_body, r);
        pith_op_parallel(env, r->cut.chunks, multiply_body, r);
    }
}

/* Filter after filter, each over all images before the next is decoded. */
static void run_coded(const struct conv_run *r, const struct op_env *env)
{
    const struct conv *v = r->v;
    const float *bias = data_of(v->args, 2);
    struct weight_rows *rows = pith_weight_rows_open(v->args->weight, env->scratch);
    size_t filters = (size_t)v->groups * v->g.o;
    struct conv_coded_job job = {.g = &v->g,
                                 .images = v->n,
                                 .k = (uint32_t)v->k,
                                 .pixels = v->pixels,
                                 .x_image = v->groups * v->x_group,
                                 .y_image = filters * v->pixels,
                                 .act = act_of(v->args)};
    for (size_t f = 0; f < filters; f++) {
        job.x = data_of(v->args, 0) + f / v->g.o * v->x_group;
        job.y = (float *)v->args->out[0]->data + f * v->pixels;
        job.bias = bias ? bias + f : NULL;
        job.residual = r->residual ? r->residual + f * v->pixels : NULL;
        pith_conv_coded_filter(&job, rows);
    }
}

/* Rows and tiles. */
static void run_packed(struct conv_run *r, const struct op_env *env)
{
    const struct conv *v = r->v;
    const struct op_args *args = v->args;
    r->panels = env->scratch;
    panel_floats(v, r->d->mr, &r->group_floats);
    if (!args->weight) {
        float *packed = env->scratch;
        pack_weights(v, data_of(args, 1), r->d->mr, packed);
        r->w = packed;
        r->panels = packed + ((r->group_floats * v->groups + 15) & ~(uint64_t)15);
    }
    if (v->path == CONV_TILES) {
        run_tiles(r, env);
        return;
    }
    r->band = band_of(v);
    run_chunks(r, env, bands_of(v, &r->band), rows_body);
}

void pith_conv_run(const struct op_args *args, const struct op_env *env)
{
    struct conv v = conv_of(args, env);
    if (v.path == CONV_PRODUCT) {
        struct product p = product_of(&v);
        pith_product_run(&p, env);
        return;
    }
    struct conv_run r = {.v = &v, .d = &env->kernels->dense};
    r.w = !args->weight ? data_of(args, 1)
          : args->prep  ? args->prep
                        : pith_weight_f32_borrow(args->weight);
    if (args->fuse.residual)
        r.residual = args->fuse.residual->data;
    if (v.path == CONV_TILES || v.path == CONV_ROWS) {
        run_packed(&r, env);
        return;
    }
    if (is_coded(&v, env)) {
        run_coded(&r, env);
        return;
    }
    run_chunks(&r, env, (uint64_t)v.n * v.groups * v.g.o,
               v.path == CONV_DEPTHWISE ? depthwise_body
               : v.window.n             ? window_body
                                        : direct_body);
}
