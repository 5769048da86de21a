/* SPDX-License-Identifier: MIT */
/* chart_picture.h - small pictures as PNG files, and as data: URIs inside of a page. */
#ifndef CHART_PICTURE_H
#define CHART_PICTURE_H

#include "chart_text.h"
#include "pith_base.h"

/* pixels: [height, width, channels], channels 1 (grey) or 3 (RGB), row-major. The caller owns *png.
 * The same pixels give the same bytes with the same libpng and zlib. PITH_ERR_ARGUMENT: no pixels;
 * PITH_ERR_MEMORY. */
enum pith_status pith_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height,
                                 uint32_t channels, struct pith_buffer *png);
/* "data:image/png;base64,..." */
void pith_put_png(struct chart_text *t, const struct pith_buffer *png);

/* A matrix of numbers as pixels of three channels: 0 is white, below it orange, above it blue, the
 * larger the darker; `most` (> 0) and beyond is darkest, NaN is grey. */
void pith_colour_pixel(double x, double most, uint8_t rgb[3]);

#endif
