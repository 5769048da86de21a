/* SPDX-License-Identifier: MIT */
/* kept_floats.h - numbers that runs gave, one behind the other. */
#ifndef PITH_KEPT_FLOATS_H
#define PITH_KEPT_FLOATS_H

#include <stdbool.h>
#include <stddef.h>

/* Begins as zeros; the owner frees x. */
struct kept_floats {
    float *x; /* owns: [n] */
    size_t n, room;
};

/* Room for `more` numbers at x[n]; they are counted by the caller. false: no memory, nothing
 * changed. */
bool pith_floats_grow(struct kept_floats *k, size_t more);
/* Adds x, [n]. */
bool pith_floats_keep(struct kept_floats *k, const float *x, size_t n);

#endif
