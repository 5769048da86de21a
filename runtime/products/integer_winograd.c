/* SPDX-License-Identifier: MIT */
/* integer_winograd.c - see integer_winograd.h. A block of tiles is transformed, then for each PART
 * of outputs 36 products of 16 bits are made, whose sums become values while they are in cache.
 *
 *     prep    = sums of weights [rounded] | part by part [36][panels of the part][steps][nr][2]
 *     scratch = offsets, factors [rounded] | zeros [PART]
 *               | a lane: pointers [tiles] | 6x6 pixels | tiles' elements | their sums | ...
 *
 * Of the layout, a band is a block of `rows` tiles, band_bytes its elements, tile_bytes its sums.
 */
#include "products/integer_winograd.h"
#include "kernels/ref/integer_element.h"
#include "pith_runtime.h"

#define SIDE 6u
#define OUT 4u
#define TERMS WINOGRAD_I8_TERMS
#define MOST_CHANNELS 227u                /* 9 * 128 * 128 of each are below 2^25 */
#define BLOCK_BYTES (UINT64_C(256) << 10) /* beside the weights in a second-level cache */
#define KERNEL_ROWS 6u                    /* tiles that a product takes at once */
#define CHUNKS 8u
#define FEW_BLOCKS 4u
/* In products of bytes, measured on Zen 4: the transforms of a channel and of an output of a tile,
 * a product of 16 bits where bytes are widened anyway (in tenths), and how many times that
 * elsewhere. The gain has to be PERCENT at least. */
#define IN_COST 600u
#define OUT_COST 1060u
#define TENTHS 11u
#define WORD_COST 2u
#define PERCENT 120u

/* The last tile of a row or column may have pixels outside of y: they are made, and not stored. */
static uint32_t tiles_across(uint32_t pixels)
{
    return (pixels + OUT - 1) / OUT;
}

/* Of an image. */
static uint64_t tiles_of(const struct integer_conv *c)
{
    return (uint64_t)tiles_across(c->oh) * tiles_across(c->ow);
}

/* Elements from one of the 36 of a tile to the next; from a tile to the next, whose rows are kept
 * out of each other's way in the cache. */
static size_t v_step(const struct integer_layout *l)
{
    return ((size_t)l->cg + WINOGRAD_I8_ALIGN - 1) / WINOGRAD_I8_ALIGN * WINOGRAD_I8_ALIGN;
}

static size_t v_tile(const struct integer_layout *l)
{
    return TERMS * v_step(l) + WINOGRAD_I8_ALIGN;
}

/* Sums are those of a part of the outputs. */
static size_t m_step(const struct integer_layout *l)
{
    return least(l->rounded, PART);
}

static size_t m_tile(const struct integer_layout *l)
{
    return TERMS * m_step(l) + WINOGRAD_I8_ALIGN / 2;
}

/* Groups of tiles that a kernel takes at once, the last of which may have fewer. */
static uint32_t groups_of(uint64_t tiles)
{
    return (uint32_t)((tiles + KERNEL_ROWS - 1) / KERNEL_ROWS);
}

/* As few blocks as are small enough; of several an even number, which two threads share. */
static void set_blocks(struct integer_layout *l, uint64_t tiles, bool parallel)
{
    const uint64_t each = v_tile(l) * sizeof(int16_t) + m_tile(l) * sizeof(int32_t);
    const uint64_t most = BLOCK_BYTES / each / KERNEL_ROWS;
    const uint32_t groups = groups_of(tiles);
    l->bands = most > 1 ? (uint32_t)((groups + most - 1) / most) : groups;
    if (parallel && l->bands % 2 && l->bands > 1 && l->bands < groups)
        l->bands++;
    l->rows = least((groups + l->bands - 1) / l->bands * (uint64_t)KERNEL_ROWS, tiles);
    l->scratch.band_bytes = aligned_bytes(l->rows * v_tile(l) * sizeof(int16_t));
    l->scratch.tile_bytes = aligned_bytes(l->rows * m_tile(l) * sizeof(int32_t));
}

/* Where each tile's elements begin, for all 36 products. */
static uint64_t pointer_bytes(const struct integer_layout *l)
{
    return aligned_bytes(l->rows * sizeof(uint8_t *));
}

/* Of a tile at an edge, with the zero point where x ends. */
static uint64_t pixel_bytes(const struct integer_layout *l)
{
    return aligned_bytes((uint64_t)SIDE * SIDE * l->cg);
}

/* Sizes fit 64 bits by far: is_small() of integer_op.c bounds pixels times outputs, and channels
 * are few. */
bool pith_integer_winograd_need(const struct integer_conv *c, const struct op_env *env,
                                struct integer_layout *l)
{
    if (!WINOGRAD_I8_BUILT || !env->kernels || (env->flags & PITH_FLAG_NO_FUSION))
        return false;
    const struct integer_kernels *k = &env->kernels->integer;
    if (!k->winograd_in || c->groups != 1 || c->kh != 3 || c->kw != 3 || c->stride_h != 1 ||
        c->stride_w != 1 || c->dil_h != 1 || c->dil_w != 1 || c->words || c->zero_w ||
        !c->to_values || !c->channels_last || !c->y_step || c->channels > MOST_CHANNELS)
        return false;
    *l = (struct integer_layout){.packing = PACK_WINOGRAD,
                                 .cg = c->channels,
                                 .og = c->outputs,
                                 .nr = k->words_nr,
                                 .k_step = WORDS_STEP,
                                 .steps = (c->channels + WORDS_STEP - 1) / WORDS_STEP,
                                 .middle = 128};
    l->rounded = (l->og + WINOGRAD_I8_ALIGN - 1) / WINOGRAD_I8_ALIGN * WINOGRAD_I8_ALIGN;
    l->prep.panel_bytes = (uint64_t)l->steps * WORDS_STEP * l->nr * sizeof(int16_t);
    set_blocks(l, tiles_of(c), env->parallel_for);
    /* few blocks are cut by outputs, too, for all threads to have work: each part then transforms
     * its block again, which takes little beside the products */
    const uint64_t blocks = (uint64_t)c->n * l->bands;
    const bool parallel = env->parallel_for;
    l->parts = parallel && blocks < FEW_BLOCKS ? (l->og + PART - 1) / PART : 1;
    l->chunks = parallel ? least(blocks * l->parts, CHUNKS) : 1;
    l->prep.packed_at = aligned_bytes(l->rounded * sizeof(uint32_t));
    l->prep.bytes = l->prep.packed_at + TERMS * l->prep.panel_bytes * (l->rounded / l->nr);
    l->scratch.segment_at = 2 * aligned_bytes(l->rounded * sizeof(int32_t));
    l->scratch.lanes_at = l->scratch.segment_at + aligned_bytes(PART * sizeof(int32_t));
    l->scratch.lane_bytes =
        pointer_bytes(l) + pixel_bytes(l) + l->scratch.band_bytes + l->scratch.tile_bytes;
    l->scratch.bytes = l->scratch.lanes_at + pith_op_lanes(env, l->chunks) * l->scratch.lane_bytes;
    return true;
}

/* Tiles of rows (AMX) multiply bytes many times as fast. */
bool pith_integer_winograd_pays(const struct integer_conv *c, const struct integer_kernels *k)
{
    const uint64_t channels = c->channels, outputs = c->outputs, products = channels * outputs;
    if (!WINOGRAD_I8_BUILT || k->tile_rows || c->nonzeros || c->groups != 1)
        return false;
    const uint64_t product = TENTHS * (k->wide ? 1 : WORD_COST);
    const uint64_t tile = TERMS * products * product / 10 + IN_COST * channels + OUT_COST * outputs;
    return tiles_of(c) * tile / 100 * PERCENT < (uint64_t)c->oh * c->ow * 9 * products;
}

/* ---- weights ----------------------------------------------------------------------------------
 */

/* Two channels of a panel's outputs at a time, as its steps have them: what is done to one filter
 * is done to vectors of filters. */
#define LANES 32u /* nr outputs of two channels, at most */

/* G g, along a row or a column of a filter, times 24, but 6 where A^T has 4. */
static __attribute__((noinline)) void line(const int16_t *restrict g, size_t from,
                                           int16_t *restrict u, size_t to)
{
    const int16_t *g1 = g + from * LANES, *g2 = g1 + from * LANES;
    for (size_t i = 0; i < LANES; i++) {
        const int32_t ends = g[i] + g2[i], far = g[i] + 4 * g2[i], middle = g1[i];
        u[i] = (int16_t)(6 * g[i]);
        u[to * LANES + i] = (int16_t)(-4 * (ends + middle));
        u[2 * to * LANES + i] = (int16_t)(-4 * (ends - middle));
        u[3 * to * LANES + i] = (int16_t)(far + 2 * middle);
        u[4 * to * LANES + i] = (int16_t)(far - 2 * middle);
        u[5 * to * LANES + i] = (int16_t)(6 * g2[i]);
    }
}

/* Channels [e, e + 2) of the n outputs from o on: their filters, 0 where there are none. Weights
 * are added up here, while they are at hand: the zero point of x times their sum leaves the product
 * (pith_integer_conv_offsets). */
static void read_filters(const struct integer_layout *l, const struct integer_weights *weights,
                         uint32_t o, uint32_t e, uint32_t *sum, int16_t *g)
{
    const uint32_t n = l->og > o ? least(l->og - o, l->nr) : 0, pair = least(l->cg - e, 2);
    memset(g, 0, 9 * LANES * sizeof *g);
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < pair; i++) {
            const int8_t *w =
                (const int8_t *)weights->w + (o + j) * weights->output + (e + i) * weights->channel;
            for (uint32_t t = 0; t < 9; t++) {
                const int32_t weight = w[t];
                g[t * LANES + 2 * j + i] = (int16_t)weight;
                sum[o + j] += (uint32_t)weight;
            }
        }
}

void pith_integer_winograd_pack(const struct integer_layout *l,
                                const struct integer_weights *weights, void *prep)
{
    uint32_t *sum = prep;
    int16_t *to = (void *)((uint8_t *)prep + l->prep.packed_at);
    int16_t g[9 * LANES], rows[3 * SIDE * LANES], u[TERMS * LANES];
    const size_t panel = l->prep.panel_bytes / sizeof *to, each = (size_t)l->nr * WORDS_STEP;
    memset(sum, 0, l->rounded * sizeof *sum);
    for (uint32_t o = 0; o < l->rounded; o += l->nr) {
        const size_t first = o / PART * PART, panels = least(l->rounded - first, PART) / l->nr;
        int16_t *at = to + (first / l->nr * TERMS + (o - first) / l->nr) * panel;
        for (uint32_t e = 0; e < l->cg; e += WORDS_STEP, at += each) {
            read_filters(l, weights, o, e, sum, g);
            for (size_t i = 0; i < 3; i++)
                line(g + 3 * i * LANES, 1, rows + SIDE * i * LANES, 1);
            for (size_t i = 0; i < SIDE; i++)
                line(rows + i * LANES, SIDE, u + i * LANES, SIDE);
            for (size_t t = 0; t < TERMS; t++)
                memcpy(at + t * panels * panel, u + t * LANES, each * sizeof *u);
        }
    }
}

/* ---- run --------------------------------------------------------------------------------------
 */

/* What is the same for all chunks. */
struct winograd_run {
    const struct integer_conv *c;
    const struct integer_layout *l;
    const struct integer_kernels *k;
    const struct integer_conv_data *data;
    const uint8_t *packed;
    const int32_t *offset, *zeros;
    const float *factor;
    uint8_t *lanes;
};

/* Memory of a lane, and the block that it holds. */
struct block {
    const uint8_t **tile; /* [tiles] elements */
    uint8_t *pixels;
    int16_t *v;
    int32_t *m;
    size_t image;
    uint32_t t0, n; /* tiles */
};

/* What of the pixels under a tile lies in x; the rest is the zero point. */
static const uint8_t *edge_pixels(const struct winograd_run *r, const uint8_t *x, int64_t iy,
                                  int64_t ix, uint8_t *pixels)
{
    const struct integer_conv *c = r->c;
    const size_t n = c->channels;
    const int64_t left = ix < 0 ? -ix : 0, right = ix + SIDE > c->w ? c->w - ix : SIDE;
    memset(pixels, (uint8_t)r->data->zero_x, SIDE * SIDE * n);
    for (int64_t i = 0; i < SIDE && right > left; i++)
        if (iy + i >= 0 && iy + i < c->h)
            memcpy(pixels + (size_t)(i * SIDE + left) * n,
                   x + (size_t)((iy + i) * c->w + ix + left) * n, (size_t)(right - left) * n);
    return pixels;
}

/* Tiles inside of x are read where they lie. */
static void transform(const struct winograd_run *r, const struct block *b)
{
    const struct integer_conv *c = r->c;
    const uint32_t across = tiles_across(c->ow);
    const uint8_t *x = r->data->x + b->image * c->h * c->w * c->channels;
    struct winograd_i8_in in = {.channels = c->channels,
                                .flip = c->x_signed ? 0 : 0x80,
                                .pixel = c->channels,
                                .step = v_step(r->l)};
    for (uint32_t i = 0; i < b->n; i++) {
        const int64_t iy = (int64_t)((b->t0 + i) / across) * OUT - c->pad_top;
        const int64_t ix = (int64_t)((b->t0 + i) % across) * OUT - c->pad_left;
        const bool inside = iy >= 0 && ix >= 0 && iy + SIDE <= c->h && ix + SIDE <= c->w;
        in.row = (size_t)(inside ? c->w : SIDE) * c->channels;
        in.x = inside ? x + (size_t)(iy * c->w + ix) * c->channels
                      : edge_pixels(r, x, iy, ix, b->pixels);
        in.v = b->v + i * v_tile(r->l);
        b->tile[i] = (const uint8_t *)in.v;
        r->k->winograd_in(&in);
    }
}

/* Outputs [o, o + n) of a tile's pixels, which lie in y from `at` on, to those of the residual. */
static void add_residual(const struct winograd_run *r, const struct winograd_i8_out *out,
                         size_t pixel, uint32_t o)
{
    const struct integer_conv *c = r->c;
    const bool joined = out->outputs == c->outputs && c->y_step == c->outputs;
    struct combined_rows rows = {.n = joined ? out->outputs * out->columns : out->outputs,
                                 .rows = joined ? 1 : out->columns,
                                 .step = out->y_pixel,
                                 .b_step = c->outputs};
    for (uint32_t i = 0; i < out->rows; i++) {
        rows.a = rows.y = out->y + i * out->y_row;
        rows.b = r->data->residual + (pixel + (size_t)i * c->ow) * c->outputs + o;
        r->k->bytes.combine(r->data->add, &rows);
    }
}

/* Sums of the outputs from o on become values. Tiles at the right and lower edge store the pixels
 * that y has; those outside were made of the zero point and mean nothing. */
static void finish(const struct winograd_run *r, const struct block *b, uint32_t o, uint32_t n)
{
    const struct integer_conv *c = r->c;
    const uint32_t across = tiles_across(c->ow);
    struct winograd_i8_out out = {
        .step = m_step(r->l),
        .to = {r->offset + o, r->factor + o, r->data->zero_y, c->y_signed},
        .y_row = (size_t)c->ow * c->y_step,
        .y_pixel = c->y_step,
        .outputs = n};
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t oy = (b->t0 + i) / across * OUT, ox = (b->t0 + i) % across * OUT;
        const size_t pixel = (b->image * c->oh + oy) * c->ow + ox;
        out.rows = least(c->oh - oy, OUT);
        out.columns = least(c->ow - ox, OUT);
        out.m = b->m + i * m_tile(r->l);
        out.y = r->data->y + pixel * c->y_step + o;
        r->k->winograd_out(&out);
        if (r->data->residual)
            add_residual(r, &out, pixel, o);
    }
}

/* The 36 products of the outputs [o, o + n), which are a PART. */
static void multiply(const struct winograd_run *r, const struct block *b, uint32_t o, uint32_t n)
{
    const struct integer_layout *l = r->l;
    const size_t panels = least(l->rounded - o, PART) / l->nr;
    const uint8_t *w = r->packed + o / l->nr * TERMS * l->prep.panel_bytes;
    for (uint32_t t = 0; t < TERMS; t++, w += panels * l->prep.panel_bytes) {
        const uint32_t segment = (uint32_t)(t * v_step(l) * sizeof(int16_t));
        const struct gemm_i8_job job = {.x = b->tile,
                                        .segment = &segment,
                                        .segments = 1,
                                        .steps = l->steps,
                                        .w = w,
                                        .panel_bytes = l->prep.panel_bytes,
                                        .to = {.offset = r->zeros},
                                        .y = (uint8_t *)(b->m + t * m_step(l)),
                                        .y_step = m_tile(l) * sizeof(int32_t),
                                        .m = b->n,
                                        .n = n};
        r->k->gemm_i16[0](&job);
    }
}

/* Where block i of an image begins, in tiles. */
static uint32_t block_begin(const struct winograd_run *r, uint64_t i)
{
    const uint64_t tiles = tiles_of(r->c), group = groups_of(tiles) * i / r->l->bands;
    return least(group * KERNEL_ROWS, tiles);
}

/* Unit u: part u % parts of block u / parts, which are counted through all images. */
static struct block block_of(const struct winograd_run *r, uint32_t lane, uint64_t unit)
{
    const struct integer_layout *l = r->l;
    const uint64_t band = unit / l->parts, i = band % l->bands;
    uint8_t *memory = r->lanes + lane * l->scratch.lane_bytes;
    uint8_t *pixels = memory + pointer_bytes(l), *v = pixels + pixel_bytes(l);
    struct block b = {.tile = (void *)memory,
                      .pixels = pixels,
                      .v = (void *)v,
                      .m = (void *)(v + l->scratch.band_bytes),
                      .image = (size_t)(band / l->bands),
                      .t0 = block_begin(r, i)};
    b.n = block_begin(r, i + 1) - b.t0;
    return b;
}

/* A chunk transforms a block once for all of its parts. */
static void run_chunk(void *arg, uint32_t i, uint32_t lane)
{
    const struct winograd_run *r = arg;
    const struct integer_layout *l = r->l;
    const uint64_t units = (uint64_t)r->c->n * l->bands * l->parts;
    const uint32_t blocks = (l->og + PART - 1) / PART;
    const uint64_t begin = units * i / l->chunks, end = units * (i + 1) / l->chunks;
    for (uint64_t u = begin; u < end; u++) {
        const struct block b = block_of(r, lane, u);
        const uint32_t part = (uint32_t)(u % l->parts);
        if (u == begin || part == 0)
            transform(r, &b);
        for (uint32_t p = blocks * part / l->parts; p < blocks * (part + 1) / l->parts; p++) {
            const uint32_t o = p * PART, n = least(l->og - o, PART);
            multiply(r, &b, o, n);
            finish(r, &b, o, n);
        }
    }
}

void pith_integer_winograd_run(const struct integer_conv *c, const struct integer_layout *l,
                               const struct op_env *env, const struct integer_conv_data *data)
{
    uint8_t *scratch = env->scratch;
    int32_t *offset = (void *)scratch;
    float *factor = (void *)(scratch + l->scratch.segment_at / 2);
    struct winograd_run r = {.c = c,
                             .l = l,
                             .k = &env->kernels->integer,
                             .data = data,
                             .packed = (const uint8_t *)data->prep + l->prep.packed_at,
                             .offset = offset,
                             .zeros = (const void *)(scratch + l->scratch.segment_at),
                             .factor = factor,
                             .lanes = scratch + l->scratch.lanes_at};
    /* the zero point of x and the bias come in when all channels are summed: into the offset of a
     * value, and not into that of each of its 36 products */
    memset(scratch + l->scratch.segment_at, 0, PART * sizeof(int32_t));
    pith_integer_conv_offsets(l, data, (uint8_t)(data->zero_x + (c->x_signed ? 128 : 0)), 0, offset,
                              factor);
    pith_op_parallel_lanes(env, l->chunks, run_chunk, &r);
}
