/* SPDX-License-Identifier: MIT */
/* op_tile.c - Tile, and with it Expand: each axis repeated as often as its entry says. The entries
 * align with the last axes of x; where there are more of them, x has axes of 1 in front. An entry
 * of 0 says: as often as input 1 has rows, which is how what is the same for every sample follows
 * an open batch; of that input only the shape matters. Any element type: only bytes move.
 *
 * Trailing axes that are not repeated, and the last one that is, form a block: y is a list of
 * blocks, each one row of x written several times.
 *
 * ONNX Tile-13 and Expand-13. Copies are of bytes, so a block's rows are written with memcpy as
 * long as they get: the last repeated axis decides how long. */
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "op_interface/turn.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Dim i of x, right-aligned in a tensor of `rank` axes. x is aligned to the right, as
 * broadcasting does it. */
static uint32_t dim_of(const struct shape *x, uint32_t rank, uint32_t i)
{
    return i + x->rank < rank ? 1 : x->dim[i + x->rank - rank];
}

/* Rows of input 1; 0 without one. How a Tile of the batch is written without naming the batch:
 * it follows another value's. */
static uint32_t rows_of_reference(const struct op_args *args)
{
    const struct tview *reference = args->n_in > 1 ? args->in[1] : NULL;
    return reference && reference->shape.rank > 0 ? reference->shape.dim[0] : 0;
}

static enum pith_status shape_tile(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t n = attr_count(args->attr, ATTR_TILE_REPEATS), rows = rows_of_reference(args);
    struct shape y = {.rank = n > x->rank ? n : x->rank};
    for (uint32_t i = 0; i < y.rank; i++) {
        uint64_t dim = dim_of(x, y.rank, i);
        if (i + n >= y.rank) {
            uint32_t times = (uint32_t)args->attr[ATTR_TILE_REPEATS + 1 + i + n - y.rank];
            /* 2^31 times 2^31 fits in 64 bits. */
            dim *= times ? times : rows;
        }
        if (dim == 0 || dim > INT32_MAX)
            return PITH_ERR_CORRUPT;
        y.dim[i] = (uint32_t)dim;
    }
    return pith_out_set(args->out[0], args->in[0]->type, &y);
}

/* A row is what one copy moves: repeats copies of it are one block of y. */
struct tile_job {
    const struct shape *x, *y;
    const uint8_t *src;
    uint8_t *dst;
    uint32_t axis; /* of y: those before it number the blocks */
    size_t row_bytes, repeats;
    uint32_t bytes; /* of an element */
};

/* Items are blocks: all axes of y before j->axis. The block's digits in y's axes, each taken
 * modulo x's dim, are its place in x. */
static void tile_range(void *arg, size_t begin, size_t end)
{
    const struct tile_job *j = arg;
    for (size_t block = begin; block < end; block++) {
        size_t rest = block, from = 0, step = 1;
        for (uint32_t i = j->axis; i-- > 0;) {
            uint32_t dim = dim_of(j->x, j->y->rank, i);
            from += rest % j->y->dim[i] % dim * step;
            rest /= j->y->dim[i];
            step *= dim;
        }
        const uint8_t *src = j->src + from * j->row_bytes;
        uint8_t *dst = j->dst + block * j->repeats * j->row_bytes;
        if (j->row_bytes == j->bytes)
            pith_copy_row(src, 0, dst, 1, j->repeats, j->bytes);
        else
            for (size_t k = 0; k < j->repeats; k++)
                memcpy(dst + k * j->row_bytes, src, j->row_bytes);
    }
}

static void run_tile(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    uint32_t rank = y->shape.rank, axis = rank;
    /* Axes equal in x and y at the end are moved together; axis is where they begin. */
    while (axis > 0 && y->shape.dim[axis - 1] == dim_of(&x->shape, rank, axis - 1))
        axis--;
    const uint32_t bytes = pith_type_bytes(x->type);
    size_t inner = shape_product(&y->shape, axis, rank);
    /* Nothing repeated at all: one block, one copy. */
    struct tile_job job = {&x->shape, &y->shape, x->data, y->data, 0, inner * bytes, 1, bytes};
    if (axis > 0) {
        job.axis = axis - 1;
        job.row_bytes *= dim_of(&x->shape, rank, job.axis);
        job.repeats = y->shape.dim[job.axis] / dim_of(&x->shape, rank, job.axis);
        while (job.axis > 0 && dim_of(&x->shape, rank, job.axis) == 1 &&
               dim_of(&x->shape, rank, job.axis - 1) == 1)
            job.repeats *= y->shape.dim[--job.axis];
    }
    pith_op_range(env, shape_product(&y->shape, 0, job.axis), job.repeats * job.row_bytes / 4,
                  tile_range, &job);
}

static const struct attr_field fields[] = {{ATTR_LIST, ATTR_TILE_REPEATS, 0, 0, INT32_MAX}};

const struct op_info pith_op_tile = {
    .op = PITH_OP_TILE,
    .n_in_min = 1,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 1,
    .n_slots = PITH_LIST_SLOTS,
    .fields = fields,
    .shape = shape_tile,
    .run = run_tile,
};
