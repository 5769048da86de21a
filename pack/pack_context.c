/* SPDX-License-Identifier: MIT */
/* pack_context.c - one constant by adaptive distributions (docs/format-streams.md, section 11),
 * where that takes fewer bytes. */
#include "pith_context_encode.h"
#include "pith_error_fill.h"
#include "pack.h"

struct input {
    const struct weight *w;
    const struct pith_const *k;
};

static enum pith_status encode_sliced(const void *arg, uint64_t rows, uint8_t *dst, size_t cap,
                                      size_t *bytes)
{
    const struct input *in = arg;
    return pith_context_encode_sliced(in->w, rows, in->k->mask, in->k->codebook->index, dst, cap,
                                      bytes);
}

/* In slices, if those take hardly more. */
static enum pith_status slice(const struct pith_const *k, uint64_t other_bytes, struct weight *w,
                              struct byte_out *coded)
{
    const struct input in = {w, k};
    const struct pack_slices s = {
        .w = w, .bytes = coded->bytes, .below = other_bytes, .encode = encode_sliced, .arg = &in};
    struct byte_out sliced = {0};
    enum pith_status st = pith_pack_slices(&s, &sliced);
    if (st || !sliced.data)
        return st;
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
