/* SPDX-License-Identifier: MIT */
/* From histogram to canonical code and its table in the file.
 *
 * A table of a small tensor costs as many bits as the choice of lengths saves: so the limit of the
 * lengths is chosen by the sum of both. A tighter limit evens out the rare symbols' lengths, which
 * shortens the table, for a few payload bits. */
#include <string.h>
#include "huff_write.h"
#include "package_merge.h"

#define FAST_LEN 11u /* longest codes that decode with five look-ups a refill */
#define MAX_LEN 12u

static uint32_t count_present(const uint64_t hist[PITH_SYMBOLS], uint32_t *n_symbols)
{
    uint32_t n = 0;
    *n_symbols = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        if (hist[s]) {
            n++;
            *n_symbols = s + 1;
        }
    return n;
}

static uint16_t reverse_bits(uint32_t v, uint32_t n)
{
    uint32_t r = 0;
    for (uint32_t i = 0; i < n; i++)
        r |= (v >> i & 1) << (n - 1 - i);
    return (uint16_t)r;
}

static void assign_codes(struct pith_huff_code *code)
{
    uint32_t next = 0;
    memset(code->bits, 0, sizeof code->bits);
    for (uint32_t l = 1; l <= MAX_LEN; l++, next <<= 1)
        for (uint32_t s = 0; s < code->n_symbols; s++)
            if (code->len[s] == l)
                code->bits[s] = reverse_bits(next++, l);
}

enum pith_status pith_huff_build_limited(const uint64_t hist[PITH_SYMBOLS], uint32_t max_len,
                                         struct pith_huff_code *code)
{
    if (!hist || !code)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = PITH_OK;
    memset(code, 0, sizeof *code);
    code->n_present = count_present(hist, &code->n_symbols);
    if (code->n_present > 1)
        st = pith_package_merge(hist, max_len, code->len);
    assign_codes(code);
    return st;
}

uint64_t pith_huff_cost_bits(const struct pith_huff_code *code, const uint64_t hist[PITH_SYMBOLS])
{
    if (!code || !hist)
        return 0;
    uint64_t bits = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++) {
        if (hist[s] && !huff_has_code(code, s))
            return UINT64_MAX;
        bits += hist[s] * code->len[s];
    }
    return bits;
}

static uint64_t whole_cost(const struct pith_huff_code *code, const uint64_t hist[PITH_SYMBOLS])
{
    return pith_huff_cost_bits(code, hist) + 8 * pith_huff_table_bytes(code);
}

enum pith_status pith_huff_build(const uint64_t hist[PITH_SYMBOLS], struct pith_huff_code *code)
{
    if (!hist || !code)
        return PITH_ERR_ARGUMENT;
    struct pith_huff_code best, other;
    uint32_t shortest = 1;
    enum pith_status st = pith_huff_build_limited(hist, FAST_LEN, &best);
    if (st)
        return st;
    uint64_t best_cost = whole_cost(&best, hist);
    while (1u << shortest < best.n_present)
        shortest++;
    for (uint32_t l = FAST_LEN; best.n_present > 1 && l-- > shortest;) {
        if ((st = pith_huff_build_limited(hist, l, &other)))
            return st;
        uint64_t cost = whole_cost(&other, hist);
        if (cost > best_cost + 8 * PITH_HUFF_TABLE_MAX)
            break; /* payload only grows with tighter limits */
        if (cost < best_cost) {
            best = other;
            best_cost = cost;
        }
    }
    if (best.n_present > 1) {
        if ((st = pith_huff_build_limited(hist, MAX_LEN, &other)))
            return st;
        uint64_t cost = whole_cost(&other, hist);
        if (cost + best_cost / 1000 < best_cost)
            best = other;
    }
    *code = best;
    return PITH_OK;
}

/* ---- the table in the file ------------------------------------------------------------------- */

static void write_runs(struct bit_writer *w, const struct pith_huff_code *code)
{
    uint32_t s = 0;
    bw_bits(w, code->len[0] != 0, 1);
    while (s < code->n_symbols) {
        uint32_t first = s;
        while (s < code->n_symbols && (code->len[s] != 0) == (code->len[first] != 0))
            s++;
        bw_gamma(w, s - first);
    }
}

static void write_presence(struct bit_writer *w, const struct pith_huff_code *code, uint32_t kind)
{
    bw_bits(w, kind, 2);
    if (kind == 1)
        for (uint32_t s = 0; s + 1 < code->n_symbols; s++)
            bw_bits(w, code->len[s] != 0, 1);
    else if (kind == 2)
        write_runs(w, code);
}

static void write_lengths(struct bit_writer *w, const struct pith_huff_code *code, uint32_t delta)
{
    uint32_t last = 0;
    bw_bits(w, delta, 2);
    for (uint32_t s = 0; s < code->n_symbols; s++) {
        uint32_t l = code->len[s];
        if (!l)
            continue;
        if (last == 0 || delta == 3) {
            bw_bits(w, l - 1, 4);
        } else {
            uint32_t z = l < last ? 2 * (last - l) - 1 : 2 * (l - last);
            bw_unary(w, z >> delta);
            bw_bits(w, z & ((1u << delta) - 1), delta);
        }
        last = l;
    }
}

static uint64_t bits_of(const struct bit_writer *w, const uint8_t *start)
{
    return (uint64_t)(w->at - start) * 8 + w->n;
}

/* Tries each way to write one part on scratch; the cheapest, the lowest among equals. */
static uint32_t cheapest(const struct pith_huff_code *code, uint32_t first, uint32_t last,
                         void (*write)(struct bit_writer *, const struct pith_huff_code *,
                                       uint32_t))
{
    uint8_t scratch[2 * PITH_SYMBOLS * HUFF_WRITE_MAX_ZIGZAG / 8];
    uint64_t least = UINT64_MAX;
    uint32_t best = first;
    for (uint32_t kind = first; kind <= last; kind++) {
        struct bit_writer w = bit_writer_to(scratch, sizeof scratch);
        write(&w, code, kind);
        if (bits_of(&w, scratch) < least) {
            least = bits_of(&w, scratch);
            best = kind;
        }
    }
    return best;
}

void pith_huff_write_code(struct bit_writer *w, const struct pith_huff_code *code)
{
    uint32_t n = code->n_symbols, log2 = n > 1 ? 31 - (uint32_t)__builtin_clz(n) : 0;
    if (log2 && n == 1u << log2) {
        bw_bits(w, 1, 1);
        bw_bits(w, log2 - 1, 3);
    } else {
        bw_bits(w, 0, 1);
        bw_bits(w, n - 1, 8);
    }
    if (code->n_present == 1) {
        bw_bits(w, 3, 2);
        return;
    }
    write_presence(w, code, code->n_present == n ? 0 : cheapest(code, 1, 2, write_presence));
    write_lengths(w, code, cheapest(code, 0, 3, write_lengths));
}

size_t pith_huff_table_bytes(const struct pith_huff_code *code)
{
    if (!code)
        return 0;
    uint8_t scratch[PITH_HUFF_TABLE_MAX];
    if (code->n_present == 0)
        return 0;
    struct bit_writer w = bit_writer_to(scratch, sizeof scratch);
    pith_huff_write_code(&w, code);
    return (size_t)(bw_close(&w) - scratch);
}

void pith_huff_table_write(const struct pith_huff_code *code, uint8_t *dst)
{
    if (!code || !dst)
        return;
    if (code->n_present == 0)
        return;
    struct bit_writer w = bit_writer_to(dst, pith_huff_table_bytes(code));
    pith_huff_write_code(&w, code);
    bw_close(&w);
}
