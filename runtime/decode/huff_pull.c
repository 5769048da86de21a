/* SPDX-License-Identifier: MIT */
/* huff_pull.c - see huff_pull.h. Codes are decoded bit by bit: those of a length are neighbours
 * in canonical order, so the first of each length and their number give the symbol.
 *
 * Bit by bit is slower than by table, and needs none: a decode table of 11
 * bits is 8 KB, more than many microcontrollers have left. Rows of bytes have a small one of the
 * codes that are not long. */
#include "decode/huff_pull.h"

/* Symbols in canonical order: by length, then by number. */
static void set_codes(struct huff_pull *p, const struct huff_lengths *lengths)
{
    uint32_t at[HUFF_MAX_LEN + 1] = {0};
    p->single = lengths->n_present == 1;
    p->max_len = lengths->max_len;
    p->symbol[0] = (uint8_t)(lengths->n_symbols - 1);
    for (uint32_t s = 0; s < lengths->n_symbols; s++)
        p->count[lengths->len[s]]++;
    p->count[0] = 0;
    for (uint32_t l = 1; l <= HUFF_MAX_LEN; l++)
        at[l] = at[l - 1] + p->count[l - 1];
    for (uint32_t s = 0; s < lengths->n_symbols; s++)
        if (lengths->len[s])
            p->symbol[at[lengths->len[s]]++] = (uint8_t)s;
}

/* No entries and table_bits: pith_huff_stream_group() is never called on this stream. */
enum pith_status pith_huff_pull_open(struct huff_pull *p, const struct huff_lengths *lengths,
                                     const uint8_t *bytes, size_t n_bytes, uint64_t n, bool extra)
{
    memset(p, 0, sizeof *p);
    p->extra = extra;
    set_codes(p, lengths);
    return pith_huff_stream_open(&p->stream, bytes, n_bytes, n, NULL, NULL, 0);
}

static bool ended(const struct huff_pull *p)
{
    return p->left == 0 && (p->extra || p->stream.next == 0 || br_at_end(&p->bits));
}

/* As cut_group() of huff_decode.c, one sub-stream. */
bool pith_huff_pull_sub(struct huff_pull *p)
{
    struct huff_stream *s = &p->stream;
    if (!ended(p) || s->next == s->n_subs)
        return false;
    uint64_t j = s->next++;
    p->left =
        (uint32_t)(huff_sub_begin(s->n, s->n_subs, j + 1) - huff_sub_begin(s->n, s->n_subs, j));
    size_t size = s->n_bytes;
    if (s->next < s->n_subs) /* the directory was checked: all fit */
        size = (size_t)s->base + br_bits(&s->sizes, s->width);
    p->bits = bit_reader_of(s->bytes, size);
    s->bytes += size;
    s->n_bytes -= size;
    return true;
}

bool pith_huff_pull(struct huff_pull *p, uint8_t *symbol)
{
    while (p->left == 0)
        if (!pith_huff_pull_sub(p))
            return false;
    p->left--;
    *symbol = p->symbol[0];
    if (p->single)
        return true;
    /* first is the smallest code of a length, at its place among the symbols; canonical codes of
     * a length are consecutive. */
    uint32_t ahead = br_peek(&p->bits), code = 0, first = 0, at = 0;
    for (uint32_t l = 1; l <= p->max_len; l++, ahead >>= 1) {
        uint32_t n = p->count[l];
        code |= ahead & 1;
        if (code - first < n) {
            *symbol = p->symbol[at + code - first];
            br_skip(&p->bits, l);
            return !p->bits.bad;
        }
        at += n;
        first = (first + n) << 1;
        code <<= 1;
    }
    return false; /* not reached: the code is complete */
}

void pith_huff_pull_table(const struct huff_pull *p, const int8_t *byte, uint16_t *entries)
{
    uint32_t code = 0, at = 0;
    memset(entries, 0, sizeof *entries << HUFF_PULL_BITS);
    for (uint32_t l = 1; l <= HUFF_PULL_BITS && l <= p->max_len; l++, code <<= 1)
        for (uint32_t i = 0; i < p->count[l]; i++, code++, at++) {
            uint32_t first = 0; /* codes are read from their highest bit on */
            for (uint32_t k = 0; k < l; k++)
                first |= (code >> k & 1) << (l - 1 - k);
            for (; first < 1u << HUFF_PULL_BITS; first += 1u << l)
                entries[first] = (uint16_t)((uint8_t)byte[p->symbol[at]] << 8 | l);
        }
}

/* A word holds two codes at least. */
uint32_t pith_huff_pull_bytes(struct huff_pull *p, const int8_t *byte, const uint16_t *entries,
                              int8_t *dst, uint32_t n)
{
    const uint32_t mask = (1u << HUFF_PULL_BITS) - 1;
    const uint8_t *in = p->bits.bytes;
    const uint32_t end = (uint32_t)p->bits.end; /* of a sub-stream: < 2^24 */
    uint32_t at = (uint32_t)p->bits.pos, done = 0;
    n = n < p->left ? n : p->left;
    while (done + 2 <= n && end - at >= 32) {
        const uint32_t bits = load_le32(in + at / 8) >> at % 8;
        const uint32_t a = entries[bits & mask], b = entries[bits >> (a & 15) & mask];
        dst[done] = (int8_t)(a >> 8);
        dst[done + 1] = (int8_t)(b >> 8);
        if (a && b) {
            at += (a & 15) + (b & 15);
            done += 2;
            continue;
        }
        uint8_t symbol;
        p->bits.pos = at + (a & 15);
        done += a != 0;
        p->left -= done; /* of which pith_huff_pull takes one more */
        if (!pith_huff_pull(p, &symbol))
            return done;
        dst[done++] = byte[symbol];
        p->left += done;
        at = (uint32_t)p->bits.pos;
    }
    p->bits.pos = at;
    p->left -= done;
    return done;
}

bool pith_huff_pull_ended(const struct huff_pull *p)
{
    return p->stream.next == p->stream.n_subs && ended(p);
}
