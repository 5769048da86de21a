/* SPDX-License-Identifier: MIT */
/* op_gather.c - Gather, GatherElements and GatherND: elements picked by a tensor of indices
 * (index_read.h). Any element type: only bytes move.
 *
 *     along an axis   y[outer, i, inner] = x[outer, index[i], inner]
 *     elements        y[.., i, ..] = x[.., index[.., i, ..], ..], y shaped as the indices
 *     nd              y[batch, i, :] = x[batch, index[batch, i, 0], index[batch, i, 1], .., :]
 *
 * Along an axis, on a microcontroller, a table may lie coded in the file: it is decoded once a
 * run from the first element to the last, and what some index names is kept.
 *
 * ONNX Gather-13, GatherElements-13, GatherND-13. An index beyond its axis is cut to it, a
 * negative one counts from the end (index_at): values come from data, so no validation has checked
 * them, and a wrong one must not read outside of x.
 *
 * Coded tables are embeddings: without memory for the decoded table, one pass of the decoder
 * over all rows finds the requested ones. The cost is a decode of the table for each run,
 * whatever the number of indices. */
#include "op_interface/index_read.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "decode/weight_rows.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { GATHER_AXIS = 0, GATHER_ELEMENTS = 1, GATHER_ND = 2 };

/* The indices' axes take the place of the axis that they index. */
static enum pith_status axis_shape(const struct shape *x, const struct shape *index, uint32_t axis,
                                   struct shape *y)
{
    if (x->rank - 1 + index->rank > PITH_MAX_RANK)
        return PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < axis; i++)
        y->dim[y->rank++] = x->dim[i];
    for (uint32_t i = 0; i < index->rank; i++)
        y->dim[y->rank++] = index->dim[i];
    for (uint32_t i = axis + 1; i < x->rank; i++)
        y->dim[y->rank++] = x->dim[i];
    return PITH_OK;
}

static enum pith_status elements_shape(const struct shape *x, const struct shape *index,
                                       uint32_t axis, struct shape *y)
{
    if (index->rank != x->rank)
        return PITH_ERR_CORRUPT;
    /* Axes beside the indexed one may be shorter than x's, not longer. */
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis && index->dim[i] > x->dim[i])
            return PITH_ERR_CORRUPT;
    *y = *index;
    return PITH_OK;
}

/* The last axis of the indices holds `n` coordinates of one place; `batch` leading axes are
 * walked in step with x. */
static enum pith_status nd_shape(const struct shape *x, const struct shape *index, uint32_t batch,
                                 struct shape *y)
{
    if (index->rank == 0 || batch >= index->rank || batch >= x->rank)
        return PITH_ERR_CORRUPT;
    uint32_t n = index->dim[index->rank - 1];
    if (n == 0 || n > x->rank - batch)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < batch; i++)
        if (x->dim[i] != index->dim[i])
            return PITH_ERR_CORRUPT;
    if (index->rank - 1 + (x->rank - batch - n) > PITH_MAX_RANK)
        return PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i + 1 < index->rank; i++)
        y->dim[y->rank++] = index->dim[i];
    for (uint32_t i = batch + n; i < x->rank; i++)
        y->dim[y->rank++] = x->dim[i];
    return PITH_OK;
}

static enum pith_status shape_gather(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 2);
    if (st)
        return st;
    if (!index_type(args->in[1]))
        return PITH_ERR_UNSUPPORTED;
    const struct shape *x = &args->in[0]->shape, *index = &args->in[1]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_GATHER_AXIS];
    struct shape y = {.rank = 0};
    if (axis >= x->rank)
        return PITH_ERR_CORRUPT;
    if (args->attr[ATTR_GATHER_KIND] == GATHER_AXIS)
        st = axis_shape(x, index, axis, &y);
    else if (args->attr[ATTR_GATHER_KIND] == GATHER_ELEMENTS)
        st = elements_shape(x, index, axis, &y);
    else
        st = nd_shape(x, index, axis, &y);
    return st ? st : pith_out_set(args->out[0], args->in[0]->type, &y);
}

/* One item's source is `inner_bytes` long, so every kind of gather is a loop of memcpy. */
struct gather_job {
    const struct tview *x, *index;
    const uint8_t *src;
    uint8_t *dst;
    uint32_t axis;      /* GATHER_ND: the batch axes before it */
    size_t inner_bytes; /* of what one index names; GATHER_ELEMENTS: of an element */
    size_t n;           /* indices of one outer item */
};

#define INDICES 256u /* read at once, for all outer places */

/* n runs of so many bytes, each from its offset. */
static void pick(uint8_t *y, const uint8_t *x, const size_t *offset, size_t n, size_t bytes)
{
    if (bytes == 4)
        for (size_t k = 0; k < n; k++)
            memcpy(y + 4 * k, x + offset[k], 4);
    else if (bytes == 8)
        for (size_t k = 0; k < n; k++)
            memcpy(y + 8 * k, x + offset[k], 8);
    else
        for (size_t k = 0; k < n; k++)
            pith_copy_bytes(y + bytes * k, x + offset[k], bytes);
}

/* Places [begin, end) of y, outer by outer, i % n the index. The indices of all outer places are
 * the same. */
static void axis_range(void *arg, size_t begin, size_t end)
{
    const struct gather_job *j = arg;
    const size_t bytes = j->inner_bytes;
    const uint32_t dim = j->x->shape.dim[j->axis];
    size_t offset[INDICES];
    for (size_t first = 0; first < j->n; first += INDICES) {
        const size_t n = j->n - first < INDICES ? j->n - first : INDICES;
        for (size_t k = 0; k < n; k++)
            offset[k] = index_at(j->index, first + k, dim) * bytes;
        for (size_t outer = begin / j->n; outer * j->n + first < end; outer++) {
            const size_t at = outer * j->n + first, skip = at < begin ? begin - at : 0;
            const size_t stop = at + n > end ? end - at : n;
            const uint8_t *x = j->src + outer * dim * bytes;
            uint8_t *y = j->dst + (at + skip) * bytes;
            if (skip >= stop)
                continue;
            pick(y, x, offset + skip, stop - skip, bytes);
        }
    }
}

/* Items are rows of y along its last axis. The place in x of the row's first element is formed
 * once, by its digits in y's axes; the indexed axis is left out of it and added element by
 * element. */
static void elements_range(void *arg, size_t begin, size_t end)
{
    const struct gather_job *j = arg;
    const struct shape *x = &j->x->shape, *y = &j->index->shape;
    uint32_t last = y->rank - 1, bytes = (uint32_t)j->inner_bytes;
    size_t n = y->dim[last], axis_step = shape_product(x, j->axis + 1, x->rank);
    for (size_t row = begin; row < end; row++) {
        size_t rest = row, base = 0, step = 1;
        for (uint32_t i = last + 1; i-- > 0;) {
            size_t at = i == last ? 0 : rest % y->dim[i];
            rest = i == last ? rest : rest / y->dim[i];
            base += i == j->axis ? 0 : at * step;
            step *= x->dim[i];
        }
        for (size_t k = 0; k < n; k++) {
            size_t from = base + index_at(j->index, row * n + k, x->dim[j->axis]) * axis_step +
                          (j->axis == last ? 0 : k);
            pith_copy_bytes(j->dst + (row * n + k) * bytes, j->src + from * bytes, bytes);
        }
    }
}

/* Coordinates are the digits of the place, the most significant first (Horner). */
static void nd_range(void *arg, size_t begin, size_t end)
{
    const struct gather_job *j = arg;
    const struct shape *x = &j->x->shape, *index = &j->index->shape;
    uint32_t n = index->dim[index->rank - 1];
    for (size_t i = begin; i < end; i++) {
        size_t from = i / j->n;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t dim = x->dim[j->axis + k];
            from = from * dim + index_at(j->index, i * n + k, dim);
        }
        pith_copy_bytes(j->dst + i * j->inner_bytes, j->src + from * j->inner_bytes,
                        j->inner_bytes);
    }
}

/* ---- coded tables ---------------------------------------------------------------------------- */

/* Only microcontrollers, where no plan has room for prepare(), come here with a weight. */
static enum pith_status need_gather(const struct op_args *args, const struct op_env *env,
                                    struct op_need *need)
{
    (void)env;
    *need = (struct op_need){.kernel = "ref"};
    if (args->weight) {
        need->kernel = "coded";
        need->reads_rows = true;
        need->scratch_bytes = need->prep_scratch_bytes = pith_weight_rows_bytes(args->weight);
    }
    return PITH_OK;
}

/* Coded weights are f32 or i8, and so are their rows. */
static void read_row(struct weight_rows *rows, enum pith_type type, uint8_t *to, uint32_t n)
{
    if (type == PITH_F32)
        pith_weight_rows_f32(rows, (float *)(void *)to, n);
    else
        pith_weight_rows_i8(rows, (int8_t *)to, n);
}

/* Row `row` of x, the next to be decoded, to where indices name it. y: of the same outer item. n
 * comparisons a row: few indices name a table of many rows, so the decoder, not this, takes the
 * time. Equal indices copy the first one's row, for the decoder only goes forward. */
static void keep_row(const struct gather_job *j, struct weight_rows *rows, uint32_t row, uint8_t *y)
{
    uint32_t dim = j->x->shape.dim[j->axis];
    uint32_t inner = (uint32_t)(j->inner_bytes / pith_type_bytes(j->x->type));
    const uint8_t *first = NULL;
    for (size_t i = 0; i < j->n; i++) {
        if (index_at(j->index, i, dim) != row)
            continue;
        uint8_t *to = y + i * j->inner_bytes;
        if (first)
            memcpy(to, first, j->inner_bytes);
        else
            read_row(rows, j->x->type, to, inner);
        first = first ? first : to;
    }
    if (!first)
        pith_weight_rows_skip(rows, inner);
}

/* Row after row in the order of the file, for each outer place. */
static void run_coded(const struct gather_job *j, const struct weight *w, size_t outer,
                      void *scratch)
{
    struct weight_rows *rows = pith_weight_rows_open(w, scratch);
    for (size_t o = 0; o < outer; o++)
        for (uint32_t row = 0; row < j->x->shape.dim[j->axis]; row++)
            keep_row(j, rows, row, j->dst + o * j->n * j->inner_bytes);
}

static void run_gather(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *index = args->in[1];
    uint32_t axis = (uint32_t)args->attr[ATTR_GATHER_AXIS], rank = x->shape.rank;
    const struct shape *by = &index->shape;
    size_t bytes = pith_type_bytes(x->type);
    /* The number of indices of an outer place; all of them where there is one. */
    struct gather_job job = {x, index, x->data, args->out[0]->data, axis, bytes, shape_elems(by)};
    size_t items = job.n;
    if (args->attr[ATTR_GATHER_KIND] == GATHER_AXIS) {
        job.inner_bytes = bytes * shape_product(&x->shape, axis + 1, rank);
        items *= shape_product(&x->shape, 0, axis);
        if (args->weight) {
            run_coded(&job, args->weight, shape_product(&x->shape, 0, axis), env->scratch);
            return;
        }
        /* Work is counted in words of 4 bytes, as an element-wise operator's is. */
        pith_op_range(env, items, job.inner_bytes / 4, axis_range, &job);
    } else if (args->attr[ATTR_GATHER_KIND] == GATHER_ELEMENTS) {
        items /= by->dim[by->rank - 1];
        pith_op_range(env, items, by->dim[by->rank - 1], elements_range, &job);
    } else {
        uint32_t last = by->rank - 1;
        job.n = shape_product(by, axis, last);
        job.inner_bytes = bytes * shape_product(&x->shape, axis + by->dim[last], rank);
        pith_op_range(env, shape_product(by, 0, last), job.inner_bytes / 4, nd_range, &job);
    }
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_GATHER_KIND, 0, GATHER_AXIS, GATHER_ND},
    {ATTR_INT, ATTR_GATHER_AXIS, 0, 0, 7},
};

const struct op_info pith_op_gather = {
    .op = PITH_OP_GATHER,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = 2,
    .flags = OP_TABLE,
    .fields = fields,
    .traits = {.parameters = 1u << 0},
    .shape = shape_gather,
    .need = need_gather,
    .run = run_gather,
};
