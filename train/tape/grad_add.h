/* SPDX-License-Identifier: MIT */
/* grad_add.h - writing or adding a part of a gradient. */
#ifndef GRAD_ADD_H
#define GRAD_ADD_H

#include "grad_op.h"

static inline size_t grad_count(const struct tape_tensor *t)
{
    return shape_elems(&t->shape);
}

/* The data of an optional input; NULL: left out. */
static inline const float *grad_data(const struct grad_node *n, uint32_t i)
{
    return i < n->n_in && n->in[i] ? n->in[i]->data : NULL;
}

/* The gradient of an input; NULL: not wanted, or left out. */
static inline float *grad_of(const struct grad_node *n, uint32_t i)
{
    return i < n->n_in && n->in[i] ? n->in[i]->grad : NULL;
}

/* to (+)= part */
static inline void grad_put(float *to, const float *part, size_t count, bool set)
{
    if (set)
        memcpy(to, part, count * sizeof *to);
    else
        for (size_t i = 0; i < count; i++)
            to[i] += part[i];
}

#endif
