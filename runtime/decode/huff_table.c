/* SPDX-License-Identifier: MIT */
/* Huffman tables of unknown origin. The rule that keeps decoding safe: nothing is built before the
 * Kraft sum is known to be exactly 1. Then the codes tile the look-up table without gap or overlap,
 * every index has an entry, and a decoder needs no test for invalid codes. One level only, 2^bits
 * entries: there is no second-level size to compute wrongly. */
#include "decode/huff_table.h"

/* The most that five look-ups between refills may take (huff_decode.c). 5 * 11 <= 56, what a
 * refill leaves. */
#define FAST_BITS 11u

enum { PRESENCE_ALL = 0, PRESENCE_BITMAP = 1, PRESENCE_RUNS = 2, PRESENCE_ONE = 3 };
#define DELTA_RAW 3u
/* zigzag of -11..11 */
#define MAX_ZIGZAG 22u

/* Powers of two have a short form, and must use it. */
static uint32_t read_n_symbols(struct bit_reader *r)
{
    if (br_bits(r, 1))
        return 2u << br_bits(r, 3);
    uint32_t n = br_bits(r, 8) + 1;
    if (n > 1 && (n & (n - 1)) == 0)
        r->bad = true; /* has the short form */
    return n;
}

/* Runs of present and absent symbols in turn, up to n exactly. Runs in turn, the last one
 * present: one way to write a set. */
static void read_runs(struct bit_reader *r, uint32_t n, uint8_t *present)
{
    uint32_t now = br_bits(r, 1), at = 0;
    while (at < n && !r->bad) {
        uint32_t run = br_gamma(r);
        if (r->bad || run > n - at || (run == n - at && !now)) {
            r->bad = true;
            return;
        }
        memset(present + at, (int)now, run);
        at += run;
        now ^= 1;
    }
}

/* present[s] = 1 for symbols that occur; returns how many do. The last symbol always occurs: n
 * would be smaller otherwise. */
static uint32_t read_presence(struct bit_reader *r, uint32_t n, uint8_t *present)
{
    uint32_t n_present = 0, kind = br_bits(r, 2);
    switch (kind) {
    case PRESENCE_ALL:
        memset(present, 1, n);
        break;
    case PRESENCE_BITMAP:
        for (uint32_t s = 0; s + 1 < n; s++)
            present[s] = (uint8_t)br_bits(r, 1);
        present[n - 1] = 1;
        break;
    case PRESENCE_RUNS:
        read_runs(r, n, present);
        break;
    default:
        present[n - 1] = 1;
        break;
    }
    for (uint32_t s = 0; s < n; s++)
        n_present += present[s];
    /* One symbol has the form of its own, and only it. */
    if ((n_present < 2) != (kind == PRESENCE_ONE))
        r->bad = true;
    return n_present;
}

/* Turns the present flags in len[] into lengths; the Kraft sum in units of 2^-12. Sums of at
 * most 256 terms of 2^11: no overflow. */
static uint32_t read_code_lengths(struct bit_reader *r, uint32_t n, uint8_t *len)
{
    uint32_t delta = br_bits(r, 2), kraft = 0;
    int32_t last = -1;
    for (uint32_t s = 0; s < n; s++) {
        if (!len[s])
            continue;
        if (last < 0 || delta == DELTA_RAW) {
            /* First length as it is, then differences: lengths of neighbouring symbols are
             * alike. */
            last = (int32_t)br_bits(r, 4) + 1;
        } else {
            /* a difference is at most 25 bits, what a peek gives */
            uint32_t next = br_peek(r);
            uint32_t q = (uint32_t)__builtin_ctz(~next | 1u << (MAX_ZIGZAG + 1));
            uint32_t z = q << delta | (next >> (q + 1) & ((1u << delta) - 1));
            br_skip(r, q + 1 + delta);
            last += z & 1 ? -(int32_t)(z / 2) - 1 : (int32_t)(z / 2);
        }
        if (last < 1 || last > (int32_t)HUFF_MAX_LEN) {
            r->bad = true;
            return 0;
        }
        len[s] = (uint8_t)last;
        kraft += 1u << (HUFF_MAX_LEN - (uint32_t)last);
    }
    return kraft;
}

/* Kraft's sum of exactly 1 is a complete prefix code (Kraft 1949). */
enum pith_status pith_huff_read_lengths(struct bit_reader *r, struct huff_lengths *out)
{
    memset(out, 0, sizeof *out);
    uint32_t n = read_n_symbols(r);
    if (r->bad)
        return PITH_ERR_CORRUPT;
    out->n_symbols = (uint16_t)n;
    out->n_present = (uint16_t)read_presence(r, n, out->len);
    if (r->bad)
        return PITH_ERR_CORRUPT;
    if (out->n_present == 1) {
        out->len[n - 1] = 0;
    } else if (read_code_lengths(r, n, out->len) != 1u << HUFF_MAX_LEN || r->bad) {
        return PITH_ERR_CORRUPT;
    }
    for (uint32_t s = 0; s < n; s++)
        if (out->len[s] > out->max_len)
            out->max_len = out->len[s];
    return PITH_OK;
}

/* An entry costs about as much to fill as one look-up: n / 16 entries at most. More bits let an
 * entry hold more symbols. */
uint32_t pith_huff_table_bits(const struct huff_lengths *lengths, uint64_t n)
{
    uint32_t bits = lengths->max_len;
    while (bits < FAST_BITS && n >> (bits + 5) != 0)
        bits++;
    return bits;
}

/* Streams are read LSB first, codes are numbered MSB first. n: 1..12 of the 16 bits that are turned
 * by halves. */
static uint32_t reverse_bits(uint32_t v, uint32_t n)
{
    v = (v & 0x5555) << 1 | (v >> 1 & 0x5555);
    v = (v & 0x3333) << 2 | (v >> 2 & 0x3333);
    v = (v & 0x0f0f) << 4 | (v >> 4 & 0x0f0f);
    return ((v & 0xff) << 8 | v >> 8) >> (16 - n);
}

/* next[l]: the first code of l bits in canonical order; each is followed by the one before plus 1.
 */
static void first_codes(const struct huff_lengths *lengths, uint32_t next[HUFF_MAX_LEN + 1])
{
    uint32_t n[HUFF_MAX_LEN + 1] = {0}, code = 0;
    for (uint32_t s = 0; s < lengths->n_symbols; s++)
        n[lengths->len[s]]++;
    n[0] = 0;
    for (uint32_t l = 1; l <= HUFF_MAX_LEN; l++)
        next[l] = code = (code + n[l - 1]) << 1;
}

/* One symbol an entry: its code repeated for all bits that may follow. */
static void fill_single(const struct huff_lengths *lengths, uint32_t bits, uint32_t *entries)
{
    uint32_t next[HUFF_MAX_LEN + 1];
    first_codes(lengths, next);
    for (uint32_t s = 0; s < lengths->n_symbols; s++) {
        uint32_t l = lengths->len[s];
        if (l == 0)
            continue;
        uint32_t entry = s | l << 24 | 1u << 30;
        for (uint32_t i = reverse_bits(next[l]++, l); i < 1u << bits; i += 1u << l)
            entries[i] = entry;
    }
}

void pith_huff_build_bytes(const struct huff_lengths *lengths, const uint8_t *byte,
                           uint16_t *entries)
{
    uint32_t next[HUFF_MAX_LEN + 1];
    first_codes(lengths, next);
    for (uint32_t s = 0; s < lengths->n_symbols; s++) {
        uint32_t l = lengths->len[s];
        if (l == 0)
            continue;
        uint16_t entry = (uint16_t)((uint32_t)byte[s] << 8 | l);
        for (uint32_t i = reverse_bits(next[l]++, l); i < 1u << lengths->max_len; i += 1u << l)
            entries[i] = entry;
    }
}

/* Appends to entry i the symbols that fit behind its first. Going down from the top, the entries
 * looked at (i shifted right) are still single; entry 0 looks at itself before it is written.
 * Short codes come two or three a look-up. */
static void join_symbols(uint32_t bits, uint32_t *entries)
{
    for (uint32_t i = 1u << bits; i-- > 0;) {
        uint32_t e = entries[i], used = HUFF_ENTRY_BITS(e), symbols = e & 255, count = 1;
        while (count < 3) {
            uint32_t next = entries[i >> used], l = HUFF_ENTRY_BITS(next);
            if (used + l > bits)
                break;
            symbols |= (next & 255) << (8 * count);
            used += l;
            count++;
        }
        entries[i] = symbols | used << 24 | count << 30;
    }
}

void pith_huff_build_table(const struct huff_lengths *lengths, uint32_t bits, uint32_t *entries)
{
    fill_single(lengths, bits, entries);
    join_symbols(bits, entries);
}
