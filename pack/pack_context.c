/* SPDX-License-Identifier: MIT */
/* pack_context.c - one constant by adaptive distributions (docs/format-streams.md, section 11),
 * where that takes fewer bytes. */
#include "pith_context_encode.h"
#include "pith_error_fill.h"
#include "pack.h"

static enum pith_status write_stream(struct pack_const *c, const struct weight *w, size_t bytes)
{
    const struct pith_const *k = c->content;
    struct byte_out coded = {0};
    uint8_t *dst = pith_out_room(&coded, bytes + 1);
    if (!dst || pith_context_encode(w, k->mask, k->codebook->index, dst, bytes, &bytes)) {
        pith_out_clear(&coded);
        return PITH_ERR_MEMORY;
    }
    coded.bytes = bytes;
    pith_out_clear(&c->index);
    c->index = coded;
    c->w = *w;
    c->w.index_stream = (struct stream){coded.data, coded.bytes};
    return PITH_OK;
}

enum pith_status pith_pack_context(struct pack_const *c, uint64_t other_bytes,
                                   struct pith_error *err)
{
    const struct pith_const *k = c->content;
    struct weight w = c->w;
    size_t bytes;
    w.code = CODE_CONTEXT;
    if (w.support != SUPPORT_DENSE)
        w.support = SUPPORT_ADAPTIVE;
    if (!pith_context_allows(&w))
        return PITH_OK;
    if (pith_context_encode(&w, k->mask, k->codebook->index, NULL, 0, &bytes))
        return pith_error_no_memory(err);
    if (bytes >= other_bytes)
        return PITH_OK;
    return write_stream(c, &w, bytes) ? pith_error_no_memory(err) : PITH_OK;
}
