/* SPDX-License-Identifier: MIT */
/* Every byte string of 0 to 2 bytes (argument: to 3, 16.8 million) as a table of Huffman codes, of
 * a support and of rANS frequencies (of these longer ones, too), under sanitizers, the string in a
 * block of its own. What is taken leaves no entry of a look-up table out and no slot without a
 * symbol; decoding every string of 0 to 2 bytes by each of some small tables gives symbols of the
 * table and rising places inside of the tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gap_decode.h"
#include "decode/huff_decode.h"
#include "decode/rans_table.h"

static uint64_t n_taken;

static void must(bool holds, const char *what, const uint8_t *bytes, size_t n)
{
    if (holds)
        return;
    fprintf(stderr, "every_input: %s:", what);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %02x", bytes[i]);
    fprintf(stderr, "\n");
    exit(1);
}

static bool read_huffman(const uint8_t *bytes, size_t n, struct huff_lengths *t)
{
    struct bit_reader r = bit_reader_of(bytes, n);
    return pith_huff_read_lengths(&r, t) == PITH_OK;
}

static void huffman_table(const uint8_t *bytes, size_t n)
{
    static uint32_t entries[1u << HUFF_MAX_LEN];
    struct huff_lengths t;
    if (!read_huffman(bytes, n, &t))
        return;
    n_taken++;
    must(t.n_symbols >= 1 && t.n_symbols <= HUFF_SYMBOLS, "symbols", bytes, n);
    if (t.n_present < 2)
        return;
    memset(entries, 0, sizeof *entries << t.max_len);
    pith_huff_build_table(&t, t.max_len, entries);
    for (uint32_t i = 0; i < 1u << t.max_len; i++)
        must(HUFF_ENTRY_COUNT(entries[i]) >= 1 && HUFF_ENTRY_BITS(entries[i]) >= 1 &&
                 HUFF_ENTRY_BITS(entries[i]) <= t.max_len && (entries[i] & 255) < t.n_symbols,
             "an entry is left out", bytes, n);
}

static void support_table(const uint8_t *bytes, size_t n)
{
    struct support_lengths t;
    if (pith_support_read_table(bytes, n, &t))
        return;
    n_taken++;
    must(t.patterns ? t.huff.n_symbols <= 1u << t.pattern_bits : t.mantissa_bits <= t.direct_bits,
         "a support table", bytes, n);
}

static void rans_table(const uint8_t *bytes, size_t n)
{
    static uint32_t entries[RANS_SLOTS];
    struct rans_table t;
    if (pith_rans_read_table(bytes, n, &t))
        return;
    n_taken++;
    if (t.single)
        return;
    must(t.start[0] == 0 && t.start[t.n_symbols] == RANS_SLOTS, "slots", bytes, n);
    for (uint32_t s = 0; s < t.n_symbols; s++)
        must(t.start[s] <= t.start[s + 1], "starts rise", bytes, n);
    memset(entries, 0, sizeof entries);
    pith_rans_build_entries(&t, entries);
    for (uint32_t i = 0; i < RANS_SLOTS; i++)
        must(entries[i] >> 20 != 0, "a slot without a symbol", bytes, n);
}

static void put_bits(uint8_t *bytes, size_t *at, uint32_t v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, ++*at)
        bytes[*at / 8] = (uint8_t)(bytes[*at / 8] | (v >> i & 1) << *at % 8);
}

/* Tables of rANS are longer: curves over their whole ranges in steps, two symbols of all levels. */
static void rans_forms(void)
{
    static const uint32_t symbols[] = {2, 3, 16, 255, 256};
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t centre = 0; centre < 512; centre += 73)
            for (uint32_t slope = 0; slope < 256; slope += 15)
                for (uint32_t bend = 0; bend < 1024; bend += 31) {
                    uint8_t bytes[5] = {0};
                    size_t at = 0;
                    put_bits(bytes, &at, RANS_CURVE, 2);
                    put_bits(bytes, &at, symbols[i] - 1, 8);
                    put_bits(bytes, &at, 0, 1);
                    put_bits(bytes, &at, centre, RANS_CENTRE_BITS);
                    put_bits(bytes, &at, slope, RANS_SLOPE_BITS);
                    put_bits(bytes, &at, bend, RANS_BEND_BITS);
                    rans_table(bytes, (at + 7) / 8);
                }
    for (uint32_t v = 0; v < 1u << (2 + 2 * RANS_LEVEL_BITS); v++) {
        uint8_t bytes[4] = {0};
        size_t at = 0;
        put_bits(bytes, &at, RANS_LEVELS, 2);
        put_bits(bytes, &at, 1, 8);
        put_bits(bytes, &at, 0, 1);
        put_bits(bytes, &at, v, 2);
        put_bits(bytes, &at, RANS_LEVEL_RAW, 3);
        put_bits(bytes, &at, v >> 2, 2 * RANS_LEVEL_BITS);
        rans_table(bytes, (at + 7) / 8);
    }
}

static void every_string(size_t longest, void (*look)(const uint8_t *bytes, size_t n))
{
    for (size_t n = 0; n <= longest; n++) {
        uint8_t *bytes = malloc(n + (n == 0));
        for (uint32_t v = 0; v < 1u << (8 * n); v++) {
            for (size_t i = 0; i < n; i++)
                bytes[i] = (uint8_t)(v >> (8 * i));
            look(bytes, n);
        }
        free(bytes);
    }
}

/* ---- streams --------------------------------------------------------------------------------- */

static struct support_lengths table;
static uint32_t entries[1u << HUFF_MAX_LEN];

static void positions(const uint8_t *bytes, size_t n)
{
    static const uint32_t counts[] = {1, 5, 40, 70000};
    struct gap_reader r;
    uint8_t symbols[80];
    uint32_t pos[4];
    for (uint32_t c = 0; c < 4; c++)
        for (uint32_t nnz = 1; nnz <= 4 && nnz <= counts[c]; nnz++) {
            if (support_symbols(&table, counts[c], nnz) > sizeof symbols ||
                pith_gap_open(&r,
                              &(struct coded_support){&table, entries, table.huff.max_len,
                                                      (struct stream){bytes, n}, counts[c], nnz},
                              symbols) ||
                pith_gap_next(&r, pos, nnz))
                continue;
            n_taken++;
            for (uint32_t i = 0; i < nnz; i++)
                must(pos[i] < counts[c] && (i == 0 || pos[i] > pos[i - 1]), "a place", bytes, n);
        }
}

static void symbols_of(const uint8_t *bytes, size_t n)
{
    struct huff_stream s;
    uint32_t got;
    for (uint32_t count = 0; count <= 17; count++) {
        uint8_t *to = malloc(count + (count == 0));
        if (!pith_huff_stream_open(&s, (struct stream){bytes, n}, count, &table.huff, entries,
                                   table.huff.max_len) &&
            !pith_huff_stream_symbols(&s, to, &got)) {
            n_taken++;
            must(got == count, "a count", bytes, n);
            for (uint32_t i = 0; i < count; i++)
                must(to[i] < table.huff.n_symbols && table.huff.len[to[i]], "a symbol", bytes, n);
        }
        free(to);
    }
}

/* The table: symbols 0 .. n - 1 with codes of 1, 2, .. bits, the last two alike. */
static void with_table(bool patterns, uint32_t direct, uint32_t mantissa, uint32_t n)
{
    memset(&table, 0, sizeof table);
    table.patterns = patterns;
    table.pattern_bits = patterns ? (n > 16 ? 8 : 4) : 0;
    table.direct_bits = (uint8_t)direct;
    table.mantissa_bits = (uint8_t)mantissa;
    table.huff = (struct huff_lengths){.n_symbols = (uint16_t)n, .n_present = (uint16_t)n};
    for (uint32_t s = 0; s < n; s++)
        table.huff.len[s] = (uint8_t)(s + 1 < n ? s + 1 : s);
    table.huff.max_len = (uint8_t)(n - 1);
    pith_huff_build_table(&table.huff, table.huff.max_len, entries);
    every_string(2, positions);
    every_string(2, symbols_of);
}

int main(int argc, char **argv)
{
    size_t longest = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    void (*const look[])(const uint8_t *, size_t) = {huffman_table, support_table, rans_table};
    for (size_t i = 0; i < 3; i++) {
        n_taken = 0;
        every_string(longest < 3 ? longest : 3, look[i]);
        if (look[i] == rans_table)
            rans_forms();
        must(n_taken > 0, "none is taken", NULL, 0);
        printf("%s: %llu taken\n",
               i == 0   ? "Huffman"
               : i == 1 ? "support"
                        : "rANS",
               (unsigned long long)n_taken);
    }
    n_taken = 0;
    with_table(false, 0, 0, 12);
    with_table(false, 1, 1, 9);
    with_table(false, 2, 0, 6);
    with_table(true, 0, 0, 12);
    must(n_taken > 0, "none is decoded", NULL, 0);
    printf("streams: %llu taken\n", (unsigned long long)n_taken);
    return 0;
}
