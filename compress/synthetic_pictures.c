/* SPDX-License-Identifier: MIT */
/* synthetic_pictures.c - pictures of discs that cover each other ("dead leaves": Lee, Mumford &
 * Huang, "Occlusion models for natural images", 2001).
 *
 * Radii fall with their second power, so that there are edges and flat places of every size, as in
 * photographs: noise, in which neighbouring pixels know nothing of each other, fills a network's
 * values quite differently. A disc's colours are near each other, for most things are nearly grey,
 * and a little noise lies over all. Pixels go from 0 to 255 and through the model's preprocessing.
 *
 * An input that has not the shape of a picture gets numbers of mean 0 and deviation 1 that know
 * nothing of each other. */
#include "synthetic_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_preprocess.h"
#include "base/seeded_random.h"

#define DISCS 250u
#define SMALLEST 64.0f /* of the side: the least radius */
#define LARGEST 2.0f   /* of the side: the largest */
#define COLOUR_SPREAD 40.0f
#define NOISE 6.0f
#define LEAST_SIDE 8u

struct picture {
    uint32_t c, h, w;
    bool nhwc;
    struct pith_preprocess pre;
    uint64_t *random;
};

/* Mean 0, variance 1: the sum of four even numbers is near enough, and the same everywhere. */
static float bell(uint64_t *random)
{
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += random_unit_f32(random);
    const float root_of_3 = 1.7320508f; /* the sum has mean 2 and variance 1/3 */
    return (sum - 2) * root_of_3;
}

static float pixel(float x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

/* One row of a disc: pixels [from, to). x: [c, h, w]. */
static void fill_row(const struct picture *p, float *x, uint32_t row, float from, float to,
                     const float *colour)
{
    uint32_t first = from < 0 ? 0 : (uint32_t)from;
    uint32_t last = to > (float)p->w ? p->w : to < 0 ? 0 : (uint32_t)to;
    for (uint32_t c = 0; c < p->c; c++)
        for (uint32_t i = first; i < last; i++)
            x[((size_t)c * p->h + row) * p->w + i] = colour[c];
}

static void draw_disc(const struct picture *p, float *x)
{
    float side = (float)(p->h < p->w ? p->h : p->w), colour[PITH_PREPROCESS_CHANNELS];
    float small = side / SMALLEST > 1 ? side / SMALLEST : 1, large = side / LARGEST;
    float radius = 1 / (1 / small + random_unit_f32(p->random) * (1 / large - 1 / small));
    float across = -radius + random_unit_f32(p->random) * ((float)p->w + 2 * radius);
    float down = -radius + random_unit_f32(p->random) * ((float)p->h + 2 * radius);
    float grey = 255 * random_unit_f32(p->random);
    for (uint32_t c = 0; c < p->c; c++)
        colour[c] = pixel(grey + COLOUR_SPREAD * bell(p->random));
    for (uint32_t row = 0; row < p->h; row++) {
        float d = (float)row - down, half = radius * radius - d * d;
        if (half > 0)
            fill_row(p, x, row, across - sqrtf(half), across + sqrtf(half), colour);
    }
}

/* x, to: [c, h, w] each; `to` as the model wants it. */
static void draw(const struct picture *p, float *x, float *to)
{
    size_t plane = (size_t)p->h * p->w;
    for (uint32_t c = 0; c < p->c; c++) {
        float ground = 255 * random_unit_f32(p->random);
        for (size_t i = 0; i < plane; i++)
            x[c * plane + i] = ground;
    }
    for (uint32_t i = 0; i < DISCS; i++)
        draw_disc(p, x);
    for (uint32_t c = 0; c < p->c; c++)
        for (size_t i = 0; i < plane; i++) {
            float v = pixel(x[c * plane + i] + NOISE * bell(p->random));
            to[p->nhwc ? i * p->c + c : c * plane + i] = pith_preprocess_value(&p->pre, v, c);
        }
}

static bool is_picture(const struct pith_model *m, struct picture *p)
{
    const struct pith_value *v = &m->values[m->inputs[0]];
    const char *text = pith_model_get_meta(m, "preprocess");
    pith_preprocess_init(&p->pre);
    if (text && pith_preprocess_parse(text, strlen(text), &p->pre))
        return false;
    p->nhwc = p->pre.nhwc;
    if (v->rank != 4)
        return false;
    p->c = v->dim[p->nhwc ? 3 : 1];
    p->h = v->dim[p->nhwc ? 1 : 2];
    p->w = v->dim[p->nhwc ? 2 : 3];
    bool fits = (p->pre.n_mean <= 1 || p->pre.n_mean == p->c) &&
                (p->pre.n_std <= 1 || p->pre.n_std == p->c);
    return (p->c == 1 || p->c == 3) && p->h >= LEAST_SIDE && p->w >= LEAST_SIDE && fits;
}

static bool fill_samples(const struct pith_model *m, uint32_t n, size_t elems, uint64_t seed,
                         float *to)
{
    uint64_t random = seed;
    struct picture p = {.random = &random};
    bool pictures = is_picture(m, &p);
    float *x = pictures ? malloc(elems * sizeof *x) : NULL;
    if (pictures && !x)
        return false;
    for (uint32_t i = 0; i < n && pictures; i++)
        draw(&p, x, to + i * elems);
    for (size_t i = 0; i < n * elems && !pictures; i++)
        to[i] = bell(&random);
    free(x);
    return true;
}

/* As a file in memory, which is what data sets are opened from. */
static enum pith_status open_samples(const struct pith_value *v, uint32_t n, const float *x,
                                     struct pith_data **data, struct pith_error *err)
{
    struct pith_buffer npy = {0};
    uint32_t dim[PITH_MAX_RANK + 1] = {n};
    uint32_t rank = v->rank ? v->rank : 1;
    for (uint32_t i = 1; i < rank; i++)
        dim[i] = v->dim[i];
    enum pith_status st = pith_npy_write(PITH_F32, rank, dim, x, &npy, err);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "synthetic.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .input_name = v->name,
                               .rank = v->rank};
    memcpy(o.dim, v->dim, sizeof o.dim);
    if (!st)
        st = pith_data_open(&o, data, err);
    pith_buffer_free(&npy);
    return st;
}

enum pith_status pith_synthetic_pictures(const struct pith_model *m, uint32_t n, uint64_t seed,
                                         struct pith_data **data, struct pith_error *err)
{
    const struct pith_value *v = m->n_inputs == 1 ? &m->values[m->inputs[0]] : NULL;
    uint64_t elems = 1;
    if (!v || v->type != PITH_F32 || (v->rank > 0 && v->dim[0] > 1))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "synthetic samples need a network with one f32 input of batch 1");
    struct picture p;
    if (is_picture(m, &p) && !pith_model_get_meta(m, "preprocess"))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot make synthetic pictures: the model stores no preprocessing "
                               "(pith import --preprocess, scale=1 for 0 to 255)");
    for (uint32_t i = 0; i < v->rank; i++)
        elems *= v->dim[i];
    float *x = elems > SIZE_MAX / sizeof *x / (n + 1u)
                   ? NULL
                   : malloc((size_t)(n * elems + 1) * sizeof *x);
    if (!x || !fill_samples(m, n, (size_t)elems, seed, x)) {
        free(x);
        return pith_error_no_memory(err);
    }
    enum pith_status st = open_samples(v, n, x, data, err);
    free(x);
    return st;
}
