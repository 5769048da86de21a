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

DEVICE void next_tap(const struct conv_packed_i8_args *arg, struct window_i8 *at)
{
    at->channel -= arg->channel_step;
    at->kw++;
    if (at->kw == arg->c.kw) {
        at->kw = 0;
        at->kh++;
    }
}

/* `by` terms on. Only behind the last tap a channel may be too large. */
DEVICE void advance(const struct conv_packed_i8_args *arg, struct window_i8 *at, uint32_t by)
{
    at->channel += by;
    NOT_UNROLLED
    while (at->channel >= arg->channel_step && at->kh < arg->c.kh)
        next_tap(arg, at);
}

/* A tap has a whole number of words. */
DEVICE void advance_word(const struct conv_packed_i8_args *arg, struct window_i8 *at)
{
    at->channel += 4u;
    if (at->channel >= arg->channel_step && at->kh < arg->c.kh)
        next_tap(arg, at);
}

DEVICE size_t group_begin(const struct conv_packed_i8_args *arg, uint32_t image, uint32_t group)
{
    const struct conv_i8_args *c = &arg->c;
    return ((size_t)image * c->groups + group) * c->channels * (size_t)c->h * (size_t)c->width;
}

DEVICE struct window_i8 packed_window(const struct conv_packed_i8_args *arg, uint32_t p, uint32_t k)
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
        advance_word(arg, at);
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
    p.raw = arg->splits > 1u;
    p.y = p.raw ? arg->partial + (size_t)(BLOCK_Z / c->groups) * c->n : c->y;
    p.there = first < end ? end - first : 0u;
    p.rows = c->outputs - BLOCK_Y * TILE;
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
DEVICE struct part_i8 output_part(const struct conv_packed_i8_args *arg, uint32_t k)
{
    const uint32_t o = BLOCK_Y * TILE + THREAD / I8_PARTS, first = BLOCK_Z % arg->c.groups;
    return weight_part_i8(&arg->w, first * arg->c.outputs + o,
                          o < arg->c.outputs ? (first + 1u) * arg->c.outputs : 0u,
                          k + THREAD % I8_PARTS * I8_PART);
}

/* The terms of a block: all, or a part of them. */
DEVICE uint32_t first_term(const struct conv_packed_i8_args *arg)
{
    return BLOCK_Z / arg->c.groups * arg->terms;
}

DEVICE uint32_t end_term(const struct conv_packed_i8_args *arg)
{
    const uint32_t end = first_term(arg) + arg->terms;
    return end < arg->w.row ? end : arg->w.row;
}

KERNEL(conv_packed_i8, conv_packed_i8_args)
{
    SHARED struct tile_i8 s;
    const uint32_t row_b = THREAD % TILE, part_b = THREAD / TILE;
    const uint32_t begin = first_term(arg), end = end_term(arg);
    const int32_t zero = signed_zero(arg->c.zero_x, 0, arg->c.x_signed);
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct window_i8 at = packed_window(arg, BLOCK_X * TILE + row_b, begin + I8_PART * part_b);
    struct part_i8 a = output_part(arg, begin), b = window_part_i8(arg, &at, zero);
    const struct shared_tail tail = tail_of(&arg->c.q);
    put_lines(&s, arg, zero);
    for (uint32_t k0 = begin; k0 < end; k0 += I8_SLICE) {
        struct slice_i8 *t = &s.of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, THREAD / I8_PARTS, THREAD % I8_PARTS, a);
        put_part_i8(&t->b, row_b, part_b, b);
        barrier();
        if (next < end) {
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
    const uint32_t begin = first_term(arg), end = end_term(arg);
    const int32_t zero = signed_zero(arg->c.zero_x, 0, arg->c.x_signed);
    const struct flat_i8 flat = flat_of(arg);
    int32_t sum[EACH][EACH] = {{0}}, line = 0;
    struct part_i8 a = output_part(arg, begin), b = flat_part(&flat, begin + channel, flip);
    const struct shared_tail tail = tail_of(&arg->c.q);
    put_lines(&s, arg, zero);
    for (uint32_t k0 = begin; k0 < end; k0 += I8_SLICE) {
        struct slice_i8 *t = &s.of.slice[k0 / I8_SLICE % 2u];
        const uint32_t next = k0 + I8_SLICE;
        put_part_i8(&t->a, THREAD / I8_PARTS, THREAD % I8_PARTS, a);
        put_flat(&t->b, b);
        barrier();
        if (next < end) {
            a = output_part(arg, next);
            b = flat_part(&flat, next + channel, flip);
        }
        add_words(t, sum);
        if (arg->w.sums_values)
            line = add_line(&t->b, line);
    }
    put_conv(&s, arg, sum, line, &tail);
}

/* ---- sums of parts -----------------------------------------------------------------------------
 */

/* Of what blocks along z have left: an output a thread. */
KERNEL(conv_splits_i8, conv_packed_i8_args)
{
    const struct conv_i8_args *c = &arg->c;
    const uint32_t pixels = (uint32_t)(c->oh * c->ow), all = c->groups * c->outputs;
    const struct value_line v = {signed_zero(c->zero_x, 0, c->x_signed), 0};
    const struct shared_tail tail = tail_of(&c->q);
    FOR_EACH(i, c->n)
    {
        const struct weight_line w = output_line(arg, i / pixels % all);
        uint32_t sum = 0;
        for (uint32_t k = 0; k < arg->splits; k++)
            sum += (uint32_t)arg->partial[(size_t)k * c->n + i];
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
    int32_t row = (int32_t)first / arg->ow, column = (int32_t)first - row * arg->ow;
    struct windows_i8 at;
    UNROLLED
    for (uint32_t j = 0; j < 4u; j++) {
        at.h[j] = row * arg->stride_h - arg->pad_top;
        at.w[j] = column * arg->stride_w - arg->pad_left;
        column++;
        row += column == arg->ow;
        column = column == arg->ow ? 0 : column;
    }
    return at;
}

/* Of one channel. What is outside adds nothing. */
DEVICE void add_windows(const struct conv_i8_args *arg, const struct windows_i8 *at,
                        const uint8_t *x, const uint8_t *w, int32_t zx, int32_t zw, int32_t sum[4])
{
    for (int32_t kh = 0; kh < arg->kh; kh++)
        for (int32_t kw = 0; kw < arg->kw; kw++, w++) {
            const int32_t weight = (int8_t)signed_byte(w, 0, arg->w_signed) - zw;
            UNROLLED
            for (uint32_t j = 0; j < 4u; j++) {
                const int32_t ih = at->h[j] + kh * arg->dil_h, iw = at->w[j] + kw * arg->dil_w;
                if ((uint32_t)ih < (uint32_t)arg->h && (uint32_t)iw < (uint32_t)arg->width) {
                    const uint32_t from = (uint32_t)(ih * arg->width + iw);
                    const int32_t v = (int8_t)signed_byte(x, from, arg->x_signed) - zx;
                    sum[j] = (int32_t)((uint32_t)sum[j] + (uint32_t)(v * weight));
                }
            }
        }
}

/* Four pixels a thread, of one plane of y, so that a weight is read once for them. */
KERNEL(conv_direct_i8, conv_i8_args)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), quads = (pixels + 3u) / 4u;
    const uint32_t planes = arg->n / pixels, taps = (uint32_t)(arg->kh * arg->kw);
    const uint32_t plane_bytes = (uint32_t)(arg->h * arg->width);
    const int32_t zx = signed_zero(arg->zero_x, 0, arg->x_signed);
    const struct shared_tail tail = tail_of(&arg->q);
    struct tile_place p;
    p.y = arg->y;
    p.raw = false;
    p.whole = pixels % 4u == 0u && (uintptr_t)arg->q.y % 4u == 0u;
    FOR_EACH(i, planes * quads)
    {
        const uint32_t plane = i / quads, first = 4u * (i - plane * quads);
        const uint32_t o = plane % (arg->groups * arg->outputs);
        const struct windows_i8 at = windows_of(arg, first);
        const uint8_t *x = (const uint8_t *)arg->x +
                           (size_t)(plane / arg->outputs) * arg->channels * plane_bytes;
        const uint8_t *w = (const uint8_t *)arg->w + (size_t)o * arg->channels * taps;
        const int32_t zw = signed_zero(arg->zero_w, o * arg->zero_w_step, arg->w_signed);
        const int32_t bias = arg->bias ? arg->bias[o] : 0;
        const float factor = factor_of(&arg->q, o), factors[4] = {factor, factor, factor, factor};
        int32_t sum[4] = {bias, bias, bias, bias};
        for (uint32_t c = 0; c < arg->channels; c++, x += plane_bytes, w += taps)
            add_windows(arg, &at, x, w, zx, zw, sum);
        for (uint32_t j = 0; j < 4u; j++)
            p.at[j] = plane * pixels + first + j;
        p.there = pixels - first;
        put_four(&p, &arg->q, &tail, 0, sum, factors);
    }
}
