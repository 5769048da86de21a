/* SPDX-License-Identifier: MIT */
/* tape_lives.h - from which step of a tape to which a tensor is needed. */
#ifndef TAPE_LIVES_H
#define TAPE_LIVES_H

#include "tape_state.h"

/* Where a tensor of a tape is made and read: steps. Its number is that of tape_at(t, 0, ...) in
 * t->tensor; both layouts of the same bytes have that of the row-major one. */
struct tensor_life {
    uint32_t made; /* LIFE_INPUT: from outside */
    uint32_t last; /* the last step that reads it; 0 and not read: none does */
    bool read;
};
#define LIFE_INPUT UINT32_MAX

/* [n_values * TAPE_LAYOUTS] for the caller to free; NULL: no memory. What no step makes or reads
 * has zeros; constants have too. */
struct tensor_life *pith_tape_lives(const struct tape *t);
/* The number of a tensor: of the row-major one where both layouts are the same bytes. */
uint32_t pith_tensor_number(const struct tape *t, uint32_t value, enum tape_layout layout);
/* Bytes of a tensor in one slice. */
uint64_t pith_tensor_bytes(const struct tape *t, uint32_t tensor);

#endif
