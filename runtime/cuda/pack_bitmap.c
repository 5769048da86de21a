/* SPDX-License-Identifier: MIT */
/* pack_bitmap.c - a bit an element, in chunks of BITMAP_CHUNK columns: bit j of lane l is that of
 * column 32 j + l, so that what the lanes of a warp gather from x lies in banks of their own
 * whichever bits they are at. Lanes have their indices one behind the other, lane 31 first, from
 * the highest bit down: where a lane's begin is the sum of the counts behind it.
 *
 *     | codebooks | chunk_at [rows, chunks] | bits [rows, chunks, 32] | indices | */
#include <stdlib.h>
#include <string.h>
#include "launch.h"
#include "pack_forms.h"

#define LANES BITMAP_LANES

bool pith_device_bitmap_layout(const struct weight *w, struct bitmap_layout *b)
{
    struct pack_shape s;
    if (!pith_pack_shape(w, &s))
        return false;
    b->wide = w->n_centroids > 16;
    b->chunks = (s.cols + BITMAP_CHUNK - 1) / BITMAP_CHUNK;
    uint64_t all = (uint64_t)s.rows * b->chunks;
    b->chunk_at = pith_pack_aligned(w->n_groups * w->n_centroids * sizeof(float));
    b->bits = b->chunk_at + pith_pack_aligned(all * sizeof(uint32_t));
    b->index = b->bits + pith_pack_aligned(all * LANES * sizeof(uint32_t));
    b->bytes = b->index + (b->wide ? w->nnz : (w->nnz + 1) / 2) + 1;
    return all * LANES < UINT64_C(1) << 31;
}

static void put_index(const struct bitmap_layout *b, uint8_t *to, uint64_t place, uint32_t index)
{
    if (b->wide)
        to[b->index + place] = (uint8_t)index;
    else
        to[b->index + place / 2] |= (uint8_t)(index << (place % 2 * 4));
}

/* The nonzeros [first, end) of one chunk, which begins at element `base`. */
static void put_chunk(const struct bitmap_layout *b, uint8_t *to, uint64_t chunk,
                      const struct nonzeros *z, uint64_t first, uint64_t end, uint32_t base)
{
    uint32_t *bits = (uint32_t *)(void *)(to + b->bits) + chunk * LANES;
    uint8_t code[BITMAP_CHUNK];
    uint64_t place = first;
    ((uint32_t *)(void *)(to + b->chunk_at))[chunk] = (uint32_t)first;
    for (uint64_t i = first; i < end; i++) {
        uint32_t column = z->pos[i] - base;
        bits[column % LANES] |= 1u << column / LANES;
        code[column] = z->index[i];
    }
    for (uint32_t lane = LANES; lane-- > 0;)
        for (uint32_t bit = 32; bit-- > 0;)
            if (bits[lane] >> bit & 1)
                put_index(b, to, place++, code[LANES * bit + lane]);
}

static void pack_chunks(const struct weight *w, const struct pack_shape *s,
                        const struct bitmap_layout *b, const struct nonzeros *z, uint8_t *to)
{
    uint64_t first = 0;
    for (uint32_t row = 0; row < s->rows; row++)
        for (uint32_t c = 0; c < b->chunks; c++) {
            uint32_t base = row * s->cols + c * BITMAP_CHUNK;
            uint32_t last = c + 1 < b->chunks ? base + BITMAP_CHUNK : (row + 1) * s->cols;
            uint64_t end = first;
            while (end < w->nnz && z->pos[end] < last)
                end++;
            put_chunk(b, to, (uint64_t)row * b->chunks + c, z, first, end, base);
            first = end;
        }
}

enum pith_status pith_device_bitmap_pack(const struct weight *w, uint8_t *to)
{
    struct bitmap_layout b;
    struct pack_shape s;
    struct nonzeros z;
    if (!pith_device_bitmap_layout(w, &b) || !pith_pack_shape(w, &s))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    memset(to, 0, b.bytes);
    st = pith_weight_codebooks(w, (float *)(void *)to);
    if (!st)
        pack_chunks(w, &s, &b, &z, to);
    pith_nonzeros_free(&z);
    return st;
}
