/* SPDX-License-Identifier: MIT */
/* file_write.h - whole files in and out (pith_file_write stands in pith_model.h). */
#ifndef FILE_WRITE_H
#define FILE_WRITE_H

#include "pith_model.h"

/* The whole file; the caller owns *file. PITH_ERR_IO (also: empty), PITH_ERR_LIMIT when it is longer
 * than max_bytes, PITH_ERR_MEMORY. Reads what is no regular file (a pipe) to its end. */
enum pith_status pith_file_load(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err);

#endif
