/* SPDX-License-Identifier: MIT */
/* npy_header.h - the head of a .npy file (numpy.lib.format, versions 1 to 3). */
#ifndef NPY_HEADER_H
#define NPY_HEADER_H

#include <stdbool.h>
#include "pith_model.h"

struct npy_header {
    enum pith_type type;
    uint32_t item_bytes; /* as stored: 1, 2, 4, 8; any of text */
    bool wide_unsigned;  /* u4 or u8: type is then PITH_I64 */
    uint32_t char_bytes; /* of text: 1 ('S') or 4 ('U'); type is then PITH_U8. 0: numbers */
    bool big_endian;
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK]; /* may contain 0 */
    uint64_t count;
    size_t data_offset;  /* the data is exactly count * item_bytes from here to the end */
    uint64_t file_bytes; /* by shape and type */
};

/* The header is a Python dictionary; it is read by a fixed grammar, never evaluated. Checks that
 * the file's length is what shape and type say. PITH_ERR_CORRUPT, PITH_ERR_UNSUPPORTED. */
enum pith_status pith_npy_parse(const void *bytes, size_t n, const char *name, struct npy_header *h,
                                struct pith_error *err);

/* The same, of text ('S5', '<U3'), too. */
enum pith_status pith_npy_parse_text(const void *bytes, size_t n, const char *name,
                                     struct npy_header *h, struct pith_error *err);

/* The header alone, from the first bytes of a file: it is in them whole. */
enum pith_status pith_npy_head(const void *head, size_t n, const char *name, struct npy_header *h,
                               struct pith_error *err);

/* What the header says that the file has, from its first bytes (the header whole). */
enum pith_status pith_npy_bytes(const void *head, size_t n, const char *name, uint64_t *bytes,
                                struct pith_error *err);

bool pith_is_npy(const void *bytes, size_t n);

#endif
