/* SPDX-License-Identifier: MIT */
/* weight.c - weights from file form to dense or to parts: each call is one loop over chunks, with
 * the readers it wants (weight_decoder.h). Byte planes go another way (plane_decode.h). */
#include "core/build_choice.h"
#include "decode/plane_decode.h"
#include "decode/weight_decoder.h"

static uint32_t chunk_of(const struct decoder *d, uint64_t left)
{
    return left < d->chunk ? (uint32_t)left : d->chunk;
}

/* Plain elements of dense support, which nothing codes, lie there whole. */
static enum pith_status check_plain_dense(const struct weight *w)
{
    bool ok = w->support_stream.n_bytes == 0 && w->nnz == w->count &&
              pith_plain_size_ok(&w->index_stream, w->count, 8 * plain_bytes(w));
    return ok ? PITH_OK : PITH_ERR_CORRUPT;
}

/* Dense: the values are written where they belong. */
static enum pith_status expand_dense(struct decoder *d, float *dst)
{
    for (uint64_t at = 0; at < d->n_values;) {
        uint32_t n = chunk_of(d, d->n_values - at);
        enum pith_status st = pith_decoder_values(d, NULL, at, d->index, dst + at, n);
        if (st)
            return st;
        at += n;
    }
    return PITH_OK;
}

/* Runs at least once, so that an empty support is checked too. */
static enum pith_status expand_sparse(struct decoder *d, float *dst)
{
    uint64_t at = 0;
    memset(dst, 0, (size_t)d->w->count * sizeof *dst);
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        enum pith_status st = pith_decoder_positions(d, d->pos, n);
        if (st == PITH_OK)
            st = pith_decoder_values(d, d->pos, 0, d->index, d->value, n);
        if (st)
            return st;
        for (uint32_t i = 0; i < n; i++)
            dst[d->pos[i]] = d->value[i];
        at += n;
    } while (at < d->n_values);
    return PITH_OK;
}

/* The three ways: bytes in planes, bytes as they lie, everything else. */
enum pith_status pith_weight_expand_f32(const struct weight *w, float *dst, void *scratch)
{
    struct decoder *d;
    enum pith_status st;
    if (has_planes(w))
        return pith_planes_expand(w, dst, scratch);
    if (is_plain_dense(w)) {
        st = check_plain_dense(w);
        if (!st)
            pith_weight_elements(w, 0, (size_t)w->count, dst);
        return st;
    }
    st = pith_decoder_open(w, scratch, true, &d);
    if (st)
        return st;
    st = !is_sparse(w) ? expand_dense(d, dst) : expand_sparse(d, dst);
    return st ? st : pith_decoder_finish(d);
}

static void scatter(uint8_t *dst, const uint32_t *pos, const uint8_t *src, uint32_t n, size_t each)
{
    for (uint32_t i = 0; i < n; i++)
        copy_le(dst + pos[i] * each, src + i * each, each);
}

/* Elements of `each` bytes, side by side. */
static void copy_plain(uint8_t *dst, const uint8_t *src, uint64_t n, size_t each)
{
    if (LITTLE_ENDIAN_HERE) {
        memcpy(dst, src, (size_t)n * each);
        return;
    }
    for (uint64_t i = 0; i < n; i++, dst += each, src += each)
        copy_le(dst, src, each);
}

/* pos: NULL: side by side, in a loop of its own, which has vectors. */
static void put_integers(int8_t *dst, const uint32_t *pos, const float *value, uint32_t n)
{
    for (uint32_t i = 0; pos && i < n; i++)
        dst[pos[i]] = (int8_t)value[i];
    for (uint32_t i = 0; !pos && i < n; i++)
        dst[i] = (int8_t)value[i];
}

#ifdef __OPTIMIZE_SIZE__
#define DECODE_BY_TABLE 0
#else
#define DECODE_BY_TABLE 1
#endif

/* One codebook of integers, through the code's table. */
static enum pith_status expand_mapped(struct decoder *d, int8_t *dst)
{
    uint8_t byte[256];
    enum pith_status st = pith_decoder_codebook(d);
    for (uint32_t i = 0; i < d->w->n_centroids && !st; i++)
        byte[i] = (uint8_t)(int8_t)d->codebook[i];
    return st ? st : pith_decoder_bytes(d, byte, (uint8_t *)dst);
}

/* The integers of codebooks. */
static enum pith_status expand_integers(const struct weight *w, int8_t *dst, void *scratch)
{
    struct decoder *d;
    bool sparse = is_sparse(w);
    enum pith_status st = pith_decoder_open(w, scratch, true, &d);
    uint64_t at = 0;
    if (st)
        return st;
    if (DECODE_BY_TABLE && pith_decoder_maps(d))
        return expand_mapped(d, dst);
    if (sparse)
        memset(dst, 0, (size_t)w->count);
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        if (sparse)
            st = pith_decoder_positions(d, d->pos, n);
        if (!st)
            st = pith_decoder_values(d, sparse ? d->pos : NULL, at, d->index, d->value, n);
        if (st)
            return st;
        put_integers(dst + (sparse ? 0 : at), sparse ? d->pos : NULL, d->value, n);
        at += n;
    } while (at < d->n_values);
    return pith_decoder_finish(d);
}

/* Types other than f32 are stored plain, or as i8 by codebooks. */
enum pith_status pith_weight_expand_plain(const struct weight *w, void *dst, void *scratch)
{
    struct decoder *d;
    size_t each = pith_type_bytes(w->type);
    if (has_codebook(w))
        return w->type == PITH_I8 ? expand_integers(w, dst, scratch) : PITH_ERR_ARGUMENT;
    if (learns(w) || has_planes(w) || is_scaled(w)) /* f32 alone is stored so */
        return pith_weight_expand_f32(w, dst, scratch);
    const uint8_t *src = w->index_stream.bytes;
    enum pith_status st;
    if (!is_sparse(w)) {
        st = check_plain_dense(w);
        if (!st)
            copy_plain(dst, src, w->count, each);
        return st;
    }
    st = pith_decoder_open(w, scratch, true, &d);
    if (st)
        return st;
    memset(dst, 0, (size_t)w->count * each);
    uint64_t at = 0;
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        st = pith_decoder_positions(d, d->pos, n);
        if (st)
            return st;
        scatter(dst, d->pos, src + at * each, n, each);
        at += n;
    } while (at < d->n_values);
    return PITH_OK;
}

/* Run forms want parts without the dense tensor in between: a matrix of 99 % zeros is never
 * expanded. */
enum pith_status pith_weight_expand_parts(const struct weight *w, uint32_t *pos, uint8_t *index,
                                          float *value, void *scratch)
{
    struct decoder *d;
    bool sparse = is_sparse(w), codebook = has_codebook(w);
    /* codebook groups follow positions; adaptive elements come with theirs */
    bool want_pos =
        pos || (sparse && value && codebook) || (sparse && w->support == SUPPORT_ADAPTIVE);
    if (pos && w->count > UINT32_MAX)
        return PITH_ERR_LIMIT;
    if (is_plain_dense(w) || has_planes(w)) {
        for (uint64_t i = 0; pos && i < w->count; i++)
            pos[i] = (uint32_t)i;
        return value           ? pith_weight_expand_f32(w, value, scratch)
               : has_planes(w) ? PITH_OK
                               : check_plain_dense(w);
    }
    enum pith_status st = pith_decoder_open(w, scratch, want_pos, &d);
    uint64_t at = 0;
    if (st)
        return st;
    do {
        uint32_t n = chunk_of(d, d->n_values - at);
        uint32_t *chunk_pos = pos ? pos + at : d->pos;
        uint8_t *chunk_index = index ? index + at : d->index;
        if (want_pos)
            st = pith_decoder_positions(d, chunk_pos, n);
        if (st == PITH_OK && value)
            st = pith_decoder_values(d, sparse ? chunk_pos : NULL, at, chunk_index, value + at, n);
        else if (st == PITH_OK && index && codebook)
            st = pith_decoder_indices(d, chunk_index, n);
        if (st)
            return st;
        at += n;
    } while (at < d->n_values);
    return value ? pith_decoder_finish(d) : PITH_OK;
}

/* Groups one behind the other. */
enum pith_status pith_weight_codebooks(const struct weight *w, float *dst)
{
    struct codebook_reader r;
    if (!has_codebook(w) || w->n_centroids - 1 > 255)
        return PITH_ERR_ARGUMENT;
    enum pith_status st =
        pith_codebook_open(&r, w->codebook.bytes, w->codebook.n_bytes, w->n_groups, w->n_centroids);
    for (uint64_t g = 0; st == PITH_OK && g < w->n_groups; g++)
        st = pith_codebook_next(&r, dst + g * w->n_centroids);
    return st;
}
