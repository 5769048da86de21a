/* SPDX-License-Identifier: MIT */
/* index_read.h - indices that come as a tensor. They are data of the run and may be anything:
 * what an index names is always inside its axis, whatever it says. */
#ifndef PITH_INDEX_READ_H
#define PITH_INDEX_READ_H

#include "core/tensor.h"

static inline bool index_type(const struct tview *t)
{
    return t->type == PITH_I64 || t->type == PITH_I32;
}

/* Entry i of t on an axis of `dim`: negative ones count from the end; what lies outside the axis is
 * clamped to its first or last element. */
static inline size_t index_at(const struct tview *t, size_t i, uint32_t dim)
{
    int64_t v = t->type == PITH_I64 ? ((const int64_t *)t->data)[i] : ((const int32_t *)t->data)[i];
    v += v < 0 ? (int64_t)dim : 0;
    return v < 0 ? 0 : v >= (int64_t)dim ? dim - 1u : (size_t)v;
}

#endif
