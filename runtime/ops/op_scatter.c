/* SPDX-License-Identifier: MIT */
/* op_scatter.c - ScatterElements and ScatterND: a copy of x in which elements or slices named by
 * indices (index_read.h) are replaced by, or combined with, updates.
 *
 *     elements   y[.., index[.., i, ..], ..] = updates[.., i, ..]
 *     nd         y[index[i, 0], index[i, 1], .., :] = updates[i, :]
 *
 * One index may be named more than once, so updates are applied one after another in the order
 * of the indices: a replaced element has the last of its updates, and sums are the same each
 * run.
 *
 * ONNX ScatterElements-18 and ScatterND-18. One thread, because order is part of the result;
 * scatters of networks (masks, key-value caches) are short beside what surrounds them. */
#include "op_interface/index_read.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Numbers of the format. */
enum { SCATTER_ELEMENTS = 0, SCATTER_ND = 1 };
enum { REPLACE = 0, ADD = 1, MUL = 2, MIN = 3, MAX = 4 };

/* As GatherElements: axes beside the indexed one may be shorter than x's. */
static bool elements_fit(const struct shape *x, const struct shape *index, const struct shape *u,
                         uint32_t axis)
{
    if (index->rank != x->rank || axis >= x->rank || !pith_shape_equal(index, u))
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis && index->dim[i] > x->dim[i])
            return false;
    return true;
}

/* updates: the indices' shape without its last axis, then what of x an index leaves open */
static bool nd_fits(const struct shape *x, const struct shape *index, const struct shape *u)
{
    if (index->rank == 0)
        return false;
    uint32_t n = index->dim[index->rank - 1], lead = index->rank - 1;
    if (n == 0 || n > x->rank || u->rank != lead + x->rank - n)
        return false;
    for (uint32_t i = 0; i < u->rank; i++)
        if (u->dim[i] != (i < lead ? index->dim[i] : x->dim[i - lead + n]))
            return false;
    return true;
}

static enum pith_status shape_scatter(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 3);
    if (st)
        return st;
    const struct tview *x = args->in[0], *index = args->in[1], *u = args->in[2];
    bool elements = args->attr[ATTR_SCATTER_KIND] == SCATTER_ELEMENTS;
    if (x->type != u->type)
        return PITH_ERR_CORRUPT;
    /* A bool or a byte can be moved, but has no sum. */
    bool numbers = x->type == PITH_F32 || x->type == PITH_I32 || x->type == PITH_I64;
    if (!index_type(index) || (args->attr[ATTR_SCATTER_REDUCE] != REPLACE && !numbers))
        return PITH_ERR_UNSUPPORTED;
    bool fits = elements ? elements_fit(&x->shape, &index->shape, &u->shape,
                                        (uint32_t)args->attr[ATTR_SCATTER_AXIS])
                         : nd_fits(&x->shape, &index->shape, &u->shape);
    return fits ? pith_out_set(args->out[0], x->type, &x->shape) : PITH_ERR_CORRUPT;
}

/* Sums and products of integers wrap, hence the unsigned type U. Min and Max keep the element on
 * equal, and a NaN in y: comparisons with it fail. */
#define COMBINE(name, T, U)                                                                        \
    static void combine_##name(int32_t reduce, T *y, const T *u, size_t n)                         \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            if (reduce == ADD)                                                                     \
                y[i] = (T)((U)y[i] + (U)u[i]);                                                     \
            else if (reduce == MUL)                                                                \
                y[i] = (T)((U)y[i] * (U)u[i]);                                                     \
            else if (reduce == MIN)                                                                \
                y[i] = u[i] < y[i] ? u[i] : y[i];                                                  \
            else                                                                                   \
                y[i] = u[i] > y[i] ? u[i] : y[i];                                                  \
        }                                                                                          \
    }

COMBINE(f32, float, float)
COMBINE(i32, int32_t, uint32_t)
COMBINE(i64, int64_t, uint64_t)

static void combine(enum pith_type type, int32_t reduce, void *y, const void *u, size_t n)
{
    if (reduce == REPLACE)
        memcpy(y, u, n * pith_type_bytes(type));
    else if (type == PITH_F32)
        combine_f32(reduce, y, u, n);
    else if (type == PITH_I32)
        combine_i32(reduce, y, u, n);
    else
        combine_i64(reduce, y, u, n);
}

/* Element of y that element i of the updates goes to. The digits of i in the shape of the
 * updates, with the indexed axis' digit from the indices. */
static size_t target(const struct shape *x, const struct tview *index, uint32_t axis, size_t i)
{
    size_t at = 0, step = 1, rest = i;
    for (uint32_t k = x->rank; k-- > 0;) {
        size_t own = rest % index->shape.dim[k];
        rest /= index->shape.dim[k];
        at += (k == axis ? index_at(index, i, x->dim[k]) : own) * step;
        step *= x->dim[k];
    }
    return at;
}

static void scatter_elements(const struct op_args *args)
{
    const struct tview *x = args->in[0], *index = args->in[1];
    const uint8_t *u = args->in[2]->data;
    uint8_t *y = args->out[0]->data;
    size_t n = shape_elems(&index->shape), bytes = pith_type_bytes(x->type);
    uint32_t axis = (uint32_t)args->attr[ATTR_SCATTER_AXIS];
    for (size_t i = 0; i < n; i++)
        combine(x->type, args->attr[ATTR_SCATTER_REDUCE],
                y + target(&x->shape, index, axis, i) * bytes, u + i * bytes, 1);
}

/* The slice of each index is one run of memory, so it is combined as a row. */
static void scatter_nd(const struct op_args *args)
{
    const struct tview *x = args->in[0], *index = args->in[1];
    const uint8_t *u = args->in[2]->data;
    uint8_t *y = args->out[0]->data;
    uint32_t last = index->shape.rank - 1, n = index->shape.dim[last];
    size_t inner = shape_product(&x->shape, n, x->shape.rank);
    size_t items = shape_product(&index->shape, 0, last), bytes = inner * pith_type_bytes(x->type);
    for (size_t i = 0; i < items; i++) {
        size_t to = 0;
        for (uint32_t k = 0; k < n; k++)
            to = to * x->shape.dim[k] + index_at(index, i * n + k, x->shape.dim[k]);
        combine(x->type, args->attr[ATTR_SCATTER_REDUCE], y + to * bytes, u + i * bytes, inner);
    }
}

/* x is copied first, whatever part of it is replaced: indices are not known before. */
static void run_scatter(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    const struct tview *x = args->in[0];
    memcpy(args->out[0]->data, x->data, shape_elems(&x->shape) * pith_type_bytes(x->type));
    if (args->attr[ATTR_SCATTER_KIND] == SCATTER_ELEMENTS)
        scatter_elements(args);
    else
        scatter_nd(args);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_SCATTER_KIND, 0, SCATTER_ELEMENTS, SCATTER_ND},
    {ATTR_INT, ATTR_SCATTER_AXIS, 0, 0, 7},
    {ATTR_INT, ATTR_SCATTER_REDUCE, 0, REPLACE, MAX},
};

const struct op_info pith_op_scatter = {
    .op = PITH_OP_SCATTER,
    .n_in_min = 3,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 3,
    .n_slots = 3,
    .fields = fields,
    .shape = shape_scatter,
    .run = run_scatter,
};
