/* SPDX-License-Identifier: MIT */
#include "op_interface/reduced_axes.h"
#include "op_interface/shape_rule.h"

/* A set is one bit an axis; rank is at most PITH_MAX_RANK (8). No axes at all mean all of them. */
static enum pith_status reduced_set(const struct op_args *args, uint32_t axes, uint32_t *set)
{
    uint32_t rank = args->in[0]->shape.rank;
    enum pith_status st = pith_axes_set(args->attr, axes, rank, set);
    if (st == PITH_OK && attr_count(args->attr, axes) == 0)
        *set = (1u << rank) - 1u;
    return st;
}

enum pith_status pith_reduced_shape(const struct op_args *args, uint32_t axes, uint32_t keep,
                                    enum pith_type type)
{
    uint32_t set;
    enum pith_status st = reduced_set(args, axes, &set);
    if (st)
        return st;
    const struct shape *x = &args->in[0]->shape;
    struct shape s = {.rank = 0};
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = set >> i & 1u;
        if (!reduced || args->attr[keep])
            s.dim[s.rank++] = reduced ? 1 : x->dim[i];
    }
    return pith_out_set(args->out[0], type, &s);
}

/* Axes come from the outermost to the innermost. Two of one walk are merged where the outer step is
 * the whole inner axis, which is so when no axis of the other walk lies between. */
static void walk_push(struct axis_walk *w, size_t dim, size_t step)
{
    w->count *= dim;
    if (w->rank > 0 && w->step[w->rank - 1] == dim * step) {
        w->dim[w->rank - 1] *= dim;
        w->step[w->rank - 1] = step;
        return;
    }
    w->dim[w->rank] = dim;
    w->step[w->rank++] = step;
}

/* Axes of 1 are in neither walk, as they move nothing. */
void pith_reduced_walks(const struct op_args *args, uint32_t axes, struct axis_walk *kept,
                        struct axis_walk *reduced)
{
    const struct shape *s = &args->in[0]->shape;
    uint32_t set = 0;
    reduced_set(args, axes, &set); /* cannot fail: the shape rule passed */
    *kept = *reduced = (struct axis_walk){.count = 1};
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] > 1)
            walk_push(set >> i & 1u ? reduced : kept, s->dim[i], shape_product(s, i + 1, s->rank));
}

size_t pith_axes_offset(const struct axis_walk *w, size_t index)
{
    size_t offset = 0;
    for (uint32_t i = w->rank; i-- > 0;) {
        offset += index % w->dim[i] * w->step[i];
        index /= w->dim[i];
    }
    return offset;
}

size_t pith_walk_pop_axis(struct axis_walk *w, size_t *step)
{
    if (w->rank == 0) {
        *step = 0;
        return 1;
    }
    size_t n = w->dim[--w->rank];
    *step = w->step[w->rank];
    w->count /= n;
    return n;
}

/* A step of 1 is the innermost axis of the tensor, which only one of the two walks has. */
size_t pith_walk_pop_row(struct axis_walk *w)
{
    size_t step;
    return w->rank > 0 && w->step[w->rank - 1] == 1 ? pith_walk_pop_axis(w, &step) : 1;
}

bool pith_rows_follow(const struct axis_walk *kept, const struct axis_walk *reduced, size_t row)
{
    return row > 1 && reduced->count == 1 &&
           (kept->rank == 0 || (kept->rank == 1 && kept->step[0] == row));
}
