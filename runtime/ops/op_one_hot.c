/* SPDX-License-Identifier: MIT */
/* op_one_hot.c - OneHot: a new axis of `depth` entries, values[1] where the index points and
 * values[0] elsewhere. Negative indices count from the end; one outside -depth..depth-1 points
 * nowhere. Any element type: only bytes move.
 *
 * ONNX OneHot-11 with depth as an attribute: shapes are known before a network runs, so import
 * needs it constant. */
#include "op_interface/index_read.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_one_hot(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    const struct shape *index = &args->in[0]->shape, *values = &args->in[1]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_ONE_HOT_AXIS];
    if (!index_type(args->in[0]) || index->rank == PITH_MAX_RANK)
        return PITH_ERR_UNSUPPORTED;
    if (values->rank != 1 || values->dim[0] != 2 || axis > index->rank)
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = index->rank + 1};
    for (uint32_t i = 0; i < y.rank; i++)
        y.dim[i] =
            i == axis ? (uint32_t)args->attr[ATTR_ONE_HOT_DEPTH] : index->dim[i < axis ? i : i - 1];
    return pith_out_set(args->out[0], args->in[1]->type, &y);
}

/* y is [outer, depth, inner]. */
struct one_hot_job {
    const struct tview *index;
    const uint8_t *values;
    uint8_t *y;
    size_t depth, inner, bytes;
};

/* Entry i as a place on the axis; depth: nowhere. i32 and i64 indices; the gate let no other
 * type pass. */
static size_t hot_place(const struct one_hot_job *j, size_t i)
{
    const void *data = j->index->data;
    int64_t v =
        j->index->type == PITH_I64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
    v += v < 0 ? (int64_t)j->depth : 0;
    return v < 0 || v >= (int64_t)j->depth ? j->depth : (size_t)v;
}

/* Items are entries of the axes before the new one. All entries are written `off` first; one
 * store a column then makes those that are on. */
static void one_hot_range(void *arg, size_t begin, size_t end)
{
    const struct one_hot_job *j = arg;
    size_t item = j->depth * j->inner;
    for (size_t outer = begin; outer < end; outer++) {
        uint8_t *y = j->y + outer * item * j->bytes;
        for (size_t i = 0; i < item; i++)
            memcpy(y + i * j->bytes, j->values, j->bytes);
        /* Columns of one outer place; an index that points nowhere leaves its column off. */
        for (size_t i = 0; i < j->inner; i++) {
            size_t at = hot_place(j, outer * j->inner + i);
            if (at < j->depth)
                memcpy(y + (at * j->inner + i) * j->bytes, j->values + j->bytes, j->bytes);
        }
    }
}

static void run_one_hot(const struct op_args *args, const struct op_env *env)
{
    const struct shape *y = &args->out[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_ONE_HOT_AXIS];
    struct one_hot_job job = {.index = args->in[0],
                              .values = args->in[1]->data,
                              .y = args->out[0]->data,
                              .depth = y->dim[axis],
                              .inner = shape_product(y, axis + 1, y->rank),
                              .bytes = pith_type_bytes(args->in[1]->type)};
    pith_op_range(env, shape_product(y, 0, axis), job.depth * job.inner, one_hot_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_ONE_HOT_DEPTH, 0, 1, INT32_MAX},
    {ATTR_INT, ATTR_ONE_HOT_AXIS, 0, 0, 8},
};

const struct op_info pith_op_one_hot = {
    .op = PITH_OP_ONE_HOT,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = 2,
    .fields = fields,
    .shape = shape_one_hot,
    .run = run_one_hot,
};
