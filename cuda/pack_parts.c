/* SPDX-License-Identifier: MIT */
/* pack_parts.c - decodes a weight into its nonzeros. */
#include "pack_parts.h"
#include <stdlib.h>

uint64_t pith_pack_aligned(uint64_t bytes)
{
    return (bytes + 255) & ~UINT64_C(255);
}

bool pith_pack_is_bytes(const struct weight *w)
{
    return w->type == PITH_I8 || w->type == PITH_U8;
}

static void *scratch_of(const struct weight *w)
{
    return aligned_alloc(64, (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63);
}

enum pith_status pith_pack_elements(const struct weight *w, bool floats, void *to)
{
    void *scratch = scratch_of(w);
    if (!scratch)
        return PITH_ERR_MEMORY;
    enum pith_status st =
        floats ? pith_weight_expand_f32(w, to, scratch) : pith_weight_expand_plain(w, to, scratch);
    free(scratch);
    return st;
}

/* Of integers: log2 of columns of a row that have one scale, at least 5; 0: they are no matrix of
 * i8 without zero points, or scales are for others. */
static uint32_t scale_shift(const struct weight *w)
{
    const uint64_t block = w->n_groups > 1 ? w->group_elems : 0;
    uint32_t shift = 5;
    if (w->scaled != PITH_I8 || w->shape.rank != 2 || w->codebook.n_bytes != 4 * w->n_groups ||
        w->index_stream.n_bytes != w->count || block % 32 ||
        (w->n_groups > 1 && w->index_bits != (block > 0)))
        return 0;
    while (shift < 31 && block % (UINT64_C(2) << shift) == 0)
        shift++;
    return shift;
}

/* A convolution's row is all that one output is summed from. */
bool pith_pack_shape(const struct weight *w, struct pack_shape *s)
{
    if (w->type != PITH_F32 || w->grid == GRID_PLAIN || w->shape.rank < 2 || w->n_groups == 0 ||
        w->count == 0 || w->count >= UINT64_C(1) << 31)
        return false;
    s->rows = w->shape.dim[0];
    s->cols = (uint32_t)(w->count / s->rows);
    s->scale_shift = w->grid == GRID_SCALED ? scale_shift(w) : 0;
    if (w->grid == GRID_SCALED || w->n_centroids == 0 || w->n_centroids > PACK_CENTROIDS)
        return s->scale_shift > 0;
    uint64_t group = w->n_groups == 1 ? w->count : w->group_elems;
    s->book_rows = (uint32_t)(group / s->cols);
    return group % s->cols == 0;
}

enum pith_status pith_nonzeros_new(const struct weight *w, struct nonzeros *z)
{
    void *scratch = scratch_of(w);
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
