/* SPDX-License-Identifier: MIT */
/* op_pad.c - Pad: a border of a constant, of the mirrored tensor (reflect, the edge itself not
 * repeated) or of its edge; negative pads crop.
 *
 * Every output index of an axis maps to an input index or to none. Rows along the last axis are
 * written whole: what lies inside by one memcpy, the border element by element. A constant other
 * than 0 is defined for f32 only. */
#include "op_list.h"
#include "op_range.h"
#include "shape_rule.h"

enum { PAD_CONSTANT = 0, PAD_REFLECT = 1, PAD_EDGE = 2 };

#define NOWHERE (-1)

static enum pith_status shape_pad(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct tview *x = args->in[0];
    struct shape s = x->shape;
    int32_t mode = args->attr[ATTR_PAD_MODE];
    if (attr_count(args->attr, ATTR_PAD_BEGIN) != s.rank ||
        attr_count(args->attr, ATTR_PAD_END) != s.rank)
        return PITH_ERR_CORRUPT;
    if (mode == PAD_CONSTANT && x->type != PITH_F32 && args->attr[ATTR_PAD_VALUE] != 0)
        return PITH_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < s.rank; i++) {
        int64_t begin = args->attr[ATTR_PAD_BEGIN + 1 + i], end = args->attr[ATTR_PAD_END + 1 + i];
        int64_t dim = s.dim[i] + begin + end;
        if (dim < 1 || dim > INT32_MAX)
            return PITH_ERR_CORRUPT;
        if (mode == PAD_REFLECT && (begin >= s.dim[i] || end >= s.dim[i]))
            return PITH_ERR_CORRUPT; /* one mirror image is all there is */
        s.dim[i] = (uint32_t)dim;
    }
    return pith_out_set(args->out[0], x->type, &s);
}

struct pad_job {
    const int32_t *attr;
    const struct shape *in, *out;
    const uint8_t *x;
    uint8_t *y;
    uint32_t bytes;
};

/* Input index of output index o on an axis, or NOWHERE. */
static int64_t source_index(const struct pad_job *j, uint32_t axis, int64_t o)
{
    int64_t i = o - j->attr[ATTR_PAD_BEGIN + 1 + axis], dim = j->in->dim[axis];
    if (i >= 0 && i < dim)
        return i;
    switch (j->attr[ATTR_PAD_MODE]) {
    case PAD_REFLECT:
        return i < 0 ? -i : 2 * (dim - 1) - i;
    case PAD_EDGE:
        return i < 0 ? 0 : dim - 1;
    default:
        return NOWHERE;
    }
}

/* Input row (all axes but the last) of an output row, or NOWHERE. */
static int64_t source_row(const struct pad_job *j, size_t row)
{
    int64_t from = 0, stride = 1;
    for (uint32_t axis = j->out->rank - 1; axis-- > 0;) {
        int64_t i = source_index(j, axis, (int64_t)(row % j->out->dim[axis]));
        if (i == NOWHERE)
            return NOWHERE;
        row /= j->out->dim[axis];
        from += i * stride;
        stride *= j->in->dim[axis];
    }
    return from;
}

static void fill_constant(const struct pad_job *j, uint8_t *y, int64_t n)
{
    if (j->attr[ATTR_PAD_VALUE] == 0) {
        memset(y, 0, (size_t)n * j->bytes);
        return;
    }
    float value = attr_f32(j->attr, ATTR_PAD_VALUE), *to = (float *)(void *)y;
    for (int64_t i = 0; i < n; i++)
        to[i] = value;
}

/* Outputs [begin, end) of a row, all outside the input. */
static void fill_border(const struct pad_job *j, const uint8_t *x, uint8_t *y, int64_t begin,
                        int64_t end)
{
    uint32_t axis = j->out->rank - 1;
    if (begin < end && j->attr[ATTR_PAD_MODE] == PAD_CONSTANT) {
        fill_constant(j, y + begin * (int64_t)j->bytes, end - begin);
        return;
    }
    for (int64_t o = begin; o < end; o++)
        memcpy(y + o * (int64_t)j->bytes, x + source_index(j, axis, o) * (int64_t)j->bytes,
               j->bytes);
}

static void pad_row(const struct pad_job *j, const uint8_t *x, uint8_t *y)
{
    uint32_t axis = j->out->rank - 1;
    int64_t n = j->out->dim[axis], pad = j->attr[ATTR_PAD_BEGIN + 1 + axis];
    int64_t begin = pad < 0 ? 0 : pad > n ? n : pad;
    int64_t end = pad + (int64_t)j->in->dim[axis];
    end = end > n ? n : end < begin ? begin : end;
    fill_border(j, x, y, 0, begin);
    memcpy(y + begin * (int64_t)j->bytes, x + (begin - pad) * (int64_t)j->bytes,
           (size_t)(end - begin) * j->bytes);
    fill_border(j, x, y, end, n);
}

static void pad_range(void *arg, size_t begin, size_t end)
{
    const struct pad_job *j = arg;
    size_t in_row = (size_t)j->in->dim[j->in->rank - 1] * j->bytes;
    size_t out_row = (size_t)j->out->dim[j->out->rank - 1] * j->bytes;
    for (size_t row = begin; row < end; row++) {
        int64_t from = source_row(j, row);
        uint8_t *y = j->y + row * out_row;
        if (from == NOWHERE)
            fill_constant(j, y, j->out->dim[j->out->rank - 1]);
        else
            pad_row(j, j->x + (size_t)from * in_row, y);
    }
}

static void run_pad(const struct op_args *args, const struct op_env *env)
{
    const struct tview *x = args->in[0], *y = args->out[0];
    struct pad_job job = {
        args->attr, &x->shape, &y->shape, x->data, y->data, pith_type_bytes(x->type)};
    uint32_t rank = y->shape.rank;
    if (rank == 0) {
        memcpy(y->data, x->data, job.bytes);
        return;
    }
    pith_op_range(env, shape_product(&y->shape, 0, rank - 1), y->shape.dim[rank - 1], pad_range,
                  &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_PAD_MODE, 0, PAD_CONSTANT, PAD_EDGE},
    {ATTR_FLOAT, ATTR_PAD_VALUE, 0, 0, 1},
    {ATTR_LIST, ATTR_PAD_BEGIN, 0, -INT32_MAX, INT32_MAX},
    {ATTR_LIST, ATTR_PAD_END, 0, -INT32_MAX, INT32_MAX},
};

const struct op_info pith_op_pad = {
    .op = PITH_OP_PAD,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = ATTR_PAD_END + PITH_LIST_SLOTS,
    .fields = fields,
    .shape = shape_pad,
    .run = run_pad,
};
