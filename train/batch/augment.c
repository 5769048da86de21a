/* SPDX-License-Identifier: MIT */
/* augment.c - all geometry is one map from the pixel that is written to the place that is read,
 * interpolated once. */
#include "augment.h"
#include "pith_host.h"
#include "train/state/shuffle.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD = 7, FIELD_PADDED = FIELD + 2 };

/* ---- text ------------------------------------------------------------------------------------ */

static const struct amount {
    const char *name;
    size_t at;
    float most;
} amounts[] = {{"shift", offsetof(struct augment, shift), 1000},
               {"crop", offsetof(struct augment, crop), 1000},
               {"rotate", offsetof(struct augment, rotate), 180},
               {"scale", offsetof(struct augment, scale), 4},
               {"shear", offsetof(struct augment, shear), 4},
               {"elastic", offsetof(struct augment, elastic), 100},
               {"cutout", offsetof(struct augment, cutout), 1000},
               {"brightness", offsetof(struct augment, brightness), 10},
               {"contrast", offsetof(struct augment, contrast), 1},
               {"saturation", offsetof(struct augment, saturation), 1},
               {"noise", offsetof(struct augment, noise), 10},
               {"mixup", offsetof(struct augment, mixup), 2},
               {"clean", offsetof(struct augment, clean), 1}};

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
                          "augmentation '%.*s': give flip, shift= crop= rotate= scale= shear= "
                          "elastic= cutout= brightness= contrast= saturation= noise= mixup= or "
                          "clean=",
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

bool pith_augment_moves(const struct augment *a)
{
    return a->shift > 0 || a->crop >= 1 || a->rotate > 0 || a->scale > 0 || a->shear > 0 ||
           a->elastic > 0 || a->cutout > 0 || a->flip;
}

static bool recolours(const struct augment *a)
{
    return a->brightness > 0 || a->contrast > 0 || a->saturation > 0;
}

bool pith_augment_any(const struct augment *a)
{
    return pith_augment_moves(a) || recolours(a) || a->noise > 0 || a->mixup > 0;
}

/* ---- the map --------------------------------------------------------------------------------- */

struct map {
    float xx, xy, yx, yy, x0, y0; /* from = centre + M (to - centre) + shift */
    float field[2][FIELD_PADDED * FIELD_PADDED];
    bool bent;
};

static const float pi = 3.14159265f;

/* -1 .. 1 */
static float even(uint64_t *state)
{
    return (float)(2 * random_unit(state) - 1);
}

static void draw_field(float most, uint64_t *state, float *field)
{
    for (int i = 0; i < FIELD_PADDED * FIELD_PADDED; i++)
        field[i] = most * even(state);
}

/* Everything is drawn, wanted or not: one amount does not change what another one draws. */
static struct map draw_map(const struct augment *a, uint64_t *state)
{
    const float degree = pi / 180;
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

/* The field's rows around y, as one: what is left is to go along it. */
static void bend_row(const float *field, float y, float row[FIELD_PADDED])
{
    int iy = (int)y;
    float w[4];
    spline(y - (float)iy, w);
    const float *at = field + iy * FIELD_PADDED;
    for (int k = 0; k < FIELD_PADDED; k++)
        row[k] = w[0] * at[k] + w[1] * at[k + FIELD_PADDED] + w[2] * at[k + 2 * FIELD_PADDED] +
                 w[3] * at[k + 3 * FIELD_PADDED];
}

static float at_or_zero(const float *x, const struct picture_size *s, int row, int col)
{
    bool inside = row >= 0 && col >= 0 && row < (int)s->height && col < (int)s->width;
    return inside ? x[(size_t)row * s->width + (size_t)col] : 0.0f;
}

/* A place between four pixels. */
struct place {
    int row, col; /* of the upper left one; row -2: outside */
    float down, right;
    bool within; /* all four are pixels */
};

static struct place place_at(const struct picture_size *s, float row, float col)
{
    if (!(row > -1 && col > -1 && row < (float)s->height && col < (float)s->width))
        return (struct place){.row = -2};
    int r = (int)(row + 1) - 1, c = (int)(col + 1) - 1; /* towards minus infinity */
    return (struct place){r, c, row - (float)r, col - (float)c,
                          r >= 0 && c >= 0 && r + 1 < (int)s->height && c + 1 < (int)s->width};
}

static float between(const float *x, const struct picture_size *s, const struct place *p)
{
    if (p->row < -1)
        return 0.0f;
    float around[4];
    if (p->within) {
        const float *at = x + (size_t)p->row * s->width + (size_t)p->col;
        around[0] = at[0];
        around[1] = at[1];
        around[2] = at[s->width];
        around[3] = at[s->width + 1];
    } else {
        for (int i = 0; i < 4; i++)
            around[i] = at_or_zero(x, s, p->row + i / 2, p->col + i % 2);
    }
    float top = around[0] * (1 - p->right) + around[1] * p->right;
    float bottom = around[2] * (1 - p->right) + around[3] * p->right;
    return top * (1 - p->down) + bottom * p->down;
}

/* Columns that are done together: the spline's weights are the same in all their rows. */
enum { COLUMNS = 64 };

struct columns {
    uint32_t first, n;
    int at[COLUMNS];
    float w[COLUMNS][4];
};

static struct columns columns_from(uint32_t first, uint32_t width)
{
    struct columns c = {.first = first, .n = width - first < COLUMNS ? width - first : COLUMNS};
    for (uint32_t k = 0; k < c.n; k++) {
        float x = (float)(first + k) * ((float)(FIELD_PADDED - 3) / (float)width);
        c.at[k] = (int)x;
        spline(x - (float)c.at[k], c.w[k]);
    }
    return c;
}

static float bend(const struct columns *c, uint32_t k, const float row[FIELD_PADDED])
{
    const float *w = c->w[k], *at = row + c->at[k];
    return w[0] * at[0] + w[1] * at[1] + w[2] * at[2] + w[3] * at[3];
}

static void move_columns(const struct map *m, const struct columns *columns,
                         const struct picture_size *s, const float *from, float *to)
{
    const uint32_t height = s->height, width = s->width;
    float cy = (float)(height - 1) / 2, cx = (float)(width - 1) / 2;
    size_t plane = (size_t)height * width;
    for (uint32_t row = 0; row < height; row++) {
        float field[2][FIELD_PADDED] = {{0}}, y = (float)row - cy;
        for (int i = 0; i < 2 && m->bent; i++)
            bend_row(m->field[i], (float)row * ((float)(FIELD_PADDED - 3) / (float)height),
                     field[i]);
        for (uint32_t k = 0; k < columns->n; k++) {
            uint32_t col = columns->first + k;
            float x = (float)col - cx;
            float sy = cy + m->yx * x + m->yy * y + m->y0, sx = cx + m->xx * x + m->xy * y + m->x0;
            if (m->bent) {
                sy += bend(columns, k, field[0]);
                sx += bend(columns, k, field[1]);
            }
            struct place p = place_at(s, sy, sx);
            for (uint32_t c = 0; c < s->channels; c++)
                to[c * plane + (size_t)row * width + col] = between(from + c * plane, s, &p);
        }
    }
}

static void move_pixels(const struct map *m, const struct picture_size *s, const float *from,
                        float *to)
{
    for (uint32_t first = 0; first < s->width; first += COLUMNS) {
        struct columns columns = columns_from(first, s->width);
        move_columns(m, &columns, s, from, to);
    }
}

static void cover(float side, uint64_t *state, const struct picture_size *s, float *x)
{
    const uint32_t height = s->height, width = s->width;
    int n = (int)side, row = (int)random_below(state, height),
        col = (int)random_below(state, width);
    for (uint32_t c = 0; c < s->channels; c++)
        for (int i = row - n / 2; i < row - n / 2 + n; i++)
            for (int k = col - n / 2; k < col - n / 2 + n; k++)
                if (i >= 0 && k >= 0 && i < (int)height && k < (int)width)
                    x[((size_t)c * height + (size_t)i) * width + (size_t)k] = 0.0f;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double mean_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}

static double spread_of(const float *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sqrt(sum / (double)n);
}

static void recolour(const struct augment *a, uint64_t *state, uint32_t channels, size_t plane,
                     float *x)
{
    size_t n = channels * plane;
    float mean = (float)mean_of(x, n), spread = (float)spread_of(x, n, (double)mean);
    float add = a->brightness * even(state) * spread + mean;
    float times = 1 + a->contrast * even(state), colour = 1 + a->saturation * even(state);
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - mean) * times + add;
    for (size_t i = 0; i < plane && channels == 3; i++) {
        float grey = (x[i] + x[i + plane] + x[i + 2 * plane]) / 3;
        for (size_t k = i; k < n; k += plane)
            x[k] = grey + (x[k] - grey) * colour;
    }
}

/* Gaussian numbers in pairs (Box and Muller). */
static void add_noise(float amount, uint64_t *state, size_t n, float *x)
{
    float spread = amount * (float)spread_of(x, n, mean_of(x, n));
    for (size_t i = 0; i < n; i += 2) {
        float size = spread * sqrtf(-2 * logf(1 - random_unit_f32(state)));
        float angle = 2 * pi * random_unit_f32(state);
        x[i] += size * cosf(angle);
        if (i + 1 < n)
            x[i + 1] += size * sinf(angle);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What is drawn for one purpose does not move what is drawn for the others. */
enum purpose { CLEAN = 1, CROP, COLOURS, NOISE };

static uint64_t seed_of(uint64_t seed, enum purpose p)
{
    const uint64_t odd = UINT64_C(0x9fb21c651e98df25); /* a random odd factor: streams differ */
    return seed ^ (uint64_t)p * odd;
}

static float whole(float most, uint64_t *state)
{
    uint64_t n = (uint64_t)most;
    return (float)random_below(state, 2 * n + 1) - (float)n;
}

static void move(const struct augment *a, uint64_t seed, const struct picture_size *s, float *x,
                 float *scratch)
{
    uint64_t state = seed, crop = seed_of(seed, CROP);
    struct map m = draw_map(a, &state);
    m.x0 += whole(a->crop, &crop);
    m.y0 += whole(a->crop, &crop);
    memcpy(scratch, x, (size_t)s->channels * s->height * s->width * sizeof *x);
    move_pixels(&m, s, scratch, x);
    if (a->cutout >= 1)
        cover(a->cutout, &state, s, x);
}

void pith_augment(const struct augment *a, uint64_t seed, const struct picture_size *size, float *x,
                  float *scratch)
{
    uint64_t clean = seed_of(seed, CLEAN), colours = seed_of(seed, COLOURS),
             noise = seed_of(seed, NOISE);
    size_t plane = (size_t)size->height * size->width;
    if (random_unit_f32(&clean) < a->clean)
        return;
    if (recolours(a))
        recolour(a, &colours, size->channels, plane, x);
    if (a->noise > 0)
        add_noise(a->noise, &noise, size->channels * plane, x);
    if (pith_augment_moves(a))
        move(a, seed, size, x, scratch);
}
