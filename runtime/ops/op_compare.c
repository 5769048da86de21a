/* SPDX-License-Identifier: MIT */
/* op_compare.c - two operands, broadcast, to bool: comparisons of numbers (of bools for
 * equality) and And, Or, Xor of bools, distinguished by `kind`. NaN is unequal to everything, as
 * IEEE says; any byte but 0 is true.
 *
 * One operator in the format for all of ONNX's comparisons and for its And, Or and Xor: they
 * differ in the row function alone. Outputs are bytes 0 and 1, whatever the inputs were. */
#include "op_interface/broadcast_row.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_compare(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct tview *a = args->in[0], *b = args->in[1];
    int32_t kind = args->attr[ATTR_KIND];
    if (a->type != b->type)
        return PITH_ERR_CORRUPT;
    /* Bools may be compared for equality and joined; numbers may be compared. The rest ONNX does
     * not have either. */
    bool is_bool = a->type == PITH_BOOL, equality = kind <= COMPARE_NOT_EQUAL;
    if (row_type_of(a->type) == ROW_TYPES ||
        (is_bool ? !equality && kind < COMPARE_AND : kind >= COMPARE_AND))
        return PITH_ERR_UNSUPPORTED;
    struct shape s;
    st = pith_broadcast_shape(&a->shape, &b->shape, &s);
    return st ? st : pith_out_set(args->out[0], PITH_BOOL, &s);
}

/* Macros, since the same text is compiled for seven types. */
#define EQUAL(a, b) ((a) == (b))
#define NOT_EQUAL(a, b) ((a) != (b))
#define LESS(a, b) ((a) < (b))
#define LESS_EQUAL(a, b) ((a) <= (b))
/* Bytes other than 0 and 1 may reach these from a caller's own input: truth is compared, not the
 * byte. */
#define BOOL_EQUAL(a, b) (!(a) == !(b))
#define BOOL_XOR(a, b) (!(a) != !(b))
#define BOOL_AND(a, b) (((a) != 0) & ((b) != 0))
#define BOOL_OR(a, b) (((a) | (b)) != 0)

/* Long tensors that are compared are f32, and have kernels: built small. */
#define COMPARE_ROWS(name, f)                                                                      \
    BROADCAST_ROW_SMALL(name##_f32, float, float, uint8_t, f)                                      \
    BROADCAST_ROW_SMALL(name##_i8, int8_t, int8_t, uint8_t, f)                                     \
    BROADCAST_ROW_SMALL(name##_u8, uint8_t, uint8_t, uint8_t, f)                                   \
    BROADCAST_ROW_SMALL(name##_i16, int16_t, int16_t, uint8_t, f)                                  \
    BROADCAST_ROW_SMALL(name##_u16, uint16_t, uint16_t, uint8_t, f)                                \
    BROADCAST_ROW_SMALL(name##_i32, int32_t, int32_t, uint8_t, f)                                  \
    BROADCAST_ROW_SMALL(name##_i64, int64_t, int64_t, uint8_t, f)

COMPARE_ROWS(equal, EQUAL)
COMPARE_ROWS(not_equal, NOT_EQUAL)
COMPARE_ROWS(less, LESS)
COMPARE_ROWS(less_equal, LESS_EQUAL)
BROADCAST_ROW_SMALL(bool_equal, uint8_t, uint8_t, uint8_t, BOOL_EQUAL)
BROADCAST_ROW_SMALL(bool_xor, uint8_t, uint8_t, uint8_t, BOOL_XOR)
BROADCAST_ROW_SMALL(bool_and, uint8_t, uint8_t, uint8_t, BOOL_AND)
BROADCAST_ROW_SMALL(bool_or, uint8_t, uint8_t, uint8_t, BOOL_OR)

static void run_compare(const struct op_args *args, const struct op_env *env)
{
    static pith_broadcast_row *const numbers[][ROW_TYPES] = {
        [COMPARE_EQUAL] = BROADCAST_ROW_TABLE(equal),
        [COMPARE_NOT_EQUAL] = BROADCAST_ROW_TABLE(not_equal),
        [COMPARE_LESS] = BROADCAST_ROW_TABLE(less),
        [COMPARE_LESS_EQUAL] = BROADCAST_ROW_TABLE(less_equal),
    };
    static const enum binary_kind kinds[] = {BINARY_EQUAL, BINARY_NOT_EQUAL, BINARY_LESS,
                                             BINARY_LESS_EQUAL};
    static pith_broadcast_row *const bools[] = {
        [COMPARE_EQUAL] = bool_equal, [COMPARE_NOT_EQUAL] = bool_xor, [COMPARE_AND] = bool_and,
        [COMPARE_OR] = bool_or,       [COMPARE_XOR] = bool_xor,
    };
    /* a > b is b < a, and the kinds of either follow one another. */
    int32_t kind = args->attr[ATTR_KIND];
    const bool turned = kind == COMPARE_GREATER || kind == COMPARE_GREATER_EQUAL;
    const struct tview *a = args->in[turned], *b = args->in[!turned];
    struct broadcast bc = pith_broadcast_plan(&a->shape, &b->shape);
    kind = turned ? kind - COMPARE_GREATER + COMPARE_LESS : kind;
    uint32_t in_bytes = pith_type_bytes(a->type);
    /* Elements of the output are shorter than those read, so the steps of both are kept separately.
     */
    const struct broadcast_data data = {
        a->data, b->data, args->out[0]->data, {in_bytes, in_bytes, 1}};
    pith_broadcast_row *row = a->type == PITH_BOOL
                                  ? bools[kind]
                                  : pith_binary_row(env, kinds[kind], numbers[kind], a->type);
    pith_broadcast_run(&bc, env, row, &data);
}

static const struct attr_field fields[] = {{ATTR_INT, ATTR_KIND, -1, 0, COMPARE_END - 1}};

const struct op_info pith_op_compare = {
    .op = PITH_OP_COMPARE,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .fields = fields,
    .traits = {.flags = TRAIT_BROADCASTS},
    .shape = shape_compare,
    .run = run_compare,
};
