/* SPDX-License-Identifier: MIT */
/* loop_double.h - loops and branches in graphs made by hand (graph_double.h).
 *
 *     struct gd_loop l = {.trips = 3, .n_states = 1};
 *     uint32_t state = gd_loop_begin(&l, 1, x) + 1;      // Loop's outputs: iteration, states
 *     uint32_t sum = add(state, y);
 *     gd_output(gd_loop_end(&l, 2, sum, collected));     // next states, then what is collected */
#ifndef LOOP_DOUBLE_H
#define LOOP_DOUBLE_H

#include "graph_double.h"
#include "op_interface/op_attr.h"

struct gd_loop {
    int32_t trips, has_cond, has_count;
    uint32_t n_states, first; /* first: the iteration number; the states follow */
};

static inline void gd_set_loop(int32_t *attr, void *arg)
{
    const struct gd_loop *l = arg;
    attr[ATTR_LOOP_TRIPS] = l->trips;
    attr[ATTR_LOOP_HAS_COND] = l->has_cond;
    attr[ATTR_LOOP_HAS_COUNT] = l->has_count;
}

static inline void gd_set_loop_end(int32_t *attr, void *arg)
{
    gd_set_loop(attr, arg);
    attr[ATTR_LOOP_STATES] = (int32_t)((const struct gd_loop *)arg)->n_states;
}

/* in: count, go on, states, as given. Returns the iteration number; states follow it. */
static inline uint32_t gd_loop_begin_of(struct gd_loop *l, uint32_t n_in, const uint32_t *in)
{
    l->first = gd_node_of(PITH_OP_LOOP, gd_set_loop, l, 1 + l->n_states, n_in, in);
    return l->first;
}

static inline uint32_t gd_loop_begin(struct gd_loop *l, uint32_t n_in, ...)
{
    uint32_t in[GD_MAX_IN];
    va_list values;
    va_start(values, n_in);
    for (uint32_t i = 0; i < n_in; i++)
        in[i] = va_arg(values, uint32_t);
    va_end(values);
    return gd_loop_begin_of(l, n_in, in);
}

/* in: go on, next states, collected. Returns the first final state; what was collected follows. */
static inline uint32_t gd_loop_end_of(const struct gd_loop *l, uint32_t n_in, const uint32_t *in)
{
    struct gd_loop copy = *l;
    uint32_t all[GD_MAX_IN], n = 0, cond = (uint32_t)l->has_cond;
    for (uint32_t i = 0; i < cond; i++)
        all[n++] = in[i];
    for (uint32_t i = 0; i < l->n_states; i++)
        all[n++] = l->first + 1 + i;
    for (uint32_t i = cond; i < n_in; i++)
        all[n++] = in[i];
    return gd_node_of(PITH_OP_LOOP_END, gd_set_loop_end, &copy, n_in - cond, n, all);
}

static inline uint32_t gd_loop_end(const struct gd_loop *l, uint32_t n_in, ...)
{
    uint32_t in[GD_MAX_IN];
    va_list values;
    va_start(values, n_in);
    for (uint32_t i = 0; i < n_in; i++)
        in[i] = va_arg(values, uint32_t);
    va_end(values);
    return gd_loop_end_of(l, n_in, in);
}

static inline uint32_t gd_branch(uint32_t condition)
{
    return gd_node(PITH_OP_BRANCH, NULL, NULL, 1, 1, condition);
}

static inline void gd_else(uint32_t branch)
{
    gd_node(PITH_OP_BRANCH_ELSE, NULL, NULL, 1, 1, branch);
}

static inline uint32_t gd_branch_end(uint32_t branch, uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_BRANCH_END, NULL, NULL, 1, 3, branch, a, b);
}

#endif
