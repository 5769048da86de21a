/* SPDX-License-Identifier: MIT */
/* tensor.h - shapes and typed views, the vocabulary of operators and kernels. */
#ifndef PITH_TENSOR_H
#define PITH_TENSOR_H

#include <stdbool.h>
#include "pith_types.h"

struct shape {
    uint32_t rank;               /* 0..PITH_MAX_RANK */
    uint32_t dim[PITH_MAX_RANK]; /* each 1..2^31-1; entries from rank on are 0 */
};

/* A dense row-major tensor. data is NULL while only the shape is known (shape inference). */
struct tview {
    enum pith_type type;
    struct shape shape;
    void *data;
};

/* Bytes of one element: 1, 2, 4 or 8; 0 for an unknown type. */
uint32_t pith_type_bytes(enum pith_type type);

/* THE place where elements are counted: product of all dims, every dim in 1..2^31-1, product
 * <= 2^40 (and <= SIZE_MAX/16). PITH_ERR_CORRUPT otherwise; *count is then untouched. */
enum pith_status pith_shape_count(const struct shape *s, uint64_t *count);

/* Bytes of a dense tensor; PITH_ERR_CORRUPT as above. */
enum pith_status pith_shape_bytes(const struct shape *s, enum pith_type type, uint64_t *bytes);

bool pith_shape_equal(const struct shape *a, const struct shape *b);

/* For shapes already validated (every tview a kernel sees): the plain product of dims
 * [from, to). */
static inline size_t shape_product(const struct shape *s, uint32_t from, uint32_t to)
{
    size_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= s->dim[i];
    return n;
}

static inline size_t shape_elems(const struct shape *s)
{
    return shape_product(s, 0, s->rank);
}

#endif
