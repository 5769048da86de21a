/* SPDX-License-Identifier: MIT */
/* pack_adaptive.c - one constant as an adaptive stream, with the source among the tensors before it
 * that makes it shortest (docs/format-streams.md, section 8), its description included. Integers
 * that are levels of a trellis are recognized: nothing else fits for long. */
#include <stdlib.h>
#include "decode/adaptive_decode.h"
#include "huffman/adaptive_encode.h"
#include "decode/adaptive_model.h"
#include "base/error_fill.h"
#include "base/narrow_float.h"
#include "pack.h"

#define TRELLIS_HEAD 1u  /* bytes by which a description is longer */
#define SOURCES_TRIED 3u /* a weight and its bias lie between a unit's row and its column */

struct choice {
    struct weight w;
    size_t stream, all; /* bytes; all: with what else depends on the choice */
};

static struct adaptive_input input_of(const struct pack_const *c, const struct weight *w)
{
    const struct pith_const *k = c->content;
    struct adaptive_input in = {.w = w, .mask = k->mask};
    if (k->codebook)
        in.index = k->codebook->index;
    else
        in.data = k->data;
    return in;
}

static size_t varint_bytes(uint64_t v)
{
    size_t n = 1;
    for (; v > 127; v >>= 7)
        n++;
    return n;
}

/* Of the tensor's description (docs/format.md, section 5), as far as its source decides. */
static size_t head_bytes(const struct pack_const *c, uint32_t at, const struct weight *w)
{
    const struct shape *before = at >= 2 ? &c[-2].w.shape : NULL;
    uint32_t fed = before && before->rank >= 2 ? before->dim[0] : 0, cols = w->shape.dim[1];
    uint32_t code = pith_shape_code(&w->shape, at >= 1 ? &c[-1].w.shape : NULL);
    enum short_kind kind = pith_weight_short_kind(w, code, fed);
    size_t bytes = 0;
    if (kind == SHORT_MATRIX || kind == SHORT_CONV)
        bytes += varint_bytes(cols);
    else if (kind == SHORT_MATRIX_MAPS)
        bytes += varint_bytes(cols / fed);
    else if (kind == SHORT_KINDS && !pith_weight_is_adaptive_vector(w, code))
        bytes += 1 + (code == SHAPE_PREV ? 0 : varint_bytes(cols));
    return bytes;
}

/* back 0: none */
static bool use_source(struct weight *w, const struct pack_const *c, uint32_t back)
{
    w->source_back = back;
    w->source_rows = 0;
    if (back == 0)
        return true;
    return pith_adaptive_feed(w, &c[-(int32_t)back].w);
}

static enum pith_status write_stream(struct pack_const *c, const struct choice *best)
{
    struct byte_out stream = {0};
    struct adaptive_input in = input_of(c, &best->w);
    uint8_t *dst = pith_out_room(&stream, best->stream + 1);
    enum pith_status st =
        dst ? pith_adaptive_encode(&in, dst, best->stream, &stream.bytes) : PITH_ERR_MEMORY;
    if (st) {
        pith_out_clear(&stream);
        return st;
    }
    pith_out_clear(&c->index);
    c->index = stream;
    c->w = best->w;
    c->w.index_stream = (struct stream){stream.data, stream.bytes};
    return PITH_OK;
}

/* The source that gives the shortest description and stream. */
static enum pith_status choose_source(const struct pack_const *c, uint32_t at, struct choice *best)
{
    struct choice one = *best;
    for (uint32_t back = 0; back <= at && back <= SOURCES_TRIED; back++) {
        if (!use_source(&one.w, c, back))
            continue;
        struct adaptive_input in = input_of(c, &one.w);
        if (pith_adaptive_encode(&in, NULL, 0, &one.stream))
            return PITH_ERR_MEMORY;
        one.all = one.stream + head_bytes(c, at, &one.w);
        if (one.all < best->all)
            *best = one;
    }
    return PITH_OK;
}

/* The same as levels of a trellis, if they are and that is shorter. An encoder that meets an index
 * which is none gives up there. */
static enum pith_status try_trellis(const struct pack_const *c, struct choice *best)
{
    static const uint8_t states[] = {8, 16};
    const struct choice plain = *best;
    bool can = plain.stream != SIZE_MAX && plain.w.grid == GRID_CODEBOOK;
    for (size_t i = 0; i < sizeof states && can; i++) {
        struct choice one = plain;
        one.w.trellis = states[i];
        struct adaptive_input in = input_of(c, &one.w);
        enum pith_status st = pith_adaptive_encode(&in, NULL, 0, &one.stream);
        if (st == PITH_ERR_MEMORY)
            return st;
        one.all = plain.all - plain.stream + one.stream + TRELLIS_HEAD;
        if (!st && one.all < best->all)
            *best = one;
    }
    return PITH_OK;
}

enum pith_status pith_pack_adaptive(struct pack_const *c, uint32_t at, uint64_t other_bytes,
                                    struct pith_error *err)
{
    struct choice best = {.w = c->w, .stream = SIZE_MAX, .all = SIZE_MAX};
    best.w.code = CODE_ADAPTIVE;
    if (pith_type_is_narrow(best.w.type))
        best.w.type = PITH_F32; /* mantissa bits that are 0 everywhere take nothing in the stream */
    if (best.w.support != SUPPORT_DENSE)
        best.w.support = SUPPORT_ADAPTIVE;
    if (!pith_adaptive_allows(&best.w))
        return PITH_OK;
    if (choose_source(c, at, &best) || try_trellis(c, &best))
        return pith_error_no_memory(err);
    uint64_t bytes = best.stream + (best.w.trellis ? TRELLIS_HEAD : 0);
    if (best.stream == SIZE_MAX || bytes >= other_bytes)
        return PITH_OK;
    return write_stream(c, &best) ? pith_error_no_memory(err) : PITH_OK;
}
