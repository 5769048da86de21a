/* SPDX-License-Identifier: MIT */
/* device_huffman.c - weights of codes (pack_codes.c) made on the device from their Huffman codes,
 * while a plan is made: the coded bytes are copied there, a kernel decodes them, another makes
 * codes of the indices. Where a stream is damaged the kernel says so, and the plan is refused as it
 * would be by the CPU's decoder. */
#include <stdlib.h>
#include <string.h>
#include "device_huffman.h"

bool pith_device_decodes(const struct pith_cuda *cuda, const struct constant *c)
{
    struct huffman_layout h;
    const struct weight *w = c->key;
    return c->is_weight && (c->form == FORM_CODES || c->form == FORM_CODES_TURNED) &&
           w->nnz >= cuda->decode_least && pith_device_huffman_layout(w, &h);
}

void pith_device_huffman_args(const struct weight *w, bool turned, const struct huffman_layout *h,
                              device_address from, device_address to, struct huffman_args *decode,
                              struct symbols_args *make)
{
    struct codes_layout c = {0};
    pith_device_codes_layout(w, turned, &c);
    const bool dense = w->support == SUPPORT_DENSE;
    uint8_t *base = (uint8_t *)(uintptr_t)from, *form = (uint8_t *)(uintptr_t)to;
    *decode = (struct huffman_args){.words = (const void *)(base + h->words),
                                    .begin = (const void *)base,
                                    .table = (const void *)(base + h->table),
                                    .symbol = base + h->symbol,
                                    .fault = (void *)(base + h->fault),
                                    .n = h->symbols,
                                    .subs = h->subs,
                                    .table_bits = h->table_bits,
                                    .centroids = w->n_centroids};
    *make = (struct symbols_args){.symbol = base + h->symbol,
                                  .support = dense ? NULL : (const void *)(base + h->support),
                                  .rank = dense ? NULL : (const void *)(base + h->rank),
                                  .word = (void *)(form + c.words),
                                  .n = (uint32_t)((c.bytes - c.words) / sizeof(uint32_t)),
                                  .rows = c.rows,
                                  .cols = c.cols,
                                  .steps = c.steps,
                                  .bits = c.bits,
                                  .row_step = turned ? 1 : c.cols,
                                  .column_step = turned ? c.rows : 1};
}

struct decoding {
    const struct pith_cuda *cuda;
    device_stream stream;
    const struct weight *w;
    bool turned;
    device_address to;
    struct huffman_layout h;
    uint8_t *coded; /* on the host */
};

/* Everything that is put on the stream, and the faults that come back, to [subs]. */
static int decode(const struct decoding *k, uint32_t *fault)
{
    const struct pith_cuda *d = k->cuda;
    const size_t bytes = k->h.subs * sizeof *fault;
    struct huffman_args decode;
    struct symbols_args make;
    device_address room;
    int result = d->cuMemAlloc_v2(&room, k->h.all);
    if (result)
        return result;
    pith_device_huffman_args(k->w, k->turned, &k->h, room, k->to, &decode, &make);
    const uint32_t subs[3] = {(k->h.subs + HUFFMAN_SUBS - 1) / HUFFMAN_SUBS, 1, 1};
    const uint32_t words[3] = {(make.n + LAUNCH_THREADS - 1) / LAUNCH_THREADS, 1, 1};
    result = d->cuMemcpyHtoDAsync_v2(room, k->coded, k->h.bytes, k->stream);
    if (!result)
        result = pith_driver_launch(d, LAUNCH_huffman_symbols, subs, &decode, k->stream);
    if (!result)
        result = pith_driver_launch(d, LAUNCH_codes_of_symbols, words, &make, k->stream);
    if (!result)
        result = d->cuMemcpyDtoHAsync_v2(fault, room + k->h.fault, bytes, k->stream);
    int waited = d->cuStreamSynchronize(k->stream);
    d->cuMemFree_v2(room);
    return result ? result : waited;
}

/* *st: what the streams are. */
static int decode_and_check(const struct decoding *k, enum pith_status *st)
{
    uint32_t *fault = malloc(k->h.subs * sizeof *fault);
    int result = fault ? decode(k, fault) : 0;
    *st = fault ? *st : PITH_ERR_MEMORY;
    for (uint32_t i = 0; fault && i < k->h.subs && !result; i++)
        *st = fault[i] ? PITH_ERR_CORRUPT : *st;
    free(fault);
    return result;
}

/* Codebooks are made on the host, in the room that the coded bytes then take. */
enum pith_status pith_device_decode(const struct pith_cuda *cuda, device_stream stream,
                                    const struct constant *c, device_address to, int *result)
{
    struct decoding k = {.cuda = cuda, .stream = stream, .w = c->key, .to = to};
    k.turned = c->form == FORM_CODES_TURNED;
    struct codes_layout codes = {0};
    pith_device_huffman_layout(k.w, &k.h);
    pith_device_codes_layout(k.w, k.turned, &codes);
    uint64_t bytes = k.h.bytes > codes.words ? k.h.bytes : codes.words;
    k.coded = aligned_alloc(64, (bytes + 63) & ~(uint64_t)63);
    if (!k.coded)
        return PITH_ERR_MEMORY;
    enum pith_status st = pith_device_codes_books(k.w, k.coded);
    if (!st)
        *result = cuda->cuMemcpyHtoDAsync_v2(to, k.coded, codes.words, stream);
    if (!st && !*result)
        *result = cuda->cuStreamSynchronize(stream);
    if (!st && !*result)
        st = pith_device_huffman_pack(k.w, &k.h, k.coded);
    if (!st && !*result)
        *result = decode_and_check(&k, &st);
    free(k.coded);
    return st;
}
