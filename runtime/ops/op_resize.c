/* SPDX-License-Identifier: MIT */
/* op_resize.c - Resize and Upsample: nearest, linear and cubic sampling, any number of axes.
 *
 * Each output index of an axis maps to a real input coordinate (the `coord` rule, computed in
 * the order and precision written here, which onnxruntime shares), then to one input index
 * (nearest) or to two neighbours and a weight (linear, coordinates clamped into the axis), or to
 * four neighbours (cubic, Keys 1981: "Cubic convolution interpolation for digital image
 * processing"; indices clamped, or weights of those outside left out and the rest scaled to 1).
 * These taps are tabulated per axis in scratch; an output is the product of its axes' taps. Axes
 * of unchanged dim and scale 1 are not sampled at all.
 *
 * ONNX Resize-19 and Upsample-9 (asymmetric), antialias excepted. Axis after axis: rows of the
 * input are sampled along the last axis once, of which a strip of some is kept, and added up for
 * the rows of the output. A row that nearest repeats is copied. */
#include "ops/cubic_weights.h"
#include "ops/op_list.h"
#include "ops/resize_tap.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Numbers of the format; they are ONNX's words in its order. */
enum { RESIZE_NEAREST = 0, RESIZE_LINEAR = 1, RESIZE_CUBIC = 2 };
enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, PYTORCH_HALF_PIXEL, HALF_PIXEL_SYMMETRIC };
enum { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL };

/* Four, since the cubic kernel reaches two pixels to each side. */

struct cubic_tap {
    uint32_t at[CUBIC_TAPS];
    float w[CUBIC_TAPS];
};

static enum pith_status shape_resize(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct tview *x = args->in[0];
    const int32_t *attr = args->attr;
    /* Other types have no rounding rule between elements; nearest moves bytes. */
    if (x->type != PITH_F32 && attr[ATTR_RESIZE_MODE] != RESIZE_NEAREST)
        return PITH_ERR_UNSUPPORTED;
    uint32_t n_dims = attr_count(attr, ATTR_RESIZE_DIMS);
    uint32_t n_scales = attr_count(attr, ATTR_RESIZE_SCALES);
    struct shape s = x->shape;
    if (n_dims != s.rank || (n_scales != 0 && n_scales != s.rank))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < s.rank; i++)
        /* 0 stands for the input's own size, so that a batch may change. */
        if (attr[ATTR_RESIZE_DIMS + 1 + i] != 0)
            s.dim[i] = (uint32_t)attr[ATTR_RESIZE_DIMS + 1 + i];
    return pith_out_set(args->out[0], x->type, &s);
}

struct axis_rule {
    int32_t coord, nearest, mode;
    uint32_t in, out;
    float scale, cubic_a;
    bool exclude_outside;
};

/* scale 0 in the file: out / in, as ONNX defines it when sizes are given. */
static struct axis_rule axis_rule(const struct op_args *args, uint32_t axis)
{
    const int32_t *attr = args->attr;
    struct axis_rule r = {attr[ATTR_RESIZE_COORD],
                          attr[ATTR_RESIZE_NEAREST],
                          attr[ATTR_RESIZE_MODE],
                          args->in[0]->shape.dim[axis],
                          args->out[0]->shape.dim[axis],
                          0.0f,
                          attr_f32(attr, ATTR_RESIZE_CUBIC_A),
                          attr[ATTR_RESIZE_EXCLUDE] != 0};
    r.scale = attr_count(attr, ATTR_RESIZE_SCALES) ? attr_f32(attr, ATTR_RESIZE_SCALES + 1 + axis)
                                                   : (float)r.out / (float)r.in;
    return r;
}

/* With a scale other than 1 an axis of equal size is sampled off its grid. */
static bool is_sampled(const struct axis_rule *r)
{
    return r->in != r->out || r->scale != 1.0f;
}

/* Real coordinate in the input of output index o. The precision of each rule decides which way
 * ties fall: f32, but for the symmetric one, which onnxruntime computes in double. */
static float coordinate(const struct axis_rule *r, uint32_t o)
{
    float x = (float)o, in = (float)r->in, out = (float)r->out;
    switch (r->coord) {
    /* The order of these operations decides on which side a tie falls; ONNX's own test data come
     * from onnxruntime. */
    case ASYMMETRIC:
        return x / r->scale;
    case ALIGN_CORNERS:
        return r->out == 1 ? 0.0f : x * (in - 1.0f) / (out - 1.0f);
    case PYTORCH_HALF_PIXEL:
        return r->out > 1 ? (x + 0.5f) / r->scale - 0.5f : 0.0f;
    case HALF_PIXEL_SYMMETRIC: {
        float adjustment = out / (r->scale * in);
        float offset = in / 2.0f * (1.0f - adjustment);
        return (float)((double)offset + ((double)x + 0.5) / (double)r->scale - 0.5);
    }
    default: /* HALF_PIXEL */
        return (x + 0.5f) / r->scale - 0.5f;
    }
}

/* Largest integer <= v, for v clamped into [-1, in] before: it fits and nothing is undefined. A
 * cast truncates, so negative numbers that are not whole need one less. */
static int64_t floor_index(float v)
{
    int64_t i = (int64_t)v;
    return (float)i > v ? i - 1 : i;
}

/* Rounding of ties by name: ONNX has no round-to-even here. */
static uint32_t nearest_index(const struct axis_rule *r, float v)
{
    float in = (float)r->in;
    /* The comparison is false for NaN, which so becomes -1. */
    v = v > -1.0f ? v : -1.0f; /* NaN too */
    v = v < in ? v : in;
    int64_t low = floor_index(v), i = low;
    float part = v - (float)low;
    if (r->nearest == ROUND_PREFER_FLOOR)
        i = part > 0.5f ? low + 1 : low;
    else if (r->nearest == ROUND_PREFER_CEIL)
        i = part >= 0.5f ? low + 1 : low;
    else if (r->nearest == ROUND_CEIL)
        i = part > 0.0f ? low + 1 : low;
    return i < 0 ? 0 : i >= (int64_t)r->in ? r->in - 1 : (uint32_t)i;
}

/* Clamping the coordinate, not the index, gives edges the weight 0. */
static struct resize_tap make_tap(const struct axis_rule *r, uint32_t o)
{
    float v = coordinate(r, o);
    if (r->mode == RESIZE_NEAREST) {
        uint32_t i = nearest_index(r, v);
        return (struct resize_tap){i, i, 0.0f};
    }
    float top = (float)(r->in - 1);
    v = v > 0.0f ? v : 0.0f;
    v = v < top ? v : top;
    uint32_t low = (uint32_t)v;
    low = low < r->in ? low : r->in - 1; /* in beyond 2^24 rounds up as a float */
    uint32_t high = low + 1 < r->in ? low + 1 : low;
    return (struct resize_tap){low, high, v - (float)low};
}

/* Out of range indices are cut to the edge, which repeats it. */
static struct cubic_tap make_cubic_tap(const struct axis_rule *r, uint32_t o)
{
    struct cubic_tap tap;
    float v = coordinate(r, o), top = (float)r->in + 2.0f, sum = 0.0f;
    v = v > -3.0f ? v : -3.0f; /* further out all four are the edge; NaN too */
    v = v < top ? v : top;
    int64_t low = floor_index(v), in = r->in;
    cubic_weights(r->cubic_a, v - (float)low, tap.w);
    for (uint32_t k = 0; k < CUBIC_TAPS; k++) {
        int64_t i = low - 1 + k;
        if (r->exclude_outside && (i < 0 || i >= in))
            tap.w[k] = 0.0f;
        tap.at[k] = i < 0 ? 0 : i >= in ? r->in - 1 : (uint32_t)i;
        sum += tap.w[k];
    }
    /* Weights that are left are made to sum to 1 again. */
    for (uint32_t k = 0; k < CUBIC_TAPS && r->exclude_outside && sum != 0.0f; k++)
        tap.w[k] /= sum;
    return tap;
}

/* Only outputs are counted: inputs may be larger without more taps. */
static enum pith_status need_resize(const struct op_args *args, const struct op_env *env,
                                    struct op_need *need)
{
    (void)env;
    uint64_t taps = 0; /* <= 8 * 2^31 */
    for (uint32_t i = 0; i < args->out[0]->shape.rank; i++)
        taps += args->out[0]->shape.dim[i];
    bool cubic = args->attr[ATTR_RESIZE_MODE] == RESIZE_CUBIC;
    taps *= cubic ? sizeof(struct cubic_tap) : sizeof(struct resize_tap);
    *need = (struct op_need){.scratch_bytes = taps, .kernel = "ref"};
    return PITH_OK;
}

/* An axis that is not sampled is read at its own index. */
struct resize_job {
    const struct shape *in, *out;
    const uint8_t *x;
    uint8_t *y;
    uint32_t bytes;
    uint32_t times;    /* nearest: how often each element of the last axis is written; 0: by taps */
    uint32_t tap_bits; /* 0 nearest, 1 linear, 2 cubic: that many bits choose a tap of an axis */
    uint32_t n_sampled; /* sampled axes, the last one excepted, the innermost one first */
    uint32_t sampled[PITH_MAX_RANK];
    const struct resize_tap *taps[PITH_MAX_RANK];
    const struct cubic_tap *cubic[PITH_MAX_RANK];
    bool last_sampled; /* not of nearest */
};

/* Output row `row` (all axes but the last): the index of each of its axes. */
static void row_indices(const struct shape *out, size_t row, uint32_t index[PITH_MAX_RANK])
{
    for (uint32_t i = out->rank - 1; i-- > 0;) {
        index[i] = (uint32_t)(row % out->dim[i]);
        row /= out->dim[i];
    }
}

/* Of the row behind it: divisions would cost more than a short row does. */
static void next_row(const struct shape *out, uint32_t index[PITH_MAX_RANK])
{
    for (uint32_t i = out->rank - 1; i-- > 0;) {
        if (++index[i] < out->dim[i])
            return;
        index[i] = 0;
    }
}

/* A row of the input. near: its index along the innermost sampled axis. */
struct corner {
    size_t row;
    uint32_t near;
    float weight; /* the product of the axes' */
};

/* tap_bits of the corner's number choose a tap of each sampled axis. */
static struct corner corner_of(const struct resize_job *j, const uint32_t *index, uint32_t number)
{
    struct corner c = {.weight = 1.0f};
    uint32_t at[PITH_MAX_RANK];
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        at[i] = index[i];
    for (uint32_t k = 0; k < j->n_sampled; k++, number >>= j->tap_bits) {
        const uint32_t axis = j->sampled[k], o = index[axis];
        if (j->tap_bits == 2) {
            const struct cubic_tap *t = &j->cubic[axis][o];
            at[axis] = t->at[number % CUBIC_TAPS];
            c.weight *= t->w[number % CUBIC_TAPS];
        } else {
            const struct resize_tap *t = &j->taps[axis][o];
            const bool high = j->tap_bits && number % 2;
            at[axis] = high ? t->high : t->low;
            c.weight *= high ? t->w : 1.0f - t->w;
        }
    }
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        c.row = c.row * j->in->dim[i] + at[i];
    if (j->n_sampled)
        c.near = at[j->sampled[0]];
    return c;
}

/* ---- nearest -------------------------------------------------------------------------------- */

/* A row; an element that is written twice is so at once, as WIDE. A function for each size, as
 * the compiler then has a load and a store of that size. */
#define NEAREST_ROW(T, WIDE)                                                                       \
    static void nearest_##T(const struct resize_job *j, const void *from, void *to)                \
    {                                                                                              \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
        const uint32_t last = j->out->rank - 1, n = j->in->dim[last];                              \
        const WIDE twice = (WIDE)((WIDE)1 << 8 * (sizeof(WIDE) - sizeof(T)) | 1);                  \
        if (j->times == 2 && sizeof(WIDE) > sizeof(T))                                             \
            for (size_t i = 0; i < n; i++) {                                                       \
                const WIDE two = (WIDE)(x[i] * twice);                                             \
                memcpy(y + 2 * i, &two, sizeof two);                                               \
            }                                                                                      \
        else if (j->times)                                                                         \
            for (size_t i = 0; i < n; i++)                                                         \
                for (uint32_t k = 0; k < j->times; k++)                                            \
                    *y++ = x[i];                                                                   \
        else                                                                                       \
            for (size_t i = 0; i < j->out->dim[last]; i++)                                         \
                y[i] = x[j->taps[last][i].low];                                                    \
    }

NEAREST_ROW(uint8_t, uint16_t)
NEAREST_ROW(uint16_t, uint32_t)
NEAREST_ROW(uint32_t, uint64_t)
NEAREST_ROW(uint64_t, uint64_t)

static void nearest_row(const struct resize_job *j, const void *x, void *y)
{
    if (j->bytes == 1)
        nearest_uint8_t(j, x, y);
    else if (j->bytes == 2)
        nearest_uint16_t(j, x, y);
    else if (j->bytes == 4)
        nearest_uint32_t(j, x, y);
    else
        nearest_uint64_t(j, x, y);
}

static void nearest_range(void *arg, size_t begin, size_t end)
{
    const struct resize_job *j = arg;
    const uint32_t last = j->out->rank - 1;
    const size_t in_row = (size_t)j->in->dim[last] * j->bytes;
    const size_t out_row = (size_t)j->out->dim[last] * j->bytes;
    uint32_t index[PITH_MAX_RANK];
    size_t before = SIZE_MAX;
    row_indices(j->out, begin, index);
    for (size_t row = begin; row < end; row++, next_row(j->out, index)) {
        const size_t from = corner_of(j, index, 0).row;
        uint8_t *y = j->y + row * out_row;
        if (from == before)
            memcpy(y, y - out_row, out_row);
        else
            nearest_row(j, j->x + from * in_row, y);
        before = from;
    }
}

/* How often each element of the last axis is written, one after the other; 0: not alike. */
static uint32_t times_of(const struct resize_job *j)
{
    const uint32_t last = j->out->rank - 1, n = j->out->dim[last], in = j->in->dim[last];
    const uint32_t times = n % in == 0 ? n / in : 0;
    for (uint32_t o = 0; times && o < n; o++)
        if (j->taps[last][o].low != o / times)
            return 0;
    return times;
}

/* ---- linear and cubic ----------------------------------------------------------------------- */

#define STRIP 128u /* columns at a time */
#define ROWS 4u    /* of the input, that are kept */

struct kept_rows {
    size_t number[ROWS]; /* SIZE_MAX: none */
    float value[ROWS][STRIP];
};

/* Columns `first` to first + n - 1 of a row of the input, sampled along the last axis. */
static void sample_row(const struct resize_job *j, const float *x, uint32_t first, uint32_t n,
                       float *y)
{
    const uint32_t last = j->out->rank - 1;
    if (!j->last_sampled) {
        memcpy(y, x + first, n * sizeof *y);
    } else if (j->tap_bits == 2) {
        const struct cubic_tap *t = j->cubic[last] + first;
        for (uint32_t i = 0; i < n; i++)
            y[i] = x[t[i].at[0]] * t[i].w[0] + x[t[i].at[1]] * t[i].w[1] +
                   x[t[i].at[2]] * t[i].w[2] + x[t[i].at[3]] * t[i].w[3];
    } else {
        const struct resize_tap *t = j->taps[last] + first;
        for (uint32_t i = 0; i < n; i++)
            y[i] = x[t[i].low] * (1.0f - t[i].w) + x[t[i].high] * t[i].w;
    }
}

/* Neighbours along the innermost sampled axis are kept in places of their own. */
static const float *kept_row(const struct resize_job *j, struct kept_rows *kept,
                             const struct corner *c, uint32_t first, uint32_t n)
{
    const float *x = (const float *)(const void *)j->x + c->row * j->in->dim[j->in->rank - 1];
    const uint32_t at = c->near % ROWS;
    if (!j->last_sampled)
        return x + first;
    if (kept->number[at] != c->row) {
        kept->number[at] = c->row;
        sample_row(j, x, first, n, kept->value[at]);
    }
    return kept->value[at];
}

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

struct weighted_row {
    const float *x;
    float weight;
};

/* y = the weighted sum of both; add: what y has comes first. */
static inline __attribute__((always_inline)) void add_rows(const struct weighted_row *a,
                                                           const struct weighted_row *b, float *y,
                                                           uint32_t n, const bool add)
{
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four *to = (four *)(void *)(y + i);
        four v = *(const four *)(const void *)(a->x + i) * a->weight;
        if (add)
            v = *to + v;
        *to = v + *(const four *)(const void *)(b->x + i) * b->weight;
    }
    for (; i < n; i++) {
        const float v = add ? y[i] + a->weight * a->x[i] : a->weight * a->x[i];
        y[i] = v + b->weight * b->x[i];
    }
}

static void smooth_range(void *arg, size_t begin, size_t end)
{
    const struct resize_job *j = arg;
    const uint32_t last = j->out->rank - 1, columns = j->out->dim[last];
    for (uint32_t first = 0; first < columns; first += STRIP) {
        const uint32_t n = columns - first < STRIP ? columns - first : STRIP;
        uint32_t index[PITH_MAX_RANK];
        struct kept_rows kept;
        memset(kept.number, 0xff, sizeof kept.number);
        row_indices(j->out, begin, index);
        for (size_t row = begin; row < end; row++, next_row(j->out, index)) {
            float *y = (float *)(void *)j->y + row * columns + first;
            for (uint32_t c = 0; j->n_sampled && c < 1u << j->tap_bits * j->n_sampled; c += 2) {
                struct weighted_row pair[2];
                for (uint32_t k = 0; k < 2; k++) {
                    const struct corner corner = corner_of(j, index, c + k);
                    pair[k].weight = corner.weight;
                    pair[k].x = kept_row(j, &kept, &corner, first, n);
                }
                if (c == 0)
                    add_rows(&pair[0], &pair[1], y, n, false);
                else
                    add_rows(&pair[0], &pair[1], y, n, true);
            }
            if (!j->n_sampled)
                sample_row(j, (const float *)(const void *)j->x + row * j->in->dim[last], first, n,
                           y);
        }
    }
}

/* The taps of an axis that is not sampled are the identity. So that nearest_range and
 * linear_range need no second form. */
bool pith_resize_taps(const struct op_args *args, uint32_t axis, struct resize_tap *taps)
{
    const struct axis_rule r = axis_rule(args, axis);
    const bool sampled = is_sampled(&r);
    for (uint32_t o = 0; o < r.out; o++)
        taps[o] = sampled ? make_tap(&r, o) : (struct resize_tap){o, o, 0.0f};
    return sampled;
}

/* Taps of all sampled axes behind each other in scratch. */
static void set_cubic(const struct op_args *args, struct cubic_tap *taps, struct resize_job *job)
{
    const uint32_t rank = job->out->rank;
    for (uint32_t i = rank; i-- > 0;) {
        struct axis_rule r = axis_rule(args, i);
        if (!is_sampled(&r))
            continue;
        for (uint32_t o = 0; o < r.out; o++)
            taps[o] = make_cubic_tap(&r, o);
        job->cubic[i] = taps;
        taps += r.out;
        if (i + 1 < rank)
            job->sampled[job->n_sampled++] = i;
        else
            job->last_sampled = true;
    }
}

static void set_taps(const struct op_args *args, struct resize_tap *taps, struct resize_job *job)
{
    const uint32_t rank = job->out->rank;
    for (uint32_t i = rank; i-- > 0;) {
        const bool sampled = pith_resize_taps(args, i, taps);
        if (i + 1 == rank)
            job->last_sampled = sampled;
        else if (sampled)
            job->sampled[job->n_sampled++] = i;
        job->taps[i] = taps;
        taps += job->out->dim[i];
    }
}

static void run_resize(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    struct resize_job job = {.in = &x->shape, .out = &y->shape, .x = x->data, .y = y->data};
    const uint32_t rank = y->shape.rank;
    job.bytes = pith_type_bytes(x->type);
    if (rank == 0) {
        memcpy(y->data, x->data, job.bytes);
        return;
    }
    job.tap_bits = (uint32_t)args->attr[ATTR_RESIZE_MODE]; /* as the modes are numbered */
    if (job.tap_bits == RESIZE_CUBIC)
        set_cubic(args, env->scratch, &job);
    else
        set_taps(args, env->scratch, &job);
    job.times = job.tap_bits ? 0 : times_of(&job);
    /* Corners multiply a row's work. */
    const size_t row_work = (size_t)y->shape.dim[rank - 1] << job.tap_bits * job.n_sampled;
    pith_op_range(env, shape_product(&y->shape, 0, rank - 1), row_work,
                  job.tap_bits ? smooth_range : nearest_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_RESIZE_MODE, 0, RESIZE_NEAREST, RESIZE_CUBIC},
    {ATTR_INT, ATTR_RESIZE_COORD, 0, HALF_PIXEL, HALF_PIXEL_SYMMETRIC},
    {ATTR_INT, ATTR_RESIZE_NEAREST, 0, ROUND_PREFER_FLOOR, ROUND_CEIL},
    {ATTR_LIST, ATTR_RESIZE_DIMS, 0, 0, INT32_MAX},
    {ATTR_LIST, ATTR_RESIZE_SCALES, 0, 1, 0x7f7fffff}, /* bits of the positive finite floats */
    {ATTR_FLOAT, ATTR_RESIZE_CUBIC_A, (int32_t)0xbf400000, 0, 0}, /* -0.75 */
    {ATTR_INT, ATTR_RESIZE_EXCLUDE, 0, 0, 1},
};

const struct op_info pith_op_resize = {
    .op = PITH_OP_RESIZE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = ATTR_RESIZE_EXCLUDE + 1,
    .fields = fields,
    .traits = {.flags = TRAIT_AVERAGES},
    .shape = shape_resize,
    .need = need_resize,
    .run = run_resize,
};
