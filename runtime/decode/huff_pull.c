/* SPDX-License-Identifier: MIT */
/* huff_pull.c - see huff_pull.h. Codes are decoded bit by bit: those of a length are neighbours
 * in canonical order, so the first of each length and their number give the symbol.
 *
 * Bit by bit is slower than by table, and needs none: a decode table of 11
 * bits is 8 KB, more than many microcontrollers have left. Rows of bytes have a table of two
 * levels: codes of up to 9 bits, and for each 9 bits that begin longer ones a table of 8. */
#include "decode/huff_pull.h"

#define ENTRIES (1u << HUFF_PULL_BITS)
#define SUB_ENTRIES (1u << (HUFF_MAX_LEN - HUFF_PULL_BITS))

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
                                     struct stream stream, uint64_t n, bool extra)
{
    memset(p, 0, sizeof *p);
    p->extra = extra;
    set_codes(p, lengths);
    return pith_huff_stream_open(&p->stream, stream, n, NULL, NULL, 0);
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

/* Canonical codes of a length follow those of the shorter ones, so the prefixes of long codes are
 * the last ones. */
uint32_t pith_huff_pull_table_entries(const struct huff_lengths *lengths)
{
    uint32_t taken = 0;
    for (uint32_t s = 0; s < lengths->n_symbols; s++)
        if (lengths->len[s] - 1u < HUFF_PULL_BITS)
            taken += 1u << (HUFF_PULL_BITS - lengths->len[s]);
    return ENTRIES + (ENTRIES - taken) * SUB_ENTRIES;
}

/* Codes are read from their highest bit on, so they are counted with that as the lowest. */
static uint32_t next_code(uint32_t turned, uint32_t length)
{
    uint32_t bit = 1u << (length - 1);
    for (; turned & bit; bit >>= 1)
        turned ^= bit;
    return turned | bit;
}

void pith_huff_pull_table(const struct huff_pull *p, const int8_t *byte, uint16_t *entries)
{
    uint32_t code = 0, at = 0, n_sub = 0;
    for (uint32_t l = 1; l <= p->max_len; l++)
        for (uint32_t i = 0; i < p->count[l]; i++, code = next_code(code, l)) {
            const uint16_t entry = (uint16_t)(l << 8 | (uint8_t)byte[p->symbol[at++]]);
            if (l <= HUFF_PULL_BITS) {
                for (uint32_t k = code; k < ENTRIES; k += 1u << l)
                    entries[k] = entry;
                continue;
            }
            if (code >> HUFF_PULL_BITS == 0) /* the first of these 9 bits */
                entries[code] = (uint16_t)n_sub++;
            for (uint32_t k = code >> HUFF_PULL_BITS; k < SUB_ENTRIES;
                 k += 1u << (l - HUFF_PULL_BITS))
                entries[ENTRIES + (n_sub - 1) * SUB_ENTRIES + k] = entry;
        }
}

static inline uint32_t entry_of(const uint16_t *entries, uint32_t bits)
{
    const uint32_t e = entries[bits & (ENTRIES - 1)];
    if (__builtin_expect(e >> 8 != 0, 1))
        return e;
    return entries[ENTRIES + e * SUB_ENTRIES + (bits >> HUFF_PULL_BITS & (SUB_ENTRIES - 1))];
}

/* Two at a time while words lie inside: a word holds two codes at least. So many pairs are safe
 * whatever their codes that the inner loop does not test for the end of bits. */
static uint32_t pull_pairs(struct huff_pull *p, const uint16_t *entries, int8_t *dst, uint32_t n)
{
    const uint8_t *in = p->bits.bytes;
    const int32_t last = (int32_t)p->bits.end - 32; /* of a sub-stream: < 2^24 */
    uint32_t at = (uint32_t)p->bits.pos, left = n / 2;
    while (left > 0 && (int32_t)at <= last) {
        const uint32_t safe = (uint32_t)(last - (int32_t)at) / (2 * HUFF_MAX_LEN) + 1;
        const uint32_t pairs = safe < left ? safe : left;
        for (const int8_t *end = dst + 2 * (size_t)pairs; dst != end; dst += 2) {
            const uint32_t bits = load_le32(in + at / 8) >> at % 8;
            const uint32_t a = entry_of(entries, bits);
            dst[0] = (int8_t)a;
            const uint32_t b = entry_of(entries, bits >> (a >> 8));
            dst[1] = (int8_t)b;
            at += (a >> 8) + (b >> 8);
        }
        left -= pairs;
    }
    p->bits.pos = at;
    return (n / 2 - left) * 2;
}

uint32_t pith_huff_pull_bytes(struct huff_pull *p, const uint16_t *entries, int8_t *dst, uint32_t n)
{
    n = n < p->left ? n : p->left;
    uint32_t done = pull_pairs(p, entries, dst, n);
    for (; done < n; done++) {
        const uint32_t e = entry_of(entries, br_peek(&p->bits));
        br_skip(&p->bits, e >> 8);
        if (p->bits.bad) /* the next pith_huff_pull says so, too */
            break;
        dst[done] = (int8_t)e;
    }
    p->left -= done;
    return done;
}

bool pith_huff_pull_ended(const struct huff_pull *p)
{
    return p->stream.next == p->stream.n_subs && ended(p);
}
