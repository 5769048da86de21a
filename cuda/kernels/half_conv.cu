/* SPDX-License-Identifier: MIT */
/* half_conv.cu - convolutions by tensor cores. Pixels of all images lie one behind the other along
 * the rows of a tile, output channels along its columns. Offsets are counted in 32 bits of bytes:
 * most of what a launch does beside multiplying is finding what it loads. */
#include "half_tile.cuh"

/* Which image pixel p of all belongs to. */
DEVICE uint32_t image_of(const struct conv_mma_args *arg, uint32_t p)
{
    return (uint32_t)((uint64_t)p * arg->pixels_factor >> arg->pixels_shift);
}

DEVICE float float_at(const float *x, uint32_t bytes)
{
    return *(const float *)(const void *)((const char *)x + bytes);
}

DEVICE uint32_t half_at(const float *x, uint32_t bytes)
{
    return *(const uint16_t *)(const void *)((const char *)x + bytes);
}

/* ---- windows -----------------------------------------------------------------------------------
 */

/* The windows of a pixel's terms: where its image and group begin in x, in bytes, where the window
 * begins, and how far the thread has got - channel, column and row of the window. */
struct half_window {
    uint32_t from;
    int32_t ih, iw;
    struct digits at;
    uint32_t rows; /* of the window; 0: there is no such pixel */
};

/* each: bytes of an element of x. */
DEVICE struct half_window window_of(const struct conv_mma_args *arg, uint32_t each, uint32_t group,
                                    uint32_t p, uint32_t k)
{
    const struct conv_args *c = &arg->c;
    const uint32_t image = image_of(arg, p), pixel = p - image * (uint32_t)(c->oh * c->ow);
    const uint32_t row = pixel / (uint32_t)c->ow, planes = (image * c->groups + group) * c->channels;
    struct half_window w;
    w.from = each * planes * (uint32_t)(c->h * c->width);
    w.ih = (int32_t)row * c->stride_h - c->pad_top;
    w.iw = (int32_t)(pixel - row * (uint32_t)c->ow) * c->stride_w - c->pad_left;
    w.at = digits_of(k, arg->channel_step, (uint32_t)c->kw);
    w.rows = image < arg->images ? (uint32_t)c->kh : 0u;
    return w;
}

/* Eight terms a plane apart, of which `left` are there: to x, or of 16 bits (halves) to h. */
DEVICE void load_channels(float x[PART_TERMS], struct words *h, bool halves, const float *from,
                       uint32_t bytes, uint32_t plane, uint32_t left)
{
    UNROLLED
    for (uint32_t i = 0; i < PART_TERMS && !halves; i++)
        x[i] = i < left ? float_at(from, bytes + i * plane) : 0.0f;
    UNROLLED
    for (uint32_t i = 0; i < PART_WORDS && halves; i++)
        h->word[i] = (2u * i < left ? half_at(from, bytes + 2u * i * plane) : 0u) |
                     (2u * i + 1u < left ? half_at(from, bytes + (2u * i + 1u) * plane) << 16 : 0u);
}

/* Eight channels under one tap - channel_step is a multiple of that - and on to the next part. */
DEVICE void load_window(float x[PART_TERMS], struct words *h, bool halves,
                        const struct conv_mma_args *arg, const struct digits *step,
                        struct half_window *w)
{
    const struct conv_args *c = &arg->c;
    const int32_t ih = w->ih + (int32_t)w->at.high * c->dil_h;
    const int32_t iw = w->iw + (int32_t)w->at.middle * c->dil_w;
    const uint32_t each = halves ? 2u : 4u, plane = each * (uint32_t)(c->h * c->width);
    const bool inside = w->at.high < w->rows && (uint32_t)ih < (uint32_t)c->h &&
                        (uint32_t)iw < (uint32_t)c->width;
    const uint32_t from = w->from + w->at.low * plane + each * (uint32_t)(ih * c->width + iw);
    if (arg->whole)
        load_channels(x, h, halves, c->x, from, plane, inside ? PART_TERMS : 0u);
    else
        load_channels(x, h, halves, c->x, from, plane, inside ? c->channels - w->at.low : 0u);
    digits_add(&w->at, step, arg->channel_step, (uint32_t)c->kw);
}

DEVICE void load_conv(struct half_loaded *to, uint32_t bands, bool halves,
                      const struct conv_mma_args *arg, uint32_t group, struct half_window *window,
                      uint32_t k0)
{
    const uint32_t o0 = BLOCK_Y * TILE;
    const struct digits step = {arg->step[0], arg->step[1], arg->step[2]};
    load_weight(to, bands, arg->w, group * arg->c.outputs, o0, arg->c.outputs, arg->row, k0);
    UNROLLED
    for (uint32_t i = 0; i < LOADS(bands); i++)
        load_window(to->x[i], &to->h[i], halves, arg, &step, window);
}

/* ---- outputs -----------------------------------------------------------------------------------
 */

/* What a thread has: channels o + 8 i + j, i below four, j below two, of two pixels of each band. */
struct half_outputs {
    uint32_t o, group, image_step; /* image_step, plane: elements of y */
    uint32_t plane;
};

/* A pixel's output o. */
struct half_pixel {
    bool there;
    uint32_t at;
};

DEVICE struct half_outputs outputs_of(const struct conv_mma_args *arg, uint32_t bands,
                                      uint32_t group)
{
    struct half_outputs out = {BLOCK_Y * TILE + mma_column(bands, 0, 0), group,
                               image_step(&arg->c), (uint32_t)(arg->c.oh * arg->c.ow)};
    return out;
}

DEVICE struct half_pixel pixel_of(const struct conv_mma_args *arg, uint32_t bands,
                                  const struct half_outputs *out, uint32_t band, uint32_t half)
{
    const uint32_t p = BLOCK_X * TILE + 16u * band + mma_row(bands, 2u * half);
    const uint32_t image = image_of(arg, p), before = image * out->image_step;
    const uint32_t first = (out->group * arg->c.outputs + out->o) * out->plane;
    struct half_pixel to = {image < arg->images, before + first + p - image * out->plane};
    return to;
}

/* Of channel 8 i + j. */
DEVICE bool is_there(const struct conv_mma_args *arg, const struct half_outputs *out,
                     struct half_pixel p, uint32_t i, uint32_t j)
{
    return p.there && out->o + 8u * i + j < arg->c.outputs;
}

DEVICE uint32_t element_of(const struct half_outputs *out, struct half_pixel p, uint32_t i, uint32_t j)
{
    return p.at + (8u * i + j) * out->plane;
}

/* What is no output has another's bias, so that no test precedes the load. */
DEVICE void add_biases(const struct conv_mma_args *arg, uint32_t bands,
                       const struct half_outputs *out, struct half_sums *sum)
{
    const float *bias = arg->c.bias + out->group * arg->c.outputs;
    float value[EACH][2];
    UNROLLED
    for (uint32_t e = 0; e < 2u * EACH; e++) {
        const uint32_t o = out->o + e / 2u * 8u + e % 2u;
        value[e / 2u][e % 2u] = bias[o < arg->c.outputs ? o : 0u];
    }
    UNROLLED
    for (uint32_t e = 0; e < bands * EACH * EACH; e++)
        sum->of[e / (EACH * EACH)][e / EACH % EACH][e % EACH] += value[e / EACH % EACH][e % 2u];
}

DEVICE void add_residual(const struct conv_mma_args *arg, const struct half_outputs *out,
                         struct half_pixel p, uint32_t half, float sum[EACH][EACH])
{
    float value[EACH][2];
    UNROLLED
    for (uint32_t e = 0; e < 2u * EACH; e++)
        value[e / 2u][e % 2u] = is_there(arg, out, p, e / 2u, e % 2u)
                                    ? value_at(arg->c.residual,
                                               element_of(out, p, e / 2u, e % 2u),
                                               arg->c.residual_type)
                                    : 0.0f;
    UNROLLED
    for (uint32_t e = 0; e < 2u * EACH; e++)
        sum[e / 2u][2u * half + e % 2u] += value[e / 2u][e % 2u];
}

DEVICE void put_pixel(const struct conv_mma_args *arg, const struct half_outputs *out,
                      struct half_pixel p, uint32_t half, float sum[EACH][EACH], float *y,
                      uint32_t y_type)
{
    UNROLLED
    for (uint32_t e = 0; e < 2u * EACH; e++)
        if (is_there(arg, out, p, e / 2u, e % 2u))
            put_value(y, element_of(out, p, e / 2u, e % 2u), y_type,
                      sum[e / 2u][2u * half + e % 2u]);
}

/* A long activation, of what was written. */
DEVICE void activate_again(const struct conv_mma_args *arg, uint32_t bands,
                           const struct half_outputs *out)
{
    const struct conv_args *c = &arg->c;
    NOT_UNROLLED
    for (uint32_t e = 0; e < bands * EACH * EACH; e++) {
        const struct half_pixel p = pixel_of(arg, bands, out, e / 16u, e % 2u);
        const uint32_t i = e / 4u % EACH, j = e / 2u % 2u;
        if (is_there(arg, out, p, i, j))
            activate_at(c->y, element_of(out, p, i, j), c->y_type, c->act, c->act_a, c->act_b);
    }
}

DEVICE void put_conv_half(const struct conv_mma_args *arg, uint32_t bands, uint32_t group,
                     struct half_sums *sum)
{
    const struct conv_args *c = &arg->c;
    const struct half_outputs out = outputs_of(arg, bands, group);
    const bool shared = c->split.parts > 1u;
    float *y = shared ? part_sums(&c->split) : c->y;
    const uint32_t y_type = shared ? VALUE_F32 : c->y_type;
    if (c->bias && !shared)
        add_biases(arg, bands, &out, sum);
    UNROLLED
    for (uint32_t h = 0; h < bands; h++) {
        struct half_pixel p[2];
        UNROLLED
        for (uint32_t half = 0; half < 2u; half++)
            p[half] = pixel_of(arg, bands, &out, h, half);
        if (c->residual && !shared) {
            add_residual(arg, &out, p[0], 0, sum->of[h]);
            add_residual(arg, &out, p[1], 1, sum->of[h]);
        }
        if (!shared)
            activate_short(c->act, c->act_a, c->act_b, EACH * EACH, sum->of[h][0]);
        UNROLLED
        for (uint32_t half = 0; half < 2u; half++)
            put_pixel(arg, &out, p[half], half, sum->of[h], y, y_type);
    }
    if (is_long(c->act) && !shared)
        activate_again(arg, bands, &out);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* bands and halves: constants where this is called. */
DEVICE void conv_tile(struct half_tile tile[2], uint32_t bands, const struct conv_mma_args *arg,
                      bool halves)
{
    const struct conv_args *c = &arg->c;
    const uint32_t group = block_item(&c->split);
    const struct terms k = block_terms(&c->split, arg->row);
    const struct half_place first = place_across(bands, 0);
    struct half_window window = window_of(arg, halves ? 2u : 4u, group, BLOCK_X * TILE + first.row,
                                          k.first + PART_TERMS * first.part);
    struct half_loaded next;
    struct half_sums sum = {{{{0.0f}}}};
    load_conv(&next, bands, halves, arg, group, &window, k.first);
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE_TERMS) {
        struct half_tile *t = &tile[k0 / SLICE_TERMS % 2u];
        put_slice(&t->b, &t->a, bands, &next, halves, false, arg->is_bf16);
        barrier();
        if (k0 + SLICE_TERMS < k.end)
            load_conv(&next, bands, halves, arg, group, &window, k0 + SLICE_TERMS);
        add_half(t, bands, &sum, arg->is_bf16);
    }
    put_conv_half(arg, bands, group, &sum);
}

KERNEL(conv_mma, conv_mma_args)
{
    SHARED struct half_tile tile[2];
    BY_VALUES(conv_tile, arg->c.x_type, tile, 1, arg)
}

KERNEL_OF(conv_mma_many, conv_mma_args, MMA_MANY_THREADS, MMA_MANY_BLOCKS)
{
    SHARED struct half_tile tile[2];
    BY_VALUES(conv_tile, arg->c.x_type, tile, BANDS_MOST, arg)
}
