/* SPDX-License-Identifier: MIT */
/* op_quantize.c - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
 *
 *     q = saturate(round to even(x / scale) + zero point)        x = (q - zero point) * scale
 *
 * in f32 with one rounding an operation (i32 / scale in double, where it keeps its fraction). A
 * scale covers the whole tensor, one place of an axis, or, where it has the rank of the tensor,
 * BLOCK neighbouring places of it:
 *
 *     x     [outer, dim, inner]            scale [outer, ceil(dim / block), inner]
 *
 * so that along a row of `inner` elements the scale is fixed or advances with x.
 *
 * ONNX QuantizeLinear-21, DequantizeLinear-21, DynamicQuantizeLinear-11 (docs/arithmetic.md,
 * "Quantized networks"). Inside of networks of integers the planner makes these part of what
 * stands before or behind; as steps of their own they stand at the edges. */
#include "core/build_choice.h"
#include "kernels/ref/integer_element.h"
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Short enough that one item's scale and its floats are in the cache, long enough for vectors. */
#define PIECE 4096u /* elements of a row that are one item of work */
#define COLUMNS 16u /* of a row, folded side by side */

/* How scales lie over x. Three cases of ONNX (per tensor, per axis, blocked) in five numbers. */
struct scale_grid {
    size_t dim, inner, rows; /* rows of inner elements; dim 1: one scale for all */
    size_t block, blocks;    /* block 0: one scale a place of the axis */
};

/* PITH_ERR_CORRUPT: the scale fits x in no way. A scale of one element is per tensor, whatever
 * the axis attribute says; older exporters leave it. */
static enum pith_status grid_of(const struct op_args *args, struct scale_grid *g)
{
    const struct shape *x = &args->in[0]->shape, *s = &args->in[1]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_QUANTIZE_AXIS];
    *g = (struct scale_grid){.dim = 1, .inner = shape_elems(x), .rows = 1};
    g->block = (size_t)args->attr[ATTR_QUANTIZE_BLOCK];
    if (g->block == 0 && shape_elems(s) == 1 && s->rank <= 1)
        return PITH_OK;
    if (axis >= x->rank || s->rank != (g->block ? x->rank : 1u))
        return PITH_ERR_CORRUPT;
    g->dim = x->dim[axis];
    g->blocks = g->block ? (g->dim + g->block - 1) / g->block : g->dim;
    g->inner = shape_product(x, axis + 1, x->rank);
    g->rows = shape_product(x, 0, axis + 1);
    if (!g->block)
        return s->dim[0] == g->dim ? PITH_OK : PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < x->rank; i++)
        if (s->dim[i] != (i == axis ? g->blocks : x->dim[i]))
            return PITH_ERR_CORRUPT;
    return PITH_OK;
}

/* Scale and zero point of shapes that fit x; the zero point's type is `type`. zero and scale lie
 * alike. */
static enum pith_status check_grid(const struct op_args *args, enum pith_type type)
{
    const struct tview *scale = args->in[1], *zero = args->n_in > 2 ? args->in[2] : NULL;
    struct scale_grid g;
    if (scale->type != PITH_F32)
        return PITH_ERR_UNSUPPORTED;
    if (zero && (zero->type != type || shape_elems(&zero->shape) != shape_elems(&scale->shape)))
        return PITH_ERR_CORRUPT;
    return grid_of(args, &g);
}

/* A zero point's type is the result's. */
static enum pith_status shape_quantize(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    enum pith_type from = args->in[0]->type, type = (enum pith_type)args->attr[ATTR_QUANTIZE_TYPE];
    if ((from != PITH_F32 && (from != PITH_I32 || !BUILT_PART(WORDS))) || !is_grid_type(type))
        return PITH_ERR_UNSUPPORTED;
    st = check_grid(args, type);
    return st ? st : pith_out_set(args->out[0], type, &args->in[0]->shape);
}

/* i32 and i64 are sums of products, which stand for reals as well. */
static enum pith_status shape_dequantize(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    enum pith_type from = args->in[0]->type;
    if (!is_grid_type(from) && from != PITH_I32 && from != PITH_I64)
        return PITH_ERR_UNSUPPORTED;
    st = check_grid(args, from);
    return st ? st : pith_out_set(args->out[0], PITH_F32, &args->in[0]->shape);
}

/* Scales and zero points by place, elements by place. */
struct scale_job {
    struct scale_grid g;
    size_t pieces;
    enum pith_type type; /* of the integers */
    bool from_i32;
    const void *x, *zero; /* zero: NULL for 0 */
    const float *scale;
    void *y;
    const struct byte_rows *bytes; /* for f32 to or from bytes; NULL: no kernels */
};

static int32_t zero_at(const struct scale_job *j, size_t i)
{
    return j->zero ? integer_at(j->type, j->zero, i) : 0;
}

/* i64 is no grid type, so integer_at() does not have it. */
static int64_t wide_at(enum pith_type type, const void *p, size_t i)
{
    return type == PITH_I64 ? ((const int64_t *)p)[i] : integer_at(type, p, i);
}

static int64_t wide_zero_at(const struct scale_job *j, size_t i)
{
    return j->zero ? wide_at(j->type, j->zero, i) : 0;
}

/* Elements [at, at + n) with scale s, or, with blocks, scales s, s + 1, ... Three loops: kernels
 * on bytes; words of 16 bits, where networks of 16-bit activations spend time; the rest, element
 * by element. */
static void quantize_row(const struct scale_job *j, size_t at, size_t s, size_t n)
{
    if (j->bytes && !j->g.block) {
        struct byte_grid g = byte_grid_of(j->type == PITH_I8, j->scale[s], zero_at(j, s));
        j->bytes->quantize(&g, (const float *)j->x + at, (uint8_t *)j->y + at, n);
        return;
    }
    struct integer_range r = integer_range_of(j->type, zero_at(j, s));
    float scale = j->scale[s];
    bool words = BUILT_PART(WORDS) && !j->g.block && !j->from_i32 && pith_type_bytes(j->type) == 2;
    for (size_t i = 0; words && i < n; i++)
        ((uint16_t *)j->y)[at + i] = (uint16_t)quantized(&r, ((const float *)j->x)[at + i] / scale);
    for (size_t i = 0; !words && i < n; i++) {
        if (j->g.block) {
            r = integer_range_of(j->type, zero_at(j, s + i));
            scale = j->scale[s + i];
        }
        int32_t q;
        if (BUILT_PART(WORDS) && j->from_i32)
            /* i32 to f32 would round before the division does. */
            q = quantized_f64(&r, (double)((const int32_t *)j->x)[at + i] / (double)scale);
        else
            q = quantized(&r, ((const float *)j->x)[at + i] / scale);
        integer_put(j->type, j->y, at + i, q);
    }
}

/* As quantize_row, the other way round. */
static void dequantize_row(const struct scale_job *j, size_t at, size_t s, size_t n)
{
    if (j->bytes && !j->g.block) {
        struct byte_grid g = byte_grid_of(j->type == PITH_I8, j->scale[s], zero_at(j, s));
        j->bytes->dequantize(&g, (const uint8_t *)j->x + at, (float *)j->y + at, n);
        return;
    }
    float *y = (float *)j->y + at, scale = j->scale[s];
    int64_t zero = wide_zero_at(j, s);
    bool words = BUILT_PART(WORDS) && !j->g.block && j->type == PITH_I16;
    for (size_t i = 0; words && i < n; i++)
        y[i] = (float)(((const int16_t *)j->x)[at + i] - (int32_t)zero) * scale;
    for (size_t i = 0; !words && i < n; i++) {
        if (j->g.block) {
            zero = wide_zero_at(j, s + i);
            scale = j->scale[s + i];
        }
        /* Sums of 64 bits are moduli; so is their difference, which is then read with its sign. */
        uint64_t q = (uint64_t)wide_at(j->type, j->x, at + i) - (uint64_t)zero; /* may wrap */
        y[i] = (float)(int64_t)q * scale;
    }
}

typedef void scale_row(const struct scale_job *j, size_t at, size_t s, size_t n);

/* The two functions above by pointer, so that the walk over rows is written once. */
static inline void each_row(const struct scale_job *j, size_t begin, size_t end, scale_row *row)
{
    const struct scale_grid *g = &j->g;
    for (size_t item = begin; item < end; item++) {
        size_t r = item / j->pieces, first = item % j->pieces * PIECE;
        size_t n = g->inner - first < PIECE ? g->inner - first : PIECE, s = r % g->dim;
        if (g->block)
            /* Blocked scales of a row lie beside each other: s advances with the element. */
            s = (r / g->dim * g->blocks + s / g->block) * g->inner + first;
        row(j, r * g->inner + first, s, n);
    }
}

static void quantize_range(void *arg, size_t begin, size_t end)
{
    each_row(arg, begin, end, quantize_row);
}

static void dequantize_range(void *arg, size_t begin, size_t end)
{
    each_row(arg, begin, end, dequantize_row);
}

/* i32 has no kernel, and while a graph is folded there is no table of them. */
static bool has_kernels(const struct op_args *args, const struct op_env *env)
{
    const bool to_real = args->info->op == PITH_OP_DEQUANTIZE;
    const enum pith_type from = args->in[0]->type, type = to_real ? from : args->out[0]->type;
    return env->kernels && pith_type_bytes(type) == 1 && from != PITH_I32;
}

static enum pith_status need_scale(const struct op_args *args, const struct op_env *env,
                                   struct op_need *need)
{
    if (has_kernels(args, env) && args->attr[ATTR_QUANTIZE_BLOCK] == 0)
        need->kernel = "bytes";
    return PITH_OK;
}

static void run_scale(const struct op_args *args, const struct op_env *env)
{
    bool to_real = args->info->op == PITH_OP_DEQUANTIZE;
    struct scale_job job = {.type = to_real ? args->in[0]->type : args->out[0]->type,
                            .from_i32 = args->in[0]->type == PITH_I32,
                            .x = args->in[0]->data,
                            .scale = args->in[1]->data,
                            .y = args->out[0]->data};
    job.zero = args->n_in > 2 && args->in[2] ? args->in[2]->data : NULL;
    if (has_kernels(args, env))
        job.bytes = &env->kernels->integer.bytes;
    grid_of(args, &job.g);
    job.pieces = (job.g.inner + PIECE - 1) / PIECE;
    size_t work = job.g.inner < PIECE ? job.g.inner : PIECE;
    pith_op_range(env, job.g.rows * job.pieces, work, to_real ? dequantize_range : quantize_range,
                  &job);
}

/* The scale is a result here, so it is written before anything is quantized with it. */
static enum pith_status shape_dynamic(const struct op_args *args)
{
    static const struct shape scalar = {.rank = 0};
    enum pith_status st = pith_in_f32(args, 1);
    if (!st)
        st = pith_out_set(args->out[0], PITH_U8, &args->in[0]->shape);
    if (!st)
        st = pith_out_set(args->out[1], PITH_F32, &scalar);
    return st ? st : pith_out_set(args->out[2], PITH_U8, &scalar);
}

static inline float smaller_of(float x, float than)
{
    return x < than ? x : than;
}

static inline float larger_of(float x, float than)
{
    return x > than ? x : than;
}

/* The range, widened to hold 0, is cut into 255 steps; a tensor of zeros has a scale of 1.
 * ONNX's formula; holding 0 makes padding and Relu exact. */
static void run_dynamic(const struct op_args *args, const struct op_env *env)
{
    const float *x = args->in[0]->data;
    size_t n = shape_elems(&args->in[0]->shape);
    float low = 0.0f, high = 0.0f, *scale = args->out[1]->data;
    /* Side by side, for vectors; a NaN fails every comparison. */
    float lows[COLUMNS] = {0}, highs[COLUMNS] = {0};
    for (size_t i = 0; i + COLUMNS <= n; i += COLUMNS)
        for (size_t k = 0; k < COLUMNS; k++) {
            lows[k] = smaller_of(x[i + k], lows[k]);
            highs[k] = larger_of(x[i + k], highs[k]);
        }
    for (size_t k = 0; k < COLUMNS; k++) {
        const float last = k < n % COLUMNS ? x[n - 1 - k] : 0.0f;
        low = smaller_of(smaller_of(last, lows[k]), low);
        high = larger_of(larger_of(last, highs[k]), high);
    }
    *scale = low < high ? (high - low) / 255.0f : 1.0f;
    /* The zero point itself is quantized with a zero point of 0. */
    struct integer_range whole = integer_range_of(PITH_U8, 0);
    integer_put(PITH_U8, args->out[2]->data, 0, quantized(&whole, 0.0f - low / *scale));
    struct scale_job job = {.g = {.dim = 1, .inner = n, .rows = 1},
                            .pieces = (n + PIECE - 1) / PIECE,
                            .type = PITH_U8,
                            .x = x,
                            .zero = args->out[2]->data,
                            .scale = scale,
                            .y = args->out[0]->data,
                            .bytes = env->kernels ? &env->kernels->integer.bytes : NULL};
    pith_op_range(env, job.pieces, n < PIECE ? n : PIECE, quantize_range, &job);
}

static const struct attr_field quantize_fields[] = {
    {ATTR_INT, ATTR_QUANTIZE_AXIS, 1, 0, 7},
    {ATTR_INT, ATTR_QUANTIZE_TYPE, 0, PITH_F32, PITH_BOOL},
    {ATTR_INT, ATTR_QUANTIZE_BLOCK, 0, 0, INT32_MAX},
};
static const struct attr_field dequantize_fields[] = {
    {ATTR_INT, ATTR_QUANTIZE_AXIS, 1, 0, 7},
    {ATTR_INT, ATTR_QUANTIZE_BLOCK, 0, 0, INT32_MAX},
};

#define SCALE_OP(name, number, rule, schema, has)                                                  \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 2,                                                                             \
        .n_in_max = 3,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = sizeof schema / sizeof *schema,                                                \
        .n_slots = 3,                                                                              \
        .fields = schema,                                                                          \
        .traits = {.flags = has},                                                                  \
        .shape = rule,                                                                             \
        .need = need_scale,                                                                        \
        .run = run_scale,                                                                          \
    };

SCALE_OP(quantize, PITH_OP_QUANTIZE, shape_quantize, quantize_fields, TRAIT_GRID)
SCALE_OP(dequantize, PITH_OP_DEQUANTIZE, shape_dequantize, dequantize_fields, TRAIT_GRID)

const struct op_info pith_op_dynamic_quantize = {
    .op = PITH_OP_DYNAMIC_QUANTIZE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 3,
    .n_out_max = 3,
    .shape = shape_dynamic,
    .run = run_dynamic,
};
