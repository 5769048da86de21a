/* SPDX-License-Identifier: MIT */
/* spec_bytes.h - the file, refusing it, and reading from it: bytes, numbers and texts as F1 defines
 * them, bits and their numbers as S1 does. Limits of F12.
 *
 * All the other files are written in these words: must(rule holds), left(bytes of a span), cut(a
 * span off another), u8, varint, field(bits). */
#ifndef SPEC_BYTES_H
#define SPEC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAX_RANK = 8,
    MAX_EACH = 65536, /* inputs, tensors, nodes */
    MAX_VALUES = 262144,
    MAX_TEXT = 1 << 24,
    MAX_SHORT = 255, /* bytes of a name, key or verb */
};
#define MAX_DIM 0x7FFFFFFFu
#define MAX_ELEMENTS (UINT64_C(1) << 40)

/* The whole file, as read_file left it. */
extern const uint8_t *file;
extern size_t file_bytes;
void read_file(const char *path);

/* ---- refusing ----------------------------------------------------------------------------- */

/* Both end the program with code 4; at: the offset in the file. */
void refuse(const char *status, uint64_t at, const char *rule);
void must(bool holds, uint64_t at, const char *rule);

/* An array of zeros, and one more behind it. */
void *zeroed(uint64_t count, size_t each);

/* ---- bytes (F1) --------------------------------------------------------------------------- */

/* Bytes at..end-1 of the file; reading moves `at`. */
struct span {
    uint64_t at, end;
};

uint64_t left(const struct span *s);
struct span cut(struct span *s, uint64_t n);
uint8_t u8(struct span *s);
uint64_t fixed(struct span *s, int n_bytes);
uint64_t varint(struct span *s);
uint64_t varint_in(struct span *s, uint64_t lo, uint64_t hi, const char *rule);
int64_t svarint(struct span *s);
void check_utf8(struct span s);
struct span text(struct span *s, uint64_t min_bytes, uint64_t max_bytes);
int compare_bytes(struct span a, struct span b);

/* ---- bits (S1) ---------------------------------------------------------------------------- */

struct bits {
    uint64_t at, end; /* numbers of bits in the file, 8 to a byte */
};

struct bits bits_of(struct span s);
uint32_t field(struct bits *b, uint32_t width);
uint64_t unary(struct bits *b);
uint64_t gamma_number(struct bits *b);
int64_t unzigzag(uint64_t u);
void padding(struct bits *b);

#endif
