/* SPDX-License-Identifier: MIT */
/* integer_row.c - one factor times a row, for products of integers that no kernel runs. What those
 * of 16 bits spend their time in are rows without gaps around 0, which the compiler makes vectors
 * of. */
#include "kernels/integer_row.h"

#include "kernels/ref/integer_element.h"

/* |scale| <= 2^15, so a product is less than 2^31 in size. */
#define WIDE_ROW(T)                                                                                \
    static void wide_row_##T(const T *restrict x, int32_t scale, uint64_t *restrict y, size_t n)   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] += (uint64_t)(int64_t)(scale * x[i]);                                             \
    }

WIDE_ROW(int16_t)
WIDE_ROW(uint16_t)

#define NARROW_ROW(T)                                                                              \
    static void narrow_row_##T(const struct integer_row *r, const T *restrict x, uint32_t scale,   \
                               uint32_t *restrict y, size_t n)                                     \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] += scale * (uint32_t)(x[i * r->stride] - r->zero);                                \
    }

NARROW_ROW(int8_t)
NARROW_ROW(uint8_t)

static void any_row(const struct integer_row *r, const void *x, int32_t scale, void *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t v = (int64_t)integer_at(r->type, x, i * r->stride) - r->zero;
        if (r->wide)
            ((uint64_t *)y)[i] += (uint64_t)(scale * v);
        else
            ((uint32_t *)y)[i] += (uint32_t)(scale * v);
    }
}

void pith_integer_row_add(const struct integer_row *r, const void *x, int32_t scale, void *y,
                          size_t n)
{
    bool plain = r->wide && r->zero == 0 && r->stride == 1 && scale >= -32768 && scale <= 32767;
    if (plain && r->type == PITH_I16)
        wide_row_int16_t(x, scale, y, n);
    else if (plain && r->type == PITH_U16)
        wide_row_uint16_t(x, scale, y, n);
    else if (!r->wide && r->type == PITH_I8)
        narrow_row_int8_t(r, x, (uint32_t)scale, y, n);
    else if (!r->wide && r->type == PITH_U8)
        narrow_row_uint8_t(r, x, (uint32_t)scale, y, n);
    else
        any_row(r, x, scale, y, n);
}
