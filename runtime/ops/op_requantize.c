/* SPDX-License-Identifier: MIT */
/* op_requantize.c - sums of products of integers become quantized values again:
 *
 *     y = saturate(round to even((f32)acc * factor) + zero point)
 *
 * with one factor, or one for each place of an axis. Sums of 64 bits, and what becomes values of
 * 16, are multiplied in double instead.
 *
 * Not of ONNX: import and quantization make it of DequantizeLinear -> QuantizeLinear behind a
 * product, with factor = x_scale * w_scale / y_scale. 2^24 is exact in f32, larger sums are
 * rounded once (to even) before they are multiplied: what the kernels' vector conversions do,
 * too. */
#include "core/build_choice.h"
#include "kernels/ref/integer_element.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* One factor a channel, so a piece is a run of one factor. */
#define PIECE 4096u

static enum pith_status shape_requantize(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 3);
    if (st)
        return st;
    const struct tview *acc = args->in[0], *factor = args->in[1], *zero = args->in[2];
    enum pith_type type = (enum pith_type)args->attr[ATTR_QUANTIZE_TYPE];
    uint32_t axis = (uint32_t)args->attr[ATTR_QUANTIZE_AXIS];
    bool wide = BUILT_PART(WORDS) && acc->type == PITH_I64;
    if ((acc->type != PITH_I32 && !wide) || factor->type != PITH_F32 || !is_grid_type(type))
        return PITH_ERR_UNSUPPORTED;
    /* One zero point: of the result, which is one tensor. */
    bool one = shape_elems(&factor->shape) == 1;
    if (zero->type != type || shape_elems(&zero->shape) != 1 || factor->shape.rank > 1)
        return PITH_ERR_CORRUPT;
    if (!one && (axis >= acc->shape.rank || factor->shape.dim[0] != acc->shape.dim[axis]))
        return PITH_ERR_CORRUPT;
    return pith_out_set(args->out[0], type, &acc->shape);
}

/* Cut into pieces of PIECE elements, whatever the axis. */
struct requantize_job {
    const void *acc;
    bool wide, in_double; /* wide: acc is i64 */
    const float *factor;
    void *y;
    struct integer_range range;
    size_t n, inner, factors; /* element i has factor i / inner % factors */
};

static int32_t requantized(const struct requantize_job *j, size_t i, float factor)
{
    if (BUILT_PART(WORDS) && j->wide)
        return quantized_f64(&j->range, (double)((const int64_t *)j->acc)[i] * (double)factor);
    int32_t acc = ((const int32_t *)j->acc)[i];
    return BUILT_PART(WORDS) && j->in_double
               ? quantized_f64(&j->range, (double)acc * (double)factor)
               : quantized(&j->range, (float)acc * factor);
}

/* The loops that networks take: without a test of types compilers make vectors of them. */
static void requantize_bytes(const int32_t *acc, const struct integer_range *range, float factor,
                             uint8_t *y, size_t n)
{
    const struct integer_range r = *range;
    for (size_t i = 0; i < n; i++)
        y[i] = (uint8_t)quantized(&r, (float)acc[i] * factor);
}

static void requantize_words(const int64_t *acc, const struct integer_range *range, double factor,
                             uint16_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (uint16_t)quantized_f64(range, (double)acc[i] * factor);
}

/* Items are pieces. */
static void requantize_range(void *arg, size_t begin, size_t end)
{
    const struct requantize_job *j = arg;
    size_t last = end * PIECE < j->n ? end * PIECE : j->n;
    for (size_t i = begin * PIECE; i < last;) {
        /* The end of the run that shares a factor. */
        size_t stop = (i / j->inner + 1) * j->inner;
        float factor = j->factor[i / j->inner % j->factors];
        stop = stop < last ? stop : last;
        if (BUILT_PART(WORDS) && j->wide && j->in_double) {
            requantize_words((const int64_t *)j->acc + i, &j->range, (double)factor,
                             (uint16_t *)j->y + i, stop - i);
            i = stop;
        } else if (!j->wide && !j->in_double) {
            requantize_bytes((const int32_t *)j->acc + i, &j->range, factor, (uint8_t *)j->y + i,
                             stop - i);
            i = stop;
        }
        for (; i < stop; i++)
            integer_put(j->range.type, j->y, i, requantized(j, i, factor));
    }
}

static void run_requantize(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_QUANTIZE_AXIS];
    enum pith_type type = args->out[0]->type;
    struct requantize_job job = {.acc = args->in[0]->data,
                                 .wide = BUILT_PART(WORDS) && args->in[0]->type == PITH_I64,
                                 .in_double = BUILT_PART(WORDS) && pith_type_bytes(type) == 2,
                                 .factor = args->in[1]->data,
                                 .y = args->out[0]->data,
                                 .n = shape_elems(s),
                                 .factors = shape_elems(&args->in[1]->shape)};
    job.range = integer_range_of(type, integer_at(type, args->in[2]->data, 0));
    job.inner = job.factors > 1 ? shape_product(s, axis + 1, s->rank) : job.n;
    pith_op_range(env, (job.n + PIECE - 1) / PIECE, PIECE, requantize_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_QUANTIZE_AXIS, 1, 0, 7},
    {ATTR_INT, ATTR_QUANTIZE_TYPE, 0, PITH_F32, PITH_BOOL},
};

const struct op_info pith_op_requantize = {
    .op = PITH_OP_REQUANTIZE,
    .n_in_min = 3,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = 2,
    .fields = fields,
    .traits = {.flags = TRAIT_GRID},
    .shape = shape_requantize,
    .run = run_requantize,
};
