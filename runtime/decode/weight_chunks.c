/* SPDX-License-Identifier: MIT */
/* weight_chunks.c - see weight_decoder.h: the next positions, indices and values. */
#include "core/build_choice.h"
#include "decode/weight_decoder.h"

/* ---- positions ------------------------------------------------------------------------------- */

/* Eight bytes at a time; bits behind the end are 0. */
static bool next_bitmap_word(struct decoder *d)
{
    const struct stream *s = &d->w->support_stream;
    size_t at = (size_t)d->bitmap.at, left = s->n_bytes - at;
    if (left == 0)
        return false;
    d->bitmap.word = 0;
    d->bitmap.base = (uint64_t)at * 8;
    if (left >= 8) {
        d->bitmap.word = load_le64(s->bytes + at);
        d->bitmap.at += 8;
        return true;
    }
    for (size_t i = 0; i < left; i++)
        d->bitmap.word |= (uint64_t)s->bytes[at + i] << (8 * i);
    d->bitmap.at += left;
    return true;
}

/* Trailing zeros, one element a turn. */
static bool next_bitmap_positions(struct decoder *d, uint32_t *pos, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        while (d->bitmap.word == 0)
            if (!next_bitmap_word(d))
                return false;
        for (; d->bitmap.word && i < n; i++) {
            pos[i] = (uint32_t)(d->bitmap.base + (uint64_t)__builtin_ctzll(d->bitmap.word));
            d->bitmap.word &= d->bitmap.word - 1;
        }
    }
    /* ascending, so the last one shows whether a tail bit is set */
    return n == 0 || pos[n - 1] < d->w->count;
}

/* Whether no bit is left behind the last stored element: one more would be an element without a
 * value. */
static bool bitmap_ends(struct decoder *d)
{
    while (d->bitmap.word == 0)
        if (!next_bitmap_word(d))
            return true;
    return false;
}

/* Whatever the support, it is tested to end where its last element is. That of classes cannot be
 * decoded without indices: they stay in the decoder's own buffer, so they have to be fetched before
 * the next positions overwrite them. */
enum pith_status pith_decoder_positions(struct decoder *d, uint32_t *pos, uint32_t n)
{
    bool ok = true;
    switch (d->w->support) {
    case SUPPORT_DENSE:
        for (uint32_t i = 0; i < n; i++)
            pos[i] = (uint32_t)d->pos_taken + i;
        break;
    case SUPPORT_BITMAP:
        ok = BUILT_PART(BITMAPS) && next_bitmap_positions(d, pos, n) &&
             (d->pos_taken + n < d->n_values || bitmap_ends(d));
        break;
    case SUPPORT_GAPS:
        ok = n == 0 || (BUILT_PART(GAPS) && pith_gap_next(d->gaps, pos, n) == PITH_OK);
        break;
    case SUPPORT_ADAPTIVE:
        ok = uses_classes(d->w) && pith_classes_next(d->classes, pos, d->index, n) == PITH_OK;
        break;
    }
    d->pos_taken += n;
    return ok ? PITH_OK : PITH_ERR_CORRUPT;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* Eight fields of b bits are b bytes, so every eighth index begins on a byte. Words of 8 bytes
 * hold eight fields of up to 8 bits. */
static void unpack_indices(const struct stream *s, uint64_t first, uint32_t bits, uint8_t *dst,
                           uint32_t n)
{
    size_t at = (size_t)(first / 8 * bits);
    uint64_t mask = (1u << bits) - 1;
    for (uint32_t i = 0; i < n; i += 8, at += bits) {
        uint64_t word = 0;
        uint32_t m = n - i < 8 ? n - i : 8;
        if (s->n_bytes - at >= 8)
            word = load_le64(s->bytes + at);
        else
            for (size_t k = at; k < s->n_bytes; k++)
                word |= (uint64_t)s->bytes[k] << (8 * (k - at));
        for (uint32_t k = 0; k < m; k++, word >>= bits)
            dst[i + k] = (uint8_t)(word & mask);
    }
}

void pith_decoder_build_table(struct decoder *d)
{
    if (d->index_lengths->n_present > 1)
        pith_huff_build_table(d->index_lengths, d->indices.table_bits, d->index_entries);
}

/* A group of the stream is decoded into scratch, and chunks are cut from it. */
static bool next_huffman_indices(struct decoder *d, uint8_t *dst, uint32_t n)
{
    if (n && d->indices.next == 0)
        pith_decoder_build_table(d);
    while (n) {
        if (d->block_left == 0) {
            if (pith_huff_stream_symbols(&d->indices, d->index_symbols, &d->block_left))
                return false;
            d->block = d->index_symbols;
        }
        uint32_t m = n < d->block_left ? n : d->block_left;
        memcpy(dst, d->block, m);
        d->block += m;
        d->block_left -= m;
        dst += m;
        n -= m;
    }
    return true;
}

/* All are looked at, without a way out at the first too large: such a loop becomes vectors. */
static uint32_t largest(const uint8_t *v, uint32_t n)
{
    uint8_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        max = v[i] > max ? v[i] : max;
    return max;
}

/* With positions they came along with those. */
static enum pith_status next_of_classes(struct decoder *d, uint8_t *index, uint32_t n)
{
    if (d->w->support != SUPPORT_ADAPTIVE)
        return pith_classes_next(d->classes, NULL, index, n);
    if (index != d->index)
        memcpy(index, d->index, n);
    return PITH_OK;
}

enum pith_status pith_decoder_indices(struct decoder *d, uint8_t *dst, uint32_t n)
{
    const struct weight *w = d->w;
    /* Only where an index could name no centroid is the chunk looked through. */
    uint32_t possible;
    if (uses_classes(w))
        return next_of_classes(d, dst, n);
    if (BUILT_PART(HUFFMAN) && w->code == CODE_HUFFMAN) {
        if (!next_huffman_indices(d, dst, n))
            return PITH_ERR_CORRUPT;
        possible = d->index_lengths ? d->index_lengths->n_symbols : 0;
    } else if (uses_rans(w)) {
        if (n && pith_rans_next(d->rans, dst, n))
            return PITH_ERR_CORRUPT;
        possible = n ? d->rans_table->n_symbols : 0;
    } else {
        unpack_indices(&w->index_stream, d->taken, w->index_bits, dst, n);
        possible = 1u << w->index_bits;
    }
    d->taken += n;
    if (possible > w->n_centroids && n && largest(dst, n) >= w->n_centroids)
        return PITH_ERR_CORRUPT;
    /* bits that no index uses have to be 0, so that a change there does not stay unnoticed */
    if (w->code == CODE_PLAIN && d->taken == d->n_values && n &&
        !pith_plain_padding_ok(w, d->n_values))
        return PITH_ERR_CORRUPT;
    return PITH_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Past the last group pith_codebook_next() fails, so no element can lie beyond all codebooks. */
enum pith_status pith_decoder_codebook(struct decoder *d)
{
    enum pith_status st = pith_codebook_next(&d->codebooks, d->codebook);
    d->group_end += d->w->group_elems;
    if (!st && !pith_centroids_ok(d->w, d->codebook))
        st = PITH_ERR_CORRUPT;
    return st;
}

/* value[i] of element pos[i], or of element first + i when pos is NULL. A run of elements shares
 * a group, and a group's codebook is read when its first element comes. */
static enum pith_status look_up_values(struct decoder *d, const uint32_t *pos, uint64_t first,
                                       const uint8_t *index, float *value, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        while ((pos ? pos[i] : first + i) >= d->group_end) {
            enum pith_status st = pith_decoder_codebook(d);
            if (st)
                return st;
        }
        uint32_t end = n;
        if (!pos && d->group_end - first < n)
            end = (uint32_t)(d->group_end - first);
        if (pos && pos[n - 1] >= d->group_end)
            /* positions ascend and the last one is in a later group, which ends the loop */
            for (end = i + 1; pos[end] < d->group_end; end++)
                ;
        for (; i < end; i++)
            value[i] = d->codebook[index[i]];
    }
    return PITH_OK;
}

enum pith_status pith_decoder_finish(struct decoder *d)
{
    enum pith_status st = PITH_OK;
    while (has_codebook(d->w) && st == PITH_OK && d->codebooks.groups_left)
        st = pith_decoder_codebook(d);
    return st;
}

enum pith_status pith_decoder_values(struct decoder *d, const uint32_t *pos, uint64_t first,
                                     uint8_t *index, float *value, uint32_t n)
{
    const struct weight *w = d->w;
    if (has_adaptive_floats(w))
        return pith_adaptive_floats(d->floats, value, n);
    /* open_values() checked that the stream is as long as all elements */
    if (!has_codebook(w)) {
        pith_weight_elements(w, d->taken, n, value);
        d->taken += n;
        return PITH_OK;
    }
    enum pith_status st = pith_decoder_indices(d, index, n);
    return st ? st : look_up_values(d, pos, first, index, value, n);
}
