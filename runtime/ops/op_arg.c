/* SPDX-License-Identifier: MIT */
/* op_arg.c - ArgMax and ArgMin along one axis: places as i64, the first of equals or the last. A
 * NaN is found only at the first place, where nothing compares with it. Columns behind the axis
 * are searched side by side.
 *
 * With `last` a later equal element replaces an earlier one; integers are compared in their own
 * type: a conversion to f32 would make neighbours above 2^24 equal. */
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/broadcast_row.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define COLUMNS 128u /* side by side: neighbours in memory belong to different searches */
#define LANES 4u

/* Reduced axes stay as 1 (ATTR_ARG_KEEP) or go. A bool is no number, so it has no largest. */
static enum pith_status shape_arg(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_ARG_AXIS];
    if (axis >= x->rank)
        return PITH_ERR_CORRUPT;
    if (row_type_of(args->in[0]->type) >= ROW_BOOL)
        return PITH_ERR_UNSUPPORTED;
    struct shape s = {.rank = 0};
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis || args->attr[ATTR_ARG_KEEP])
            s.dim[s.rank++] = i == axis ? 1 : x->dim[i];
    return pith_out_set(args->out[0], PITH_I64, &s);
}

struct arg_job {
    bool is_min, last;
    enum pith_type type;
    const void *x; /* [outer, n, inner] */
    int64_t *y;    /* [outer, inner] */
    size_t n, inner, blocks;
};

#define SEARCH(T)                                                                                  \
    static void search_##T(const struct arg_job *j, const T *x, int64_t *y, size_t width)          \
    {                                                                                              \
        T best[COLUMNS];                                                                           \
        for (size_t c = 0; c < width; c++) {                                                       \
            best[c] = x[c];                                                                        \
            y[c] = 0;                                                                              \
        }                                                                                          \
        for (size_t i = 1; i < j->n; i++)                                                          \
            for (size_t c = 0; c < width; c++) {                                                   \
                T v = x[i * j->inner + c];                                                         \
                if ((j->is_min ? v < best[c] : v > best[c]) || (j->last && v == best[c])) {        \
                    best[c] = v;                                                                   \
                    y[c] = (int64_t)i;                                                             \
                }                                                                                  \
            }                                                                                      \
    }

SEARCH(float)
SEARCH(int8_t)
SEARCH(uint8_t)
SEARCH(int16_t)
SEARCH(uint16_t)
SEARCH(int32_t)
SEARCH(int64_t)

typedef float floats __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t places __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* Floats, which are the most common ones, as vectors; i fits 32 bits. */
static void search_columns(const struct arg_job *j, const float *x, int64_t *y, size_t width)
{
    const size_t vectors = width / LANES;
    floats best[COLUMNS / LANES];
    places place[COLUMNS / LANES];
    memset(place, 0, sizeof place);
    for (size_t k = 0; k < vectors; k++)
        best[k] = *(const floats *)(const void *)(x + k * LANES);
    for (size_t i = 1; i < j->n; i++)
        for (size_t k = 0; k < vectors; k++) {
            const floats v = *(const floats *)(const void *)(x + i * j->inner + k * LANES);
            places better = j->is_min ? v < best[k] : v > best[k];
            if (j->last)
                better |= v == best[k];
            place[k] = (better & (int32_t)i) | (~better & place[k]);
            best[k] = (floats)((better & (places)v) | (~better & (places)best[k]));
        }
    for (size_t c = 0; c < vectors * LANES; c++)
        y[c] = place[c / LANES][c % LANES];
    search_float(j, x + vectors * LANES, y + vectors * LANES, width - vectors * LANES);
}

/* Items are blocks of columns, so that one search is never cut among threads. */
static void arg_range(void *arg, size_t begin, size_t end)
{
    const struct arg_job *j = arg;
    for (size_t item = begin; item < end; item++) {
        size_t outer = item / j->blocks, first = item % j->blocks * COLUMNS;
        size_t width = j->inner - first < COLUMNS ? j->inner - first : COLUMNS;
        size_t at = outer * j->n * j->inner + first;
        int64_t *y = j->y + outer * j->inner + first;
        switch (row_type_of(j->type)) {
        case ROW_F32:
            search_columns(j, (const float *)j->x + at, y, width);
            break;
        case ROW_I8:
            search_int8_t(j, (const int8_t *)j->x + at, y, width);
            break;
        case ROW_U8:
            search_uint8_t(j, (const uint8_t *)j->x + at, y, width);
            break;
        case ROW_I16:
            search_int16_t(j, (const int16_t *)j->x + at, y, width);
            break;
        case ROW_U16:
            search_uint16_t(j, (const uint16_t *)j->x + at, y, width);
            break;
        case ROW_I32:
            search_int32_t(j, (const int32_t *)j->x + at, y, width);
            break;
        default:
            search_int64_t(j, (const int64_t *)j->x + at, y, width);
            break;
        }
    }
}

static void run_arg(const struct op_args *args, const struct op_env *env)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t axis = (uint32_t)args->attr[ATTR_ARG_AXIS];
    struct arg_job job = {
        .is_min = args->attr[ATTR_KIND] == ARG_MIN,
        .last = args->attr[ATTR_ARG_LAST],
        .type = args->in[0]->type,
        .x = args->in[0]->data,
        .y = args->out[0]->data,
        .n = s->dim[axis],
        .inner = shape_product(s, axis + 1, s->rank),
    };
    job.blocks = (job.inner + COLUMNS - 1) / COLUMNS;
    pith_op_range(env, shape_product(s, 0, axis) * job.blocks,
                  job.n * (job.inner < COLUMNS ? job.inner : COLUMNS), arg_range, &job);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_KIND, -1, 0, ARG_END - 1},
    {ATTR_INT, ATTR_ARG_AXIS, 0, 0, 7},
    {ATTR_INT, ATTR_ARG_KEEP, 1, 0, 1},
    {ATTR_INT, ATTR_ARG_LAST, 0, 0, 1},
};

const struct op_info pith_op_arg = {
    .op = PITH_OP_ARG,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = 4,
    .fields = fields,
    .shape = shape_arg,
    .run = run_arg,
};
