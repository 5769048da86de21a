/* SPDX-License-Identifier: MIT */
/* ranks_agree.h - what the processes of one run (struct pith_ranks, pith_train.h) make known
 * to each other beside sums. NULL, or one process: nothing. All call the same functions in the same
 * order. */
#ifndef PITH_RANKS_AGREE_H
#define PITH_RANKS_AGREE_H

#include "pith_train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What rank `from` has, to all. */
void pith_ranks_share(const struct pith_ranks *k, uint32_t from, void *data, size_t bytes);
/* The status of the first rank that has one, its message with it. */
enum pith_status pith_ranks_agree(const struct pith_ranks *k, enum pith_status status,
                                  struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
