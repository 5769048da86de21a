/* SPDX-License-Identifier: MIT */
/* onnx_scatter_slice.c - x[..., a:b:c] = u. Exporters write it as a ScatterND that lists the place
 * of each element, rank numbers for each: twice the bytes of x and more, which the file would hold
 * and the network read at each run. Where the list is a slice of one axis and all of the others, it
 * is instead put together from slices of x and of u. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

enum {
    MOST_PIECES = 9,   /* of a Concat: with more of them a copy and a list are no slower */
    FEWEST_PLACES = 64 /* likewise with fewer of these */
};

/* Every element of x, or along one axis count of them from start on, step apart. */
struct region {
    bool whole;
    uint32_t axis;
    int64_t start, step, count;
};

/* A list of places: items of `last` numbers each. */
struct places {
    enum pith_type type;
    const void *data;
    const struct shape *shape;
    uint32_t last; /* axes that a place names */
};

static int64_t place(const struct places *p, size_t item, uint32_t axis, const struct shape *x)
{
    size_t i = item * p->last + axis;
    int64_t at =
        p->type == PITH_I64 ? ((const int64_t *)p->data)[i] : ((const int32_t *)p->data)[i];
    return at < 0 ? at + x->dim[axis] : at;
}

/* Items are numbered row by row, so their digits are counted up. */
static void count_up(uint32_t *digit, const struct shape *s, uint32_t n)
{
    for (uint32_t a = n; a-- > 0 && ++digit[a] == s->dim[a];)
        digit[a] = 0;
}

/* Is place `i` of each axis start + step * digit, the digit being the item's along that axis? */
static bool is_grid(const struct places *p, const struct shape *x, int64_t *start, int64_t *step)
{
    uint32_t digit[PITH_MAX_RANK] = {0};
    size_t items = shape_product(p->shape, 0, p->last);
    for (uint32_t a = 0; a < p->last; a++) {
        size_t next = shape_product(p->shape, a + 1, p->last);
        start[a] = place(p, 0, a, x);
        step[a] = p->shape->dim[a] > 1 ? place(p, next, a, x) - start[a] : 1;
    }
    for (size_t i = 0; i < items; i++) {
        for (uint32_t a = 0; a < p->last; a++)
            if (place(p, i, a, x) != start[a] + step[a] * digit[a])
                return false;
        count_up(digit, p->shape, p->last);
    }
    return true;
}

static bool find_region(const struct places *p, const struct shape *x, struct region *r)
{
    int64_t start[PITH_MAX_RANK], step[PITH_MAX_RANK];
    *r = (struct region){.whole = true};
    if (p->shape->rank != p->last + 1 || p->last > x->rank || !is_grid(p, x, start, step))
        return false;
    for (uint32_t a = 0; a < p->last; a++) {
        int64_t count = p->shape->dim[a], end = start[a] + step[a] * (count - 1);
        if (start[a] == 0 && step[a] == 1 && count == x->dim[a])
            continue;
        if (!r->whole || start[a] < 0 || step[a] < 1 || end >= x->dim[a])
            return false;
        *r = (struct region){false, a, start[a], step[a], count};
    }
    return true;
}

static bool same_region(const struct region *a, const struct region *b)
{
    return a->whole == b->whole && a->axis == b->axis && a->start == b->start &&
           a->step == b->step && a->count == b->count;
}

/* The shape of u must be what the list says, or ScatterND itself refuses it. */
static bool updates_fit(const struct shape *u, const struct places *p, const struct shape *x)
{
    struct shape want = *x;
    for (uint32_t a = 0; a < p->last && a < x->rank; a++)
        want.dim[a] = p->shape->dim[a];
    return pith_shape_equal(u, &want);
}

/* Under either batch the same slice, so that the network may stay open to others. */
static bool region_of(struct onnx_lower *l, struct region *r)
{
    const struct onnx_value *v = &l->im->values[l->in[1]], *x = &l->im->values[l->in[0]],
                            *u = &l->im->values[l->in[2]];
    struct places p = {v->type, v->data, &v->shape, v->shape.dim[v->shape.rank - 1]};
    struct region other;
    if (!find_region(&p, &x->shape, r) || !updates_fit(&u->shape, &p, &x->shape))
        return false;
    if (!l->im->batch_open || (!v->varies && !x->varies && !u->varies))
        return true;
    if (v->varies) {
        p.data = v->other_data;
        p.shape = &v->other;
    }
    const struct shape *other_x = pith_onnx_other_shape(x);
    return p.data && find_region(&p, other_x, &other) && same_region(r, &other) &&
           updates_fit(pith_onnx_other_shape(u), &p, other_x);
}

static bool is_list_of_places(struct onnx_lower *l)
{
    const struct onnx_value *v = &l->im->values[l->in[1]];
    return v->known && v->constant && !v->empty && (v->type == PITH_I64 || v->type == PITH_I32) &&
           v->shape.rank > 0 && shape_product(&v->shape, 0, v->shape.rank - 1) >= FEWEST_PLACES &&
           !l->im->values[l->in[0]].empty && !l->im->values[l->in[2]].empty;
}

static uint32_t part(struct onnx_steps *s, uint32_t from, uint32_t axis, int64_t begin, int64_t end)
{
    return pith_step_slice(s, from, (int32_t)axis, (int32_t)begin, (int32_t)end, 1);
}

/* What stands between two slices of u, and these. */
static uint32_t cut(struct onnx_steps *s, const struct region *r, int64_t dim, uint32_t *piece)
{
    uint32_t x = s->l->in[0], u = s->l->in[2], n = 0;
    int64_t each = r->step == 1 ? r->count : 1, at = 0;
    for (int64_t i = 0; i < r->count; i += each) {
        int64_t to = r->start + i * r->step;
        if (to > at)
            piece[n++] = part(s, x, r->axis, at, to);
        piece[n++] = each == r->count ? u : part(s, u, r->axis, i, i + 1);
        at = to + each;
    }
    if (at < dim)
        piece[n++] = part(s, x, r->axis, at, dim);
    return n;
}

enum pith_status pith_onnx_scatter_slice(struct onnx_lower *l, bool *done)
{
    struct onnx_steps s = {l, PITH_OK};
    struct region r;
    uint32_t piece[MOST_PIECES];
    *done = false;
    if (!is_list_of_places(l))
        return PITH_OK;
    enum pith_status status = pith_onnx_load(l->im, l->in[1]);
    if (status || !region_of(l, &r) || (r.step > 1 && 2 * r.count + 1 > MOST_PIECES))
        return status;
    *done = true;
    if (r.whole)
        return pith_step_result(&s, 0, l->in[2]);
    const int64_t dim = pith_onnx_in_shape(l, 0)->dim[r.axis];
    const struct step_attr axis = {ATTR_AXIS, (int32_t)r.axis};
    uint32_t n = cut(&s, &r, dim, piece);
    return n == 1 ? pith_step_result(&s, 0, piece[0])
                  : pith_step_last(&s, PITH_OP_CONCAT, n, piece, 1, &axis);
}
