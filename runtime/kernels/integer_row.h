/* SPDX-License-Identifier: MIT */
/* integer_row.h - rows of small integers, multiplied and added to rows of sums. */
#ifndef INTEGER_ROW_H
#define INTEGER_ROW_H

#include "core/tensor.h"

/* Sums of products with weights of 16 bits have 64 bits, others 32. */
static inline enum pith_type sums_of(enum pith_type weight)
{
    return weight == PITH_I16 || weight == PITH_U16 ? PITH_I64 : PITH_I32;
}

/* y[i] += scale * (x[i * stride] - zero), i < n; |scale| < 2^17. y: [n] u64, modulo 2^64, where
 * `wide`, else u32, modulo 2^32. type of x: i8, u8, i16, u16. */
struct integer_row {
    enum pith_type type;
    bool wide;
    int32_t zero;
    size_t stride;
};
void pith_integer_row_add(const struct integer_row *r, const void *x, int32_t scale, void *y,
                          size_t n);

#endif
