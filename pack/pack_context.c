/* SPDX-License-Identifier: MIT */
/* pack_context.c - one constant by adaptive distributions (docs/format-streams.md, section 11),
 * where that takes fewer bytes. */
#include "pith_context_encode.h"
#include "pith_error_fill.h"
#include "pack.h"

/* A slice begins with counters that know nothing, which costs some 100 bytes. */
#define SLICE_ELEMENTS 65536u /* at least */
#define SLICE_BYTES 16384u
#define MOST_SLICES 32u   /* two for each piece that a reader decodes at once */
#define SLICES_SHARE 256u /* at most so much of the stream for all of them */

/* Rows of a slice of a stream of so many bytes; 0: it is not worth two. */
static uint64_t rows_of_slice(const struct weight *w, size_t bytes)
{
    uint64_t rows = w->shape.rank < 2 ? 1 : w->shape.dim[0], n = w->count / SLICE_ELEMENTS;
    n = n < bytes / SLICE_BYTES ? n : bytes / SLICE_BYTES;
    n = n < rows ? n : rows;
    n = n < MOST_SLICES ? n : MOST_SLICES;
    return n < 2 ? 0 : (rows + n - 1) / n;
}

/* In slices, which threads decode side by side, where those take hardly more. */
static enum pith_status slice(const struct pith_const *k, uint64_t other_bytes, struct weight *w,
                              struct byte_out *coded)
{
    uint64_t rows = rows_of_slice(w, coded->bytes);
    struct byte_out sliced = {0};
    if (rows == 0)
        return PITH_OK;
    size_t most = coded->bytes + coded->bytes / SLICES_SHARE;
    most = most < other_bytes ? most : other_bytes - 1;
    uint8_t *dst = pith_out_room(&sliced, most);
    enum pith_status st = dst ? pith_context_encode_sliced(w, rows, k->mask, k->codebook->index,
                                                           dst, most, &sliced.bytes)
                              : PITH_ERR_MEMORY;
    if (st) {
        pith_out_clear(&sliced);
        return st == PITH_ERR_SPACE ? PITH_OK : st;
    }
    pith_out_clear(coded);
    *coded = sliced;
    w->sliced = true;
    return PITH_OK;
}

/* Where it has no more room than other codes take, it is written at once. */
enum pith_status pith_pack_context(struct pack_const *c, uint64_t other_bytes,
                                   struct pith_error *err)
{
    const struct pith_const *k = c->content;
    struct byte_out coded = {0};
    struct weight w = c->w;
    w.code = CODE_CONTEXT;
    if (w.support != SUPPORT_DENSE)
        w.support = SUPPORT_ADAPTIVE;
    if (!pith_context_allows(&w) || other_bytes == 0)
        return PITH_OK;
    uint8_t *dst = pith_out_room(&coded, other_bytes);
    enum pith_status st = dst ? pith_context_encode(&w, k->mask, k->codebook->index, dst,
                                                    other_bytes - 1, &coded.bytes)
                              : PITH_ERR_MEMORY;
    if (!st)
        st = slice(k, other_bytes, &w, &coded);
    if (st) {
        pith_out_clear(&coded);
        return st == PITH_ERR_SPACE ? PITH_OK : pith_error_no_memory(err);
    }
    pith_out_clear(&c->index);
    c->index = coded;
    c->w = w;
    c->w.index_stream = (struct stream){coded.data, coded.bytes};
    return PITH_OK;
}
