/* SPDX-License-Identifier: MIT */
/* Where elements and bytes are counted; nothing else multiplies dims of unknown origin. */
#include "core/tensor.h"
#include "core/bytes.h"

/* Dims fit int32_t, which attributes hold; a tensor's elements times eight bytes fit 2^43. */
#define MAX_DIM 0x7fffffffu
#define MAX_COUNT (UINT64_C(1) << 40)

uint32_t pith_type_bytes(enum pith_type type)
{
    switch (type) {
    case PITH_I8:
    case PITH_U8:
    case PITH_BOOL:
        return 1;
    case PITH_F16:
    case PITH_BF16:
    case PITH_I16:
    case PITH_U16:
        return 2;
    case PITH_F32:
    case PITH_I32:
        return 4;
    case PITH_F64:
    case PITH_I64:
        return 8;
    }
    return 0;
}

enum pith_status pith_shape_count(const struct shape *s, uint64_t *count)
{
    uint64_t n = 1;
    if (s->rank > PITH_MAX_RANK)
        return PITH_ERR_CORRUPT;
    /* SIZE_MAX / 16 bounds what a 32-bit machine can address, sixteen bytes an element. */
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->dim[i] == 0 || s->dim[i] > MAX_DIM || !mul_ok(n, s->dim[i], &n) || n > MAX_COUNT ||
            n > SIZE_MAX / 16)
            return PITH_ERR_CORRUPT;
    }
    *count = n;
    return PITH_OK;
}

enum pith_status pith_shape_bytes(const struct shape *s, enum pith_type type, uint64_t *bytes)
{
    uint64_t n;
    uint32_t each = pith_type_bytes(type);
    enum pith_status st = pith_shape_count(s, &n);
    if (st)
        return st;
    if (each == 0)
        return PITH_ERR_CORRUPT;
    *bytes = n * each; /* <= 2^43: pith_shape_count bounds n by 2^40 */
    return PITH_OK;
}

bool pith_shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}
