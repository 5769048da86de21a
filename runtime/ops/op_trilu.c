/* SPDX-License-Identifier: MIT */
/* op_trilu.c - Trilu: of each matrix (the last two axes) the part on and above diagonal k, or on
 * and below it; the rest becomes 0. Any element type: 0 is all zero bytes in each of them.
 *
 * ONNX Trilu-14, of causal masks above all. In place too: a row's part that stays is where it
 * was. */
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_trilu(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    if (args->in[0]->shape.rank < 2)
        return PITH_ERR_CORRUPT;
    return pith_out_set(args->out[0], args->in[0]->type, &args->in[0]->shape);
}

struct trilu_job {
    const uint8_t *x;
    uint8_t *y;
    size_t rows, columns, bytes; /* of one matrix; of one element */
    int64_t k;
    bool upper;
};

/* Rows are independent; a row is two fills and a copy. */
static void trilu_range(void *arg, size_t begin, size_t end)
{
    const struct trilu_job *j = arg;
    int64_t n = (int64_t)j->columns;
    for (size_t row = begin; row < end; row++) {
        /* Columns [first, last) stay; the diagonal is at row + k. at may leave [0, n] by any k
         * of the file, hence the clamp in 64 bits. */
        int64_t at = (int64_t)(row % j->rows) + j->k + !j->upper;
        at = at < 0 ? 0 : at > n ? n : at;
        size_t first = j->upper ? (size_t)at : 0, last = j->upper ? j->columns : (size_t)at;
        const uint8_t *x = j->x + row * j->columns * j->bytes;
        uint8_t *y = j->y + row * j->columns * j->bytes;
        memset(y, 0, first * j->bytes);
        if (y != x)
            memcpy(y + first * j->bytes, x + first * j->bytes, (last - first) * j->bytes);
        memset(y + last * j->bytes, 0, (j->columns - last) * j->bytes);
    }
}

static void run_trilu(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0];
    uint32_t rank = x->shape.rank;
    struct trilu_job job = {.x = x->data,
                            .y = args->out[0]->data,
                            .rows = x->shape.dim[rank - 2],
                            .columns = x->shape.dim[rank - 1],
                            .bytes = pith_type_bytes(x->type),
                            .k = args->attr[ATTR_TRILU_K],
                            .upper = args->attr[ATTR_TRILU_UPPER] != 0};
    pith_op_range(env, shape_product(&x->shape, 0, rank - 1), job.columns, trilu_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_TRILU_UPPER, 1, 0, 1},
    {ATTR_INT, ATTR_TRILU_K, 0, INT32_MIN, INT32_MAX},
};

const struct op_info pith_op_trilu = {
    .op = PITH_OP_TRILU,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = 2,
    .flags = OP_INPLACE,
    .fields = fields,
    .shape = shape_trilu,
    .run = run_trilu,
};
