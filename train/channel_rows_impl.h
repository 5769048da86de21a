/* SPDX-License-Identifier: MIT */
/* channel_rows_impl.h - the loops behind channel_rows.h, included once for each instruction set
 * with ROWS, the name of the table, defined. Plain C that the compiler makes vectors of: WIDE
 * channels side by side, whose number it knows.
 *
 * Sums are kept in float over RUN rows, then in double: as exact as needed, at a float's speed. */
#include "channel_rows.h"

#include <string.h>

enum { WIDE = 16, RUN = 32 };

/* body(first channel, number of them), for all of c, with the number known where it is WIDE */
#define BLOCKS(body)                                                                               \
    size_t first = 0;                                                                              \
    for (; first + WIDE <= c; first += WIDE) {                                                     \
        body(first, WIDE);                                                                         \
    }                                                                                              \
    if (first < c) {                                                                               \
        body(first, c - first);                                                                    \
    }

static inline __attribute__((always_inline)) void two_sums(const float *u, const float *v,
                                                           const float *shift, bool squares,
                                                           size_t rows, size_t c, size_t width,
                                                           double *sum, double *other)
{
    for (size_t row = 0; row < rows; row += RUN) {
        size_t end = rows - row < RUN ? rows : row + RUN;
        float a[WIDE] = {0}, b[WIDE] = {0};
        for (size_t r = row; r < end; r++)
            for (size_t i = 0; i < width; i++) {
                float q = v[r * c + i] - shift[i];
                float p = squares ? q : u[r * c + i]; /* cppcheck-suppress nullPointer */
                a[i] += p;
                b[i] += p * q;
            }
        for (size_t i = 0; i < width; i++) {
            sum[i] += (double)a[i];
            other[i] += (double)b[i];
        }
    }
}

static void moments(const float *x, const float *shift, size_t rows, size_t c, double *sum,
                    double *square)
{
#define MOMENTS(at, width)                                                                         \
    two_sums(NULL, x + (at), shift + (at), true, rows, c, width, sum + (at), square + (at))
    BLOCKS(MOMENTS)
#undef MOMENTS
}

static void products(const float *dy, const float *x, const float *mean, size_t rows, size_t c,
                     double *sum, double *product)
{
#define PRODUCTS(at, width)                                                                        \
    two_sums(dy + (at), x + (at), mean + (at), false, rows, c, width, sum + (at), product + (at))
    BLOCKS(PRODUCTS)
#undef PRODUCTS
}

static inline __attribute__((always_inline)) void affine_block(const float *x, const float *s,
                                                               const float *t, size_t rows,
                                                               size_t c, size_t width, float *y)
{
    float scale[WIDE], offset[WIDE];
    memcpy(scale, s, width * sizeof *s);
    memcpy(offset, t, width * sizeof *t);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < width; i++)
            y[r * c + i] = x[r * c + i] * scale[i] + offset[i];
}

static void affine(const float *restrict x, const float *s, const float *t, size_t rows, size_t c,
                   float *restrict y)
{
#define AFFINE(at, width) affine_block(x + (at), s + (at), t + (at), rows, c, width, y + (at))
    BLOCKS(AFFINE)
#undef AFFINE
}

static inline __attribute__((always_inline)) void
mix_block(const float *restrict dy, const float *restrict x, const float *a, const float *b,
          const float *d, size_t rows, size_t c, size_t width, bool set, float *restrict dx)
{
    float ka[WIDE], kb[WIDE], kd[WIDE];
    memcpy(ka, a, width * sizeof *a);
    memcpy(kb, b, width * sizeof *b);
    memcpy(kd, d, width * sizeof *d);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < width; i++) {
            float part = dy[r * c + i] * ka[i] + x[r * c + i] * kb[i] + kd[i];
            dx[r * c + i] = set ? part : dx[r * c + i] + part;
        }
}

static void mix(const float *restrict dy, const float *restrict x, const float *a, const float *b,
                const float *d, size_t rows, size_t c, bool set, float *restrict dx)
{
#define MIX(at, width)                                                                             \
    if (set)                                                                                       \
        mix_block(dy + (at), x + (at), a + (at), b + (at), d + (at), rows, c, width, true,         \
                  dx + (at));                                                                      \
    else                                                                                           \
        mix_block(dy + (at), x + (at), a + (at), b + (at), d + (at), rows, c, width, false,        \
                  dx + (at))
    BLOCKS(MIX)
#undef MIX
}

static void rectify(const float *restrict y, const float *restrict dy, size_t n, bool set,
                    float *restrict dx)
{
    if (set)
        for (size_t i = 0; i < n; i++)
            dx[i] = y[i] > 0.0f ? dy[i] : 0.0f;
    else
        for (size_t i = 0; i < n; i++)
            dx[i] += y[i] > 0.0f ? dy[i] : 0.0f;
}

static void add(float *restrict to, const float *restrict part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += part[i];
}

const struct channel_rows ROWS = {moments, affine, products, mix, rectify, add};
