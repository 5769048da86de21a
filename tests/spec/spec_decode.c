/* SPDX-License-Identifier: MIT */
/* spec_decode.c - a second decoder of .pith, written from docs/format.md and docs/format-streams.md
 * and from nothing else.
 *
 *     spec_decode net.pith        prints what the file holds; exit code 0, or 4: refused
 *
 * It is written to be read beside the two documents: section numbers "F4" and "S3" in comments mean
 * section 4 of format.md and section 3 of format-streams.md. One bit at a time, no tables for
 * speed. A broken rule ends the program with the offset in the file and the rule's words.
 *
 * Not done: shapes of computed values (the last sentence of F4) and arithmetic.
 *
 * Lines that begin with a blank tell how something is coded; the others tell what the network is.
 * Names and texts are escaped. `hash` is FNV-1a, 64 bits, over the elements of the tensor in memory
 * order: f32 little-endian after codebook and support; other types as their bytes. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RANK = 8,
    MAX_EACH = 65536, /* inputs, tensors, nodes */
    MAX_VALUES = 262144,
    MAX_TEXT = 1 << 24,
    MAX_SHORT = 255, /* bytes of a name, key or verb */
};
#define MAX_DIM 0x7FFFFFFFu
#define MAX_ELEMENTS (UINT64_C(1) << 40)
#define MEMORY_ELEMENTS (UINT64_C(1) << 30) /* a limit of this program, as F12 allows */

static const uint8_t *file;
static size_t file_bytes;
static bool compact;

/* ---- refusing, and reading bytes (F1) ----------------------------------------------------- */

static void refuse(const char *status, uint64_t at, const char *rule)
{
    fprintf(stderr, "%s at offset %" PRIu64 ": %s\n", status, at, rule);
    exit(4);
}

static void must(bool holds, uint64_t at, const char *rule)
{
    if (!holds) {
        refuse("corrupt", at, rule);
    }
}

/* Bytes at..end-1 of the file; reading moves `at`. */
struct span {
    uint64_t at, end;
};

static uint64_t left(const struct span *s)
{
    return s->end - s->at;
}

static struct span cut(struct span *s, uint64_t n)
{
    must(n <= left(s), s->at, "a stream or text is longer than what it lies in");
    struct span part = {s->at, s->at + n};
    s->at += n;
    return part;
}

static uint8_t u8(struct span *s)
{
    must(left(s) >= 1, s->at, "ends in the middle of a field");
    return file[s->at++];
}

static uint64_t fixed(struct span *s, int n_bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < n_bytes; i++) {
        v |= (uint64_t)u8(s) << (8 * i);
    }
    return v;
}

static uint64_t varint(struct span *s)
{
    uint64_t start = s->at, v = 0;
    for (int i = 0;; i++) {
        uint8_t b = u8(s);
        must(i < 9 || (i == 9 && b <= 1), start, "a varint must be below 2^64");
        v |= (uint64_t)(b & 0x7F) << (7 * i);
        if (b < 0x80) {
            must(b != 0 || i == 0, start, "a varint must have its shortest form");
            return v;
        }
    }
}

static uint64_t varint_in(struct span *s, uint64_t lo, uint64_t hi, const char *rule)
{
    uint64_t at = s->at, v = varint(s);
    must(v >= lo && v <= hi, at, rule);
    return v;
}

static int64_t svarint(struct span *s)
{
    uint64_t u = varint(s);
    return (int64_t)((u >> 1) ^ (~(u & 1) + 1));
}

static void check_utf8(struct span s)
{
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    while (left(&s) > 0) {
        uint64_t at = s.at;
        uint32_t c = u8(&s);
        int more = c < 0x80 ? 0 : c >= 0xC0 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : 3;
        must(c < 0x80 || (c >= 0xC0 && c < 0xF8), at, "a text must be UTF-8");
        c &= more == 0 ? 0x7Fu : 0x3Fu >> more;
        for (int i = 0; i < more; i++) {
            uint8_t b = u8(&s);
            must((b & 0xC0) == 0x80, at, "a text must be UTF-8");
            c = c << 6 | (b & 0x3F);
        }
        must(c != 0 && c >= smallest[more] && c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF), at,
             "UTF-8 without NUL, surrogates and overlong forms");
    }
}

static struct span text(struct span *s, uint64_t min_bytes, uint64_t max_bytes)
{
    struct span t = cut(s, varint_in(s, min_bytes, max_bytes, "length of a text out of range"));
    check_utf8(t);
    return t;
}

static void print_bytes(const uint8_t *text, uint64_t n)
{
    putchar('"');
    for (uint64_t i = 0; i < n; i++) {
        uint8_t b = text[i];
        if (b < 0x20 || b == 0x7F || b == '"' || b == '\\') {
            printf("\\x%02x", b);
        } else {
            putchar(b);
        }
    }
    putchar('"');
}

static void print_text(struct span s)
{
    print_bytes(file + s.at, left(&s));
}

static int compare_bytes(struct span a, struct span b)
{
    uint64_t n = left(&a) < left(&b) ? left(&a) : left(&b);
    int c = memcmp(file + a.at, file + b.at, n);
    return c != 0 ? c : (left(&a) > left(&b)) - (left(&a) < left(&b));
}

static void *zeroed(uint64_t count, size_t each)
{
    void *p = count > MEMORY_ELEMENTS ? NULL : calloc(count + 1, each);
    if (p == NULL) {
        refuse("limit", 0, "more memory than this program allows itself");
    }
    return p;
}

/* ---- reading bits (S1) -------------------------------------------------------------------- */

struct bits {
    uint64_t at, end; /* numbers of bits in the file, 8 to a byte */
};

static struct bits bits_of(struct span s)
{
    return (struct bits){s.at * 8, s.end * 8};
}

static uint32_t field(struct bits *b, uint32_t width)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < width; i++, b->at++) {
        must(b->at < b->end, b->at / 8, "a bit string ends in the middle of a field");
        v |= (uint32_t)(file[b->at / 8] >> (b->at % 8) & 1) << i;
    }
    return v;
}

static uint64_t unary(struct bits *b)
{
    uint64_t q = 0;
    while (field(b, 1) == 1) {
        q++;
    }
    return q;
}

static uint64_t gamma_number(struct bits *b)
{
    uint64_t nb = unary(b);
    must(nb <= 31, b->at / 8, "a gamma number has at most 31 bits behind its prefix");
    return (UINT64_C(1) << nb) + field(b, (uint32_t)nb);
}

static int64_t unzigzag(uint64_t u)
{
    return (u & 1) != 0 ? -(int64_t)(u / 2) - 1 : (int64_t)(u / 2);
}

/* Where a bit string ends, so do its bytes, but for fewer than 8 bits of zeros. */
static void padding(struct bits *b)
{
    must(b->end - b->at < 8, b->at / 8, "a bit string must end in its last byte");
    must(field(b, (uint32_t)(b->end - b->at)) == 0, b->at / 8, "padding must be zero bits");
}

/* ---- Huffman tables (S2) ------------------------------------------------------------------- */

struct huffman {
    uint8_t length[256]; /* 0: does not occur */
    bool present[256];
    uint32_t n_present, only; /* `only`: the symbol, when n_present is 1 */
    uint32_t count[13];       /* symbols of each length */
    uint8_t sorted[256];      /* by length, then symbol */
};

static void read_presence(struct bits *b, struct huffman *h, uint32_t alphabet, uint32_t presence)
{
    uint64_t at = b->at / 8;
    if (presence == 2) {
        bool occurs = field(b, 1) == 1;
        uint32_t s = 0;
        for (;; occurs = !occurs) {
            uint64_t run = gamma_number(b);
            must(run <= alphabet - s, at, "the runs of symbols must end at the alphabet's size");
            for (; run > 0; run--) {
                h->present[s++] = occurs;
            }
            if (s == alphabet) {
                break;
            }
        }
        must(h->present[alphabet - 1], at, "the last run must be of occurring symbols");
    } else {
        for (uint32_t s = 0; s + 1 < alphabet; s++) {
            h->present[s] = presence == 0 || (presence == 1 && field(b, 1) == 1);
        }
        h->present[alphabet - 1] = true;
    }
    for (uint32_t s = 0; s < alphabet; s++) {
        h->n_present += h->present[s];
    }
    must((h->n_present == 1) == (presence == 3), at, "one symbol is presence 3, more are not");
    h->only = alphabet - 1;
}

static void read_lengths(struct bits *b, struct huffman *h)
{
    uint64_t at = b->at / 8;
    uint32_t delta = field(b, 2), kraft = 0;
    int64_t length = 0;
    bool first = true;
    for (uint32_t s = 0; s < 256; s++) {
        if (!h->present[s]) {
            continue;
        }
        if (first || delta == 3) {
            length = (int64_t)field(b, 4) + 1;
        } else {
            uint64_t q = unary(b);
            length += unzigzag((q << delta) + field(b, delta));
        }
        first = false;
        must(length >= 1 && length <= 12, at, "a code length must be 1..12");
        h->length[s] = (uint8_t)length;
        h->count[length]++;
        kraft += UINT32_C(4096) >> length;
    }
    must(kraft == 4096, at, "the sum of 2^-length must be 1");
}

static void read_huffman(struct bits *b, struct huffman *h)
{
    memset(h, 0, sizeof *h);
    uint64_t at = b->at / 8;
    bool power = field(b, 1) == 1;
    uint32_t a = field(b, power ? 3 : 8);
    uint32_t alphabet = power ? 2u << a : a + 1;
    must(power || a == 0 || (alphabet & a) != 0, at, "p = 0: the alphabet is no power of two");
    uint32_t presence = field(b, 2);
    must(presence != 0 || alphabet >= 2, at, "presence 0 needs two symbols");
    read_presence(b, h, alphabet, presence);
    if (presence != 3) {
        read_lengths(b, h);
    }
    uint32_t n = 0;
    for (uint32_t length = 1; length <= 12; length++) {
        for (uint32_t s = 0; s < 256; s++) {
            if (h->length[s] == length) {
                h->sorted[n++] = (uint8_t)s;
            }
        }
    }
}

/* Canonical codes of one length are consecutive numbers, starting at `first`; the symbols of that
 * length start at `index` of `sorted`. */
static uint8_t read_symbol(struct bits *b, const struct huffman *h)
{
    if (h->n_present == 1) {
        return (uint8_t)h->only;
    }
    uint32_t code = 0, first = 0, index = 0;
    for (uint32_t length = 1; length <= 12; length++) {
        code = code << 1 | field(b, 1);
        if (code - first < h->count[length]) {
            return h->sorted[index + code - first];
        }
        index += h->count[length];
        first = (first + h->count[length]) << 1;
    }
    abort(); /* the lengths' sum is exact: every 12 bits hold a code */
}

#include "spec_rans.h"

/* ---- the list of tables (F6) ---------------------------------------------------------------- */

enum table_kind { FOR_INDICES, FOR_SUPPORT, FOR_RANS };

struct table {
    enum table_kind kind;
    struct rans rans;
    bool patterns;
    uint32_t d, m; /* relative index: direct_bits, mantissa_bits */
    uint32_t w;    /* patterns: elements a symbol */
    struct huffman h;
};

static struct table *tables;
static uint64_t n_tables, tables_room;
static struct span huff_chunk;

static uint32_t exponent(const struct table *t, uint32_t symbol)
{
    return t->d + ((symbol - (1u << t->d)) >> t->m);
}

static void read_support_head(struct bits *b, struct table *t)
{
    t->patterns = field(b, 1) == 1;
    if (t->patterns) {
        t->w = field(b, 1) == 1 ? 8 : 4;
    } else {
        t->d = field(b, 3);
        t->m = field(b, 2);
        must(t->m <= t->d, b->at / 8, "mantissa_bits must be at most direct_bits");
    }
}

static void check_support_symbols(const struct table *t, uint64_t at)
{
    for (uint32_t s = 0; s < 256; s++) {
        if (t->h.present[s] && t->patterns) {
            must(t->w == 8 || s < 16, at, "a pattern of 4 is below 16");
        } else if (t->h.present[s] && s >= 1u << t->d) {
            must(exponent(t, s) <= 31, at, "a gap's exponent must be at most 31");
        }
    }
}

static uint64_t new_table(enum table_kind kind)
{
    if (n_tables == tables_room) {
        tables_room = tables_room * 2 + 16;
        tables = realloc(tables, tables_room * sizeof *tables);
        if (tables == NULL) {
            refuse("limit", 0, "out of memory");
        }
    }
    struct table *t = &tables[n_tables];
    memset(t, 0, sizeof *t);
    must(left(&huff_chunk) > 0, huff_chunk.at, "a tensor needs a table that is not there");
    struct span s = cut(&huff_chunk, varint_in(&huff_chunk, 1, 255, "a table has 1..255 bytes"));
    struct bits b = bits_of(s);
    t->kind = kind;
    if (kind == FOR_SUPPORT) {
        read_support_head(&b, t);
    }
    if (kind == FOR_RANS) {
        read_rans(&b, &t->rans);
    } else {
        read_huffman(&b, &t->h);
    }
    padding(&b);
    if (kind == FOR_SUPPORT) {
        check_support_symbols(t, s.at);
    }
    return n_tables++;
}

static uint64_t table_reference(struct span *s, uint32_t r4, enum table_kind kind)
{
    uint64_t at = s->at, r = r4;
    if (r == 0) {
        return new_table(kind);
    }
    if (r == 15) {
        r = varint_in(s, 15, UINT64_MAX, "a long table reference is 15 or more");
    }
    must(r <= n_tables, at, "a reference to a table that nothing referred to");
    must(tables[n_tables - r].kind == kind, at, "a table of the other kind");
    return n_tables - r;
}

/* ---- coded streams (S3) ---------------------------------------------------------------------- */

static uint64_t n_sub_streams(uint64_t n)
{
    return n < 4096 ? 1 : 4 * ((n + 32767) / 32768);
}

/* Bytes of each sub-stream; s is left behind the directory. */
static uint64_t *read_directory(struct span *s, uint64_t n_sub)
{
    uint64_t at = s->at;
    uint64_t *bytes = zeroed(n_sub, sizeof *bytes);
    if (n_sub > 1) {
        uint64_t base = varint_in(s, 0, UINT64_C(1) << 24, "base is at most 2^24");
        uint32_t width = u8(s);
        must(width <= 24, at, "width of the directory's fields is 0..24");
        struct bits b = bits_of(cut(s, ((n_sub - 1) * width + 7) / 8));
        bool some_zero = false, some_top = width == 0;
        for (uint64_t j = 0; j + 1 < n_sub; j++) {
            uint32_t v = field(&b, width);
            some_zero |= v == 0;
            some_top |= width > 0 && v >> (width - 1) == 1;
            bytes[j] = base + v;
        }
        padding(&b);
        must(some_zero, at, "one size of the directory must be the base");
        must(some_top, at, "width must be no larger than needed");
    }
    uint64_t rest = left(s);
    for (uint64_t j = 0; j + 1 < n_sub; j++) {
        must(bytes[j] <= rest, at, "sub-streams are longer than the stream");
        rest -= bytes[j];
    }
    bytes[n_sub - 1] = rest;
    return bytes;
}

/* S5: the gap that a symbol and its extra bits tell. */
static uint64_t read_gap(struct bits *b, const struct table *t, uint32_t symbol)
{
    if (symbol < 1u << t->d) {
        return symbol;
    }
    uint32_t e = exponent(t, symbol);
    uint64_t f = (symbol - (1u << t->d)) & ((1u << t->m) - 1);
    return (((UINT64_C(1) << t->m) + f) << (e - t->m)) + field(b, e - t->m);
}

/* n symbols; and the gaps, where the table is one of relative indices. */
static uint8_t *read_coded(struct span s, const struct table *t, uint64_t n, uint64_t *gap)
{
    uint8_t *symbol = zeroed(n, 1);
    uint64_t n_sub = n_sub_streams(n);
    uint64_t *bytes = read_directory(&s, n_sub);
    for (uint64_t j = 0; j < n_sub; j++) {
        uint64_t from = j * n / n_sub, to = (j + 1) * n / n_sub;
        struct bits b = bits_of(cut(&s, bytes[j]));
        for (uint64_t i = from; i < to; i++) {
            symbol[i] = read_symbol(&b, &t->h);
        }
        for (uint64_t i = from; gap != NULL && i < to; i++) {
            gap[i] = read_gap(&b, t, symbol[i]);
        }
        padding(&b);
    }
    free(bytes);
    return symbol;
}

/* ---- tensors (F5, F6, S4, S5, S6) ------------------------------------------------------------ */

enum { BITMAP = 1, CODED = 2, SPARSE = 3 };

struct tensor {
    uint32_t type, rank, dim[MAX_RANK];
    uint64_t count, nnz;
    uint32_t support, grid; /* the numbers of F5 */
    uint32_t n_centroids;   /* 0: no codebook */
    uint64_t n_groups;
    uint64_t support_table, index_table;
    uint64_t support_bytes, index_bytes;
    struct span codebook, support_data, elements; /* `elements`: those, or indices */
    bool adaptive, planes, rans, settled, context, sliced, own_align, second;
    uint32_t trellis; /* states; 0: none */
    uint32_t source_back;
    const struct tensor *source; /* NULL: none */
};

static const char *const type_name[] = {"",   "f32", "f16", "bf16", "f64", "i8",
                                        "u8", "i16", "u16", "i32",  "i64", "bool"};
static const uint8_t type_bytes[] = {0, 4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};

static bool huffman_indices(const struct tensor *t)
{
    return (t->grid == 2 || t->grid == 4) && !t->rans;
}

static bool coded_indices(const struct tensor *t)
{
    return t->grid == 2 || t->grid == 4;
}

static uint32_t read_type(struct span *s)
{
    uint64_t at = s->at;
    uint32_t type = u8(s);
    must(type >= 2 && type <= 11, at, "a type byte is 2..11 (f32 is not written)");
    return type;
}

static uint32_t read_dim(struct span *s)
{
    return (uint32_t)varint_in(s, 1, MAX_DIM, "a dimension is 1..2^31-1");
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

/* The code that a shape must have; before: NULL for the first tensor. */
static uint32_t shape_code_of(const struct tensor *t, const struct tensor *before)
{
    if (before != NULL && t->rank == 1 && before->rank >= 1 && t->dim[0] == before->dim[0]) {
        return 0;
    }
    if (before != NULL && same_shape(t, before)) {
        return 6;
    }
    if (t->rank == 4 && t->dim[2] == t->dim[3]) {
        return 5;
    }
    return t->rank >= 1 && t->rank <= 4 ? t->rank : 7;
}

static void read_shape(struct span *s, struct tensor *t, const struct tensor *before, uint32_t code)
{
    uint64_t at = s->at;
    must(before != NULL || (code != 0 && code != 6), at, "no tensor before the first one");
    if (code == 6) {
        t->rank = before->rank;
        memcpy(t->dim, before->dim, sizeof t->dim);
    } else if (code == 0) {
        must(before->rank >= 1, at, "the tensor before has no dimension 0");
        t->rank = 1;
        t->dim[0] = before->dim[0];
    } else {
        t->rank = code == 5 ? 4 : code;
        if (code == 7) {
            t->rank = (uint32_t)varint_in(s, 0, MAX_RANK, "rank is 0..8");
        }
        for (uint32_t i = 0; i < t->rank; i++) {
            t->dim[i] = code == 5 && i == 3 ? t->dim[2] : read_dim(s);
        }
    }
    must(shape_code_of(t, before) == code, at, "the first shape code that fits must be used");
    t->count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        must(t->count <= MAX_ELEMENTS / t->dim[i], at, "a tensor has at most 2^40 elements");
        t->count *= t->dim[i];
    }
}

static uint64_t ones_of_bitmap(struct span s, uint64_t count)
{
    struct bits b = bits_of(s);
    uint64_t n = 0;
    for (uint64_t i = 0; i < count; i++) {
        n += field(&b, 1);
    }
    padding(&b);
    return n;
}

static uint32_t index_width(uint32_t n_centroids)
{
    uint32_t b = 1;
    while (1u << b < n_centroids) {
        b++;
    }
    return b;
}

static uint64_t plain_bytes(const struct tensor *t)
{
    return t->grid == 0 ? t->nnz * type_bytes[t->type]
                        : (t->nnz * index_width(t->n_centroids) + 7) / 8;
}

static void cut_elements(struct tensor *t, struct span *data)
{
    uint64_t n = coded_indices(t) ? t->index_bytes : plain_bytes(t);
    uint64_t align = t->own_align ? type_bytes[t->type] : 64;
    while (!compact && t->grid == 0 && n > 0 && data->at % align != 0) {
        must(u8(data) == 0, data->at - 1, "bytes before plain elements must be zero");
    }
    t->elements = cut(data, n);
}

/* F5, common tensors. `grid` is the `k` of the table there, of all tensors that have a codebook. */
static void read_common(struct span *s, struct tensor *t, uint32_t head, uint64_t at,
                        uint32_t *last_centroids)
{
    bool same = head >= 0x80;
    uint32_t common = (head - (same ? 0x80 : 0)) >> 3;
    must(common <= 14, at, "a type prefix must not be there twice, nor this head with this type");
    t->support = common / 5;
    t->grid = common % 5;
    t->n_groups = 1;
    must(t->grid != 0 || !same, at, "the same centroids need a codebook");
    must(t->grid == 0 || t->type == 1 || t->type == 5, at, "a tensor with a codebook is f32 or i8");
    must(t->support != CODED || t->count < UINT64_C(1) << 32, at, "coded support: below 2^32");
    if (t->grid == 0) {
        return;
    }
    if (same) {
        must(*last_centroids != 0, at, "the same centroids need a codebook before");
        t->n_centroids = *last_centroids;
    } else {
        t->n_centroids = u8(s) + 1u;
        must(t->n_centroids != *last_centroids, at,
             "the same centroids must be told where they are");
    }
    *last_centroids = t->n_centroids;
    if (t->grid >= 3) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, at, "groups must divide the elements");
    }
}

/* The order of the streams in DATA lets a reader cut them while it reads the tensor; the bitmap
 * must even be counted here, since its nnz decides what follows. */
static void read_streams(struct span *s, struct tensor *t, struct span *data)
{
    t->nnz = t->count;
    if (t->support == CODED) {
        t->nnz = varint_in(s, 0, t->count, "nnz is at most the number of elements");
    }
    if (t->grid != 0) {
        t->codebook = cut(data, varint_in(s, 1, UINT64_MAX, "a codebook has bytes"));
    }
    if (t->support == BITMAP) {
        t->support_data = cut(data, (t->count + 7) / 8);
        t->nnz = ones_of_bitmap(t->support_data, t->count);
    }
    bool with_support = t->support == CODED && t->nnz > 0;
    bool with_index = coded_indices(t) && t->nnz > 0;
    if (with_support || with_index) {
        uint64_t at = s->at;
        uint32_t references = u8(s);
        must(with_support || (references & 15) == 0, at, "0 where no support table is used");
        must(with_index || references >> 4 == 0, at, "0 where no index table is used");
        if (with_support) {
            t->support_table = table_reference(s, references & 15, FOR_SUPPORT);
        }
        if (with_index) {
            t->index_table = table_reference(s, references >> 4, t->rans ? FOR_RANS : FOR_INDICES);
        }
    }
    t->support_bytes = with_support ? varint(s) : 0;
    t->index_bytes = with_index ? varint(s) : 0;
    if (t->support == CODED) {
        t->support_data = cut(data, t->support_bytes);
    }
    cut_elements(t, data);
}

/* F5, adaptive. The codebook is read to find where it ends. */
static uint64_t codebook_bytes(const struct tensor *t);
static bool is_selective(const struct tensor *t);

static void read_form(struct span *s, struct tensor *t, uint32_t form, uint32_t *last_centroids)
{
    uint64_t at = s->at;
    bool codebook = form >> 1 & 1, groups = form >> 2 & 1, same = form >> 3 & 1;
    must(codebook || (!groups && !same), at, "groups and centroids need a codebook");
    must(t->count < UINT64_C(1) << 28, at, "an adaptive tensor has fewer than 2^28 elements");
    t->adaptive = true;
    t->support = form & 1 ? SPARSE : 0;
    t->n_groups = 1;
    t->nnz = t->count;
    t->source_back = form >> 4;
    if (codebook) {
        t->grid = groups ? 3 : 1;
        t->n_centroids = same ? *last_centroids : u8(s) + 1u;
        must(t->n_centroids != 0 && (same || t->n_centroids != *last_centroids), at,
             "same centroids where they are, and only there");
        *last_centroids = t->n_centroids;
    }
    if (groups) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, at, "groups must divide the elements");
    }
    if (t->support == SPARSE) {
        t->nnz = varint_in(s, 1, t->count, "nnz of an adaptive tensor is at least 1");
    }
}

/* first, t: the first tensor and this one, of an array */
static void read_adaptive_streams(struct span *s, struct tensor *first, struct tensor *t,
                                  bool is_last, struct span *data)
{
    uint64_t at = s->at, cols = t->count / (t->rank < 2 ? 1 : t->dim[0]);
    if (t->source_back > 0) {
        must(t->source_back <= (uint64_t)(t - first), at, "a source before the first tensor");
        t->source = t - t->source_back;
        must(t->source->adaptive && t->source->rank >= 2 && t->source->dim[0] >= 2 &&
                 is_selective(t->source) && cols % t->source->dim[0] == 0,
             at, "a source tells rows that feed the columns");
    }
    t->elements = cut(data, is_last ? left(data) : varint(s));
    if (t->grid != 0) {
        t->codebook = t->elements;
        t->codebook.end = t->codebook.at + codebook_bytes(t);
        t->elements.at = t->codebook.end;
    }
}

/* Rows of the tensor two before, 0 if there are none. */
static uint32_t fed_by(const struct tensor *t, uint64_t i)
{
    return i >= 2 && t[-2].rank >= 2 ? t[-2].dim[0] : 0;
}

/* F5, the table of short heads; 6: none. */
static uint32_t short_kind(const struct tensor *t, uint64_t i)
{
    uint32_t R = fed_by(t, i), code = shape_code_of(t, i > 0 ? t - 1 : NULL);
    bool conv = code == 5;
    if ((code != 2 && !conv) || t->grid != 1) {
        return 6;
    }
    if (t->source_back == 0) {
        return !conv ? 0 : t->dim[1] == 1 ? 5 : 1;
    }
    if (t->source_back != 2 || R < 2 || t->dim[1] % R != 0) {
        return 6;
    }
    return t->dim[1] == R ? (conv ? 3 : 2) : conv ? 6 : 4;
}

static uint32_t short_number(uint32_t head)
{
    static const uint32_t begin[3] = {0x80, 0xA8, 0xD0};
    for (uint32_t i = 0; i < 3; i++) {
        if (head >= begin[i] && head < begin[i] + 8) {
            return 8 * i + head - begin[i];
        }
    }
    return 24;
}

static void read_short(struct span *s, struct tensor *t, uint64_t i, uint32_t number,
                       uint32_t *last_centroids)
{
    uint64_t at = s->at;
    uint32_t kind = number % 6, R = fed_by(t, i);
    bool conv = kind == 1 || kind == 3 || kind == 5;
    t->rank = conv ? 4 : 2;
    t->dim[0] = read_dim(s);
    t->dim[1] = kind == 5 ? 1 : R;
    if (kind < 2) {
        t->dim[1] = read_dim(s);
    } else if (kind == 4) {
        uint64_t q = varint(s);
        must(q >= 2 && R > 0 && q <= MAX_DIM / R, at, "dimension 1 is 2 or more times the rows");
        t->dim[1] = (uint32_t)q * R;
    }
    must(t->dim[1] > 0, at, "the tensor two before has rows");
    if (conv) {
        t->dim[2] = t->dim[3] = read_dim(s);
    }
    t->count = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        must(t->count <= MAX_ELEMENTS / t->dim[k], at, "a tensor has at most 2^40 elements");
        t->count *= t->dim[k];
    }
    uint32_t source = kind >= 2 && kind <= 4 ? 0x20 : 0, same = number / 6 % 2 * 8,
             sparse = number / 12;
    read_form(s, t, source + same + 2 + sparse, last_centroids);
    must(short_kind(t, i) == kind, at, "a short head must be the one that fits");
}

static void unsupported_unless(bool known, uint64_t at, const char *what)
{
    if (!known) {
        refuse("unsupported", at, what);
    }
}

static void read_rans_tensor(struct span *s, struct tensor *t, uint32_t support, bool groups,
                             struct span *data, uint32_t *last_centroids)
{
    t->rans = true;
    t->support = support;
    t->grid = groups ? 4 : 2;
    must(support != CODED || t->count < UINT64_C(1) << 32, s->at, "coded support: below 2^32");
    t->n_centroids = u8(s) + 1u;
    last_centroids[t->rank < 2 ? 0 : 1] = t->n_centroids;
    if (groups) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, s->at, "groups must divide the elements");
    }
    read_streams(s, t, data);
}

static void read_context_tensor(struct span *s, struct tensor *t, uint32_t support, bool groups,
                                struct span *data, uint32_t *last_centroids)
{
    t->context = true;
    t->support = support;
    t->grid = groups ? 3 : 1;
    must(t->count < UINT64_C(1) << 28, s->at,
         "a context-coded tensor has fewer than 2^28 elements");
    t->n_centroids = u8(s) + 1u;
    must(support == 0 || t->n_centroids <= 255, s->at, "one level is of what is not stored");
    last_centroids[t->rank < 2 ? 0 : 1] = t->n_centroids;
    if (groups) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, s->at, "groups must divide the elements");
    }
    if (support != 0) {
        t->nnz = varint_in(s, 1, t->count, "nnz is at least 1, at most the elements");
    }
    t->codebook = cut(data, varint_in(s, 1, UINT64_MAX, "a codebook has bytes"));
    t->elements = cut(data, varint(s));
}

/* F5, the long head: its byte has been read. */
static void read_long(struct span *s, struct tensor *t, uint64_t i, bool is_last, struct span *data,
                      uint32_t *last_centroids)
{
    const struct tensor *before = i > 0 ? t - 1 : NULL;
    uint64_t at = s->at;
    uint32_t shape = u8(s), support = u8(s), grid = u8(s), code = u8(s);
    unsupported_unless(shape < 8, at, "bits 3-7 of the shape byte");
    bool settled = code == 2 || code == 8;
    if ((settled ? grid == 1 : code == 7 && grid <= 2) && (support == 0 || support == 3) &&
        (t->type == 1 || (t->type == 5 && grid != 0))) {
        read_shape(s, t, before, shape);
        t->settled = settled;
        t->sliced = code >= 7;
        read_form(s, t, u8(s), &last_centroids[t->rank < 2 ? 0 : 1]);
        must(t->grid == (grid == 2 ? 3 : grid) && (t->support == SPARSE) == (support == 3), at,
             "the form must say what the head says");
        read_adaptive_streams(s, t - i, t, is_last, data);
        return;
    }
    bool planes = support == 0 && grid == 0 && code == 3 && t->type == 1;
    bool rans =
        support <= 2 && (grid == 1 || grid == 2) && code == 4 && (t->type == 1 || t->type == 5);
    bool context = (support == 0 || support == 3) && (grid == 1 || grid == 2) &&
                   (code == 5 || code == 6) && (t->type == 1 || t->type == 5);
    unsupported_unless(planes || rans || context, at + 1,
                       "a support, grid and code that this version does not have");
    read_shape(s, t, before, shape);
    t->n_groups = 1;
    t->nnz = t->count;
    if (rans) {
        read_rans_tensor(s, t, support, grid == 2, data, last_centroids);
        return;
    }
    if (context) {
        t->sliced = code == 6;
        read_context_tensor(s, t, support, grid == 2, data, last_centroids);
        return;
    }
    t->planes = true;
    t->elements = cut(data, is_last ? left(data) : varint(s));
}

/* Behind the prefixes. */
static void read_head(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                      uint32_t *last_centroids)
{
    static const uint32_t vector_form[] = {0x10, 0x12, 0x1A};
    uint32_t *last;
    const struct tensor *before = i > 0 ? t - 1 : NULL;
    uint64_t at = s->at;
    uint32_t head = u8(s);
    unsupported_unless(head < 0x7D || head > 0x7F, at, "a prefix behind a prefix");
    if (head == 0x7C) {
        read_long(s, t, i, i + 1 == n, data, last_centroids);
        return;
    }
    bool may_have_codebook = t->type == 1 || t->type == 5;
    if (may_have_codebook && short_number(head) < 24) {
        read_short(s, t, i, short_number(head), &last_centroids[1]);
        read_adaptive_streams(s, t - i, t, i + 1 == n, data);
        return;
    }
    bool vector = may_have_codebook && head >= 0x79 && head <= 0x7B;
    must(may_have_codebook || head < 0x78, at, "a tensor with a codebook is f32 or i8");
    read_shape(s, t, before, vector ? 0 : head & 7);
    last = &last_centroids[t->rank < 2 ? 0 : 1];
    if (vector || (may_have_codebook && head >= 0xF8)) {
        uint32_t form = vector ? vector_form[head - 0x79] : u8(s);
        must(vector || (head & 7) != 0 || (form != 0x10 && form != 0x12 && form != 0x1A), at,
             "a form that a head byte tells must be told by it");
        read_form(s, t, form, last);
        must(t->type == 1 || t->grid != 0, at, "adaptive integers have a codebook");
        must(short_kind(t, i) == 6, at, "a tensor with a short head must have it");
        read_adaptive_streams(s, t - i, t, i + 1 == n, data);
        return;
    }
    read_common(s, t, head, at, last);
    read_streams(s, t, data);
}

/* t: number `i` of n. */
static void read_tensor(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                        uint32_t *last_centroids)
{
    t->type = 1;
    if (left(s) > 0 && file[s->at] == 0x78) {
        s->at++;
        unsupported_unless(left(s) == 0 || file[s->at] <= 11, s->at, "a type above 11");
        t->type = read_type(s);
    }
    if (left(s) > 0 && (file[s->at] == 0x7D || file[s->at] == 0x7E)) {
        uint32_t first = u8(s);
        t->trellis = first == 0x7D ? 8 : 16;
        if (left(s) > 0 && (file[s->at] == 0x7D || file[s->at] == 0x7E)) {
            uint32_t second = u8(s);
            unsupported_unless(first <= second, s->at - 1, "the prefix 0x7E before 0x7D");
            t->second = true;
            t->trellis = first == second ? t->trellis : 0;
        }
    } else if (left(s) > 0 && file[s->at] == 0x7F) {
        must(!compact, s->at, "no alignment in a compact file");
        s->at++;
        t->own_align = true;
    }
    uint64_t at = s->at;
    read_head(s, t, i, n, data, last_centroids);
    must((t->trellis == 0 && !t->second) || (t->adaptive && t->grid != 0), at,
         "levels of a trellis are those of an adaptive tensor with a codebook");
    must(!t->second || !t->settled, at, "no settled tensor has the second model");
    must(!t->own_align ||
             (t->support == 0 && t->grid == 0 && !t->adaptive && !t->planes && plain_bytes(t) < 64),
         at, "an alignment of its own have few plain elements alone");
}

/* S5: one byte an element, 1 where it is stored. */
static uint8_t *read_mask(const struct tensor *t)
{
    uint8_t *mask = zeroed(t->count, 1);
    uint64_t at = t->support_data.at;
    if (t->support == 0) {
        memset(mask, 1, t->count);
    } else if (t->support == BITMAP) {
        struct bits b = bits_of(t->support_data);
        for (uint64_t i = 0; i < t->count; i++) {
            mask[i] = (uint8_t)field(&b, 1);
        }
    } else if (t->nnz > 0 && tables[t->support_table].patterns) {
        const struct table *table = &tables[t->support_table];
        uint64_t n = (t->count + table->w - 1) / table->w, ones = 0;
        uint8_t *symbol = read_coded(t->support_data, table, n, NULL);
        for (uint64_t i = 0; i < n * table->w; i++) {
            uint32_t bit = symbol[i / table->w] >> (i % table->w) & 1;
            must(bit == 0 || i < t->count, at, "bits of a pattern beyond the tensor must be 0");
            if (bit == 1) {
                mask[i] = 1;
                ones++;
            }
        }
        must(ones == t->nnz, at, "the patterns' one bits must be nnz");
        free(symbol);
    } else if (t->nnz > 0) {
        uint64_t *gap = zeroed(t->nnz, sizeof *gap), pos = 0;
        free(read_coded(t->support_data, &tables[t->support_table], t->nnz, gap));
        for (uint64_t i = 0; i < t->nnz; i++) {
            must(gap[i] < t->count - pos, at, "a gap leads past the last element");
            pos += gap[i] + 1;
            mask[pos - 1] = 1;
        }
        free(gap);
    }
    return mask;
}

/* S6: one of the two lists of a group: first value, then differences. */
static void read_magnitudes(struct bits *b, uint32_t z, uint32_t k, uint32_t n, uint32_t *magnitude)
{
    uint32_t width = 31 - z;
    uint64_t v = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = b->at / 8, q = 0;
        if (i == 0) {
            v = field(b, width);
        } else {
            while (q < 16 && field(b, 1) == 1) {
                q++;
            }
            v += q < 16 ? (q << k) + field(b, k) : field(b, width);
        }
        must(v < UINT64_C(1) << width, at, "a centroid's magnitude must stay below 2^B");
        must(v << z < 0x7F800000, at, "centroids must be finite");
        magnitude[i] = (uint32_t)(v << z);
    }
}

static void multiples(uint32_t step_bits, uint32_t neg, uint32_t zero, uint32_t n,
                      uint32_t *centroid)
{
    float step;
    memcpy(&step, &step_bits, sizeof step);
    for (uint32_t i = 0; i < n; i++) {
        float v = i < neg ? -((float)(neg - i) * step) : (float)(i - neg + 1 - zero) * step;
        memcpy(&centroid[i], &v, sizeof v);
    }
}

/* z = 31: multiples of a step. */
static void read_uniform_group(struct bits *b, uint32_t m, uint32_t n, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t e = field(b, 8), f = field(b, m), width = 0;
    while (n >> width != 0) {
        width++;
    }
    uint32_t neg = field(b, width), step_bits = e << 23 | f << (23 - m);
    must(e >= 1 && e <= 254, at, "a step is a normal number");
    must(neg <= n, at, "more negative centroids than centroids");
    uint32_t zero = neg < n ? field(b, 1) : 0;
    multiples(step_bits, neg, zero, n, centroid);
}

/* What a chained step is beyond the one before. */
static int64_t step_difference(struct bits *b)
{
    int64_t zigzag = 0;
    while (field(b, 1) != 0) {
        zigzag++;
    }
    return zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
}

/* z = 31, k from 24 on: steps as offsets to the smallest one, or each to the one before. */
static void read_near_groups(struct bits *b, uint32_t m, const struct tensor *t, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t base = field(b, 8 + m), w = field(b, 4), n = t->n_centroids;
    must(w <= 8 + m || w == 15, at, "an offset of a step has at most as many bits as the step");
    int64_t number = base;
    for (uint64_t g = 0; g < t->n_groups; g++) {
        if (w == 15) {
            number += g > 0 ? step_difference(b) : 0;
        }
        must(number >= 0 && number >> (8 + m) == 0, at, "a step leaves its range");
        uint32_t step = w == 15 ? (uint32_t)number : base + field(b, w);
        must(step >> m >= 1 && step >> m <= 254, at, "a step is a normal number");
        multiples(step << (23 - m), n / 2, n % 2, n, centroid + g * n);
    }
}

static void read_group(struct bits *b, uint32_t z, uint32_t k, uint32_t n, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t width = 0, list[256];
    while (n >> width != 0) {
        width++;
    }
    uint32_t n_negative = field(b, width);
    must(n_negative <= n, at, "more negative centroids than centroids");
    uint32_t zero = n_negative < n ? field(b, 1) : 0;
    read_magnitudes(b, z, k, n_negative, list);
    for (uint32_t i = 0; i < n_negative; i++) {
        centroid[n_negative - 1 - i] = list[i] | 0x80000000u;
    }
    uint32_t n_positive = n - n_negative - zero;
    read_magnitudes(b, z, k, n_positive, list);
    must(zero == 1 || n_positive == 0 || list[0] != 0, at, "a centroid +0 must not be written");
    centroid[n_negative] = 0; /* room for it: the array has one more than it needs */
    for (uint32_t i = 0; i < n_positive; i++) {
        centroid[n_negative + zero + i] = list[i];
    }
}

static void check_ascending(const uint32_t *centroid, uint32_t n, uint64_t at)
{
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t magnitude = centroid[i] & 0x7FFFFFFF;
        int64_t order = centroid[i] >> 31 ? -1 - magnitude : magnitude;
        must(magnitude < 0x7F800000, at, "centroids must be finite");
        must(order >= before, at, "centroids must ascend within their group");
        before = order;
    }
}

static void read_groups(struct bits *b, const struct tensor *t, uint32_t *centroid)
{
    uint32_t z = field(b, 5), k = field(b, 5);
    must(z == 31 || k <= 30, b->at / 8, "k of a codebook is at most 30");
    if (z == 31 && k >= 24) {
        read_near_groups(b, k - 24, t, centroid);
        return;
    }
    for (uint64_t g = 0; g < t->n_groups; g++) {
        if (z == 31) {
            read_uniform_group(b, k, t->n_centroids, centroid + g * t->n_centroids);
        } else {
            read_group(b, z, k, t->n_centroids, centroid + g * t->n_centroids);
        }
    }
}

enum { NOT_AN_INTEGER = 1000 };

/* Of the bits of an f32: the whole number -128..127 that it is. */
static int integer_of(uint32_t bits)
{
    for (int v = -128; v <= 127; v++) {
        float f = (float)v;
        uint32_t of_v;
        memcpy(&of_v, &f, 4);
        if (of_v == bits) {
            return v;
        }
    }
    return NOT_AN_INTEGER;
}

/* The bits of the f32 values; *end: behind the last of them. */
static uint32_t *read_codebook_until(const struct tensor *t, struct bits *end)
{
    uint64_t n = t->n_groups * t->n_centroids, at = t->codebook.at;
    uint32_t *centroid = zeroed(n + 1, sizeof *centroid);
    struct bits b = bits_of(t->codebook);
    uint32_t coded = field(&b, 1), e = coded == 0 ? field(&b, 7) : 0;
    if (e > 0) {
        for (uint64_t g = 0; g < t->n_groups; g++) {
            e = g == 0 ? e : field(&b, 7);
            must(e > 0, at, "a step is a normal number");
            multiples(e << 23 | field(&b, 8) << 15, t->n_centroids / 2, t->n_centroids % 2,
                      t->n_centroids, centroid + g * t->n_centroids);
        }
    } else if (coded == 0) {
        for (uint64_t i = 0; i < n; i++) {
            centroid[i] = field(&b, 32);
        }
    } else {
        read_groups(&b, t, centroid);
    }
    for (uint64_t g = 0; g < t->n_groups; g++) {
        check_ascending(centroid + g * t->n_centroids, t->n_centroids, at);
    }
    for (uint64_t i = 0; t->type == 5 && i < n; i++) {
        must(integer_of(centroid[i]) != NOT_AN_INTEGER, at, "centroids of i8 are -128..127");
    }
    *end = b;
    return centroid;
}

static uint32_t *read_codebook(const struct tensor *t)
{
    struct bits b;
    uint32_t *centroid = read_codebook_until(t, &b);
    padding(&b);
    return centroid;
}

static uint64_t codebook_bytes(const struct tensor *t)
{
    struct bits b;
    free(read_codebook_until(t, &b));
    must(field(&b, (uint32_t)(-b.at & 7)) == 0, b.at / 8, "padding must be zero bits");
    return b.at / 8 - t->codebook.at;
}

static uint8_t *read_indices(const struct tensor *t)
{
    uint8_t *index;
    if (!coded_indices(t)) {
        struct bits b = bits_of(t->elements);
        index = zeroed(t->nnz, 1);
        for (uint64_t i = 0; i < t->nnz; i++) {
            index[i] = (uint8_t)field(&b, index_width(t->n_centroids));
        }
        padding(&b);
    } else if (t->nnz == 0) {
        index = zeroed(0, 1);
    } else if (t->rans) {
        index = read_rans_stream(t->elements, &tables[t->index_table].rans, t->nnz);
    } else {
        index = read_coded(t->elements, &tables[t->index_table], t->nnz, NULL);
    }
    for (uint64_t i = 0; i < t->nnz; i++) {
        must(index[i] < t->n_centroids, t->elements.at, "an index past the last centroid");
    }
    return index;
}

/* bits: of the f32 that element i is, as a centroid or by itself */
static void write_value(const struct tensor *t, uint8_t *value, uint64_t i, uint32_t bits)
{
    if (t->type == 5) {
        value[i] = (uint8_t)integer_of(bits);
        return;
    }
    for (uint32_t byte = 0; byte < 4; byte++) {
        value[i * 4 + byte] = (uint8_t)(bits >> (8 * byte));
    }
}

#include "spec_slices.h"
#include "spec_adaptive.h"
#include "spec_context.h"

static uint64_t fnv1a(const uint8_t *p, uint64_t n)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (uint64_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    }
    return h;
}

/* S9 */
static void read_planes(const struct tensor *t, uint8_t *value)
{
    struct span s = t->elements;
    uint32_t *word = zeroed(t->count, sizeof *word);
    for (uint32_t plane = 0; plane < 4; plane++) {
        uint32_t table_bytes = u8(&s);
        uint8_t *symbol;
        if (table_bytes == 0) {
            struct span plain = cut(&s, t->count);
            symbol = zeroed(t->count, 1);
            memcpy(symbol, file + plain.at, t->count);
        } else {
            struct table code;
            memset(&code, 0, sizeof code);
            struct bits b = bits_of(cut(&s, table_bytes));
            read_huffman(&b, &code.h);
            padding(&b);
            uint64_t bytes = varint(&s);
            symbol = read_coded(cut(&s, bytes), &code, t->count, NULL);
        }
        for (uint64_t i = 0; i < t->count; i++) {
            word[i] += (uint32_t)symbol[i] << (8 * plane);
        }
        free(symbol);
    }
    must(left(&s) == 0, s.at, "bytes behind the last plane");
    for (uint64_t i = 0; i < t->count; i++) {
        write_value(t, value, i, word[i] >> 1 | (word[i] & 1) << 31);
    }
    free(word);
}

/* The effective values: what an element is, where it is stored; zero elsewhere. */
static uint8_t *read_values(const struct tensor *t)
{
    uint32_t each = type_bytes[t->type];
    uint8_t *value = zeroed(t->count * each, 1);
    if (t->adaptive) {
        read_adaptive_values(t, value);
        return value;
    }
    if (t->context) {
        read_context_values(t, value);
        return value;
    }
    if (t->planes) {
        read_planes(t, value);
        return value;
    }
    uint8_t *mask = read_mask(t);
    uint8_t *index = t->grid != 0 ? read_indices(t) : NULL;
    uint32_t *centroid = t->grid != 0 ? read_codebook(t) : NULL;
    uint64_t stored = 0;
    for (uint64_t i = 0; i < t->count; i++) {
        if (mask[i] == 0) {
            continue;
        }
        if (t->grid == 0) {
            memcpy(value + i * each, file + t->elements.at + stored * each, each);
        } else {
            uint64_t group = i / (t->count / t->n_groups);
            uint32_t v = centroid[group * t->n_centroids + index[stored]];
            write_value(t, value, i, v);
        }
        stored++;
    }
    free(mask);
    free(index);
    free(centroid);
    return value;
}

static void print_shape(uint32_t type, uint32_t rank, const uint32_t *dim)
{
    printf(" %s [", type_name[type]);
    for (uint32_t i = 0; i < rank; i++) {
        printf("%s%" PRIu32, i == 0 ? "" : ",", dim[i]);
    }
    printf("]");
}

static const char *adaptive_kind(const struct tensor *t)
{
    static const char *const kind[2][5] = {
        {"adaptive", "adaptive trellis", "adaptive second", "adaptive second trellis",
         "adaptive settled"},
        {"adaptive sliced", "adaptive sliced trellis", "adaptive sliced second",
         "adaptive sliced second trellis", "adaptive sliced settled"}};
    return kind[t->sliced][t->settled ? 4 : 2 * t->second + (t->trellis > 0)];
}

static void print_tensor(uint64_t number, const struct tensor *t)
{
    static const char *const support[] = {"dense", "bitmap", "coded", "sparse"};
    uint8_t *value = read_values(t);
    printf("tensor %" PRIu64, number);
    print_shape(t->type, t->rank, t->dim);
    bool floats =
        t->type == 1; /* of integers the library keeps what they are, not their codebook */
    printf(" nnz %" PRIu64 " centroids %" PRIu32 " groups %" PRIu64 " hash %016" PRIx64 "\n",
           t->nnz, floats ? t->n_centroids : 0, floats ? t->n_groups : 1,
           fnv1a(value, t->count * type_bytes[t->type]));
    printf(" support %s grid %s code %s", support[t->support],
           t->grid == 0  ? "plain"
           : t->grid < 3 ? "codebook"
                         : "codebooks",
           t->adaptive          ? adaptive_kind(t)
           : t->planes          ? "planes"
           : t->sliced          ? "context sliced"
           : t->context         ? "context"
           : t->rans            ? "rans"
           : huffman_indices(t) ? "huffman"
                                : "plain");
    if (t->support == CODED && t->nnz > 0) {
        const struct table *s = &tables[t->support_table];
        printf(" support_table %" PRIu64 " %s", t->support_table,
               s->patterns ? "patterns" : "gaps");
    }
    if (coded_indices(t) && t->nnz > 0) {
        printf(" index_table %" PRIu64, t->index_table);
    }
    printf("\n");
    free(value);
}

/* ---- operators (F11) ------------------------------------------------------------------------- */

enum kind { END, INT, FLOAT, LIST };

struct attribute {
    enum kind kind;
    const char *name;
    int64_t lo, hi; /* INT, LIST */
    int64_t value;  /* default of INT */
    float real;     /* default of FLOAT */
    bool needed;    /* no default: must be written */
    bool infinite;  /* FLOAT: may be infinite */
};

enum { MAX_ATTRIBUTES = 8 };

struct op {
    const char *name;
    uint32_t min_in, max_in, default_in; /* default_in 0: always wired */
    uint32_t min_out, max_out;
    struct attribute attribute[MAX_ATTRIBUTES + 1];
};

/* clang-format off */
#define INF (1e30f * 1e30f)
#define I(name, def, lo, hi) {INT, name, lo, hi, def, 0, false, false}
#define I_NEEDED(name, lo, hi) {INT, name, lo, hi, 0, 0, true, false}
#define F(name, def) {FLOAT, name, 0, 0, 0, def, false, false}
#define F_INF(name, def) {FLOAT, name, 0, 0, 0, def, false, true}
#define L(name, lo, hi) {LIST, name, lo, hi, 0, 0, false, false}
#define L_WIDE(name) L(name, INT32_MIN, INT32_MAX)
#define POOL {L("kernel", 1, 65535), L("strides", 1, 65535), L("dilations", 1, 65535), \
              L("pads", 0, 65535), I("ceil", 0, 0, 1), I("include_pad", 0, 0, 1)}
#define SOFTMAX {I("axis", 1, 0, 7), I("flat", 0, 0, 1)}
#define NONE {{END, NULL, 0, 0, 0, 0, false, false}}
#define PLAIN(name, inputs) {name, inputs, inputs, inputs, 1, 1, NONE}

static const struct op ops[] = {
    {NULL, 0, 0, 0, 0, 0, NONE},
    {"Conv", 2, 3, 3, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24)}},
    {"Gemm", 2, 3, 3, 1, 1,
     {I("trans_a", 0, 0, 1), I("trans_b", 1, 0, 1), F("alpha", 1), F("beta", 1)}},
    {"MatMul", 2, 2, 2, 1, 1, {I("trans_b", 0, 0, 1)}},
    PLAIN("Add", 2),
    PLAIN("Sub", 2),
    PLAIN("Mul", 2),
    PLAIN("Div", 2),
    PLAIN("Relu", 1),
    {"LeakyRelu", 1, 1, 1, 1, 1, {F("alpha", 0.01f)}},
    PLAIN("PRelu", 2),
    {"Clip", 1, 1, 1, 1, 1, {F_INF("min", -INF), F_INF("max", INF)}},
    PLAIN("Sigmoid", 1),
    PLAIN("Tanh", 1),
    {"HardSigmoid", 1, 1, 1, 1, 1, {F("alpha", 0.2f), F("beta", 0.5f)}},
    PLAIN("HardSwish", 1),
    {"Softmax", 1, 1, 1, 1, 1, SOFTMAX},
    {"LogSoftmax", 1, 1, 1, 1, 1, SOFTMAX},
    {"MaxPool", 1, 1, 1, 1, 1, POOL},
    {"AveragePool", 1, 1, 1, 1, 1, POOL},
    PLAIN("GlobalMaxPool", 1),
    PLAIN("GlobalAveragePool", 1),
    {"BatchNormalization", 5, 5, 5, 1, 1, {F("epsilon", 1e-5f)}},
    {"LRN", 1, 1, 1, 1, 1,
     {I_NEEDED("size", 1, 1 << 20), F("alpha", 1e-4f), F("beta", 0.75f), F("bias", 1)}},
    {"Concat", 1, 65535, 0, 1, 1, {I("axis", 1, 0, 8)}},
    {"Split", 1, 1, 1, 1, 65535, {I("axis", 1, 0, 8), L("sizes", 1, MAX_DIM)}},
    {"Slice", 1, 1, 1, 1, 1, {L("axes", 0, 7), L_WIDE("starts"), L_WIDE("ends"), L_WIDE("steps")}},
    {"Squeeze", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    {"Unsqueeze", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    {"Reshape", 1, 1, 1, 1, 1, {L("dims", -1, MAX_DIM)}},
    {"Flatten", 1, 1, 1, 1, 1, {I("axis", 1, 0, 8)}},
    {"Transpose", 1, 1, 1, 1, 1, {L("perm", 0, 7)}},
    {"Pad", 1, 1, 1, 1, 1,
     {I("mode", 0, 0, 2), F_INF("value", 0), L("begins", -INT32_MAX, INT32_MAX),
      L("ends", -INT32_MAX, INT32_MAX)}},
    {"Cast", 1, 1, 1, 1, 1, {I_NEEDED("to", 1, 11)}},
    {"ReduceMean", 1, 1, 1, 1, 1, {L("axes", 0, 7), I("keep", 1, 0, 1)}},
    {"Resize", 1, 1, 1, 1, 1,
     {I("mode", 0, 0, 2), I("coordinates", 0, 0, 4), I("nearest", 0, 0, 3), L("dims", 0, MAX_DIM),
      L("scales", 1, 0x7F7FFFFF), F("cubic_a", -0.75f), I("exclude_outside", 0, 0, 1)}},
    PLAIN("Identity", 1),
    {"Unary", 1, 1, 1, 1, 1, {I_NEEDED("kind", 0, 25), F("alpha", 1), F("gamma", 1)}},
    PLAIN("Pow", 2),
    {"Mod", 2, 2, 2, 1, 1, {I("fmod", 0, 0, 1)}},
    {"Compare", 2, 2, 2, 1, 1, {I_NEEDED("kind", 0, 8)}},
    PLAIN("Where", 3),
    {"Variadic", 1, 65535, 0, 1, 1, {I_NEEDED("kind", 0, 3)}},
    {"Reduce", 1, 1, 1, 1, 1, {I_NEEDED("kind", 0, 8), L("axes", 0, 7), I("keep", 1, 0, 1)}},
    {"Arg", 1, 1, 1, 1, 1,
     {I_NEEDED("kind", 0, 1), I("axis", 0, 0, 7), I("keep", 1, 0, 1), I("last", 0, 0, 1)}},
    {"AlongAxis", 1, 1, 1, 1, 1,
     {I_NEEDED("kind", 0, 2), I_NEEDED("axis", 0, 7), I("flat", 0, 0, 1), I("p", 2, 1, 2),
      I("exclusive", 0, 0, 1), I("reverse", 0, 0, 1)}},
    {"GroupNormalization", 3, 3, 3, 1, 1,
     {I("groups", 0, 0, MAX_DIM), I("per_group", 0, 0, 1), F("epsilon", 1e-5f)}},
    {"LayerNormalization", 2, 3, 3, 1, 1, {I_NEEDED("axis", 0, 7), F("epsilon", 1e-5f)}},
    {"MeanVarianceNormalization", 1, 1, 1, 1, 1, {L("axes", 0, 7)}},
    [49] = {"QuantizeLinear", 2, 3, 3, 1, 1,
     {I("axis", 1, 0, 7), I_NEEDED("type", 1, 11), I("block", 0, 0, MAX_DIM)}},
    [50] = {"Gather", 2, 2, 2, 1, 1, {I("kind", 0, 0, 2), I("axis", 0, 0, 7)}},
    {"Scatter", 3, 3, 3, 1, 1, {I("kind", 0, 0, 1), I("axis", 0, 0, 7), I("reduction", 0, 0, 4)}},
    {"Tile", 1, 2, 2, 1, 1, {L("repeats", 0, MAX_DIM)}},
    {"DepthToSpace", 1, 1, 1, 1, 1, {I("kind", 0, 0, 2), I_NEEDED("block", 1, 1 << 15)}},
    {"Trilu", 1, 1, 1, 1, 1, {I("upper", 1, 0, 1), I("k", 0, INT32_MIN, INT32_MAX)}},
    {"OneHot", 2, 2, 2, 1, 1, {I_NEEDED("depth", 1, MAX_DIM), I("axis", 0, 0, 8)}},
    {"TopK", 1, 1, 1, 2, 2,
     {I("axis", 0, 0, 7), I_NEEDED("k", 1, MAX_DIM), I("largest", 1, 0, 1)}},
    {"ConvTranspose", 2, 3, 3, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24), L("output_padding", 0, 1 << 24)}},
    [58] = {"Loop", 0, 65535, 0, 1, 65535,
     {I_NEEDED("trips", 1, MAX_DIM), I("has_cond", 0, 0, 1), I("has_count", 0, 0, 1)}},
    {"LoopEnd", 1, 65535, 0, 1, 65535,
     {I_NEEDED("trips", 1, MAX_DIM), I("has_cond", 0, 0, 1), I("has_count", 0, 0, 1),
      I("states", 0, 0, MAX_DIM)}},
    PLAIN("Branch", 1),
    PLAIN("BranchElse", 1),
    {"BranchEnd", 3, 65535, 0, 1, 65535, NONE},
    [63] = {"Recurrent", 2, 7, 7, 1, 3,
     {I_NEEDED("kind", 0, 2), I("reverse", 0, 0, 1), I("linear_before_reset", 0, 0, 1),
      I("input_forget", 0, 0, 1), F_INF("clip", INF), L("activations", 0, 10),
      L_WIDE("alphas"), L_WIDE("betas")}},
    {"DequantizeLinear", 2, 3, 3, 1, 1, {I("axis", 1, 0, 7), I("block", 0, 0, MAX_DIM)}},
    {"DynamicQuantizeLinear", 1, 1, 1, 3, 3, NONE},
    {"Requantize", 3, 3, 3, 1, 1, {I("axis", 1, 0, 7), I_NEEDED("type", 1, 11)}},
    {"MatMulInteger", 2, 4, 4, 1, 1, {I("trans_b", 0, 0, 1)}},
    {"ConvInteger", 2, 5, 5, 1, 1,
     {I("group", 1, 1, MAX_DIM), L("strides", 1, 65535), L("dilations", 1, 65535),
      L("pads", 0, 1 << 24)}},
    {"NonMaxSuppression", 2, 2, 2, 1, 1,
     {I("center", 0, 0, 1), I_NEEDED("top", 1, MAX_DIM), F("iou", 0), F_INF("score", -INF)}},
    {"LpPool", 1, 1, 1, 1, 1,
     {L("kernel", 1, 65535), L("strides", 1, 65535), L("dilations", 1, 65535), L("pads", 0, 65535),
      I("ceil", 0, 0, 1), I("p", 2, 1, MAX_DIM)}},
    {"Attention", 3, 4, 4, 1, 1,
     {F("scale", 1), F_INF("fill", -INF), I("keep", 0, 0, 1), I("layout", 0, 0, 15)}},
    {"GridSample", 2, 2, 2, 1, 1, {I("mode", 0, 0, 2), I("padding", 0, 0, 2), I("align", 0, 0, 1)}},
};
/* clang-format on */
enum { N_OPS = sizeof ops / sizeof ops[0] };

static int64_t int_in_range(struct span *s, const struct attribute *a)
{
    uint64_t at = s->at;
    int64_t v = svarint(s);
    must(v >= a->lo && v <= a->hi, at, "an attribute is out of its range");
    return v;
}

/* `before`: the list before it in this node; at == end: none. Becomes this list. */
static void read_list(struct span *s, const struct attribute *a, struct span *before)
{
    uint64_t at = s->at;
    uint64_t head = varint_in(s, 0, 17, "a list has 1..8 entries"), n = head / 2;
    if (head == 0) {
        struct span again = *before;
        must(left(before) > 0, at, "no list before this one");
        read_list(&again, a, &(struct span){0, 0});
        return;
    }
    must(n > 0, at, "a list has 1..8 entries");
    bool even = (head & 1) != 0, all_equal = true;
    must(!even || n >= 2, at, "a list of one entry is not even");
    int64_t first = int_in_range(s, a);
    printf(" %s=%" PRId64, a->name, first);
    for (uint64_t i = 1; i < n; i++) {
        int64_t v = even ? first : int_in_range(s, a);
        all_equal = all_equal && v == first;
        printf(",%" PRId64, v);
    }
    must(even || n == 1 || !all_equal, at, "a list of equal entries must be even");
    struct span this = {at, s->at};
    must(compare_bytes(this, *before) != 0, at, "a list like the one before is told by 0");
    *before = this;
}

/* Returns the value of an INT. */
static int64_t read_attribute(struct span *s, const struct attribute *a, struct span *list)
{
    uint64_t at = s->at;
    if (a->kind == INT) {
        int64_t v = int_in_range(s, a);
        must(a->needed || v != a->value, at, "a default must not be written");
        printf(" %s=%" PRId64, a->name, v);
        return v;
    } else if (a->kind == FLOAT) {
        uint32_t bits = (uint32_t)fixed(s, 4), default_bits;
        memcpy(&default_bits, &a->real, 4);
        must(bits != default_bits, at, "a default must not be written");
        must((bits & 0x7F800000) != 0x7F800000 || (a->infinite && (bits & 0x7FFFFF) == 0), at,
             "a float must be finite");
        printf(" %s=0x%08" PRIx32, a->name, bits);
    } else {
        read_list(s, a, list);
    }
    return 0;
}

static int64_t int_value[MAX_ATTRIBUTES]; /* of the attributes of the node being read */

static struct span written_last[N_OPS]; /* attributes of that operator; empty: none */

static void read_attributes(struct span *s, const struct op *op, bool written)
{
    uint64_t at = s->at, n = 0;
    struct span list = {0, 0}, *last = &written_last[op - ops], again;
    while (n < MAX_ATTRIBUTES && op->attribute[n].kind != END) {
        n++;
    }
    uint64_t set = written ? varint(s) : 0;
    bool is_again = written && set == 0;
    if (is_again) {
        must(left(last) > 0, at, "no attributes of this operator were written before");
        again = *last;
        s = &again;
        set = varint(s);
    }
    must(set >> n == 0, at, "an attribute that the operator does not have");
    for (uint64_t i = 0; i < n; i++) {
        int_value[i] = op->attribute[i].value;
        if ((set >> i & 1) != 0) {
            int_value[i] = read_attribute(s, &op->attribute[i], &list);
        } else {
            must(!op->attribute[i].needed, at, "an attribute without default must be written");
        }
    }
    if (written && !is_again) {
        struct span this = {at, s->at};
        must(compare_bytes(this, *last) != 0, at,
             "attributes like those written last are told by 0");
        *last = this;
    }
}

/* ---- the graph (F4) -------------------------------------------------------------------------- */

static struct {
    uint64_t n_inputs, n_tensors, n_nodes, n_values; /* n_values grows with the nodes */
    uint64_t n_read;     /* tensors that something has referred to: the first n_read */
    uint64_t last_first; /* number of the first output of the last node */
    uint64_t *ref;       /* inputs of the node or outputs of the graph being read */
} graph;

enum { NO_VALUE = MAX_VALUES };

static uint64_t next_tensor(uint64_t at)
{
    must(graph.n_read < graph.n_tensors, at, "the next tensor is referred to, and there is none");
    return graph.n_inputs + graph.n_read++;
}

static uint64_t reference(struct span *s, bool optional)
{
    uint64_t at = s->at, k = varint(s);
    if (k == 0) {
        must(optional, at, "an input that is not optional must not be left out");
        return NO_VALUE;
    }
    if (k == 1) {
        return next_tensor(at);
    }
    must(k - 1 <= graph.n_values, at, "a reference to a value that does not exist");
    uint64_t v = graph.n_values - (k - 1);
    must(v < graph.n_inputs + graph.n_read || v >= graph.n_inputs + graph.n_tensors, at,
         "the first reference to a tensor must be 1");
    return v;
}

static void print_values(const char *what, const uint64_t *v, uint64_t n)
{
    printf(" %s", what);
    for (uint64_t i = 0; i < n; i++) {
        if (v[i] == NO_VALUE) {
            printf(" -");
        } else {
            printf(" %" PRIu64, v[i]);
        }
    }
}

static void read_input(struct span *s, uint64_t number, bool batch_open)
{
    uint64_t at = s->at;
    uint8_t head = u8(s);
    uint32_t rank = head & 15, type = 1, dim[MAX_RANK] = {1};
    bool typed = (head & 16) != 0, square = (head & 32) != 0;
    must(rank <= MAX_RANK && head < 64, at, "rank is 0..8, bits 6 and 7 are zero");
    must(!batch_open || rank >= 1, at, "an input with an open batch has a dimension 0");
    if (typed) {
        type = read_type(s);
    }
    uint32_t first = batch_open ? 1 : 0;
    must(!square || rank - first >= 2, at, "square needs two dimensions");
    for (uint32_t i = first; i < rank; i++) {
        dim[i] = square && i == rank - 1 ? dim[i - 1] : read_dim(s);
    }
    must(square || rank - first < 2 || dim[rank - 1] != dim[rank - 2], at,
         "square must be set where the last two dimensions are equal");
    printf("input %" PRIu64, number);
    print_shape(type, rank, dim);
    printf("\n");
}

/* The wiring that bit 7 unset stands for; false: there is none. */
static bool is_default_wiring(const struct op *op, uint64_t n_in, uint64_t n_out,
                              uint64_t read_before)
{
    bool same = op->default_in != 0 && n_in == op->default_in && n_out == op->min_out &&
                graph.ref[0] == graph.last_first;
    for (uint64_t i = 1; same && i < n_in; i++) {
        same = graph.ref[i] == graph.n_inputs + read_before + i - 1;
    }
    return same;
}

static void read_wiring(struct span *s, const struct op *op, bool wired, uint64_t *n_in,
                        uint64_t *n_out)
{
    uint64_t at = s->at, read_before = graph.n_read;
    *n_out = op->min_out;
    if (!wired) {
        must(op->default_in != 0, at, "this operator is always wired");
        *n_in = op->default_in;
        graph.ref[0] = graph.last_first;
        for (uint64_t i = 1; i < *n_in; i++) {
            graph.ref[i] = next_tensor(at);
        }
        return;
    }
    *n_in = varint_in(s, op->min_in, op->max_in, "number of inputs of a node");
    if (op->max_out != op->min_out) {
        *n_out = varint_in(s, op->min_out, op->max_out, "number of outputs of a node");
    }
    for (uint64_t i = 0; i < *n_in; i++) {
        graph.ref[i] = reference(s, op->default_in != 0 && i >= op->min_in);
    }
    must(!is_default_wiring(op, *n_in, *n_out, read_before), at, "default wiring is not written");
}

/* Bodies (F4): each side of a branch and each loop has a number; 0 is the graph itself. */
enum { LOOP = 58, LOOP_END, BRANCH, BRANCH_ELSE, BRANCH_END, MAX_OPEN = 16 };

struct body {
    uint64_t op, number; /* LOOP, BRANCH or BRANCH_ELSE */
    uint64_t first_out;  /* of Loop; what Branch gives */
    uint64_t n_states, first_side;
    int64_t loop[3];
};

static struct {
    uint32_t of[MAX_VALUES + 1];   /* value -> body */
    uint32_t around[MAX_EACH + 1]; /* body -> body */
    uint64_t n, n_open;
    struct body open[MAX_OPEN];
} bodies;

static uint64_t this_body(void)
{
    return bodies.n_open > 0 ? bodies.open[bodies.n_open - 1].number : 0;
}

static void must_see(const uint64_t *v, uint64_t n, uint64_t body, uint64_t at)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t b = body;
        while (v[i] != NO_VALUE && b != bodies.of[v[i]]) {
            must(b != 0, at, "a value of a body is read outside of it");
            b = bodies.around[b];
        }
    }
}

static struct body *open_body(uint64_t op, uint64_t at)
{
    must(bodies.n_open < MAX_OPEN, at, "bodies nest 16 deep");
    bodies.around[++bodies.n] = (uint32_t)this_body();
    struct body *b = &bodies.open[bodies.n_open++];
    *b = (struct body){.op = op, .number = bodies.n};
    return b;
}

static struct body close_body(uint64_t op, uint64_t at)
{
    must(bodies.n_open > 0 && bodies.open[bodies.n_open - 1].op == op, at,
         "a body ends that did not begin");
    return bodies.open[--bodies.n_open];
}

static void end_loop(uint64_t at, uint64_t n_in)
{
    struct body b = close_body(LOOP, at);
    uint64_t cond = (uint64_t)b.loop[1];
    must_see(graph.ref, n_in, b.number, at);
    must(memcmp(b.loop, int_value, sizeof b.loop) == 0 && (uint64_t)int_value[3] == b.n_states &&
             n_in >= cond + b.n_states,
         at, "Loop and its LoopEnd agree");
    for (uint64_t i = 0; i < b.n_states; i++) {
        must(graph.ref[cond + i] == b.first_out + 1 + i, at,
             "LoopEnd names the states of its Loop");
    }
}

static void begin_else(uint64_t at)
{
    struct body b = close_body(BRANCH, at);
    must(graph.ref[0] == b.first_out, at, "BranchElse reads what its Branch gives");
    struct body *other = open_body(BRANCH_ELSE, at);
    other->first_out = b.first_out;
    other->first_side = b.number;
}

static void end_branch(uint64_t at, uint64_t n_in, uint64_t n_out)
{
    struct body b = close_body(BRANCH_ELSE, at);
    must(graph.ref[0] == b.first_out && n_in == 1 + 2 * n_out, at,
         "BranchEnd reads what its Branch gives, then k values twice");
    must_see(graph.ref + 1, n_out, b.first_side, at);
    must_see(graph.ref + 1 + n_out, n_out, b.number, at);
}

/* The node's inputs are in graph.ref, its outputs get numbers from graph.n_values on. */
static void keep_bodies(uint64_t op, uint64_t at, uint64_t n_in, uint64_t n_out)
{
    if (op == LOOP_END) {
        end_loop(at, n_in);
    } else if (op == BRANCH_END) {
        end_branch(at, n_in, n_out);
    } else {
        must_see(graph.ref, n_in, this_body(), at);
    }
    uint64_t outputs_in = this_body();
    if (op == LOOP || op == BRANCH) {
        struct body *b = open_body(op, at);
        b->first_out = graph.n_values;
        b->n_states = n_out - 1;
        memcpy(b->loop, int_value, sizeof b->loop);
        outputs_in = op == LOOP ? b->number : outputs_in;
    } else if (op == BRANCH_ELSE) {
        outputs_in = bodies.around[outputs_in];
        begin_else(at);
    }
    for (uint64_t i = 0; i < n_out && graph.n_values + i < MAX_VALUES; i++) {
        bodies.of[graph.n_values + i] = (uint32_t)outputs_in;
    }
}

/* What NonMaxSuppression selects is for the caller alone. */
enum { NON_MAX_SUPPRESSION = 69 };
static bool is_selection[MAX_VALUES];

static void keep_selections(uint64_t op, uint64_t at, uint64_t n_in)
{
    for (uint64_t i = 0; i < n_in; i++) {
        if (graph.ref[i] != NO_VALUE && is_selection[graph.ref[i]]) {
            refuse("unsupported", at, "a node reads what NonMaxSuppression selects");
        }
    }
    if (graph.n_values < MAX_VALUES) {
        is_selection[graph.n_values] = op == NON_MAX_SUPPRESSION;
    }
}

static void read_node(struct span *s, uint64_t number)
{
    uint64_t at = s->at, n_in, n_out;
    uint8_t head = u8(s);
    uint64_t number_of_op = head & 63;
    if (number_of_op == 63) {
        number_of_op += varint_in(s, 0, 65472, "operators end at 65,535");
    }
    if (number_of_op >= N_OPS || ops[number_of_op].name == NULL) {
        refuse("unsupported", at, "unknown operator");
    }
    const struct op *op = &ops[number_of_op];
    printf(" %s", op->name);
    read_attributes(s, op, (head & 64) != 0);
    printf("\n");
    read_wiring(s, op, (head & 128) != 0, &n_in, &n_out);
    printf("node %" PRIu64 " op %" PRIu64, number, number_of_op);
    print_values("in", graph.ref, n_in);
    keep_bodies(number_of_op, at, n_in, n_out);
    keep_selections(number_of_op, at, n_in);
    graph.last_first = graph.n_values;
    for (uint64_t i = 0; i < n_out; i++) {
        graph.ref[i] = graph.n_values++;
    }
    print_values("out", graph.ref, n_out);
    printf("\n");
    must(graph.n_values <= MAX_VALUES, at, "at most 262,144 values");
}

static void read_outputs(struct span *s, bool told)
{
    uint64_t at = s->at, n = 1;
    must(told || graph.n_nodes > 0, at, "outputs must be told when there are no nodes");
    graph.ref[0] = graph.last_first;
    if (told) {
        n = varint_in(s, 1, MAX_VALUES, "number of outputs");
        for (uint64_t i = 0; i < n; i++) {
            graph.ref[i] = reference(s, false);
        }
        must(graph.n_nodes == 0 || n != 1 || graph.ref[0] != graph.last_first, at,
             "the last node's first output alone is not told");
    }
    must(bodies.n_open == 0, at, "a body does not end");
    must_see(graph.ref, n, 0, at);
    for (uint64_t i = 0; i < n; i++) {
        printf("output %" PRIu64 "\n", graph.ref[i]);
    }
}

static void read_graph(struct span s, struct span data)
{
    uint64_t head = varint_in(&s, 0, MAX_EACH * 4 - 1, "number of inputs is 1..65,536");
    bool batch_open = (head & 1) != 0, told = (head & 2) != 0;
    graph.ref = zeroed(MAX_VALUES, sizeof *graph.ref);
    graph.n_inputs = head / 4 + 1;
    printf("batch %s\n", batch_open ? "open" : "fixed");
    for (uint64_t i = 0; i < graph.n_inputs; i++) {
        read_input(&s, i, batch_open);
    }
    graph.n_tensors = varint_in(&s, 0, MAX_EACH, "at most 65,536 tensors");
    struct tensor *tensor = zeroed(graph.n_tensors, sizeof *tensor);
    uint32_t last_centroids[2] = {0, 0}; /* of rank 0 and 1, of others */
    for (uint64_t i = 0; i < graph.n_tensors; i++) {
        read_tensor(&s, &tensor[i], i, graph.n_tensors, &data, last_centroids);
    }
    must(left(&data) == 0, data.at, "DATA ends with the last stream");
    must(left(&huff_chunk) == 0, huff_chunk.at, "all tables must be used");
    graph.n_values = graph.n_inputs + graph.n_tensors;
    uint64_t n_nodes = told ? varint_in(&s, 0, MAX_EACH, "at most 65,536 nodes") : MAX_EACH;
    while (graph.n_nodes < n_nodes && (told || left(&s) > 0)) {
        read_node(&s, graph.n_nodes++);
    }
    read_outputs(&s, told);
    must(left(&s) == 0, s.at, "nothing behind the graph");
    must(graph.n_read == graph.n_tensors, s.at, "every tensor is used");
    for (uint64_t i = 0; i < graph.n_tensors; i++) {
        print_tensor(graph.n_inputs + i, &tensor[i]);
    }
    free(tensor);
    free(graph.ref);
}

/* ---- names, meta, history, ranges (F7..F10) -------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
    return compare_bytes(*(const struct span *)a, *(const struct span *)b);
}

static void read_names(struct span s)
{
    uint64_t at = s.at, some = 0;
    struct span *name = zeroed(graph.n_values, sizeof *name);
    for (uint64_t i = 0; i < graph.n_values + graph.n_nodes; i++) {
        bool value = i < graph.n_values;
        struct span t = text(&s, 0, MAX_SHORT);
        if (left(&t) > 0) {
            printf("name %s %" PRIu64 " ", value ? "value" : "node",
                   value ? i : i - graph.n_values);
            print_text(t);
            printf("\n");
            some++;
        }
        if (value) {
            name[i] = t;
        }
    }
    must(left(&s) == 0, s.at, "nothing behind the names");
    must(some > 0, at, "at least one name is not empty");
    qsort(name, graph.n_values, sizeof *name, compare_spans);
    for (uint64_t i = 1; i < graph.n_values; i++) {
        must(left(&name[i]) == 0 || compare_bytes(name[i - 1], name[i]) != 0, name[i].at,
             "names of values are unique");
    }
    free(name);
}

static const char *const numbered_key[] = {NULL, "preprocess", "labels", "recipe"};

/* The key as a string: at most 255 bytes and NUL. */
static void read_key(struct span *s, char *key)
{
    uint64_t at = s->at, v = varint(s);
    must((v >= 1 && v <= 3) || (v >= 16 && v <= 15 + MAX_SHORT), at, "a key's number");
    if (v <= 3) {
        strcpy(key, numbered_key[v]);
        return;
    }
    struct span t = cut(s, v - 15);
    check_utf8(t);
    memcpy(key, file + t.at, left(&t));
    key[left(&t)] = 0;
    for (int i = 1; i <= 3; i++) {
        must(strcmp(key, numbered_key[i]) != 0, at, "a key with a number must not be spelled");
    }
}

static void read_meta(struct span s)
{
    char key[256], before[256] = "";
    for (uint64_t n = 0; left(&s) > 0; n++) {
        uint64_t at = s.at;
        must(n < 1024, at, "at most 1,024 entries of meta");
        read_key(&s, key);
        must(strcmp(before, key) < 0, at, "keys must ascend");
        strcpy(before, key);
        struct span t = text(&s, 0, MAX_TEXT);
        printf("meta ");
        print_bytes((const uint8_t *)key, strlen(key));
        printf(" ");
        print_text(t);
        printf("\n");
    }
}

static void read_history(struct span s)
{
    for (uint64_t n = 0; left(&s) > 0; n++) {
        must(n < MAX_EACH, s.at, "at most 65,536 entries of history");
        struct span verb = text(&s, 1, MAX_SHORT), json = text(&s, 0, MAX_TEXT);
        printf("history ");
        print_text(verb);
        printf(" ");
        print_text(json);
        printf("\n");
    }
}

static float f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* smallest, largest */
static void read_extremes(struct span *s, bool must_be_finite, float *extreme)
{
    uint64_t at = s->at;
    uint32_t bits[2] = {(uint32_t)fixed(s, 4), (uint32_t)fixed(s, 4)};
    must(f32_of(bits[0]) <= f32_of(bits[1]), at, "smallest <= largest, and no NaN");
    for (int i = 0; i < 2; i++) {
        must(!must_be_finite || (bits[i] & 0x7F800000) != 0x7F800000, at, "extremes are finite");
        printf(" %08" PRIx32, bits[i]);
        extreme[i] = f32_of(bits[i]);
    }
}

static void read_exact_sum(struct span *s)
{
    uint8_t number[80] = {0};
    uint64_t at = s->at, zeros = varint_in(s, 0, 79, "an exact sum has 80 bytes");
    uint64_t n = varint_in(s, 0, 80 - zeros, "an exact sum has 80 bytes");
    must(n > 0 || zeros == 0, at, "a sum of 0 is 00 00");
    for (uint64_t i = 0; i < n; i++) {
        number[zeros + i] = u8(s);
    }
    must(n == 0 || number[zeros] != 0, at, "zero bytes at the beginning are left out");
    uint8_t sign = n > 0 && number[zeros + n - 1] >= 128 ? 255 : 0;
    must(n < 2 || number[zeros + n - 1] != sign || (number[zeros + n - 2] >= 128) != (sign != 0),
         at, "bytes that repeat the sign are left out");
    for (uint64_t i = n > 0 ? zeros + n : 80; i < 80; i++) {
        number[i] = sign;
    }
    printf(" ");
    for (int i = 0; i < 80; i++) {
        printf("%02x", number[i]);
    }
}

static int64_t bin_of(float x, int64_t e)
{
    double bin = x;
    for (; e > 0; e--) {
        bin /= 2;
    }
    for (; e < 0; e++) {
        bin *= 2;
    }
    return bin > 1e9 ? 1000000000 : bin < -1e9 ? -1000000000 : (int64_t)bin - (x < 0);
}

static bool few_bins(const float *extreme, int64_t e)
{
    int64_t low = extreme[0] < 0 ? bin_of(extreme[0], e) : 0;
    return (extreme[1] > 0 ? bin_of(extreme[1], e) : 0) - low < 2048;
}

static void read_histogram(struct span *s, uint64_t observed, const float *extreme)
{
    uint64_t at = s->at, n = varint_in(s, 0, 2048, "at most 2,048 bins"), i = 0, total = 0,
             zeros = 0;
    printf("histogram");
    if (n == 0) {
        printf("\n");
        return;
    }
    int64_t e = svarint(s), k = svarint(s), end = k + (int64_t)n;
    must(e >= -126 && e <= 118, at, "the exponent of a bin's width");
    must(few_bins(extreme, e) && (e == -126 || !few_bins(extreme, e - 1)), at,
         "the smallest exponent for the extremes");
    must(extreme[0] == 0 ? k >= 0 : k == bin_of(extreme[0], e), at, "the first bin");
    must(extreme[1] == 0 ? end <= 0 : end - 1 == bin_of(extreme[1], e), at, "the last bin");
    printf(" %" PRId64 " %" PRId64, e, k);
    while (i < n) {
        uint64_t count = varint(s);
        must((i > 0 && i + 1 < n) || count > 0, at, "the first and the last count are not 0");
        must(count <= observed - total, at, "more counted than observed");
        must(count > 0 || zeros == 0, at, "all counts of 0 are in one run");
        zeros = count == 0 ? 1 + varint(s) : 0;
        must(zeros < n - i, at, "the last count is not 0");
        printf(" %" PRIu64, count);
        if (zeros > 0) {
            printf("x%" PRIu64, zeros);
        }
        total += count;
        i += zeros > 0 ? zeros : 1;
    }
    must(total == observed, at, "the counts sum to what is not zero");
    printf("\n");
}

static void read_channels(struct span *s)
{
    uint64_t n = varint_in(s, 1, 0x7FFFFFFF, "channels");
    must(u8(s) < 8, s->at - 1, "an axis is below 8");
    for (uint64_t i = 0; i < n; i++) {
        float extreme[2];
        printf("channel");
        read_extremes(s, true, extreme);
        read_exact_sum(s);
        printf("\n");
    }
}

static void read_statistics(struct span *s, uint64_t n, const float *extreme, bool by_channel)
{
    uint64_t samples = varint_in(s, 1, n, "samples are at most the observations");
    uint64_t zeros = varint_in(s, 0, n, "zeros are at most the observations");
    printf("statistics %" PRIu64 " %" PRIu64, samples, zeros);
    read_exact_sum(s);
    read_exact_sum(s);
    printf("\n");
    read_histogram(s, n - zeros, extreme);
    if (by_channel) {
        read_channels(s);
    }
}

static void read_grid(struct span *s)
{
    uint64_t at = s->at;
    uint8_t type = u8(s), bits = u8(s), method = u8(s);
    must(type >= 5 && type <= 8, at, "a grid is of i8, u8, i16 or u16");
    must(type <= 6 ? bits >= 2 && bits <= 8 : bits >= 9 && bits <= 16, at, "the bits of a grid");
    must(method >= 1 && method <= 5, at, "how a grid was chosen");
    int64_t zero = svarint(s), low = type % 2 == 0 ? 0 : -(1 << (bits - 1));
    must(zero >= low && zero < low + (1 << bits), at, "the zero point is one of the integers");
    uint64_t n = varint_in(s, 1, 0x7FFFFFFF, "a grid has a scale");
    uint8_t axis = n > 1 ? u8(s) : 0;
    must(axis < 8, at, "an axis is below 8");
    printf("grid %d %d %d %" PRId64 " %d", type, bits, method, zero, axis);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t scale = (uint32_t)fixed(s, 4);
        must(scale >= 0x00800000 && scale < 0x7F800000, s->at - 4,
             "a scale is positive and normal");
        printf(" %08" PRIx32, scale);
    }
    printf("\n");
}

static void read_observed(struct span s)
{
    uint64_t next = 0;
    while (left(&s) > 0) {
        uint64_t at = s.at, skipped = varint(&s);
        must(next < graph.n_values && skipped < graph.n_values - next, at,
             "a range of a value that does not exist");
        uint8_t flags = u8(&s);
        must(flags < 8 && (flags & 3) != 2, at, "the flags of what was observed");
        printf("range %" PRIu64, next + skipped);
        uint64_t extremes_at = s.at;
        float extreme[2];
        read_extremes(&s, (flags & 1) != 0, extreme);
        uint64_t n = varint(&s);
        must(n > 0 || (flags & 5) == 4, at, "without observations there is a grid alone");
        for (uint64_t i = extremes_at; n == 0 && i < extremes_at + 8; i++) {
            must(file[i] == 0, i, "without observations the extremes are 0");
        }
        printf(" %" PRIu64 "\n", n);
        if ((flags & 1) != 0) {
            read_statistics(&s, n, extreme, (flags & 2) != 0);
        }
        if ((flags & 4) != 0) {
            read_grid(&s);
        }
        next += skipped + 1;
    }
}

/* ---- headers (F1, F2, F3) -------------------------------------------------------------------- */

enum { DATA, GRPH, HUFF, HIST, META, NAME, STAT, N_CHUNKS };
static const char full_tag[N_CHUNKS][5] = {"DATA", "GRPH", "HUFF", "hist", "meta", "name", "stat"};
static const uint8_t compact_tag[N_CHUNKS] = {0x7F, 0x01, 0x02, 0x41, 0x42, 0, 0x43};

static struct span chunk[N_CHUNKS];
static bool has_chunk[N_CHUNKS];

static uint32_t crc32c(uint64_t from, uint64_t to)
{
    uint32_t crc = 0xFFFFFFFF;
    for (uint64_t i = from; i < to; i++) {
        crc ^= file[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
        }
    }
    return ~crc;
}

static void check_crc(uint64_t from, uint64_t to, uint64_t want, uint64_t at)
{
    must(crc32c(from, to) == want, at, "checksum differs");
}

static void found_chunk(int which, struct span s, bool ancillary, uint64_t at)
{
    if (which < N_CHUNKS) {
        must(which == DATA || left(&s) > 0, at, "a chunk other than DATA must not be empty");
        chunk[which] = s;
        has_chunk[which] = true;
    } else if (ancillary) {
        printf(" chunk passed over\n");
    } else {
        refuse("version", at, "an unknown critical chunk needs a newer reader");
    }
}

static bool is_letter(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* One entry of the full header's table; *next: where its chunk has to begin. */
static void read_entry(struct span *s, uint8_t *last_tag, uint64_t *next)
{
    uint64_t at = s->at;
    const uint8_t *tag = file + at;
    cut(s, 4);
    for (int i = 0; i < 4; i++) {
        must(is_letter(tag[i]), at, "a tag is four letters");
    }
    must(memcmp(last_tag, tag, 4) < 0, at, "tags must ascend");
    memcpy(last_tag, tag, 4);
    uint64_t crc = fixed(s, 4), offset = fixed(s, 8), length = fixed(s, 8);
    int which = 0;
    while (which < N_CHUNKS && memcmp(full_tag[which], tag, 4) != 0) {
        which++;
    }
    uint64_t begin = which == DATA ? (*next + 63) / 64 * 64 : *next;
    must(offset == begin, at + 8, "a chunk begins where the one before ends");
    must(begin <= file_bytes && length <= file_bytes - begin, at + 16, "a chunk is in the file");
    for (uint64_t i = *next; i < begin; i++) {
        must(file[i] == 0, i, "padding before DATA must be zero");
    }
    check_crc(begin, begin + length, crc, at + 4);
    *next = begin + length;
    found_chunk(which, (struct span){begin, *next}, tag[0] >= 'a', at);
}

static void read_full_header(void)
{
    struct span s = {8, file_bytes};
    if (fixed(&s, 4) != 1) {
        refuse("version", 8, "not version 1");
    }
    uint64_t n = fixed(&s, 4);
    must(n >= 1 && n <= 64, 12, "number of chunks is 1..64");
    must(fixed(&s, 8) == file_bytes, 16, "the file has another length than it tells");
    struct span entries = cut(&s, 24 * n);
    uint64_t crc_at = s.at, crc = fixed(&s, 4), next = s.at;
    check_crc(0, crc_at, crc, crc_at);
    uint8_t last_tag[4] = {0};
    for (uint64_t i = 0; i < n; i++) {
        read_entry(&entries, last_tag, &next);
    }
    must(next == file_bytes, next, "the last chunk ends where the file ends");
}

static void read_compact_header(void)
{
    uint8_t tags[256];
    uint64_t lengths[256], at[256];
    int n = 0;
    if (file[1] != 0x51) {
        refuse("version", 1, "not version 1");
    }
    must(file_bytes >= 6, 0, "a compact file has at least 6 bytes");
    struct span s = {file_bytes - 4, file_bytes};
    check_crc(0, file_bytes - 4, fixed(&s, 4), file_bytes - 4);
    s = (struct span){2, file_bytes - 4};
    do {
        at[n] = s.at;
        tags[n] = u8(&s);
        must(n == 0 || tags[n] > tags[n - 1], at[n], "tags must ascend");
        must(tags[n] <= 0x7F, at[n], "the table ends with the entry of DATA");
        lengths[n] = tags[n] != 0x7F ? varint(&s) : 0;
    } while (tags[n++] != 0x7F);
    for (int i = 0; i < n; i++) {
        int which = 0;
        while (which < N_CHUNKS && (compact_tag[which] != tags[i] || which == NAME)) {
            which++;
        }
        struct span part = cut(&s, which == DATA ? left(&s) : lengths[i]);
        found_chunk(which, part, (tags[i] & 0x40) != 0, at[i]);
    }
}

static void read_header(void)
{
    static const uint8_t magic[8] = {0x89, 0x50, 0x54, 0x48, 0x0D, 0x0A, 0x1A, 0x0A};
    compact = file_bytes >= 2 && file[0] == 0xB9 && file[1] >> 4 == 5;
    must(compact || (file_bytes >= 8 && memcmp(file, magic, 8) == 0), 0, "not a .pith file");
    if (compact) {
        read_compact_header();
    } else {
        read_full_header();
    }
    must(has_chunk[DATA] && has_chunk[GRPH], 0, "DATA and GRPH are always there");
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        refuse("io", 0, "cannot open the file");
    }
    long n = ftell(f);
    rewind(f);
    uint8_t *bytes = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)n, f) != (size_t)n) {
        refuse("io", 0, "cannot read the file");
    }
    fclose(f);
    file = bytes;
    file_bytes = (size_t)n;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: spec_decode file.pith\n");
        return 2;
    }
    read_file(argv[1]);
    read_header();
    printf(" header %s, %zu bytes\n", compact ? "compact" : "full", file_bytes);
    huff_chunk = chunk[HUFF];
    read_graph(chunk[GRPH], chunk[DATA]);
    if (has_chunk[NAME]) {
        read_names(chunk[NAME]);
    }
    read_meta(chunk[META]);
    read_history(chunk[HIST]);
    read_observed(chunk[STAT]);
    return 0;
}
