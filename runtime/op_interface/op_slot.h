/* SPDX-License-Identifier: MIT */
/* op_slot.h - how attributes of a node are stored; op_attr.h says what each slot holds. */
#ifndef PITH_OP_SLOT_H
#define PITH_OP_SLOT_H

#include "core/bytes.h"
#include "core/tensor.h"

/* Attributes of a node: int32 slots, laid out by the schema. A float is stored by its bits. A list
 * takes PITH_LIST_SLOTS slots: its count (0..8), then its entries; an empty list stands for the
 * default given beside it. */
#define PITH_LIST_SLOTS (1u + PITH_MAX_RANK)
#define PITH_OP_MAX_SLOTS 40u

static inline float attr_f32(const int32_t *attr, uint32_t slot)
{
    return f32_from_bits((uint32_t)attr[slot]);
}

static inline uint32_t attr_count(const int32_t *attr, uint32_t slot)
{
    return (uint32_t)attr[slot];
}

/* Entry i of a list, or `def` when the list is empty. */
static inline int32_t attr_item(const int32_t *attr, uint32_t slot, uint32_t i, int32_t def)
{
    return attr[slot] == 0 ? def : attr[slot + 1 + i];
}

#endif
