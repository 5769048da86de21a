/* SPDX-License-Identifier: MIT */
/* pack_slices.c - when a tensor whose code learns is cut into slices of rows, which threads decode
 * side by side (docs/format-streams.md, section 11): a slice begins with counters that know
 * nothing, which costs some 100 bytes. */
#include "pack.h"
#include "decode/row_slices.h"

#define SLICE_ELEMENTS 65536u /* at least */
#define SLICE_BYTES 16384u
#define MOST_SLICES 32u   /* two for each piece that a reader decodes at once */
#define SLICES_SHARE 256u /* at most so much of the stream for all of them */
#define TRIES 3u
/* Slices that take more than this share more have no room, and no fewer are tried. */
#define ROOM_SHARE 16u

/* Of a stream of so many bytes; below 2: it is not worth two. */
static uint64_t count_slices(const struct weight *w, size_t bytes)
{
    uint64_t rows = adaptive_rows(w), n = w->count / SLICE_ELEMENTS;
    n = n < bytes / SLICE_BYTES ? n : bytes / SLICE_BYTES;
    n = n < rows ? n : rows;
    return n < MOST_SLICES ? n : MOST_SLICES;
}

/* How many, below n, would take what n slices may, if each but the first costs the same. */
static uint64_t fewer(const struct pack_slices *s, uint64_t n, size_t taken, uint64_t most)
{
    uint64_t may = most > s->bytes ? most - s->bytes : 0;
    return 1 + (n - 1) * may / (taken - s->bytes); /* taken > most, so may is less */
}

/* The room is more than what may be taken, so that it is known how many slices too much there are.
 */
static enum pith_status encode_fewer(const struct pack_slices *s, uint64_t most,
                                     struct byte_out *sliced)
{
    uint64_t rows = adaptive_rows(s->w), n = count_slices(s->w, s->bytes);
    size_t cap = s->bytes + s->bytes / ROOM_SHARE;
    uint8_t *dst = n < 2 ? NULL : pith_out_room(sliced, cap);
    if (n >= 2 && !dst)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < TRIES && n >= 2; i++) {
        enum pith_status st = s->encode(s->arg, (rows + n - 1) / n, dst, cap, &sliced->bytes);
        if (st || sliced->bytes <= most)
            return st;
        n = fewer(s, n, sliced->bytes, most);
    }
    return PITH_ERR_SPACE;
}

enum pith_status pith_pack_slices(const struct pack_slices *s, struct byte_out *sliced)
{
    uint64_t most = s->bytes + s->bytes / SLICES_SHARE;
    most = most < s->below ? most : s->below - 1;
    if (most <= s->head)
        return PITH_OK;
    enum pith_status st = encode_fewer(s, most - s->head, sliced);
    if (st)
        pith_out_clear(sliced);
    return st == PITH_ERR_SPACE ? PITH_OK : st;
}
