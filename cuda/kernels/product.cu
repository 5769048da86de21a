/* SPDX-License-Identifier: MIT */
/* product.cu - products of f32 matrices and convolutions. A block computes a tile of 64 x 64
 * outputs, a thread 4 x 4 of them, from slices of 16 terms in shared memory. Sums go over the terms
 * in order, each by one fused multiply-add; where terms are split among blocks (struct sum_split),
 * the sums of the parts are added in order, too. */
#include "device_map.cuh"

#define TILE GEMM_TILE
#define SLICE GEMM_SLICE
#define EACH 4u /* outputs of a thread along either side */

struct ALIGNED(16) floats {
    float of[4];
};

/* Eight of them, which begin at 16 bytes. */
DEVICE void load_eight(float x[8], const void *from)
{
    const struct floats *four = (const struct floats *)from;
    UNROLLED
    for (uint32_t i = 0; i < 2u; i++) {
        const struct floats v = four[i];
        UNROLLED
        for (uint32_t j = 0; j < 4u; j++)
            x[4u * i + j] = v.of[j];
    }
}

struct tile {
    float a[SLICE][TILE + 1], b[SLICE][TILE + 1]; /* a column more: no two lanes in one bank */
};

/* Adds a slice to the thread's sums: rows THREAD / 16 + 16 i, columns THREAD % 16 + 16 k. */
DEVICE void add_slice(const struct tile *t, float sum[EACH][EACH])
{
    const uint32_t row = THREAD / SLICE, column = THREAD % SLICE;
    for (uint32_t k = 0; k < SLICE; k++) {
        float a[EACH], b[EACH];
        for (uint32_t i = 0; i < EACH; i++) {
            a[i] = t->a[k][row + SLICE * i];
            b[i] = t->b[k][column + SLICE * i];
        }
        for (uint32_t i = 0; i < EACH; i++)
            for (uint32_t j = 0; j < EACH; j++)
                sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
}

DEVICE struct offsets batch_offsets(const struct gemm_args *arg, uint32_t item)
{
    return offsets_of(item, arg->batch_rank, arg->batch_dim, arg->a_batch, arg->b_batch);
}

DEVICE size_t product_at(const struct gemm_args *arg, uint32_t item, uint32_t row, uint32_t column)
{
    return ((size_t)item * arg->m + row) * arg->n + column;
}

/* Of the sum, before the activation. */
DEVICE float product_value(const struct gemm_args *arg, uint32_t residual_type, uint32_t item,
                           uint32_t row, uint32_t column, float sum)
{
    float y = arg->alpha * sum;
    if (arg->c)
        y += arg->beta * arg->c[(size_t)row * arg->c_row + (size_t)column * arg->c_col];
    if (arg->residual)
        y += value_at(arg->residual, product_at(arg, item, row, column), residual_type);
    return y;
}

/* With y and the residual of types. */
DEVICE void put_typed(const struct gemm_args *arg, uint32_t y_type, uint32_t residual_type,
                      uint32_t item, uint32_t row, uint32_t column, float sum)
{
    put_value(arg->y, product_at(arg, item, row, column), y_type,
              activated(arg->act, arg->act_a, arg->act_b,
                        product_value(arg, residual_type, item, row, column, sum)));
}

DEVICE void put_product(const struct gemm_args *arg, uint32_t item, uint32_t row, uint32_t column,
                        float sum)
{
    put_typed(arg, VALUE_F32, VALUE_F32, item, row, column, sum);
}

/* Of what the lanes of a warp hold. */
DEVICE float warp_sum(float sum)
{
    for (uint32_t half = 16; half > 0; half /= 2)
        sum += shuffle_xor_f32(sum, half);
    return sum;
}

#define NEAR_AT_ONCE 8u

/* The first n elements of a, four at a time: all of a thread's are on their way before the first is
 * needed. a and near begin at 16 bytes, and n is a multiple of four. At places of
 * relative index. */
DEVICE void copy_near(float *near, const float *a, uint32_t n, uint32_t threads)
{
    const struct floats *from = (const struct floats *)(const void *)a;
    struct floats *to = (struct floats *)(void *)near;
    const struct floats none = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (uint32_t first = THREAD; first < n / 4u; first += NEAR_AT_ONCE * threads) {
        struct floats v[NEAR_AT_ONCE];
        UNROLLED
        for (uint32_t i = 0; i < NEAR_AT_ONCE; i++) {
            v[i] = none;
            if (first + i * threads < n / 4u)
                v[i] = from[first + i * threads];
        }
        UNROLLED
        for (uint32_t i = 0; i < NEAR_AT_ONCE; i++) {
            const uint32_t at = first + i * threads;
            if (at < n / 4u)
                to[at + at / (RELATIVE_COLUMNS / 4u)] = v[i];
        }
    }
}

/* The block's row of a, in shared memory. */
DEVICE void load_near(float *near, const struct gemm_args *arg, uint32_t threads)
{
    const float *a = arg->a + (size_t)BLOCK_Y * arg->a_row;
    const uint32_t whole = (uintptr_t)a % 16u == 0u ? arg->k / 4u * 4u : 0u;
    copy_near(near, a, whole, threads);
    for (uint32_t i = whole + THREAD; i < arg->k; i += threads)
        near[RELATIVE_PLACE(i)] = a[i];
    for (uint32_t i = RELATIVE_COLUMNS + THREAD % 4u + THREAD / 4u * RELATIVE_GROUP;
         i < RELATIVE_PLACES(arg->k); i += threads / 4u * RELATIVE_GROUP)
        near[i] = 0.0f;
}

/* Which of a tile's outputs is the thread's sum [i][j]: as add_slice has them (bands 0), or mma,
 * whose rows lie along a row of y: so eight lanes write a sector of memory whole. */
DEVICE uint32_t tile_row(uint32_t bands, uint32_t i, uint32_t j)
{
    return bands ? mma_column(bands, i, j) : THREAD / SLICE + SLICE * i;
}

DEVICE uint32_t tile_column(uint32_t bands, uint32_t j)
{
    return bands ? mma_row(bands, j) : THREAD % SLICE + SLICE * j;
}

/* Element (row, k) of the slice that begins at k0; a thread loads 4, neighbours along the axis
 * whose step is 1. */
DEVICE void load_slice(float slice[SLICE][TILE + 1], const float *x, uint32_t row0, uint32_t rows,
                       uint32_t row_step, uint32_t k0, uint32_t ks, uint32_t k_step)
{
    for (uint32_t i = THREAD; i < SLICE * TILE; i += LAUNCH_THREADS) {
        uint32_t row = k_step == 1 ? i / SLICE : i % TILE, k = k_step == 1 ? i % SLICE : i / TILE;
        bool there = row0 + row < rows && k0 + k < ks;
        slice[k][row] =
            there ? x[(size_t)(row0 + row) * row_step + (size_t)(k0 + k) * k_step] : 0.0f;
    }
}

/* Along z a block has an item - of a batch, an image's group - and a part of its terms. */
DEVICE uint32_t block_item(const struct sum_split *s)
{
    return s->parts > 1u ? BLOCK_Z / s->parts : BLOCK_Z;
}

DEVICE uint32_t block_part(const struct sum_split *s)
{
    return s->parts > 1u ? BLOCK_Z % s->parts : 0u;
}

struct terms {
    uint32_t first, end;
};

DEVICE struct terms block_terms(const struct sum_split *s, uint32_t all)
{
    const uint32_t first = block_part(s) * s->terms;
    const bool last = s->parts <= 1u || all - first <= s->terms;
    struct terms t = {first, last ? all : first + s->terms};
    return t;
}

DEVICE float *part_sums(const struct sum_split *s)
{
    return s->sums + (size_t)block_part(s) * s->outputs;
}

/* Parts are added in one order: results do not depend on which block was first. */
DEVICE float sum_of_parts(const struct sum_split *s, uint32_t i)
{
    float sum = s->sums[i];
    for (uint32_t p = 1; p < s->parts; p++)
        sum += s->sums[(size_t)p * s->outputs + i];
    return sum;
}

/* Where a thread's sums go: number e to element at[e], where bit e of `there` is set. All are found
 * out before anything is read, and all that is read is on its way before any of it is used. */
struct tile_places {
    uint32_t at[EACH * EACH], there;
};

DEVICE void put_sums(void *y, uint32_t type, const struct tile_places *to, float sum[EACH][EACH])
{
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++)
        if (to->there >> e & 1u)
            put_value(y, to->at[e], type, sum[e / EACH][e % EACH]);
}

/* sum += factor * x */
DEVICE void add_elements(float sum[EACH][EACH], const void *x, uint32_t type,
                         const struct tile_places *from, float factor)
{
    float value[EACH * EACH];
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++)
        value[e] = from->there >> e & 1u ? value_at(x, from->at[e], type) : 0.0f;
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++)
        sum[e / EACH][e % EACH] += factor * value[e];
}

/* Numbers of a matrix's elements: `first` that of (0, 0). */
struct matrix_steps {
    uint32_t first, row, column;
};

DEVICE struct tile_places places_of(const struct gemm_args *arg, uint32_t row0, uint32_t column0,
                                    struct matrix_steps step, uint32_t bands)
{
    struct tile_places p = {{0}, 0};
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++) {
        const uint32_t row = row0 + tile_row(bands, e / EACH, e % EACH);
        const uint32_t column = column0 + tile_column(bands, e % EACH);
        p.at[e] = step.first + row * step.row + column * step.column;
        p.there |= (uint32_t)(row < arg->m && column < arg->n) << e;
    }
    return p;
}

DEVICE void put_tile(const struct gemm_args *arg, uint32_t item, uint32_t row0, uint32_t column0,
                     float sum[EACH][EACH], uint32_t bands)
{
    const struct matrix_steps y_steps = {item * arg->m * arg->n, arg->n, 1u};
    const struct matrix_steps c_steps = {0, arg->c_row, arg->c_col};
    const uint32_t y_type = bands ? arg->y_type : VALUE_F32; /* of mma alone */
    const uint32_t residual_type = bands ? arg->residual_type : VALUE_F32;
    const struct tile_places y = places_of(arg, row0, column0, y_steps, bands);
    if (arg->split.parts > 1u) {
        put_sums(part_sums(&arg->split), VALUE_F32, &y, sum);
        return;
    }
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++)
        sum[e / EACH][e % EACH] *= arg->alpha;
    if (arg->c) {
        const struct tile_places c = places_of(arg, row0, column0, c_steps, bands);
        add_elements(sum, arg->c, VALUE_F32, &c, arg->beta);
    }
    if (arg->residual)
        add_elements(sum, arg->residual, residual_type, &y, 1.0f);
    activate_short(arg->act, arg->act_a, arg->act_b, EACH * EACH, sum[0]);
    put_sums(arg->y, y_type, &y, sum);
    NOT_UNROLLED
    for (uint32_t e = is_long(arg->act) ? 0 : EACH * EACH; e < EACH * EACH; e++) {
        uint32_t row = row0 + tile_row(bands, e / EACH, e % EACH);
        uint32_t column = column0 + tile_column(bands, e % EACH);
        if (row < arg->m && column < arg->n)
            activate_at(arg->y, product_at(arg, item, row, column), y_type, arg->act,
                        arg->act_a, arg->act_b);
    }
}

KERNEL(gemm_f32, gemm_args)
{
    SHARED struct tile t;
    const uint32_t row0 = BLOCK_Y * TILE, column0 = BLOCK_X * TILE;
    const uint32_t item = block_item(&arg->split);
    const struct terms k = block_terms(&arg->split, arg->k);
    const struct offsets at = batch_offsets(arg, item);
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE) {
        load_slice(t.a, arg->a + at.a, row0, arg->m, arg->a_row, k0, k.end, arg->a_col);
        load_slice(t.b, arg->b + at.b, column0, arg->n, arg->b_col, k0, k.end, arg->b_row);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_tile(arg, item, row0, column0, sum, 0);
}

KERNEL(gemm_parts, gemm_args)
{
    FOR_EACH(i, arg->split.outputs)
    put_typed(arg, arg->y_type, arg->residual_type, i / arg->n / arg->m, i / arg->n % arg->m,
              i % arg->n, sum_of_parts(&arg->split, i));
}

/* A warp an output: for few rows of a. */
KERNEL(gemv_f32, gemm_args)
{
    const uint32_t lane = THREAD % 32u, column = BLOCK_X * GEMV_ROWS + THREAD / 32u;
    const bool there = column < arg->n;
    const struct offsets at = batch_offsets(arg, BLOCK_Z);
    const float *a = arg->a + at.a + (size_t)BLOCK_Y * arg->a_row;
    const float *b = arg->b + at.b + (size_t)(there ? column : arg->n - 1u) * arg->b_col;
    float sum = 0.0f;
    for (uint32_t k = lane; k < arg->k; k += 32u)
        sum = fmaf(a[(size_t)k * arg->a_col], b[k], sum);
    sum = warp_sum(sum);
    if (there && lane == 0)
        put_product(arg, BLOCK_Z, BLOCK_Y, column, sum);
}

/* Output `pixel` of a plane of y, before the activation. channel: of all groups. */
DEVICE float pixel_value(const struct conv_args *arg, uint32_t plane, uint32_t channel,
                         uint32_t pixel, float sum)
{
    const size_t at = (size_t)plane * (uint32_t)(arg->oh * arg->ow) + pixel;
    float y = sum;
    if (arg->bias)
        y += arg->bias[channel];
    if (arg->residual)
        y += value_at(arg->residual, at, arg->residual_type);
    return y;
}

/* A place in a window, counted on as terms go: `low` counts to its end, then `middle` goes one on,
 * and so `high`. Divisions are done once, before the loop over terms. */
struct digits {
    uint32_t low, middle, high;
};

DEVICE struct digits digits_of(uint32_t n, uint32_t low_end, uint32_t middle_end)
{
    const uint32_t rest = n / low_end;
    struct digits d = {n % low_end, rest % middle_end, rest / middle_end};
    return d;
}

DEVICE void digits_add(struct digits *d, const struct digits *step, uint32_t low_end,
                       uint32_t middle_end)
{
    d->low += step->low;
    d->middle += step->middle + (d->low >= low_end);
    d->low -= d->low >= low_end ? low_end : 0u;
    d->high += step->high + (d->middle >= middle_end);
    d->middle -= d->middle >= middle_end ? middle_end : 0u;
}

/* What a thread loads of the windows: it has one pixel, and every fourth term of it, whose digits
 * are column and row of the window, and channel. */
#define WINDOW_STEP (LAUNCH_THREADS / TILE)
struct pixel_window {
    const float *x;
    int32_t ih, iw; /* where the window begins */
    struct digits at, step;
    uint32_t channels; /* 0: there is no such pixel */
};

/* The tile's pixels begin at p0, and its terms at k0. x is of the block's image and group. */
DEVICE struct pixel_window window_from(const struct conv_args *arg, const float *x, uint32_t p0,
                                       uint32_t k0)
{
    const uint32_t p = p0 + THREAD % TILE, kw = (uint32_t)arg->kw, kh = (uint32_t)arg->kh;
    struct pixel_window w;
    w.x = x;
    w.ih = (int32_t)p / arg->ow * arg->stride_h - arg->pad_top;
    w.iw = (int32_t)p % arg->ow * arg->stride_w - arg->pad_left;
    w.at = digits_of(k0 + THREAD / TILE, kw, kh);
    w.step = digits_of(WINDOW_STEP, kw, kh);
    w.channels = p < (uint32_t)(arg->oh * arg->ow) ? arg->channels : 0u;
    return w;
}

/* Loads the next slice. It need not test where the part's terms end: the last part ends with the
 * channels, and each other one with a slice. */
DEVICE void load_windows(float slice[SLICE][TILE + 1], const struct conv_args *arg,
                         struct pixel_window *w)
{
    const uint32_t plane = (uint32_t)(arg->h * arg->width);
    UNROLLED
    for (uint32_t k = THREAD / TILE; k < SLICE; k += WINDOW_STEP) {
        const int32_t ih = w->ih + (int32_t)w->at.middle * arg->dil_h;
        const int32_t iw = w->iw + (int32_t)w->at.low * arg->dil_w;
        const bool inside = w->at.high < w->channels && ih >= 0 && ih < arg->h && iw >= 0 &&
                            iw < arg->width;
        slice[k][THREAD % TILE] =
            inside ? w->x[w->at.high * plane + (uint32_t)(ih * arg->width + iw)] : 0.0f;
        digits_add(&w->at, &w->step, (uint32_t)arg->kw, (uint32_t)arg->kh);
    }
}

/* Parts of sums lie dense, wherever y does. */
DEVICE uint32_t image_step(const struct conv_args *arg)
{
    return arg->split.parts > 1u ? arg->groups * arg->outputs * (uint32_t)(arg->oh * arg->ow)
                                 : arg->y_image;
}

/* Of sum e of the tile that begins at output o0 of a group, pixel p0 of an image; first: the element
 * of y, or of sums, where the group begins. */
struct conv_place {
    bool there;
    uint32_t at;
};

DEVICE struct conv_place place_in_tile(const struct conv_args *arg, uint32_t first, uint32_t o0,
                                       uint32_t p0, uint32_t e)
{
    const uint32_t o = o0 + tile_row(0, e / EACH, e % EACH), p = p0 + tile_column(0, e % EACH);
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow);
    struct conv_place to = {o < arg->outputs && p < pixels, first + o * pixels + p};
    return to;
}

/* What is no output has another's bias, so that no test precedes the load. */
DEVICE void add_bias(const struct conv_args *arg, uint32_t group, uint32_t o0,
                     float sum[EACH][EACH])
{
    const float *bias = arg->bias + group * arg->outputs;
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++) {
        const uint32_t o = o0 + tile_row(0, e / EACH, e % EACH);
        sum[e / EACH][e % EACH] += bias[o < arg->outputs ? o : 0u];
    }
}

DEVICE void put_conv_tile(const struct conv_args *arg, uint32_t o0, uint32_t p0,
                          float sum[EACH][EACH])
{
    const uint32_t item = block_item(&arg->split), image = item / arg->groups;
    const uint32_t group = item - image * arg->groups;
    const uint32_t first = image * image_step(arg) +
                           group * arg->outputs * (uint32_t)(arg->oh * arg->ow);
    struct tile_places y = {{0}, 0};
    UNROLLED
    for (uint32_t e = 0; e < EACH * EACH; e++) {
        const struct conv_place to = place_in_tile(arg, first, o0, p0, e);
        y.at[e] = to.at;
        y.there |= (uint32_t)to.there << e;
    }
    if (arg->split.parts > 1u) {
        put_sums(part_sums(&arg->split), VALUE_F32, &y, sum);
        return;
    }
    if (arg->bias)
        add_bias(arg, group, o0, sum);
    if (arg->residual)
        add_elements(sum, arg->residual, VALUE_F32, &y, 1.0f);
    activate_short(arg->act, arg->act_a, arg->act_b, EACH * EACH, sum[0]);
    put_sums(arg->y, VALUE_F32, &y, sum);
    NOT_UNROLLED
    for (uint32_t e = is_long(arg->act) ? 0 : EACH * EACH; e < EACH * EACH; e++) {
        const struct conv_place to = place_in_tile(arg, first, o0, p0, e);
        if (to.there)
            activate_at(arg->y, to.at, VALUE_F32, arg->act, arg->act_a, arg->act_b);
    }
}

KERNEL(conv_f32, conv_args)
{
    SHARED struct tile t;
    const uint32_t o0 = BLOCK_Y * TILE, p0 = BLOCK_X * TILE;
    const uint32_t item = block_item(&arg->split), group = item % arg->groups;
    const uint32_t terms = arg->channels * (uint32_t)(arg->kh * arg->kw);
    const float *x = arg->x + (size_t)item * arg->channels * (size_t)arg->h * (size_t)arg->width;
    const float *w = arg->w + (size_t)group * arg->outputs * terms;
    const struct terms k = block_terms(&arg->split, terms);
    struct pixel_window window = window_from(arg, x, p0, k.first);
    float sum[EACH][EACH] = {{0.0f}};
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE) {
        load_slice(t.a, w, o0, arg->outputs, terms, k0, k.end, 1);
        load_windows(t.b, arg, &window);
        barrier();
        add_slice(&t, sum);
        barrier();
    }
    put_conv_tile(arg, o0, p0, sum);
}

KERNEL(conv_parts, conv_args)
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), all = arg->groups * arg->outputs;
    FOR_EACH(i, arg->split.outputs)
    {
        const uint32_t plane = i / pixels, image = plane / all, channel = plane - image * all;
        const uint32_t pixel = i - plane * pixels;
        const float sum = sum_of_parts(&arg->split, i);
        put_value(arg->y, image * arg->y_image + channel * pixels + pixel, arg->y_type,
                  activated(arg->act, arg->act_a, arg->act_b,
                            pixel_value(arg, plane, channel, pixel, sum)));
    }
}
