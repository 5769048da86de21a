/* SPDX-License-Identifier: MIT */
/* image_resize.c - bilinear scaling with a support that widens when shrinking (antialiased), rows
 * first, columns second, in fixed point with 8-bit rounding between: the arithmetic of Pillow's
 * Image.resize(BILINEAR), because published preprocessing was measured with it. */
#include <stdlib.h>
#include <string.h>

#include "data_source.h"

enum { PRECISION_BITS = 32 - 8 - 2 };

/* For each output position: the first input position, how many, and their weights. */
struct filter {
    uint32_t room; /* weights per output position */
    uint32_t *first, *n;
    int32_t *weight; /* [n_out * room], in 1 / 2^PRECISION_BITS */
};

static void filter_free(struct filter *f)
{
    free(f->first);
    free(f->n);
    free(f->weight);
}

static double triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

static int32_t to_fixed(double w)
{
    double scaled = w * (1 << PRECISION_BITS);
    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

static void filter_at(struct filter *f, uint32_t i, uint32_t n_in, double scale)
{
    double stretch = scale < 1 ? 1 : scale, centre = (i + 0.5) * scale, total = 0;
    double low = centre - stretch + 0.5, high = centre + stretch + 0.5;
    uint32_t from = low < 0 ? 0 : (uint32_t)low;
    uint32_t to = high > n_in ? n_in : (uint32_t)high;
    for (uint32_t k = from; k < to; k++)
        total += triangle((k - centre + 0.5) / stretch);
    f->first[i] = from;
    f->n[i] = to - from;
    for (uint32_t k = from; k < to; k++)
        f->weight[(size_t)i * f->room + (k - from)] =
            to_fixed(triangle((k - centre + 0.5) / stretch) / total);
}

static bool filter_make(struct filter *f, uint32_t n_in, uint32_t n_out)
{
    double scale = (double)n_in / n_out, stretch = scale < 1 ? 1 : scale;
    f->room = (uint32_t)(2 * stretch) + 3;
    f->first = calloc(n_out, sizeof *f->first);
    f->n = calloc(n_out, sizeof *f->n);
    f->weight = calloc((size_t)n_out * f->room, sizeof *f->weight);
    if (!f->first || !f->n || !f->weight)
        return false;
    for (uint32_t i = 0; i < n_out; i++)
        filter_at(f, i, n_in, scale);
    return true;
}

/* One output value from n values `step` apart. The weights are not negative and sum to about
 * 2^22, so the sum stays below 2^31. */
static uint8_t weigh(const uint8_t *from, size_t step, const int32_t *weight, uint32_t n)
{
    int32_t sum = 1 << (PRECISION_BITS - 1);
    for (uint32_t k = 0; k < n; k++)
        sum += from[k * step] * weight[k];
    sum >>= PRECISION_BITS;
    return (uint8_t)(sum > 255 ? 255 : sum);
}

static void resize_rows(const struct pith_image *in, const struct filter *f, struct pith_image *out)
{
    const uint32_t c = in->channels;
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *from = in->pixels + (size_t)y * in->width * c;
        uint8_t *to = out->pixels + (size_t)y * out->width * c;
        for (uint32_t i = 0; i < out->width * c; i++)
            to[i] = weigh(from + (size_t)f->first[i / c] * c + i % c, c,
                          f->weight + (size_t)(i / c) * f->room, f->n[i / c]);
    }
}

static void resize_columns(const struct pith_image *in, const struct filter *f,
                           struct pith_image *out)
{
    const size_t row = (size_t)in->width * in->channels;
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *from = in->pixels + f->first[y] * row;
        for (size_t i = 0; i < row; i++)
            out->pixels[y * row + i] =
                weigh(from + i, row, f->weight + (size_t)y * f->room, f->n[y]);
    }
}

enum pith_status pith_image_resize(const struct pith_image *in, uint32_t width, uint32_t height,
                                   const char *name, struct pith_image *out, struct pith_error *err)
{
    struct filter across = {0}, down = {0};
    struct pith_image wide = {0}, done = {0};
    enum pith_status st = pith_image_new(width, in->height, in->channels, name, &wide, err);
    if (st == PITH_OK)
        st = pith_image_new(width, height, in->channels, name, &done, err);
    if (st == PITH_OK &&
        (!filter_make(&across, in->width, width) || !filter_make(&down, in->height, height)))
        st = pith_error_no_memory(err);
    if (st == PITH_OK) {
        resize_rows(in, &across, &wide);
        resize_columns(&wide, &down, &done);
        *out = done;
    } else {
        pith_image_free(&done);
    }
    pith_image_free(&wide);
    filter_free(&across);
    filter_free(&down);
    return st;
}

enum pith_status pith_image_resize_shorter(struct pith_image *image, uint32_t side,
                                           const char *name, struct pith_error *err)
{
    uint64_t w = image->width, h = image->height;
    uint64_t to_w = w <= h ? side : side * w / h, to_h = h <= w ? side : side * h / w;
    if (to_w == w && to_h == h)
        return PITH_OK;
    if (to_w > IMAGE_MAX_SIDE || to_h > IMAGE_MAX_SIDE)
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: %ux%u resized to a shorter side of %u",
                               name, image->width, image->height, side);
    return pith_image_resize_to(image, (uint32_t)to_w, (uint32_t)to_h, name, err);
}

enum pith_status pith_image_resize_to(struct pith_image *image, uint32_t width, uint32_t height,
                                      const char *name, struct pith_error *err)
{
    struct pith_image out;
    if (width == image->width && height == image->height)
        return PITH_OK;
    if (!image->pixels) {
        image->width = width;
        image->height = height;
        return PITH_OK;
    }
    enum pith_status st = pith_image_resize(image, width, height, name, &out, err);
    if (st != PITH_OK)
        return st;
    pith_image_free(image);
    *image = out;
    return PITH_OK;
}

/* a * b / c to the nearest, of ties to even as Python's round() does; at least 1. */
static uint32_t in_proportion(uint32_t a, uint32_t b, uint32_t c)
{
    const uint64_t twice = 2 * (uint64_t)a * b, whole = twice / (2 * (uint64_t)c);
    const uint64_t rest = twice - whole * 2 * c;
    const uint64_t n = whole + (rest > c || (rest == c && whole % 2 == 1));
    return n < 1 ? 1 : (uint32_t)n;
}

enum pith_status pith_image_letterbox(struct pith_image *image, uint32_t width, uint32_t height,
                                      uint8_t pad, const char *name, struct pith_error *err)
{
    const uint32_t c = image->channels;
    const bool wide = (uint64_t)image->width * height >= (uint64_t)image->height * width;
    const uint32_t w = wide ? width : in_proportion(image->width, height, image->height);
    const uint32_t h = wide ? in_proportion(image->height, width, image->width) : height;
    struct pith_image out;
    enum pith_status st = pith_image_resize_to(image, w, h, name, err);
    if (st == PITH_OK)
        st = pith_image_new(width, height, c, name, &out, err);
    if (st != PITH_OK)
        return st;
    memset(out.pixels, pad, (size_t)width * height * c);
    for (uint32_t y = 0; y < h; y++)
        memcpy(out.pixels + ((size_t)(y + (height - h) / 2) * width + (width - w) / 2) * c,
               image->pixels + (size_t)y * w * c, (size_t)w * c);
    pith_image_free(image);
    *image = out;
    return PITH_OK;
}
