/* SPDX-License-Identifier: MIT */
/* channel_rows_impl.h - the loops behind channel_rows.h, included once for each instruction set
 * with ROWS, the name of the table, defined. Plain C that the compiler makes vectors of: WIDE
 * channels side by side, whose number it knows.
 *
 * Sums are kept in float over RUN rows, then in double: as exact as needed, at a float's speed. */
#include "train_kernels.h"

#include <math.h>
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

/* What two_sums() adds up: x - mean and its square; dy and dy * (x - mean), the same where x * s +
 * t is above 0. */
enum sums { SQUARES, PRODUCTS, RECTIFIED };

/* Of `width` channels from channel `at` on. */
static inline __attribute__((always_inline)) void
two_sums(const enum sums kind, const struct channel_sums *of, size_t at, size_t width)
{
    const float *u = kind == SQUARES ? NULL : of->dy + at, *v = of->x + at, *shift = of->mean + at;
    const size_t rows = of->rows, c = of->c;
    double *sum = of->sum + at, *other = of->product + at;
    float ks[WIDE] = {0}, kt[WIDE] = {0};
    if (kind == RECTIFIED) {
        memcpy(ks, of->s + at, width * sizeof *ks);
        memcpy(kt, of->t + at, width * sizeof *kt);
    }
    for (size_t row = 0; row < rows; row += RUN) {
        size_t end = rows - row < RUN ? rows : row + RUN;
        float a[WIDE] = {0}, b[WIDE] = {0};
        for (size_t r = row; r < end; r++)
            for (size_t i = 0; i < width; i++) {
                float x = v[r * c + i], q = x - shift[i];
                float p = kind == SQUARES ? q : u[r * c + i]; /* cppcheck-suppress nullPointer */
                if (kind == RECTIFIED)
                    p = x * ks[i] + kt[i] > 0.0f ? p : 0.0f;
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
    const struct channel_sums of = {
        .x = x, .mean = shift, .sum = sum, .product = square, .rows = rows, .c = c};
#define MOMENTS(at, width) two_sums(SQUARES, &of, at, width)
    BLOCKS(MOMENTS)
#undef MOMENTS
}

static void products(const struct channel_sums *of)
{
    const size_t c = of->c;
#define SUMS(at, width)                                                                            \
    if (of->s)                                                                                     \
        two_sums(RECTIFIED, of, at, width);                                                        \
    else                                                                                           \
        two_sums(PRODUCTS, of, at, width)
    BLOCKS(SUMS)
#undef SUMS
}

static inline __attribute__((always_inline)) void affine_block(const struct channel_affine *of,
                                                               size_t at, size_t width,
                                                               const bool relu, const float *beside,
                                                               float *restrict y)
{
    const float *x = of->x + at;
    const size_t rows = of->rows, c = of->c;
    float scale[WIDE], offset[WIDE];
    memcpy(scale, of->s + at, width * sizeof *scale);
    memcpy(offset, of->t + at, width * sizeof *offset);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < width; i++) {
            float v = x[r * c + i] * scale[i] + offset[i];
            v = beside ? v + beside[r * c + i] : v;
            y[r * c + i] = relu && v < 0.0f ? 0.0f : v; /* not-a-number stays */
        }
}

static void affine_relu(const struct channel_affine *of)
{
    const size_t c = of->c;
#define AFFINE_RELU(at, width)                                                                     \
    if (of->beside)                                                                                \
        affine_block(of, at, width, true, of->beside + (at), of->y + (at));                        \
    else                                                                                           \
        affine_block(of, at, width, true, NULL, of->y + (at))
    BLOCKS(AFFINE_RELU)
#undef AFFINE_RELU
}

static void affine(const struct channel_affine *of)
{
    const size_t c = of->c;
#define AFFINE(at, width) affine_block(of, at, width, false, NULL, of->y + (at))
    BLOCKS(AFFINE)
#undef AFFINE
}

/* One of the two outputs, with everything that is known where it is compiled. */
static inline __attribute__((always_inline)) void mix_block(const struct channel_mix *m, size_t at,
                                                            size_t width, const bool kink,
                                                            const bool set, float *restrict dx)
{
    const float *dy = m->dy + at, *x = m->x + at;
    float ka[WIDE], kb[WIDE], kd[WIDE], ks[WIDE] = {0}, kt[WIDE] = {0};
    const size_t c = m->c, bytes = width * sizeof(float);
    memcpy(ka, m->a + at, bytes);
    memcpy(kb, m->b + at, bytes);
    memcpy(kd, m->d + at, bytes);
    if (kink) {
        memcpy(ks, m->s + at, bytes);
        memcpy(kt, m->t + at, bytes);
    }
    for (size_t r = 0, rows = m->rows; r < rows; r++)
        for (size_t i = 0; i < width; i++) {
            float v = x[r * c + i], g = dy[r * c + i];
            if (kink)
                g = v * ks[i] + kt[i] > 0.0f ? g : 0.0f;
            float part = g * ka[i] + v * kb[i] + kd[i];
            dx[r * c + i] = set ? part : dx[r * c + i] + part;
        }
}

static void mix(const struct channel_mix *m)
{
    const size_t c = m->c;
#define MIX(at, width)                                                                             \
    if (m->s && m->set)                                                                            \
        mix_block(m, at, width, true, true, m->dx + (at));                                         \
    else if (m->s)                                                                                 \
        mix_block(m, at, width, true, false, m->dx + (at));                                        \
    else if (m->set)                                                                               \
        mix_block(m, at, width, false, true, m->dx + (at));                                        \
    else                                                                                           \
        mix_block(m, at, width, false, false, m->dx + (at))
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

static void rectify_in_place(const float *restrict y, float *restrict dy, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

static void adam(const struct adam_step *a, const float *restrict grad, float *restrict first,
                 float *restrict second, float *restrict value, size_t n)
{
    const struct adam_step s = *a;
    for (size_t k = 0; k < n; k++) {
        float g = grad[k] * s.clip + s.mixed * value[k];
        first[k] = s.b1 * first[k] + (1 - s.b1) * g;
        second[k] = s.b2 * second[k] + (1 - s.b2) * g * g;
        value[k] -=
            s.rate * (first[k] * s.c1 / (sqrtf(second[k] * s.c2) + 1e-8f) + s.own * value[k]);
    }
}

static void add(float *restrict to, const float *restrict part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += part[i];
}

static void add_product(float *restrict to, const float *restrict a, const float *restrict b,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += a[i] * b[i];
}

static void tree(float *restrict to, const float *const *part, uint32_t parts, size_t n)
{
    const float *p[8];
    for (uint32_t k = 0; k < 8; k++)
        p[k] = part[k < parts ? k : 0];
    if (parts == 8)
        for (size_t i = 0; i < n; i++)
            to[i] = ((p[0][i] + p[1][i]) + (p[2][i] + p[3][i])) +
                    ((p[4][i] + p[5][i]) + (p[6][i] + p[7][i]));
    else if (parts == 4)
        for (size_t i = 0; i < n; i++)
            to[i] = (p[0][i] + p[1][i]) + (p[2][i] + p[3][i]);
    else if (parts == 2)
        for (size_t i = 0; i < n; i++)
            to[i] = p[0][i] + p[1][i];
    else
        memcpy(to, p[0], n * sizeof *to);
}

const struct channel_rows ROWS = {moments,          affine, affine_relu, products,    mix, rectify,
                                  rectify_in_place, adam,   add,         add_product, tree};
