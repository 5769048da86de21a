/* SPDX-License-Identifier: MIT */
/* broadcast_rows.c - strides of operands along the axes of an output. */
#include "broadcast_rows.h"

#include <string.h>

/* Axis that lies at place i of memory, outermost first. */
static uint32_t axis_at(const struct shape *s, enum tape_layout layout, uint32_t i)
{
    if (layout == TAPE_ROW_MAJOR || s->rank < 3 || i == 0)
        return i;
    return i + 1 == s->rank ? 1 : i + 1;
}

/* Elements between neighbours along each axis. */
static void steps_of(const struct tape_tensor *t, size_t *step)
{
    size_t next = 1;
    for (uint32_t i = t->shape.rank; i > 0; i--) {
        uint32_t axis = axis_at(&t->shape, t->layout, i - 1);
        step[axis] = t->shape.dim[axis] == 1 ? 0 : next;
        next *= t->shape.dim[axis];
    }
}

static bool continues(const struct broadcast_walk *w, const size_t step[][PITH_MAX_RANK],
                      uint32_t axis, size_t dim)
{
    for (uint32_t k = 0; k < w->n_operands; k++)
        if (w->step[k][w->rank - 1] != step[k][axis] * dim)
            return false;
    return true;
}

void pith_broadcast_walk(struct broadcast_walk *w, const struct tape_tensor *out,
                         const struct tape_tensor *const *operand, uint32_t n_operands)
{
    size_t step[WALK_OPERANDS][PITH_MAX_RANK] = {{0}};
    uint32_t rank = out->shape.rank;
    memset(w, 0, sizeof *w);
    w->n_operands = n_operands;
    for (uint32_t k = 0; k < n_operands; k++)
        steps_of(operand[k], step[k] + (rank - operand[k]->shape.rank));
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = axis_at(&out->shape, out->layout, i);
        size_t dim = out->shape.dim[axis];
        if (dim == 1)
            continue;
        if (w->rank && continues(w, (const size_t(*)[PITH_MAX_RANK])step, axis, dim)) {
            w->dim[w->rank - 1] *= dim;
        } else {
            w->dim[w->rank++] = dim;
        }
        for (uint32_t k = 0; k < n_operands; k++)
            w->step[k][w->rank - 1] = step[k][axis];
    }
    if (w->rank == 0)
        w->dim[w->rank++] = 1;
}

void pith_broadcast_rows(const struct broadcast_walk *w, pith_walk_row *row, void *arg)
{
    size_t at[WALK_OPERANDS] = {0}, step[WALK_OPERANDS] = {0}, index[PITH_MAX_RANK] = {0};
    uint32_t last = w->rank - 1;
    for (uint32_t k = 0; k < w->n_operands; k++)
        step[k] = w->step[k][last];
    for (size_t out = 0;; out += w->dim[last]) {
        row(arg, out, at, step, w->dim[last]);
        uint32_t axis = last;
        for (; axis > 0; axis--) {
            bool turns = ++index[axis - 1] == w->dim[axis - 1];
            for (uint32_t k = 0; k < w->n_operands; k++)
                at[k] +=
                    w->step[k][axis - 1] - (turns ? w->step[k][axis - 1] * w->dim[axis - 1] : 0);
            if (!turns)
                break;
            index[axis - 1] = 0;
        }
        if (axis == 0)
            return;
    }
}
