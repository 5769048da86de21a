/* SPDX-License-Identifier: MIT */
/* pack_adaptive.c - one constant as an adaptive stream (docs/format-streams.md, section 8). */
#include "base/error_fill.h"
#include "base/narrow_float.h"
#include "huffman/adaptive_encode.h"
#include "pack.h"

#define TRELLIS_HEAD 1u /* bytes by which a description is longer */

static enum pith_status encode(const struct pack_const *c, const struct weight *w, uint8_t *dst,
                               size_t cap, size_t *bytes)
{
    const struct pith_const *k = c->content;
    if (!k->codebook)
        return pith_adaptive_encode_floats(w, k->data, k->mask, dst, cap, bytes);
    return pith_adaptive_encode(&(struct class_input){w, k->codebook->index, k->mask}, dst, cap,
                                bytes);
}

/* Integers that are levels of a trellis are recognized: nothing else fits for long. */
enum pith_status pith_pack_find_trellis(const struct pack_const *c, struct weight *w)
{
    static const uint8_t states[] = {16, 8, 0};
    enum pith_status st = PITH_ERR_ARGUMENT;
    for (size_t i = 0; i < sizeof states && st == PITH_ERR_ARGUMENT; i++) {
        w->trellis = states[i];
        st = pith_class_check(
            &(struct class_input){w, c->content->codebook->index, c->content->mask});
    }
    return st;
}

enum pith_status pith_pack_adaptive(struct pack_const *c, uint64_t other_bytes,
                                    struct pith_error *err)
{
    struct weight w = c->w;
    struct byte_out stream = {0};
    size_t bytes = 0;
    w.code = CODE_ADAPTIVE;
    if (pith_type_is_narrow(w.type))
        w.type = PITH_F32; /* mantissa bits that are 0 everywhere take nothing in the stream */
    if (w.grid == GRID_PLAIN)
        other_bytes = w.index_stream.n_bytes; /* with any support */
    else if (w.support != SUPPORT_DENSE)
        w.support = SUPPORT_ADAPTIVE;
    if (!pith_adaptive_allows(&w))
        return PITH_OK;
    enum pith_status st = c->content->codebook ? pith_pack_find_trellis(c, &w) : PITH_OK;
    if (!st)
        st = encode(c, &w, NULL, 0, &bytes);
    if (st == PITH_ERR_ARGUMENT || bytes + (w.trellis ? TRELLIS_HEAD : 0) >= other_bytes)
        return PITH_OK; /* it cannot be coded so, or is shorter otherwise */
    uint8_t *dst = st ? NULL : pith_out_room(&stream, bytes + 1);
    if (!dst || encode(c, &w, dst, bytes, &stream.bytes)) {
        pith_out_clear(&stream);
        return pith_error_no_memory(err);
    }
    pith_out_clear(&c->index);
    c->index = stream;
    c->w = w;
    c->w.index_stream = (struct stream){stream.data, stream.bytes};
    return PITH_OK;
}
