/* SPDX-License-Identifier: MIT */
/* spec_bytes.c - refusing, and reading bytes and bits (F1, S1). */
#include "spec_bytes.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ELEMENTS (UINT64_C(1) << 30) /* a limit of this program, as F12 allows */

const uint8_t *file;
size_t file_bytes;

/* ---- refusing, and reading bytes (F1) ----------------------------------------------------- */

void refuse(const char *status, uint64_t at, const char *rule)
{
    fprintf(stderr, "%s at offset %" PRIu64 ": %s\n", status, at, rule);
    exit(4);
}

void must(bool holds, uint64_t at, const char *rule)
{
    if (!holds) {
        refuse("corrupt", at, rule);
    }
}

uint64_t left(const struct span *s)
{
    return s->end - s->at;
}

struct span cut(struct span *s, uint64_t n)
{
    must(n <= left(s), s->at, "a stream or text is longer than what it lies in");
    struct span part = {s->at, s->at + n};
    s->at += n;
    return part;
}

uint8_t u8(struct span *s)
{
    must(left(s) >= 1, s->at, "ends in the middle of a field");
    return file[s->at++];
}

uint64_t fixed(struct span *s, int n_bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < n_bytes; i++) {
        v |= (uint64_t)u8(s) << (8 * i);
    }
    return v;
}

uint64_t varint(struct span *s)
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

uint64_t varint_in(struct span *s, uint64_t lo, uint64_t hi, const char *rule)
{
    uint64_t at = s->at, v = varint(s);
    must(v >= lo && v <= hi, at, rule);
    return v;
}

int64_t svarint(struct span *s)
{
    uint64_t u = varint(s);
    return (int64_t)((u >> 1) ^ (~(u & 1) + 1));
}

void check_utf8(struct span s)
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

struct span text(struct span *s, uint64_t min_bytes, uint64_t max_bytes)
{
    struct span t = cut(s, varint_in(s, min_bytes, max_bytes, "length of a text out of range"));
    check_utf8(t);
    return t;
}

int compare_bytes(struct span a, struct span b)
{
    uint64_t n = left(&a) < left(&b) ? left(&a) : left(&b);
    int c = memcmp(file + a.at, file + b.at, n);
    return c != 0 ? c : (left(&a) > left(&b)) - (left(&a) < left(&b));
}

void *zeroed(uint64_t count, size_t each)
{
    void *p = count > MEMORY_ELEMENTS ? NULL : calloc(count + 1, each);
    if (p == NULL) {
        refuse("limit", 0, "more memory than this program allows itself");
    }
    return p;
}

void read_file(const char *path)
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

/* ---- reading bits (S1) -------------------------------------------------------------------- */

struct bits bits_of(struct span s)
{
    return (struct bits){s.at * 8, s.end * 8};
}

uint32_t field(struct bits *b, uint32_t width)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < width; i++, b->at++) {
        must(b->at < b->end, b->at / 8, "a bit string ends in the middle of a field");
        v |= (uint32_t)(file[b->at / 8] >> (b->at % 8) & 1) << i;
    }
    return v;
}

uint64_t unary(struct bits *b)
{
    uint64_t q = 0;
    while (field(b, 1) == 1) {
        q++;
    }
    return q;
}

uint64_t gamma_number(struct bits *b)
{
    uint64_t nb = unary(b);
    must(nb <= 31, b->at / 8, "a gamma number has at most 31 bits behind its prefix");
    return (UINT64_C(1) << nb) + field(b, (uint32_t)nb);
}

int64_t unzigzag(uint64_t u)
{
    return (u & 1) != 0 ? -(int64_t)(u / 2) - 1 : (int64_t)(u / 2);
}

/* Where a bit string ends, so do its bytes, but for fewer than 8 bits of zeros. */
void padding(struct bits *b)
{
    must(b->end - b->at < 8, b->at / 8, "a bit string must end in its last byte");
    const uint64_t at = b->at / 8;
    must(field(b, (uint32_t)(b->end - b->at)) == 0, at, "padding must be zero bits");
}
