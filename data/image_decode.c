/* SPDX-License-Identifier: MIT */
/* image_decode.c - pictures in memory: made, freed, recognized by content, cropped, turned grey or
 * coloured.
 */
#include <stdlib.h>
#include <string.h>

#include "data_source.h"

enum pith_status pith_image_new(uint32_t width, uint32_t height, uint32_t channels,
                                const char *name, struct pith_image *image, struct pith_error *err)
{
    if (width == 0 || height == 0 || width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE ||
        (uint64_t)width * height > IMAGE_MAX_PIXELS)
        return pith_error_fill(err, PITH_ERR_LIMIT,
                               "%s: picture of %ux%u pixels, allowed are 65,536 a side and "
                               "67,108,864 in all",
                               name, width, height);
    if (channels != 1 && channels != 3)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: picture of %u channels", name,
                               channels);
    uint8_t *pixels = malloc((size_t)width * height * channels);
    if (!pixels)
        return pith_error_no_memory(err);
    *image = (struct pith_image){width, height, channels, pixels};
    return PITH_OK;
}

void pith_image_free(struct pith_image *image)
{
    if (!image)
        return;
    free(image->pixels);
    *image = (struct pith_image){0};
}

enum pith_status pith_image_decode(const void *bytes, size_t n, const char *name,
                                   uint64_t max_bytes, struct pith_image *image,
                                   struct pith_error *err)
{
    const struct data_source all = {.max_bytes = max_bytes};
    if (!bytes || !name || !image)
        return PITH_ERR_ARGUMENT;
    return pith_picture_decode(&all, bytes, n, name, image, err);
}

enum pith_status pith_picture_decode(const struct data_source *s, const void *bytes, size_t n,
                                     const char *name, struct pith_image *image,
                                     struct pith_error *err)
{
    enum pith_status st;
    if (pith_is_png(bytes, n) || pith_is_jpeg(bytes, n)) {
        st = (pith_is_png(bytes, n) ? pith_png_decode : pith_jpeg_decode)(s, bytes, n, name, image,
                                                                          err);
        if (!st && s->sizes_only) {
            free(image->pixels); /* nothing came into them */
            image->pixels = NULL;
        }
        return st;
    }
    const char *format = pith_foreign_picture(bytes, n);
    return format ? pith_error_foreign_picture(name, format, err)
                  : pith_error_fill(err, PITH_ERR_CORRUPT, "%s: neither PNG nor JPEG", name);
}

const char *pith_foreign_picture(const void *bytes, size_t n)
{
    static const struct {
        const char *format, *mark;
        size_t at, n;
    } formats[] = {
        {"BMP", "BM", 0, 2},       {"GIF", "GIF8", 0, 4},      {"TIFF", "II*\0", 0, 4},
        {"TIFF", "MM\0*", 0, 4},   {"WebP", "WEBP", 8, 4},     {"AVIF", "ftypavif", 4, 8},
        {"HEIC", "ftyphei", 4, 7}, {"HEIC", "ftypmif1", 4, 8}, {"JPEG 2000", "jP  ", 4, 4}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats && n >= 26; i++)
        if (memcmp((const char *)bytes + formats[i].at, formats[i].mark, formats[i].n) == 0)
            return formats[i].format;
    return NULL;
}

enum pith_status pith_error_foreign_picture(const char *name, const char *format,
                                            struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                           "%s: the picture is %s; pith reads PNG and JPEG: convert it first", name,
                           format);
}

enum pith_status pith_image_crop(struct pith_image *image, uint32_t width, uint32_t height,
                                 const char *name, struct pith_error *err)
{
    if (width > image->width || height > image->height || width == 0 || height == 0)
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "%s: cannot crop %ux%u out of a picture of %ux%u (resize=N in front of "
            "crop=N makes it large enough)",
            name, width, height, image->width, image->height);
    size_t from_row = (size_t)image->width * image->channels;
    size_t to_row = (size_t)width * image->channels;
    const uint8_t *from = image->pixels + (image->height - height) / 2 * from_row +
                          (size_t)(image->width - width) / 2 * image->channels;
    /* rows only move towards the start, so a row is never overwritten before it is read */
    for (uint32_t y = 0; y < height; y++)
        memmove(image->pixels + y * to_row, from + y * from_row, to_row);
    image->width = width;
    image->height = height;
    return PITH_OK;
}

/* Weights of ITU-R 601 in 1/65536, as Pillow's convert("L"). */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

enum pith_status pith_image_set_channels(struct pith_image *image, uint32_t channels,
                                         const char *name, struct pith_error *err)
{
    if (channels == image->channels)
        return PITH_OK;
    struct pith_image out;
    enum pith_status st = pith_image_new(image->width, image->height, channels, name, &out, err);
    if (st != PITH_OK)
        return st;
    size_t n = (size_t)image->width * image->height;
    for (size_t i = 0; i < n; i++) {
        if (channels == 1)
            out.pixels[i] = luma(image->pixels + 3 * i);
        else
            memset(out.pixels + 3 * i, image->pixels[i], 3);
    }
    pith_image_free(image);
    *image = out;
    return PITH_OK;
}
