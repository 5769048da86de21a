/* SPDX-License-Identifier: MIT */
/* op_concat.c - Concat and its inverse, Split: the tensor as [outer, axis, inner], joined
 * or cut along the middle. Any element type: only bytes move.
 *
 * Along the outermost axis that is not 1 the planner lets inputs be written straight into their
 * piece of the output, and parts be read where they lie (plan/alias.c): then there is nothing
 * left to copy. */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* ONNX broadcasts nothing here. */
static bool same_but_axis(const struct tview *a, const struct tview *b, uint32_t axis)
{
    if (a->type != b->type || a->shape.rank != b->shape.rank)
        return false;
    for (uint32_t i = 0; i < a->shape.rank; i++)
        if (i != axis && a->shape.dim[i] != b->shape.dim[i])
            return false;
    return true;
}

static enum pith_status shape_concat(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, args->n_in);
    if (st)
        return st;
    const struct tview *first = args->in[0];
    uint32_t axis = (uint32_t)args->attr[ATTR_AXIS];
    if (axis >= first->shape.rank)
        return PITH_ERR_CORRUPT;
    /* 2^16 * 2^31 = 2^47: the sum cannot wrap in 64 bits. */
    uint64_t sum = 0; /* < 2^16 inputs of < 2^31 */
    for (uint32_t i = 0; i < args->n_in; i++) {
        if (!same_but_axis(first, args->in[i], axis))
            return PITH_ERR_CORRUPT;
        sum += args->in[i]->shape.dim[axis];
    }
    if (sum > INT32_MAX)
        return PITH_ERR_CORRUPT;
    struct shape s = first->shape;
    s.dim[axis] = (uint32_t)sum;
    return pith_out_set(args->out[0], first->type, &s);
}

/* Copies n chunks; from chunk to chunk the two sides advance by their own distance.
 * Memory-bound: threads would not gain, and rows of one part may be shorter than a cache line. */
static void copy_chunks(uint8_t *dst, size_t dst_step, const uint8_t *src, size_t src_step,
                        size_t chunk_bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pith_copy_bytes(dst + i * dst_step, src + i * src_step, chunk_bytes);
}

/* Bytes of one outer index of a part: its dims from axis on. */
static size_t part_bytes(const struct tview *t, uint32_t axis)
{
    return shape_product(&t->shape, axis, t->shape.rank) * pith_type_bytes(t->type);
}

static void run_concat(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    uint32_t axis = (uint32_t)args->attr[ATTR_AXIS];
    const struct tview *out = args->out[0];
    uint8_t *dst = out->data;
    size_t whole = part_bytes(out, axis), outer = shape_product(&out->shape, 0, axis);
    if (args->room)
        whole = whole / out->shape.dim[axis] * args->room[args->n_in];
    for (uint32_t i = 0; i < args->n_in; i++) {
        size_t part = part_bytes(args->in[i], axis);
        if (args->in[i]->data != dst) /* a cache, which lies there already */
            copy_chunks(dst, whole, args->in[i]->data, part, part, outer);
        dst += part;
    }
}

/* Parts along an axis of `dim`. Without sizes all but the last are equal, as ONNX's num_outputs
 * has it; then part i may come out empty (0). ceil(dim / n) each, so the last ones are short or
 * empty; an empty part has no shape in this format, and shape_split refuses it. */
static int64_t split_size(const struct op_args *args, uint32_t dim, uint32_t i)
{
    if (attr_count(args->attr, ATTR_SPLIT_SIZES))
        return args->attr[ATTR_SPLIT_SIZES + 1 + i];
    int64_t each = ((int64_t)dim + args->n_out - 1) / args->n_out, left = dim - each * i;
    return left <= 0 ? 0 : left < each ? left : each;
}

static enum pith_status shape_split(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    struct shape s = args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_AXIS];
    uint32_t n_sizes = attr_count(args->attr, ATTR_SPLIT_SIZES);
    if (axis >= s.rank || (n_sizes > 0 && n_sizes != args->n_out))
        return PITH_ERR_CORRUPT;
    uint32_t dim = s.dim[axis];
    int64_t sum = 0; /* of at most 2^16 parts below 2^31 */
    for (uint32_t i = 0; i < args->n_out; i++) {
        int64_t size = split_size(args, dim, i);
        if (size < 1)
            return PITH_ERR_CORRUPT;
        sum += size;
    }
    if (sum != dim)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < args->n_out && st == PITH_OK; i++) {
        s.dim[axis] = (uint32_t)split_size(args, dim, i);
        st = pith_out_set(args->out[i], args->in[0]->type, &s);
    }
    return st;
}

static void run_split(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    uint32_t axis = (uint32_t)args->attr[ATTR_AXIS];
    const struct tview *in = args->in[0];
    const uint8_t *src = in->data;
    size_t whole = part_bytes(in, axis), outer = shape_product(&in->shape, 0, axis);
    for (uint32_t i = 0; i < args->n_out; i++) {
        size_t part = part_bytes(args->out[i], axis);
        copy_chunks(args->out[i]->data, part, src, whole, part, outer);
        src += part;
    }
}

static const struct attr_field concat_fields[] = {{ATTR_INT, ATTR_AXIS, 1, 0, 8}};
static const struct attr_field split_fields[] = {
    {ATTR_INT, ATTR_AXIS, 1, 0, 8},
    {ATTR_LIST, ATTR_SPLIT_SIZES, 0, 1, INT32_MAX},
};

const struct op_info pith_op_concat = {
    .op = PITH_OP_CONCAT,
    .n_in_min = 1,
    .n_in_max = OP_ANY,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = 1,
    .fields = concat_fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_concat,
    .run = run_concat,
};

const struct op_info pith_op_split = {
    .op = PITH_OP_SPLIT,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = OP_ANY,
    .n_fields = 2,
    .n_slots = ATTR_SPLIT_SIZES + PITH_LIST_SLOTS,
    .fields = split_fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_split,
    .run = run_split,
};
