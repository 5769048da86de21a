/* SPDX-License-Identifier: MIT */
/* winograd_impl.h - the loops behind winograd_kernels.h, included once for each instruction set,
 * with the vector operations (vec, LANES, ...), MR (rows of sums in registers: 4 or 8)
 * and TABLE (the table's name) defined.
 *
 * The points are 0, pairs +p and -p, and infinity. What the two of a pair share is computed once:
 * the even and the odd part of a polynomial. With Q_p(x^2) the product of (x^2 - q^2) over the
 * other pairs, C(x^2) that over all pairs, the rows of B^T are the coefficients of
 *
 *     0: C(x^2)    +p, -p: x^2 Q_p(x^2) +- p x Q_p(x^2)    infinity: x C(x^2)
 *
 * Those of A are the powers of the points; those of G the same over N_p, the product of p - q over
 * the other finite points. */
#include "train_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum { MOST = 8 }; /* points */

struct points {
    float p[3];
    float q[3][2]; /* of Q_p, but the leading one, which is 1 */
    float c[3];    /* of C, the same */
};

/* Dyadic, so that they and their products are exact. Of 6, these leave a quarter of the error of
 * 1, 2; of 8, the least of all in eighths up to 2. */
static const struct points points_of_6 = {
    {0.625f, 1.5f}, {{-2.25f}, {-0.390625f}}, {0.87890625f, -2.640625f}};
static const struct points points_of_8 = {
    {0.5f, 1.0f, 2.0f}, {{4.0f, -5.0f}, {1.0f, -4.25f}, {0.25f, -1.25f}}, {-1.0f, 5.25f, -5.25f}};

INLINE const struct points *points_of(const int n)
{
    return n == 6 ? &points_of_6 : &points_of_8;
}

/* 1 / N of point i: N_0 = C(0), N_p = N_-p = 2 p^2 Q_p(p^2), 1 at infinity. */
INLINE float scale_of(const int n, const int i)
{
    const struct points *t = points_of(n);
    const int pairs = n / 2 - 1, k = (i - 1) / 2;
    if (i == 0 || i == n - 1)
        return i == 0 ? 1.0f / t->c[0] : 1.0f;
    float square = t->p[k] * t->p[k], q = 1.0f;
    for (int j = pairs - 2; j >= 0; j--)
        q = q * square + t->q[k][j];
    return 1.0f / (2.0f * square * q);
}

INLINE vec add_times(float a, vec x, vec y)
{
    return vec_fma(vec_set1(a), x, y);
}

/* ---- one dimension --------------------------------------------------------------------------- */

/* y = B^T x, n to n */
INLINE void reduce(const int n, const vec *x, vec *y)
{
    const struct points *t = points_of(n);
    const int pairs = n / 2 - 1;
    vec first = x[2 * pairs], last = x[2 * pairs + 1];
#pragma GCC unroll 8
    for (int j = 0; j < pairs; j++) {
        first = add_times(t->c[j], x[2 * j], first);
        last = add_times(t->c[j], x[2 * j + 1], last);
    }
    y[0] = first;
    y[n - 1] = last;
#pragma GCC unroll 8
    for (int i = 0; i < pairs; i++) {
        vec even = x[2 * pairs], odd = x[2 * pairs - 1];
#pragma GCC unroll 8
        for (int j = 0; j < pairs - 1; j++) {
            even = add_times(t->q[i][j], x[2 * j + 2], even);
            odd = add_times(t->q[i][j], x[2 * j + 1], odd);
        }
        y[2 * i + 1] = add_times(t->p[i], odd, even);
        y[2 * i + 2] = add_times(-t->p[i], odd, even);
    }
}

/* y = B x, n to n */
INLINE void spread(const int n, const vec *x, vec *y)
{
    const struct points *t = points_of(n);
    const int pairs = n / 2 - 1;
#pragma GCC unroll 8
    for (int j = 0; j < pairs; j++) {
        y[2 * j] = vec_mul(vec_set1(t->c[j]), x[0]);
        y[2 * j + 1] = vec_mul(vec_set1(t->c[j]), x[n - 1]);
    }
    y[2 * pairs] = x[0];
    y[2 * pairs + 1] = x[n - 1];
#pragma GCC unroll 8
    for (int i = 0; i < pairs; i++) {
        vec even = vec_add(x[2 * i + 1], x[2 * i + 2]);
        vec odd = vec_mul(vec_set1(t->p[i]), add_times(-1.0f, x[2 * i + 2], x[2 * i + 1]));
#pragma GCC unroll 8
        for (int j = 0; j < pairs - 1; j++) {
            y[2 * j + 2] = add_times(t->q[i][j], even, y[2 * j + 2]);
            y[2 * j + 1] = add_times(t->q[i][j], odd, y[2 * j + 1]);
        }
        y[2 * pairs] = vec_add(even, y[2 * pairs]);
        y[2 * pairs - 1] = vec_add(odd, y[2 * pairs - 1]);
    }
}

/* y = A x, `count` coefficients to n points */
INLINE void evaluate(const int n, const int count, const vec *x, vec *y)
{
    const struct points *t = points_of(n);
    y[0] = x[0];
    y[n - 1] = x[count - 1];
#pragma GCC unroll 8
    for (int i = 0; i < n / 2 - 1; i++) {
        const float p = t->p[i], square = p * p;
        vec even = add_times(square, x[2], x[0]), odd = x[1];
        if (count > 3)
            odd = add_times(square, x[3], odd);
        if (count > 4)
            even = add_times(square * square, x[4], even);
        y[2 * i + 1] = add_times(p, odd, even);
        y[2 * i + 2] = add_times(-p, odd, even);
    }
}

/* y = A^T x, n to `count` */
INLINE void fold(const int n, const int count, const vec *x, vec *y)
{
    const struct points *t = points_of(n);
    y[0] = x[0];
#pragma GCC unroll 8
    for (int k = 1; k < count; k++)
        y[k] = k == count - 1 ? x[n - 1] : vec_zero();
#pragma GCC unroll 8
    for (int i = 0; i < n / 2 - 1; i++) {
        vec sum = vec_add(x[2 * i + 1], x[2 * i + 2]);
        vec difference = add_times(-1.0f, x[2 * i + 2], x[2 * i + 1]);
        float power = t->p[i];
        y[0] = vec_add(y[0], sum);
#pragma GCC unroll 8
        for (int k = 1; k < count; k++, power *= t->p[i])
            y[k] = add_times(power, k % 2 ? difference : sum, y[k]);
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Where a tile lies in its tensor; those of its rows and columns that are inside are [.begin, .end)
 * of its `size`. */
struct place {
    float *at; /* row 0, column 0, the block's first channel of a vector; may lie outside */
    int64_t row_step, column_step;
    int row_begin, row_end, column_begin, column_end;
    bool whole;
    bool add, below, beside; /* below, beside: another tile, that shares rows or columns with it */
};

static int clamp_to(int64_t v, int size)
{
    return v < 0 ? 0 : v > size ? size : (int)v;
}

/* Which tile of a tensor. */
struct tile_number {
    int64_t picture, row, column;
};

static struct tile_number tile_number_of(const struct winograd_block *b)
{
    int64_t of_picture = b->tile_rows * b->tile_columns, rest = b->first % of_picture;
    return (struct tile_number){b->first / of_picture, rest / b->tile_columns,
                                rest % b->tile_columns};
}

static void next_tile(const struct winograd_block *b, struct tile_number *t)
{
    if (++t->column < b->tile_columns)
        return;
    t->column = 0;
    if (++t->row < b->tile_rows)
        return;
    t->row = 0;
    t->picture++;
}

/* size: of a tile in this tensor, n where it is an input, 4 where it is an output */
INLINE struct place place_of(const struct winograd_block *b, const struct tile_number *t, int size)
{
    int64_t h = t->row * WINOGRAD_OUT + b->top, w = t->column * WINOGRAD_OUT + b->left;
    struct place p = {
        .at = b->tensor + ((t->picture * b->height + h) * b->width + w) * b->channels,
        .row_step = b->width * b->channels,
        .column_step = b->channels,
        .row_begin = clamp_to(-h, size),
        .row_end = clamp_to(b->height - h, size),
        .column_begin = clamp_to(-w, size),
        .column_end = clamp_to(b->width - w, size),
        .add = b->add,
        .below = t->row > 0,
        .beside = t->column > 0,
    };
    p.whole = p.row_begin == 0 && p.row_end == size && p.column_begin == 0 && p.column_end == size;
    return p;
}

/* What is known of a tile where its code is compiled: it lies inside of the tensor; all its lanes
 * are channels, else those of the mask. */
struct extent {
    bool whole, full;
    vmask mask;
};

/* Column j of a tile; zeros outside. */
INLINE void load_column(const struct place *p, const int size, int j, const struct extent e, vec *x)
{
    const float *from = p->at + j * p->column_step;
    bool inside = e.whole || (j >= p->column_begin && j < p->column_end);
#pragma GCC unroll 8
    for (int i = 0; i < size; i++) {
        if (e.whole || (inside && i >= p->row_begin && i < p->row_end))
            x[i] = e.full ? vec_load(from + i * p->row_step)
                          : vec_load_some(from + i * p->row_step, e.mask);
        else
            x[i] = vec_zero();
    }
}

INLINE void inputs_tile(const int n, const struct place *p, const struct extent e, float *planes,
                        size_t plane_step)
{
    vec tmp[MOST][MOST], x[MOST], y[MOST];
    for (int j = 0; j < n; j++) {
        load_column(p, n, j, e, x);
        reduce(n, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            tmp[i][j] = y[i];
    }
    for (int i = 0; i < n; i++) {
        reduce(n, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
            vec_store(planes + (size_t)(i * n + j) * plane_step, y[j]);
    }
}

INLINE void outputs_tile(const int n, const struct place *p, const struct extent e, float *planes,
                         size_t plane_step)
{
    vec tmp[MOST][WINOGRAD_OUT], x[WINOGRAD_OUT], y[MOST];
    for (int j = 0; j < WINOGRAD_OUT; j++) {
        load_column(p, WINOGRAD_OUT, j, e, x);
        evaluate(n, WINOGRAD_OUT, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            tmp[i][j] = y[i];
    }
    for (int i = 0; i < n; i++) {
        evaluate(n, WINOGRAD_OUT, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
            vec_store(planes + (size_t)(i * n + j) * plane_step, y[j]);
    }
}

INLINE void results_tile(const int n, const struct place *p, const struct extent e, vec bias,
                         const float *planes, size_t plane_step)
{
    vec tmp[WINOGRAD_OUT][MOST], x[MOST], y[WINOGRAD_OUT];
    for (int j = 0; j < n; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            x[i] = vec_load(planes + (size_t)(i * n + j) * plane_step);
        fold(n, WINOGRAD_OUT, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < WINOGRAD_OUT; i++)
            tmp[i][j] = y[i];
    }
    for (int i = 0; i < WINOGRAD_OUT; i++) {
        if (!e.whole && (i < p->row_begin || i >= p->row_end))
            continue;
        float *to = p->at + i * p->row_step;
        fold(n, WINOGRAD_OUT, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < WINOGRAD_OUT; j++) {
            if (!e.whole && (j < p->column_begin || j >= p->column_end))
                continue;
            if (e.full)
                vec_store(to + j * p->column_step, vec_add(y[j], bias));
            else
                vec_store_some(to + j * p->column_step, e.mask, vec_add(y[j], bias));
        }
    }
}

/* What a tile shares with the one above it and the one to its left, that they have written. */
INLINE void gradients_tile(const int n, const struct place *p, const struct extent e,
                           const float *planes, size_t plane_step)
{
    vec tmp[MOST][MOST], x[MOST], y[MOST];
    for (int j = 0; j < n; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            x[i] = vec_load(planes + (size_t)(i * n + j) * plane_step);
        spread(n, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            tmp[i][j] = y[i];
    }
    for (int i = 0; i < n; i++) {
        if (!e.whole && (i < p->row_begin || i >= p->row_end))
            continue;
        const bool row_shared = p->add || (p->below && i < n - WINOGRAD_OUT);
        spread(n, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < n; j++) {
            float *to = p->at + i * p->row_step + j * p->column_step;
            if (!e.whole && (j < p->column_begin || j >= p->column_end))
                continue;
            if (row_shared || (p->beside && j < n - WINOGRAD_OUT))
                y[j] = vec_add(y[j], e.full ? vec_load(to) : vec_load_some(to, e.mask));
            if (e.full)
                vec_store(to, y[j]);
            else
                vec_store_some(to, e.mask, y[j]);
        }
    }
}

enum kind { INPUTS, OUTPUTS, RESULTS, GRADIENTS };

/* One vector of channels, from channel `c` on, through all tiles of a block. */
INLINE void all_tiles(const enum kind kind, const int n, const struct winograd_block *b, int64_t c,
                      const bool full, const float *bias)
{
    const vmask mask = vmask_range(0, (int)(b->channels - c < LANES ? b->channels - c : LANES));
    const vec start = bias ? vec_load_some(bias + c, mask) : vec_zero();
    struct tile_number number = tile_number_of(b);
    for (int64_t i = 0; i < b->n_tiles; i++, next_tile(b, &number)) {
        const int size = kind == INPUTS || kind == GRADIENTS ? n : WINOGRAD_OUT;
        struct place p = place_of(b, &number, size);
        float *planes = b->planes + i * b->padded + c;
        p.at += c;
#define TILE                                                                                       \
    if (kind == INPUTS)                                                                            \
        inputs_tile(n, &p, e, planes, b->plane_step);                                              \
    else if (kind == OUTPUTS)                                                                      \
        outputs_tile(n, &p, e, planes, b->plane_step);                                             \
    else if (kind == RESULTS)                                                                      \
        results_tile(n, &p, e, start, planes, b->plane_step);                                      \
    else                                                                                           \
        gradients_tile(n, &p, e, planes, b->plane_step)
        if (p.whole) {
            const struct extent e = {true, full, mask};
            TILE;
        } else {
            const struct extent e = {false, full, mask};
            TILE;
        }
#undef TILE
    }
}

INLINE void all_channels(const enum kind kind, const int n, const struct winograd_block *b,
                         const float *bias)
{
    int64_t c = 0;
    for (; c + LANES <= b->channels; c += LANES)
        all_tiles(kind, n, b, c, true, bias);
    if (c < b->channels)
        all_tiles(kind, n, b, c, false, bias);
}

static void inputs(const struct winograd_block *b, int points)
{
    if (points == 6)
        all_channels(INPUTS, 6, b, NULL);
    else
        all_channels(INPUTS, 8, b, NULL);
}

static void outputs(const struct winograd_block *b, int points)
{
    if (points == 6)
        all_channels(OUTPUTS, 6, b, NULL);
    else
        all_channels(OUTPUTS, 8, b, NULL);
}

static void results(const struct winograd_block *b, int points, const float *bias)
{
    if (points == 6)
        all_channels(RESULTS, 6, b, bias);
    else
        all_channels(RESULTS, 8, b, bias);
}

static void gradients(const struct winograd_block *b, int points)
{
    if (points == 6)
        all_channels(GRADIENTS, 6, b, NULL);
    else
        all_channels(GRADIENTS, 8, b, NULL);
}

/* ---- kernels --------------------------------------------------------------------------------- */

INLINE void kernel_to(const int n, const float *kernel, float *planes, size_t plane_step)
{
    const int r = n + 1 - WINOGRAD_OUT;
    vec tmp[MOST][MOST], x[MOST], y[MOST];
    for (int j = 0; j < r; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < r; i++)
            x[i] = vec_load(kernel + (i * r + j) * LANES);
        evaluate(n, r, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            tmp[i][j] = y[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        evaluate(n, r, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < n; j++)
            vec_store(planes + (size_t)(i * n + j) * plane_step,
                      vec_mul(y[j], vec_set1(scale_of(n, i) * scale_of(n, j))));
    }
}

INLINE void kernel_from(const int n, const float *planes, size_t plane_step, float *kernel)
{
    const int r = n + 1 - WINOGRAD_OUT;
    vec tmp[MOST][MOST], x[MOST], y[MOST];
#pragma GCC unroll 8
    for (int j = 0; j < n; j++) {
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            x[i] = vec_mul(vec_load(planes + (size_t)(i * n + j) * plane_step),
                           vec_set1(scale_of(n, i) * scale_of(n, j)));
        fold(n, r, x, y);
#pragma GCC unroll 8
        for (int i = 0; i < r; i++)
            tmp[i][j] = y[i];
    }
    for (int i = 0; i < r; i++) {
        fold(n, r, tmp[i], y);
#pragma GCC unroll 8
        for (int j = 0; j < r; j++)
            vec_store(kernel + (i * r + j) * LANES, y[j]);
    }
}

static void kernel(const float *from, int points, float *planes, size_t plane_step)
{
    if (points == 6)
        kernel_to(6, from, planes, plane_step);
    else
        kernel_to(8, from, planes, plane_step);
}

static void kernel_back(const float *planes, size_t plane_step, int points, float *to)
{
    if (points == 6)
        kernel_from(6, planes, plane_step, to);
    else
        kernel_from(8, planes, plane_step, to);
}

/* ---- products -------------------------------------------------------------------------------- */

/* mr rows by nv vectors of sums. */
INLINE void sums(const int mr, const int nv, const struct winograd_product *p, const float *a,
                 const float *b, float *c)
{
    vec sum[MR][2];
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++)
            sum[i][v] = p->add ? vec_load(c + i * p->c_row + v * LANES) : vec_zero();
    for (int64_t k = 0; k < p->depth; k++, a += p->a_k, b += p->b_k) {
        vec row[2];
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++)
            row[v] = vec_load(b + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            const vec one = vec_set1(a[i * p->a_row]);
#pragma GCC unroll 8
            for (int v = 0; v < nv; v++)
                sum[i][v] = vec_fma(one, row[v], sum[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++)
            vec_store(c + i * p->c_row + v * LANES, sum[i][v]);
}

/* mr rows by half a vector, or by one and a half. */
INLINE void half_sums(const int mr, const bool more, const struct winograd_product *p,
                      const float *a, const float *b, float *c)
{
    vec sum[MR];
    rvec half[MR];
    const int at = more ? LANES : 0;
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++) {
        sum[i] = more && p->add ? vec_load(c + i * p->c_row) : vec_zero();
        half[i] = p->add ? rvec_load(c + i * p->c_row + at) : rvec_set1(0.0f);
    }
    for (int64_t k = 0; k < p->depth; k++, a += p->a_k, b += p->b_k) {
        const vec row = more ? vec_load(b) : vec_zero();
        const rvec half_row = rvec_load(b + at);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            if (more)
                sum[i] = vec_fma(vec_set1(a[i * p->a_row]), row, sum[i]);
            half[i] = rvec_fma(rvec_set1(a[i * p->a_row]), half_row, half[i]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++) {
        if (more)
            vec_store(c + i * p->c_row, sum[i]);
        rvec_store(c + i * p->c_row + at, half[i]);
    }
}

enum width { TWO, ONE_AND_HALF, ONE, HALF };

INLINE void all_rows(const enum width width, const struct winograd_product *p, const float *a,
                     const float *b, float *c)
{
#define SUMS(mr)                                                                                   \
    if (width == TWO || width == ONE)                                                              \
        sums(mr, width == TWO ? 2 : 1, p, a + i * p->a_row, b, c + i * p->c_row);                  \
    else                                                                                           \
        half_sums(mr, width == ONE_AND_HALF, p, a + i * p->a_row, b, c + i * p->c_row)
    int64_t i = 0;
    for (; i + MR <= p->rows; i += MR)
        SUMS(MR);
    for (; i < p->rows; i += 4)
        SUMS(4);
#undef SUMS
}

static void product(const struct winograd_product *p)
{
    const int64_t half = sizeof(rvec) / sizeof(float);
    for (int64_t plane = 0; plane < p->planes; plane++) {
        const float *a = p->a + (size_t)plane * p->a_plane, *b = p->b + (size_t)plane * p->b_plane;
        float *c = p->c + (size_t)plane * p->c_plane;
        int64_t left = p->columns;
        for (; left > LANES + half; left -= 2 * LANES, b += 2 * LANES, c += 2 * LANES)
            all_rows(TWO, p, a, b, c);
        if (left > LANES)
            all_rows(ONE_AND_HALF, p, a, b, c);
        else if (left > half)
            all_rows(ONE, p, a, b, c);
        else if (left > 0)
            all_rows(HALF, p, a, b, c);
    }
}

static void row_sums(const float *from, int64_t rows, int64_t c, float *sum)
{
    for (int64_t at = 0; at < c; at += LANES) {
        const vmask mask = vmask_range(0, (int)(c - at < LANES ? c - at : LANES));
        vec v = vec_zero();
        for (int64_t row = 0; row < rows; row++)
            v = vec_add(v, vec_load_some(from + row * c + at, mask));
        vec_store_some(sum + at, mask, v);
    }
}

const struct winograd_kernels TABLE = {LANES,  inputs,      outputs, results, gradients,
                                       kernel, kernel_back, product, row_sums};
