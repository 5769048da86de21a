/* SPDX-License-Identifier: MIT */
/* pack_huffman.c - see pack_huffman.h. */
#include "pack_huffman.h"
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "decode/huff_decode.h"

static bool read_lengths(const struct weight *w, struct huff_lengths *lengths)
{
    struct bit_reader r = bit_reader_of(w->index_table.bytes, w->index_table.n_bytes);
    return pith_huff_read_lengths(&r, lengths) == PITH_OK && br_at_end(&r);
}

/* A single symbol has no codes: nothing is to be decoded there. */
bool pith_device_huffman_layout(const struct weight *w, struct huffman_layout *h)
{
    struct codes_layout c;
    struct huff_lengths lengths;
    bool dense = w->support == SUPPORT_DENSE;
    if (w->code != CODE_HUFFMAN || (!dense && w->support != SUPPORT_BITMAP) ||
        !pith_device_codes_layout(w, false, &c) || c.plain ||
        w->index_stream.n_bytes >= UINT64_C(1) << 31 || w->nnz == 0 || !read_lengths(w, &lengths) ||
        lengths.n_present < 2)
        return false;
    h->symbols = (uint32_t)w->nnz;
    h->subs = (uint32_t)pith_huff_sub_streams(w->nnz);
    h->table_bits = pith_huff_table_bits(&lengths, w->nnz);
    const uint64_t ranks = dense ? 0 : (w->count + HUFFMAN_RANKED - 1) / HUFFMAN_RANKED * 4;
    h->table = pith_pack_aligned(((uint64_t)h->subs + 1) * 4);
    h->rank = h->table + pith_pack_aligned(UINT64_C(2) << h->table_bits);
    h->support = h->rank + pith_pack_aligned(ranks);
    h->words = h->support + (dense ? 0 : pith_pack_aligned((w->count + 31) / 32 * 4));
    h->bytes = h->words + pith_pack_aligned(w->index_stream.n_bytes);
    h->fault = h->bytes;
    h->symbol = h->fault + pith_pack_aligned((uint64_t)h->subs * 4);
    h->all = h->symbol + pith_pack_aligned(h->symbols);
    return true;
}

/* The directory was checked when the stream was opened: all sub-streams lie in it. */
static void put_begins(const struct weight *w, struct huff_stream *s, uint32_t *begin)
{
    uint64_t at = (uint64_t)(s->bytes - w->index_stream.bytes);
    for (uint64_t j = 0; j < s->n_subs; j++) {
        begin[j] = (uint32_t)at;
        at += s->base + (j + 1 < s->n_subs ? br_bits(&s->sizes, s->width) : 0);
    }
    begin[s->n_subs] = (uint32_t)w->index_stream.n_bytes;
}

/* Symbol and length of the code that the next bits begin with. */
static enum pith_status put_table(const struct huff_lengths *lengths, uint32_t bits, uint16_t *to)
{
    uint32_t *entries = malloc(sizeof *entries << bits);
    if (!entries)
        return PITH_ERR_MEMORY;
    pith_huff_build_table(lengths, bits, entries);
    for (uint32_t i = 0; i < 1u << bits; i++)
        to[i] = (uint16_t)((entries[i] & 255) | (uint32_t)lengths->len[entries[i] & 255] << 8);
    free(entries);
    return PITH_OK;
}

/* Bits behind the last element must be 0, and nnz of the others 1. */
static enum pith_status put_support(const struct weight *w, uint32_t *support, uint32_t *rank)
{
    uint64_t bytes = (w->count + 7) / 8, words = (w->count + 31) / 32, found = 0;
    if (w->support_stream.n_bytes != bytes)
        return PITH_ERR_CORRUPT;
    memcpy(support, w->support_stream.bytes, (size_t)bytes);
    for (uint64_t i = 0; i < words; i++) {
        if (i % (HUFFMAN_RANKED / 32) == 0)
            rank[i / (HUFFMAN_RANKED / 32)] = (uint32_t)found;
        found += (uint64_t)__builtin_popcount(support[i]);
    }
    bool tail = w->count % 32 && support[words - 1] >> w->count % 32 != 0;
    return tail || found != w->nnz ? PITH_ERR_CORRUPT : PITH_OK;
}

enum pith_status pith_device_huffman_pack(const struct weight *w, const struct huffman_layout *h,
                                          uint8_t *to)
{
    struct huff_lengths lengths;
    struct huff_stream s;
    memset(to, 0, (size_t)h->bytes);
    if (!read_lengths(w, &lengths) ||
        pith_huff_stream_open(&s, w->index_stream, w->nnz, &lengths, NULL, 0))
        return PITH_ERR_CORRUPT;
    put_begins(w, &s, (uint32_t *)(void *)to);
    memcpy(to + h->words, w->index_stream.bytes, w->index_stream.n_bytes);
    enum pith_status st = put_table(&lengths, h->table_bits, (uint16_t *)(void *)(to + h->table));
    if (!st && w->support == SUPPORT_BITMAP)
        st = put_support(w, (uint32_t *)(void *)(to + h->support),
                         (uint32_t *)(void *)(to + h->rank));
    return st;
}
