/* SPDX-License-Identifier: MIT */
/* reduced_axes.h - a tensor's axes divided into kept and reduced ones, and walks over either.
 * Neighbouring axes of one sort are merged, so that few steps are left. */
#ifndef PITH_REDUCED_AXES_H
#define PITH_REDUCED_AXES_H

#include "op_interface/op_exec.h"

/* A walk over some axes of the input, in row-major order. */
struct axis_walk {
    uint32_t rank;
    size_t count;
    size_t dim[PITH_MAX_RANK], step[PITH_MAX_RANK];
};

/* Sets out[0] to the shape of in[0] reduced over the axes in the list of slot `axes` (none: all),
 * which are 1 or, when slot `keep` is 0, gone. in[0] is present. */
enum pith_status pith_reduced_shape(const struct op_args *args, uint32_t axes, uint32_t keep,
                                    enum pith_type type);

/* The walks over the kept and over the reduced axes of in[0]; the shape rule has passed. */
void pith_reduced_walks(const struct op_args *args, uint32_t axes, struct axis_walk *kept,
                        struct axis_walk *reduced);

/* Elements before place `index` of the walk. */
size_t pith_axes_offset(const struct axis_walk *w, size_t index);

/* The same; of one axis, as most walks are, without a division. */
static inline size_t axis_offset(const struct axis_walk *w, size_t index)
{
    return w->rank == 1 ? index * w->step[0] : pith_axes_offset(w, index);
}

/* Whether the reduced elements are rows of `row` that lie behind one another; the contiguous axes
 * have been taken off. */
bool pith_rows_follow(const struct axis_walk *kept, const struct axis_walk *reduced, size_t row);

/* Takes the contiguous axis off a walk and returns its length; 1 when it has none. */
size_t pith_walk_pop_row(struct axis_walk *w);

/* Takes the innermost axis off a walk: its length, 1 when there is none, and its step. */
size_t pith_walk_pop_axis(struct axis_walk *w, size_t *step);

#endif
