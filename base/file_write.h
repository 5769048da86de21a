/* SPDX-License-Identifier: MIT */
/* file_write.h - whole files in and out (pith_file_write stands in pith_model.h). */
#ifndef PITH_FILE_WRITE_H
#define PITH_FILE_WRITE_H

#include <stdbool.h>
#include "pith_base.h"

/* The whole file; the caller owns *file. PITH_ERR_IO (also: empty), PITH_ERR_LIMIT when it is
 * longer than max_bytes, PITH_ERR_MEMORY. Reads what is no regular file (a pipe) to its end, which
 * comes within 4 GiB. PITH_ERR_UNSUPPORTED: a device. */
enum pith_status pith_file_load(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err);

/* A file in pieces, one behind the other; borrowed. */
struct file_piece {
    const void *bytes;
    size_t n;
};

/* Looks at the whole file, mapped, before it gets its name; any other status than PITH_OK, with err
 * filled, stops that. */
typedef enum pith_status file_check(const void *bytes, size_t n, struct pith_error *err);

/* pith_file_write, or with `replace` false pith_file_write_new, of what is no device: path must not
 * name one. check may be NULL; its status is returned. */
enum pith_status pith_file_write_pieces(const char *path, bool replace,
                                        const struct file_piece *pieces, uint32_t n_pieces,
                                        file_check *check, struct pith_error *err);

#endif
