/* SPDX-License-Identifier: MIT */
/* spec_slices.h - slices of a tensor's rows: S11. What is not sliced is read as one slice. */
#ifndef SPEC_SLICES_H
#define SPEC_SLICES_H

#include "spec_tensor.h"

/* What is left of a tensor's stream. */
struct slices {
    struct span sizes, rest;
    uint64_t rows, each, at,
        stored; /* of the tensor, of a slice; rows done; stored elements left */
    bool counted;
};

struct slice {
    struct span bytes;
    uint64_t first, rows, stored;
};

uint64_t rows_of(const struct tensor *t);

/* All of a tensor's; then one after the other. */
struct slices slices_of(const struct tensor *t);
bool next_slice(const struct tensor *t, struct slices *s, struct slice *one);

#endif
