/* SPDX-License-Identifier: MIT */
/* spec_second.h - what the second model has beyond the first: sizes, decisions mixed twice, signs:
 * S12. (The other order of rank and sign is in spec_adaptive.c.) */
#ifndef SPEC_SECOND_H
#define SPEC_SECOND_H

#include "spec_model.h"

/* stored: how counters of "stored" start */
void start_second(struct model *m, struct view *v, struct counter stored);

/* Before an element's first decision; behind the element. */
void expect_size(struct model *m, const struct view *v, uint64_t line);
void saw_size(struct model *m, struct column *col, int64_t s);

/* c has room for the counters that come behind those of S8. */
uint32_t mixed_by_size(struct model *m, uint32_t set, uint32_t kind, struct counter **c,
                       uint32_t k);
uint32_t second_sign(struct model *m, const struct view *v, struct counter **c, uint64_t line,
                     uint32_t rank);

#endif
