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
 * ONNX Resize-19 and Upsample-9 (asymmetric), antialias excepted. The work is separable, but
 * outputs are formed as products of weights over corners and not axis after axis: pictures have
 * two sampled axes, four corners, and an intermediate image would cost its memory. */
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
    uint32_t n_sampled; /* sampled axes, the last one excepted */
    uint32_t sampled[PITH_MAX_RANK];
    const struct resize_tap *taps[PITH_MAX_RANK];
    const struct cubic_tap *cubic[PITH_MAX_RANK];
    bool last_sampled; /* cubic */
};

/* Output row `row` (all axes but the last): the index of each of its axes. By division from the
 * last axis, once a row. */
static void row_indices(const struct shape *out, size_t row, uint32_t index[PITH_MAX_RANK])
{
    for (uint32_t i = out->rank - 1; i-- > 0;) {
        index[i] = (uint32_t)(row % out->dim[i]);
        row /= out->dim[i];
    }
}

/* The input row of one corner: bit k of `corner` takes the high neighbour on sampled axis k.
 * *weight: product of the axes' weights. 2^n rows of the input for n sampled axes besides the
 * last. */
static size_t corner_row(const struct resize_job *j, const uint32_t *index, uint32_t corner,
                         float *weight)
{
    uint32_t at[PITH_MAX_RANK];
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        at[i] = index[i];
    *weight = 1.0f;
    for (uint32_t k = 0; k < j->n_sampled; k++) {
        const struct resize_tap *t = &j->taps[j->sampled[k]][index[j->sampled[k]]];
        bool high = corner >> k & 1u;
        at[j->sampled[k]] = high ? t->high : t->low;
        *weight *= high ? t->w : 1.0f - t->w;
    }
    size_t row = 0;
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        row = row * j->in->dim[i] + at[i];
    return row;
}

/* The last axis is sampled element by element, the others by the choice of the row. */
static void nearest_range(void *arg, size_t begin, size_t end)
{
    const struct resize_job *j = arg;
    uint32_t last = j->out->rank - 1;
    size_t in_row = (size_t)j->in->dim[last] * j->bytes;
    for (size_t row = begin; row < end; row++) {
        uint32_t index[PITH_MAX_RANK];
        float weight;
        row_indices(j->out, row, index);
        const uint8_t *x = j->x + corner_row(j, index, 0, &weight) * in_row;
        uint8_t *y = j->y + row * j->out->dim[last] * j->bytes;
        const struct resize_tap *t = j->taps[last];
        /* The constant size lets memcpy become one move. */
        if (j->bytes == 4)
            for (uint32_t i = 0; i < j->out->dim[last]; i++)
                memcpy(y + 4 * (size_t)i, x + 4 * (size_t)t[i].low, 4);
        else
            for (uint32_t i = 0; i < j->out->dim[last]; i++)
                memcpy(y + (size_t)i * j->bytes, x + (size_t)t[i].low * j->bytes, j->bytes);
    }
}

/* Corner by corner over the whole row: the inner loop is along the output. */
static void linear_range(void *arg, size_t begin, size_t end)
{
    const struct resize_job *j = arg;
    uint32_t last = j->out->rank - 1;
    const struct resize_tap *t = j->taps[last];
    for (size_t row = begin; row < end; row++) {
        uint32_t index[PITH_MAX_RANK];
        row_indices(j->out, row, index);
        float *y = (float *)(void *)j->y + row * j->out->dim[last];
        for (uint32_t corner = 0; corner < 1u << j->n_sampled; corner++) {
            float weight;
            size_t from = corner_row(j, index, corner, &weight);
            const float *x = (const float *)(const void *)j->x + from * j->in->dim[last];
            for (uint32_t i = 0; i < j->out->dim[last]; i++) {
                float v = x[t[i].low] * (1.0f - t[i].w) + x[t[i].high] * t[i].w;
                /* The first corner writes, the others add: no pass to clear y. */
                y[i] = corner == 0 ? weight * v : y[i] + weight * v;
            }
        }
    }
}

/* As corner_row, two bits of `corner` for each sampled axis. 4^n rows; 16 for pictures. */
static size_t cubic_row(const struct resize_job *j, const uint32_t *index, uint32_t corner,
                        float *weight)
{
    uint32_t at[PITH_MAX_RANK];
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        at[i] = index[i];
    *weight = 1.0f;
    for (uint32_t k = 0; k < j->n_sampled; k++) {
        const struct cubic_tap *t = &j->cubic[j->sampled[k]][index[j->sampled[k]]];
        at[j->sampled[k]] = t->at[corner >> 2 * k & 3u];
        *weight *= t->w[corner >> 2 * k & 3u];
    }
    size_t row = 0;
    for (uint32_t i = 0; i + 1 < j->in->rank; i++)
        row = row * j->in->dim[i] + at[i];
    return row;
}

static void cubic_range(void *arg, size_t begin, size_t end)
{
    const struct resize_job *j = arg;
    uint32_t last = j->out->rank - 1;
    const struct cubic_tap *t = j->cubic[last];
    for (size_t row = begin; row < end; row++) {
        uint32_t index[PITH_MAX_RANK];
        row_indices(j->out, row, index);
        float *y = (float *)(void *)j->y + row * j->out->dim[last];
        for (uint32_t corner = 0; corner < 1u << 2 * j->n_sampled; corner++) {
            float weight;
            size_t from = cubic_row(j, index, corner, &weight);
            const float *x = (const float *)(const void *)j->x + from * j->in->dim[last];
            for (uint32_t i = 0; i < j->out->dim[last]; i++) {
                /* Where the last axis is not sampled it is as long as the input's; the other
                 * branch only keeps the index in range for the compiler's view of a sampled one. */
                float v = x[i < j->in->dim[last] ? i : 0];
                if (j->last_sampled)
                    v = x[t[i].at[0]] * t[i].w[0] + x[t[i].at[1]] * t[i].w[1] +
                        x[t[i].at[2]] * t[i].w[2] + x[t[i].at[3]] * t[i].w[3];
                y[i] = corner == 0 ? weight * v : y[i] + weight * v;
            }
        }
    }
}

/* Taps of all sampled axes behind each other in scratch. */
static void run_cubic(const struct op_args *args, const struct op_env *env, struct resize_job *job)
{
    struct cubic_tap *taps = env->scratch;
    uint32_t rank = job->out->rank;
    for (uint32_t i = 0; i < rank; i++) {
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
    pith_op_range(env, shape_product(job->out, 0, rank - 1),
                  4 * (size_t)job->out->dim[rank - 1] << 2 * job->n_sampled, cubic_range, job);
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

static void run_resize(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    struct resize_job job = {&x->shape, &y->shape, x->data, y->data, pith_type_bytes(x->type),
                             0,         {0},       {0},     {0},     false};
    uint32_t rank = y->shape.rank;
    if (rank == 0) {
        memcpy(y->data, x->data, job.bytes);
        return;
    }
    if (args->attr[ATTR_RESIZE_MODE] == RESIZE_CUBIC) {
        run_cubic(args, env, &job);
        return;
    }
    struct resize_tap *taps = env->scratch;
    for (uint32_t i = 0; i < rank; i++) {
        if (pith_resize_taps(args, i, taps) && i + 1 < rank)
            job.sampled[job.n_sampled++] = i;
        job.taps[i] = taps;
        taps += y->shape.dim[i];
    }
    bool linear = args->attr[ATTR_RESIZE_MODE] == RESIZE_LINEAR;
    /* Corners multiply a row's work. */
    size_t row_work = (size_t)y->shape.dim[rank - 1] << (linear ? job.n_sampled : 0);
    pith_op_range(env, shape_product(&y->shape, 0, rank - 1), row_work,
                  linear ? linear_range : nearest_range, &job);
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
