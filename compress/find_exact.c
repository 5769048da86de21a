/* SPDX-License-Identifier: MIT */
/* find_exact.c - a network as it comes, made ready to be coded as short as it can be without a
 * number of it changing: grids, then supports. */
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "base/error_fill.h"
#include "model/exact_grid.h"
#include "stage_run.h"

#define ZEROS 0.1 /* of a weight, at least, for a mask to take less than it saves */

static uint64_t count_zeros(const struct pith_const *k)
{
    const float *x = k->data;
    uint64_t n = 0;
    for (uint64_t i = 0; i < k->count; i++)
        n += f32_bits(x[i]) == 0;
    return n;
}

/* The 0 of a codebook that is no grid: with a mask, no index names it. */
static void leave_zero_out(struct pith_codebook *b, uint64_t count)
{
    uint32_t zero = 0;
    while (zero < b->n_centroids && f32_bits(b->centroid[zero]) != 0)
        zero++;
    if (b->n_groups > 1 || zero == b->n_centroids || b->n_centroids < 2)
        return;
    b->n_centroids--;
    memmove(b->centroid + zero, b->centroid + zero + 1,
            (b->n_centroids - zero) * sizeof *b->centroid);
    for (uint64_t i = 0; i < count; i++)
        b->index[i] = b->index[i] == zero ? 0 : (uint8_t)(b->index[i] - (b->index[i] > zero));
}

static enum pith_status find_support(struct pith_model *m, struct pith_const *k)
{
    const float *x = k->data;
    if (k->mask || (double)count_zeros(k) < ZEROS * (double)k->count)
        return PITH_OK;
    k->mask = pith_model_alloc(m, k->count, 1);
    if (!k->mask)
        return PITH_ERR_MEMORY;
    for (uint64_t i = 0; i < k->count; i++)
        k->mask[i] = f32_bits(x[i]) != 0;
    if (k->codebook)
        leave_zero_out(k->codebook, k->count);
    return PITH_OK;
}

enum pith_status pith_find_exact(struct pith_model *m, struct pith_error *err)
{
    enum pith_status st = pith_find_grids(m, NULL, err);
    struct pith_weight_ref *refs = st ? NULL : calloc(m->n_nodes + 1u, sizeof *refs);
    if (!st && !refs)
        st = pith_error_no_memory(err);
    uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    for (uint32_t v = 0; v < m->n_values && !st; v++)
        if (m->values[v].constant)
            m->values[v].constant->short_planes = true;
    for (uint32_t i = 0; i < n && !st; i++)
        if (find_support(m, m->values[refs[i].value].constant))
            st = pith_error_no_memory(err);
    free(refs);
    return st;
}
