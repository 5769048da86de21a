/* SPDX-License-Identifier: MIT */
/* map_picture.c - activations as grey pictures: the maps of a convolution side by side, or numbers
 * of any other layer row by row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/chart/chart_picture.h"
#include "facts.h"

enum { MOST_MAPS = 16, GREYS = 15 };

/* From white (the smallest) to black: dark is strong, on paper too. */
static uint8_t grey_of(double x, double low, double high)
{
    const double share = high > low && isfinite(x) ? (x - low) / (high - low) : 0;
    return (uint8_t)(255 - 17 * (int)(share * GREYS + 0.5));
}

static void find_range(const float *x, uint64_t n, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            *low = fmin(*low, (double)x[i]);
            *high = fmax(*high, (double)x[i]);
        }
}

/* Three channels of grey, so that the palette of the PNG takes 4 bits a pixel. */
static void put_grey(uint8_t *pixels, uint32_t wide, uint32_t x, uint32_t y, uint8_t grey)
{
    memset(pixels + ((size_t)y * wide + x) * 3, grey, 3);
}

static double mean_of(const float *map, uint32_t h, uint32_t w, const uint32_t from[2],
                      const uint32_t to[2])
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t y = from[0]; y < h && (y < to[0] || y == from[0]); y++)
        for (uint32_t x = from[1]; x < w && (x < to[1] || x == from[1]); x++, n++)
            sum += (double)map[(uint64_t)y * w + x];
    return n ? sum / n : 0;
}

static enum pith_status put_maps(const float *x, const uint32_t chw[3], uint32_t side,
                                 struct pith_buffer *png, uint32_t size[2], uint32_t *n_maps)
{
    const uint32_t c = chw[0], h = chw[1], w = chw[2];
    const uint32_t n = c < MOST_MAPS ? c : MOST_MAPS, across = n < 4 ? n : 4;
    const uint32_t down = (n + across - 1) / across, large = h > w ? h : w;
    const uint32_t one = (side - across + 1) / across, fit = large < one ? large : one;
    const uint32_t high = h * fit / large ? h * fit / large : 1;
    const uint32_t wide = w * fit / large ? w * fit / large : 1;
    size[0] = across * (wide + 1) - 1;
    size[1] = down * (high + 1) - 1;
    uint8_t *pixels = malloc((size_t)size[0] * size[1] * 3);
    if (!pixels)
        return PITH_ERR_MEMORY;
    memset(pixels, 255, (size_t)size[0] * size[1] * 3);
    double low, high_value;
    find_range(x, (uint64_t)c * h * w, &low, &high_value);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t py = 0; py < high; py++)
            for (uint32_t px = 0; px < wide; px++) {
                const uint32_t from[2] = {py * h / high, px * w / wide};
                const uint32_t to[2] = {(py + 1) * h / high, (px + 1) * w / wide};
                const float *map = x + (uint64_t)i * h * w;
                put_grey(pixels, size[0], i % across * (wide + 1) + px,
                         i / across * (high + 1) + py,
                         grey_of(mean_of(map, h, w, from, to), low, high_value));
            }
    *n_maps = n;
    const enum pith_status st = pith_png_encode(pixels, size[0], size[1], 3, png);
    free(pixels);
    return st;
}

/* All numbers row by row, as many as fit into a square. */
static enum pith_status put_strip(const float *x, uint64_t n, uint32_t side,
                                  struct pith_buffer *png, uint32_t size[2])
{
    const uint64_t most = (uint64_t)side * side, shown = n < most ? n : most;
    size[0] = 1;
    while ((uint64_t)size[0] * size[0] < shown)
        size[0]++;
    size[1] = (uint32_t)((shown + size[0] - 1) / size[0]);
    uint8_t *pixels = malloc((size_t)size[0] * size[1] * 3);
    double low, high;
    if (!pixels)
        return PITH_ERR_MEMORY;
    memset(pixels, 255, (size_t)size[0] * size[1] * 3);
    find_range(x, shown, &low, &high);
    for (uint64_t i = 0; i < shown; i++)
        put_grey(pixels, size[0], (uint32_t)(i % size[0]), (uint32_t)(i / size[0]),
                 grey_of((double)x[i], low, high));
    const enum pith_status st = pith_png_encode(pixels, size[0], size[1], 3, png);
    free(pixels);
    return st;
}

enum pith_status pith_map_picture(const float *x, const struct pith_tensor *t, uint32_t side,
                                  struct report_layer *l)
{
    const uint32_t *d = t->dim;
    const bool maps = t->rank == 4 && d[0] == 1 && d[1] && d[2] * d[3] > 1;
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= d[i];
    l->picture.n_maps = 0;
    l->picture.n_channels = maps ? d[1] : 0;
    if (n == 0)
        return PITH_OK;
    return maps ? put_maps(x, d + 1, side, &l->picture.activation, l->picture.activation_side,
                           &l->picture.n_maps)
                : put_strip(x, n, side, &l->picture.activation, l->picture.activation_side);
}
