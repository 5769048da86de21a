/* SPDX-License-Identifier: MIT */
/* op_empty.h - values without elements: a cache before its first step, where an open size is 0. No
 * kernel reads or writes one. What moves or maps such a value is left out of the network, and a
 * Concat goes on with its other inputs. */
#ifndef OP_EMPTY_H
#define OP_EMPTY_H

#include "op_interface/op_exec.h"

static inline bool tensor_is_empty(const struct tview *t)
{
    for (uint32_t i = 0; i < t->shape.rank; i++)
        if (t->shape.dim[i] == 0)
            return true;
    return false;
}

enum op_empty {
    OP_HAS_ELEMENTS,  /* no input is empty: its shape rule holds */
    OP_GIVES_EMPTY,   /* so are its outputs */
    OP_JOINS_OTHERS,  /* a Concat, of which some inputs are empty */
    OP_NEEDS_ELEMENTS /* it does not take an empty input */
};

/* args: attributes as the sizes make them, types and shapes of in[]. */
enum op_empty pith_op_empty(const struct op_args *args);

/* What stands for an empty value's shape, whatever its rank was: one axis of 0. */
static inline struct tview empty_tensor(enum pith_type type)
{
    return (struct tview){.type = type, .shape = {.rank = 1}};
}

#endif
