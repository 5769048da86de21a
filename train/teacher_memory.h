/* SPDX-License-Identifier: MIT */
/* teacher_memory.h - what the teacher says of every sample, kept: asked once for each version of
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
/* The same, valid until the slice asks again. */
const float *pith_memory_get(struct teacher_memory *a, uint32_t version, const uint32_t *number,
                             uint32_t slice);
/* What each rank was told, to all. */
void pith_memory_join(struct teacher_memory *a, const struct pith_ranks *ranks);

#endif
