/* SPDX-License-Identifier: MIT */
/* weight_store.c - a uniform grid as a codebook of all its integers: the writer recognizes such
 * a codebook and stores its step alone. */
#include "weight_store.h"

#include <stdlib.h>

/* At least 1, so that there are three centroids and a sign. */
static uint32_t largest(const int16_t *q, uint64_t n)
{
    int most = 1;
    for (uint64_t i = 0; i < n; i++)
        most = abs(q[i]) > most ? abs(q[i]) : most;
    return (uint32_t)most;
}

/* Arena memory of the model: freed with it, also after a failure. */
enum pith_status pith_weight_store(struct pith_model *m, struct pith_const *c, const int16_t *q,
                                   const double *step, uint64_t n_steps, bool masked)
{
    const uint32_t most = largest(q, c->count);
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    if (!b)
        return PITH_ERR_MEMORY;
    b->n_centroids = 2 * most + 1;
    b->n_groups = n_steps;
    b->group_elems = c->count / b->n_groups;
    b->centroid = pith_model_alloc(m, b->n_groups * b->n_centroids, sizeof *b->centroid);
    b->index = pith_model_alloc(m, c->count, 1);
    float *data = pith_model_alloc(m, c->count, sizeof *data); /* c's may be another model's */
    uint8_t *mask = masked ? pith_model_alloc(m, c->count, 1) : NULL;
    if (!b->centroid || !b->index || !data || (masked && !mask))
        return PITH_ERR_MEMORY;
    /* One product each, rounded once: exactly what a reader computes from the step. */
    for (uint64_t g = 0; g < b->n_groups; g++)
        for (uint32_t k = 0; k < b->n_centroids; k++)
            b->centroid[g * b->n_centroids + k] =
                (float)((int32_t)k - (int32_t)most) * (float)step[g];
    for (uint64_t i = 0; i < c->count; i++) {
        b->index[i] = (uint8_t)(q[i] + (int32_t)most);
        data[i] = b->centroid[i / b->group_elems * b->n_centroids + b->index[i]];
        if (masked)
            mask[i] = q[i] != 0;
    }
    c->data = data;
    c->codebook = b;
    c->mask = mask;
    c->stored = 0;
    c->code = PITH_CODE_ADAPTIVE;
    return PITH_OK;
}
