/* SPDX-License-Identifier: MIT */
/* pack_columns.c - a row's nonzeros as columns of 16 bits, two a word, and their indices beside
 * them: nothing depends on the entry before, and nothing fills gaps, which below some 6 % takes
 * fewer bytes than relative index.
 *
 *     | codebooks | row_at [rows + 1] | words of two columns | indices | */
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

#define MOST_COLUMNS 65536u

/* Each row may end in half a pair. */
bool pith_device_columns_layout(const struct weight *w, struct columns_layout *c)
{
    struct pack_shape s;
    if (!pith_pack_shape(w, &s) || s.cols > MOST_COLUMNS)
        return false;
    const uint64_t pairs = (w->nnz + s.rows) / 2 + 1 + SPMV_AHEAD;
    c->wide = w->n_centroids > 16;
    c->row_at = pith_pack_aligned(w->n_groups * w->n_centroids * sizeof(float));
    c->pairs = c->row_at + pith_pack_aligned((s.rows + UINT64_C(1)) * sizeof(uint32_t));
    c->index = c->pairs + pith_pack_aligned(pairs * sizeof(uint32_t));
    c->bytes = c->index + pairs * (c->wide ? 2 : 1);
    return true;
}

/* Entry e of a matrix: half of pair e / 2. */
static void put_entry(const struct columns_layout *c, uint8_t *to, uint64_t e, uint32_t column,
                      uint32_t index)
{
    uint32_t *pair = (uint32_t *)(void *)(to + c->pairs) + e / 2;
    *pair |= column << (e % 2 * 16);
    if (c->wide)
        to[c->index + e] = (uint8_t)index;
    else
        to[c->index + e / 2] |= (uint8_t)(index << (e % 2 * 4));
}

static void pack_rows(const struct weight *w, const struct pack_shape *s,
                      const struct columns_layout *c, const struct nonzeros *z, uint8_t *to)
{
    uint32_t *row_at = (uint32_t *)(void *)(to + c->row_at);
    uint64_t first = 0, at = 0;
    for (uint32_t row = 0; row < s->rows; row++) {
        uint64_t end = pith_nonzeros_row_end(w, z, first, row, s->cols), n = end - first;
        row_at[row] = (uint32_t)(at | (n & 1));
        for (uint64_t i = 0; i < n; i++)
            put_entry(c, to, at + i, z->pos[first + i] - row * s->cols, z->index[first + i]);
        at += n + (n & 1);
        first = end;
    }
    row_at[s->rows] = (uint32_t)at;
}

enum pith_status pith_device_columns_pack(const struct weight *w, uint8_t *to)
{
    struct columns_layout c;
    struct pack_shape s;
    struct nonzeros z;
    if (!pith_device_columns_layout(w, &c) || !pith_pack_shape(w, &s))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    memset(to, 0, c.bytes);
    st = pith_weight_codebooks(w, (float *)(void *)to);
    if (!st)
        pack_rows(w, &s, &c, &z, to);
    pith_nonzeros_free(&z);
    return st;
}
