/* SPDX-License-Identifier: MIT */
/* op_variadic.c - Min, Max, Sum and Mean of one or more operands, all broadcast: the output is
 * input 0 repeated to the full shape, then joined by one operand after the other. NaN wins over
 * numbers. Min and Max take all numeric types, Sum and Mean f32.
 *
 * ONNX Max-13, Min-13, Sum-13, Mean-13. The order of operands is the order of the sum, so f32
 * results are the same everywhere. */
#include "kernels/ref/elementwise_f32.h"
#include "op_interface/broadcast_row.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_variadic(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, args->n_in);
    if (st)
        return st;
    enum pith_type type = args->in[0]->type;
    bool is_sum = args->attr[ATTR_KIND] >= VARIADIC_SUM;
    if (is_sum ? type != PITH_F32 : row_type_of(type) >= ROW_BOOL)
        return PITH_ERR_UNSUPPORTED;
    struct shape s = args->in[0]->shape;
    for (uint32_t i = 1; i < args->n_in; i++) {
        if (args->in[i]->type != type)
            return PITH_ERR_CORRUPT;
        st = pith_broadcast_shape(&s, &args->in[i]->shape, &s);
        if (st)
            return st;
    }
    return pith_out_set(args->out[0], type, &s);
}

/* Integers have neither NaN nor -0. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define FIRST(a, b) ((void)(b), (a))

BROADCAST_ROWS(min, MIN, smaller_f32)
BROADCAST_ROWS(max, MAX, larger_f32)
BROADCAST_ROWS(first, FIRST, FIRST)
BROADCAST_ROW(sum_f32, float, float, float, SUM)

/* Mean divides once at the end: sum / n has one rounding more than the sum. */
struct divide_job {
    float *y, divisor;
};

static void divide_range(void *arg, size_t begin, size_t end)
{
    const struct divide_job *j = arg;
    for (size_t i = begin; i < end; i++)
        j->y[i] = j->y[i] / j->divisor;
}

static void run_variadic(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const rows[][ROW_TYPES] = {
        [VARIADIC_MIN] = BROADCAST_ROW_TABLE(min),
        [VARIADIC_MAX] = BROADCAST_ROW_TABLE(max),
        [VARIADIC_SUM] = {[ROW_F32] = sum_f32},
        [VARIADIC_MEAN] = {[ROW_F32] = sum_f32},
    };
    static const enum binary_kind kinds[] = {[VARIADIC_MIN] = BINARY_MIN,
                                             [VARIADIC_MAX] = BINARY_MAX,
                                             [VARIADIC_SUM] = BINARY_ADD,
                                             [VARIADIC_MEAN] = BINARY_ADD};
    static pith_broadcast_row *const copies[ROW_TYPES] = BROADCAST_ROW_TABLE(first);
    const struct tview *x = args->in[0], *y = args->out[0];
    uint32_t type = row_type_of(x->type), bytes = pith_type_bytes(x->type);
    const int32_t kind = args->attr[ATTR_KIND];
    /* Where input 0 has the output's shape it is joined straight into y, and nothing is copied. */
    bool whole = pith_shape_equal(&x->shape, &y->shape);
    const void *a = whole ? x->data : y->data;
    if (!whole || (args->n_in == 1 && x->data != y->data)) {
        struct broadcast bc = pith_broadcast_plan(&x->shape, &y->shape);
        /* FIRST reads y only to give the row its length; it writes input 0 repeated. */
        pith_broadcast_run(
            &bc, env, copies[type],
            &(struct broadcast_data){x->data, y->data, y->data, {bytes, bytes, bytes}});
    }
    for (uint32_t i = 1; i < args->n_in; i++, a = y->data) {
        struct broadcast bc = pith_broadcast_plan(&y->shape, &args->in[i]->shape);
        pith_broadcast_run(
            &bc, env, pith_binary_row(env, kinds[kind], rows[kind], x->type),
            &(struct broadcast_data){a, args->in[i]->data, y->data, {bytes, bytes, bytes}});
    }
    if (kind == VARIADIC_MEAN) {
        struct divide_job job = {y->data, (float)args->n_in};
        pith_op_range(env, shape_elems(&y->shape), 1, divide_range, &job);
    }
}

static const struct attr_field fields[] = {{ATTR_INT, ATTR_KIND, -1, 0, VARIADIC_END - 1}};

const struct op_info pith_op_variadic = {
    .op = PITH_OP_VARIADIC,
    .n_in_min = 1,
    .n_in_max = OP_ANY,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .flags = OP_INPLACE,
    .fields = fields,
    .traits = {.flags = TRAIT_BROADCASTS},
    .shape = shape_variadic,
    .run = run_variadic,
};
