/* SPDX-License-Identifier: MIT */
/* integer_direct.c - see integer_direct.h.
 *
 *     filters        two at a time, in the image or decoded, copied to scratch in the order in
 *                    which windows of x lie, then multiplied with all pixels, two at a time
 *     depthwise      four channels at a time, likewise
 *     [K, outputs]   in the image: four outputs at a time, all K; coded: some rows of K at a time,
 *                    added to sums of all outputs
 * A product with trans_b has its weights as a convolution has them.
 *
 * Where windows reach beyond x, or their rows are not pieces of it, rows of x are copied to lines
 * of scratch, with the zero point in the place of padding, which so adds nothing. Sums are modulo
 * 2^32: their order does not show. */
#include "products/integer_direct.h"
#include "kernels/ref/integer_element.h"
#include "kernels/ref/integer_tile.h"
#include "kernels/kernels.h"
#include "decode/weight_rows.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define MOST_ROWS 16u    /* of K, decoded at a time: sums are loaded and stored for each time */
#define ROWS_BYTES 3072u /* of them, or a longer one */

struct direct_run {
    const struct integer_conv *c;
    const struct integer_conv_data *data;
    uint32_t flip; /* of four x: i8 are multiplied as u8 */
    int32_t zero_x, zero_y;
    tile_zero less;
    uint32_t cg, og, taps;
    size_t x_row, x_pixel, x_channel, x_image; /* elements of x from one to the next */
    size_t y_pixel, y_output, y_image;
    /* scratch */
    struct tile_window window;
    uint32_t *packed;  /* two filters, or [taps] of four channels, or sums of a matrix */
    uint32_t *segment; /* [segments] */
    uint8_t *lines;    /* [ring][line]; NULL: x is read where it lies */
    uint32_t ring, line;
    int8_t *filter; /* coded weights, decoded */
    struct weight_rows *rows;
    const int8_t *image; /* weights as they are; NULL: coded */
};

static bool is_matrix(const struct op_args *args)
{
    return args->info->op == PITH_OP_MATMUL_INTEGER && !args->attr[ATTR_MATMUL_TRANS_B];
}

/* Four channels are read at once where each is a filter of its own. */
static bool is_depthwise(const struct integer_conv *c)
{
    return c->channels_last && !c->x_signed && c->groups == c->channels &&
           c->outputs == c->channels && c->channels >= 4;
}

static bool keeps_sums(const struct integer_conv *c)
{
    return !c->to_values && !c->to_real;
}

/* y has room for the sums, and each lies where its number will: it is read before that is written.
 */
static bool sums_in_y(const struct integer_conv *c)
{
    return keeps_sums(c) || (c->to_real && c->y_step == c->outputs);
}

/* Of the first operand of a product. */
static uint32_t rows_of(const struct integer_conv *c)
{
    return c->oh * c->ow;
}

static uint32_t rows_at_once(const struct integer_conv *c)
{
    const uint32_t fit = ROWS_BYTES / c->outputs & ~3u; /* add_rows takes four at once */
    return fit > MOST_ROWS ? MOST_ROWS : fit ? fit : 1;
}

/* ---- scratch -------------------------------------------------------------------------------- */

/* Does a window end beyond the last element of its axis? */
static bool reaches_out(uint32_t out, uint32_t kernel, uint32_t stride, uint32_t dil, uint32_t pad,
                        uint32_t size)
{
    return pad > 0 || (uint64_t)(out - 1) * stride + (uint64_t)(kernel - 1) * dil >= size;
}

/* One channel lies in either order. Lines are u8. */
static bool needs_lines(const struct integer_conv *c)
{
    return reaches_out(c->oh, c->kh, c->stride_h, c->dil_h, c->pad_top, c->h) ||
           reaches_out(c->ow, c->kw, c->stride_w, c->dil_w, c->pad_left, c->w) ||
           (!c->channels_last && c->channels > 1) || c->x_signed;
}

/* Pixels of a padded row. */
static uint32_t line_pixels(const struct integer_conv *c)
{
    const uint32_t reach = (c->ow - 1) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
    return reach > c->pad_left + c->w ? reach : c->pad_left + c->w;
}

/* Cuts n bytes off, or only counts them (mem NULL). */
static void *cut(uint8_t *mem, size_t *at, size_t bytes)
{
    void *p = mem ? mem + *at : NULL;
    *at += (bytes + 7) & ~(size_t)7;
    return p;
}

/* Returns the bytes that it takes, where mem is NULL. */
static size_t lay_out(struct direct_run *r, const struct weight *w, bool matrix, uint8_t *mem)
{
    const struct integer_conv *c = r->c;
    const size_t filter = (size_t)r->cg * r->taps;
    size_t at = 0;
    if (matrix) {
        const size_t sums =
            (size_t)rows_of(c) * c->outputs; /* < 2^31: pith_integer_conv_of_matmul */
        r->packed = w && !sums_in_y(c) ? cut(mem, &at, sums * sizeof(uint32_t)) : NULL;
        r->filter = w ? cut(mem, &at, (size_t)rows_at_once(c) * c->outputs) : NULL;
    } else if (is_depthwise(c)) {
        r->packed = cut(mem, &at, 4 * filter);
        r->filter = w ? cut(mem, &at, 4 * filter) : NULL;
    } else {
        const bool joins = c->dil_w == 1 && (c->groups == 1 || needs_lines(c));
        r->window.segments = joins ? c->kh : r->taps;
        r->window.n = joins ? c->kw * r->cg : r->cg;
        r->ring = (c->kh - 1) * c->dil_h + 1;
        r->line = line_pixels(c) * r->cg;
        r->packed = cut(mem, &at, tile_window_bytes(&r->window));
        r->segment = cut(mem, &at, r->window.segments * sizeof *r->segment);
        r->lines = needs_lines(c) ? cut(mem, &at, (size_t)r->ring * r->line) : NULL;
        r->filter = w ? cut(mem, &at, 2 * filter) : NULL;
    }
    if (w && mem)
        r->rows = pith_weight_rows_open(w, mem + at);
    return at + (w && !mem ? pith_weight_rows_bytes(w) : 0);
}

static struct direct_run run_of(const struct integer_conv *c)
{
    return (struct direct_run){
        .c = c, .cg = c->channels / c->groups, .og = c->outputs / c->groups, .taps = c->kh * c->kw};
}

/* Pixels of a 1x1 convolution that does not skip any are a single row, where they need no lines. */
static void join_rows(struct integer_conv *c)
{
    if (!needs_lines(c) && c->kh * c->kw == 1 && c->oh == c->h && c->ow == c->w) {
        c->w = c->ow = c->w * c->h;
        c->h = c->oh = 1;
    }
}

void pith_integer_direct_need(struct integer_conv *c, const struct op_args *args, bool coded,
                              struct op_need *need)
{
    const struct weight *w = coded ? args->weight : NULL;
    const bool matrix = is_matrix(args);
    join_rows(c);
    struct direct_run r = run_of(c);
    need->scratch_bytes = aligned_bytes(lay_out(&r, w, matrix, NULL));
    if (!coded)
        return;
    need->reads_rows = true;
    need->writes_last = matrix && !sums_in_y(c);
    need->prep_scratch_bytes = pith_weight_rows_bytes(w);
}

/* ---- results -------------------------------------------------------------------------------- */

/* What the sum of an output becomes, and its place in a pixel of y. */
struct output {
    uint32_t bias;
    float factor;
    size_t at;
};

static struct output output_of(const struct direct_run *r, uint32_t o)
{
    const struct integer_conv_data *d = r->data;
    return (struct output){d->bias ? ((const uint32_t *)d->bias)[o] : 0,
                           d->factor ? d->factor[o * d->factor_step] : 0.0f, o * r->y_output};
}

static void put_sum(const struct direct_run *r, size_t at, float real, uint32_t sum)
{
    uint8_t *y = r->data->y + at * sizeof sum;
    if (keeps_sums(r->c))
        __builtin_memcpy(y, &sum, sizeof sum); /* a call of memcpy without a libc */
    else
        __builtin_memcpy(y, &real, sizeof real);
}

/* at: of the pixel in y. */
static inline void put(const struct direct_run *r, size_t at, const struct output *o, uint32_t sum)
{
    sum += o->bias;
    const float real = (float)(int32_t)sum * o->factor;
    if (r->c->to_values)
        r->data->y[at + o->at] = tile_value(real, r->zero_y) ^ (r->c->y_signed ? 0x80 : 0);
    else
        put_sum(r, at + o->at, real, sum);
}

/* By the kernel that adds rows of bytes: it rounds as the packed kernels do. */
static __attribute__((noinline)) void add_residual(const struct direct_run *r,
                                                   const struct pith_kernels *kernels)
{
    const struct integer_conv *c = r->c;
    const struct integer_conv_data *d = r->data;
    const size_t pixels = (size_t)c->n * c->oh * c->ow;
    struct combined_rows rows = {.a = d->y, .b = d->residual, .y = d->y, .n = c->outputs * pixels};
    rows.rows = 1;
    if (c->y_step) {
        rows.n = rows.b_step = c->outputs;
        rows.rows = pixels;
        rows.step = c->y_step;
    }
    if (c->y_step || !d->residual_last) {
        kernels->integer.bytes.combine(d->add, &rows);
        return;
    }
    rows = (struct combined_rows){.n = 1, .rows = pixels / c->n, .step = 1, .b_step = c->outputs};
    for (size_t i = 0; i < (size_t)c->n * c->outputs; i++) {
        rows.a = rows.y = d->y + i * rows.rows;
        rows.b = d->residual + i / c->outputs * rows.rows * c->outputs + i % c->outputs;
        kernels->integer.bytes.combine(d->add, &rows);
    }
}

/* ---- filters -------------------------------------------------------------------------------- */

/* n filters from output o on, where they lie or as they are decoded; called in their order. */
static const int8_t *next_filters(const struct direct_run *r, uint32_t o, uint32_t n)
{
    const uint32_t each = r->cg * r->taps;
    if (r->image)
        return r->image + (size_t)o * each;
    pith_weight_rows_i8(r->rows, r->filter, n * each);
    return r->filter;
}

/* One of the two filters that lie side by side (integer_tile.h). */
static void pack_filter(const struct direct_run *r, const int8_t *w, uint32_t filter)
{
    const uint32_t n = r->window.n, each = (n + 3) / 4 * 8;
    int8_t *to = (int8_t *)r->packed + 4 * filter;
    uint32_t e = 0;
    for (uint32_t t = 0; t < r->taps; t++)
        for (uint32_t k = 0; k < r->cg; k++) {
            to[tile_place(&r->window, e)] = w[k * r->taps + t];
            if (++e == n) {
                e = 0;
                to += each;
            }
        }
}

/* The line of row `row` of x, which may lie outside; x: of its image and group. */
static void read_line(const struct direct_run *r, const uint8_t *x, int32_t row, uint8_t *line)
{
    const struct integer_conv *c = r->c;
    memset(line, r->zero_x, r->line);
    if (row < 0 || (uint32_t)row >= c->h)
        return;
    line += c->pad_left * r->cg;
    x += (uint32_t)row * r->x_row;
    if (c->channels_last && c->groups == 1 && !r->flip)
        tile_copy(line, x, (size_t)c->w * r->cg);
    else
        for (uint32_t i = 0; i < c->w; i++)
            for (uint32_t k = 0; k < r->cg; k++)
                *line++ = x[i * r->x_pixel + k * r->x_channel] ^ (uint8_t)r->flip;
}

/* Brings lines up to those of output row oy, and finds the segments of its windows; returns what
 * they begin in. *have: rows of x that are there, from -pad_top on. */
static const uint8_t *read_lines(const struct direct_run *r, const uint8_t *x, uint32_t oy,
                                 int32_t *have)
{
    const struct integer_conv *c = r->c;
    const int32_t first = (int32_t)(oy * c->stride_h);
    const uint32_t columns = r->window.segments / c->kh;
    const size_t row = r->lines ? r->line : r->x_row, pixel = r->lines ? r->cg : r->x_pixel;
    if (r->lines)
        for (*have = *have > first ? *have : first; *have < first + (int32_t)r->ring; ++*have)
            read_line(r, x, *have - (int32_t)c->pad_top,
                      r->lines + (uint32_t)*have % r->ring * r->line);
    for (uint32_t ky = 0, s = 0; ky < c->kh; ky++) {
        const uint32_t at = (uint32_t)first + ky * c->dil_h;
        for (uint32_t k = 0; k < columns; k++, s++)
            r->segment[s] = (uint32_t)((r->lines ? at % r->ring : at) * row + k * c->dil_w * pixel);
    }
    return r->lines ? r->lines : x;
}

/* A row of n outputs, one or two. */
static void run_row(const struct direct_run *r, const uint8_t *x, size_t at, const struct output *o,
                    uint32_t n)
{
    const struct integer_conv *c = r->c;
    const size_t step = c->stride_w * (r->lines ? r->cg : r->x_pixel);
    for (uint32_t i = 0; i < c->ow; i += 2, x += 2 * step) {
        const bool two = i + 1 < c->ow;
        uint32_t sum[4];
        if (two)
            tile_sums(&r->window, r->segment, x, step, r->packed, r->less, true, sum);
        else
            tile_sums(&r->window, r->segment, x, step, r->packed, r->less, false, sum);
        for (uint32_t k = 0; k < (two ? 4 : 2); k += 2, at += r->y_pixel) {
            put(r, at, &o[0], sum[k]);
            if (n > 1)
                put(r, at, &o[1], sum[k + 1]);
        }
    }
}

/* A reader goes forward only. So each filter is decoded once, and multiplied with all pixels of all
 * images before the next one comes. */
static __attribute__((noinline)) void run_filters(const struct direct_run *r)
{
    const struct integer_conv *c = r->c;
    memset(r->packed, 0, tile_window_bytes(&r->window));
    for (uint32_t o = 0, n; o < c->outputs; o += n) {
        n = r->og - o % r->og > 1 ? 2 : 1;
        const int8_t *w = next_filters(r, o, n);
        for (uint32_t j = 0; j < n; j++)
            pack_filter(r, w + (size_t)j * r->cg * r->taps, j);
        const struct output out[2] = {output_of(r, o), output_of(r, o + n - 1)};
        for (size_t image = 0; image < c->n; image++) {
            const uint8_t *x = r->data->x + image * r->x_image + o / r->og * r->cg * r->x_channel;
            int32_t have = 0;
            for (uint32_t oy = 0; oy < c->oh; oy++)
                run_row(r, read_lines(r, x, oy, &have),
                        image * r->y_image + oy * (size_t)c->ow * r->y_pixel, out, n);
        }
    }
}

/* ---- depthwise ------------------------------------------------------------------------------ */

/* Taps of an axis that lie inside x, [begin, end), of a window that begins at `at`. */
struct tap_range {
    uint32_t begin, end;
};

static struct tap_range taps_inside(int32_t at, uint32_t kernel, uint32_t dil, uint32_t size)
{
    struct tap_range t = {0, 0};
    for (uint32_t k = 0; k < kernel; k++, at += (int32_t)dil) {
        if (at < 0)
            t.begin = k + 1;
        if (at < (int32_t)size)
            t.end = k + 1;
    }
    t.end = t.end < t.begin ? t.begin : t.end;
    return t;
}

/* Output row oy of n channels, the last of four that begin at x. */
static void run_channels(const struct direct_run *r, const uint8_t *x, uint32_t oy, size_t at,
                         const struct output *o, uint32_t n)
{
    const struct integer_conv *c = r->c;
    const int32_t top = (int32_t)(oy * c->stride_h) - (int32_t)c->pad_top;
    const struct tap_range ty = taps_inside(top, c->kh, c->dil_h, c->h);
    int32_t left = -(int32_t)c->pad_left;
    for (uint32_t i = 0; i < c->ow; i++, left += (int32_t)c->stride_w, at += r->y_pixel) {
        const struct tap_range tx = taps_inside(left, c->kw, c->dil_w, c->w);
        uint32_t sum[4] = {0};
        for (uint32_t ky = ty.begin; ky < ty.end; ky++) {
            const size_t row = (size_t)(top + (int32_t)(ky * c->dil_h));
            const size_t column = (size_t)(left + (int32_t)(tx.begin * c->dil_w));
            tile_channels(x + row * r->x_row + column * r->x_pixel, c->dil_w * r->x_pixel,
                          r->packed + ky * c->kw + tx.begin, tx.end - tx.begin, r->less, sum);
        }
        for (uint32_t j = 0; j < n; j++)
            put(r, at, &o[j], sum[4 - n + j]);
    }
}

/* Channels that are left are the last of four, so that nothing is read beyond them. */
static __attribute__((noinline)) void run_depthwise(const struct direct_run *r)
{
    const struct integer_conv *c = r->c;
    for (uint32_t o = 0, n; o < c->channels; o += n) {
        n = c->channels - o < 4 ? c->channels - o : 4;
        const int8_t *w = next_filters(r, o, n);
        const uint32_t skip = 4 - n;
        struct output out[4];
        memset(r->packed, 0, r->taps * sizeof *r->packed);
        for (uint32_t j = 0; j < n; j++) {
            out[j] = output_of(r, o + j);
            for (uint32_t t = 0; t < r->taps; t++)
                ((int8_t *)r->packed)[4 * t + skip + j] = *w++;
        }
        for (size_t image = 0; image < c->n; image++)
            for (uint32_t oy = 0; oy < c->oh; oy++)
                run_channels(r, r->data->x + image * r->x_image + o - skip, oy,
                             image * r->y_image + oy * (size_t)c->ow * r->y_pixel, out, n);
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

/* k rows of weights at w, added to the sums of outputs from o on, at most four. */
static void add_columns(const struct direct_run *r, const uint8_t *x, const int8_t *w, uint32_t k,
                        uint32_t o, uint32_t *sum)
{
    const uint32_t left = r->c->outputs - o;
    tile_matrix(x, w + o, r->c->outputs, k, left < 4 ? left : 4, r->flip, r->zero_x, sum);
}

/* The same of all outputs, four rows at a time. */
static void add_rows(const struct direct_run *r, const uint8_t *x, const int8_t *w, uint32_t k,
                     uint32_t *sum)
{
    const uint32_t outputs = r->c->outputs, fours = outputs & ~3u;
    for (; k >= 4; k -= 4, x += 4, w += 4 * (size_t)outputs) {
        tile_four_rows(tile_load(x) ^ r->flip, w, outputs, fours, r->less, sum);
        if (fours < outputs)
            add_columns(r, x, w, 4, fours, sum + fours);
    }
    for (uint32_t o = 0; k > 0 && o < outputs; o += 4)
        add_columns(r, x, w, k, o, sum + o);
}

static void put_output(const struct direct_run *r, uint32_t i, uint32_t o, uint32_t sum)
{
    const struct output out = output_of(r, o);
    put(r, i * r->y_pixel, &out, sum);
}

static __attribute__((noinline)) void run_matrix(const struct direct_run *r)
{
    const struct integer_conv *c = r->c;
    for (uint32_t i = 0; i < rows_of(c); i++)
        for (uint32_t o = 0; o < c->outputs; o += 4) {
            uint32_t sum[4] = {0};
            add_columns(r, r->data->x + (size_t)i * c->channels, r->image, c->channels, o, sum);
            for (uint32_t j = 0; j < 4 && o + j < c->outputs; j++)
                put_output(r, i, o + j, sum[j]);
        }
}

static __attribute__((noinline)) void run_coded_matrix(const struct direct_run *r)
{
    const struct integer_conv *c = r->c;
    uint32_t *sum = sums_in_y(c) ? (void *)r->data->y : r->packed;
    memset(sum, 0, (size_t)rows_of(c) * c->outputs * sizeof *sum);
    for (uint32_t k = 0, n; k < c->channels; k += n) {
        n = c->channels - k < rows_at_once(c) ? c->channels - k : rows_at_once(c);
        pith_weight_rows_i8(r->rows, r->filter, n * c->outputs);
        for (uint32_t i = 0; i < rows_of(c); i++)
            add_rows(r, r->data->x + (size_t)i * c->channels + k, r->filter, n,
                     sum + (size_t)i * c->outputs);
    }
    for (uint32_t i = 0; i < rows_of(c); i++)
        for (uint32_t o = 0; o < c->outputs; o++)
            put_output(r, i, o, sum[(size_t)i * c->outputs + o]);
}

void pith_integer_direct_run(const struct integer_conv *c, const struct op_args *args,
                             const struct op_env *env, const struct integer_conv_data *data)
{
    const bool matrix = is_matrix(args);
    const size_t plane = (size_t)c->h * c->w, pixels = rows_of(c);
    struct direct_run r = run_of(c);
    r.data = data;
    r.image = args->prep ? args->prep : pith_weight_borrow(args->weight);
    r.flip = c->x_signed ? 0x80808080u : 0;
    r.zero_x = data->zero_x + (c->x_signed ? 128 : 0);
    r.zero_y = data->zero_y + (c->y_signed ? 128 : 0);
    r.less = tile_zero_of(r.zero_x);
    r.x_row = c->channels_last ? (size_t)c->w * c->channels : c->w;
    r.x_pixel = c->channels_last ? c->channels : 1;
    r.x_channel = c->channels_last ? 1 : plane;
    r.x_image = plane * c->channels;
    r.y_pixel = c->y_step ? c->y_step : 1;
    r.y_output = c->y_step ? 1 : pixels;
    r.y_image = pixels * (c->y_step ? c->y_step : c->outputs);
    lay_out(&r, r.image ? NULL : args->weight, matrix, env->scratch);
    if (matrix && r.image)
        run_matrix(&r);
    else if (matrix)
        run_coded_matrix(&r);
    else if (is_depthwise(c))
        run_depthwise(&r);
    else
        run_filters(&r);
    if (data->residual)
        add_residual(&r, env->kernels);
}
