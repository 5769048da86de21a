/* SPDX-License-Identifier: MIT */
/* bench_codec.c - the coders of indices: bytes over the order-0 entropy, tables and headers
 * included, and symbols decoded a second on one core at each level of the kernels, as Markdown.
 *
 *     bench_codec [ROUNDS]
 *
 * Tensors of 2^20 indices of 1 to 8 bits, drawn from normal and Laplace distributions, and nearly
 * all alike. Times are of the processor, the median of ROUNDS (9) passes; encoders run once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "decode/huff_decode.h"
#include "pith_huffman.h"
#include "huffman/rans_encode.h"
#include "decode/weight.h"
#include "pith_runtime.h"

#define INDICES (1u << 20)
#define PIECE 2048u /* as weights are decoded */
#define MOST_ROUNDS 101

static const struct {
    const char *name;
    uint32_t bits;
    double far; /* standard deviation, in parts of the alphabet; Laplace: mean distance */
    bool laplace;
} tensors[] = {
    {"1 bit, 3 % ones", 1, 0, false},      {"2 bits, normal", 2, 0.2, false},
    {"4 bits, normal", 4, 0.17, false},    {"4 bits, Laplace", 4, 0.06, true},
    {"5 bits, normal", 5, 0.17, false},    {"6 bits, normal", 6, 0.17, false},
    {"8 bits, normal", 8, 0.12, false},    {"8 bits, Laplace", 8, 0.04, true},
    {"8 bits, long tail", 8, 0.012, true},
};

/* One tensor, its code and its stream. */
struct coded {
    uint8_t index[INDICES], out[INDICES + HUFF_GROUP_SYMBOLS];
    uint8_t table[4096], *stream;
    size_t table_bytes, stream_bytes;
    struct huff_lengths lengths;
    struct pith_rans_code rans;
    uint32_t features;
};

static uint64_t seed = 1;

static double uniform(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other programs do not count */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void require(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_codec: %s\n", what);
        exit(1);
    }
}

static double draw(uint32_t k, uint8_t *index)
{
    double width = (double)(1u << tensors[k].bits), middle = (width - 1) / 2, bits = 0;
    uint64_t hist[PITH_SYMBOLS] = {0};
    for (uint32_t i = 0; i < INDICES; i++) {
        double u = uniform(), v = uniform();
        double x = tensors[k].laplace ? (u < 0.5 ? log(2 * u) : -log(2 - 2 * u))
                                      : sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        x = tensors[k].far > 0 ? round(middle + x * tensors[k].far * width) : u < 0.03;
        index[i] = (uint8_t)(x < 0 ? 0 : x > width - 1 ? width - 1 : x);
    }
    pith_histogram_add(hist, index, INDICES);
    for (size_t i = 0; i < PITH_SYMBOLS; i++)
        if (hist[i])
            bits -= (double)hist[i] * log2((double)hist[i] / INDICES);
    return bits;
}

/* ---- coders: each encodes into c and decodes to c->out --------------------------------------- */

static void huffman_encode(struct coded *c)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    pith_histogram_add(hist, c->index, INDICES);
    pith_huff_build(hist, &code);
    size_t cap = pith_huff_bound(&code, hist, INDICES);
    c->stream = malloc(cap);
    c->table_bytes = pith_huff_table_bytes(&code);
    pith_huff_table_write(&code, c->table);
    pith_huff_encode(&code, c->index, INDICES, c->stream, cap, &c->stream_bytes);
    struct bit_reader r = bit_reader_of(c->table, c->table_bytes);
    require(!pith_huff_read_lengths(&r, &c->lengths), "table refused");
}

static void huffman_decode(struct coded *c)
{
    static uint32_t entries[1 << HUFF_MAX_LEN];
    struct huff_stream s;
    struct huff_group g;
    uint32_t bits = pith_huff_table_bits(&c->lengths, INDICES);
    pith_huff_build_table(&c->lengths, bits, entries);
    require(!pith_huff_stream_open(&s, (struct stream){c->stream, c->stream_bytes}, INDICES,
                                   &c->lengths, entries, bits),
            "stream refused");
    for (uint32_t at = 0; at < INDICES; at += g.n_symbols)
        require(!pith_huff_stream_group(&s, c->out + at, &g), "symbols refused");
}

static void huffman_bytes_decode(struct coded *c)
{
    static uint16_t entries[1 << HUFF_MAX_LEN];
    uint8_t byte[HUFF_SYMBOLS];
    struct huff_stream s;
    for (uint32_t i = 0; i < HUFF_SYMBOLS; i++)
        byte[i] = (uint8_t)i;
    pith_huff_build_bytes(&c->lengths, byte, entries);
    require(!pith_huff_stream_open(&s, (struct stream){c->stream, c->stream_bytes}, INDICES,
                                   &c->lengths, NULL, 0) &&
                !pith_huff_stream_bytes(&s, entries, c->out, pith_cpu_features()),
            "stream refused");
}

static void rans_encode(struct coded *c)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    pith_histogram_add(hist, c->index, INDICES);
    pith_rans_build(hist, &c->rans);
    size_t cap = pith_rans_bound(INDICES);
    c->stream = malloc(cap);
    c->table_bytes = c->rans.table_bytes;
    require(!pith_rans_encode(&c->rans, c->index, INDICES, c->stream, cap, &c->stream_bytes),
            "indices refused");
}

static void rans_decode(struct coded *c)
{
    static uint32_t entries[RANS_SLOTS];
    struct rans_stream s;
    pith_rans_build_entries(&c->rans.frequencies, entries);
    require(!pith_rans_open(&s, (struct stream){c->stream, c->stream_bytes}, INDICES,
                            &c->rans.frequencies, entries, c->features),
            "stream refused");
    for (uint32_t at = 0; at < INDICES; at += PIECE)
        require(!pith_rans_next(&s, c->out + at, PIECE), "symbols refused");
}

/* ---- the table ------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* " M/s |" */
static void print_speed(struct coded *c, void (*decode)(struct coded *), uint32_t features,
                        int rounds)
{
    double all[MOST_ROUNDS];
    c->features = features;
    if (features & ~pith_cpu_features()) {
        printf(" - |");
        return;
    }
    for (int i = 0; i < rounds; i++) {
        memset(c->out, 0xff, INDICES);
        double start = seconds();
        decode(c);
        all[i] = seconds() - start;
        require(!memcmp(c->out, c->index, INDICES), "symbols differ");
    }
    qsort(all, (size_t)rounds, sizeof *all, ascending);
    printf(" %.0f |", INDICES / all[rounds / 2] * 1e-6);
}

static void print_size(const struct coded *c, double entropy)
{
    double bytes = (double)(c->table_bytes + c->stream_bytes);
    printf(" %+.2f %% (%zu) |", (bytes * 8 / entropy - 1) * 100, c->table_bytes);
}

int main(int argc, char **argv)
{
    static struct coded c;
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench_codec [ROUNDS, 1 to %d]\n", MOST_ROUNDS);
        return 2;
    }
    printf("| 2^20 indices | entropy, bits | Huffman (table) | M/s | as bytes | rANS (table) | "
           "scalar, M/s | "
           "AVX2 | AVX-512 |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (uint32_t k = 0; k < sizeof tensors / sizeof *tensors; k++) {
        double entropy = draw(k, c.index);
        printf("| %s | %.3f |", tensors[k].name, entropy / INDICES);
        huffman_encode(&c);
        print_size(&c, entropy);
        print_speed(&c, huffman_decode, 0, rounds);
        print_speed(&c, huffman_bytes_decode, 0, rounds);
        free(c.stream);
        rans_encode(&c);
        print_size(&c, entropy);
        print_speed(&c, rans_decode, 0, rounds);
        print_speed(&c, rans_decode, PITH_CPU_AVX2, rounds);
        print_speed(&c, rans_decode, PITH_CPU_AVX2 | PITH_CPU_AVX512, rounds);
        printf("\n");
        free(c.stream);
    }
    return 0;
}
