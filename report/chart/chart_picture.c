/* SPDX-License-Identifier: MIT */
#include "chart_picture.h"
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static void append(png_structp png, png_bytep data, size_t n)
{
    struct chart_text *t = png_get_io_ptr(png);
    pith_put_bytes(t, (const char *)data, n);
}

static void flush(png_structp png)
{
    (void)png;
}

static void give_up(png_structp png, png_const_charp text)
{
    (void)text;
    longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

/* A picture of few colours: what each pixel's colour is the number of. */
struct palette {
    png_color colour[256];
    uint32_t n;
    uint8_t *index; /* owns: a pixel each; NULL: there are more colours */
};

static bool same_colour(const png_color *c, const uint8_t *rgb)
{
    return c->red == rgb[0] && c->green == rgb[1] && c->blue == rgb[2];
}

/* False: no memory. */
static bool find_palette(struct palette *p, const uint8_t *rgb, size_t n)
{
    uint16_t first[1024] = {0}; /* by hash of a colour: 1 + its number */
    p->index = malloc(n);
    for (size_t i = 0; i < n && p->index; i++, rgb += 3) {
        uint32_t at = (rgb[0] * 31u + rgb[1] * 67u + rgb[2] * 131u) % 1024;
        while (first[at] && !same_colour(&p->colour[first[at] - 1], rgb))
            at = (at + 1) % 1024;
        if (!first[at] && p->n == 256) {
            free(p->index);
            p->index = NULL;
            return true;
        }
        if (!first[at]) {
            p->colour[p->n] = (png_color){rgb[0], rgb[1], rgb[2]};
            first[at] = (uint16_t)++p->n;
        }
        p->index[i] = (uint8_t)(first[at] - 1);
    }
    return p->index != NULL;
}

static bool encode(png_structp png, png_infop info, struct chart_text *t, const uint8_t *pixels,
                   const uint32_t dim[3], const struct palette *p)
{
    const int bits = p->index && p->n <= 16 ? 4 : 8;
    const size_t each = p->index ? 1 : dim[2];
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_write_fn(png, t, append, flush);
    png_set_IHDR(png, info, dim[1], dim[0], bits,
                 p->index      ? PNG_COLOR_TYPE_PALETTE
                 : dim[2] == 3 ? PNG_COLOR_TYPE_RGB
                               : PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (p->index)
        png_set_PLTE(png, info, p->colour, (int)p->n);
    png_set_compression_level(png, 9);
    png_write_info(png, info);
    png_set_packing(png);
    for (uint32_t y = 0; y < dim[0]; y++)
        png_write_row(png, (p->index ? p->index : pixels) + (size_t)y * dim[1] * each);
    png_write_end(png, info);
    return true;
}

enum pith_status pith_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height,
                                 uint32_t channels, struct pith_buffer *file)
{
    const uint32_t dim[3] = {height, width, channels};
    struct chart_text t = {0};
    struct palette p = {.n = 0};
    if (!pixels || !file || !width || !height || (channels != 1 && channels != 3))
        return PITH_ERR_ARGUMENT;
    if (channels == 3 && !find_palette(&p, pixels, (size_t)width * height))
        return PITH_ERR_MEMORY;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, give_up, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const bool good = info && encode(png, info, &t, pixels, dim, &p) && !t.failed;
    if (png)
        png_destroy_write_struct(&png, &info);
    free(p.index);
    if (!good) {
        pith_text_free(&t);
        return PITH_ERR_MEMORY;
    }
    *file = (struct pith_buffer){(uint8_t *)t.data, t.bytes};
    return PITH_OK;
}

void pith_put_png(struct chart_text *t, const struct pith_buffer *png)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    pith_put(t, "data:image/png;base64,");
    for (size_t i = 0; i < png->bytes; i += 3) {
        const size_t n = png->bytes - i < 3 ? png->bytes - i : 3;
        const uint32_t bits = (uint32_t)png->data[i] << 16 |
                              (n > 1 ? (uint32_t)png->data[i + 1] << 8 : 0) |
                              (n > 2 ? png->data[i + 2] : 0u);
        char four[4];
        for (uint32_t k = 0; k < 4; k++)
            four[k] = k <= n ? digit[bits >> (18 - 6 * k) & 63] : '=';
        pith_put_bytes(t, four, 4);
    }
}

void pith_colour_pixel(double x, double most, uint8_t rgb[3])
{
    /* ends of the scale: blue and orange of the charts, both dark enough to differ from white */
    static const double blue[3] = {0, 62, 120}, orange[3] = {150, 62, 0};
    if (isnan(x)) {
        memset(rgb, 128, 3);
        return;
    }
    const double share = fmin(fabs(x) / most, 1);
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(255 + share * ((x > 0 ? blue : orange)[c] - 255) + 0.5);
}
