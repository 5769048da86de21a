/* SPDX-License-Identifier: MIT */
/* spec_sizes.h - mixed decisions, and the sizes that are expected of elements: S8. */
#ifndef SPEC_SIZES_H
#define SPEC_SIZES_H

#include "spec_model.h"

/* Weights and maps; before the flags. */
void start_mixing(struct model *m);
/* stored: how counters of "stored" start */
void start_sizes(struct model *m, struct view *v, struct counter stored);

/* Before an element's first decision; behind the element. */
void expect_size(struct model *m, const struct view *v, uint64_t line);
void saw_size(struct model *m, struct column *col, int64_t s);

/* Of a kind - 0 stored, 1 sign, 2 rank, 3 rank+, 4 flag -, by k counters. */
uint32_t mixed(struct model *m, uint32_t kind, uint32_t choice, struct counter **c, uint32_t k);
/* With the three counters of sizes behind the k in c, those of `node`; the choice is the size's. */
uint32_t mixed_by_size(struct model *m, uint32_t kind, uint32_t node, struct counter **c,
                       uint32_t k);
/* The four counters that sizes give to signs, behind the four in c. */
uint32_t sign_by_size(struct model *m, const struct view *v, struct counter **c, uint32_t rank);

#endif
