/* SPDX-License-Identifier: MIT */
/* spec_adaptive.h - adaptive streams: S8. */
#ifndef SPEC_ADAPTIVE_H
#define SPEC_ADAPTIVE_H

#include "spec_classes.h"

/* All that S8 remembers between two decisions. */
struct adaptive;

/* Integers of a tensor whose walk is k. */
struct adaptive *open_adaptive(const struct walk *k);
int64_t read_integer(struct adaptive *a, const struct walk *k, uint64_t c);
/* The end of the stream; a is freed. */
void close_adaptive(struct adaptive *a, const struct tensor *t);

/* bits: [t->nnz], of f32. */
void read_adaptive_floats(const struct tensor *t, uint32_t *bits);

#endif
