/* SPDX-License-Identifier: MIT */
/* Coded streams (docs/format-streams.md section 3): sizes of all sub-streams first, since the
 * directory stands in front, then the codes. */
#include <string.h>
#include "decode/huff_decode.h"
#include "huff_write.h"

/* Bytes of the sub-stream of symbols [from, to); SIZE_MAX when one has no code. */
static size_t sub_stream_bytes(const struct pith_huff_code *code, const struct symbol_source *src,
                               size_t from, size_t to)
{
    uint64_t hist[PITH_SYMBOLS] = {0}, bits;
    pith_histogram_add(hist, src->symbols + from, to - from);
    bits = pith_huff_cost_bits(code, hist);
    if (bits == UINT64_MAX)
        return SIZE_MAX;
    for (uint32_t s = 0; src->extra && s < PITH_SYMBOLS; s++)
        bits += hist[s] * src->extra_bits[s];
    return (size_t)(bits / 8 + (bits % 8 != 0));
}

static void write_codes(struct bit_writer *w, const struct pith_huff_code *code, const uint8_t *s,
                        size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (uint32_t k = 0; k < 4; k++) { /* 7 + 4 * 12 bits at most */
            w->acc |= (uint64_t)code->bits[s[i + k]] << w->n;
            w->n += code->len[s[i + k]];
        }
        bw_flush(w);
    }
    for (; i < n; i++)
        bw_bits(w, code->bits[s[i]], code->len[s[i]]);
}

static void write_extra(struct bit_writer *w, const struct symbol_source *src, size_t from,
                        size_t to)
{
    for (size_t i = from; i < to; i++) {
        uint32_t n = src->extra_bits[src->symbols[i]];
        bw_bits(w, src->extra[i] & ((1u << n) - 1), n);
    }
}

static uint8_t *write_varint(uint8_t *at, uint8_t *end, uint64_t v)
{
    for (; at < end; v >>= 7) {
        *at++ = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        if (v <= 0x7f)
            return at;
    }
    return NULL;
}

/* The directory for these sizes (all but the last sub-stream's); NULL when it does not fit. */
static uint8_t *write_directory(uint8_t *dst, uint8_t *end, const struct pith_huff_code *code,
                                const struct symbol_source *src, uint64_t n_subs)
{
    size_t least = SIZE_MAX, most = 0;
    for (uint64_t j = 0; j + 1 < n_subs; j++) {
        size_t size = sub_stream_bytes(code, src, (size_t)huff_sub_begin(src->n, n_subs, j),
                                       (size_t)huff_sub_begin(src->n, n_subs, j + 1));
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    uint32_t width = most > least ? 32 - (uint32_t)__builtin_clz((uint32_t)(most - least)) : 0;
    dst = write_varint(dst, end, least);
    if (!dst || dst == end)
        return NULL;
    *dst++ = (uint8_t)width;
    struct bit_writer w = bit_writer_to(dst, (size_t)(end - dst));
    for (uint64_t j = 0; j + 1 < n_subs; j++) {
        size_t size = sub_stream_bytes(code, src, (size_t)huff_sub_begin(src->n, n_subs, j),
                                       (size_t)huff_sub_begin(src->n, n_subs, j + 1));
        bw_bits(&w, (uint32_t)(size - least), width);
    }
    dst = bw_close(&w);
    return w.full ? NULL : dst;
}

static bool all_have_codes(const struct pith_huff_code *code, const struct symbol_source *src)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    pith_histogram_add(hist, src->symbols, src->n);
    return pith_huff_cost_bits(code, hist) != UINT64_MAX;
}

enum pith_status pith_huff_encode_source(const struct pith_huff_code *code,
                                         const struct symbol_source *src, uint8_t *dst, size_t cap,
                                         size_t *bytes)
{
    uint64_t n_subs = src->n ? pith_huff_sub_streams(src->n) : 0;
    uint8_t *at = dst, *end = dst + cap;
    if (!all_have_codes(code, src))
        return PITH_ERR_ARGUMENT;
    if (n_subs > 1 && !(at = write_directory(at, end, code, src, n_subs)))
        return PITH_ERR_SPACE;
    for (uint64_t j = 0; j < n_subs; j++) {
        size_t from = (size_t)huff_sub_begin(src->n, n_subs, j);
        size_t to = (size_t)huff_sub_begin(src->n, n_subs, j + 1);
        struct bit_writer w = bit_writer_to(at, (size_t)(end - at));
        write_codes(&w, code, src->symbols + from, to - from);
        if (src->extra)
            write_extra(&w, src, from, to);
        at = bw_close(&w);
        if (w.full)
            return PITH_ERR_SPACE;
    }
    *bytes = (size_t)(at - dst);
    return PITH_OK;
}

enum pith_status pith_huff_encode(const struct pith_huff_code *code, const uint8_t *symbols,
                                  size_t n, uint8_t *dst, size_t cap, size_t *bytes)
{
    if (!code || !dst || !bytes)
        return PITH_ERR_ARGUMENT;
    struct symbol_source src = {.symbols = symbols, .n = n};
    return pith_huff_encode_source(code, &src, dst, cap, bytes);
}

/* Directory: varint of at most 4 bytes, width, 24 bits a field; 7 bits of padding a sub-stream. */
size_t pith_huff_stream_overhead(uint64_t n)
{
    uint64_t n_subs = pith_huff_sub_streams(n);
    return n == 0 ? 0 : n_subs == 1 ? 1 : (size_t)(5 + 4 * n_subs);
}

size_t pith_huff_bound(const struct pith_huff_code *code, const uint64_t hist[PITH_SYMBOLS],
                       uint64_t n)
{
    if (!code || !hist)
        return 0;
    uint64_t bits = pith_huff_cost_bits(code, hist);
    return bits == UINT64_MAX ? SIZE_MAX : (size_t)(bits / 8) + pith_huff_stream_overhead(n);
}
