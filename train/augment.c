/* SPDX-License-Identifier: MIT */
/* augment.c - all geometry is one map from the pixel that is written to the place that is read,
 * interpolated once. */
#include "augment.h"
#include "pith_host.h"
#include "shuffle.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD = 7, FIELD_PADDED = FIELD + 2 };

/* ---- text ---------------------------------------------------------------------------------------
 */

static const struct amount {
    const char *name;
    size_t at;
    float most;
} amounts[] = {{"shift", offsetof(struct augment, shift), 1000},
               {"rotate", offsetof(struct augment, rotate), 180},
               {"scale", offsetof(struct augment, scale), 4},
               {"shear", offsetof(struct augment, shear), 4},
               {"elastic", offsetof(struct augment, elastic), 100},
               {"cutout", offsetof(struct augment, cutout), 1000}};

static enum pith_status parse_word(const char *word, size_t n, struct augment *a,
                                   struct pith_error *err)
{
    if (n == 4 && memcmp(word, "flip", 4) == 0) {
        a->flip = true;
        return PITH_OK;
    }
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        size_t name = strlen(amounts[i].name);
        if (n < name + 2 || memcmp(word, amounts[i].name, name) != 0 || word[name] != '=')
            continue;
        char *end;
        float v = strtof(word + name + 1, &end);
        if (end != word + n || !(v >= 0 && v <= amounts[i].most))
            return pith_error_set(err, PITH_ERR_ARGUMENT, "augmentation '%.*s': not in 0..%g",
                                  (int)n, word, (double)amounts[i].most);
        memcpy((char *)a + amounts[i].at, &v, sizeof v);
        return PITH_OK;
    }
    return pith_error_set(err, PITH_ERR_ARGUMENT,
                          "augmentation '%.*s': give shift= rotate= scale= shear= elastic= cutout= "
                          "or flip",
                          (int)n, word);
}

enum pith_status pith_augment_parse(const char *text, struct augment *a, struct pith_error *err)
{
    struct augment made = {0};
    while (*text) {
        size_t n = strcspn(text, ",");
        enum pith_status status = parse_word(text, n, &made, err);
        if (status)
            return status;
        text += n + (text[n] == ',');
    }
    *a = made;
    return PITH_OK;
}

bool pith_augment_any(const struct augment *a)
{
    return a->shift > 0 || a->rotate > 0 || a->scale > 0 || a->shear > 0 || a->elastic > 0 ||
           a->cutout > 0 || a->flip;
}

/* ---- the map ------------------------------------------------------------------------------------
 */

struct map {
    float xx, xy, yx, yy, x0, y0; /* from = centre + M (to - centre) + shift */
    float field[2][FIELD_PADDED * FIELD_PADDED];
    bool bent;
};

/* -1 .. 1 */
static float even(uint64_t *state)
{
    return (float)((double)(next_random(state) >> 11) / 4503599627370496.0 - 1.0);
}

static void draw_field(float most, uint64_t *state, float *field)
{
    for (int i = 0; i < FIELD_PADDED * FIELD_PADDED; i++)
        field[i] = most * even(state);
}

/* Everything is drawn, wanted or not: one amount does not change what another one draws. */
static struct map draw_map(const struct augment *a, uint64_t *state)
{
    const float degree = 3.14159265f / 180;
    float angle = a->rotate * degree * even(state), size = even(state), sx = even(state);
    float dx = even(state), dy = even(state), mirror = even(state);
    float zoom = expf(-logf(1 + a->scale) * size), c = cosf(angle) * zoom, s = sinf(angle) * zoom;
    float shear = a->shear * sx, left = a->flip && mirror < 0 ? -1.0f : 1.0f;
    struct map m = {.xx = left * c, .xy = left * (c * shear - s), .yx = s, .yy = s * shear + c};
    m.x0 = a->shift * dx;
    m.y0 = a->shift * dy;
    m.bent = a->elastic > 0;
    if (m.bent) {
        draw_field(a->elastic, state, m.field[0]);
        draw_field(a->elastic, state, m.field[1]);
    }
    return m;
}

/* Weights of a uniform cubic B-spline: smooth, and never beyond what it is made of. */
static void spline(float t, float w[4])
{
    float u = 1 - t;
    w[0] = u * u * u / 6;
    w[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    w[2] = (3 * u * u * u - 6 * u * u + 4) / 6;
    w[3] = t * t * t / 6;
}

static float bend(const float *field, float y, float x)
{
    int iy = (int)y, ix = (int)x;
    float wy[4], wx[4], sum = 0;
    spline(y - (float)iy, wy);
    spline(x - (float)ix, wx);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            sum += wy[i] * wx[k] * field[(iy + i) * FIELD_PADDED + ix + k];
    return sum;
}

static float at_or_zero(const float *x, uint32_t height, uint32_t width, int row, int col)
{
    bool inside = row >= 0 && col >= 0 && row < (int)height && col < (int)width;
    return inside ? x[(size_t)row * width + (size_t)col] : 0.0f;
}

static float between(const float *x, uint32_t height, uint32_t width, float row, float col)
{
    if (!(row > -1 && col > -1 && row < (float)height && col < (float)width))
        return 0.0f;
    int r = (int)floorf(row), c = (int)floorf(col);
    float fr = row - (float)r, fc = col - (float)c;
    float top =
        at_or_zero(x, height, width, r, c) * (1 - fc) + at_or_zero(x, height, width, r, c + 1) * fc;
    float bottom = at_or_zero(x, height, width, r + 1, c) * (1 - fc) +
                   at_or_zero(x, height, width, r + 1, c + 1) * fc;
    return top * (1 - fr) + bottom * fr;
}

static void move_pixels(const struct map *m, uint32_t channels, uint32_t height, uint32_t width,
                        const float *from, float *to)
{
    float cy = (float)(height - 1) / 2, cx = (float)(width - 1) / 2;
    float py = (float)(FIELD_PADDED - 3) / (float)height,
          px = (float)(FIELD_PADDED - 3) / (float)width;
    size_t plane = (size_t)height * width;
    for (uint32_t row = 0; row < height; row++)
        for (uint32_t col = 0; col < width; col++) {
            float y = (float)row - cy, x = (float)col - cx;
            float sy = cy + m->yx * x + m->yy * y + m->y0, sx = cx + m->xx * x + m->xy * y + m->x0;
            if (m->bent) {
                sy += bend(m->field[0], (float)row * py, (float)col * px);
                sx += bend(m->field[1], (float)row * py, (float)col * px);
            }
            for (uint32_t c = 0; c < channels; c++)
                to[c * plane + (size_t)row * width + col] =
                    between(from + c * plane, height, width, sy, sx);
        }
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static void cover(float side, uint64_t *state, uint32_t channels, uint32_t height, uint32_t width,
                  float *x)
{
    int n = (int)side, row = (int)random_below(state, height),
        col = (int)random_below(state, width);
    for (uint32_t c = 0; c < channels; c++)
        for (int i = row - n / 2; i < row - n / 2 + n; i++)
            for (int k = col - n / 2; k < col - n / 2 + n; k++)
                if (i >= 0 && k >= 0 && i < (int)height && k < (int)width)
                    x[((size_t)c * height + (size_t)i) * width + (size_t)k] = 0.0f;
}

void pith_augment(const struct augment *a, uint64_t seed, uint32_t channels, uint32_t height,
                  uint32_t width, float *x, float *scratch)
{
    uint64_t state = seed;
    struct map m = draw_map(a, &state);
    memcpy(scratch, x, (size_t)channels * height * width * sizeof *x);
    move_pixels(&m, channels, height, width, scratch, x);
    if (a->cutout >= 1)
        cover(a->cutout, &state, channels, height, width, x);
}
