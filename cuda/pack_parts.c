/* SPDX-License-Identifier: MIT */
/* pack_parts.c - decodes a weight into its nonzeros. */
#include "pack_parts.h"
#include <stdlib.h>

uint64_t pith_pack_aligned(uint64_t bytes)
{
    return (bytes + 255) & ~UINT64_C(255);
}

/* A convolution's row is all that one output is summed from. */
bool pith_pack_shape(const struct weight *w, struct pack_shape *s)
{
    if (w->type != PITH_F32 || w->grid != GRID_CODEBOOK || w->shape.rank < 2 || w->n_groups == 0 ||
        w->n_centroids == 0 || w->n_centroids > PACK_CENTROIDS || w->count >= UINT64_C(1) << 31)
        return false;
    s->rows = w->shape.dim[0];
    s->cols = (uint32_t)(w->count / s->rows);
    uint64_t group = w->n_groups == 1 ? w->count : w->group_elems;
    s->book_rows = (uint32_t)(group / s->cols);
    return group % s->cols == 0;
}

enum pith_status pith_nonzeros_new(const struct weight *w, struct nonzeros *z)
{
    size_t scratch_bytes = (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63;
    void *scratch = aligned_alloc(64, scratch_bytes);
    z->pos = malloc((w->nnz + 1) * sizeof *z->pos);
    z->index = malloc(w->nnz + 1);
    enum pith_status st = PITH_ERR_MEMORY;
    if (scratch && z->pos && z->index)
        st = pith_weight_expand_parts(w, z->pos, z->index, NULL, scratch);
    free(scratch);
    if (st)
        pith_nonzeros_free(z);
    return st;
}

void pith_nonzeros_free(struct nonzeros *z)
{
    free(z->pos);
    free(z->index);
}

uint64_t pith_nonzeros_row_end(const struct weight *w, const struct nonzeros *z, uint64_t first,
                               uint32_t row, uint32_t cols)
{
    uint64_t limit = (uint64_t)(row + 1) * cols;
    while (first < w->nnz && z->pos[first] < limit)
        first++;
    return first;
}
