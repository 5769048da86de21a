/* SPDX-License-Identifier: MIT */
/* integer_conv.c - how integer convolutions run on the kernels of kernel_integer.h.
 *
 * Work is cut into units: a band of output rows of one image and group, or a part of its outputs.
 * The kernels read x where it lies when it is channels-last, u8 and has no padding; else the input
 * rows under a band are copied first - put into channels-last order, padded with the zero point,
 * shifted to u8, widened - so borders cost the kernels nothing:
 *
 *     prep    = sums of weights [rounded outputs] | table | packed weights, group by group
 *     scratch = offsets, factors [rounded outputs] | segments
 *               | a chunk: band [in_rows, width, channels] | pixel pointers | a tile of y | ...
 *
 * Where y is not channels-last, tiles of TILE pixels by PART outputs are written there transposed.
 */
#include "integer_conv.h"
#include "kernels.h"

#define CHUNKS 16u
#define TILE 96u          /* pixels a kernel call: a panel of weights is read once for so many */
#define PART 64u          /* outputs; a multiple of every nr */
#define BAND_PIXELS 192u  /* of output, at least: few input rows are then copied twice */
#define BAND_BYTES 65536u /* of a copy, where one row is less */
#define FEW_MACS 262144u  /* less is not worth waking a thread */
#define LIMIT (UINT64_C(1) << 31)
#define FEW_PIXELS 2u       /* of a product that waits for weights to come from memory */
#define MANY_WEIGHTS 65536u /* fewer stay in the cache */
#define TABLE 64u           /* bytes of the table of weights' values */

/* What follows from the geometry and the level. */
struct layout {
    bool depthwise, in_place, halved; /* halved: two weights a byte */
    uint32_t cg, og, segments, run, steps; /* run: elements of a segment */
    uint32_t rounded; /* outputs of a group, or all channels, in whole panels */
    uint32_t rows, bands, parts, chunks;
    uint64_t width, in_rows, pixel, row; /* of what kernels read; the latter two in bytes */
    uint64_t panel_bytes, group_bytes, packed_at, prep_bytes;
    uint64_t band_bytes, tile_bytes, chunk_bytes, segment_at, chunks_at, scratch_bytes;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static bool is_padded(const struct integer_conv *c)
{
    uint64_t bottom = (uint64_t)(c->oh - 1) * c->stride_h + (uint64_t)(c->kh - 1) * c->dil_h;
    uint64_t right = (uint64_t)(c->ow - 1) * c->stride_w + (uint64_t)(c->kw - 1) * c->dil_w;
    return c->pad_top || c->pad_left || bottom >= c->h || right >= c->w;
}

static void set_product(struct layout *l, const struct integer_conv *c,
                        const struct integer_kernels *k)
{
    uint64_t taps = (uint64_t)c->kh * c->kw, element = k->wide ? 2 : 1;
    if (l->depthwise) {
        uint64_t blocks = depthwise_blocks(k->block, c->channels);
        l->segments = (uint32_t)((taps + k->group - 1) / k->group * k->group);
        l->rounded = (uint32_t)(blocks * k->block);
        l->panel_bytes = (uint64_t)l->segments * k->block * element;
        l->group_bytes = blocks * l->panel_bytes;
        return;
    }
    bool joined = c->dil_w == 1 && c->groups == 1;
    l->segments = (uint32_t)(joined ? c->kh : taps);
    l->run = joined ? c->kw * l->cg : l->cg;
    l->steps = (l->run + k->k_step - 1) / k->k_step;
    l->rounded = (l->og + k->nr - 1) / k->nr * k->nr;
    l->halved = c->few_weights && k->gemm_i4 && l->segments == 1 && c->groups == 1 &&
                (uint64_t)c->oh * c->ow <= FEW_PIXELS &&
                (uint64_t)l->run * l->og >= MANY_WEIGHTS;
    l->panel_bytes = (uint64_t)l->segments * l->steps * k->k_step * k->nr * element;
    if (l->halved)
        l->panel_bytes = (l->steps + (uint64_t)1) / 2 * k->k_step * k->nr;
    l->group_bytes = l->panel_bytes * (l->rounded / k->nr);
}

/* Bands, and what the kernels read of x. */
static void set_bands(struct layout *l, const struct integer_conv *c,
                      const struct integer_kernels *k)
{
    bool wide = k->wide && !l->depthwise;
    uint32_t channels = l->depthwise ? c->channels : l->cg;
    l->in_place = c->channels_last && !c->x_signed && !wide && !is_padded(c) &&
                  (l->depthwise || l->run % k->k_step == 0);
    l->width = l->in_place
                   ? c->w
                   : (uint64_t)(c->ow - 1) * c->stride_w + (uint64_t)(c->kw - 1) * c->dil_w + 1;
    l->pixel = (uint64_t)(l->in_place ? c->channels : channels) * (wide ? 2 : 1);
    l->row = l->width * l->pixel;
    uint64_t rows = BAND_PIXELS / c->ow + 1, reach = (uint64_t)(c->kh - 1) * c->dil_h + 1;
    if (!l->in_place && rows * c->stride_h * l->row > BAND_BYTES)
        rows = BAND_BYTES / (c->stride_h * l->row) + 1;
    l->rows = least(rows, c->oh);
    l->bands = (c->oh + l->rows - 1) / l->rows;
    l->in_rows = (uint64_t)(l->rows - 1) * c->stride_h + reach;
    l->band_bytes = l->in_place ? 0 : aligned(l->in_rows * l->row + (size_t)2 * k->k_step);
}

static void set_memory(struct layout *l, const struct integer_conv *c)
{
    uint64_t outputs = l->depthwise ? l->rounded : (uint64_t)l->rounded * c->groups;
    uint64_t groups = l->depthwise ? 1 : c->groups;
    uint64_t macs = (uint64_t)c->oh * c->ow * l->og * l->segments * l->run; /* of an image, group */
    uint64_t units = c->n * groups * l->bands;
    l->parts = 1;
    if (units < CHUNKS && !l->depthwise && macs > FEW_MACS)
        l->parts = least(CHUNKS / units, (l->og + PART - 1) / PART);
    units *= l->parts;
    if (l->depthwise)
        macs = (uint64_t)c->oh * c->ow * c->channels * l->segments;
    l->chunks = macs * c->n * groups > FEW_MACS ? least(units, CHUNKS) : 1;
    l->tile_bytes =
        c->y_step ? 0 : TILE * (l->depthwise ? aligned(c->channels) : (uint64_t)PART * 4);
    l->packed_at = aligned(outputs * sizeof(int32_t)) + (l->halved ? TABLE : 0);
    l->prep_bytes = l->packed_at + groups * l->group_bytes;
    l->segment_at = 2 * aligned(outputs * sizeof(int32_t));
    l->chunks_at = aligned(l->segment_at + l->segments * sizeof(uint32_t));
    l->chunk_bytes = l->band_bytes + aligned(TILE * sizeof(uint8_t *)) + l->tile_bytes;
    l->scratch_bytes = l->chunks_at + l->chunks * l->chunk_bytes;
}

static struct layout layout_of(const struct integer_conv *c, const struct integer_kernels *k)
{
    struct layout l = {.cg = c->channels / c->groups, .og = c->outputs / c->groups};
    l.depthwise = c->groups > 1 && l.cg == 1 && l.og == 1;
    set_product(&l, c, k);
    set_bands(&l, c, k);
    set_memory(&l, c);
    return l;
}

bool pith_integer_conv_need(const struct integer_conv *c, const struct op_env *env,
                            uint64_t *prep_bytes, uint64_t *scratch_bytes)
{
    if (!env->kernels || (env->flags & PITH_FLAG_NO_FUSION))
        return false;
    struct layout l = layout_of(c, &env->kernels->integer);
    if (l.depthwise && !c->to_values)
        return false;
    *prep_bytes = l.prep_bytes;
    *scratch_bytes = l.scratch_bytes;
    return true;
}

/* ---- weights -------------------------------------------------------------------------------- */

static void put_weight(const struct integer_kernels *k, uint8_t *packed, uint64_t i, int8_t w)
{
    if (k->wide)
        ((int16_t *)(void *)packed)[i] = w;
    else
        packed[i] = (uint8_t)w;
}

/* sum[i], packed: of channel depthwise_begin(b) + depthwise_channel(i) */
static void pack_depthwise(const struct integer_conv *c, const struct layout *l,
                           const struct integer_kernels *k, const struct integer_weights *weights,
                           uint32_t *sum, uint8_t *packed)
{
    uint64_t at = 0;
    uint32_t taps = c->kh * c->kw;
    for (uint32_t b = 0; b < l->rounded / k->block; b++)
        for (uint32_t t = 0; t < l->segments; t += k->group)
            for (uint32_t i = 0; i < k->block; i++)
                for (uint32_t j = t; j < t + k->group; j++, at++) {
                    uint32_t o =
                        depthwise_begin(k->block, c->channels, b) + depthwise_channel(k->block, i);
                    int32_t w =
                        o < c->channels && j < taps ? weights->w[o * weights->output + j] : 0;
                    put_weight(k, packed, at, (int8_t)w);
                    sum[b * k->block + i] += (uint32_t)w;
                }
}

/* Weight e of segment s of output o. */
static int32_t weight_at(const struct layout *l, const struct integer_weights *weights, size_t o,
                         uint32_t s, uint32_t e)
{
    uint32_t tap = e / l->cg + s * (l->run / l->cg);
    return weights->w[o * weights->output + e % l->cg * weights->channel + tap];
}

/* The number of w in the table, which begins with 0; n: those that are there. */
static uint8_t number_of(int8_t *table, uint32_t *n, int8_t w)
{
    uint32_t i = 0;
    while (i < *n && table[i] != w)
        i++;
    if (i == *n)
        table[(*n)++] = w; /* 15 others at most: few_weights */
    return (uint8_t)i;
}

/* Weight i of a panel whose steps take `step` bytes. */
static void put_half(uint8_t *panel, uint64_t i, uint64_t step, uint8_t number)
{
    uint8_t *at = &panel[i / step / 2 * step + i % step];
    *at |= (uint8_t)(i / step % 2 ? number << 4 : number);
}

static void pack_halved(const struct layout *l, const struct integer_kernels *k,
                        const struct integer_weights *weights, uint32_t *sum, uint8_t *packed)
{
    int8_t *table = (int8_t *)packed - TABLE;
    uint32_t known = 1;
    memset(table, 0, TABLE + l->group_bytes);
    for (uint32_t o = 0; o < l->og; o++)
        for (uint32_t e = 0; e < l->run; e++) {
            int32_t w = weight_at(l, weights, o, 0, e);
            uint64_t i = ((uint64_t)(e / k->k_step) * k->nr + o % k->nr) * k->k_step + e % k->k_step;
            put_half(packed + o / k->nr * l->panel_bytes, i, (uint64_t)k->nr * k->k_step,
                     number_of(table, &known, (int8_t)w));
            sum[o] += (uint32_t)w;
        }
}

/* first: its first output */
static void pack_group(const struct layout *l, const struct integer_kernels *k,
                       const struct integer_weights *weights, uint32_t first, uint32_t *sum,
                       uint8_t *packed)
{
    uint64_t at = 0;
    for (uint32_t p = 0; p < l->rounded; p += k->nr)
        for (uint32_t s = 0; s < l->segments; s++)
            for (uint32_t e = 0; e < l->steps * k->k_step; e += k->k_step)
                for (uint32_t o = p; o < p + k->nr; o++)
                    for (uint32_t j = e; j < e + k->k_step; j++, at++) {
                        int32_t w = 0;
                        if (o < l->og && j < l->run)
                            w = weight_at(l, weights, (size_t)first + o, s, j);
                        put_weight(k, packed, at, (int8_t)w);
                        sum[o] += (uint32_t)w;
                    }
}

void pith_integer_conv_pack(const struct integer_conv *c, const struct op_env *env,
                            const struct integer_weights *weights, void *prep)
{
    const struct integer_kernels *k = &env->kernels->integer;
    struct layout l = layout_of(c, k);
    uint32_t *sum = prep;
    uint8_t *packed = (uint8_t *)prep + l.packed_at;
    memset(sum, 0, l.packed_at);
    if (l.depthwise) {
        pack_depthwise(c, &l, k, weights, sum, packed);
        return;
    }
    if (l.halved) {
        pack_halved(&l, k, weights, sum, packed);
        return;
    }
    for (uint32_t g = 0; g < c->groups; g++)
        pack_group(&l, k, weights, g * l.og, sum + (size_t)g * l.rounded,
                   packed + g * l.group_bytes);
}

/* ---- a run ---------------------------------------------------------------------------------- */

struct conv_run {
    const struct integer_conv *c;
    const struct integer_conv_data *data;
    const struct integer_kernels *k;
    struct layout l;
    uint64_t units;
    uint8_t zero; /* of x as the kernels see it */
    const uint8_t *packed;
    int32_t *offset;
    float *factor;
    uint32_t *segment;
    uint8_t *chunks;
};

/* Of place i of the rounded outputs, which is for output o, or from c->outputs on for none. */
static inline void set_output(const struct conv_run *r, uint32_t i, uint32_t o)
{
    const struct integer_conv_data *d = r->data;
    const uint32_t *sum = d->prep;
    uint32_t some = o < r->c->outputs ? o : 0, bias = d->bias ? (uint32_t)d->bias[some] : 0;
    r->offset[i] = (int32_t)(bias - r->zero * sum[i]);
    r->factor[i] = d->factor ? d->factor[some * d->factor_step] : 0.0f;
}

/* Once a run: of a matrix with one vector, in a loop, a division each would take as long as the product. */
static void set_outputs(const struct conv_run *r)
{
    const struct layout *l = &r->l;
    uint32_t block = r->k->block;
    for (uint32_t i = 0; i < l->rounded && l->depthwise; i++)
        set_output(r, i, depthwise_begin(block, r->c->channels, i / block) +
                             depthwise_channel(block, i % block));
    for (uint32_t g = 0; g < r->c->groups && !l->depthwise; g++)
        for (uint32_t i = 0; i < l->rounded; i++)
            set_output(r, g * l->rounded + i, i < l->og ? g * l->og + i : r->c->outputs);
}

/* Where the segments of a window begin, or its taps: behind the last one any. */
static void set_segments(const struct conv_run *r)
{
    const struct integer_conv *c = r->c;
    const struct layout *l = &r->l;
    uint32_t taps = c->kh * c->kw, step = l->run > l->cg ? c->kw : 1;
    for (uint32_t s = 0; s < l->segments; s++) {
        uint64_t tap = (uint64_t)s * step;
        tap = tap < taps ? tap : 0;
        r->segment[s] =
            (uint32_t)(tap / c->kw * c->dil_h * l->row + tap % c->kw * c->dil_w * l->pixel);
    }
}

/* n bytes as the kernels see them */
static void copy_run(uint8_t *to, const uint8_t *x, size_t n, uint8_t flip, bool wide)
{
    if (wide) {
        uint16_t *words = (void *)to;
        for (size_t i = 0; i < n; i++)
            words[i] = (uint8_t)(x[i] ^ flip);
    } else if (flip) {
        for (size_t i = 0; i < n; i++)
            to[i] = x[i] ^ flip;
    } else {
        memcpy(to, x, n);
    }
}

static void fill_zero(uint8_t *to, size_t n, uint8_t zero, bool wide)
{
    uint16_t *words = (void *)to;
    if (!wide)
        memset(to, zero, n);
    else
        for (size_t i = 0; i < n; i++)
            words[i] = zero;
}

/* Columns [from, to) of input row `row`, channels [c0, c0 + n). */
static void copy_columns(const struct conv_run *r, size_t image, size_t row, size_t from, size_t to,
                         uint32_t c0, uint32_t n, uint8_t *band)
{
    const struct integer_conv *c = r->c;
    bool wide = r->k->wide && !r->l.depthwise;
    uint8_t flip = c->x_signed ? 0x80 : 0;
    if (c->channels_last) {
        const uint8_t *x = r->data->x + ((image * c->h + row) * c->w + from) * c->channels + c0;
        if (n == c->channels)
            copy_run(band, x, (to - from) * n, flip, wide);
        else
            for (size_t i = from; i < to; i++, x += c->channels, band += r->l.pixel)
                copy_run(band, x, n, flip, wide);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *x = r->data->x + ((image * c->channels + c0 + i) * c->h + row) * c->w;
        for (size_t j = from; j < to; j++) {
            if (wide)
                ((uint16_t *)(void *)band)[(j - from) * n + i] = (uint8_t)(x[j] ^ flip);
            else
                band[(j - from) * n + i] = x[j] ^ flip;
        }
    }
}

/* The input rows under output rows oy .. of an image. */
static void fill_band(const struct conv_run *r, size_t image, uint32_t oy, uint32_t c0,
                      uint8_t *band)
{
    const struct integer_conv *c = r->c;
    const struct layout *l = &r->l;
    bool wide = r->k->wide && !l->depthwise;
    uint32_t n = l->depthwise ? c->channels : l->cg;
    size_t left = least(c->pad_left, l->width), inside = least(l->width - left, c->w);
    size_t right = l->width - left - inside;
    int64_t iy = (int64_t)oy * c->stride_h - c->pad_top;
    for (uint64_t i = 0; i < l->in_rows; i++, iy++, band += l->row) {
        if (iy < 0 || iy >= c->h) {
            fill_zero(band, l->width * n, r->zero, wide);
            continue;
        }
        fill_zero(band, left * n, r->zero, wide);
        copy_columns(r, image, (size_t)iy, 0, inside, c0, n, band + left * l->pixel);
        fill_zero(band + (left + inside) * l->pixel, right * n, r->zero, wide);
    }
}

/* n pixels of `outputs` values, `step` bytes apart, into planes from pixel `at` of output o on. */
static void write_planes(const struct conv_run *r, size_t image, uint32_t o, uint32_t outputs,
                         size_t at, uint32_t n, const uint8_t *tile, size_t step)
{
    const struct integer_conv *c = r->c;
    size_t pixels = (size_t)c->oh * c->ow, plane = (image * c->outputs + o) * pixels + at;
    for (uint32_t i = 0; i < outputs; i++, plane += pixels)
        for (uint32_t p = 0; p < n; p++) {
            if (c->to_values)
                r->data->y[plane + p] = tile[p * step + i];
            else
                memcpy(r->data->y + (plane + p) * 4, tile + p * step + i * (size_t)4, 4);
        }
}

/* A band: output rows [oy, oy + rows) of an image, outputs [o0, o1). x: channel 0 of its first
 * output's window. */
struct conv_band {
    size_t image;
    uint32_t oy, rows, o0, o1;
    const uint8_t *x;
    const uint8_t **pixel; /* [TILE] */
    uint8_t *tile;
};

static struct requantize outputs_from(const struct conv_run *r, size_t first)
{
    return (struct requantize){r->offset + first, r->c->to_values ? r->factor + first : NULL,
                               r->data->zero_y, r->c->y_signed};
}

static void depthwise_rows(const struct conv_run *r, const struct conv_band *b)
{
    const struct integer_conv *c = r->c;
    size_t step = c->y_step ? c->y_step : (size_t)aligned(c->channels);
    for (uint32_t row = 0; row < b->rows; row++)
        for (uint32_t ox = 0, n; ox < c->ow; ox += n) {
            size_t at = (size_t)(b->oy + row) * c->ow + ox;
            n = c->y_step ? c->ow : least(TILE, c->ow - ox);
            struct depthwise_i8_job job = {.x = b->x + (size_t)row * c->stride_h * r->l.row +
                                                (size_t)ox * c->stride_w * r->l.pixel,
                                           .x_step = c->stride_w * r->l.pixel,
                                           .tap = r->segment,
                                           .groups = r->l.segments / r->k->group,
                                           .w = r->packed,
                                           .to = outputs_from(r, 0),
                                           .y = b->tile,
                                           .y_step = step,
                                           .m = n,
                                           .channels = c->channels};
            if (c->y_step)
                job.y = r->data->y + (b->image * c->oh * c->ow + at) * step;
            r->k->depthwise_i8(&job);
            if (!c->y_step)
                write_planes(r, b->image, 0, c->channels, at, n, b->tile, step);
        }
}

/* m pixels of n sums in place, y_step bytes apart: (f32)sum * factor */
static void scale_sums(const float *factor, uint8_t *y, size_t y_step, uint32_t m, uint32_t n)
{
    for (uint32_t i = 0; i < m; i++, y += y_step) {
        for (uint32_t o = 0; o < n; o++) {
            int32_t sum;
            memcpy(&sum, y + o * sizeof sum, sizeof sum);
            float real = (float)sum * factor[o];
            memcpy(y + o * sizeof real, &real, sizeof real);
        }
    }
}

/* n pixels from pixel `at` of the band on, which b->pixel points to. */
static void multiply(const struct conv_run *r, const struct conv_band *b, uint32_t group, size_t at,
                     uint32_t n)
{
    const struct integer_conv *c = r->c;
    const struct layout *l = &r->l;
    size_t element = c->to_values ? 1 : 4, first = (size_t)b->oy * c->ow + at;
    for (uint32_t o = b->o0, outputs; o < b->o1; o += outputs) {
        outputs = c->y_step ? b->o1 - o : least(PART, b->o1 - o);
        struct gemm_i8_job job = {.x = b->pixel,
                                  .segment = r->segment,
                                  .segments = l->segments,
                                  .steps = l->steps,
                                  .w = r->packed + group * l->group_bytes +
                                       o / r->k->nr * l->panel_bytes,
                                  .panel_bytes = l->panel_bytes,
                                  .table = (const int8_t *)r->packed - TABLE,
                                  .to = outputs_from(r, (size_t)group * l->rounded + o),
                                  .y = b->tile,
                                  .y_step = c->y_step ? c->y_step * element : PART * element,
                                  .m = n,
                                  .n = outputs};
        uint32_t channel = group * l->og + o;
        if (c->y_step)
            job.y =
                r->data->y + ((b->image * c->oh * c->ow + first) * c->y_step + channel) * element;
        if (l->halved)
            r->k->gemm_i4(&job);
        else
            r->k->gemm_i8(&job);
        if (c->to_real)
            scale_sums(r->factor + (size_t)group * l->rounded + o, job.y, job.y_step, n, outputs);
        if (!c->y_step)
            write_planes(r, b->image, channel, outputs, first, n, b->tile, job.y_step);
    }
}

static void product_rows(const struct conv_run *r, const struct conv_band *b, uint32_t group)
{
    const struct integer_conv *c = r->c;
    size_t pixels = (size_t)b->rows * c->ow, step = c->stride_w * r->l.pixel;
    uint32_t ox = 0;
    const uint8_t *row = b->x;
    for (size_t at = 0; at < pixels;) {
        uint32_t n = least(TILE, pixels - at);
        for (uint32_t i = 0; i < n; i++) {
            b->pixel[i] = row + ox * step;
            if (++ox == c->ow) {
                ox = 0;
                row += c->stride_h * r->l.row;
            }
        }
        multiply(r, b, group, at, n);
        at += n;
    }
}

static void run_unit(const struct conv_run *r, uint64_t unit, uint8_t *memory)
{
    const struct integer_conv *c = r->c;
    const struct layout *l = &r->l;
    uint32_t part = (uint32_t)(unit % l->parts), groups = l->depthwise ? 1 : c->groups;
    uint64_t band = unit / l->parts, outer = band / l->bands;
    uint32_t group = (uint32_t)(outer % groups), blocks = (l->og + PART - 1) / PART;
    struct conv_band b = {.image = (size_t)(outer / groups),
                          .oy = (uint32_t)(band % l->bands) * l->rows,
                          .o0 = least((uint64_t)blocks * part / l->parts * PART, l->og),
                          .o1 = least((uint64_t)blocks * (part + 1) / l->parts * PART, l->og),
                          .pixel = (void *)(memory + l->band_bytes)};
    b.tile = (uint8_t *)b.pixel + aligned(TILE * sizeof *b.pixel);
    b.rows = least(l->rows, c->oh - b.oy);
    uint32_t first = l->depthwise ? 0 : group * l->cg;
    b.x = memory;
    if (l->in_place)
        b.x = r->data->x + (b.image * c->h + (size_t)b.oy * c->stride_h) * l->row + first;
    else
        fill_band(r, b.image, b.oy, first, memory);
    if (l->depthwise)
        depthwise_rows(r, &b);
    else
        product_rows(r, &b, group);
}

static void run_chunk(void *arg, uint32_t i)
{
    const struct conv_run *r = arg;
    uint64_t end = r->units * (i + 1) / r->l.chunks;
    for (uint64_t u = r->units * i / r->l.chunks; u < end; u++)
        run_unit(r, u, r->chunks + i * r->l.chunk_bytes);
}

void pith_integer_conv_run(const struct integer_conv *c, const struct op_env *env,
                           const struct integer_conv_data *data)
{
    struct conv_run r = {.c = c, .data = data, .k = &env->kernels->integer};
    uint8_t *scratch = env->scratch;
    r.l = layout_of(c, r.k);
    r.zero = (uint8_t)(data->zero_x + (c->x_signed ? 128 : 0));
    r.packed = (const uint8_t *)data->prep + r.l.packed_at;
    r.offset = (void *)scratch;
    r.factor = (void *)(scratch + r.l.segment_at / 2);
    r.segment = (void *)(scratch + r.l.segment_at);
    r.chunks = scratch + r.l.chunks_at;
    set_outputs(&r);
    set_segments(&r);
    uint64_t groups = r.l.depthwise ? 1 : c->groups;
    r.units = c->n * groups * r.l.bands * r.l.parts;
    pith_op_parallel(env, r.l.chunks, run_chunk, &r);
}
