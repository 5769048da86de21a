/* SPDX-License-Identifier: MIT */
#include "teacher_memory.h"

#include "train/state/ranks.h"

#include <stdlib.h>
#include <string.h>

struct teacher_memory {
    uint64_t versions, samples;
    uint32_t per_slice, classes;
    float *scores; /* [versions][samples][classes] */
    float *batch;  /* [slices][per_slice][classes] */
};

struct teacher_memory *pith_memory_new(uint32_t versions, uint64_t samples, uint32_t per_slice,
                                       uint32_t classes)
{
    struct teacher_memory *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (struct teacher_memory){
        .versions = versions, .samples = samples, .per_slice = per_slice, .classes = classes};
    a->scores = calloc((size_t)(versions * samples), classes * sizeof *a->scores);
    a->batch = calloc((size_t)PITH_TRAIN_SLICES * per_slice, classes * sizeof *a->batch);
    if (a->scores && a->batch)
        return a;
    pith_memory_free(a);
    return NULL;
}

void pith_memory_free(struct teacher_memory *a)
{
    if (!a)
        return;
    free(a->scores);
    free(a->batch);
    free(a);
}

static float *row(const struct teacher_memory *a, uint32_t version, uint32_t number)
{
    return a->scores + (version * a->samples + number) * a->classes;
}

void pith_memory_put(struct teacher_memory *a, uint32_t version, const uint32_t *number,
                     const float *scores)
{
    for (uint32_t i = 0; i < a->per_slice; i++)
        memcpy(row(a, version, number[i]), scores + (size_t)i * a->classes,
               a->classes * sizeof *scores);
}

const float *pith_memory_get(struct teacher_memory *a, uint32_t version, const uint32_t *number,
                             uint32_t slice)
{
    float *to = a->batch + (size_t)slice * a->per_slice * a->classes;
    for (uint32_t i = 0; i < a->per_slice; i++)
        memcpy(to + (size_t)i * a->classes, row(a, version, number[i]), a->classes * sizeof *to);
    return to;
}

void pith_memory_join(struct teacher_memory *a, const struct pith_ranks *ranks)
{
    pith_ranks_join_floats(ranks, a->scores, (size_t)(a->versions * a->samples * a->classes));
}
