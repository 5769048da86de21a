/* SPDX-License-Identifier: MIT */
/* teacher_memory.h - the teacher's scores of every sample, kept: computed once for each version of
 * it that the run will show (pith_train_opts.versions). */
#ifndef TEACHER_MEMORY_H
#define TEACHER_MEMORY_H

#include "pith_train.h"

struct teacher_memory;

/* NULL: out of memory. */
struct teacher_memory *pith_memory_new(uint32_t versions, uint64_t samples, uint32_t per_slice,
                                       uint32_t classes);
void pith_memory_free(struct teacher_memory *a); /* accepts NULL */
/* scores: [per_slice][classes] of the samples number[per_slice]. */
void pith_memory_put(struct teacher_memory *a, uint32_t version, const uint32_t *number,
                     const float *scores);
/* The same, valid until the slice's next call. */
const float *pith_memory_get(struct teacher_memory *a, uint32_t version, const uint32_t *number,
                             uint32_t slice);
/* Shares the scores of each rank with all. */
void pith_memory_join(struct teacher_memory *a, const struct pith_ranks *ranks);

#endif
