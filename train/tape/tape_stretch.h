/* SPDX-License-Identifier: MIT */
/* tape_stretch.h - a tape's forward in stretches: steps from .. to - 1 over all samples, then the
 * next ones. Only what a stretch touches has memory while it is open; what goes from one stretch to
 * a later one the caller reads and writes (kept_values.h).
 *
 *     struct tape *t;                        // made with forward_only
 *     struct tape_stretch s;
 *     pith_stretch_open(t, life, 4, 9, 9, &s, &err);
 *     for each batch: write s.in, pith_tape_steps_forward(t, 4, 9), read s.out
 *     pith_stretch_close(t, &s);
 */
#ifndef TAPE_STRETCH_H
#define TAPE_STRETCH_H

#include "tape_state.h"

/* Where a tensor of a tape is made and read: steps. Its number is that of tape_at(t, 0, ...) in
 * t->tensor; both layouts of the same bytes have that of the row-major one. */
struct tensor_life {
    uint32_t made; /* LIFE_INPUT: from outside */
    uint32_t last; /* the last step that reads it; 0 and not read: nobody does */
    bool read;
    uint32_t mark, marks; /* of who asks; how many there were, in the first one's */
};
#define LIFE_INPUT UINT32_MAX

/* Numbers of tensors. */
struct tape_stretch {
    uint32_t from, cut, to;
    uint32_t *in, n_in;   /* read here, made before `from` or outside */
    uint32_t *out, n_out; /* made in from .. cut - 1, read from the cut on */
    uint32_t *all, n_all; /* touched here */
    uint32_t n_memory;    /* of the tape's, before this was opened */
};

/* [n_values * TAPE_LAYOUTS] for the caller to free; NULL: no memory. What no step makes or reads
 * has zeros; constants have too. */
struct tensor_life *pith_tape_lives(const struct tape *t);
/* The number of a tensor: of the row-major one where both layouts are the same bytes. */
uint32_t pith_tensor_number(const struct tape *t, uint32_t value, enum tape_layout layout);
/* Bytes of a slice that a stretch touches. */
uint64_t pith_stretch_bytes(const struct tape *t, struct tensor_life *life, uint32_t from,
                            uint32_t to);
/* One stretch of a tape at a time; from <= cut <= to, from < to. PITH_ERR_MEMORY, _UNSUPPORTED as
 * pith_tape_new; *s then needs no closing. Parameters may not change while it is open. */
enum pith_status pith_stretch_open(struct tape *t, struct tensor_life *life, uint32_t from,
                                   uint32_t cut, uint32_t to, struct tape_stretch *s,
                                   struct pith_error *err);
void pith_stretch_close(struct tape *t, struct tape_stretch *s); /* accepts zeros */
/* Bytes of a tensor in one slice, and where they are while a stretch that touches it is open. */
uint64_t pith_tensor_bytes(const struct tape *t, uint32_t tensor);
void *pith_tensor_data(const struct tape *t, uint32_t slice, uint32_t tensor);

#endif
