/* SPDX-License-Identifier: MIT */
/* pack_adaptive.c - one constant as an adaptive stream, with the source among the tensors before it
 * that makes it shortest (docs/format-streams.md, section 8). */
#include <stdlib.h>
#include "adaptive_decode.h"
#include "adaptive_encode.h"
#include "error_fill.h"
#include "pack.h"

#define SOURCES_TRIED 3u /* a weight and its bias lie between a unit's row and its column */

static struct adaptive_input input_of(const struct pack_const *c, const struct weight *w)
{
    const struct pith_const *k = c->value->constant;
    struct adaptive_input in = {.w = w, .mask = k->mask};
    if (k->codebook)
        in.index = k->codebook->index;
    else
        in.data = k->data;
    return in;
}

/* back 0: none */
static bool use_source(struct weight *w, const struct pack_const *c, uint32_t back)
{
    w->source_back = back;
    w->source_rows = 0;
    if (back == 0)
        return true;
    const struct weight *source = &c[-(int32_t)back].w;
    uint64_t rows = adaptive_rows(source);
    if (!pith_adaptive_tells_rows(source) || w->count / adaptive_rows(w) % rows != 0)
        return false;
    w->source_rows = rows;
    w->source_stream = source->index_stream;
    return true;
}

static enum pith_status write_stream(struct pack_const *c, const struct weight *w, size_t bytes)
{
    struct adaptive_input in = input_of(c, w);
    struct byte_out stream = {0};
    uint8_t *dst = pith_out_room(&stream, bytes + 1);
    enum pith_status st = dst ? pith_adaptive_encode(&in, dst, bytes, &bytes) : PITH_ERR_MEMORY;
    if (st) {
        pith_out_clear(&stream);
        return st;
    }
    stream.bytes = bytes;
    pith_out_clear(&c->index);
    c->index = stream;
    c->w = *w;
    c->w.index_stream = (struct stream){stream.data, stream.bytes};
    return PITH_OK;
}

enum pith_status pith_pack_adaptive(struct pack_const *c, uint32_t at, uint64_t other_bytes,
                                    struct pith_error *err)
{
    struct weight w = c->w, best = w;
    size_t least = SIZE_MAX, bytes;
    w.code = CODE_ADAPTIVE;
    if (w.support != SUPPORT_DENSE)
        w.support = SUPPORT_ADAPTIVE;
    if (!pith_adaptive_allows(&w))
        return PITH_OK;
    for (uint32_t back = 0; back <= at && back <= SOURCES_TRIED; back++) {
        if (!use_source(&w, c, back))
            continue;
        struct adaptive_input in = input_of(c, &w);
        if (pith_adaptive_encode(&in, NULL, 0, &bytes))
            return pith_error_no_memory(err);
        if (bytes < least) {
            least = bytes;
            best = w;
        }
    }
    if (least >= other_bytes)
        return PITH_OK;
    return write_stream(c, &best, least) ? pith_error_no_memory(err) : PITH_OK;
}
