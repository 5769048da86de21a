/* SPDX-License-Identifier: MIT */
/* integer_conv.cu - convolutions of 8-bit integers. With packed weights (pack_rows.c) they are
 * products of tiles (integer_tile.cuh): rows are outputs, columns the pixels of all images, and
 * terms lie as the weights do, tap after tap. While warps multiply a slice, threads load the next.
 */
#include "integer_tile.cuh"

/* ---- windows -----------------------------------------------------------------------------------
 */

DEVICE size_t group_begin(const struct conv_packed_i8_args *arg, uint32_t image, uint32_t group)
{
    const struct conv_i8_args *c = &arg->c;
    return ((size_t)image * c->s.groups + group) * c->s.channels * (size_t)c->s.h * (size_t)c->s.width;
}

/* A thread's output pixel, and the term of it that comes next: channel, column and row of the
 * window. */
struct window_i8 {
    const uint8_t *x; /* of the group in the pixel's image */
    int32_t h, w;     /* where the window begins */
    struct digits at;
    uint32_t rows; /* of the window; 0: there is no such pixel */
};

DEVICE struct window_i8 packed_window(const struct conv_packed_i8_args *arg, uint32_t p, uint32_t k)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->s.oh * c->s.ow), image = p / pixels;
    const int32_t pixel = (int32_t)(p - image * pixels), row = pixel / c->s.ow;
    struct window_i8 at = {(const uint8_t *)c->x, row * c->s.stride_h - c->s.pad_top,
                           (pixel - row * c->s.ow) * c->s.stride_w - c->s.pad_left,
                           digits_of(k, arg->channel_step, (uint32_t)c->s.kw), 0};
    if (image < arg->images) {
        at.x += group_begin(arg, image, block_item(&c->s.split));
        at.rows = (uint32_t)c->s.kh;
    }
    return at;
}

/* Four channels under one tap, or those that are left. Around x is its zero point, and 0 what is not
 * there at all. */
DEVICE uint32_t window_word(const struct conv_packed_i8_args *arg, const struct window_i8 *at,
                            int32_t zero)
{
    const struct conv_i8_args *c = &arg->c;
    const int32_t ih = at->h + (int32_t)at->at.high * c->s.dil_h;
    const int32_t iw = at->w + (int32_t)at->at.middle * c->s.dil_w;
    const bool inside = (uint32_t)ih < (uint32_t)c->s.h && (uint32_t)iw < (uint32_t)c->s.width;
    const uint32_t plane = (uint32_t)(c->s.h * c->s.width);
    const uint32_t left = at->at.high < at->rows ? c->s.channels - at->at.low : 0u;
    const uint32_t first = at->at.low * plane + (uint32_t)(ih * c->s.width + iw);
    const uint8_t *from = at->x + (inside ? first : 0u);
    uint32_t v = 0;
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++, from += plane)
        if (inside && i < left)
            v |= (uint32_t)*from << 8u * i;
    v = inside ? v ^ flip_of(c->x_signed) * ONES : (uint8_t)zero * (uint32_t)ONES;
    return left < 4u ? v & ((1u << 8u * left) - 1u) : v;
}

/* Then the thread's part of the next slice comes next. A tap has a whole number of words. */
DEVICE struct words window_part_i8(const struct conv_packed_i8_args *arg, struct window_i8 *at,
                                     const struct digits *next, int32_t zero)
{
    const struct digits word = {4u, 0, 0};
    struct words p;
    UNROLLED
    for (uint32_t i = 0; i < I8_PART / 4u; i++) {
        p.word[i] = window_word(arg, at, zero);
        digits_add(&at->at, i + 1u < I8_PART / 4u ? &word : next, arg->channel_step,
                   (uint32_t)arg->c.s.kw);
    }
    return p;
}

/* ---- tiles -------------------------------------------------------------------------------------
 */

/* Of an output, among all of them. */
DEVICE struct weight_line output_line(const struct conv_packed_i8_args *arg, uint32_t o)
{
    const struct conv_i8_args *c = &arg->c;
    struct weight_line w;
    w.zero = signed_zero(c->zero_w, o * c->zero_w_step, c->w_signed);
    w.fixed = without_zero(arg->w.sum[o], c->s.channels * (uint32_t)(c->s.kh * c->s.kw), w.zero);
    w.add = c->bias ? c->bias[o] : 0;
    w.factor = factor_of(&c->q, o);
    return w;
}

DEVICE void put_lines(struct tile_i8 *s, const struct conv_packed_i8_args *arg, int32_t zero)
{
    const uint32_t o = BLOCK_Y * TILE + THREAD, group = block_item(&arg->c.s.split);
    if (THREAD >= TILE)
        return;
    s->value[THREAD].zero = zero;
    s->value[THREAD].sum = 0;
    if (o < arg->c.s.outputs)
        s->weight[THREAD] = output_line(arg, group * arg->c.s.outputs + o);
}

/* The four pixels of a thread may be of several images. */
DEVICE struct tile_place conv_place(const struct conv_packed_i8_args *arg)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->s.oh * c->s.ow), all = c->s.groups * c->s.outputs;
    const uint32_t o = block_item(&c->s.split) * c->s.outputs + BLOCK_Y * TILE;
    const uint32_t first = BLOCK_X * TILE + own_quad(), end = pixels * arg->images;
    uint32_t image = first / pixels, pixel = first - image * pixels;
    struct tile_place p;
    for (uint32_t j = 0; j < 4u; j++) {
        p.at[j] = (image * all + o) * pixels + pixel;
        pixel++;
        image += pixel == pixels;
        pixel = pixel == pixels ? 0u : pixel;
    }
    p.raw = c->s.split.parts > 1u;
    p.y = p.raw ? (int32_t *)(void *)part_sums(&c->s.split) : c->y;
    p.there = first < end ? end - first : 0u;
    p.rows = c->s.outputs - BLOCK_Y * TILE;
    p.row_step = pixels;
    p.rows_are_weights = true;
    p.whole = pixels % 4u == 0u && (uintptr_t)c->q.y % 4u == 0u;
    return p;
}

DEVICE void put_conv(struct tile_i8 *s, const struct conv_packed_i8_args *arg,
                     int32_t sum[EACH][EACH], int32_t line, const struct shared_tail *tail)
{
    if (arg->w.sums_values && THREAD < TILE)
        s->value[THREAD].sum = line;
    const struct tile_place place = conv_place(arg);
    put_tile_i8(s, &place, sum, &arg->c.q, tail);
}

/* The row of the packed weights that is the thread's. */
DEVICE struct words output_part(const struct conv_packed_i8_args *arg, uint32_t k)
{
    const uint32_t o = BLOCK_Y * TILE + THREAD / I8_PARTS, first = block_item(&arg->c.s.split);
    return weight_part_i8(&arg->w, first * arg->c.s.outputs + o,
                          o < arg->c.s.outputs ? (first + 1u) * arg->c.s.outputs : 0u,
                          k + THREAD % I8_PARTS * I8_PART);
}

/* ---- one tap, four pixels at a time ------------------------------------------------------------
 */

/* Four neighbouring pixels, a multiple of four, under four channels: a word of each of the
 * channels. A warp reads 32 neighbours of four of them. */
DEVICE uint32_t flat_quad(void)
{
    return THREAD % 8u + THREAD / 32u % 2u * 8u;
}

DEVICE uint32_t flat_word(void)
{
    return THREAD / 8u % 4u + THREAD / 64u * 4u;
}

struct flat_i8 {
    const uint8_t *x;
    uint32_t plane, channels; /* 0 where there are no pixels */
};

DEVICE struct flat_i8 flat_of(const struct conv_packed_i8_args *arg)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t plane = (uint32_t)(c->s.h * c->s.width), p = BLOCK_X * TILE + 4u * flat_quad();
    const uint32_t image = p / plane;
    struct flat_i8 f = {(const uint8_t *)c->x, plane, 0};
    if (image < arg->images) {
        f.x += group_begin(arg, image, block_item(&c->s.split)) + p % plane;
        f.channels = c->s.channels;
    }
    return f;
}

DEVICE struct words flat_part(const struct flat_i8 *f, uint32_t channel, uint32_t flip)
{
    struct words p;
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        p.word[i] = 0;
        if (channel + i < f->channels)
            p.word[i] = *(const uint32_t *)(const void *)(f->x + (channel + i) * f->plane) ^
                        flip * (uint32_t)ONES;
    }
    return p;
}

/* Four words of pixels become four of channels. Neighbouring threads begin with other pixels, so
 * that a warp's words go to 32 banks. */
DEVICE void put_flat(struct side_i8 *s, struct words p)
{
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        const uint32_t pixel = i ^ THREAD % 8u / 2u, both = 0x40u + 0x11u * pixel;
        s->row[4u * flat_quad() + pixel][flat_word()] =
            pick_bytes(pick_bytes(p.word[0], p.word[1], both),
                       pick_bytes(p.word[2], p.word[3], both), 0x5410u);
    }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* is_flat: a constant where this is called. */
DEVICE void conv_tile_i8(struct tile_i8 *s, const struct conv_packed_i8_args *arg, bool is_flat)
{
    const uint32_t row_b = THREAD % TILE, part_b = THREAD / TILE, channel = 4u * flat_word();
    const struct terms k = block_terms(&arg->c.s.split, arg->w.row);
    const uint32_t flip = flip_of(arg->c.x_signed);
    const int32_t zero = signed_zero(arg->c.zero_x, 0, arg->c.x_signed);
    const struct flat_i8 flat = flat_of(arg);
    const struct digits step = digits_of(I8_SLICE - I8_PART + 4u, arg->channel_step,
                                         (uint32_t)arg->c.s.kw);
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct window_i8 at = packed_window(arg, BLOCK_X * TILE + row_b, k.first + I8_PART * part_b);
    struct words a = output_part(arg, k.first);
    struct words b = is_flat ? flat_part(&flat, k.first + channel, flip)
                               : window_part_i8(arg, &at, &step, zero);
    const struct shared_tail tail = tail_of(&arg->c.q);
    put_lines(s, arg, zero);
    for (uint32_t k0 = k.first; k0 < k.end; k0 += I8_SLICE) {
        struct slice_i8 *t = &s->of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, THREAD / I8_PARTS, THREAD % I8_PARTS, a);
        if (is_flat)
            put_flat(&t->b, b);
        else
            put_part_i8(&t->b, row_b, part_b, b);
        barrier();
        if (next < k.end) {
            a = output_part(arg, next);
            b = is_flat ? flat_part(&flat, next + channel, flip) : window_part_i8(arg, &at, &step, zero);
        }
        add_words(t, sum);
        if (arg->w.sums_values)
            line = add_line(&t->b, line);
    }
    put_conv(s, arg, sum, line, &tail);
}

KERNEL(conv_packed_i8, conv_packed_i8_args)
{
    SHARED struct tile_i8 s;
    conv_tile_i8(&s, arg, false);
}

KERNEL(conv_flat_i8, conv_packed_i8_args)
{
    SHARED struct tile_i8 s;
    conv_tile_i8(&s, arg, true);
}

/* ---- sums of parts -----------------------------------------------------------------------------
 */

/* Of what blocks along z have left: an output a thread. */
KERNEL(conv_splits_i8, conv_packed_i8_args)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->s.oh * c->s.ow), all = c->s.groups * c->s.outputs;
    const struct value_line v = {signed_zero(c->zero_x, 0, c->x_signed), 0};
    const struct shared_tail tail = tail_of(&c->q);
    FOR_EACH(i, c->s.n)
    {
        const struct weight_line w = output_line(arg, i / pixels % all);
        uint32_t sum = 0;
        for (uint32_t k = 0; k < c->s.split.parts; k++)
            sum += ((const uint32_t *)(const void *)c->s.split.sums)[(size_t)k * c->s.n + i];
        put_sum(c->y, &c->q, &tail, w.factor, i, corrected((int32_t)sum, &w, &v));
    }
}

/* ---- output by output --------------------------------------------------------------------------
 */

/* Where the windows of four neighbouring pixels begin. */
struct windows_i8 {
    int32_t h[4], w[4];
};

DEVICE struct windows_i8 windows_of(const struct conv_i8_args *arg, uint32_t first)
{
    int32_t row = (int32_t)first / arg->s.ow, column = (int32_t)first - row * arg->s.ow;
    struct windows_i8 at;
    UNROLLED
    for (uint32_t j = 0; j < 4u; j++) {
        at.h[j] = row * arg->s.stride_h - arg->s.pad_top;
        at.w[j] = column * arg->s.stride_w - arg->s.pad_left;
        column++;
        row += column == arg->s.ow;
        column = column == arg->s.ow ? 0 : column;
    }
    return at;
}

/* Of one channel. What is outside adds nothing. */
DEVICE void add_windows(const struct conv_i8_args *arg, const struct windows_i8 *at,
                        const uint8_t *x, const uint8_t *w, int32_t zx, int32_t zw, int32_t sum[4])
{
    for (int32_t kh = 0; kh < arg->s.kh; kh++)
        for (int32_t kw = 0; kw < arg->s.kw; kw++, w++) {
            const int32_t weight = (int8_t)signed_byte(w, 0, arg->w_signed) - zw;
            UNROLLED
            for (uint32_t j = 0; j < 4u; j++) {
                const int32_t ih = at->h[j] + kh * arg->s.dil_h, iw = at->w[j] + kw * arg->s.dil_w;
                if ((uint32_t)ih < (uint32_t)arg->s.h && (uint32_t)iw < (uint32_t)arg->s.width) {
                    const uint32_t from = (uint32_t)(ih * arg->s.width + iw);
                    const int32_t v = (int8_t)signed_byte(x, from, arg->x_signed) - zx;
                    sum[j] = (int32_t)((uint32_t)sum[j] + (uint32_t)(v * weight));
                }
            }
        }
}

/* Four pixels a thread, of one plane of y, so that a weight is read once for them. */
KERNEL(conv_direct_i8, conv_i8_args)
{
    const uint32_t pixels = (uint32_t)(arg->s.oh * arg->s.ow), quads = (pixels + 3u) / 4u;
    const uint32_t planes = arg->s.n / pixels, taps = (uint32_t)(arg->s.kh * arg->s.kw);
    const uint32_t plane_bytes = (uint32_t)(arg->s.h * arg->s.width);
    const int32_t zx = signed_zero(arg->zero_x, 0, arg->x_signed);
    const struct shared_tail tail = tail_of(&arg->q);
    struct tile_place p;
    p.y = arg->y;
    p.raw = false;
    p.whole = pixels % 4u == 0u && (uintptr_t)arg->q.y % 4u == 0u;
    FOR_EACH(i, planes * quads)
    {
        const uint32_t plane = i / quads, first = 4u * (i - plane * quads);
        const uint32_t o = plane % (arg->s.groups * arg->s.outputs);
        const struct windows_i8 at = windows_of(arg, first);
        const uint8_t *x = (const uint8_t *)arg->x +
                           (size_t)(plane / arg->s.outputs) * arg->s.channels * plane_bytes;
        const uint8_t *w = (const uint8_t *)arg->w + (size_t)o * arg->s.channels * taps;
        const int32_t zw = signed_zero(arg->zero_w, o * arg->zero_w_step, arg->w_signed);
        const int32_t bias = arg->bias ? arg->bias[o] : 0;
        const float factor = factor_of(&arg->q, o), factors[4] = {factor, factor, factor, factor};
        int32_t sum[4] = {bias, bias, bias, bias};
        for (uint32_t c = 0; c < arg->s.channels; c++, x += plane_bytes, w += taps)
            add_windows(arg, &at, x, w, zx, zw, sum);
        for (uint32_t j = 0; j < 4u; j++)
            p.at[j] = plane * pixels + first + j;
        p.there = pixels - first;
        put_four(&p, &arg->q, &tail, 0, sum, factors);
    }
}
