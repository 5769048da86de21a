/* SPDX-License-Identifier: MIT */
/* integer_conv.cu - convolutions of 8-bit integers. With packed weights (pack_integer.c) they are
 * products of tiles (integer_tile.cuh): rows are outputs, columns the pixels of all images, and
 * terms lie as the weights do, tap after tap. While warps multiply a slice, threads load the next.
 */
#include "integer_tile.cuh"

/* ---- windows -----------------------------------------------------------------------------------
 */

/* A thread's output pixel, and the term of it that comes next. */
struct window_i8 {
    const uint8_t *x; /* of the group in the pixel's image */
    int32_t h, w;     /* where the window begins */
    int32_t kh, kw;
    uint32_t channel;
    bool there;
};

/* `by` terms on. Only behind the last tap a channel may be too large. */
DEVICE void advance(const struct conv_packed_i8_args *arg, struct window_i8 *at, uint32_t by)
{
    at->channel += by;
    while (at->channel >= arg->channel_step && at->kh < arg->c.kh) {
        at->channel -= arg->channel_step;
        if (++at->kw == arg->c.kw) {
            at->kw = 0;
            at->kh++;
        }
    }
}

DEVICE size_t group_begin(const struct conv_packed_i8_args *arg, uint32_t image, uint32_t group)
{
    const struct conv_i8_args *c = &arg->c;
    return ((size_t)image * c->groups + group) * c->channels * (size_t)c->h * (size_t)c->width;
}

DEVICE struct window_i8 window_of(const struct conv_packed_i8_args *arg, uint32_t p, uint32_t k)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->oh * c->ow), image = p / pixels;
    const int32_t pixel = (int32_t)(p - image * pixels), row = pixel / c->ow;
    struct window_i8 at;
    at.there = image < arg->images;
    at.x = (const uint8_t *)c->x;
    if (at.there)
        at.x += group_begin(arg, image, BLOCK_Z % c->groups);
    at.h = row * c->stride_h - c->pad_top;
    at.w = (pixel - row * c->ow) * c->stride_w - c->pad_left;
    at.kh = at.kw = 0;
    at.channel = 0;
    advance(arg, &at, k);
    return at;
}

/* Four channels under one tap. Around x is its zero point, and 0 what is not there at all. */
DEVICE uint32_t window_word(const struct conv_packed_i8_args *arg, const struct window_i8 *at,
                            int32_t zero)
{
    const struct conv_i8_args *c = &arg->c;
    const int32_t ih = at->h + at->kh * c->dil_h, iw = at->w + at->kw * c->dil_w;
    const bool inside = ih >= 0 && ih < c->h && iw >= 0 && iw < c->width;
    const uint32_t plane = (uint32_t)(c->h * c->width), flip = flip_of(c->x_signed);
    const uint32_t channels = at->there && at->kh < c->kh ? c->channels : 0u;
    const uint32_t from = inside ? at->channel * plane + (uint32_t)(ih * c->width + iw) : 0u;
    uint32_t v = 0;
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        uint32_t byte = (uint32_t)zero & 0xffu;
        if (inside && at->channel + i < channels)
            byte = at->x[from + i * plane] ^ flip;
        v |= (at->channel + i < channels ? byte : 0u) << 8u * i;
    }
    return v;
}

/* Then the thread's part of the next slice comes next. */
DEVICE struct part_i8 window_part_i8(const struct conv_packed_i8_args *arg, struct window_i8 *at,
                                     int32_t zero)
{
    struct part_i8 p;
    UNROLLED
    for (uint32_t i = 0; i < I8_PART / 4u; i++) {
        p.word[i] = window_word(arg, at, zero);
        advance(arg, at, 4u);
    }
    advance(arg, at, I8_SLICE - I8_PART);
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
    w.fixed = without_zero(arg->w.sum[o], c->channels * (uint32_t)(c->kh * c->kw), w.zero);
    w.add = c->bias ? c->bias[o] : 0;
    w.factor = factor_of(&c->q, o);
    return w;
}

DEVICE void put_lines(struct tile_i8 *s, const struct conv_packed_i8_args *arg, int32_t zero)
{
    const uint32_t o = BLOCK_Y * TILE + THREAD, group = BLOCK_Z % arg->c.groups;
    if (THREAD >= TILE)
        return;
    s->value[THREAD].zero = zero;
    s->value[THREAD].sum = 0;
    if (o < arg->c.outputs)
        s->weight[THREAD] = output_line(arg, group * arg->c.outputs + o);
}

/* The four pixels of a thread may be of several images. */
DEVICE struct tile_place conv_place(const struct conv_packed_i8_args *arg)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->oh * c->ow), all = c->groups * c->outputs;
    const uint32_t o = BLOCK_Z % c->groups * c->outputs + BLOCK_Y * TILE;
    const uint32_t first = BLOCK_X * TILE + own_quad(), end = pixels * arg->images;
    uint32_t image = first / pixels, pixel = first - image * pixels;
    struct tile_place p;
    for (uint32_t j = 0; j < 4u; j++) {
        p.at[j] = (image * all + o) * pixels + pixel;
        pixel++;
        image += pixel == pixels;
        pixel = pixel == pixels ? 0u : pixel;
    }
    p.y = c->y;
    p.there = first < end ? end - first : 0u;
    p.rows = c->outputs - BLOCK_Y * TILE;
    p.row_step = pixels;
    p.rows_are_weights = true;
    p.raw = false;
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
DEVICE struct part_i8 output_part(const struct conv_packed_i8_args *arg, uint32_t k)
{
    const uint32_t o = BLOCK_Y * TILE + THREAD / I8_PARTS, first = BLOCK_Z % arg->c.groups;
    return weight_part_i8(&arg->w, first * arg->c.outputs + o,
                          o < arg->c.outputs ? (first + 1u) * arg->c.outputs : 0u,
                          k + THREAD % I8_PARTS * I8_PART);
}

KERNEL(conv_packed_i8, conv_packed_i8_args)
{
    SHARED struct tile_i8 s;
    const uint32_t row_b = THREAD % TILE, part_b = THREAD / TILE;
    const int32_t zero = signed_zero(arg->c.zero_x, 0, arg->c.x_signed);
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct window_i8 at = window_of(arg, BLOCK_X * TILE + row_b, I8_PART * part_b);
    struct part_i8 a = output_part(arg, 0), b = window_part_i8(arg, &at, zero);
    const struct shared_tail tail = tail_of(&arg->c.q);
    put_lines(&s, arg, zero);
    for (uint32_t k0 = 0; k0 < arg->w.row; k0 += I8_SLICE) {
        struct slice_i8 *t = &s.of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, THREAD / I8_PARTS, THREAD % I8_PARTS, a);
        put_part_i8(&t->b, row_b, part_b, b);
        barrier();
        if (next < arg->w.row) {
            a = output_part(arg, next);
            b = window_part_i8(arg, &at, zero);
        }
        add_words(t, sum);
        if (arg->w.sums_values)
            line = add_line(&t->b, line);
    }
    put_conv(&s, arg, sum, line, &tail);
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
    const uint32_t plane = (uint32_t)(c->h * c->width), p = BLOCK_X * TILE + 4u * flat_quad();
    const uint32_t image = p / plane;
    struct flat_i8 f = {(const uint8_t *)c->x, plane, 0};
    if (image < arg->images) {
        f.x += group_begin(arg, image, BLOCK_Z % c->groups) + p % plane;
        f.channels = c->channels;
    }
    return f;
}

DEVICE struct part_i8 flat_part(const struct flat_i8 *f, uint32_t channel, uint32_t flip)
{
    struct part_i8 p;
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
DEVICE void put_flat(struct side_i8 *s, struct part_i8 p)
{
    UNROLLED
    for (uint32_t i = 0; i < 4u; i++) {
        const uint32_t pixel = i ^ THREAD % 8u / 2u, both = 0x40u + 0x11u * pixel;
        s->row[4u * flat_quad() + pixel][flat_word()] =
            pick_bytes(pick_bytes(p.word[0], p.word[1], both),
                       pick_bytes(p.word[2], p.word[3], both), 0x5410u);
    }
}

KERNEL(conv_flat_i8, conv_packed_i8_args)
{
    SHARED struct tile_i8 s;
    const uint32_t flip = flip_of(arg->c.x_signed), channel = 4u * flat_word();
    const int32_t zero = signed_zero(arg->c.zero_x, 0, arg->c.x_signed);
    const struct flat_i8 flat = flat_of(arg);
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct part_i8 a = output_part(arg, 0), b = flat_part(&flat, channel, flip);
    const struct shared_tail tail = tail_of(&arg->c.q);
    put_lines(&s, arg, zero);
    for (uint32_t k0 = 0; k0 < arg->w.row; k0 += I8_SLICE) {
        struct slice_i8 *t = &s.of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, THREAD / I8_PARTS, THREAD % I8_PARTS, a);
        put_flat(&t->b, b);
        barrier();
        if (next < arg->w.row) {
            a = output_part(arg, next);
            b = flat_part(&flat, next + channel, flip);
        }
        add_words(t, sum);
        if (arg->w.sums_values)
            line = add_line(&t->b, line);
    }
    put_conv(&s, arg, sum, line, &tail);
}

/* ---- output by output --------------------------------------------------------------------------
 */

/* Where x lies under tap (kh, kw) of output pixel (oh, ow); below 0: outside. */
DEVICE int64_t place_under(const struct conv_i8_args *arg, int32_t oh, int32_t ow, int32_t kh,
                           int32_t kw)
{
    int32_t ih = oh * arg->stride_h + kh * arg->dil_h - arg->pad_top;
    int32_t iw = ow * arg->stride_w + kw * arg->dil_w - arg->pad_left;
    bool inside = ih >= 0 && ih < arg->h && iw >= 0 && iw < arg->width;
    return inside ? (int64_t)ih * arg->width + iw : -1;
}

DEVICE uint32_t direct_sum(const struct conv_i8_args *arg, const uint8_t *x, const uint8_t *w,
                           int32_t zx, int32_t zw, int32_t oh, int32_t ow)
{
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    uint32_t sum = 0;
    for (uint32_t c = 0; c < arg->channels; c++, x += plane)
        for (int32_t kh = 0; kh < arg->kh; kh++)
            for (int32_t kw = 0; kw < arg->kw; kw++, w++) {
                int64_t at = place_under(arg, oh, ow, kh, kw);
                if (at < 0)
                    continue;
                int32_t v = (int8_t)signed_byte(x, (size_t)at, arg->x_signed) - zx;
                sum += (uint32_t)(v * ((int8_t)signed_byte(w, 0, arg->w_signed) - zw));
            }
    return sum;
}

KERNEL(conv_direct_i8, conv_i8_args)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), all = arg->groups * arg->outputs;
    const uint32_t terms = arg->channels * (uint32_t)(arg->kh * arg->kw);
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    const int32_t zx = signed_zero(arg->zero_x, 0, arg->x_signed);
    const struct shared_tail tail = tail_of(&arg->q);
    FOR_EACH(i, arg->n)
    {
        const uint32_t pixel = i % pixels, o = i / pixels % all, image = i / pixels / all;
        const size_t group = (size_t)image * arg->groups + o / arg->outputs;
        uint32_t sum = direct_sum(arg, (const uint8_t *)arg->x + group * arg->channels * plane,
                                  (const uint8_t *)arg->w + (size_t)o * terms, zx,
                                  signed_zero(arg->zero_w, o * arg->zero_w_step, arg->w_signed),
                                  (int32_t)pixel / arg->ow, (int32_t)pixel % arg->ow);
        put_sum(arg->y, &arg->q, &tail, factor_of(&arg->q, o), i,
                (int32_t)(sum + (arg->bias ? (uint32_t)arg->bias[o] : 0)));
    }
}
