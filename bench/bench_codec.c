/* SPDX-License-Identifier: MIT */
/* Size and speed of the coded streams on the shapes of AlexNet's and LeNet-300-100's fully
 * connected layers: seeded Gaussian weights, pruned by magnitude, 5-bit k-means codebooks.
 *
 *     bench_codec [rounds]
 *     bench_codec --coders [rounds]
 *
 * The second form is a table of the coders of indices instead: bytes over the order-0 entropy, and
 * symbols a second at each level of the kernels, the median of `rounds` (default 9), on tensors of
 * 1 M indices of 1 to 8 bits, normal and Laplace distributed, and nearly all alike.
 *
 * Sizes are compared with the order-0 entropies of true gaps and indices, tables included. Speeds
 * are of one thread, the best of `rounds` (default 5). Where libzstd is installed its level 1 (for
 * such data: Huff0) is run on the same symbol bytes. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gap_decode.h"
#include "pith_huffman.h"
#include "pith_rans_encode.h"
#include "pith_weight.h"

#define BINS 65536u
#define CENTROIDS 32u

struct layer_shape {
    const char *name;
    uint32_t rows, cols, density; /* per cent */
};

static const struct layer_shape shapes[] = {
    {"alexnet fc6", 4096, 9216, 9}, {"alexnet fc7", 4096, 4096, 9}, {"alexnet fc8", 1000, 4096, 25},
    {"lenet300 ip1", 300, 784, 9},  {"lenet300 ip2", 100, 300, 9},  {"lenet300 ip3", 10, 100, 26},
};

struct layer {
    uint64_t count, nnz;
    uint8_t *mask, *index, *kept; /* index: [count]; kept: [nnz] */
    float codebook[CENTROIDS];
};

static uint64_t seed = 1;

static uint64_t random_u64(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other programs do not count */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sum of uniform 16-bit numbers: bell-shaped in 0..BINS-1, standard deviation BINS/12. */
static uint32_t bell_bin(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t r = random_u64();
        sum += (uint32_t)(r & 0xffff) + (uint32_t)(r >> 16 & 0xffff) +
               (uint32_t)(r >> 32 & 0xffff) + (uint32_t)(r >> 48);
    }
    return sum / 12;
}

/* Lloyd's k-means over the bins outside of [low, high]; bin_index: nearest centroid of each bin. */
static void cluster(const uint64_t *hist, uint32_t low, uint32_t high, float *centroid,
                    uint8_t *bin_index)
{
    uint32_t first = 0, last = BINS - 1;
    while (!hist[first])
        first++;
    while (!hist[last])
        last--;
    for (uint32_t k = 0; k < CENTROIDS; k++)
        centroid[k] = (float)first + (float)(last - first) * (float)k / (CENTROIDS - 1);
    for (int round = 0; round < 40; round++) {
        double sum[CENTROIDS] = {0}, n[CENTROIDS] = {0};
        uint32_t k = 0;
        for (uint32_t b = 0; b < BINS; b++) {
            while (k + 1 < CENTROIDS && (float)b > (centroid[k] + centroid[k + 1]) / 2)
                k++;
            bin_index[b] = (uint8_t)k;
            if (b > low && b < high)
                continue;
            sum[k] += (double)hist[b] * b;
            n[k] += (double)hist[b];
        }
        for (k = 0; k < CENTROIDS; k++)
            if (n[k] > 0)
                centroid[k] = (float)(sum[k] / n[k]);
    }
    for (uint32_t k = 0; k < CENTROIDS; k++)
        centroid[k] = (centroid[k] - BINS / 2.0f) / BINS;
}

static struct layer make_layer(const struct layer_shape *s)
{
    struct layer l = {.count = (uint64_t)s->rows * s->cols};
    uint16_t *bin = malloc(l.count * sizeof *bin);
    uint64_t *hist = calloc(BINS, sizeof *hist), kept = 0;
    uint8_t *bin_index = malloc(BINS);
    uint32_t low = 0, high = BINS - 1;
    for (uint64_t i = 0; i < l.count; i++)
        hist[bin[i] = (uint16_t)bell_bin()]++;
    while (kept * 100 < l.count * s->density)
        kept += hist[low++] + hist[high--];
    cluster(hist, low, high, l.codebook, bin_index);
    l.mask = malloc(l.count);
    l.index = malloc(l.count);
    l.kept = malloc(l.count);
    for (uint64_t i = 0; i < l.count; i++) {
        l.mask[i] = bin[i] < low || bin[i] > high;
        l.index[i] = bin_index[bin[i]];
        l.nnz += l.mask[i];
    }
    pith_index_gather(l.index, l.mask, l.count, l.kept);
    free(bin);
    free(hist);
    free(bin_index);
    return l;
}

static double entropy_bits(const uint64_t *hist, size_t n_bins)
{
    double n = 0, bits = 0;
    for (size_t i = 0; i < n_bins; i++)
        n += (double)hist[i];
    for (size_t i = 0; i < n_bins; i++)
        if (hist[i])
            bits -= (double)hist[i] * log2((double)hist[i] / n);
    return bits;
}

static double gap_entropy_bits(const struct layer *l)
{
    uint64_t *hist = calloc(l->count, sizeof *hist), next = 0;
    for (uint64_t i = 0; i < l->count; i++)
        if (l->mask[i]) {
            hist[i - next]++;
            next = i + 1;
        }
    double bits = entropy_bits(hist, l->count);
    free(hist);
    return bits;
}

struct coded {
    uint8_t *table, *stream;
    size_t table_bytes, stream_bytes;
};

static struct coded code_indices(const struct layer *l, double *encode_s)
{
    struct coded c;
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    double start = seconds();
    pith_histogram_add(hist, l->kept, l->nnz);
    pith_huff_build(hist, &code);
    size_t cap = pith_huff_bound(&code, hist, l->nnz);
    c.stream = malloc(cap);
    c.table_bytes = pith_huff_table_bytes(&code);
    c.table = malloc(c.table_bytes);
    pith_huff_table_write(&code, c.table);
    pith_huff_encode(&code, l->kept, l->nnz, c.stream, cap, &c.stream_bytes);
    *encode_s = seconds() - start;
    return c;
}

static struct coded code_support(const struct layer *l, struct pith_support_code *code,
                                 double *encode_s)
{
    struct coded c;
    struct pith_support_profile *p = calloc(1, sizeof *p);
    double start = seconds();
    pith_support_profile_add(p, l->mask, l->count);
    pith_support_build(p, code);
    size_t cap = pith_support_bound(code, p);
    c.stream = malloc(cap);
    c.table_bytes = pith_support_table_bytes(code);
    c.table = malloc(c.table_bytes);
    pith_support_table_write(code, c.table);
    pith_support_encode(code, l->mask, l->count, c.stream, cap, &c.stream_bytes);
    *encode_s = seconds() - start;
    free(p);
    return c;
}

static void require(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_codec: %s\n", what);
        exit(1);
    }
}

/* Table build and all symbols, into a block buffer that stays in cache; the sum keeps it honest. */
static double decode_symbols(const struct huff_lengths *lengths, const struct coded *c, uint64_t n,
                             const uint8_t *expected)
{
    static uint32_t entries[1 << HUFF_MAX_LEN];
    static uint8_t block[HUFF_GROUP_SYMBOLS];
    struct huff_stream s;
    struct huff_group g;
    uint64_t at = 0;
    double start = seconds(), spent;
    uint32_t bits = pith_huff_table_bits(lengths, n);
    pith_huff_build_table(lengths, bits, entries);
    require(!pith_huff_stream_open(&s, c->stream, c->stream_bytes, n, lengths, entries, bits),
            "stream refused");
    spent = seconds() - start;
    while (at < n) {
        start = seconds();
        require(!pith_huff_stream_group(&s, block, &g), "symbols refused");
        spent += seconds() - start;
        require(!expected || !memcmp(block, expected + at, g.n_symbols), "symbols differ");
        at += g.n_symbols;
    }
    return spent;
}

/* All symbols at once by the table of bytes (pith_huff_stream_bytes), and its build. */
static double decode_bytes(const struct huff_lengths *lengths, const struct coded *c, uint64_t n,
                           const uint8_t *expected)
{
    static uint16_t entries[1 << HUFF_MAX_LEN];
    uint8_t byte[HUFF_SYMBOLS], *out = malloc(n);
    struct huff_stream s;
    for (uint32_t i = 0; i < HUFF_SYMBOLS; i++)
        byte[i] = (uint8_t)i;
    memset(out, 1, n);
    double start = seconds();
    pith_huff_build_bytes(lengths, byte, entries);
    require(!pith_huff_stream_open(&s, c->stream, c->stream_bytes, n, lengths, NULL, 0) &&
                !pith_huff_stream_bytes(&s, entries, out, pith_cpu_features()),
            "stream refused");
    double spent = seconds() - start;
    require(!memcmp(out, expected, n), "bytes differ");
    free(out);
    return spent;
}

static double expand(const struct weight *w, int what, const struct layer *l)
{
    void *scratch = malloc(pith_weight_scratch_bytes(w));
    void *out = malloc((what ? w->nnz : w->count) * sizeof(float) + w->nnz);
    memset(out, 1, (what ? w->nnz : w->count) * sizeof(float) + w->nnz);
    double start = seconds();
    if (what == 0)
        require(!pith_weight_expand_f32(w, out, scratch), "f32 refused");
    else if (what == 1)
        require(!pith_weight_expand_parts(w, out, NULL, NULL, scratch), "positions refused");
    else
        require(!pith_weight_expand_parts(w, out, (uint8_t *)out + 4 * w->nnz, NULL, scratch),
                "parts refused");
    double spent = seconds() - start;
    require(what != 2 || !memcmp((uint8_t *)out + 4 * w->nnz, l->kept, w->nnz), "indices differ");
    free(out);
    free(scratch);
    return spent;
}

struct zstd {
    size_t (*compress)(void *, size_t, const void *, size_t, int);
    size_t (*decompress)(void *, size_t, const void *, size_t);
};

static struct zstd open_zstd(void)
{
    struct zstd z = {NULL, NULL};
    void *lib = dlopen("libzstd.so.1", RTLD_NOW);
    if (lib) {
        *(void **)&z.compress = dlsym(lib, "ZSTD_compress");
        *(void **)&z.decompress = dlsym(lib, "ZSTD_decompress");
    }
    return z;
}

static void bench_zstd(const struct layer *l, int rounds)
{
    struct zstd z = open_zstd();
    size_t cap = l->nnz + 4096;
    if (!z.compress || !z.decompress)
        return;
    uint8_t *packed = malloc(cap), *back = malloc(cap);
    double best = 1e9, encode = seconds();
    size_t n = z.compress(packed, cap, l->kept, l->nnz, 1);
    encode = seconds() - encode;
    for (int i = 0; i < rounds; i++) {
        double start = seconds();
        z.decompress(back, cap, packed, n);
        double spent = seconds() - start;
        best = spent < best ? spent : best;
    }
    printf("  zstd -1 on indices      %9zu B   decode %6.0f M/s, encode %5.0f M/s\n", n,
           (double)l->nnz / best * 1e-6, (double)l->nnz / encode * 1e-6);
    free(packed);
    free(back);
}

#define BEST(result, call)                                                                         \
    do {                                                                                           \
        result = 1e9;                                                                              \
        for (int round_ = 0; round_ < rounds; round_++) {                                          \
            double spent_ = call;                                                                  \
            result = spent_ < result ? spent_ : result;                                            \
        }                                                                                          \
    } while (0)

/* Bytes and entropy of all layers of one network. */
struct total {
    double bytes, entropy_bytes;
};

static void print_size(const char *what, const struct coded *c, double entropy, uint64_t n,
                       struct total *total)
{
    size_t bytes = c->table_bytes + c->stream_bytes;
    total->bytes += (double)bytes;
    total->entropy_bytes += entropy / 8;
    printf("  %-8s %9zu B (table %3zu)  entropy %11.1f B = %.4f bits   %+.2f %%\n", what, bytes,
           c->table_bytes, entropy / 8, entropy / (double)n,
           ((double)bytes / (entropy / 8) - 1) * 100);
}

static void bench_layer(const struct layer_shape *shape, int rounds, struct total *gap_total,
                        struct total *index_total)
{
    struct layer l = make_layer(shape);
    struct pith_support_code code;
    struct support_lengths support;
    struct huff_lengths lengths;
    double index_encode, gap_encode, gap_s, index_s, pos_s, parts_s, dense_s;
    struct coded index = code_indices(&l, &index_encode);
    struct coded gaps = code_support(&l, &code, &gap_encode);
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct bit_reader r = bit_reader_of(index.table, index.table_bytes);
    pith_histogram_add(hist, l.kept, l.nnz);
    uint8_t book[PITH_SYMBOLS * 4];
    size_t book_bytes;
    require(!pith_codebook_encode(l.codebook, 1, CENTROIDS, book, sizeof book, &book_bytes),
            "codebook refused");
    struct weight w = {.type = PITH_F32,
                       .count = l.count,
                       .nnz = l.nnz,
                       .support = SUPPORT_GAPS,
                       .grid = GRID_CODEBOOK,
                       .code = CODE_HUFFMAN,
                       .n_centroids = CENTROIDS,
                       .group_elems = l.count,
                       .n_groups = 1,
                       .gap_table = {gaps.table, gaps.table_bytes},
                       .index_table = {index.table, index.table_bytes},
                       .support_stream = {gaps.stream, gaps.stream_bytes},
                       .index_stream = {index.stream, index.stream_bytes},
                       .codebook = {book, book_bytes}};
    printf("%s %ux%u %u %%: %llu nonzeros, codebook %zu B\n", shape->name, shape->rows, shape->cols,
           shape->density, (unsigned long long)l.nnz, book_bytes);
    print_size("gaps", &gaps, gap_entropy_bits(&l), l.nnz, gap_total);
    print_size("indices", &index, entropy_bits(hist, PITH_SYMBOLS), l.nnz, index_total);
    require(!pith_huff_read_lengths(&r, &lengths), "table refused");
    require(!pith_support_read_table(gaps.table, gaps.table_bytes, &support), "table refused");
    uint64_t gap_symbols = support_symbols(&support, l.count, l.nnz);
    BEST(index_s, decode_symbols(&lengths, &index, l.nnz, l.kept));
    BEST(gap_s, decode_symbols(&support.huff, &gaps, gap_symbols, NULL));
    BEST(pos_s, expand(&w, 1, &l));
    BEST(parts_s, expand(&w, 2, &l));
    BEST(dense_s, expand(&w, 0, &l));
    double m = (double)l.nnz * 1e-6;
    printf("  decode M/s: index symbols %.0f, gap symbols %.0f, positions %.0f, positions and "
           "indices %.0f; to dense f32 %.0f (%.2f GB/s)\n",
           m / index_s, (double)gap_symbols * 1e-6 / gap_s, m / pos_s, m / parts_s, m / dense_s,
           (double)l.count * 4e-9 / dense_s);
    printf("  encode M/s: indices %.0f, gaps %.0f (%s d %u m %u w %u)\n", m / index_encode,
           m / gap_encode, code.kind ? "patterns" : "gaps", code.direct_bits, code.mantissa_bits,
           code.pattern_bits);
    bench_zstd(&l, rounds);
    free(index.table);
    free(index.stream);
    free(gaps.table);
    free(gaps.stream);
    free(l.mask);
    free(l.index);
    free(l.kept);
}

static void print_total(const char *network, const struct total *gaps, const struct total *indices)
{
    printf("%s, all layers, over entropy with tables: gaps %+.2f %%, indices %+.2f %%\n", network,
           (gaps->bytes / gaps->entropy_bytes - 1) * 100,
           (indices->bytes / indices->entropy_bytes - 1) * 100);
}

/* Layers of one network share the first word of their names. */
static size_t network_length(const char *name)
{
    return strcspn(name, " ");
}

/* ---- coders of indices ----------------------------------------------------------------------- */

#define INDICES (1u << 20)

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

static void draw_indices(uint32_t k, uint8_t *index)
{
    double width = (double)(1u << tensors[k].bits), middle = (width - 1) / 2;
    for (uint32_t i = 0; i < INDICES; i++) {
        double u = ((double)(random_u64() >> 11) + 0.5) / 9007199254740992.0;
        double v = ((double)(random_u64() >> 11) + 0.5) / 9007199254740992.0;
        double x = tensors[k].laplace ? (u < 0.5 ? log(2 * u) : -log(2 - 2 * u))
                                      : sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        x = tensors[k].far > 0 ? round(middle + x * tensors[k].far * width) : u < 0.03;
        index[i] = (uint8_t)(x < 0 ? 0 : x > width - 1 ? width - 1 : x);
    }
}

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

#define MEDIAN(result, call)                                                                       \
    do {                                                                                           \
        double *all_ = malloc((size_t)rounds * sizeof *all_);                                      \
        for (int round_ = 0; round_ < rounds; round_++)                                            \
            all_[round_] = call;                                                                   \
        qsort(all_, (size_t)rounds, sizeof *all_, ascending);                                      \
        result = all_[rounds / 2];                                                                 \
        free(all_);                                                                                \
    } while (0)

#define PIECE 2048u /* as weights are decoded */

static double decode_rans(const struct rans_table *t, const struct coded *c, uint32_t features,
                          const uint8_t *expected)
{
    static uint32_t entries[RANS_SLOTS];
    static uint8_t out[INDICES];
    struct rans_stream s;
    enum pith_status st = PITH_OK;
    double start = seconds();
    pith_rans_build_entries(t, entries);
    require(!pith_rans_open(&s, c->stream, c->stream_bytes, INDICES, t, entries, features),
            "stream refused");
    for (uint32_t at = 0; at < INDICES && !st; at += PIECE)
        st = pith_rans_next(&s, out + at, PIECE);
    double spent = seconds() - start;
    require(!st && !memcmp(out, expected, sizeof out), "symbols differ");
    return spent;
}

static struct coded code_rans(const uint8_t *index, struct pith_rans_code *code, double *encode_s)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct coded c = {.table = code->table};
    double start = seconds();
    pith_histogram_add(hist, index, INDICES);
    pith_rans_build(hist, code);
    size_t cap = pith_rans_bound(INDICES);
    c.stream = malloc(cap);
    c.table_bytes = code->table_bytes;
    require(!pith_rans_encode(code, index, INDICES, c.stream, cap, &c.stream_bytes),
            "indices refused");
    *encode_s = seconds() - start;
    return c;
}

static double over(const struct coded *c, double entropy)
{
    return ((double)(c->table_bytes + c->stream_bytes) * 8 / entropy - 1) * 100;
}

static void bench_coders_of(uint32_t k, int rounds, uint8_t *index)
{
    static const uint32_t level[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct layer l = {.nnz = INDICES, .kept = index};
    struct pith_rans_code code;
    struct huff_lengths lengths;
    double huff_encode, rans_encode, s;
    draw_indices(k, index);
    pith_histogram_add(hist, index, INDICES);
    double entropy = entropy_bits(hist, PITH_SYMBOLS);
    struct coded huff = code_indices(&l, &huff_encode),
                 rans = code_rans(index, &code, &rans_encode);
    struct bit_reader r = bit_reader_of(huff.table, huff.table_bytes);
    require(!pith_huff_read_lengths(&r, &lengths), "table refused");
    MEDIAN(s, decode_symbols(&lengths, &huff, INDICES, index));
    printf("| %-18s | %6.3f | %+6.2f %% | %5.0f |", tensors[k].name, entropy / INDICES,
           over(&huff, entropy), INDICES / s * 1e-6);
    MEDIAN(s, decode_bytes(&lengths, &huff, INDICES, index));
    printf(" %5.0f |", INDICES / s * 1e-6);
    printf(" %+6.2f %% (%3zu) |", over(&rans, entropy), rans.table_bytes);
    for (uint32_t i = 0; i < 3; i++) {
        if (level[i] & ~pith_cpu_features()) {
            printf("     - |");
            continue;
        }
        MEDIAN(s, decode_rans(&code.frequencies, &rans, level[i], index));
        printf(" %5.0f |", INDICES / s * 1e-6);
    }
    printf(" %4.0f, %4.0f |\n", INDICES / huff_encode * 1e-6, INDICES / rans_encode * 1e-6);
    free(huff.table);
    free(huff.stream);
    free(rans.stream);
}

static int bench_coders(int rounds)
{
    uint8_t *index = malloc(INDICES);
    printf("| 2^20 indices | entropy, bits | Huffman over it | decoded, M/s | as bytes | rANS over "
           "it (table) | "
           "scalar, M/s | AVX2 | AVX-512 | encoded: Huffman, rANS |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t k = 0; k < sizeof tensors / sizeof *tensors; k++)
        bench_coders_of(k, rounds > 0 ? rounds : 9, index);
    free(index);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--coders") == 0)
        return bench_coders(argc > 2 ? atoi(argv[2]) : 9);
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    size_t n = sizeof shapes / sizeof *shapes;
    struct total gaps = {0, 0}, indices = {0, 0};
    for (size_t i = 0; i < n; i++) {
        char network[32];
        size_t len = network_length(shapes[i].name);
        snprintf(network, sizeof network, "%.*s", (int)len, shapes[i].name);
        bench_layer(&shapes[i], rounds > 0 ? rounds : 1, &gaps, &indices);
        if (i + 1 < n && strncmp(shapes[i + 1].name, network, len) == 0)
            continue;
        print_total(network, &gaps, &indices);
        gaps = indices = (struct total){0, 0};
    }
    return 0;
}
