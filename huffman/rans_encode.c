/* SPDX-License-Identifier: MIT */
/* The encoder of rANS streams: symbols of a block from the last one to the first, words from the
 * end of a buffer to its beginning, so that the decoder reads both forwards. */
#include <stdlib.h>
#include <string.h>
#include "bit_writer.h"
#include "rans_encode.h"

#define BLOCK_BITS 16u /* at least */
#define MOST_BLOCK_BITS 20u
#define BLOCK_COST 100u /* bytes: states, and what a state holds at the end */
#define MOST_SHARE 400u /* of a block's bytes, one in so many */
#define STATE_BYTES (4u * RANS_LANES)

static uint64_t blocks_of(uint64_t n, uint32_t bits)
{
    return (n >> bits) + ((n & ((1u << bits) - 1)) != 0);
}

/* coded: bits of all n symbols. */
static uint32_t block_bits(uint64_t n, uint64_t coded)
{
    uint32_t bits = BLOCK_BITS;
    while (bits < MOST_BLOCK_BITS && n >> bits != 0 &&
           blocks_of(n, bits) * BLOCK_COST * MOST_SHARE > coded / 8)
        bits++;
    return bits;
}

uint64_t pith_rans_stream_bytes(const struct pith_rans_code *code,
                                const uint64_t hist[PITH_SYMBOLS], uint64_t n)
{
    uint64_t bits = pith_rans_cost_bits(code, hist);
    if (code->frequencies.single || bits == UINT64_MAX)
        return code->frequencies.single ? 0 : UINT64_MAX;
    return 1 + (bits + 7) / 8 + blocks_of(n, block_bits(n, bits)) * BLOCK_COST;
}

/* At most RANS_BITS bits a symbol, in words of 16, and a byte where it is an escape. */
size_t pith_rans_bound(uint64_t n)
{
    return (size_t)(n + (n >> 1) + n + 64 + blocks_of(n, BLOCK_BITS) * (STATE_BYTES + 2 * 4));
}

/* ---- one block ------------------------------------------------------------------------------- */

struct block {
    uint32_t state[RANS_LANES];
    uint16_t *words; /* filled from the end */
    uint8_t *escapes;
    size_t room, n_words, escape_bytes;
};

static bool is_escaped(const struct rans_table *t, uint8_t v)
{
    return t->escapes && v < t->n_symbols && (v == t->escape || t->start[v + 1] == t->start[v]);
}

static void write_escapes(const struct rans_table *t, const uint8_t *symbols, size_t n,
                          struct block *b)
{
    struct bit_writer w = bit_writer_to(b->escapes, b->room);
    uint8_t number[PITH_SYMBOLS] = {0};
    for (uint32_t i = 0; i < t->n_rare; i++)
        number[t->rare[i]] = (uint8_t)i;
    for (size_t i = 0; i < n; i++)
        if (is_escaped(t, symbols[i]))
            bw_bits(&w, number[symbols[i]], t->rare_bits);
    b->escape_bytes = (size_t)(bw_close(&w) - b->escapes);
}

/* false: a symbol has no code. */
static bool encode_block(const struct rans_table *t, const uint8_t *symbols, size_t n,
                         struct block *b)
{
    b->n_words = 0;
    for (uint32_t i = 0; i < RANS_LANES; i++)
        b->state[i] = RANS_LOW;
    for (size_t i = n; i-- > 0;) {
        uint32_t v = is_escaped(t, symbols[i]) ? t->escape : symbols[i];
        uint32_t f = v < t->n_symbols ? (uint32_t)t->start[v + 1] - t->start[v] : 0;
        uint32_t x = b->state[i % RANS_LANES];
        if (f == 0)
            return false;
        if (x >> (32 - RANS_BITS) >= f) {
            b->words[b->room - ++b->n_words] = (uint16_t)x;
            x >>= 16;
        }
        b->state[i % RANS_LANES] = (x / f << RANS_BITS) + x % f + t->start[v];
    }
    write_escapes(t, symbols, n, b);
    return true;
}

static bool block_new(struct block *b, size_t symbols)
{
    b->room = symbols;
    b->words = malloc(symbols * sizeof *b->words + 1);
    b->escapes = malloc(symbols + 1);
    return b->words && b->escapes;
}

static void block_free(struct block *b)
{
    free(b->words);
    free(b->escapes);
}

/* ---- the stream ------------------------------------------------------------------------------ */

struct bytes_to {
    uint8_t *at, *end; /* at NULL: counted alone */
    size_t n;
};

static void put(struct bytes_to *o, const void *p, size_t n)
{
    if ((size_t)(o->end - o->at) >= n) {
        memcpy(o->at, p, n);
        o->at += n;
    }
    o->n += n;
}

static void put_varint(struct bytes_to *o, uint64_t v)
{
    for (; v > 127; v >>= 7)
        put(o, &(uint8_t){(uint8_t)(v | 128)}, 1);
    put(o, &(uint8_t){(uint8_t)v}, 1);
}

static void put_block(struct bytes_to *o, const struct block *b)
{
    for (uint32_t i = 0; i < RANS_LANES; i++) {
        uint8_t bytes[4];
        store_le32(bytes, b->state[i]);
        put(o, bytes, 4);
    }
    for (size_t i = b->room - b->n_words; i < b->room; i++) {
        uint8_t bytes[2];
        store_le16(bytes, b->words[i]);
        put(o, bytes, 2);
    }
    put(o, b->escapes, b->escape_bytes);
}

/* Blocks go to a memory of their own, since their sizes stand in front of all. */
static enum pith_status encode_blocks(const struct rans_table *t, const uint8_t *symbols, size_t n,
                                      uint32_t bits, struct bytes_to *directory,
                                      struct bytes_to *blocks)
{
    struct block b;
    size_t room = n < (size_t)1 << bits ? n : (size_t)1 << bits;
    enum pith_status st = block_new(&b, room) ? PITH_OK : PITH_ERR_MEMORY;
    for (size_t from = 0; from < n && !st; from += (size_t)1 << bits) {
        size_t m = n - from < (size_t)1 << bits ? n - from : (size_t)1 << bits;
        if (!encode_block(t, symbols + from, m, &b)) {
            st = PITH_ERR_ARGUMENT;
            break;
        }
        put_varint(directory, b.n_words);
        if (t->escapes)
            put_varint(directory, b.escape_bytes);
        put_block(blocks, &b);
    }
    block_free(&b);
    return st;
}

static bool all_are(const uint8_t *symbols, size_t n, uint8_t v)
{
    for (size_t i = 0; i < n; i++)
        if (symbols[i] != v)
            return false;
    return true;
}

enum pith_status pith_rans_encode(const struct pith_rans_code *code, const uint8_t *symbols,
                                  size_t n, uint8_t *dst, size_t cap, size_t *bytes)
{
    const struct rans_table *t = &code->frequencies;
    uint64_t hist[PITH_SYMBOLS] = {0};
    *bytes = 0;
    if (n == 0)
        return PITH_OK;
    if (t->single)
        return all_are(symbols, n, (uint8_t)(t->n_symbols - 1)) ? PITH_OK : PITH_ERR_ARGUMENT;
    pith_histogram_add(hist, symbols, n);
    uint64_t coded = pith_rans_cost_bits(code, hist);
    if (coded == UINT64_MAX)
        return PITH_ERR_ARGUMENT;
    size_t room = pith_rans_bound(n);
    uint8_t *memory = malloc(room), bits = (uint8_t)block_bits(n, coded);
    if (!memory)
        return PITH_ERR_MEMORY;
    struct bytes_to head = {dst, dst + cap, 0}, blocks = {memory, memory + room, 0};
    put(&head, &bits, 1);
    enum pith_status st = encode_blocks(t, symbols, n, bits, &head, &blocks);
    if (!st) {
        put(&head, memory, blocks.n);
        *bytes = head.n;
        st = head.n > cap ? PITH_ERR_SPACE : PITH_OK;
    }
    free(memory);
    return st;
}
