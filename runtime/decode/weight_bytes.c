/* SPDX-License-Identifier: MIT */
/* weight_bytes.c - see weight_decoder.h: all of a dense weight as bytes, without chunks. A code's
 * table holds what is written in the place of a symbol, so that nothing goes through what was
 * decoded a second time. */
#include "core/build_choice.h"
#include "decode/weight_decoder.h"

#define PIECE 16384u /* bytes that stay in the first cache until they are mapped */
#define LONG_CODE 8u /* half bits: from there on a look-up of one symbol is the faster one */

/* In place, behind decoders whose tables cannot give bytes themselves. */
static void map_bytes(const uint8_t *byte, uint8_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = byte[v[i]];
}

/* Symbols of a table are all indices, so none has to be looked at. */
bool pith_decoder_maps(const struct decoder *d)
{
    const struct weight *w = d->w;
    if (is_sparse(w) || w->n_groups != 1)
        return false;
    return uses_index_table(w) ? d->index_lengths->n_symbols <= w->n_centroids
                               : uses_rans(w) && d->rans_table->n_symbols <= w->n_centroids;
}

/* By a table of one byte a look-up where codes are long, else by the one of up to three
 * symbols, which are mapped behind it. */
static enum pith_status huffman_bytes(struct decoder *d, const uint8_t *byte, uint8_t *dst)
{
    const struct stream *s = &d->w->index_stream;
    uint16_t *entries = (void *)d->index_entries; /* half of them, of half the size */
    uint32_t n;
    if (d->index_lengths->n_present > 1 && s->n_bytes / LONG_CODE >= d->n_values / 16) {
        pith_huff_build_bytes(d->index_lengths, byte, entries);
        return pith_huff_stream_bytes(&d->indices, entries, dst, d->w->cpu);
    }
    pith_decoder_build_table(d);
    for (uint64_t at = 0; at < d->n_values; at += n) {
        if (pith_huff_stream_symbols(&d->indices, dst + at, &n))
            return PITH_ERR_CORRUPT;
        map_bytes(byte, dst + at, n);
    }
    return PITH_OK;
}

/* No two symbols below n have the same byte? Then an escape differs from others by its byte, too.
 */
static bool all_differ(const uint8_t *byte, uint32_t n)
{
    bool used[256] = {false}, ok = true;
    for (uint32_t i = 0; i < n; i++) {
        ok = ok && !used[byte[i]];
        used[byte[i]] = true;
    }
    return ok;
}

/* Bytes in the place of symbols, in all that decoding reads. */
static void map_table(struct rans_table *t, uint32_t *entries, const uint8_t *byte)
{
    t->escape = byte[t->escape];
    map_bytes(byte, t->rare, t->n_rare);
    for (uint32_t i = 0; i < RANS_SLOTS; i++)
        entries[i] = (entries[i] & ~UINT32_C(255)) | byte[entries[i] & 255];
}

/* Escapes are recognized by the symbol that stands for them: where two symbols have one byte,
 * symbols are decoded and mapped afterwards. */
static enum pith_status rans_bytes(struct decoder *d, const uint8_t *byte, uint8_t *dst)
{
    struct rans_table *t = d->rans_table;
    bool late = t->single || (t->escapes && !all_differ(byte, t->n_symbols));
    uint32_t n;
    if (!late)
        map_table(t, d->rans_entries, byte);
    for (uint64_t at = 0; at < d->n_values; at += n) {
        n = d->n_values - at < PIECE ? (uint32_t)(d->n_values - at) : PIECE;
        if (pith_rans_next(d->rans, dst + at, n))
            return PITH_ERR_CORRUPT;
        if (late)
            map_bytes(byte, dst + at, n);
    }
    return PITH_OK;
}

enum pith_status pith_decoder_bytes(struct decoder *d, const uint8_t *byte, uint8_t *dst)
{
    return uses_rans(d->w) ? rans_bytes(d, byte, dst) : huffman_bytes(d, byte, dst);
}
