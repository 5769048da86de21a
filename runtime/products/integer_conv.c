/* SPDX-License-Identifier: MIT */
/* integer_conv.c - how integer convolutions run on the kernels of kernel_integer.h.
 *
 * Work is cut into units: a band of output rows of one image and group, or a part of its outputs.
 * The kernels read x where it lies when it is channels-last, u8 and has no padding; else the input
 * rows under a band are copied first - put into channels-last order, padded with the zero point,
 * shifted to u8, widened - so borders cost the kernels nothing (integer_layout.h).
 *
 * Where y is not channels-last, tiles of TILE pixels by PART outputs are written there transposed.
 */
#include "products/integer_conv.h"
#include "products/integer_places.h"
#include "kernels/ref/integer_element.h"
#include "op_interface/turn.h"

struct conv_run {
    const struct integer_conv *c;
    const struct integer_conv_data *data;
    const struct integer_kernels *k;
    const struct integer_layout *l;
    uint64_t units;
    int32_t zero; /* of x as the kernels see it */
    const uint8_t *packed;
    int32_t *offset; /* or, where sums are long, i64, to the end of the factors */
    float *factor;
    uint32_t *segment;
    uint8_t *lanes, *bands;
};

/* Of place i of a depthwise product, which is for output o. Factors stand there where the kernel
 * takes them, else in the order of outputs, as real_sums and put_values do. */
static inline void set_output(const struct conv_run *r, uint32_t i, uint32_t o)
{
    const struct integer_conv_data *d = r->data;
    uint32_t bias = d->bias ? ((const uint32_t *)d->bias)[o] : 0;
    uint32_t zero = (uint32_t)(r->zero - r->l->middle);
    r->offset[i] = (int32_t)(bias - zero * ((const uint32_t *)d->prep)[i]);
    if (d->factor)
        r->factor[r->c->to_values && !r->c->zero_w ? i : o] = d->factor[o * d->factor_step];
}

/* Of a group where sums are long; those of 16 bits are never fused. */
static void set_long(const struct conv_run *r, uint32_t g)
{
    const struct integer_layout *l = r->l;
    const uint64_t zero = (uint64_t)(int64_t)r->zero, *bias = r->data->bias;
    const uint64_t *sum = (const uint64_t *)r->data->prep + (size_t)g * l->rounded;
    uint64_t *offset = (uint64_t *)(void *)r->offset + (size_t)g * l->rounded;
    for (uint32_t i = 0; i < l->rounded; i++)
        offset[i] = (bias && i < l->og ? bias[(size_t)g * l->og + i] : 0) - zero * sum[i];
}

/* Loops that compilers make vectors of, as a matrix with one vector and many outputs takes little
 * longer than these. */
void pith_integer_conv_offsets(const struct integer_layout *l, const struct integer_conv_data *d,
                               int32_t zero_x, uint32_t g, int32_t *offsets, float *factors)
{
    const uint32_t n = l->og, zero = (uint32_t)(zero_x - l->middle);
    const size_t at = (size_t)g * l->rounded, first = (size_t)g * n;
    const uint32_t *restrict sum = (const uint32_t *)d->prep + at;
    const uint32_t *restrict bias = d->bias ? (const uint32_t *)d->bias + first : NULL;
    uint32_t *restrict offset = (uint32_t *)offsets + at;
    float *restrict factor = factors + at;
    const float none = 0.0f, *from = d->factor ? d->factor + first * d->factor_step : &none;
    const size_t step = d->factor ? d->factor_step : 0;
    for (uint32_t i = 0; i < l->rounded; i++) /* sums behind the last output are 0 */
        offset[i] = 0u - zero * sum[i];
    for (uint32_t i = 0; bias && i < n; i++)
        offset[i] += bias[i];
    memset(factor + n, 0, (l->rounded - n) * sizeof *factor);
    if (step)
        memcpy(factor, from, n * sizeof *factor);
    for (uint32_t i = 0; !step && i < n; i++)
        factor[i] = *from;
}

/* Once a run: of a matrix with one vector, in a loop, a division each would take as long as the
 * product. */
static void set_outputs(const struct conv_run *r)
{
    const struct integer_layout *l = r->l;
    uint32_t block = r->k->block;
    for (uint32_t i = 0; i < l->rounded && l->depthwise; i++)
        set_output(r, i, depthwise_place(block, r->c->outputs, i / block, i % block));
    for (uint32_t g = 0; g < r->c->groups && !l->depthwise; g++)
        if (r->c->long_sums)
            set_long(r, g);
        else
            pith_integer_conv_offsets(l, r->data, r->zero, g, r->offset, r->factor);
}

/* Where the segments of a window begin, or its taps: behind the last one any. Depthwise kernels
 * take taps in whole groups; those behind the last read the place of tap 0, and their weights are
 * 0. */
static void set_segments(const struct conv_run *r)
{
    const struct integer_conv *c = r->c;
    const struct integer_layout *l = r->l;
    uint32_t taps = c->kh * c->kw, step = l->segments < taps ? c->kw : 1;
    for (uint32_t s = 0; s < l->segments; s++) {
        uint64_t tap =
            l->depthwise ? depthwise_tap(r->k->group, c->kh, c->kw, s) : (uint64_t)s * step;
        tap = tap < taps ? tap : 0;
        uint64_t y = tap / c->kw * c->dil_h, x = tap % c->kw * c->dil_w;
        if (GRID_BUILT && l->grid.rows_folded)
            y = (uint64_t)s * l->grid.step_h;
        r->segment[s] = (uint32_t)(y * l->row + x * l->pixel);
        if (GRID_BUILT && l->grid.step_h * l->grid.step_w > 1)
            r->segment[s] =
                (uint32_t)(y / l->grid.step_h * l->row + y % l->grid.step_h * l->grid.down_bytes +
                           x / l->grid.step_w * l->pixel +
                           x % l->grid.step_w * l->grid.across_bytes);
    }
}

/* n bytes as the kernels see them. Flipping the highest bit adds 128 to an i8, which makes it the
 * u8 that kernels multiply; the zero point is moved by as much. x may be the end of what is
 * written. */
static void copy_run(uint8_t *to, const uint8_t *x, size_t n, uint8_t flip, bool wide)
{
    if (wide) {
        uint16_t *words = (void *)to;
        for (size_t i = 0; i < n; i++)
            words[i] = (uint8_t)(x[i] ^ flip);
    } else if (flip) {
        for (size_t i = 0; i < n; i++)
            to[i] = x[i] ^ flip;
    } else if (to != x) {
        memcpy(to, x, n);
    }
}

/* Padding is the zero point, which stands for the real number 0. */
static void fill_zero(uint8_t *to, size_t n, int32_t zero, bool wide)
{
    uint16_t *words = (void *)to;
    if (!wide)
        memset(to, zero, n);
    else
        for (size_t i = 0; i < n; i++)
            words[i] = (uint16_t)zero;
}

/* The first `inside` pixels of input row `row`, n channels from from->channel on, of 16 bits: as
 * i16. Kernels of 16 bits take i16: an u16 goes 32768 down by its highest bit. */
static void copy_words(const struct conv_run *r, const struct place_band *from, size_t row,
                       size_t inside, uint32_t n, uint16_t *band)
{
    const struct integer_conv *c = r->c;
    const uint16_t flip = c->x_signed ? 0 : 0x8000, *x = (const void *)from->x;
    size_t plane = (size_t)c->h * c->w, pixel = c->channels_last ? c->channels : 1;
    x += from->image * plane * c->channels + row * c->w * pixel +
         from->channel * (c->channels_last ? 1 : plane);
    for (size_t i = 0; i < n; i++, x += c->channels_last ? 1 : plane)
        for (size_t p = 0; p < inside; p++)
            band[p * n + i] = x[p * pixel] ^ flip;
}

/* The same of n channels of bytes, as u8, each as often as a depthwise product has outputs of it.
 * Planes are turned to the end of what they become. */
static void copy_bytes(const struct conv_run *r, const struct place_band *from, size_t row,
                       size_t inside, uint32_t n, uint8_t *band)
{
    const struct integer_conv *c = r->c;
    const bool wide = r->l->wide && !r->l->depthwise;
    const uint8_t flip = c->x_signed ? 0x80 : 0;
    const uint32_t times = r->l->depthwise ? r->l->og : 1;
    const size_t plane = (size_t)c->h * c->w;
    const uint8_t *x = from->x + from->image * plane * c->channels;
    if (!c->channels_last) {
        uint8_t *last = wide ? band + inside * n : band;
        const struct turned t = {(ptrdiff_t)plane, times * n, times * n, inside, 1, times};
        pith_turn(&t, x + from->channel * plane + row * c->w, last);
        copy_run(band, last, inside * t.rows, flip, wide);
        return;
    }
    x += row * c->w * c->channels + from->channel;
    if (times > 1) {
        pith_turn(&(struct turned){1, 1, inside * n * times, 1, 1, times}, x, band);
        copy_run(band, band, inside * n * times, flip, wide);
    } else if (n == c->channels) {
        copy_run(band, x, inside * n, flip, wide);
    } else {
        for (size_t i = 0; i < inside; i++, x += c->channels, band += r->l->pixel)
            copy_run(band, x, n, flip, wide);
    }
}

/* from->rows input rows. Rows and columns outside the image are filled, so kernels need no test.
 * The padding on the left may be wider than all that the windows see of a row: `inside` is then 0.
 */
static void fill_rows(const struct conv_run *r, const struct place_band *from, uint8_t *band)
{
    const struct integer_conv *c = r->c;
    const struct integer_layout *l = r->l;
    bool wide = r->l->wide && !l->depthwise;
    const uint32_t n = l->depthwise ? c->channels : l->cg;
    const size_t pixel = l->depthwise ? c->outputs : l->cg;
    size_t left = least(c->pad_left, l->width), inside = least(l->width - left, c->w);
    size_t right = l->width - left - inside;
    int64_t iy = (int64_t)from->oy * c->stride_h - c->pad_top;
    for (uint64_t i = 0; i < from->rows; i++, iy++, band += l->row) {
        if (iy < 0 || iy >= c->h) {
            fill_zero(band, l->width * pixel, r->zero, wide);
            continue;
        }
        fill_zero(band, left * pixel, r->zero, wide);
        if (c->words)
            copy_words(r, from, (size_t)iy, inside, n, (void *)(band + left * l->pixel));
        else
            copy_bytes(r, from, (size_t)iy, inside, n, band + left * l->pixel);
        fill_zero(band + (left + inside) * l->pixel, right * pixel, r->zero, wide);
    }
}

/* The last band of an image may have less rows than others, and copies less. */
static void fill_band(const struct conv_run *r, size_t image, uint32_t oy, uint32_t c0,
                      uint8_t *band)
{
    const uint32_t left = r->c->oh - oy;
    const uint64_t missing = r->l->rows > left ? r->l->rows - left : 0;
    struct place_band from = {.x = r->data->x,
                              .zero = r->zero,
                              .image = image,
                              .oy = oy,
                              .channel = c0,
                              .rows = r->l->in_rows - missing};
    if (GRID_BUILT && (r->l->grid.folded || r->l->grid.step_h > 1 || r->l->grid.step_w > 1))
        pith_integer_fill_places(r->c, r->l, &r->k->bytes, &from, band);
    else {
        from.rows = r->l->in_rows - missing * r->c->stride_h;
        fill_rows(r, &from, band);
    }
}

/* [n pixels][outputs] values, pixels `step` bytes apart. */
struct sums_tile {
    const uint8_t *sums;
    size_t step;
    uint32_t n, outputs;
};

/* A tile into planes [outputs][pixels] from pixel `at` of output o on. */
static void write_planes(const struct conv_run *r, size_t image, uint32_t o, size_t at,
                         const struct sums_tile *t)
{
    const struct integer_conv *c = r->c;
    size_t pixels = (size_t)c->oh * c->ow, element = c->to_values ? 1 : integer_sum_bytes(c);
    uint8_t *plane = r->data->y + ((image * c->outputs + o) * pixels + at) * element;
    pith_turn(&(struct turned){(ptrdiff_t)(t->step / element), pixels, t->n, t->outputs,
                               (uint32_t)element, 1},
              t->sums, plane);
}

/* A band: output rows [oy, oy + rows) of an image, outputs [o0, o1). x: channel 0 of its first
 * output's window. */
struct conv_band {
    size_t image;
    uint32_t oy, rows, o0, o1;
    const uint8_t *x;
    const uint8_t **pixel; /* [TILE] */
    uint8_t *tile, *windows;
    int32_t *sums; /* where weights have a zero point: of a depthwise product, else set_less */
};

/* What the kernel makes of sums from place `first` on, counted in sums: one of 64 bits is two of
 * offset's elements. Without factors the kernel leaves the sums; where real numbers are wanted
 * bytes.real_sums makes them afterwards. */
static struct requantize outputs_from(const struct conv_run *r, size_t first)
{
    return (struct requantize){r->offset + first * integer_sum_bytes(r->c) / sizeof *r->offset,
                               r->c->to_values ? r->factor + first : NULL, r->data->zero_y,
                               r->c->y_signed};
}

/* ---- zero points of weights ------------------------------------------------------------------
 *
 * They take zero_w times what x has under a window above its own zero point off each sum: kernels
 * are handed that for each pixel. Of depthwise products it is one for each sum, so sums come first
 * and values are made of them here. */

/* What the windows of n pixels, which `pixel` points to, take off each sum. */
static void set_less(const struct conv_run *r, const uint8_t *const *pixel, uint32_t n,
                     uint32_t *less)
{
    const struct integer_layout *l = r->l;
    const uint32_t zero = (uint32_t)r->zero * l->run * l->segments;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (uint32_t s = 0; s < l->segments; s++) {
            const uint8_t *x = pixel[i] + r->segment[s];
            const uint16_t *words = (const void *)x;
            for (uint32_t e = 0; e < l->run && l->wide; e++)
                sum += words[e];
            for (uint32_t e = 0; e < l->run && !l->wide; e++)
                sum += x[e];
        }
        less[i] = (uint32_t)r->data->zero_w * (sum - zero);
    }
}

/* n sums of a depthwise product, in the order of outputs, as a kernel makes values of them. */
static void put_values(const struct conv_run *r, int32_t *sum, uint32_t n, uint8_t *y)
{
    const struct byte_grid grid = byte_grid_of(r->c->y_signed, 1.0f, r->data->zero_y);
    r->k->bytes.real_sums(r->factor, (uint8_t *)sum, n);
    r->k->bytes.quantize(&grid, (const float *)(const void *)sum, y, n);
}

#define BLOCK 16u
typedef uint16_t words __attribute__((vector_size(BLOCK)));

/* Takes off BLOCK sums, of which n are there, of channels from x on. */
static inline void take_block(const struct conv_run *r, const struct depthwise_i8_job *job,
                              const uint8_t *x, uint32_t n, uint32_t *sum)
{
    const uint32_t taps = r->c->kh * r->c->kw, factor = (uint32_t)r->data->zero_w;
    const uint32_t zero = (uint32_t)r->zero * taps;
    words even = {0}, odd = {0};
    for (uint32_t t = 0; t < r->l->segments; t++) {
        words two = {0};
        if (depthwise_tap(r->k->group, r->c->kh, r->c->kw, t) == taps)
            continue;
        memcpy(&two, x + job->tap[t], n);
        even += two & 0xff;
        odd += two >> 8;
    }
    /* which of two bytes is the lower one of a word depends on the machine */
    const uint32_t first = load_le16(&(uint16_t){1}) == 1 ? 0 : 1;
    uint16_t under[BLOCK];
    for (uint32_t j = 0; j < BLOCK / 2; j++) {
        under[2 * j + first] = even[j];
        under[2 * j + 1 - first] = odd[j];
    }
    for (uint32_t j = 0; j < n; j++)
        sum[j] -= factor * (under[j] - zero);
}

/* Takes off the sums of a depthwise product what each channel's windows ask for. */
static void take_depthwise(const struct conv_run *r, const struct depthwise_i8_job *job)
{
    for (size_t i = 0; i < job->m; i++)
        for (uint32_t c = 0; c < job->channels; c += BLOCK) {
            const uint8_t *x = job->x + i * job->x_step + c;
            uint32_t *sum = (uint32_t *)(void *)(job->y + i * job->y_step) + c;
            if (job->channels - c >= BLOCK)
                take_block(r, job, x, BLOCK, sum);
            else
                take_block(r, job, x, job->channels - c, sum);
        }
}

/* ---- products ------------------------------------------------------------------------------- */

/* Where y is channels-last the kernel writes a whole row to it; else tiles, of several rows where
 * these are short, go through memory of their own. */
static void depthwise_rows(const struct conv_run *r, const struct conv_band *b)
{
    const struct integer_conv *c = r->c;
    const size_t element = c->to_values ? 1 : integer_sum_bytes(c);
    const size_t step = c->y_step ? c->y_step * element : aligned_bytes(c->outputs * element);
    const bool columns =
        r->k->group == 4 && c->kh == 3 && c->kw == 3 && c->stride_w == 1 && c->dil_w == 1;
    uint32_t held = 0; /* pixels in the tile */
    for (uint32_t row = 0; row < b->rows; row++)
        for (uint32_t ox = 0, n; ox < c->ow; ox += n) {
            size_t at = (size_t)(b->oy + row) * c->ow + ox;
            n = c->zero_w   ? least(FEW_PIXELS, c->ow - ox)
                : c->y_step ? c->ow
                            : least(TILE, c->ow - ox);
            struct depthwise_i8_job job = {.x = b->x + (size_t)row * c->stride_h * r->l->row +
                                                (size_t)ox * c->stride_w * r->l->pixel,
                                           .x_step = c->stride_w * r->l->pixel,
                                           .tap = r->segment,
                                           .groups = r->l->segments / r->k->group,
                                           .w = r->packed,
                                           .to = outputs_from(r, 0),
                                           .y = b->tile + held * step,
                                           .y_step = step,
                                           .m = n,
                                           .channels = c->outputs,
                                           .columns = columns};
            if (c->y_step)
                job.y = r->data->y + (b->image * c->oh * c->ow + at) * step;
            uint8_t *y = job.y;
            if (c->zero_w && c->to_values) {
                job.to.factor = NULL;
                job.y = (void *)b->sums;
                job.y_step = (size_t)c->outputs * sizeof *b->sums;
            }
            r->k->depthwise_i8(&job);
            if (c->zero_w)
                take_depthwise(r, &job);
            for (uint32_t i = 0; c->zero_w && c->to_values && i < n; i++)
                put_values(r, b->sums + (size_t)i * c->outputs, c->outputs, y + i * step);
            for (uint32_t i = 0; c->to_real && i < n; i++)
                r->k->bytes.real_sums(r->factor, job.y + i * step, c->outputs);
            held += n;
            if (c->y_step || (held + c->ow <= TILE && row + 1 < b->rows))
                continue;
            write_planes(r, b->image, 0, at + n - held,
                         &(struct sums_tile){b->tile, step, held, c->outputs});
            held = 0;
        }
}

/* Rows just written to y, with those of the residual, which begin at its element `at`. */
static void add_residual(const struct conv_run *r, struct combined_rows rows, size_t at)
{
    const bool joined = rows.step == rows.n && rows.b_step == rows.n;
    rows.a = rows.y;
    rows.b = r->data->residual + at;
    rows.n = joined ? rows.n * rows.rows : rows.n;
    rows.rows = joined ? 1 : rows.rows;
    r->k->bytes.combine(r->data->add, &rows);
}

/* n pixels from pixel `at` of the band on, which b->pixel points to. Where y is channels-last one
 * call writes all outputs of the part to y; else PART at a time go through the tile. */
static void multiply(const struct conv_run *r, const struct conv_band *b, uint32_t group, size_t at,
                     uint32_t n)
{
    const struct integer_conv *c = r->c;
    const struct integer_layout *l = r->l;
    size_t element = c->to_values ? 1 : integer_sum_bytes(c), first = (size_t)b->oy * c->ow + at;
    size_t pixels = (size_t)c->oh * c->ow;
    if (c->zero_w)
        set_less(r, b->pixel, n, (uint32_t *)b->sums);
    for (uint32_t o = b->o0, outputs; o < b->o1; o += outputs) {
        outputs = c->y_step ? b->o1 - o : least(PART, b->o1 - o);
        struct gemm_i8_job job = {.x = b->pixel,
                                  .less = c->zero_w ? (uint32_t *)b->sums : NULL,
                                  .segment = r->segment,
                                  .segments = l->segments,
                                  .steps = l->steps,
                                  .w = r->packed + group * l->prep.group_bytes +
                                       o / r->l->nr * l->prep.panel_bytes,
                                  .panel_bytes = l->prep.panel_bytes,
                                  .table = (const int8_t *)r->packed - TABLE,
                                  .halved = SLOTS_BUILT && l->slots.halved,
                                  .fetches = SLOTS_BUILT && l->slots.fetch,
                                  .to = outputs_from(r, (size_t)group * l->rounded + o),
                                  .y = b->tile,
                                  .y_step = (c->y_step ? c->y_step : outputs) * element,
                                  .m = n,
                                  .n = outputs,
                                  .x_step = l->pixel,
                                  .row = c->ow,
                                  .pitch = (uint32_t)l->width};
        uint32_t channel = group * l->og + o;
        if (c->y_step)
            job.y = r->data->y + ((b->image * pixels + first) * c->y_step + channel) * element;
        l->gemm(&job);
        if (c->to_real)
            for (uint32_t i = 0; i < n; i++)
                r->k->bytes.real_sums(r->factor + (size_t)group * l->rounded + o,
                                      job.y + i * job.y_step, outputs);
        const bool by_pixels = c->y_step || r->data->residual_last;
        if (r->data->residual && by_pixels)
            add_residual(
                r,
                (struct combined_rows){
                    .y = job.y, .n = outputs, .rows = n, .step = job.y_step, .b_step = c->outputs},
                (b->image * pixels + first) * c->outputs + channel);
        if (!c->y_step)
            write_planes(r, b->image, channel, first,
                         &(struct sums_tile){b->tile, job.y_step, n, outputs});
        size_t plane = (b->image * c->outputs + channel) * pixels + first;
        if (r->data->residual && !by_pixels)
            add_residual(r,
                         (struct combined_rows){.y = r->data->y + plane,
                                                .n = n,
                                                .rows = outputs,
                                                .step = pixels,
                                                .b_step = pixels},
                         plane);
    }
}

/* A grid is multiplied at once where y is channels-last, else in whole rows of pixels or parts of
 * one, as the tile has room for. */
static void product_grid(const struct conv_run *r, const struct conv_band *b, uint32_t group)
{
    const struct integer_conv *c = r->c;
    const size_t pixels = (size_t)b->rows * c->ow;
    const uint32_t most = c->ow <= TILE ? TILE / c->ow * c->ow : TILE;
    for (size_t at = 0, n; at < pixels; at += n) {
        const size_t ox = at % c->ow;
        n = c->y_step ? pixels : c->ow <= TILE ? least(most, pixels - at) : least(most, c->ow - ox);
        b->pixel[0] = b->x + at / c->ow * r->l->row + ox * r->l->pixel;
        multiply(r, b, group, at, (uint32_t)n);
    }
}

/* The rows of a window of slots side by side. */
static const uint8_t *copy_window(const struct conv_run *r, const uint8_t *from, uint8_t *to)
{
    const size_t n = (size_t)r->c->kw * r->l->cg;
    for (uint32_t i = 0; i < r->c->kh; i++, from += r->c->dil_h * r->l->row)
        memcpy(to + i * n, from, n);
    return to;
}

/* Kernels take a pointer for each pixel, so a tile goes on from the end of an output row in the
 * next one: tiles are full whatever the width of y is, except the last of a band. */
static void product_rows(const struct conv_run *r, const struct conv_band *b, uint32_t group)
{
    const struct integer_conv *c = r->c;
    size_t pixels = (size_t)b->rows * c->ow, step = c->stride_w * r->l->pixel;
    uint32_t ox = 0;
    const uint8_t *row = b->x;
    for (size_t at = 0; at < pixels;) {
        uint32_t n = least(r->l->tile, pixels - at);
        for (uint32_t i = 0; i < n; i++) {
            b->pixel[i] = row + ox * step;
            if (SLOTS_BUILT && r->l->window_bytes)
                b->pixel[i] = copy_window(r, b->pixel[i], b->windows + i * r->l->window_bytes);
            if (++ox == c->ow) {
                ox = 0;
                row += c->stride_h * r->l->row;
            }
        }
        multiply(r, b, group, at, n);
        at += n;
    }
}

/* Where band `band`, of an image and group, is. */
struct band_place {
    size_t image;
    uint32_t group, oy, channel; /* the first of its input */
};

/* Bands are counted within a group, and groups within an image. A depthwise product takes the
 * channels of all groups at once. */
static struct band_place place_of(const struct conv_run *r, uint64_t band)
{
    const struct integer_layout *l = r->l;
    uint32_t groups = l->depthwise ? 1 : r->c->groups;
    uint64_t outer = band / l->bands;
    uint32_t group = (uint32_t)(outer % groups);
    return (struct band_place){(size_t)(outer / groups), group,
                               (uint32_t)(band % l->bands) * l->rows,
                               l->depthwise ? 0 : group * l->cg};
}

/* All bands are filled before any unit runs: no chunk then waits for another one's band. */
static void fill(void *arg, uint32_t band)
{
    const struct conv_run *r = arg;
    struct band_place at = place_of(r, band);
    fill_band(r, at.image, at.oy, at.channel, r->bands + band * r->l->scratch.band_bytes);
}

/* Parts are cut at multiples of PART, which are multiples of nr: each begins with a panel. */
static void run_unit(const struct conv_run *r, uint64_t unit, uint32_t lane)
{
    const struct integer_conv *c = r->c;
    const struct integer_layout *l = r->l;
    uint8_t *memory = r->lanes + lane * l->scratch.lane_bytes;
    uint32_t part = (uint32_t)(unit % l->parts), blocks = (l->og + PART - 1) / PART;
    uint64_t band = unit / l->parts;
    uint8_t *filled = r->bands + (l->filled_first ? band : lane) * l->scratch.band_bytes;
    struct band_place at = place_of(r, band);
    struct conv_band b = {.image = at.image,
                          .oy = at.oy,
                          .rows = least(l->rows, c->oh - at.oy),
                          .o0 = least((uint64_t)blocks * part / l->parts * PART, l->og),
                          .o1 = least((uint64_t)blocks * (part + 1) / l->parts * PART, l->og),
                          .x = filled,
                          .pixel = (void *)memory,
                          .tile = memory + aligned_bytes(TILE * sizeof *b.pixel)};
    b.windows = b.tile + l->scratch.tile_bytes;
    b.sums = (void *)(memory + l->scratch.sums_at);
    if (l->in_place)
        b.x = r->data->x + (b.image * c->h + (size_t)b.oy * c->stride_h) * l->row +
              at.channel * integer_x_bytes(c);
    else if (!l->filled_first)
        fill_band(r, b.image, b.oy, at.channel, filled);
    if (l->depthwise)
        depthwise_rows(r, &b);
    else if (GRID_BUILT && l->grid.used)
        product_grid(r, &b, at.group);
    else
        product_rows(r, &b, at.group);
}

static void run_chunk(void *arg, uint32_t i, uint32_t lane)
{
    const struct conv_run *r = arg;
    uint64_t end = r->units * (i + 1) / r->l->chunks;
    for (uint64_t u = r->units * i / r->l->chunks; u < end; u++)
        run_unit(r, u, lane);
}

void pith_integer_conv_run(const struct integer_conv *c, const struct integer_layout *l,
                           const struct op_env *env, const struct integer_conv_data *data)
{
    struct conv_run r = {.c = c, .data = data, .k = &env->kernels->integer, .l = l};
    uint8_t *scratch = env->scratch;
    /* the zero point moves as x does when it is copied (copy_words, copy_bytes) */
    if (c->words)
        r.zero = data->zero_x - (c->x_signed ? 0 : 32768);
    else
        r.zero = (uint8_t)(data->zero_x + (c->x_signed ? 128 : 0));
    r.packed = (const uint8_t *)data->prep + l->prep.packed_at;
    r.offset = (void *)scratch;
    /* half of what is in front of the segments is offsets, half factors: set_memory */
    r.factor = (void *)(scratch + l->scratch.segment_at / 2);
    r.segment = (void *)(scratch + l->scratch.segment_at);
    r.lanes = scratch + l->scratch.lanes_at;
    r.bands = scratch + l->scratch.bands_at;
    set_outputs(&r);
    set_segments(&r);
    uint64_t groups = l->depthwise ? 1 : c->groups;
    uint64_t bands = c->n * groups * l->bands;
    r.units = bands * l->parts;
    if (l->filled_first)
        pith_op_parallel(env, (uint32_t)bands, fill, &r);
    pith_op_parallel_lanes(env, l->chunks, run_chunk, &r);
}
