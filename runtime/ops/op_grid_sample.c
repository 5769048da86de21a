/* SPDX-License-Identifier: MIT */
/* op_grid_sample.c - GridSample: each pixel of the output is read from x where a grid says, as in
 * spatial transformers (Jaderberg et al., 2015) and along optical flow.
 *
 * ONNX GridSample-16 and -20. The grid has a place for each pixel, -1 to 1 from one end of an axis
 * of x to its other, the last axis first. Such a place is one, two or four taps along each axis,
 * and together so many products of weights, at offsets that are the same in every channel: they
 * are found once a pixel. Beyond its ends x is 0 (those taps are left out), its border repeats, or
 * it is reflected there. NaN is taken for a place before the beginning. */
#include "ops/cubic_weights.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "kernels/ref/rounding_f32.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Numbers of the format. */
enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

#define MAX_AXES 3u
#define MAX_TAPS 16u /* two axes of four, three of two */
#define PIXELS 16u   /* whose taps are found at once */
#define CHANNELS 4u  /* that are sampled together */
#define OUTSIDE SIZE_MAX
#define CUBIC_A (-0.75f)

/* x [N,C,D1..Dd], grid [N,O1..Od,d]: y [N,C,O1..Od]. */
static enum pith_status shape_grid_sample(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 2);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape, *grid = &args->in[1]->shape;
    uint32_t rank = x->rank;
    if (rank < 3 || grid->rank != rank || grid->dim[0] != x->dim[0] ||
        grid->dim[rank - 1] != rank - 2)
        return PITH_ERR_CORRUPT;
    if (rank - 2 > (args->attr[ATTR_GRID_SAMPLE_MODE] == CUBIC ? 2u : MAX_AXES))
        return PITH_ERR_UNSUPPORTED;
    struct shape y = *x;
    for (uint32_t i = 2; i < rank; i++) {
        if (x->dim[i] == 0)
            return PITH_ERR_CORRUPT;
        y.dim[i] = grid->dim[i - 1];
    }
    return pith_out_set(args->out[0], PITH_F32, &y);
}

/* A place in the grid is `axes` floats. Sample i / pixels has the places of its pixels one behind
 * the other; a map is all elements of a channel. */
struct grid_job {
    const float *x, *grid;
    float *y;
    uint32_t axes, channels, dim[MAX_AXES];
    size_t map, pixels; /* elements of a map of x and of y */
    int32_t mode, padding;
    bool align;
};

/* Elements of x along an axis, or of a map, and their weights. */
struct taps {
    uint32_t n;
    float w[MAX_TAPS];
    size_t at[MAX_TAPS];
};

/* A triangle wave, which is v from low to high. */
static float reflected(float v, float low, float high)
{
    float span = high - low, away = magnitude_of(v - low);
    if (v >= low && v <= high)
        return v;
    if (!(span > 0.0f))
        return low;
    away -= 2.0f * span * floor_f32(away / (2.0f * span));
    return low + (away > span ? 2.0f * span - away : away);
}

/* Where v is in an axis of n, -0.5 to n - 0.5 or, aligned, 0 to n - 1; beyond it as padded. Within
 * a few elements of x, so that it fits any integer. A cubic's border begins at its taps, not at the
 * place between them, as onnxruntime and PyTorch have it. */
static float place_of(const struct grid_job *j, float v, uint32_t n, float low, float high)
{
    const float size = (float)n;
    v = j->align ? (v + 1.0f) / 2.0f * (size - 1.0f) : ((v + 1.0f) * size - 1.0f) / 2.0f;
    v = j->mode == NEAREST ? round_f32(v) : v;
    if (j->padding == REFLECTION)
        v = reflected(v, low, high);
    else if (j->padding == BORDER && j->mode != CUBIC)
        v = v > 0.0f ? v < size - 1.0f ? v : size - 1.0f : 0.0f;
    v = v > -4.0f ? v : -4.0f; /* NaN too */
    return v < size + 4.0f ? v : size + 4.0f;
}

/* The element that stands at i of an axis of n. */
static size_t padded(const struct grid_job *j, int64_t i, uint32_t n, float low, float high)
{
    if (i < 0 || i >= n) {
        if (j->padding == ZEROS)
            return OUTSIDE;
        if (j->padding == REFLECTION)
            i = (int64_t)reflected((float)i, low, high);
        i = i < 0 ? 0 : i >= n ? (int64_t)n - 1 : i;
    }
    return (size_t)i;
}

/* The taps of a place along an axis: the nearest element (ties to even), the two beside it, or
 * those two and their neighbours, without those that are OUTSIDE. */
static void find_taps(const struct grid_job *j, float v, uint32_t n, struct taps *t)
{
    const float low = j->align ? 0.0f : -0.5f, high = (float)n - 1.0f - low;
    const float place = place_of(j, v, n, low, high);
    int64_t first = (int64_t)place;
    first -= (float)first > place;
    const float part = place - (float)first;
    const uint32_t taps = j->mode == NEAREST ? 1 : j->mode == LINEAR ? 2 : CUBIC_TAPS;
    t->w[0] = j->mode == NEAREST ? 1.0f : 1.0f - part;
    t->w[1] = part;
    if (j->mode == CUBIC) {
        first--;
        cubic_weights(CUBIC_A, part, t->w);
    }
    const bool inside = first >= 0 && first + taps <= n;
    t->n = inside ? taps : 0;
    for (uint32_t i = 0; inside && i < taps; i++)
        t->at[i] = (size_t)(first + i);
    for (uint32_t i = 0; !inside && i < taps; i++) {
        t->at[t->n] = padded(j, first + i, n, low, high);
        t->w[t->n] = t->w[i];
        t->n += t->at[t->n] != OUTSIDE;
    }
}

/* The taps of a pixel. place: of the last axis first. Axis after axis:
 *
 *     at' = at * dim + tap        w' = w * weight of the tap
 *
 * for each of the taps so far and each of the axis, the last ones first: they are written behind
 * those that are still to be read. */
static void join_taps(const struct grid_job *j, const float *place, struct taps *p)
{
    find_taps(j, place[j->axes - 1], j->dim[0], p);
    for (uint32_t a = 1; a < j->axes; a++) {
        struct taps t;
        find_taps(j, place[j->axes - 1 - a], j->dim[a], &t);
        for (uint32_t i = p->n; i-- > 0;) {
            const size_t at = p->at[i] * j->dim[a];
            const float w = p->w[i];
            for (uint32_t k = t.n; k-- > 0;) {
                p->at[i * t.n + k] = at + t.at[k];
                p->w[i * t.n + k] = w * t.w[k];
            }
        }
        p->n *= t.n;
    }
}

/* A pixel of some channels. Four taps, as of two axes, are written out. */
static void sample_pixel(const struct grid_job *j, const struct taps *t, size_t channels,
                         const float *x, float *y)
{
    if (t->n == 4) {
        const float w0 = t->w[0], w1 = t->w[1], w2 = t->w[2], w3 = t->w[3];
        const size_t at0 = t->at[0], at1 = t->at[1], at2 = t->at[2], at3 = t->at[3];
        for (size_t c = 0; c < channels; c++, x += j->map)
            y[c * j->pixels] = 0.0f + w0 * x[at0] + w1 * x[at1] + w2 * x[at2] + w3 * x[at3];
        return;
    }
    for (size_t c = 0; c < channels; c++, x += j->map) {
        float sum = 0.0f;
        for (uint32_t k = 0; k < t->n; k++)
            sum += t->w[k] * x[t->at[k]];
        y[c * j->pixels] = sum;
    }
}

/* Pixels [begin, end) of all samples, some of them in a few channels at a time, so that reads and
 * writes stay close together. */
static void sample_range(void *arg, size_t begin, size_t end)
{
    const struct grid_job *j = arg;
    struct taps taps[PIXELS];
    for (size_t i = begin, n; i < end; i += n) {
        const size_t sample = i / j->pixels, pixel = i % j->pixels;
        n = end - i < PIXELS ? end - i : PIXELS;
        n = j->pixels - pixel < n ? j->pixels - pixel : n;
        for (size_t k = 0; k < n; k++)
            join_taps(j, j->grid + (i + k) * j->axes, &taps[k]);
        for (size_t c = 0; c < j->channels; c += CHANNELS) {
            const size_t plane = sample * j->channels + c, left = j->channels - c;
            const float *x = j->x + plane * j->map;
            float *y = j->y + plane * j->pixels + pixel;
            for (size_t k = 0; k < n; k++)
                sample_pixel(j, &taps[k], left < CHANNELS ? left : CHANNELS, x, y + k);
        }
    }
}

static void run_grid_sample(const struct op_args *args, const struct op_env *env)
{
    const struct shape *x = &args->in[0]->shape, *y = &args->out[0]->shape;
    struct grid_job j = {.x = args->in[0]->data,
                         .grid = args->in[1]->data,
                         .y = args->out[0]->data,
                         .axes = x->rank - 2,
                         .channels = x->dim[1],
                         .map = shape_product(x, 2, x->rank),
                         .pixels = shape_product(y, 2, y->rank),
                         .mode = args->attr[ATTR_GRID_SAMPLE_MODE],
                         .padding = args->attr[ATTR_GRID_SAMPLE_PADDING],
                         .align = args->attr[ATTR_GRID_SAMPLE_ALIGN] != 0};
    for (uint32_t a = 0; a < j.axes; a++)
        j.dim[a] = x->dim[2 + a];
    pith_op_range(env, x->dim[0] * j.pixels, (size_t)j.channels * 4 + 32, sample_range, &j);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_GRID_SAMPLE_MODE, LINEAR, LINEAR, CUBIC},
    {ATTR_INT, ATTR_GRID_SAMPLE_PADDING, ZEROS, ZEROS, REFLECTION},
    {ATTR_INT, ATTR_GRID_SAMPLE_ALIGN, 0, 0, 1},
};

const struct op_info pith_op_grid_sample = {
    .op = PITH_OP_GRID_SAMPLE,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 3,
    .n_slots = 3,
    .fields = fields,
    .shape = shape_grid_sample,
    .run = run_grid_sample,
};
