/* SPDX-License-Identifier: MIT */
/* weight_borrow.c - weights used where they lie: what lets a microcontroller multiply with weights
 * that stay in flash, and a server with weights that stay in the page cache. */
#include "core/bytes.h"
#include "decode/weight.h"

/* An address that is not aligned for its type cannot be read as floats; full files align plain
 * elements (FULL_ALIGN), compact ones do not. */
const void *pith_weight_borrow(const struct weight *w)
{
    size_t each = pith_type_bytes(w->type);
    bool converted = w->type == PITH_F16 || w->type == PITH_BF16 || w->type == PITH_F64;
    bool in_order = each == 1 || LITTLE_ENDIAN_HERE;
    bool plain = w->support == SUPPORT_DENSE && w->grid == GRID_PLAIN && w->code == CODE_PLAIN;
    if (!plain || converted || !in_order || (uintptr_t)w->index_stream.bytes % each != 0)
        return NULL;
    return w->index_stream.bytes;
}
